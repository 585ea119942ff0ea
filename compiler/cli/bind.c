// Binding files: reading, finding by architecture, templates; see bind.h.
#include "cli/bind.h"
#include "base/embedded.h"
#include "runtime/error.h"
#include <string.h>

static const char *const form_keys[] = {[FORM_HF] = "config", [FORM_GGUF] = "metadata"};
static const char *const form_tensors[] = {[FORM_HF] = "hf", [FORM_GGUF] = "gguf"};
static const char *const form_family[] = {[FORM_HF] = "architectures", [FORM_GGUF] = "gguf"};

static const TomlTable *table_of(const Bind *b, const char *front, const char *name) {
    char full[128];
    int n = snprintf(full, sizeof full, "%s%s%s", front, *front && *name ? "." : "", name);
    return n < (int)sizeof full ? toml_table(b->toml, full) : NULL;
}

const TomlTable *bind_keys(const Bind *b, const char *name) {
    return table_of(b, form_keys[b->form], name);
}

const TomlTable *bind_tensors(const Bind *b, const char *name) {
    return table_of(b, form_tensors[b->form], name ? name : "");
}

const TomlTable *bind_table(const Bind *b, const char *name) {
    return table_of(b, "", name);
}

// ---- Templates ---------------------------------------------------------------------------------

bool bind_matches(const char *pattern, const char *path, char *number) {
    bool seen = false;
    number[0] = '\0';
    while (*pattern && strcmp(pattern, "*") != 0) {
        if (strncmp(pattern, "{i}", 3) != 0) {
            if (*pattern++ != *path++)
                return false;
            continue;
        }
        size_t n = strspn(path, "0123456789");
        if (n == 0 || n > 9 || (n > 1 && *path == '0'))
            return false;
        if (seen && (strlen(number) != n || strncmp(number, path, n) != 0))
            return false;
        memcpy(number, path, n);
        number[n] = '\0';
        seen = true;
        pattern += 3;
        path += n;
    }
    return *pattern || !*path;
}

const TomlEntry *bind_match(const TomlTable *table, const char *path, char *number) {
    for (int i = 0; table && i < table->entries.len; i++) {
        if (bind_matches(table->entries.data[i].key, path, number))
            return &table->entries.data[i];
    }
    return NULL;
}

bool bind_waives(const TomlTable *table, const char *list, const char *name) {
    const TomlEntry *e = toml_find(table, list);
    char number[12];
    for (int i = 0; e && i < e->value.count; i++) {
        const TomlValue *v = &e->value.items[i];
        if (v->kind == TOML_STRING && bind_matches(v->text, name, number))
            return true;
    }
    return false;
}

const char *bind_fill(Arena *a, const char *pattern, const char *number) {
    StrBuf b = strbuf_new(a);
    while (*pattern) {
        if (strncmp(pattern, "{i}", 3) == 0) {
            strbuf_printf(&b, "%s", number);
            pattern += 3;
        } else {
            strbuf_char(&b, *pattern++);
        }
    }
    return b.data;
}

bool bind_lists(const TomlEntry *entry, const char *text) {
    if (!entry)
        return false;
    if (entry->value.kind == TOML_STRING)
        return strcmp(entry->value.text, text) == 0;
    for (int i = 0; i < entry->value.count; i++) {
        const TomlValue *v = &entry->value.items[i];
        if (v->kind == TOML_STRING && strcmp(v->text, text) == 0)
            return true;
    }
    return false;
}

// ---- Reading and finding -----------------------------------------------------------------------

// Reads a binding; NULL after E5001. `text` must live as long as the session.
static Bind *bind_read(Session *s, const char *path, Str text, Form form) {
    int file = session_add(s, source_new(s->arena, path, text));
    Toml *toml = toml_parse(s, file);
    if (!toml)
        return NULL;
    Bind *b = NEW(s->arena, Bind);
    *b = (Bind){.path = path, .toml = toml, .form = form};
    const TomlTable *program = bind_table(b, "program");
    b->program = toml_text(program, "source");
    b->block = toml_text(program, "block");
    if (b->program && b->block)
        return b;
    report(s, (Span){file, 0, 0}, E5001, "a binding needs [program] with `source` and `block`");
    return NULL;
}

static void add_served(StrBuf *b, const TomlTable *family, Form form) {
    const TomlEntry *list = toml_find(family, form_family[form]);
    for (int i = 0; list && i < list->value.count; i++) {
        if (list->value.items[i].text)
            strbuf_printf(b, "%s%s", b->len ? ", " : "", list->value.items[i].text);
    }
}

Bind *bind_for(Session *s, const char *label, const char *architecture, Form form) {
    char shown[120];
    StrBuf served = strbuf_new(s->arena);
    for (const EmbeddedFile *f = embedded_files(); f->path; f++) {
        size_t n = strlen(f->path);
        if (n < 5 || strcmp(f->path + n - 5, ".bind") != 0)
            continue;
        Bind *b = bind_read(s, f->path, (Str){f->text, f->size}, form);
        if (!b)
            return NULL;
        const TomlTable *family = bind_table(b, "family");
        if (architecture && bind_lists(toml_find(family, form_family[form]), architecture))
            return b;
        add_served(&served, family, form);
    }
    const char *list = served.len ? served.data : "none";
    if (!architecture) {
        report(s, (Span){0}, E5005, "%s names no architecture; served are %s", label, list);
        return NULL;
    }
    rt_printable(shown, sizeof shown, architecture, strlen(architecture));
    report(s, (Span){0}, E5005, "%s: the architecture \"%s\" is not served; served are %s", label,
           shown, list);
    return NULL;
}

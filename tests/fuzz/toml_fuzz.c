// Fuzz target: a TOML text is read, or refused with one diagnostic inside the text.

#include "check/toml.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(const TomlValue *v, size_t size) {
    if (v->span.start < 0 || v->span.end < v->span.start || (size_t)v->span.end > size)
        abort();
    if (v->kind != TOML_ARRAY && !v->text)
        abort();
    for (int i = 0; i < v->count; i++)
        check_value(&v->items[i], size);
}

static void check_tables(const Toml *toml, size_t size) {
    for (int i = 0; i < toml->tables.len; i++) {
        const TomlTable *t = toml->tables.data[i];
        if (i < 100 && toml_table(toml, t->name) != t)
            abort();
        for (int k = 0; k < t->entries.len; k++) {
            if (k < 100 && toml_find(t, t->entries.data[k].key) != &t->entries.data[k])
                abort();
            check_value(&t->entries.data[k].value, size);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Session *s = session_new();
    Str text = {arena_copy(s->arena, data, size), (int)size};
    const Toml *toml = toml_parse(s, session_add(s, source_new(s->arena, "fuzz.toml", text)));
    if (toml)
        check_tables(toml, size);
    if ((toml != NULL) != (s->errors == 0) || s->errors > 1)
        abort();
    for (int i = 0; i < s->diags.len; i++) {
        if ((size_t)s->diags.data[i]->span.end > size)
            abort();
    }
    session_free(s);
    return 0;
}

// Reading nest.toml and bindings.json; see card.h. One table says which fields there are.
#include "cli/card.h"
#include "runtime/json.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *table, *key;
    TomlKind kind; // an array is of strings
    bool needed;
} fields[] = {
    {"model", "name", TOML_STRING, true},        {"model", "title", TOML_STRING, true},
    {"model", "summary", TOML_STRING, true},     {"model", "license", TOML_STRING, true},
    {"model", "family", TOML_STRING, true},      {"model", "tags", TOML_ARRAY, false},
    {"links", "huggingface", TOML_STRING, true}, {"links", "github", TOML_STRING, false},
    {"links", "arxiv", TOML_STRING, false},      {"links", "homepage", TOML_STRING, false},
    {"source", "path", TOML_STRING, true},       {"source", "root", TOML_STRING, true},
    {"source", "entry", TOML_STRING, true},      {"weights", "repo", TOML_STRING, true},
    {"weights", "revision", TOML_STRING, true},  {"weights", "files", TOML_ARRAY, true},
    {"weights", "bindings", TOML_STRING, false},
};

enum { FIELDS = sizeof fields / sizeof *fields };

// ---- Fields ------------------------------------------------------------------------------------

static bool is_settings(const char *table) {
    return strcmp(table, "generics") == 0 || strcmp(table, "check") == 0;
}

static bool is_table(const char *name) {
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].table, name) == 0)
            return true;
    }
    return is_settings(name);
}

static bool fits(const TomlValue *v, TomlKind kind) {
    if (v->kind != kind)
        return false;
    for (int i = 0; i < v->count; i++) {
        if (v->items[i].kind != TOML_STRING)
            return false;
    }
    return true;
}

static void check_entry(Session *s, const TomlTable *table, const TomlEntry *e) {
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].table, table->name) != 0 || strcmp(fields[i].key, e->key) != 0)
            continue;
        if (!fits(&e->value, fields[i].kind))
            report(s, e->value.span, E5001, "`%s` must be %s", e->key,
                   fields[i].kind == TOML_STRING ? "a string" : "an array of strings");
        return;
    }
    if (!is_settings(table->name))
        report(s, e->span, E5008, "a card has no `%s` in [%s]", e->key, table->name);
    else if (e->value.kind == TOML_ARRAY)
        report(s, e->value.span, E5001, "`%s` must be a number or a dtype's name", e->key);
}

static void check_tables(Session *s, const Toml *toml) {
    for (int i = 0; i < toml->tables.len; i++) {
        const TomlTable *table = toml->tables.data[i];
        if (!*table->name && table->entries.len)
            report(s, table->entries.data[0].span, E5008,
                   "a card has no `%s` outside of its tables", table->entries.data[0].key);
        else if (*table->name && !is_table(table->name))
            report(s, table->span, E5008, "a card has no table [%s]", table->name);
        for (int k = 0; is_table(table->name) && k < table->entries.len; k++)
            check_entry(s, table, &table->entries.data[k]);
    }
}

bool card_complete(Session *s, const Card *card) {
    int errors = s->errors;
    for (int i = 0; card->toml && i < FIELDS; i++) {
        const TomlTable *table = toml_table(card->toml, fields[i].table);
        const TomlEntry *e = toml_find(table, fields[i].key);
        Span span = table ? table->span : (Span){card->toml->file, 0, 0};
        if (fields[i].needed && !e)
            report(s, span, E5012, "the card lacks `%s` in [%s]", fields[i].key, fields[i].table);
        else if (fields[i].needed && fields[i].kind == TOML_STRING && !*e->value.text)
            report(s, e->value.span, E5012, "`%s` is empty", e->key);
    }
    const TomlEntry *commit =
        card->toml ? toml_find(toml_table(card->toml, "weights"), "revision") : NULL;
    const char *text = commit ? commit->value.text : "";
    if (*text && (strlen(text) != 40 || strspn(text, "0123456789abcdef") != 40))
        report(s, commit->value.span, E5012,
               "`revision` must be a whole commit, 40 hexadecimal digits: a branch may change");
    return s->errors == errors;
}

// ---- Paths and settings ------------------------------------------------------------------------

// A file of the package: `text` may not lead out of its folder. NULL after E5012.
static const char *inner_path(Session *s, const Card *card, const TomlValue *v) {
    const char *part = v->text;
    bool good = *part && *part != '/';
    for (; good && part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        good = strncmp(part, "..", 2) != 0 || (part[2] && part[2] != '/');
    if (good)
        return arena_printf(s->arena, "%s/%s", card->folder, v->text);
    report(s, v->span, E5012, "the path must be one inside of the package's folder");
    return NULL;
}

static void add_settings(Session *s, const Card *card, const char *name, SettingVec *out) {
    const TomlTable *table = toml_table(card->toml, name);
    for (int i = 0; table && i < table->entries.len; i++) {
        const TomlEntry *e = &table->entries.data[i];
        Setting set = {.name = e->key, .value = e->value.text, .origin = "nest.toml"};
        if (e->value.kind == TOML_INT)
            set.value = arena_printf(s->arena, "%lld", (long long)e->value.integer);
        set.span = e->span;
        set.weak = true;
        vec_push(s->arena, out, set);
    }
}

static void take_fields(Session *s, Card *card) {
    const TomlTable *source = toml_table(card->toml, "source");
    const TomlTable *weights = toml_table(card->toml, "weights");
    const TomlEntry *path = toml_find(source, "path"), *files = toml_find(weights, "files");
    const TomlEntry *bindings = toml_find(weights, "bindings");
    struct stat st;
    card->root = toml_text(source, "root");
    card->entry = toml_text(source, "entry");
    if (path)
        card->source = inner_path(s, card, &path->value);
    if (card->source && (stat(card->source, &st) != 0 || !S_ISREG(st.st_mode)))
        report(s, path->value.span, E5012, "there is no file %s", card->source);
    for (int i = 0; files && i < files->value.count; i++) {
        const char *file = inner_path(s, card, &files->value.items[i]);
        if (file)
            vec_push(s->arena, &card->files, file);
    }
    if (bindings)
        card->bindings_path = inner_path(s, card, &bindings->value);
    if (card->bindings_path && access(card->bindings_path, F_OK) != 0)
        report(s, bindings->value.span, E5012, "there is no file %s", card->bindings_path);
    add_settings(s, card, "generics", &card->generics);
    add_settings(s, card, "check", &card->check);
}

// ---- Bindings ----------------------------------------------------------------------------------

static void read_bindings(Session *s, Card *card) {
    RtError err;
    RtJson *json = rt_json_read(card->bindings_path, NULL, &err);
    if (!json) {
        report(s, (Span){0}, E5001, "%s", err.text);
        return;
    }
    const RtJsonValue *root = rt_json_root(json);
    if (!rt_json_is(root, RT_JSON_OBJECT))
        report(s, (Span){0}, E5013, "%s must be one object: parameters and their tensors' names",
               card->bindings_path);
    for (const RtJsonValue *v = rt_json_is(root, RT_JSON_OBJECT) ? rt_json_first(root) : NULL; v;
         v = rt_json_next(v)) {
        const char *name = rt_json_text(v);
        if (!name || !*name || !*v->key || strlen(v->key) != v->key_length) {
            report(s, (Span){0}, E5013, "%s: `%s` must be given the name of one tensor",
                   card->bindings_path, v->key);
            continue;
        }
        CardBinding b = {session_name(s, v->key), arena_printf(s->arena, "%s", name)};
        vec_push(s->arena, &card->bindings, b);
        map_put(s->arena, &card->tensors, b.path, (void *)b.tensor);
    }
    rt_json_free(json);
}

// ---- The card ----------------------------------------------------------------------------------

static void read_toml(Session *s, Card *card, const char *path) {
    const char *why = NULL;
    Source *source = source_load(s->arena, path, &why);
    if (!source) {
        report(s, (Span){0}, E5001, "%s can't be read: %s", path, why);
        return;
    }
    int errors = s->errors;
    card->toml = toml_parse(s, session_add(s, source));
    if (card->toml)
        check_tables(s, card->toml);
    if (s->errors == errors)
        take_fields(s, card);
}

Card *card_read(Session *s, const char *path) {
    struct stat st;
    int errors = s->errors;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return NULL;
    Card *card = NEW(s->arena, Card);
    card->folder = path;
    const char *toml = arena_printf(s->arena, "%s/nest.toml", path);
    if (access(toml, F_OK) == 0)
        read_toml(s, card, toml);
    const char *plain = arena_printf(s->arena, "%s/bindings.json", path);
    if (!card->bindings_path && access(plain, F_OK) == 0)
        card->bindings_path = plain;
    if (s->errors == errors && card->bindings_path)
        read_bindings(s, card);
    return s->errors == errors ? card : NULL;
}

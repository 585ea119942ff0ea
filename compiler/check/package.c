// Reading manifests; see package.h.
//
// Packages are told apart by the real paths of their folders: two ways to one folder are one
// package, and a folder that is met again while it is being read closes a circle.
#include "check/package.h"
#include "check/toml.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_PACKAGES = 1000, DEEPEST = 100 };

static Package *open_package(Program *p, const char *folder, const char *manifest, int depth);

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

// The manifest of a folder, or NULL.
static const char *manifest_in(Arena *a, const char *folder) {
    static const char *const names[] = {"serin.toml", "linnet.toml"};
    for (int i = 0; i < 2; i++) {
        const char *path = arena_printf(a, "%s/%s", folder, names[i]);
        if (is_file(path))
            return path;
    }
    return NULL;
}

static const char *real_path(Arena *a, const char *path) {
    char *real = realpath(path, NULL);
    const char *copy = real ? arena_printf(a, "%s", real) : NULL;
    free(real);
    return copy;
}

static bool is_identifier(const char *text, const char *also) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    size_t n = strspn(text, letters), all = strlen(text);
    for (size_t i = n; i < all; i++) {
        if (!strchr(letters, text[i]) && !strchr("0123456789", text[i]) && !strchr(also, text[i]))
            return false;
    }
    return n > 0;
}

// ---- [package] ---------------------------------------------------------------------------------

static bool is_reserved(const char *name) {
    return strcmp(name, "std") == 0 || strcmp(name, "crate") == 0;
}

static void take_name(Session *s, Package *package, const TomlEntry *e) {
    if (!is_identifier(e->value.text, "-") || is_reserved(e->value.text)) {
        report(s, e->value.span, E5001,
               "a package's name is made of letters, digits, `-` and `_`, begins with a letter, "
               "and is not `std` or `crate`");
        return;
    }
    char *title = arena_printf(s->arena, "%s", e->value.text);
    for (char *c = title; *c; c++)
        *c = *c == '-' ? '_' : *c;
    package->title = session_name(s, title);
    package->span = e->value.span;
}

static void read_fields(Session *s, Package *package, const Toml *toml) {
    static const char *const keys[] = {"name", "version", "language"};
    const TomlTable *table = toml_table(toml, "package");
    for (int i = 0; table && i < table->entries.len; i++) {
        const TomlEntry *e = &table->entries.data[i];
        bool known = false;
        for (int k = 0; k < 3; k++)
            known |= strcmp(e->key, keys[k]) == 0;
        if (!known)
            report(s, e->span, E5008, "a manifest has no `%s` in [package]", e->key);
        else if (e->value.kind != TOML_STRING || !*e->value.text)
            report(s, e->value.span, E5001, "`%s` must be a string", e->key);
        else if (strcmp(e->key, "name") == 0)
            take_name(s, package, e);
        else if (strcmp(e->key, "language") == 0 && strcmp(e->value.text, "0.1") != 0)
            report(s, e->value.span, E5009,
                   "this compiler reads version 0.1 of the language, "
                   "not %s",
                   e->value.text);
    }
    Span span = table ? table->span : (Span){toml->file, 0, 0};
    for (int k = 0; k < 3; k++) {
        if (!toml_find(table, keys[k]))
            report(s, span, E5001, "the manifest lacks `%s` in [package]", keys[k]);
    }
}

// ---- [dependencies] ----------------------------------------------------------------------------

static Package *known_package(Program *p, const char *real) {
    for (int i = 0; real && i < p->packages.len; i++) {
        const char *other = p->packages.data[i]->real;
        if (other && strcmp(other, real) == 0)
            return p->packages.data[i];
    }
    return NULL;
}

// Two packages with one name would have modules with the same keys.
static bool is_new_name(Program *p, const Package *package, Span span) {
    for (int i = 0; package->title && i < p->packages.len; i++) {
        const Package *other = p->packages.data[i];
        if (other == package || other->title != package->title)
            continue;
        Diag *d = report(p->session, span, E5010, "two packages are called `%s`", package->title);
        diag_note(p->session, d, other->span, "one is %s", other->folder);
        diag_note(p->session, d, package->span, "the other is %s", package->folder);
        return false;
    }
    return true;
}

// The package of a dependency by its path; NULL after E5010, E5011.
static Package *depend(Program *p, const Package *from, const TomlValue *path, int depth) {
    Session *s = p->session;
    const char *folder = arena_printf(s->arena, "%s/%s", from->folder, path->text);
    const char *manifest = manifest_in(s->arena, folder);
    if (!*path->text || *path->text == '/') {
        report(s, path->span, E5010, "the path of a dependency is relative to the manifest");
        return NULL;
    }
    if (!manifest) {
        report(s, path->span, E5010,
               "there is no package in %s: neither serin.toml nor linnet.toml", folder);
        return NULL;
    }
    Package *package = known_package(p, real_path(s->arena, folder));
    if (package && package->state == CHECK_RUNNING) {
        report(s, path->span, E5011, "packages depend on each other in a circle through %s",
               package->folder);
        return NULL;
    }
    if (package)
        return package->broken ? NULL : package;
    if (p->packages.len == MOST_PACKAGES || depth == DEEPEST) {
        report(s, path->span, E5010, "too many packages that depend on each other");
        return NULL;
    }
    package = open_package(p, folder, manifest, depth + 1);
    package->name = package->title;
    if (!package->broken && !is_new_name(p, package, path->span))
        package->broken = true;
    return package->broken ? NULL : package;
}

// [dependencies.key], key.path = or key = { path = }, which all are tables.
static void read_dependency(Program *p, Package *package, const TomlTable *table, const char *key,
                            int depth) {
    Session *s = p->session;
    Dependency d = {.key = session_name(s, key), .span = table->span};
    const TomlEntry *path = toml_find(table, "path");
    int errors = s->errors;
    if (!is_identifier(key, "") || is_reserved(key))
        report(s, table->span, E5010, "a dependency's key is a name, but not `std` or `crate`");
    for (int i = 0; i < table->entries.len; i++) {
        if (&table->entries.data[i] != path)
            report(s, table->entries.data[i].span, E5008,
                   "a dependency has no `%s`: it is given by its path", table->entries.data[i].key);
    }
    if (!path && s->errors == errors)
        report(s, table->span, E5010, "the dependency `%s` lacks its path: { path = \"../x\" }",
               key);
    else if (path && path->value.kind != TOML_STRING)
        report(s, path->value.span, E5001, "`path` must be a string");
    else if (path && s->errors == errors)
        d.package = depend(p, package, &path->value, depth);
    vec_push(s->arena, &package->needed, d);
}

static void read_tables(Program *p, Package *package, const Toml *toml, int depth) {
    static const char prefix[] = "dependencies.";
    Session *s = p->session;
    for (int i = 0; i < toml->tables.len; i++) {
        const TomlTable *table = toml->tables.data[i];
        const char *name = table->name;
        bool plain = strcmp(name, "dependencies") == 0;
        for (int k = 0; (plain || !*name) && k < table->entries.len; k++) {
            const TomlEntry *e = &table->entries.data[k];
            if (plain)
                report(s, e->value.span, E5010,
                       "the dependency `%s` is given by its path: { path = \"../x\" }", e->key);
            else
                report(s, e->span, E5008, "a manifest has no `%s` outside of its tables", e->key);
        }
        if (strncmp(name, prefix, sizeof prefix - 1) == 0)
            read_dependency(p, package, table, name + sizeof prefix - 1, depth);
        else if (*name && !plain && strcmp(name, "package") != 0)
            report(s, table->span, E5008, "a manifest has no table [%s]", name);
    }
}

// ---- Packages ----------------------------------------------------------------------------------

static Package *new_package(Program *p, const char *folder, const char *source) {
    Package *package = NEW(p->session->arena, Package);
    package->folder = folder;
    package->source = source;
    package->name = session_name(p->session, "crate");
    package->state = CHECK_DONE;
    vec_push(p->session->arena, &p->packages, package);
    return package;
}

static Package *open_package(Program *p, const char *folder, const char *manifest, int depth) {
    Session *s = p->session;
    const char *why = NULL;
    int errors = s->errors;
    Package *package = new_package(p, folder, arena_printf(s->arena, "%s/src", folder));
    package->real = real_path(s->arena, folder);
    package->state = CHECK_RUNNING;
    Source *source = source_load(s->arena, manifest, &why);
    Toml *toml = source ? toml_parse(s, session_add(s, source)) : NULL;
    if (!source)
        report(s, (Span){0}, E5001, "%s can't be read: %s", manifest, why);
    if (toml) {
        read_fields(s, package, toml);
        read_tables(p, package, toml, depth);
    }
    package->state = CHECK_DONE;
    package->broken = s->errors != errors;
    return package;
}

// The folder of a path, "." if it has none.
static const char *folder_of(Arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return arena_printf(a, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

Package *package_around(Program *p, const char *path) {
    Arena *a = p->session->arena;
    const char *own = folder_of(a, path), *folder = own;
    for (;;) {
        const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
        const char *outer = folder_of(a, folder);
        const char *manifest = strcmp(name, "src") == 0 ? manifest_in(a, outer) : NULL;
        if (manifest) {
            Package *package = open_package(p, outer, manifest, 0);
            package->source = folder;
            return package;
        }
        if (!slash || slash == folder)
            return new_package(p, own, own);
        folder = outer;
    }
}

Dependency *package_find(Package *package, Name key) {
    for (int i = 0; i < package->needed.len; i++) {
        if (package->needed.data[i].key == key)
            return &package->needed.data[i];
    }
    return NULL;
}

const char *package_choices(Program *p, const Package *package) {
    StrBuf b = strbuf_new(p->session->arena);
    Name last = NULL;
    strbuf_add(&b, STR("`std`"));
    for (int i = 0; i < package->needed.len; i++) {
        if (!package->needed.data[i].package)
            continue;
        strbuf_printf(&b, ", `%s`", last ? last : "crate");
        last = package->needed.data[i].key;
    }
    strbuf_printf(&b, " or `%s`", last ? last : "crate");
    return b.data;
}

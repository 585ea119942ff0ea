// Modules: finding files, parsing them, resolving imports, the scope of items.
//
// `std.a.b` is embedded (stdlib/a/b.serin); `crate.a.b` is a/b.serin in the src folder of the
// importing file's package, `x.a.b` the same of its dependency `x`; `crate` and `x` alone are their
// lib.serin. A module is in one of three states, so that an import cycle is seen when a running one
// is met again.
#include "base/embedded.h"
#include "check/internal.h"
#include "check/package.h"
#include "syntax/parse.h"
#include <string.h>

static const char *path_text(Program *p, const NameVec *path, const char *separator) {
    StrBuf b = strbuf_new(p->session->arena);
    for (int i = 0; i < path->len; i++)
        strbuf_printf(&b, "%s%s", i ? separator : "", path->data[i]);
    return b.data;
}

Item *module_item(Module *m, Name name) {
    return map_get(&m->scope, name);
}

Import *module_import(Module *m, Name name) {
    for (int i = 0; i < m->imports.len; i++) {
        if (m->imports.data[i]->alias == name)
            return m->imports.data[i];
    }
    return NULL;
}

static void fill_scope(Program *p, Module *m) {
    for (int i = 0; i < m->items.len; i++) {
        Item *item = m->items.data[i];
        item->module = m;
        if (!item->name || item->kind == ITEM_SERVE)
            continue;
        Item *other = module_item(m, item->name);
        if (is_prelude_name(item->name)) {
            report(p->session, item->name_span, E1207, "`%s` is a built-in name", item->name);
        } else if (other) {
            Diag *d =
                report(p->session, item->name_span, E1204, "`%s` is declared twice", item->name);
            diag_note(p->session, d, other->name_span, "it was declared here first");
        } else {
            map_put(p->session->arena, &m->scope, item->name, item);
        }
    }
}

// What a `use` path means.
typedef struct {
    Package *package; // NULL for std
    Name key;         // of the module
    bool known;       // the first segment means something
    bool silent;      // it was refused where it is declared
} Place;

static Place find_place(Program *p, const Module *from, const NameVec *path) {
    Session *s = p->session;
    Name first = path->data[0];
    Place place = {.key = session_name(s, path_text(p, path, "."))};
    if (first == session_name(s, "std")) {
        place.known = true;
        return place;
    }
    if (from->is_std)
        return place;
    Dependency *d = package_find(from->package, first);
    place.silent = !d && from->package->broken;
    place.package = d ? d->package : from->package;
    place.known = d || first == session_name(s, "crate");
    if (!place.package) {
        place.silent = true;
    } else if (place.known) {
        NameVec rest = {path->data + 1, path->len - 1, 0};
        const char *inner = path_text(p, &rest, ".");
        place.key = session_name(s, arena_printf(s->arena, "%s%s%s", place.package->name,
                                                 rest.len ? "." : "", rest.len ? inner : ""));
    }
    return place;
}

// The source number of a module by its path, or 0.
static int find_source(Program *p, const Place *place, const NameVec *path) {
    Session *s = p->session;
    NameVec rest = {path->data + 1, path->len - 1, 0};
    const char *inner = rest.len ? path_text(p, &rest, "/") : "lib";
    if (!place->known)
        return 0;
    if (!place->package) {
        const char *file = arena_printf(s->arena, "stdlib/%s.serin", inner);
        Str text = embedded_find(file);
        return text.ptr ? session_add(s, source_new(s->arena, file, text)) : 0;
    }
    static const char *const endings[] = {"serin", "linnet"};
    for (int i = 0; i < 2; i++) {
        const char *why = NULL;
        const char *file =
            arena_printf(s->arena, "%s/%s.%s", place->package->source, inner, endings[i]);
        Source *source = source_load(s->arena, file, &why);
        if (source)
            return session_add(s, source);
    }
    return 0;
}

static Module *find_module(Program *p, Name key) {
    for (int i = 0; i < p->modules.len; i++) {
        if (p->modules.data[i]->key == key)
            return p->modules.data[i];
    }
    return NULL;
}

Module *load_parsed(Program *p, int file) {
    int errors = p->session->errors;
    Module *m = parse_module(p->session, file);
    m->broken = p->session->errors != errors;
    p->broken |= m->broken;
    return m;
}

static void not_found(Program *p, const Module *from, const Place *place, const NameVec *path,
                      Span span) {
    Session *s = p->session;
    if (place->silent || map_has(&p->missing, place->key))
        return; // reported
    map_put(s->arena, &p->missing, place->key, p);
    Diag *d = report(s, span, E1202, "module `%s` was not found", path_text(p, path, "."));
    if (from->is_std || (place->known && !place->package))
        return;
    const char *name = place->known ? path->data[0] : "crate";
    diag_help(s, d, "the first segment is %s; `%s` is the folder %s",
              package_choices(p, from->package), name, place->package->source);
}

static Module *load_module(Program *p, const Module *from, const NameVec *path, Span span) {
    Session *s = p->session;
    Place place = find_place(p, from, path);
    Module *m = find_module(p, place.key);
    if (m) {
        if (m->state == CHECK_RUNNING) {
            report(s, span, E1206, "modules import each other in a circle through `%s`", place.key);
            return NULL;
        }
        return m;
    }
    int file = find_source(p, &place, path);
    if (!file) {
        not_found(p, from, &place, path, span);
        return NULL;
    }
    m = load_parsed(p, file);
    m->key = place.key;
    m->is_std = !place.package;
    m->package = place.package;
    load_imports(p, m);
    return m;
}

// Was this import's module refused already, for an import before it in the same module?
static bool refused_before(const Module *m, const Import *im) {
    for (int i = 0; m->imports.data[i] != im; i++) {
        const Import *other = m->imports.data[i];
        bool same = !other->module && other->path.len == im->path.len;
        for (int k = 0; same && k < im->path.len; k++)
            same = other->path.data[k] == im->path.data[k];
        if (same)
            return true;
    }
    return false;
}

static void resolve_import(Program *p, Module *m, Import *im) {
    Session *s = p->session;
    if (is_prelude_name(im->alias))
        report(s, im->span, E1207, "`%s` is a built-in name", im->alias);
    if (refused_before(m, im))
        return;
    im->module = load_module(p, m, &im->path, im->span);
    if (!im->module || !im->name)
        return;
    im->item = module_item(im->module, im->name);
    if (!im->item) {
        report(s, im->span, E1201, "`%s` has no item `%s`", im->module->key, im->name);
    } else if (!im->item->pub) {
        Diag *d =
            report(s, im->span, E1203, "`%s` is not public in `%s`", im->name, im->module->key);
        diag_note(s, d, im->item->name_span, "it is declared here, without `pub`");
    }
    Item *own = module_item(m, im->alias);
    if (own) {
        Diag *d = report(s, own->name_span, E1204, "`%s` is imported and declared", im->alias);
        diag_note(s, d, im->span, "it is imported here");
    }
}

// Loads what m imports, then makes m part of the program.
void load_imports(Program *p, Module *m) {
    m->state = CHECK_RUNNING;
    vec_push(p->session->arena, &p->modules, m);
    fill_scope(p, m);
    // What is imported wrongly next to a syntax error may only follow from it.
    for (int i = 0; i < m->imports.len && !m->broken; i++) {
        Import *im = m->imports.data[i];
        Import *first = module_import(m, im->alias);
        if (first != im) {
            Diag *d = report(p->session, im->span, E1204, "`%s` is imported twice", im->alias);
            diag_note(p->session, d, first->span, "it was imported here first");
        }
        resolve_import(p, m, im);
    }
    m->state = CHECK_DONE;
}

// The checker's entry: modules, signatures, bodies, then what concerns the whole program.
#include "check/internal.h"
#include "check/package.h"
#include "syntax/parse.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// ---- Recursion ---------------------------------------------------------------------------------

typedef struct {
    Program *p;
    Map state; // Item -> (void *)1 while on the path, (void *)2 when done
    int depth; // of the path
} Walk;

static void *const ON_PATH = (void *)1, *const DONE = (void *)2;

static void walk_calls(Walk *w, Item *item) {
    Arena *a = w->p->session->arena;
    enum { DEEPEST = 1000 };
    w->depth++;
    map_put(a, &w->state, item, ON_PATH);
    ItemVec *callees = map_get(&w->p->calls, item);
    for (int i = 0; callees && i < callees->len; i++) {
        Item *callee = callees->data[i];
        void *state = map_get(&w->state, callee);
        if (state == ON_PATH)
            report(w->p->session, item->name_span, E2119, "`%s` calls `%s`, which leads back to it",
                   item->name, callee->name);
        else if (!state && w->depth == DEEPEST)
            report(w->p->session, item->name_span, E2190,
                   "more than %d functions that call each other", DEEPEST);
        else if (!state)
            walk_calls(w, callee);
    }
    w->depth--;
    map_put(a, &w->state, item, DONE);
}

static void check_recursion(Program *p) {
    Walk w = {.p = p};
    for (int i = 0; i < p->modules.len; i++) {
        Module *m = p->modules.data[i];
        for (int k = 0; k < m->items.len; k++) {
            Item *item = m->items.data[k];
            for (int j = -1; j < item->items.len; j++) {
                Item *fn = j < 0 ? item : item->items.data[j];
                if (!map_get(&w.state, fn))
                    walk_calls(&w, fn);
            }
        }
    }
}

// ---- The program -------------------------------------------------------------------------------

static void unused_imports(Program *p, Module *m) {
    for (int i = 0; i < m->imports.len; i++) {
        Import *im = m->imports.data[i];
        if (!im->used && im->module && im->alias[0] != '_')
            report(p->session, im->span, W1001, "`%s` is imported and never used", im->alias);
    }
}

// A block's members may be read by every block that has such a sub-block.
static void unused_members(Program *p, const Item *item) {
    for (int i = 0; i < item->members.len; i++) {
        const Member *m = item->members.data[i];
        if (!m->used && m->name[0] != '_' && m->type->kind != TYPE_ERROR && !item->module->is_std)
            report(p->session, m->span, W1003, "`%s` is never used", m->name);
    }
}

// Items that only their own module can name, and private methods. Entries are called from outside.
static void unused_item(Program *p, const Item *item) {
    switch (item->kind) {
    case ITEM_KERNEL:
    case ITEM_ENTRY:
    case ITEM_BLOCK:
    case ITEM_SERVE:
        break;
    default:
        if (!item->used && !item->pub && item->name && item->name[0] != '_')
            report(p->session, item->name_span, W1004, "%s `%s` is never used",
                   item_kind_text(item->kind), item->name);
    }
    for (int i = 0; i < item->items.len; i++)
        unused_item(p, item->items.data[i]);
}

static void unused_items(Program *p, const Module *m) {
    for (int i = 0; i < m->items.len; i++) {
        unused_members(p, m->items.data[i]);
        if (!m->is_std || m == p->root)
            unused_item(p, m->items.data[i]);
    }
}

static void check_all(Program *p) {
    for (int i = 0; i < p->modules.len; i++) {
        for (int k = 0; k < p->modules.data[i]->items.len; k++)
            check_signature(p, p->modules.data[i]->items.data[k]);
    }
    for (int i = 0; i < p->modules.len; i++) {
        for (int k = 0; k < p->modules.data[i]->items.len; k++)
            check_body(p, p->modules.data[i]->items.data[k]);
    }
    for (int i = 0; i < p->modules.len; i++)
        unused_items(p, p->modules.data[i]);
    check_recursion(p);
    for (int i = 0; i < p->modules.len; i++)
        unused_imports(p, p->modules.data[i]);
}

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

// A program of the standard library is known by its own name, another by its place.
static Name module_key(Session *s, const Module *root) {
    StrBuf b = strbuf_new(s->arena);
    for (int i = 0; root->is_std && i < root->path.len; i++)
        strbuf_printf(&b, "%s%s", i ? "." : "", root->path.data[i]);
    return session_name(s, b.len ? b.data : "crate");
}

Program *check_program(Session *s, int file, SettingVec *settings) {
    Program *p = NEW(s->arena, Program);
    p->session = s;
    p->dims = dims_new(s->arena);
    p->settings = settings;
    Package *package = package_around(p, s->sources.data[file - 1]->path);
    p->root_dir = package->source;
    p->root = load_parsed(p, file);
    p->root->package = package;
    p->root->is_std = strncmp(s->sources.data[file - 1]->path, "stdlib/", 7) == 0;
    p->root->key = module_key(s, p->root);
    load_imports(p, p->root);
    if (!p->broken)
        check_all(p);
    return p;
}

// The root module of a package's folder: src/lib.serin or src/lib.linnet in it; another path as it
// is.
static const char *check_root(Arena *a, const char *path) {
    static const char *const roots[] = {"src/lib.serin", "src/lib.linnet"};
    for (int i = 0; i < 2; i++) {
        const char *root = arena_printf(a, "%s/%s", path, roots[i]);
        if (is_file(root))
            return root;
    }
    return path;
}

Program *check_path(Session *s, const char *path, SettingVec *settings) {
    const char *why = NULL;
    path = check_root(s->arena, path);
    Source *source = source_load_program(s->arena, path, &why);
    struct stat st;
    if (!source && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        why = "a folder needs src/lib.serin (a package) or config.json (a checkpoint)";
    if (!source) {
        report(s, (Span){0}, E1202, "%s can't be read: %s", path, why);
        return NULL;
    }
    return check_program(s, session_add(s, source), settings);
}

bool check_setting(Program *p, Setting *setting, const Generic *g, GenericArg *out) {
    size_t digits = strspn(setting->value, "0123456789");
    errno = 0;
    long long v = strtoll(setting->value, NULL, 10);
    bool whole = digits && !setting->value[digits] && !errno;
    *out = (GenericArg){.bound = true};
    Dtype t;
    if (g->kind == GENERIC_DIM && whole) {
        out->dim = dim_const(p->dims, v);
    } else if (g->kind >= GENERIC_DTYPE && dtype_find(setting->value, &t) &&
               elem_satisfies(elem_of(t), g->kind)) {
        out->elem = elem_of(t);
    } else {
        report(p->session, g->span, E5006, "%s gives `%s` the value %s, which does not fit",
               setting->origin, g->name, setting->value);
        return false;
    }
    setting->used = true;
    return true;
}

// Do the bound generics decide the clause?
static bool is_decided(Checker *c, const Where *w, const Subst *s) {
    return w->left && w->right && dim_is_const(subst_dim(c->dims, w->left, s), NULL) &&
           dim_is_const(subst_dim(c->dims, w->right, s), NULL);
}

bool check_instance(Program *p, Item *decl, const GenericArg *args, const GenericArg *outer) {
    Checker c = checker_for(p, decl);
    c.facts = facts_new(p->dims, NULL);
    Subst block = {{0}, NULL};
    if (decl->block && outer)
        block.binding = binding_of(&c, decl->block, outer);
    Subst s = {binding_of(&c, decl, args), &block};
    bool good = true;
    for (int i = 0; i < decl->where.len; i++)
        good &= !is_decided(&c, &decl->where.data[i], &s) ||
                prove_clause(&c, decl, &decl->where.data[i], &s, decl->name_span);
    return good;
}

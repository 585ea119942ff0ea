// Paths of bindings; see bindings.h.
#include "cli/bindings.h"
#include <stdlib.h>
#include <string.h>

typedef enum {
    PATH_WEIGHT,  // a parameter or a buffer
    PATH_OUTSIDE, // the same of an item that an array does not have
    PATH_STATE,   // a state, which no file holds
    PATH_NONE,    // nothing
} PathKind;

typedef struct {
    Model *m;
    const char *at; // what is left of the path
    bool outside;   // an item that is not there
} Walk;

static const Subst *args_of(Model *m, const Item *decl, const GenericArg *args) {
    Subst *s = NEW(m->a, Subst);
    const Generic **generics = NEW_N(m->a, const Generic *, decl->generics.len + 1);
    for (int i = 0; i < decl->generics.len; i++)
        generics[i] = decl->generics.data[i].generic;
    *s = (Subst){{generics, args, decl->generics.len}, NULL};
    return s;
}

// The next part of the path, without its dot; its length, 0 at the end.
static size_t next_part(Walk *w, const char **part) {
    size_t n = strcspn(w->at, ".");
    *part = w->at;
    w->at += n;
    w->at += *w->at == '.' && w->at[1];
    return n;
}

static const Member *find_member(const Item *decl, const char *part, size_t n) {
    for (int i = 0; i < decl->members.len; i++) {
        const Member *m = decl->members.data[i];
        if (strlen(m->name) == n && memcmp(m->name, part, n) == 0)
            return m;
    }
    return NULL;
}

// "12" of an array: false if it is no number; past its end the item is outside.
static bool take_index(Walk *w, const Type *array) {
    const char *part;
    size_t n = next_part(w, &part);
    int64_t count;
    bool plain = n > 0 && n < 10 && (n == 1 || *part != '0');
    for (size_t i = 0; i < n; i++)
        plain = plain && part[i] >= '0' && part[i] <= '9';
    if (plain && dim_is_const(array->count, &count) && atoll(part) >= count)
        w->outside = true;
    return plain;
}

static PathKind path_kind(Model *m, const Item *block, const GenericArg *args, const char *path) {
    Walk w = {m, path, false};
    const Subst *s = args_of(m, block, args);
    for (;;) {
        const char *part;
        size_t n = next_part(&w, &part);
        const Member *member = find_member(block, part, n);
        if (!member)
            return PATH_NONE;
        const Type *t = subst_type(m->a, m->program->dims, member->type, s);
        t = t->kind == TYPE_OPTIONAL ? t->items[0] : t;
        if (t->kind == TYPE_ARRAY && !take_index(&w, t))
            return PATH_NONE;
        t = t->kind == TYPE_ARRAY ? t->items[0] : t;
        if (t->kind == TYPE_TENSOR && *w.at)
            return PATH_NONE;
        if (t->kind == TYPE_TENSOR)
            return member->role == AST_STATE ? PATH_STATE : w.outside ? PATH_OUTSIDE : PATH_WEIGHT;
        if (t->kind != TYPE_BLOCK || !*w.at)
            return PATH_NONE;
        block = t->decl;
        s = args_of(m, block, t->args);
    }
}

// Did the command line set something? Then parts of the model may have been left out on purpose.
static bool is_changed(const Model *m) {
    for (int i = 0; i < m->settings.len; i++) {
        if (!m->settings.data[i].weak)
            return true;
    }
    return false;
}

bool bindings_check(Model *m, const Item *block, const GenericArg *args, int *outside) {
    enum { MOST = 20 };
    static const char *const what[] = {
        [PATH_OUTSIDE] = "is of an item that there is not in",
        [PATH_STATE] = "is a state, which no file holds, of",
        [PATH_NONE] = "is no parameter of",
    };
    bool changed = is_changed(m);
    int faults = 0;
    *outside = 0;
    for (int i = 0; m->card && i < m->card->bindings.len; i++) {
        const CardBinding *b = &m->card->bindings.data[i];
        PathKind kind = path_kind(m, block, args, b->path);
        bool skipped = kind == PATH_OUTSIDE && changed;
        *outside += skipped;
        if (kind != PATH_WEIGHT && !skipped && faults++ < MOST)
            report(m->s, (Span){0}, E5013, "%s: `%s` %s `%s`", m->card->bindings_path, b->path,
                   what[kind], block->name);
    }
    return faults == 0;
}

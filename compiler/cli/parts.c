// The tensors in values and blocks, by name.
#include "cli/target.h"

enum { DEEPEST = 64, MOST_ITEMS = 100000 };

typedef struct {
    Target *t;
    PartFn *fn;
    void *ctx;
} Parts;

static void parts_in(Parts *p, const char *name, const char *prefix, const Type *type,
                     bool optional) {
    Arena *a = p->t->m.a;
    if (type->kind == TYPE_OPTIONAL) {
        parts_in(p, name, prefix, type->items[0], true);
    } else if (type->kind == TYPE_STRUCT) {
        const Item *decl = type->decl;
        const Subst *s = target_args(p->t, decl, type->args, NULL);
        for (int i = 0; i < decl->fields.len; i++) {
            const Field *f = &decl->fields.data[i];
            const char *at = arena_printf(a, "%s%s", prefix, f->name);
            const Type *inner = subst_type(a, p->t->m.program->dims, f->type, s);
            parts_in(p, at, arena_printf(a, "%s.", at), inner, optional);
        }
    } else if (type->kind == TYPE_TUPLE) {
        for (int i = 0; i < type->item_count; i++) {
            const char *at = arena_printf(a, "%s.%d", name, i);
            parts_in(p, at, arena_printf(a, "%s.", at), type->items[i], optional);
        }
    } else if (type->kind == TYPE_TENSOR) {
        p->fn(p->ctx, name, type, optional);
    }
}

void type_parts(Target *t, const char *name, const Type *type, PartFn *fn, void *ctx) {
    Parts p = {t, fn, ctx};
    parts_in(&p, name, arena_printf(t->m.a, "%s.", name), type, false);
}

void result_parts(Target *t, const Type *type, PartFn *fn, void *ctx) {
    Parts p = {t, fn, ctx};
    parts_in(&p, "result", "", type, false);
}

// ---- Members of blocks -------------------------------------------------------------------------

typedef struct {
    Target *t;
    bool each;
    MemberFn *fn;
    void *ctx;
    int left; // instances that may still be visited
} Members;

static void members_in(Members *w, const Item *decl, const Subst *s, const char *prefix,
                       bool optional, const Dim *repeats, int depth);

static void member_blocks(Members *w, const Type *t, const char *path, bool optional,
                          const Dim *repeats, int depth) {
    Arena *a = w->t->m.a;
    DimTable *dims = w->t->m.program->dims;
    const Type *item = t->kind == TYPE_ARRAY ? t->items[0] : t;
    const Subst *s = target_args(w->t, item->decl, item->args, NULL);
    int64_t count = 0;
    if (t->kind != TYPE_ARRAY) {
        members_in(w, item->decl, s, arena_printf(a, "%s.", path), optional, repeats, depth);
    } else if (!w->each || !dim_is_const(t->count, &count)) {
        repeats = repeats ? dim_mul(dims, repeats, t->count) : t->count;
        members_in(w, item->decl, s, arena_printf(a, "%s[*].", path), optional, repeats, depth);
    }
    for (int64_t i = 0; w->each && i < count && w->left-- > 0; i++)
        members_in(w, item->decl, s, arena_printf(a, "%s.%lld.", path, (long long)i), optional,
                   repeats, depth);
}

static void members_in(Members *w, const Item *decl, const Subst *s, const char *prefix,
                       bool optional, const Dim *repeats, int depth) {
    for (int i = 0; depth < DEEPEST && i < decl->members.len; i++) {
        const Member *m = decl->members.data[i];
        const char *path = arena_printf(w->t->m.a, "%s%s", prefix, m->name);
        const Type *t = subst_type(w->t->m.a, w->t->m.program->dims, m->type, s);
        bool maybe = optional || t->kind == TYPE_OPTIONAL;
        t = t->kind == TYPE_OPTIONAL ? t->items[0] : t;
        if (t->kind == TYPE_TENSOR)
            w->fn(w->ctx, path, t, m->role, maybe, repeats);
        else if (t->kind == TYPE_BLOCK || t->kind == TYPE_ARRAY)
            member_blocks(w, t, path, maybe, repeats, depth + 1);
    }
}

void block_members(Target *t, bool each, MemberFn *fn, void *ctx) {
    Members w = {t, each, fn, ctx, MOST_ITEMS};
    if (t->block)
        members_in(&w, t->block, target_args(t, t->block, t->block_args, NULL), "", false, NULL, 0);
}

int64_t type_bytes(const Type *t, const Dim *repeats) {
    int64_t n = t->elem.generic ? -1 : dtype_size(t->elem.dtype), d;
    for (int i = 0; n >= 0 && i <= t->rank; i++) {
        const Dim *dim = i < t->rank ? t->axes[i].dim : repeats;
        if (i == t->rank && !repeats)
            break;
        if (!dim || !dim_is_const(dim, &d) || d < 0 || __builtin_mul_overflow(n, d, &n))
            n = -1;
    }
    return n;
}

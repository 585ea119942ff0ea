// Terms: a hash table of all of them, substitution with a memo, printing.
#include "opt/affine.h"
#include <string.h>

struct Terms {
    Arena *arena;
    const Term **slots; // open addressing; size is a power of two
    int size;
    int count;
    Map walked; // of the walk that runs, by term; its slots serve one after the other
};

Terms *terms_new(Arena *a) {
    Terms *t = NEW(a, Terms);
    t->arena = a;
    t->size = 1024;
    t->slots = NEW_N(a, const Term *, t->size);
    return t;
}

// ---- The table ---------------------------------------------------------------------------------

static uint64_t mix(uint64_t h, uint64_t x) {
    h = (h ^ x) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint32_t hash_of(const Term *e) {
    uint64_t bits, h = mix((uint64_t)e->op * 64 + (uint64_t)e->dtype, (uint64_t)e->i);
    memcpy(&bits, &e->f, sizeof bits);
    h = mix(h, bits);
    h = mix(h, (uintptr_t)e->var);
    h = mix(h, (uintptr_t)e->value);
    h = mix(h, (uintptr_t)e->dim);
    for (int i = 0; i < e->n; i++)
        h = mix(h, e->args[i]->id + 1u);
    return (uint32_t)(h >> 20);
}

static bool same(const Term *a, const Term *b) {
    if (a->hash != b->hash || a->op != b->op || a->dtype != b->dtype || a->n != b->n)
        return false;
    if (a->var != b->var || a->value != b->value || a->dim != b->dim || a->i != b->i)
        return false;
    if (memcmp(&a->f, &b->f, sizeof a->f) != 0)
        return false;
    return !a->n || memcmp(a->args, b->args, sizeof *a->args * (size_t)a->n) == 0;
}

static void place(Terms *t, const Term *e) {
    uint32_t at = e->hash & (uint32_t)(t->size - 1);
    while (t->slots[at])
        at = (at + 1) & (uint32_t)(t->size - 1);
    t->slots[at] = e;
}

static void grow(Terms *t) {
    const Term **old = t->slots;
    int n = t->size;
    t->size *= 2;
    t->slots = NEW_N(t->arena, const Term *, t->size);
    for (int i = 0; i < n; i++) {
        if (old[i])
            place(t, old[i]);
    }
}

const Term *term_make(Terms *t, Term like) {
    like.depth = 1;
    like.vars = like.var ? (uint64_t)1 << (like.var->id & 63) : 0;
    for (int i = 0; i < like.n; i++) {
        const Term *a = like.args[i];
        if (!a)
            return NULL;
        like.depth = a->depth >= like.depth ? a->depth + 1 : like.depth;
        like.vars |= a->vars;
    }
    like.hash = hash_of(&like);
    uint32_t at = like.hash & (uint32_t)(t->size - 1);
    for (; t->slots[at]; at = (at + 1) & (uint32_t)(t->size - 1)) {
        if (same(t->slots[at], &like))
            return t->slots[at];
    }
    if (like.depth > TERM_MAX_DEPTH || t->count >= TERM_MAX)
        return NULL;
    Term *e = NEW(t->arena, Term);
    *e = like;
    e->id = (uint32_t)t->count++;
    e->args = like.n ? arena_copy(t->arena, like.args, sizeof *like.args * (size_t)like.n) : NULL;
    if (2 * t->count > t->size)
        grow(t);
    place(t, e);
    return e;
}

const Term *term_int(Terms *t, int64_t value) {
    return term_make(t, (Term){.op = N_CONST, .dtype = DT_I64, .i = value});
}

const Term *term_index(Terms *t, const Var *var) {
    return term_make(t, (Term){.op = N_INDEX, .dtype = DT_I64, .var = var});
}

const Term *term_binary(Terms *t, NodeOp op, const Term *a, const Term *b) {
    if (!a || !b)
        return NULL;
    const Term *args[] = {a, b};
    Dtype dtype = node_class(op) == 'C' ? DT_BOOL : a->dtype;
    return term_make(t, (Term){.op = op, .dtype = dtype, .n = 2, .args = args});
}

const Term *term_with(Terms *t, const Term *e, const Term *const *args) {
    Term like = *e;
    like.args = (const Term **)args;
    return term_make(t, like);
}

// The map for a walk, empty.
static Map *walk_map(Terms *t) {
    enum { KEPT = 1024 };
    if (t->walked.size > KEPT)
        t->walked = (Map){0};
    for (int i = 0; i < t->walked.size; i++)
        t->walked.slots[i] = (MapSlot){0};
    t->walked.count = 0;
    return &t->walked;
}

// ---- Substitution ------------------------------------------------------------------------------

typedef struct {
    Terms *terms;
    int n;
    const Var *const *from;
    const Term *const *to;
    uint64_t vars; // of from
    Map *memo;
} Substitution;

static const Term *substitute(Substitution *s, const Term *e) {
    if (!e || !(e->vars & s->vars))
        return e;
    if (e->op == N_INDEX) {
        for (int i = 0; i < s->n; i++) {
            if (s->from[i] == e->var)
                return s->to[i];
        }
        return e;
    }
    if (map_has(s->memo, e))
        return map_get(s->memo, e);
    const Term *args[CORE_MAX_RANK + 3];
    for (int i = 0; i < e->n; i++)
        args[i] = substitute(s, e->args[i]);
    const Term *r = term_with(s->terms, e, args);
    map_put(s->terms->arena, s->memo, e, (void *)r);
    return r;
}

const Term *term_substitute(Terms *t, const Term *e, int n, const Var *const *from,
                            const Term *const *to) {
    Substitution s = {.terms = t, .n = n, .from = from, .to = to};
    for (int i = 0; i < n; i++) {
        if (!to[i])
            return NULL;
        s.vars |= (uint64_t)1 << (from[i]->id & 63);
    }
    if (!e || !(e->vars & s.vars))
        return e;
    s.memo = walk_map(t);
    return substitute(&s, e);
}

static bool mentions(Arena *a, Map *seen, const Term *e, const Var *v) {
    if (e->op == N_INDEX)
        return e->var == v;
    if (!(e->vars & (uint64_t)1 << (v->id & 63)) || map_has(seen, e))
        return false;
    for (int i = 0; i < e->n; i++) {
        if (mentions(a, seen, e->args[i], v))
            return true;
    }
    map_put(a, seen, e, (void *)e);
    return false;
}

bool term_mentions(Terms *t, const Term *e, const Var *v) {
    return mentions(t->arena, walk_map(t), e, v);
}

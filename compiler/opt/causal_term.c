// Bodies under facts: which reads can matter, and what is decided folded away; walks through
// values.
#include "opt/causal_impl.h"

enum { WALK_MAX = 4000 };

// A set or map of (term, constraints), for one walk.
typedef struct {
    Arena *arena; // scratch, freed after the walk
    Map by_cons;  // Cons -> Map of terms
} Pairs;

static Map *pairs_of(Pairs *p, const Cons *c) {
    Map *m = map_get(&p->by_cons, c);
    if (!m) {
        m = NEW(p->arena, Map);
        map_put(p->arena, &p->by_cons, c, m);
    }
    return m;
}

// ---- What can matter ---------------------------------------------------------------------------

typedef struct {
    Causal *k;
    CausalLive *fn;
    void *ctx;
    Pairs seen;
} Walk;

static void live(Walk *w, const Term *e, const Cons *c) {
    Map *seen = pairs_of(&w->seen, c);
    if (map_has(seen, e))
        return;
    map_put(w->seen.arena, seen, e, (void *)e);
    if (node_class(e->op) == 'C' && affine_decide(w->k->affine, e, c) >= 0)
        return;
    if (e->op == N_READ || e->op == N_DIM)
        w->fn(w->ctx, e, c);
    if (e->op == N_SELECT) {
        const Term *branch[2];
        const Cons *known[2];
        int n = affine_branches(w->k->affine, e, c, branch, known);
        if (n == 2)
            live(w, e->args[0], c);
        for (int i = 0; i < n; i++)
            live(w, branch[i], known[i]);
        return;
    }
    for (int i = 0; i < e->n; i++)
        live(w, e->args[i], c);
}

void causal_each_live(Causal *k, const Term *e, const Cons *c, CausalLive *fn, void *ctx) {
    Walk w = {k, fn, ctx, {.arena = arena_child(k->arena)}};
    live(&w, e, c);
    arena_free(w.seen.arena);
}

// ---- Folding -----------------------------------------------------------------------------------

typedef struct {
    Causal *k;
    Pairs done; // term -> folded
} Fold;

static const Term *fold(Fold *f, const Term *e, const Cons *c);

static const Term *fold_select(Fold *f, const Term *e, const Cons *c) {
    const Term *branch[2], *args[3];
    const Cons *known[2];
    int n = affine_branches(f->k->affine, e, c, branch, known);
    if (n == 1)
        return fold(f, branch[0], known[0]);
    args[0] = fold(f, e->args[0], c);
    for (int i = 0; i < 2; i++)
        args[i + 1] = fold(f, branch[i], known[i]);
    return term_with(f->k->terms, e, args);
}

// A token-free elementwise value that becomes a constant here is that constant.
static const Term *fold_read(Fold *f, const Term *e, const Cons *c) {
    const Term *inside = e->value->tokens ? NULL : affine_inline(f->k->affine, e);
    if (!inside)
        return NULL;
    inside = fold(f, inside, c);
    return inside && inside->op == N_CONST ? inside : NULL;
}

static bool is_one(const Term *e) {
    return e->op == N_CONST && dtype_is_float(e->dtype) && e->f == 1.0;
}

static const Term *simplify(Fold *f, const Term *e, const Cons *c) {
    if (!e)
        return NULL;
    if (e->op == N_MUL && is_one(e->args[1]))
        return e->args[0];
    if (e->op == N_MUL && is_one(e->args[0]))
        return e->args[1];
    if ((e->op == N_MIN || e->op == N_MAX) && dtype_is_integer(e->dtype)) {
        const Term *le = term_binary(f->k->terms, N_LE, e->args[0], e->args[1]);
        int d = affine_decide(f->k->affine, le, c);
        if (d >= 0)
            return e->args[d == (e->op == N_MAX)];
    }
    return e;
}

static const Term *fold_new(Fold *f, const Term *e, const Cons *c) {
    const Term *args[CORE_MAX_RANK + 3], *r;
    if (e->dtype == DT_BOOL) {
        int d = affine_decide(f->k->affine, e, c);
        if (d >= 0)
            return term_make(f->k->terms, (Term){.op = N_CONST, .dtype = DT_BOOL, .i = d});
    }
    if (e->op == N_SELECT)
        return fold_select(f, e, c);
    if (e->op == N_READ && (r = fold_read(f, e, c)))
        return r;
    for (int i = 0; i < e->n; i++)
        args[i] = fold(f, e->args[i], c);
    return e->n ? simplify(f, term_with(f->k->terms, e, args), c) : e;
}

static const Term *fold(Fold *f, const Term *e, const Cons *c) {
    Map *done = pairs_of(&f->done, c);
    const Term *r = map_get(done, e);
    if (!r && e) {
        r = fold_new(f, e, c);
        r = r ? r : e; // beyond the limits: as it is
        map_put(f->done.arena, done, e, (void *)r);
    }
    return r;
}

const Term *causal_fold_term(Causal *k, const Term *e, const Cons *c) {
    Fold f = {k, {.arena = arena_child(k->arena)}};
    const Term *r = fold(&f, e, c);
    arena_free(f.done.arena);
    return r;
}

// ---- Through values ----------------------------------------------------------------------------

const Term *causal_inline(Causal *k, const Term *e, bool raw) {
    const Term *inside = affine_inline(k->affine, e);
    return inside && raw
               ? term_substitute(k->terms, e->value->raw, e->value->rank, e->value->out, e->args)
               : inside;
}

typedef struct {
    Causal *k;
    Arena *arena; // scratch, of `seen`
    Map seen;
    int left; // terms to look at
    bool raw;
    CausalInlined *fn;
    void *ctx;
} Inlined;

static bool each_inlined(Inlined *w, const Term *e, const Term *read) {
    if (map_has(&w->seen, e) || w->left-- <= 0)
        return false;
    map_put(w->arena, &w->seen, e, (void *)e);
    if (w->fn(w->ctx, e, read))
        return true;
    const Term *inside = causal_inline(w->k, e, w->raw);
    if (inside)
        return each_inlined(w, inside, e);
    for (int i = 0; i < e->n; i++) {
        if (each_inlined(w, e->args[i], read))
            return true;
    }
    return false;
}

void causal_each_inlined(Causal *k, const Term *e, bool raw, CausalInlined *fn, void *ctx) {
    Inlined w = {.k = k, .left = WALK_MAX, .raw = raw, .fn = fn, .ctx = ctx};
    w.arena = arena_child(k->arena);
    each_inlined(&w, e, NULL);
    arena_free(w.arena);
}

const Term *causal_condition(const Term *e) {
    if (e->op == N_SELECT || (e->op == N_CAST && e->args[0]->dtype == DT_BOOL))
        return e->args[0];
    return NULL;
}

// Facts forwards: what a row of each value depends on; see causality.h.
#include "opt/causal_impl.h"

// ---- Causes ------------------------------------------------------------------------------------

int causal_node(const Causal *k, const CausalValue *v, const Term *e, const Term *read) {
    for (int i = 0; v->comp && e && i < v->comp->nodes.len; i++) {
        const Term *node = v->nodes[i];
        if (!node || node->op != e->op || node->dtype != e->dtype)
            continue;
        if (read)
            node = term_substitute(k->terms, node, v->rank, v->out, read->args);
        if (node == e)
            return i;
    }
    return -1;
}

Span causal_span(const Causal *k, const CausalValue *v, int node) {
    Span s = node < 0 ? v->span : v->comp->nodes.data[node].span;
    return s.file && (s.file == v->span.file || s.file == k->f->span.file) ? s : v->span;
}

CausalCause *causal_cause(Causal *k, const CausalValue *v, const Term *e, const char *why) {
    CausalCause *c = NEW(k->arena, CausalCause);
    bool whole = e == v->body || e == v->raw;
    *c = (CausalCause){.value = v, .owner = v, .why = why};
    c->span = whole ? v->span : causal_span(k, v, causal_node(k, v, e, NULL));
    c->expression = e ? term_text(k->arena, e) : NULL;
    return c;
}

void causal_refuse(Causal *k, const CausalCause *cause) {
    if (!k->refusal)
        k->refusal = cause;
}

// ---- One comprehension -------------------------------------------------------------------------

typedef struct {
    Causal *k;
    CausalValue *t;
} Forward;

// What the reads bring along.
static void inherit(void *ctx, const Term *e, const Cons *c) {
    CausalValue *t = ((Forward *)ctx)->t;
    (void)c;
    if (e->op != N_READ)
        return;
    t->tokens = t->tokens || e->value->tokens;
    t->length = t->length ? t->length : e->value->length;
    t->all = t->all ? t->all : e->value->all;
}

static bool at_own_position(Causal *k, const CausalValue *t, const Alts *f, const Cons *c) {
    for (int q = 0; q < t->rank; q++) {
        Form own = form_var(t->out[q]);
        int64_t lo, hi;
        if (!t->position[q])
            continue;
        affine_interval(k->affine, f, &own, c, &lo, &hi);
        if (lo == 0 && hi == 0)
            return true;
    }
    return false;
}

// Is e the remainder by S of something that is not negative, and so within 0 .. S - 1?
static bool wraps(Causal *k, const Term *e, const Cons *c) {
    int64_t lo, hi;
    while (e->op == N_CAST)
        e = e->args[0];
    if (e->op != N_MOD || e->args[1]->op != N_DIM || e->args[1]->dim != k->S)
        return false;
    affine_interval(k->affine, affine_forms(k->affine, e->args[0]), NULL, c, &lo, &hi);
    return lo >= 0;
}

// Why a read or a dimension makes t depend on the length, or NULL.
static const char *unstable(Causal *k, const CausalValue *t, const Term *e, const Cons *c) {
    Form S = form_var(affine_length(k->affine)), last = S, zero = {0};
    last.k = -1;
    if (e->op == N_DIM)
        return dim_mentions(e->dim, k->S) ? "is the number of positions, as a value" : NULL;
    for (int i = 0; i < e->n; i++) {
        int64_t lo, hi, from_end;
        if (!e->value->position[i])
            continue;
        const Alts *f = affine_forms(k->affine, e->args[i]);
        affine_interval(k->affine, f, &zero, c, &lo, &hi);
        bool never = lo > hi;
        affine_interval(k->affine, f, &last, c, &from_end, &hi);
        if (!never && (lo < 0 || hi > 0))
            return wraps(k, e->args[i], c) ? "may be at a later position"
                                           : "may lie outside of 0 .. S - 1";
        bool counted = false;
        for (int j = 0; j < f->n; j++)
            counted = counted || form_length(&f->alts[j].form);
        if (counted && !at_own_position(k, t, f, c))
            return "is at a position counted from the end";
    }
    return NULL;
}

// Which of t's position axes bounds a read at position `at` best, and its offset; -1: none.
static int nearest(Causal *k, const CausalValue *t, const Term *at, const Cons *c,
                   int64_t *offset) {
    int best = -1;
    *offset = AFFINE_INF;
    const Alts *f = affine_forms(k->affine, at);
    for (int known = 1; known >= 0; known--) { // first the axes that tokens come through already
        for (int q = 0; q < t->rank; q++) {
            int64_t lo, hi;
            Form own = form_var(t->out[q]);
            if (!t->position[q] || (t->dep[q] != CAUSAL_NEVER) != known)
                continue;
            affine_interval(k->affine, f, &own, c, &lo, &hi);
            if (hi < *offset) {
                *offset = hi;
                best = q;
            }
        }
    }
    return best;
}

static void depend(Causal *k, CausalValue *t, const Term *e, const Cons *c) {
    const CausalValue *u = e->value;
    for (int i = 0; i < e->n; i++) {
        int64_t offset;
        if (!u->position[i] || u->dep[i] == CAUSAL_NEVER)
            continue;
        int q = nearest(k, t, e->args[i], c, &offset);
        if (offset >= AFFINE_INF || q < 0 || u->dep[i] >= AFFINE_INF) {
            t->all = t->all ? t->all : causal_cause(k, t, e, "reads every position");
        } else if (offset > -AFFINE_INF) {
            offset += u->dep[i];
            t->dep[q] = offset > t->dep[q] ? offset : t->dep[q];
        }
    }
}

static void batch(Causal *k, CausalValue *t, const Term *e) {
    const CausalValue *u = e->value;
    if (!k->B || t->mix)
        return;
    bool own = u->batch >= 0 && t->batch >= 0;
    if (own) {
        const Alts *f = affine_forms(k->affine, e->args[u->batch]);
        Form b = form_var(t->out[t->batch]);
        own = f->n == 1 && form_equal(&f->alts[0].form, &b);
    }
    if (u->mix)
        t->mix = u->mix;
    else if (!own)
        t->mix = causal_cause(k, t, e, "reads another row of the batch");
}

static void look(void *ctx, const Term *e, const Cons *c) {
    Causal *k = ((Forward *)ctx)->k;
    CausalValue *t = ((Forward *)ctx)->t;
    const char *why = t->length ? NULL : unstable(k, t, e, c);
    if (why)
        t->length = causal_cause(k, t, e, why);
    if (e->op == N_READ && e->value->tokens) {
        batch(k, t, e);
        depend(k, t, e, c);
    }
}

// k <= q and q - w <= k for the bounded reductions of t.
const Cons *causal_bounds(Causal *k, const CausalValue *t) {
    const Cons *c = cons_none(k->affine);
    for (int j = 0; j < t->red; j++) {
        const CausalBound *b = &t->bounds[j];
        if (!b->bounded)
            continue;
        Form fk = form_var(t->red_vars[j]), fq = form_var(t->out[b->q_axis]);
        c = cons_less(k->affine, c, &fk, &fq, 0);
        if (b->window < AFFINE_INF)
            c = cons_less(k->affine, c, &fq, &fk, -b->window);
    }
    return c;
}

static void clear(CausalValue *t) {
    t->tokens = false;
    t->length = t->all = t->mix = t->lanes = t->late = NULL;
    for (int i = 0; i < t->rank; i++)
        t->dep[i] = CAUSAL_NEVER;
}

static void later(Causal *k, CausalValue *t) {
    for (int i = 0; i < t->rank && !t->late; i++) {
        if (t->dep[i] <= 0)
            continue;
        const char *why = arena_printf(k->arena, "depends on position %s + %lld", t->out[i]->name,
                                       (long long)t->dep[i]);
        t->late = causal_cause(k, t, t->body, why);
    }
}

// Reductions, and output axes that only partly are positions.
static void reductions(Causal *k, CausalValue *t) {
    for (int j = 0; j < t->red; j++) {
        const Dim *d = t->red_vars[j]->dim;
        const Term *index = term_index(k->terms, t->red_vars[j]);
        if (d == k->S)
            causal_bound_reduction(k, t, j);
        else if (dim_mentions(d, k->S))
            t->length = t->lanes = causal_cause(k, t, index, "runs over an axis made of positions");
        if (k->B && t->tokens && dim_mentions(d, k->B))
            t->mix = causal_cause(k, t, index, "is reduced over the batch");
    }
    for (int i = 0; i < t->rank; i++) {
        if (t->reduction != RED_NONE && !t->position[i] && dim_mentions(t->dims[i], k->S))
            t->length = causal_cause(k, t, term_index(k->terms, t->out[i]),
                                     "runs over an axis made of positions");
    }
}

static void forward(Causal *k, CausalValue *t) {
    const Cons *none = cons_none(k->affine);
    Forward ctx = {k, t};
    clear(t);
    t->body = causal_fold_term(k, t->raw, none);
    causal_each_live(k, t->body, none, inherit, &ctx);
    reductions(k, t);
    causal_each_live(k, t->body, causal_bounds(k, t), look, &ctx);
    later(k, t);
    if (!t->tokens || t->positions > 1 || !dtype_is_float(t->dtype))
        return;
    for (int i = 0; i < CAUSAL_LIMITS; i++) // so that later proofs need not look far
        values_of(k->bases[i], t->body, none);
}

// ---- Loops -------------------------------------------------------------------------------------

static void causal_reset_values(Causal *k) {
    for (int i = 0; i < CAUSAL_LIMITS; i++) {
        if (k->bases[i])
            values_forget(k->bases[i]);
        k->bases[i] = values_new(k->arena, k->affine, causal_limits[i], NULL);
    }
}

static bool take(const CausalCause **into, const CausalCause *from) {
    if (*into || !from)
        return false;
    *into = from;
    return true;
}

// Is every element of v ordinary?
static bool ordinary(Causal *k, CausalValue *v) {
    if (!dtype_is_float(v->dtype))
        return true;
    if (v->kind != CAUSAL_COMP || !v->body)
        return !v->wild;
    return values_ordinary(k->bases[0], values_of(k->bases[0], v->body, cons_none(k->affine)));
}

// into is at best what from is. True if that changed it.
static bool join(Causal *k, CausalValue *into, CausalValue *from) {
    bool changed = from->tokens && !into->tokens;
    into->tokens = into->tokens || from->tokens;
    changed |= take(&into->all, from->all);
    changed |= take(&into->length, from->length);
    changed |= take(&into->lanes, from->lanes);
    changed |= take(&into->mix, from->mix);
    changed |= take(&into->late, from->late);
    for (int i = 0; i < into->rank; i++) {
        if (from->dep[i] > into->dep[i]) {
            into->dep[i] = from->dep[i];
            changed = true;
        }
    }
    if (!into->wild && !ordinary(k, from))
        changed = into->wild = true;
    return changed;
}

static void forward_range(Causal *k, int from, int to);

static void forward_loop(Causal *k, const CausalLoop *l) {
    int steps = k->steps.len, round = 0;
    double limit = k->limit;
    bool changed = true;
    for (int i = 0; i < l->slots; i++) {
        clear(l->carried[i]);
        l->carried[i]->wild = false;
        join(k, l->carried[i], l->init[i]);
    }
    for (; changed && round < CAUSAL_ROUNDS; round++) {
        if (round)
            causal_reset_values(k);
        k->steps.len = steps;
        k->limit = limit;
        forward_range(k, l->begin + 1, l->end);
        changed = false;
        for (int i = 0; i < l->slots; i++)
            changed |= join(k, l->carried[i], l->yields[i]);
    }
    if (changed && l->slots)
        causal_refuse(k,
                      causal_cause(k, l->carried[0], NULL, "changes from turn to turn of a loop"));
    for (int i = 0; i < l->slots; i++) {
        clear(l->results[i]);
        l->results[i]->wild = false;
        join(k, l->results[i], l->carried[i]);
    }
}

static void forward_range(Causal *k, int from, int to) {
    for (int i = from; i < to && !k->refusal; i++) {
        const Event *e = &k->events.data[i];
        if (e->kind == EVENT_BEGIN) {
            forward_loop(k, e->loop);
            i = e->loop->end;
        } else if (e->kind == EVENT_VALUE && e->value->raw) {
            forward(k, e->value);
        }
    }
}

// ---- The analysis ------------------------------------------------------------------------------

static void outputs(Causal *k) {
    bool any = false;
    for (int i = 0; i < k->outputs.len; i++)
        any = any || k->outputs.data[i]->tokens;
    if (!any && k->outputs.len)
        causal_refuse(k, causal_cause(k, k->outputs.data[0], k->outputs.data[0]->body,
                                      "does not depend on the tokens"));
}

static void analyse(Causal *k, Val tokens) {
    if (!causal_build(k, tokens))
        return;
    forward_range(k, 0, k->events.len);
    if (affine_fuel(k->affine) <= 0 && k->outputs.len)
        causal_refuse(k, causal_cause(k, k->outputs.data[0], NULL, "is too large to analyse"));
    if (!k->refusal)
        outputs(k);
    if (!k->refusal)
        causal_demand(k);
}

void causal_free(Causal *k) {
    if (k)
        arena_free(k->arena);
}

Causal *causal_analyse(Core *c, const CoreFn *f, const Dim *S, Val tokens) {
    Arena *a = arena_child(c->session->arena);
    Causal *k = NEW(a, Causal);
    const CoreType *t = core_value(f, tokens)->type;
    k->core = c;
    k->arena = a;
    k->f = f;
    k->S = S;
    if (t->kind == CORE_TENSOR && t->rank > 1 && t->dims[0] != S && dim_is_symbol(t->dims[0]))
        k->B = t->dims[0];
    k->terms = terms_new(k->arena);
    k->affine = affine_new(k->arena, k->terms, S);
    k->by_val = NEW_N(k->arena, CausalValue *, f->values.len + 1);
    k->limit = 1e300;
    causal_reset_values(k);
    analyse(k, tokens);
    for (int i = 0; i < CAUSAL_LIMITS; i++)
        values_forget(k->bases[i]); // nothing more is proved of them
    return k;
}

// Reductions over positions: is the summand neutral for k > q, how far back does it reach, and if
// not, which part of it is to blame.
#include "opt/causal_impl.h"
#include <math.h>
#include <stdlib.h>

enum { WINDOWS_MAX = 32, WALK_MAX = 4000 };

// The least limit must do, or a mask's constant could pass for an ordinary value.
const double causal_limits[CAUSAL_LIMITS] = {1e3, 4e3, 1e4,  1e5,  1e6,  1e7,
                                             1e8, 4e8, 1e12, 1e20, 1e29, 1e37};

// ---- Neutral -----------------------------------------------------------------------------------

static bool is_exactly(Interval x, double v) {
    return !x.any && x.lo == v && x.hi == v;
}

// Where a reduction is to be neutral, and which elements are surely visible.
typedef struct {
    const Cons *where;
    int q_axis; // the element at k = q is
    bool first; // so is the one at k = 0
} Hidden;

// Is x beyond w, so that it changes no maximum (or minimum)? Equal zeros may differ in sign.
static bool beyond(const CausalValue *t, double x, double w, bool above) {
    bool strictly = above ? x > w : x < w;
    return strictly || (x == w && (x != 0 || !dtype_is_float(t->dtype)));
}

// Is t's element neutral there?
static bool neutral_in(Values *v, const CausalValue *t, const Hidden *h) {
    Interval x = values_of(v, t->body, h->where), w;
    switch (t->reduction) {
    case RED_SUM:
    case RED_ANY:
        return is_exactly(x, 0);
    case RED_PROD:
    case RED_ALL:
        return is_exactly(x, 1);
    case RED_MAX:
    case RED_MIN:
        w = values_witness(v, t, NULL, NULL, h->first, h->q_axis);
        if (x.any || w.any)
            return false;
        return t->reduction == RED_MAX ? beyond(t, x.hi, w.lo, false) : beyond(t, x.lo, w.hi, true);
    default:
        return false;
    }
}

typedef struct {
    bool proved;
    double limit;
    int conditions;
    const char **texts;
} Proof;

static bool try_limit(Causal *k, CausalValue *t, const Hidden *h, double limit, Values *whole,
                      Proof *out) {
    Values *v = values_new(k->arena, k->affine, limit, whole);
    bool good = neutral_in(v, t, h);
    values_forget(v);
    if (!good)
        return false;
    out->proved = true;
    out->limit = limit;
    out->conditions = values_conditions(v, &out->texts);
    return true;
}

// The greatest limit of ordinary values for which t's element is neutral there.
static Proof neutral(Causal *k, CausalValue *t, const Hidden *h) {
    Proof p = {0};
    int i = 0;
    while (i < CAUSAL_LIMITS && try_limit(k, t, h, causal_limits[i], k->bases[i], &p))
        i++;
    // Close to what data may reach, the number matters: find it.
    double high = i < CAUSAL_LIMITS ? causal_limits[i] : 0;
    for (int n = 0; n < 9 && p.proved && p.limit < 1e5 && i < CAUSAL_LIMITS; n++) {
        double mid = floor((p.limit + high) / 2);
        if (!try_limit(k, t, h, mid, NULL, &p))
            high = mid;
    }
    return p;
}

// ---- Walking bodies ----------------------------------------------------------------------------

typedef struct {
    Causal *k;
    Map seen;
    int left;                                               // terms to look at
    bool (*fn)(void *ctx, const Term *e, const Term *read); // true: stop
    void *ctx;
} Inlined;

// All subterms, through elementwise values; `read` is the innermost that was looked through.
static bool each_inlined(Inlined *w, const Term *e, const Term *read) {
    if (map_has(&w->seen, e) || w->left-- <= 0)
        return false;
    map_put(w->k->arena, &w->seen, e, (void *)e);
    if (w->fn(w->ctx, e, read))
        return true;
    const Term *inside = affine_inline(w->k->affine, e);
    if (inside)
        return each_inlined(w, inside, e);
    for (int i = 0; i < e->n; i++) {
        if (each_inlined(w, e->args[i], read))
            return true;
    }
    return false;
}

// The condition that e goes one way or the other by, or NULL.
static const Term *condition_of(const Term *e) {
    if (e->op == N_SELECT || (e->op == N_CAST && e->args[0]->dtype == DT_BOOL))
        return e->args[0];
    return NULL;
}

// ---- Windows -----------------------------------------------------------------------------------

typedef struct {
    Causal *k;
    Form back; // q - k
    int n;
    int64_t w[WINDOWS_MAX];
} Windows;

static bool add_window(void *ctx, const Term *e, const Term *read) {
    Windows *s = ctx;
    (void)read;
    const Term *cond = condition_of(e);
    for (int truth = 0; cond && truth < 2; truth++) {
        const Cons *c = affine_facts(s->k->affine, cons_none(s->k->affine), cond, truth);
        int64_t hi = affine_sup(s->k->affine, &s->back, c);
        if (hi >= 0 && hi < AFFINE_INF && s->n < WINDOWS_MAX)
            s->w[s->n++] = hi;
    }
    return false;
}

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

// The least w such that elements with k < q - w are neutral, or AFFINE_INF.
static int64_t window(Causal *k, CausalValue *t, const Var *red, int axis) {
    const Var *q = t->out[axis];
    Windows s = {.k = k};
    Form fq = form_var(q), fk = form_var(red);
    Inlined walk = {.k = k, .left = WALK_MAX, .fn = add_window, .ctx = &s};
    if (!form_add(&s.back, &fq, &fk, -1))
        return AFFINE_INF;
    each_inlined(&walk, t->body, NULL);
    qsort(s.w, (size_t)s.n, sizeof *s.w, by_size);
    for (int i = 0; i < s.n; i++) {
        const Cons *c = cons_less(k->affine, cons_none(k->affine), &fk, &fq, s.w[i] + 1);
        if ((i == 0 || s.w[i] != s.w[i - 1]) && neutral(k, t, &(Hidden){c, axis, false}).proved)
            return s.w[i];
    }
    return AFFINE_INF;
}

// ---- Blame -------------------------------------------------------------------------------------

typedef struct {
    Causal *k;
    const Cons *region; // k > q
    const Var *red;
    const Term *found;
    const Term *read; // in what is read there; NULL: in the body itself
} Blame;

static const char *every(Causal *k, const Var *red) {
    return arena_printf(k->arena, "every %s is read here", red->name);
}

// A comparison in a condition that the region leaves open and that is about the reduced position.
static bool open_comparison(Blame *b, const Term *e, const Term *read, int depth) {
    const Term *inside = affine_inline(b->k->affine, e);
    if (inside && depth < 50)
        return open_comparison(b, inside, e, depth + 1);
    if (node_class(e->op) == 'C' && e->args[0]->dtype != DT_BOOL) {
        bool open =
            affine_decide(b->k->affine, e, b->region) < 0 && term_mentions(b->k->terms, e, b->red);
        b->found = open ? e : NULL;
        b->read = read;
        return open;
    }
    for (int i = 0; i < e->n && e->dtype == DT_BOOL && depth < 50; i++) {
        if (open_comparison(b, e->args[i], read, depth + 1))
            return true;
    }
    return false;
}

static bool find_open(void *ctx, const Term *e, const Term *read) {
    Blame *b = ctx;
    const Term *cond = condition_of(e);
    return cond && affine_decide(b->k->affine, cond, b->region) < 0 &&
           open_comparison(b, cond, read, 0);
}

// The index of v that the read has `var` at, or NULL.
static const Var *index_at(const CausalValue *v, const Term *read, const Var *var) {
    for (int i = 0; i < read->n; i++) {
        if (read->args[i]->op == N_INDEX && read->args[i]->var == var)
            return v->out[i];
    }
    return NULL;
}

// The comparison that was found, by the indices of where it stands if it is about two of them, and
// the reduction that reads what it lets through.
static const CausalCause *blame_comparison(const Blame *b, CausalValue *t, const Var *q) {
    Causal *k = b->k;
    const CausalValue *owner = b->read ? b->read->value : t;
    const Var *own_k = b->read ? index_at(owner, b->read, b->red) : NULL;
    const Var *own_q = b->read ? index_at(owner, b->read, q) : NULL;
    int node = causal_node(k, owner, b->found, b->read);
    bool own = node >= 0 && own_k && own_q;
    const char *ahead =
        arena_printf(k->arena, "%s > %s", (own ? own_k : b->red)->name, (own ? own_q : q)->name);
    CausalCause *c = causal_cause(k, t, own ? owner->nodes[node] : b->found,
                                  arena_printf(k->arena, "does not tell %s from the rest", ahead));
    c->owner = owner;
    c->span = causal_span(k, owner, node);
    c->label = arena_printf(k->arena, "goes either way for %s", ahead);
    c->reader = owner == t ? NULL : every(k, b->red);
    return c;
}

static const char *interval_text(Causal *k, Interval x) {
    if (x.any)
        return "anything";
    return x.lo == x.hi ? arena_printf(k->arena, "%g", x.lo)
                        : arena_printf(k->arena, "%g .. %g", x.lo, x.hi);
}

// The reduction itself.
static const CausalCause *blame_whole(Causal *k, CausalValue *t, const Var *red, const char *why) {
    CausalCause *c = causal_cause(k, t, t->body, why);
    c->label = every(k, red);
    return c;
}

static const CausalCause *blame(Causal *k, CausalValue *t, const Var *red) {
    const Var *q = NULL;
    for (int i = 0; i < t->rank && !q; i++)
        q = t->position[i] ? t->out[i] : NULL;
    if (!q)
        return blame_whole(k, t, red, "is reduced over every position");
    Form fq = form_var(q), fk = form_var(red);
    Blame b = {.k = k, .red = red};
    b.region = cons_less(k->affine, cons_none(k->affine), &fq, &fk, 1);
    Inlined walk = {.k = k, .left = WALK_MAX, .fn = find_open, .ctx = &b};
    each_inlined(&walk, t->body, NULL);
    if (b.found)
        return blame_comparison(&b, t, q);
    const char *name = arena_printf(k->arena, "%s > %s", red->name, q->name);
    Values *v = values_new(k->arena, k->affine, causal_limits[0], k->bases[0]);
    Interval x = values_of(v, t->body, b.region);
    bool hidden = t->reduction == RED_MAX && !x.any && x.hi < -causal_limits[0];
    return blame_whole(
        k, t, red,
        hidden
            ? arena_printf(k->arena,
                           "is hidden for %s, but no element is surely visible in every row", name)
            : arena_printf(k->arena, "isn't neutral for %s: %s", name, interval_text(k, x)));
}

// ---- Bounds ------------------------------------------------------------------------------------

static bool has_lanes(const CausalValue *t) {
    return t->reduction == RED_SUM && dtype_is_float(t->dtype);
}

static bool outermost(const CausalValue *t, int j) {
    for (int i = 0; i < j; i++) {
        int64_t n;
        if (!dim_is_const(t->red_vars[i]->dim, &n) || n != 1)
            return false;
    }
    return true;
}

static void state(Causal *k, const CausalValue *t, int j, const Proof *p) {
    const CausalBound *b = &t->bounds[j];
    const char *name = t->red_vars[j]->name, *q = t->out[b->q_axis]->name;
    StrBuf s = strbuf_new(k->arena);
    strbuf_printf(&s, "%s: ", t->name ? t->name : "value");
    if (b->window < AFFINE_INF)
        strbuf_printf(&s, "%s - %lld <= ", q, (long long)b->window);
    strbuf_printf(&s, "%s <= %s; ", name, q);
    static const char *const why[] = {
        "",      "exactly 0", "exactly 1", "below a visible element", "above a visible element",
        "false", "true"};
    strbuf_printf(&s, "for %s > %s the element is %s", name, q, why[t->reduction]);
    bool limited = p->limit < causal_limits[CAUSAL_LIMITS - 1];
    if (limited)
        strbuf_printf(&s, " if ordinary values are within %.4g", p->limit);
    for (int i = 0; i < p->conditions; i++)
        strbuf_printf(&s, "%s%s", i ? ", " : limited ? " and " : " if ", p->texts[i]);
    vec_push(k->arena, &k->steps, ((CausalStep){t, t->span, s.data, p->limit}));
}

// Tries to bound reduction j by output axis `axis`.
static bool bound_by(Causal *k, CausalValue *t, int j, int axis) {
    const Var *red = t->red_vars[j], *q = t->out[axis];
    Form fk = form_var(red), fq = form_var(q);
    const Cons *later = cons_less(k->affine, cons_none(k->affine), &fq, &fk, 1);
    Proof p = neutral(k, t, &(Hidden){later, axis, true});
    if (!p.proved)
        return false;
    CausalBound *b = &t->bounds[j];
    *b = (CausalBound){true, axis, window(k, t, red, axis), p.limit, p.conditions, p.texts};
    if (p.limit < k->limit)
        k->limit = p.limit;
    state(k, t, j, &p);
    if (has_lanes(t) && !outermost(t, j))
        t->length = t->lanes = causal_cause(
            k, t, term_index(k->terms, red),
            "isn't the outermost reduction index: the lane of an element depends on the length");
    return true;
}

void causal_bound_reduction(Causal *k, CausalValue *t, int j) {
    t->bounds[j] = (CausalBound){0};
    for (int axis = 0; axis < t->rank; axis++) {
        if (t->position[axis] && bound_by(k, t, j, axis))
            return;
    }
    if (has_lanes(t) && !outermost(t, j))
        t->lanes = causal_cause(
            k, t, term_index(k->terms, t->red_vars[j]),
            "isn't the outermost reduction index: the lane of an element depends on the length");
    if (!t->length)
        t->length = blame(k, t, t->red_vars[j]);
}

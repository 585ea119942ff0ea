// Reductions over positions: is the summand neutral for k > q, and how far back does it reach.
#include "opt/causal_impl.h"
#include <math.h>
#include <stdlib.h>

enum { WINDOWS_MAX = 32 };

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
    int q_axis;       // the element at k = q is
    bool first;       // so is the one at k = 0
    const Term *body; // of the hidden elements; NULL: as it is
} Hidden;

// Is x beyond w, so that it changes no maximum (or minimum)? Equal zeros may differ in sign.
static bool beyond(const CausalValue *t, double x, double w, bool above) {
    bool strictly = above ? x > w : x < w;
    return strictly || (x == w && (x != 0 || !dtype_is_float(t->dtype)));
}

// Is t's element neutral there?
static bool neutral_in(Values *v, const CausalValue *t, const Hidden *h) {
    Interval x = values_of(v, h->body ? h->body : t->body, h->where), w;
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

bool causal_neutral(Causal *k, CausalValue *t, const Term *body, const Cons *where, int axis) {
    Hidden h = {where, axis, true, body};
    Proof p = {0};
    return try_limit(k, t, &h, causal_limits[0], k->bases[0], &p);
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
    const Term *cond = causal_condition(e);
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
    if (!form_add(&s.back, &fq, &fk, -1))
        return AFFINE_INF;
    causal_each_inlined(k, t->body, false, add_window, &s);
    qsort(s.w, (size_t)s.n, sizeof *s.w, by_size);
    for (int i = 0; i < s.n; i++) {
        const Cons *c = cons_less(k->affine, cons_none(k->affine), &fk, &fq, s.w[i] + 1);
        if ((i == 0 || s.w[i] != s.w[i - 1]) &&
            neutral(k, t, &(Hidden){c, axis, false, NULL}).proved)
            return s.w[i];
    }
    return AFFINE_INF;
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
    Proof p = neutral(k, t, &(Hidden){later, axis, true, NULL});
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
        t->length = causal_blame(k, t, t->red_vars[j]);
}

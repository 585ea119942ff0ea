// Facts: what a scope knows, and the questions asked of it; see dim.h.
#include "type/dim_solver.h"

typedef struct {
    const Dim *p;  // valid
    FactKind kind; // what is known of it
} Fact;

struct Facts {
    DimTable *t;
    const Facts *outer; // or NULL
    VEC(Fact) facts;    // in the order added
    Solver *solver;     // built when first asked, and again when facts came
};

Facts *facts_new(DimTable *t, const Facts *outer) {
    Facts *f = NEW(t->arena, Facts);
    f->t = t;
    f->outer = outer;
    f->solver = NEW(t->arena, Solver);
    f->solver->stamp = -1;
    return f;
}

void facts_add(Facts *f, const Dim *a, Relation rel, const Dim *b) {
    Fact fact = {NULL, rel == REL_EQ ? IS_ZERO : rel == REL_NE ? NOT_ZERO : AT_LEAST_ZERO};
    if (rel == REL_EQ || rel == REL_NE || rel == REL_GE || rel == REL_GT)
        fact.p = dim_difference(f->t, a, b, rel == REL_GT);
    else
        fact.p = dim_difference(f->t, b, a, rel == REL_LT);
    if (dim_valid(fact.p))
        vec_push(f->t->arena, &f->facts, fact);
}

static bool is_constant(const Dim *d) {
    return dim_is_const(d, NULL);
}

static int count_facts(const Facts *f) {
    int n = 0;
    for (; f; f = f->outer)
        n += f->facts.len;
    return n;
}

static Solver *solver_of(const Facts *f) {
    while (f->facts.len == 0 && f->outer)
        f = f->outer;
    Solver *s = f->solver;
    int stamp = count_facts(f);
    if (s->stamp == stamp)
        return s;
    *s = (Solver){.t = f->t, .stamp = stamp};
    if (f->outer)
        solver_inherit(s, solver_of(f->outer));
    for (int i = 0; i < f->facts.len && i < FACT_LIMIT; i++)
        solver_add(s, f->facts.data[i].p, f->facts.data[i].kind);
    solver_solve(s);
    return s;
}

// Questions

static bool divides(DimTable *t, const Dim *a, const Dim *b, const Dim **quotient) {
    const Dim *rest;
    dim_divide(t, b, a, quotient, &rest);
    return dim_valid(rest) && dim_is_zero(rest);
}

static bool is_zero(Solver *s, const Dim *d) {
    const Dim *quotient, *p = solver_normal(s, d, TO_PROVE);
    if (!dim_valid(p) || is_constant(p))
        return dim_is_zero(p);
    d = solver_substitute(s, d);
    for (int i = 0; i < s->eq.len; i++) {
        if (divides(s->t, s->eq.data[i], d, &quotient))
            return true;
    }
    const Dim *negative = dim_sub(s->t, dim_const(s->t, 0), p);
    return solver_ge(s, p) && solver_ge(s, negative);
}

static bool is_nonzero(Solver *s, const Dim *d) {
    DimTable *t = s->t;
    const Dim *zero = dim_const(t, 0), *quotient, *p = solver_normal(s, d, TO_PROVE);
    if (!dim_valid(p) || is_constant(p))
        return dim_valid(p) && !dim_is_zero(p);
    uint64_t g = solver_content(p->p);
    if (g > 1 && g <= INT64_MAX && poly_constant(p->p) % (int64_t)g)
        return true; // 2*H + 1
    for (int i = 0; i < s->ne.len; i++) {
        const Dim *ne = solver_normal(s, s->ne.data[i], TO_PROVE);
        if (dim_is_zero(ne) || dim_is_zero(p))
            continue;
        if (divides(t, p, ne, &quotient) || (divides(t, ne, p, &quotient) && is_constant(quotient)))
            return true;
    }
    return solver_ge(s, dim_difference(t, p, zero, 1)) ||
           solver_ge(s, dim_difference(t, zero, p, 1));
}

bool facts_prove(const Facts *f, const Dim *a, Relation rel, const Dim *b) {
    if (!dim_valid(a) || !dim_valid(b))
        return false;
    bool reflexive = rel == REL_EQ || rel == REL_LE || rel == REL_GE;
    const Dim *p = dim_difference(f->t, a, b, rel == REL_GT);
    int64_t value;
    if (rel == REL_LT || rel == REL_LE)
        p = dim_difference(f->t, b, a, rel == REL_LT);
    if (a == b || dim_is_const(p, &value))
        return a == b          ? reflexive
               : rel == REL_EQ ? value == 0
               : rel == REL_NE ? value != 0
                               : value >= 0;
    Solver *s = solver_of(f);
    bool outermost = solver_begin(s, FUEL_QUERY);
    bool proved = rel == REL_EQ   ? is_zero(s, p)
                  : rel == REL_NE ? is_nonzero(s, p)
                                  : solver_ge(s, p);
    solver_end(s, outermost);
    return proved;
}

// Simplifying

typedef struct {
    Solver *s;
    const Solved *solved; // whose quotient is to go
    Rule rule;            // by*quotient == of
} Restore;

static const Dim *restore(Restore *r, const Dim *d);

static const Dim *restore_atom(void *ctx, const Var *v) {
    Restore *r = ctx;
    if (v->kind == VAR_SYMBOL || v->kind == VAR_QUOTIENT)
        return NULL;
    const Dim *a = restore(r, v->a), *b = restore(r, v->b);
    return a == v->a && b == v->b ? NULL : dim_fold(r->s->t, v->kind, a, b);
}

static const Dim *restore_leaf(void *ctx, const Var *v) {
    const Restore *r = ctx;
    return v == r->solved->quotient ? dim_div(r->s->t, v->a, v->b) : NULL;
}

// The quotient as it was written: N*q is H again, and a q left over is H/N.
static const Dim *restore(Restore *r, const Dim *d) {
    DimTable *t = r->s->t;
    if (!dim_valid(d) || !dim_has_leaf(d, r->solved->quotient))
        return d;
    d = dim_map(t, d, restore_atom, r);
    if (dim_valid(d))
        d = solver_reduce(t, d, &r->rule, 1, &r->s->fuel);
    return dim_map_leaves(t, d, restore_leaf, r);
}

static const Dim *restore_all(Solver *s, const Dim *d) {
    for (int i = s->solved.len - 1; i >= 0; i--) {
        const Solved *solved = &s->solved.data[i];
        const Var *q = solved->quotient;
        if (!q || !dim_has_leaf(d, q))
            continue;
        const Dim *p = dim_sub(s->t, dim_mul(s->t, q->b, q->self), q->a);
        int lead = 0;
        while (lead < p->p.n && !mono_has(p->p.terms[lead].m, q))
            lead++;
        if (lead >= p->p.n || p->p.terms[lead].c < 0)
            return dim_invalid(s->t);
        Restore r = {s, solved, {p, lead}};
        d = restore(&r, d);
    }
    return d;
}

static bool uses_equality(const Solver *s, const Dim *d) {
    for (int i = 0; i < s->solved.len; i++) {
        if (!s->solved.data[i].quotient && dim_has_leaf(d, s->solved.data[i].from))
            return true;
    }
    return false;
}

const Dim *facts_simplify(const Facts *f, const Dim *d) {
    if (!dim_valid(d) || is_constant(d))
        return d;
    Solver *s = solver_of(f);
    bool outermost = solver_begin(s, FUEL_QUERY);
    const Dim *simple = restore_all(s, solver_normal(s, d, TO_SHOW));
    solver_end(s, outermost);
    bool longer = simple->weight + simple->p.n > d->weight + d->p.n;
    bool worse = !dim_valid(simple) || (longer && !uses_equality(s, d));
    return worse ? d : simple;
}

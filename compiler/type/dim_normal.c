// Normal forms under facts: substitutions, rules for atoms, rewriting by equalities; see
// dim_solver.h.
#include "type/dim_solver.h"

void solver_forget(Solver *s) {
    Map none = {0};
    s->normal = s->simple = s->proved = none;
}

bool solver_begin(Solver *s, int fuel) {
    if (s->scratch)
        return false;
    s->scratch = arena_new();
    s->fuel = fuel;
    return true;
}

void solver_end(Solver *s, bool outermost) {
    if (!outermost)
        return;
    arena_free(s->scratch);
    s->scratch = NULL;
}

static const Dim *solved_leaf(void *ctx, const Var *v) {
    const Solved *solved = ctx;
    return v == solved->from ? solved->to : NULL;
}

const Dim *solver_substitute(Solver *s, const Dim *d) {
    for (int i = 0; i < s->solved.len; i++) {
        Solved *solved = &s->solved.data[i];
        if (!dim_has_leaf(d, solved->from))
            continue;
        const Dim *next = dim_map_leaves(s->t, d, solved_leaf, solved);
        if (!dim_valid(next))
            return d; // as true as it was
        d = next;
    }
    return d;
}

// Rewriting with p == 0: from the term `lead`, whose coefficient is positive, to the others.
static const Dim *reduce_once(DimTable *t, const Dim *d, Rule rule) {
    Term lead = rule.p->p.terms[rule.lead];
    for (int i = 0; i < d->p.n; i++) {
        Term k = {d->p.terms[i].c / lead.c, NULL};
        if (k.c == 0 || k.c == INT64_MIN)
            continue;
        k.m = mono_div(t, d->p.terms[i].m, lead.m);
        if (!k.m)
            continue;
        const Dim *next = dim_add_scaled(t, d, (Term){-k.c, k.m}, rule.p);
        bool swells = next->p.n > d->p.n && next->p.n > FACT_TERMS;
        if (dim_valid(next) && !swells)
            return next;
    }
    return d;
}

const Dim *solver_reduce(DimTable *t, const Dim *d, const Rule *rules, int count, int *fuel) {
    int steps = 0;
    for (int i = 0; i < count && steps<REDUCE_LIMIT && * fuel> 0;) {
        const Dim *next = reduce_once(t, d, rules[i]);
        bool changed = next != d;
        i = changed ? 0 : i + 1;
        steps += changed;
        *fuel -= changed ? 1 + next->weight / HEAVY : 0;
        d = next;
    }
    return d;
}

// x = k*of + rest, where b divides what divides `of`: *whole is k*of/b, *rest is what remains.
static bool take_multiple(Solver *s, const Var *v, const Dim **whole, const Dim **rest) {
    DimTable *t = s->t;
    for (int i = 0; i < s->multiples.len; i++) {
        Multiple m = s->multiples.data[i];
        const Dim *times, *k, *left;
        dim_divide(t, m.by, v->b, &times, &left);
        if (!dim_is_zero(left))
            continue;
        dim_divide(t, v->a, m.of, &k, rest);
        *whole = dim_mul(t, dim_mul(t, k, times), dim_div(t, m.of, m.by));
        if (!dim_is_zero(k) && *whole != v->self)
            return true;
    }
    return false;
}

static bool is_multiple(const Solver *s, const Dim *d) {
    for (int i = 0; i < s->multiples.len; i++) {
        if (s->multiples.data[i].of == d)
            return true;
    }
    return false;
}

// 0 <= a < b
static bool is_small(Solver *s, const Dim *a, const Dim *b) {
    const Dim *gap = dim_sub(s->t, dim_sub(s->t, b, a), dim_const(s->t, 1));
    return solver_ge(s, a) && solver_ge(s, gap);
}

static const Dim *rewrite_div(Solver *s, const Var *v) {
    DimTable *t = s->t;
    const Dim *whole, *rest;
    if (take_multiple(s, v, &whole, &rest))
        return dim_add(t, whole, dim_div(t, rest, v->b));
    if (!solver_positive(s, v->b))
        return NULL;
    if (is_small(s, v->a, v->b))
        return dim_const(t, 0);
    const Var *inner = v->a->var;
    if (inner && inner->kind == VAR_DIV && !is_multiple(s, v->a)) // (x/c)/b is x/(c*b)
        return dim_div(t, inner->a, dim_mul(t, inner->b, v->b));
    return NULL;
}

static const Dim *rewrite_mod(Solver *s, const Var *v, Purpose purpose) {
    DimTable *t = s->t;
    const Dim *whole, *rest;
    if (!solver_positive(s, v->b))
        return NULL;
    if (purpose == TO_PROVE)
        return dim_sub(t, v->a, dim_mul(t, v->b, dim_div(t, v->a, v->b)));
    if (take_multiple(s, v, &whole, &rest))
        return dim_mod(t, rest, v->b);
    return is_small(s, v->a, v->b) ? v->a : NULL;
}

static const Dim *rewrite_extreme(Solver *s, const Var *v) {
    if (solver_ge(s, dim_sub(s->t, v->a, v->b)))
        return v->kind == VAR_MAX ? v->a : v->b;
    if (solver_ge(s, dim_sub(s->t, v->b, v->a)))
        return v->kind == VAR_MAX ? v->b : v->a;
    return NULL;
}

typedef struct {
    Solver *s;
    Purpose purpose;
} Pass;

static const Dim *rewrite_var(void *ctx, const Var *v) {
    const Pass *pass = ctx;
    Solver *s = pass->s;
    const Dim *d = NULL;
    if (v->kind == VAR_SYMBOL || v->kind == VAR_QUOTIENT)
        return NULL;
    const Dim *a = solver_normal(s, v->a, pass->purpose);
    const Dim *b = solver_normal(s, v->b, pass->purpose);
    if (a != v->a || b != v->b) {
        d = dim_fold(s->t, v->kind, a, b);
        return dim_valid(d) ? d : NULL;
    }
    if (v->kind == VAR_DIV)
        d = rewrite_div(s, v);
    else if (v->kind == VAR_MOD)
        d = rewrite_mod(s, v, pass->purpose);
    else
        d = rewrite_extreme(s, v);
    Range range = solver_var_range(s, v);
    if (!d && range.lo == range.hi)
        d = dim_const(s->t, range.lo);
    return d && dim_valid(d) ? d : NULL;
}

const Dim *solver_normal(Solver *s, const Dim *d, Purpose purpose) {
    Map *known = purpose == TO_PROVE ? &s->normal : &s->simple;
    const Dim *form = map_get(known, d);
    if (form || !dim_valid(d))
        return form ? form : d;
    if (s->nest >= NEST_LIMIT || s->fuel-- <= 0) {
        s->cut++;
        return d;
    }
    int cut = s->cut;
    s->nest++;
    Pass pass = {s, purpose};
    form = solver_substitute(s, d);
    for (int i = 0; i < PASS_LIMIT; i++) {
        s->fuel -= form->weight / HEAVY;
        const Dim *next = dim_map(s->t, form, rewrite_var, &pass);
        if (dim_valid(next))
            next = solver_reduce(s->t, next, s->rules.data, s->rules.len, &s->fuel);
        if (next == form || !dim_valid(next))
            break;
        form = next;
    }
    s->nest--;
    if (s->cut == cut && !s->assumed)
        map_put(s->t->arena, known, d, (void *)(uintptr_t)form);
    return form;
}

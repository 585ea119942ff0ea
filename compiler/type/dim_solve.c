// Solving facts: substitutions, divisibilities, ranges, rules; see dim_solver.h.
#include "type/dim_solver.h"

const Dim *dim_difference(DimTable *t, const Dim *a, const Dim *b, int gap) {
    return dim_sub(t, dim_sub(t, a, b), dim_const(t, gap));
}

static bool is_constant(const Dim *d) {
    return dim_is_const(d, NULL);
}

static bool fits(const Dim *d) {
    return dim_valid(d) && !is_constant(d) && d->p.n <= FACT_TERMS;
}

static void push(Solver *s, DimVec *list, const Dim *d) {
    for (int i = 0; i < list->len; i++) {
        if (list->data[i] == d)
            return;
    }
    if (fits(d) && list->len < 2 * FACT_LIMIT)
        vec_push(s->t->arena, list, d);
}

static void remove_at(DimVec *list, int i) {
    for (; i + 1 < list->len; i++)
        list->data[i] = list->data[i + 1];
    list->len--;
}

// A common factor of which every variable is >= 1 goes.
static const Dim *strip(Solver *s, const Dim *p) {
    const Mono *m = NULL;
    for (int i = 0; i < p->p.n; i++)
        m = m ? mono_gcd(s->t, m, p->p.terms[i].m) : p->p.terms[i].m;
    for (int i = 0; m && i < m->degree; i++) {
        const Dim *q, *r;
        if (solver_var_range(s, m->factors[i]).lo < 1)
            continue;
        dim_divide(s->t, p, m->factors[i]->self, &q, &r);
        if (dim_is_zero(r))
            p = q;
    }
    return p;
}

// p with an equation's common divisor taken out.
static const Dim *primitive_equation(DimTable *t, const Dim *p) {
    uint64_t g = solver_content(p->p);
    bool whole = g > 1 && g <= INT64_MAX && poly_constant(p->p) % (int64_t)g == 0;
    return whole ? solver_primitive(t, p) : p;
}

static void substitute_list(Solver *s, DimVec *list) {
    DimVec old = *list;
    *list = (DimVec){0};
    for (int i = 0; i < old.len; i++) {
        const Dim *p = solver_substitute(s, old.data[i]);
        p = list == &s->ge ? solver_primitive(s->t, p) : primitive_equation(s->t, p);
        push(s, list, p);
    }
}

// p != 0 and p >= 0 make p >= 1.
static void settle_nonzero(Solver *s) {
    const Dim *zero = dim_const(s->t, 0);
    for (int i = 0; i < s->ne.len; i++) {
        const Dim *p = s->ne.data[i];
        if (solver_ge(s, p))
            push(s, &s->ge, dim_difference(s->t, p, zero, 1));
        else if (solver_ge(s, dim_sub(s->t, zero, p)))
            push(s, &s->ge, dim_difference(s->t, zero, p, 1));
    }
}

// Whether p has the leaf only in its term `at`.
static bool only_at(const Dim *p, int at, const Var *leaf) {
    for (int i = 0; i < p->p.n; i++) {
        const Mono *m = p->p.terms[i].m;
        for (int j = 0; i != at && j < m->degree; j++) {
            const Var *v = m->factors[j];
            if (v == leaf || dim_has_leaf(v->self, leaf))
                return false;
        }
    }
    return true;
}

// The term of p that is a symbol alone, which can be solved for; -1 if there is none. Better one
// whose solution has only positive terms, then the younger symbol.
static int solvable(const Dim *p) {
    int best = -1, best_score = 0;
    for (int i = 0; i < p->p.n; i++) {
        Term term = p->p.terms[i];
        const Var *v = term.m->degree == 1 ? term.m->factors[0] : NULL;
        bool leaf = v && (v->kind == VAR_SYMBOL || v->kind == VAR_QUOTIENT);
        if (!leaf || (term.c != 1 && term.c != -1) || !only_at(p, i, v))
            continue;
        int score = 2;
        for (int j = 0; j < p->p.n; j++)
            score = j != i && (p->p.terms[j].c < 0) == (term.c < 0) ? 1 : score;
        bool younger = best >= 0 && v->id > p->p.terms[best].m->factors[0]->id;
        if (score > best_score || (score == best_score && younger))
            best = i, best_score = score;
    }
    return best;
}

// From value == 0 where the term `at` of p is c*v: v == p's others / -c + add.
static const Dim *solution(DimTable *t, const Dim *p, int at, const Dim *add) {
    Term term = p->p.terms[at];
    const Dim *others = dim_sub(t, p, dim_term(t, term.c, term.m));
    const Dim *right = dim_sub(t, add, others);
    return term.c == 1 ? right : dim_sub(t, dim_const(t, 0), right);
}

static bool solve(Solver *s, const Var *from, const Dim *to, const Var *quotient) {
    if (!dim_valid(to) || s->solved.len >= FACT_LIMIT)
        return false;
    vec_push(s->t->arena, &s->solved, ((Solved){from, to, quotient}));
    push(s, &s->ge, to); // as `from` was
    return true;
}

static bool solve_equality(Solver *s) {
    for (int i = 0; i < s->eq.len; i++) {
        const Dim *p = s->eq.data[i];
        int at = solvable(p);
        if (at < 0)
            continue;
        const Var *from = p->p.terms[at].m->factors[0];
        if (solve(s, from, solution(s->t, p, at, dim_const(s->t, 0)), NULL)) {
            remove_at(&s->eq, i);
            return true;
        }
    }
    return false;
}

static bool is_solved(const Solver *s, const Var *v) {
    for (int i = 0; i < s->solved.len; i++) {
        if (s->solved.data[i].from == v)
            return true;
    }
    return false;
}

// A symbol with one value left is that value.
static bool solve_fixed(Solver *s) {
    for (int i = 0; i < s->ranged.len; i++) {
        const Var *v = s->ranged.data[i];
        Range range = solver_var_range(s, v);
        bool leaf = v->kind == VAR_SYMBOL || v->kind == VAR_QUOTIENT;
        bool fixed = leaf && range.lo == range.hi && !is_solved(s, v);
        if (fixed && solve(s, v, dim_const(s->t, range.lo), NULL))
            return true;
    }
    return false;
}

// p == 0 as a%b == rest: the variable a%b and the rest. NULL if p is no such equality.
static const Var *remainder_of(Solver *s, const Dim *p, const Dim **rest) {
    for (int i = 0; i < p->p.n; i++) {
        Term term = p->p.terms[i];
        const Var *v = term.m->degree == 1 ? term.m->factors[0] : NULL;
        if (!v || v->kind != VAR_MOD || (term.c != 1 && term.c != -1))
            continue;
        *rest = solution(s->t, p, i, dim_const(s->t, 0));
        if (dim_valid(*rest) && !poly_has((*rest)->p, v))
            return v;
    }
    return NULL;
}

// of = by * (a fresh q >= 0), solved for a symbol of `of`.
static bool solve_multiple(Solver *s, Multiple m) {
    DimTable *t = s->t;
    int at = solvable(m.of);
    const Var *from = at < 0 ? NULL : m.of->p.terms[at].m->factors[0];
    if (!from || dim_has_leaf(m.by, from))
        return false;
    const Var *q = var_intern(t, VAR_QUOTIENT, m.of, m.by);
    return solve(s, from, solution(t, m.of, at, dim_mul(t, m.by, q->self)), q);
}

// b divides c*x: then b/gcd(b, c) divides x.
static Multiple without_content(DimTable *t, Multiple m) {
    const Dim *rest, *whole, *content;
    int64_t by;
    uint64_t c = 0;
    for (int i = 0; i < m.of->p.n; i++)
        c = gcd_i64((int64_t)c, m.of->p.terms[i].c);
    if (c <= 1 || c > INT64_MAX || !dim_is_const(m.by, &by))
        return m;
    content = dim_const(t, (int64_t)c);
    dim_divide(t, m.of, content, &whole, &rest);
    by /= (int64_t)gcd_i64(by, (int64_t)c);
    return by > 1 ? (Multiple){whole, dim_const(t, by)} : m;
}

// a % b == rest with b >= 1: b divides a - rest.
static bool solve_remainder(Solver *s) {
    DimTable *t = s->t;
    for (int i = 0; i < s->eq.len; i++) {
        const Dim *rest, *p = strip(s, s->eq.data[i]);
        const Var *v = remainder_of(s, p, &rest);
        if (!v || !solver_positive(s, v->b))
            continue;
        Multiple m = without_content(t, (Multiple){dim_sub(t, v->a, rest), v->b});
        if (!fits(m.of))
            continue;
        push(s, &s->ge, rest);
        push(s, &s->ge, dim_difference(t, v->b, rest, 1));
        remove_at(&s->eq, i);
        if (!solver_ge(s, v->a) || !solve_multiple(s, m))
            vec_push(t->arena, &s->multiples, m);
        return true;
    }
    return false;
}

static void update_multiples(Solver *s) {
    int kept = 0;
    for (int i = 0; i < s->multiples.len; i++) {
        Multiple m = s->multiples.data[i];
        m.of = solver_substitute(s, m.of);
        m.by = solver_substitute(s, m.by);
        if (dim_valid(m.of) && dim_valid(m.by) && !is_constant(m.of))
            s->multiples.data[kept++] = m;
    }
    s->multiples.len = kept;
}

static void substitute_all(Solver *s) {
    solver_forget(s);
    substitute_list(s, &s->ge);
    substitute_list(s, &s->ne);
    substitute_list(s, &s->eq);
    update_multiples(s);
}

static void learn(Solver *s) {
    solver_tighten(s);
    settle_nonzero(s);
    for (int i = 0; i < s->ge.len; i++)
        s->ge.data[i] = strip(s, s->ge.data[i]);
    solver_forget(s);
}

// One symbol goes with each step, so this ends.
static void solve_all(Solver *s) {
    bool progress = true;
    substitute_all(s);
    while (progress) {
        while (solve_equality(s))
            substitute_all(s);
        learn(s);
        progress = solve_fixed(s);
        if (progress)
            substitute_all(s);
        while (solve_remainder(s)) {
            substitute_all(s);
            progress = true;
        }
    }
}

// Rules

// The term to rewrite: an atom alone that the others do not mention, else the first of the highest
// degree with a coefficient of 1, else the first.
static int leading(const Dim *p) {
    int best = 0;
    bool unit = p->p.terms[0].c == 1 || p->p.terms[0].c == -1;
    for (int i = 0; i < p->p.n; i++) {
        Term term = p->p.terms[i];
        bool one = term.c == 1 || term.c == -1;
        const Var *v = term.m->degree == 1 ? term.m->factors[0] : NULL;
        if (one && v && v->kind != VAR_SYMBOL && v->kind != VAR_QUOTIENT) {
            bool apart = true;
            for (int j = 0; j < p->p.n && apart; j++) {
                const Mono *m = p->p.terms[j].m;
                for (int k = 0; j != i && k < m->degree && apart; k++)
                    apart = m->factors[k]->id < v->id;
            }
            if (apart)
                return i;
        }
        if (one && !unit && term.m->degree == p->p.terms[0].m->degree)
            best = i, unit = true;
    }
    return best;
}

static void add_rule(Solver *s, const Dim *p, int lead) {
    if (p->p.terms[lead].c < 0)
        p = dim_sub(s->t, dim_const(s->t, 0), p);
    if (!dim_valid(p))
        return;
    vec_push(s->t->arena, &s->rules, ((Rule){p, lead}));
    solver_forget(s);
}

// by * (of/by) is of.
static void multiple_rule(Solver *s, Multiple m) {
    DimTable *t = s->t;
    const Dim *quotient = dim_div(t, m.of, m.by);
    if (!quotient->var)
        return;
    const Dim *p = dim_sub(t, dim_mul(t, m.by, quotient), m.of);
    for (int i = 0; i < p->p.n; i++) {
        if (mono_has(p->p.terms[i].m, quotient->var)) {
            add_rule(s, p, i);
            return;
        }
    }
}

// The bounds of an atom a/b == rest, which the rule hides.
static void bounds_of_quotient(Solver *s, const Dim *p, int at) {
    DimTable *t = s->t;
    Term lead = p->p.terms[at];
    const Var *v = lead.m->degree == 1 ? lead.m->factors[0] : NULL;
    if (!v || v->kind != VAR_DIV || !solver_positive(s, v->b))
        return;
    const Dim *whole = dim_mul(t, v->b, solution(t, p, at, dim_const(t, 0)));
    push(s, &s->ge, dim_sub(t, v->a, whole));
    push(s, &s->ge, dim_difference(t, dim_add(t, whole, v->b), v->a, 1));
}

static void make_rules(Solver *s) {
    for (int i = 0; i < s->multiples.len; i++)
        multiple_rule(s, s->multiples.data[i]);
    for (int i = 0; i < s->eq.len; i++) {
        const Dim *p = solver_normal(s, strip(s, s->eq.data[i]), TO_PROVE);
        p = primitive_equation(s->t, p);
        if (!fits(p))
            continue;
        bounds_of_quotient(s, p, leading(p));
        add_rule(s, p, leading(p));
    }
    for (int i = 0; i < s->ge.len; i++) {
        const Dim *p = solver_primitive(s->t, solver_normal(s, s->ge.data[i], TO_PROVE));
        if (p != s->ge.data[i])
            push(s, &s->ge_normal, p);
    }
    solver_forget(s);
    solver_tighten(s);
}

void solver_add(Solver *s, const Dim *p, FactKind kind) {
    push(s, kind == IS_ZERO ? &s->eq : kind == NOT_ZERO ? &s->ne : &s->ge, p);
}

#define COPY(to, from)                                                                             \
    do {                                                                                           \
        for (int i_ = 0; i_ < (from)->len; i_++)                                                   \
            vec_push(s->t->arena, (to), (from)->data[i_]);                                         \
    } while (0)

void solver_inherit(Solver *s, const Solver *outer) {
    COPY(&s->solved, &outer->solved);
    COPY(&s->multiples, &outer->multiples);
    COPY(&s->ge, &outer->ge);
    COPY(&s->ne, &outer->ne);
    COPY(&s->eq, &outer->eq);
    COPY(&s->ranged, &outer->ranged);
    for (int i = 0; i < s->ranged.len; i++) {
        Range *r = NEW(s->t->arena, Range);
        *r = *(const Range *)map_get(&outer->ranges, s->ranged.data[i]);
        map_put(s->t->arena, &s->ranges, s->ranged.data[i], r);
    }
}

void solver_solve(Solver *s) {
    bool outermost = solver_begin(s, FUEL_BUILD);
    solve_all(s);
    make_rules(s);
    solver_end(s, outermost);
}

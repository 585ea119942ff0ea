// Intervals of variables and polynomials; see dim_solver.h.
//
// The lower bound of a polynomial is taken after every variable is shifted by its own lower bound:
// then all are >= 0, N*D - N with D >= 1 becomes N*D', and terms with a positive coefficient can be
// dropped.
#include "type/dim_solver.h"

static int64_t low_sum(int64_t a, int64_t b) {
    int64_t r;
    return a == NO_LOW || b == NO_LOW || !add_i64(a, b, &r) ? NO_LOW : r;
}

// Of bounds >= 0.
static int64_t high_product(int64_t a, int64_t b) {
    int64_t r;
    if (a == 0 || b == 0)
        return 0;
    return a == NO_HIGH || b == NO_HIGH || !mul_i64(a, b, &r) ? NO_HIGH : r;
}

static int64_t negated(int64_t low) {
    return low == NO_LOW ? NO_HIGH : -low;
}

// The term with each variable replaced by itself plus its lower bound; -1 if a variable has none.
static int shift_term(Solver *s, Term term, Term *out) {
    Term next[TERM_LIMIT];
    int n = 1;
    out[0] = (Term){term.c, s->t->one};
    for (int i = 0; i < term.m->degree && n >= 0; i++) {
        const Var *v = term.m->factors[i];
        int64_t low = solver_var_range(s, v).lo;
        Term shifted[2] = {v->self->p.terms[0], {low, s->t->one}};
        if (low == NO_LOW)
            return -1;
        n = terms_mul(s->t, next, (Poly){out, n}, (Poly){shifted, low ? 2 : 1});
        for (int j = 0; j < n; j++)
            out[j] = next[j];
    }
    return n;
}

static bool shifts(Solver *s, Poly p) {
    for (int i = 0; i < p.n; i++) {
        for (int j = 0; j < p.terms[i].m->degree; j++) {
            if (solver_var_range(s, p.terms[i].m->factors[j]).lo != 0)
                return true;
        }
    }
    return false;
}

// Of a term of a shifted polynomial.
static int64_t low_of_term(Solver *s, Term term) {
    int64_t high = 1, r;
    if (term.m->degree == 0)
        return term.c;
    if (term.c > 0)
        return 0;
    for (int i = 0; i < term.m->degree; i++) {
        Range range = solver_var_range(s, term.m->factors[i]);
        int64_t width;
        if (range.hi == NO_HIGH || !add_i64(range.hi, negated(range.lo), &width))
            width = NO_HIGH;
        high = high_product(high, width < 0 ? 0 : width);
    }
    return high == NO_HIGH || !mul_i64(term.c, high, &r) ? NO_LOW : r;
}

static int64_t low_of_shifted(Solver *s, const Term *terms, int n) {
    int64_t low = 0;
    for (int i = 0; i < n; i++)
        low = low_sum(low, low_of_term(s, terms[i]));
    return low;
}

int64_t solver_low(Solver *s, Poly p) {
    Term sum[TERM_LIMIT], next[TERM_LIMIT], term[TERM_LIMIT];
    int n = 0;
    if (p.n < 0)
        return NO_LOW;
    if (!shifts(s, p))
        return low_of_shifted(s, p.terms, p.n);
    for (int i = 0; i < p.n; i++) {
        int count = shift_term(s, p.terms[i], term);
        n = terms_add(s->t, next, (Poly){sum, n}, (Term){1, s->t->one}, (Poly){term, count});
        if (n < 0)
            return NO_LOW;
        for (int j = 0; j < n; j++)
            sum[j] = next[j];
    }
    return low_of_shifted(s, sum, n);
}

static Poly poly_negated(Poly p, Term *out) {
    for (int i = 0; i < p.n; i++) {
        out[i] = p.terms[i];
        if (!mul_i64(out[i].c, -1, &out[i].c))
            return (Poly){NULL, -1};
    }
    return (Poly){out, p.n};
}

static Range solver_range(Solver *s, Poly p) {
    Term out[TERM_LIMIT];
    int64_t low = solver_low(s, p);
    return (Range){low, negated(solver_low(s, poly_negated(p, out)))};
}

// Floor division, by b >= 1 at most `by`.
static int64_t floor_by(int64_t a, int64_t by) {
    int64_t r = a < 0 ? -1 : 0;
    if (by != NO_HIGH)
        floor_div_i64(a, by, &r);
    return r;
}

static bool known_multiple(const Solver *s, const Var *v) {
    for (int i = 0; i < s->multiples.len; i++) {
        if (s->multiples.data[i].of == v->a && s->multiples.data[i].by == v->b)
            return true;
    }
    return false;
}

static Range div_range(Solver *s, const Var *v, Range a, Range b) {
    Range r = {NO_LOW, NO_HIGH};
    if (b.lo < 1)
        return r;
    if (a.lo != NO_LOW)
        r.lo = floor_by(a.lo, a.lo >= 0 ? b.hi : b.lo);
    if (a.hi != NO_HIGH)
        r.hi = floor_by(a.hi, a.hi >= 0 ? b.lo : b.hi);
    if (a.lo >= 1 && r.lo < 1 && known_multiple(s, v))
        r.lo = 1;
    return r;
}

static Range mod_range(Range a, Range b) {
    Range r = {NO_LOW, NO_HIGH};
    if (b.lo < 1)
        return r;
    r.lo = 0;
    if (b.hi != NO_HIGH)
        r.hi = b.hi - 1;
    if (a.lo >= 0 && a.hi < r.hi)
        r.hi = a.hi;
    return r;
}

// Both ends are monotone in both operands; no bound is the least or the greatest integer.
static Range extreme_range(VarKind kind, Range a, Range b) {
    bool max = kind == VAR_MAX;
    return (Range){(a.lo < b.lo) == max ? b.lo : a.lo, (a.hi < b.hi) == max ? b.hi : a.hi};
}

static Range structural(Solver *s, const Var *v) {
    if (v->kind == VAR_SYMBOL || v->kind == VAR_QUOTIENT)
        return (Range){0, NO_HIGH};
    Range a = solver_range(s, v->a->p), b = solver_range(s, v->b->p);
    if (v->kind == VAR_DIV)
        return div_range(s, v, a, b);
    return v->kind == VAR_MOD ? mod_range(a, b) : extreme_range(v->kind, a, b);
}

// The stored range of a variable, made on first use.
static Range *stored(Solver *s, const Var *v) {
    Range *r = map_get(&s->ranges, v);
    if (!r) {
        Range fresh = structural(s, v);
        r = NEW(s->t->arena, Range);
        *r = fresh;
        map_put(s->t->arena, &s->ranges, v, r);
        vec_push(s->t->arena, &s->ranged, v);
    }
    return r;
}

Range solver_var_range(Solver *s, const Var *v) {
    return *stored(s, v);
}

// The product of the bounds of the factors other than `at`; false if a factor may be negative.
static bool others_range(Solver *s, const Mono *m, int at, Range *others) {
    *others = (Range){1, 1};
    for (int i = 0; i < m->degree && m->degree > 1; i++) {
        Range f = solver_var_range(s, m->factors[i]);
        if (f.lo < 0)
            return false;
        if (i != at) {
            others->lo = high_product(others->lo, f.lo);
            others->hi = high_product(others->hi, f.hi < 0 ? 0 : f.hi);
        }
    }
    return true;
}

// Narrows a stored range to its part in [lo, hi].
static void narrow(Solver *s, Range *r, int64_t lo, int64_t hi) {
    s->narrowed += lo > r->lo || hi < r->hi;
    r->lo = lo > r->lo ? lo : r->lo;
    r->hi = hi < r->hi ? hi : r->hi;
}

// c*v*others >= -rest with c > 0.
static void tighten_low(Solver *s, Range *r, int64_t c, Range others, int64_t rest, bool product) {
    int64_t scale = high_product(c, others.hi);
    bool silent = rest >= 0 && (product || scale == NO_HIGH);
    if (silent || scale == 0)
        return;
    narrow(s, r, scale == NO_HIGH ? 1 : -floor_by(rest, scale), NO_HIGH);
}

// c*v*others <= rest with c > 0.
static void tighten_high(Solver *s, Range *r, int64_t c, Range others, int64_t rest, bool product) {
    int64_t scale = high_product(c, others.lo);
    if (scale == 0 || scale == NO_HIGH || (rest < 0 && product))
        return;
    narrow(s, r, NO_LOW, floor_by(rest, scale));
}

// What term + rest >= 0 says of a factor of the term, `rest` being the greatest value of the rest.
static void tighten_factor(Solver *s, Term term, int at, int64_t rest) {
    Range others, *r = stored(s, term.m->factors[at]);
    bool product = term.m->degree > 1;
    if (rest == NO_HIGH || rest == INT64_MIN || !others_range(s, term.m, at, &others))
        return;
    if (term.c > 0)
        tighten_low(s, r, term.c, others, rest, product);
    else if (term.c != INT64_MIN)
        tighten_high(s, r, -term.c, others, rest, product);
}

static void tighten_by(Solver *s, Poly p) {
    Term rest[FACT_TERMS];
    if (p.n > FACT_TERMS)
        return;
    for (int i = 0; i < p.n; i++) {
        int n = 0;
        for (int j = 0; j < p.n; j++) {
            if (j != i)
                rest[n++] = p.terms[j];
        }
        int64_t hi = solver_range(s, (Poly){rest, n}).hi;
        for (int j = 0; j < p.terms[i].m->degree; j++)
            tighten_factor(s, p.terms[i], j, hi);
    }
}

// Atoms learn from what has become known of their operands.
static void refresh(Solver *s) {
    for (int i = 0; i < s->ranged.len; i++) {
        Range *r = stored(s, s->ranged.data[i]), now = structural(s, s->ranged.data[i]);
        narrow(s, r, now.lo, now.hi);
    }
}

void solver_tighten(Solver *s) {
    int before = -1;
    for (int round = 0; round < TIGHTEN_ROUNDS && s->narrowed != before; round++) {
        before = s->narrowed;
        for (int i = 0; i < s->ge.len; i++)
            tighten_by(s, s->ge.data[i]->p);
        for (int i = 0; i < s->ge_normal.len; i++)
            tighten_by(s, s->ge_normal.data[i]->p);
        refresh(s);
    }
}

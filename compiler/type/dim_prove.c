// The search for a proof that a polynomial is >= 0; see dim_solver.h.
//
// q >= 0 holds if its lower bound is >= 0, or if q - u*p >= 0 for a known p >= 0 and a product u of
// non-negative variables, chosen so that a negative term of q goes away. x/b + r >= 0 with b >= 1
// is x + r*b >= 0; min and max are split into their two cases. The depth grows from question to
// question, so that a short proof is found before a long one is looked for.
#include "type/dim_solver.h"

enum { TRIED_LIMIT = 8, ATOM_LIMIT = 16 };

static const char PROVED[] = "proved", FAILED[] = "failed";

static bool search(Solver *s, Poly q, int depth);

uint64_t solver_content(Poly p) {
    uint64_t g = 0;
    for (int i = 0; i < p.n && g != 1; i++) {
        if (p.terms[i].m->degree)
            g = gcd_i64((int64_t)g, p.terms[i].c);
    }
    return g;
}

static Poly primitive(Arena *a, Poly p) {
    uint64_t g = solver_content(p);
    int n = 0;
    if (g <= 1 || g > INT64_MAX)
        return p;
    Term *terms = NEW_N(a, Term, p.n);
    for (int i = 0; i < p.n; i++) {
        terms[n] = p.terms[i];
        if (floor_div_i64(terms[n].c, (int64_t)g, &terms[n].c) && terms[n].c)
            n++;
    }
    return (Poly){terms, n};
}

const Dim *solver_primitive(DimTable *t, const Dim *p) {
    Poly q = primitive(t->arena, p->p);
    return q.terms == p->p.terms ? p : dim_intern(t, q.terms, q.n);
}

static Poly sum(Solver *s, Poly a, int64_t k, Poly b) {
    return poly_add(s->t, s->scratch, a, (Term){k, s->t->one}, b);
}

static Poly product(Solver *s, Poly a, Poly b) {
    return poly_mul(s->t, s->scratch, a, b);
}

static Poly constant(Solver *s, int64_t value) {
    return dim_const(s->t, value)->p;
}

static bool non_negative(Solver *s, const Mono *m) {
    for (int i = 0; i < m->degree; i++) {
        if (solver_var_range(s, m->factors[i]).lo < 0)
            return false;
    }
    return true;
}

// Using p >= 0

// k*m*p is taken from scale*q.
typedef struct {
    int64_t scale;
    Term k;
} Step;

// The step that removes q's negative term with p's; false if there is none.
static bool step_for(Solver *s, Poly q, Poly p, Term from, Term with, Step *step) {
    if (from.c >= 0 || with.c >= 0 || from.c == INT64_MIN || with.c == INT64_MIN)
        return false;
    const Mono *u = mono_div(s->t, from.m, with.m);
    // a product of a higher degree than q leads nowhere
    if (!u || u->degree + p.terms[0].m->degree > q.terms[0].m->degree || !non_negative(s, u))
        return false;
    int64_t g = (int64_t)gcd_i64(from.c, with.c);
    *step = (Step){-with.c / g, {-from.c / g, u}};
    return true;
}

static bool take_step(Solver *s, Poly q, Poly p, Step step, int depth) {
    // for an integer q, scale*q + scale - 1 >= 0 is q >= 0
    Term scale = {step.scale, s->t->one};
    Poly slack = constant(s, step.scale - 1);
    Poly scaled = poly_add(s->t, s->scratch, slack, scale, q);
    Term k = {-step.k.c, step.k.m};
    return search(s, poly_add(s->t, s->scratch, scaled, k, p), depth - 1);
}

static bool by_fact(Solver *s, Poly q, Poly p, int depth) {
    Step tried[TRIED_LIMIT];
    int count = 0;
    for (int i = 0; i < q.n; i++) {
        for (int j = 0; j < p.n && count < TRIED_LIMIT; j++) {
            Step step;
            bool fresh = step_for(s, q, p, q.terms[i], p.terms[j], &step);
            for (int k = 0; k < count && fresh; k++)
                fresh = tried[k].scale != step.scale || tried[k].k.c != step.k.c ||
                        tried[k].k.m != step.k.m;
            if (!fresh)
                continue;
            tried[count++] = step;
            if (take_step(s, q, p, step, depth))
                return true;
        }
    }
    return false;
}

static bool by_facts(Solver *s, Poly q, int depth) {
    for (int i = 0; i < s->ge.len; i++) {
        if (by_fact(s, q, s->ge.data[i]->p, depth))
            return true;
    }
    for (int i = 0; i < s->ge_normal.len; i++) {
        if (by_fact(s, q, s->ge_normal.data[i]->p, depth))
            return true;
    }
    return false;
}

// Using atoms

static int atoms_in(Poly q, const Var **atoms) {
    int n = 0;
    for (int i = 0; i < q.n; i++) {
        for (int j = 0; j < q.terms[i].m->degree; j++) {
            const Var *v = q.terms[i].m->factors[j];
            bool fresh = v->kind != VAR_SYMBOL && v->kind != VAR_QUOTIENT;
            for (int k = 0; k < n && fresh; k++)
                fresh = atoms[k] != v;
            if (fresh && n < ATOM_LIMIT)
                atoms[n++] = v;
        }
    }
    return n;
}

// The coefficient of v if q is c*v + rest with a rest free of v, else 0.
static int64_t linear_in(Poly q, const Var *v) {
    int64_t c = 0;
    for (int i = 0; i < q.n; i++) {
        if (!mono_has(q.terms[i].m, v))
            continue;
        if (c || q.terms[i].m->degree > 1)
            return 0;
        c = q.terms[i].c;
    }
    return c;
}

// b*(x/b) <= x <= b*(x/b) + b - 1, and for a single x/b the same in one step.
static bool by_div(Solver *s, Poly q, const Var *v, int depth) {
    if (!solver_positive(s, v->b))
        return false;
    Poly x = v->a->p, b = v->b->p, one = constant(s, 1);
    int64_t c = linear_in(q, v);
    if (c == 1 || c == -1) {
        Poly rest = sum(s, q, -c, v->self->p);
        Poly next = c == 1 ? sum(s, x, 1, product(s, rest, b))
                           : sum(s, sum(s, product(s, sum(s, rest, 1, one), b), -1, x), -1, one);
        if (search(s, next, depth - 1))
            return true;
    }
    Poly whole = product(s, v->self->p, b);
    Poly below = sum(s, x, -1, whole);
    Poly above = sum(s, sum(s, b, -1, one), -1, below);
    return by_fact(s, q, below, depth) || by_fact(s, q, above, depth);
}

typedef struct {
    const Var *from;
    const Dim *to;
} Choice;

static const Dim *chosen(void *ctx, const Var *v) {
    const Choice *choice = ctx;
    return v == choice->from ? choice->to : NULL;
}

// With `least` <= `most` assumed, and v one of them.
static bool by_case(Solver *s, const Dim *q, const Var *v, const Dim *least, const Dim *most,
                    int depth) {
    Choice choice = {v, v->kind == VAR_MAX ? most : least};
    const Dim *gap = dim_sub(s->t, most, least);
    if (!dim_valid(gap))
        return false;
    vec_push(s->t->arena, &s->ge, gap);
    s->assumed++;
    bool found = search(s, dim_map(s->t, q, chosen, &choice)->p, depth - 1);
    s->assumed--;
    s->ge.len--;
    return found;
}

static bool by_atoms(Solver *s, Poly q, int depth) {
    const Var *atoms[ATOM_LIMIT];
    int n = atoms_in(q, atoms);
    for (int i = 0; i < n; i++) {
        const Var *v = atoms[i];
        if (v->kind == VAR_DIV && by_div(s, q, v, depth))
            return true;
        if (v->kind != VAR_MIN && v->kind != VAR_MAX)
            continue;
        const Dim *d = dim_intern(s->t, q.terms, q.n);
        if (by_case(s, d, v, v->a, v->b, depth) && by_case(s, d, v, v->b, v->a, depth))
            return true;
    }
    return false;
}

// q = m*r with a non-negative m.
static bool by_factor(Solver *s, Poly q, int depth) {
    const Mono *m = q.terms[0].m;
    for (int i = 1; i < q.n; i++)
        m = mono_gcd(s->t, m, q.terms[i].m);
    if (m->degree == 0 || !non_negative(s, m))
        return false;
    Term *terms = NEW_N(s->scratch, Term, q.n);
    for (int i = 0; i < q.n; i++)
        terms[i] = (Term){q.terms[i].c, mono_div(s->t, q.terms[i].m, m)};
    return search(s, (Poly){terms, q.n}, depth - 1);
}

static bool search(Solver *s, Poly q, int depth) {
    if (q.n < 0 || s->fuel-- <= 0) {
        s->cut += q.n >= 0;
        return false;
    }
    q = primitive(s->scratch, q);
    if (solver_low(s, q) >= 0)
        return true;
    bool constant_only = q.n == 1 && q.terms[0].m->degree == 0;
    if (depth == 0 || q.n > FACT_TERMS || (constant_only && s->ge.len == 0))
        return false;
    return by_factor(s, q, depth) || by_atoms(s, q, depth) || by_facts(s, q, depth);
}

bool solver_ge(Solver *s, const Dim *d) {
    int64_t value;
    if (dim_is_const(d, &value) || !dim_valid(d))
        return dim_valid(d) && value >= 0;
    const char *known = map_get(&s->proved, d);
    if (known)
        return known == PROVED;
    int cut = s->cut;
    const Dim *normal = solver_normal(s, d, TO_PROVE);
    bool found = false;
    for (int depth = 0; depth <= SEARCH_DEPTH && !found && s->cut == cut; depth++)
        found = search(s, normal->p, depth);
    if (!s->assumed && (found || s->cut == cut))
        map_put(s->t->arena, &s->proved, d, (void *)(uintptr_t)(found ? PROVED : FAILED));
    return found;
}

bool solver_positive(Solver *s, const Dim *d) {
    return solver_ge(s, dim_sub(s->t, d, dim_const(s->t, 1)));
}

// The affine prover: forms, facts, decisions and bounds; and a random test against all points of a
// small box.
#include "core_help.h"
#include "opt/affine.h"

typedef struct {
    Arena *a;
    Terms *t;
    Affine *p;
    const Dim *S;
    const Var *q, *k;
    const Term *tq, *tk, *tS;
} Fixture;

static Fixture fixture(void) {
    Fixture f = {.a = arena_new()};
    DimTable *dims = dims_new(f.a);
    f.t = terms_new(f.a);
    f.S = dim_symbol(dims, "S");
    f.p = affine_new(f.a, f.t, f.S);
    f.q = affine_index(f.p, "q", f.S);
    f.k = affine_index(f.p, "k", f.S);
    f.tq = term_index(f.t, f.q);
    f.tk = term_index(f.t, f.k);
    f.tS = term_make(f.t, (Term){.op = N_DIM, .dtype = DT_I64, .dim = f.S});
    return f;
}

static const Term *op(Fixture *f, NodeOp o, const Term *a, const Term *b) {
    return term_binary(f->t, o, a, b);
}

static const Term *num(Fixture *f, int64_t v) {
    return term_int(f->t, v);
}

static const Term *cast(Fixture *f, Dtype t, const Term *a) {
    return term_make(f->t, (Term){.op = N_CAST, .dtype = t, .n = 1, .args = &a});
}

// What k > q decides of a condition.
static int later(Fixture *f, const Term *cond) {
    Form q = form_var(f->q), k = form_var(f->k);
    return affine_decide(f->p, cond, cons_less(f->p, cons_none(f->p), &q, &k, 1));
}

static void decisions(Test *t) {
    Fixture f = fixture();
    CHECK(t, later(&f, op(&f, N_LE, f.tk, f.tq)) == 0);
    CHECK(t, later(&f, op(&f, N_LT, f.tk, f.tq)) == 0);
    CHECK(t, later(&f, op(&f, N_GT, f.tk, f.tq)) == 1);
    CHECK(t, later(&f, op(&f, N_NE, f.tk, f.tq)) == 1);
    CHECK(t, later(&f, op(&f, N_EQ, f.tk, f.tq)) == 0);
    CHECK(t, later(&f, op(&f, N_LT, f.tk, op(&f, N_ADD, f.tq, num(&f, 2)))) == -1);
    CHECK(t, later(&f, op(&f, N_GE, op(&f, N_SUB, f.tq, f.tk), num(&f, 0))) == 0);
    CHECK(t, later(&f, op(&f, N_GE, f.tk, num(&f, 1))) == 1); // q >= 0
    CHECK(t, later(&f, op(&f, N_LT, f.tk, f.tS)) == 1);
    const Term *clamped = op(&f, N_MAX, op(&f, N_SUB, f.tq, f.tk), num(&f, 0));
    CHECK(t, later(&f, op(&f, N_EQ, clamped, num(&f, 0))) == 1);
    const Term *floats = op(&f, N_SUB, cast(&f, DT_F32, f.tq), cast(&f, DT_F32, f.tk));
    const Term *zero = term_make(f.t, (Term){.op = N_CONST, .dtype = DT_F32});
    CHECK(t, later(&f, op(&f, N_LT, floats, zero)) == 1);
    const Term *half[] = {cast(&f, DT_BF16, f.tq), cast(&f, DT_BF16, f.tk)}; // not exact
    CHECK(t, later(&f, op(&f, N_LT, half[0], half[1])) == -1);
    const Term *small[] = {cast(&f, DT_I8, f.tq), cast(&f, DT_I8, f.tk)}; // wrap
    CHECK(t, later(&f, op(&f, N_LT, small[0], small[1])) == -1);
    const Term *product = op(&f, N_MUL, f.tq, f.tk);
    CHECK(t, later(&f, op(&f, N_GE, product, num(&f, 0))) == -1);
    const Term *qb = op(&f, N_FLOORDIV, f.tq, num(&f, 8)), *kb = op(&f, N_DIV, f.tk, num(&f, 8));
    CHECK(t, later(&f, op(&f, N_LT, kb, qb)) == 0);
    CHECK(t, later(&f, op(&f, N_LE, kb, qb)) == -1);
    const Term *both = op(&f, N_AND, op(&f, N_LE, f.tk, f.tq), op(&f, N_GT, f.tk, num(&f, 3)));
    CHECK(t, later(&f, both) == 0);
    const Term *either = op(&f, N_OR, op(&f, N_LE, f.tk, f.tq), op(&f, N_LT, f.tk, num(&f, 5)));
    CHECK(t, later(&f, either) == -1);
    arena_free(f.a);
}

static void bounds(Test *t) {
    Fixture f = fixture();
    int64_t lo, hi;
    Form q = form_var(f.q), last = form_var(affine_length(f.p));
    last.k = -1;
    const Cons *none = cons_none(f.p);
    const Term *half = op(&f, N_FLOORDIV, f.tq, num(&f, 2));
    affine_interval(f.p, affine_forms(f.p, half), &q, none, &lo, &hi);
    CHECK(t, lo == -AFFINE_INF && hi == 0);
    const Term *back = op(&f, N_MAX, op(&f, N_SUB, f.tq, num(&f, 2)), num(&f, 0));
    affine_interval(f.p, affine_forms(f.p, back), &q, none, &lo, &hi);
    CHECK(t, lo == -2 && hi == 0);
    const Term *ahead =
        op(&f, N_MIN, op(&f, N_ADD, f.tq, num(&f, 1)), op(&f, N_SUB, f.tS, num(&f, 1)));
    affine_interval(f.p, affine_forms(f.p, ahead), &q, none, &lo, &hi);
    CHECK(t, lo == 0 && hi == 1);
    affine_interval(f.p, affine_forms(f.p, ahead), &last, none, &lo, &hi);
    CHECK(t, hi == 0);
    affine_interval(f.p, affine_forms(f.p, f.tq), NULL, none, &lo, &hi);
    CHECK(t, lo == 0 && hi == AFFINE_INF);
    CHECK(t, affine_sup(f.p, &q, none) == AFFINE_INF);
    Form ten = form_const(10);
    const Cons *c = cons_less(f.p, none, &q, &ten, 1); // q + 1 <= 10
    CHECK(t, affine_sup(f.p, &q, c) == 9);
    c = cons_less(f.p, c, &ten, &q, 0); // and q >= 10
    CHECK(t, affine_sup(f.p, &q, c) == -AFFINE_INF && !affine_feasible(f.p, c));
    Form three = {.n = 1, .t = {{f.q, 3}}}, seven = form_const(7);
    CHECK(t, affine_sup(f.p, &q, cons_less(f.p, none, &three, &seven, 0)) == 2); // 3 q <= 7
    arena_free(f.a);
}

static void limits(Test *t) {
    Fixture f = fixture();
    Form big = {.n = 1, .t = {{f.q, INT64_MAX / 2}}, .k = INT64_MAX}, out;
    CHECK(t, !form_add(&out, &big, &big, 3));
    CHECK(t, !form_add(&out, &big, &big, INT64_MIN));
    const Term *e = f.tq; // 2^60 q leaves the exact range: opaque
    for (int i = 0; i < 6; i++)
        e = op(&f, N_MUL, e, num(&f, 1024));
    CHECK(t, later(&f, op(&f, N_GE, e, num(&f, 0))) == -1);
    e = f.tq;
    for (int i = 0; i < TERM_MAX_DEPTH + 5; i++)
        e = op(&f, N_ADD, e, f.tk);
    CHECK(t, e == NULL);
    CHECK(t, affine_forms(f.p, NULL)->n == 0 && affine_decide(f.p, NULL, cons_none(f.p)) == -1);
    arena_free(f.a);
}

// ---- Random conditions against all points ------------------------------------------------------

enum { BOX = 7 };

typedef struct {
    int64_t c[3], k; // of q, k, S; >= 0
} Line;

static int64_t value(const Line *l, int64_t q, int64_t k, int64_t S) {
    return l->c[0] * q + l->c[1] * k + l->c[2] * S + l->k;
}

static uint32_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static Form form_of(const Fixture *f, const Line *l) {
    const Var *vars[] = {f->q, f->k, affine_length(f->p)};
    Form r = form_const(l->k);
    for (int i = 0; i < 3; i++) {
        Form v = form_var(vars[i]);
        form_add(&r, &r, &v, l->c[i]);
    }
    return r;
}

// The bound must hold at every point of the box where the constraints do.
static bool holds(const Line *lines, int n, const Line *goal, int64_t sup) {
    for (int64_t S = 1; S <= BOX; S++) {
        for (int64_t q = 0; q < S; q++) {
            for (int64_t k = 0; k < S; k++) {
                bool inside = true;
                for (int i = 0; i < n; i++)
                    inside = inside && value(&lines[i], q, k, S) >= 0;
                if (inside && (sup == -AFFINE_INF || value(goal, q, k, S) > sup))
                    return false;
            }
        }
    }
    return true;
}

static Line random_line(uint64_t *state) {
    Line l;
    for (int j = 0; j < 3; j++)
        l.c[j] = (int64_t)(next(state) % 5) - 2;
    l.k = (int64_t)(next(state) % 9) - 4;
    return l;
}

static void random_bounds(Test *t) {
    uint64_t state = 5;
    Fixture f = fixture();
    int wrong = 0, finite = 0;
    for (int round = 0; round < 4000; round++) {
        Line lines[4], goal = random_line(&state);
        int n = 1 + (int)(next(&state) % 4);
        const Cons *c = cons_none(f.p);
        for (int i = 0; i < n; i++) {
            lines[i] = random_line(&state);
            Form g = form_of(&f, &lines[i]);
            c = cons_with(f.p, c, &g);
        }
        Form g = form_of(&f, &goal);
        int64_t sup = affine_sup(f.p, &g, c);
        wrong += !holds(lines, n, &goal, sup);
        finite += sup != AFFINE_INF;
    }
    CHECK(t, wrong == 0);
    CHECK(t, finite > 1000);
    arena_free(f.a);
}

int main(void) {
    Test t = {0};
    decisions(&t);
    bounds(&t);
    limits(&t);
    random_bounds(&t);
    return finish(&t);
}

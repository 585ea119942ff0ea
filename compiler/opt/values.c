// Intervals of scalars under constraints; see values.h.
#include "opt/values.h"
#include <math.h>
#include <string.h>

enum { DEPTH = 1200, CONDITIONS_MAX = 32, UNFOLD_MAX = 40 };
static const double EXP_ZERO = -87.34, EXP_LARGE = 88, INF = (double)INFINITY;

typedef struct {
    const Term *term;
    const Cons *cons;
    Interval value;
} Memo;

struct Values {
    Arena *arena;
    Affine *affine;
    double limit;  // of ordinary values
    Values *whole; // keeps the intervals of whole values; itself if it is the one
    Arena *table;  // the memory of the memo
    Memo *memo;    // open addressing
    int size;
    int count;
    int depth; // of recursion
    VEC(const char *) conditions;
};

static const Interval ANY = {.any = true};

static Interval range(double lo, double hi) {
    return (Interval){false, lo, hi};
}

static bool is(Interval x, double v) {
    return !x.any && x.lo == v && x.hi == v;
}

Values *values_new(Arena *a, Affine *affine, double limit, Values *whole) {
    Values *v = NEW(a, Values);
    v->arena = a;
    v->affine = affine;
    v->limit = limit;
    v->whole = whole ? whole : v;
    return v;
}

int values_conditions(const Values *v, const char ***texts) {
    *texts = v->conditions.data;
    return v->conditions.len;
}

static void condition(Values *v, const Term *e, const char *what) {
    const char *text = arena_printf(v->arena, "%s %s", term_text(v->arena, e), what);
    for (int i = 0; i < v->conditions.len; i++) {
        if (strcmp(v->conditions.data[i], text) == 0)
            return;
    }
    if (v->conditions.len < CONDITIONS_MAX)
        vec_push(v->arena, &v->conditions, text);
}

bool values_ordinary(const Values *v, Interval x) {
    return !x.any && -v->limit <= x.lo && x.hi <= v->limit;
}

static Interval clamp(const Values *v, Interval x) {
    return range(fmin(fmax(x.lo, -v->limit), v->limit), fmax(fmin(x.hi, v->limit), -v->limit));
}

// A result of dtype t: rounded, and clamped if what it was computed from is ordinary.
static Interval rounded(const Values *v, Dtype t, double lo, double hi, bool ordinary) {
    if (lo != lo || hi != hi)
        return ANY;
    Interval r = range(core_round(t, lo), core_round(t, hi));
    return ordinary ? clamp(v, r) : r;
}

// ---- Memo --------------------------------------------------------------------------------------

static Memo *slot(const Values *v, const Term *e, const Cons *c) {
    uint32_t h = (e->id * 2654435761u) ^ (c->id * 40503u * 65537u);
    uint32_t at = (h ^ h >> 15) & (uint32_t)(v->size - 1);
    while (v->memo[at].term && (v->memo[at].term != e || v->memo[at].cons != c))
        at = (at + 1) & (uint32_t)(v->size - 1);
    return &v->memo[at];
}

static void memo_grow(Values *v) {
    Memo *old = v->memo;
    Arena *before = v->table;
    int n = v->size;
    v->size = n ? 2 * n : 128;
    v->table = arena_child(v->arena);
    v->memo = NEW_N(v->table, Memo, v->size);
    for (int i = 0; i < n; i++) {
        if (old[i].term)
            *slot(v, old[i].term, old[i].cons) = old[i];
    }
    arena_free(before);
}

void values_forget(Values *v) {
    arena_free(v->table);
    v->table = NULL;
    v->memo = NULL;
    v->size = v->count = 0;
}

// ---- Structure ---------------------------------------------------------------------------------

// What e is once the elementwise values at its root are put in.
static const Term *unfold(const Values *v, const Term *e) {
    const Term *inside;
    for (int i = 0; i < UNFOLD_MAX; i++) {
        if (e->op == N_CAST && e->dtype == e->args[0]->dtype)
            e = e->args[0];
        else if ((inside = affine_inline(v->affine, e)))
            e = inside;
        else
            break;
    }
    return e;
}

typedef struct {
    const Values *values;
    const CausalValue *of; // the reduction
    const Term **bound;    // by reduction index: what it is bound to, or NULL
} Match;

// Is x the pattern p with u's reduction indices bound?
static bool match(Match *m, const Term *p, const Term *x) {
    if (p->op == N_INDEX) {
        for (int i = 0; i < m->of->red; i++) {
            if (m->of->red_vars[i] != p->var)
                continue;
            if (!m->bound[i])
                m->bound[i] = x;
            return m->bound[i] == x;
        }
    }
    if (p == x && !p->vars)
        return true;
    if (p->op != x->op || p->dtype != x->dtype || p->n != x->n || p->var != x->var ||
        p->value != x->value || p->dim != x->dim || p->i != x->i ||
        memcmp(&p->f, &x->f, sizeof p->f) != 0)
        return false;
    for (int i = 0; i < p->n; i++) {
        if (!match(m, p->args[i], x->args[i]))
            return false;
    }
    return true;
}

// Are u's reduction indices bound to those of `sum`, each to one of its own and of the same extent?
static bool runs_over(const Match *m, const CausalValue *sum) {
    for (int i = 0; i < m->of->red; i++) {
        const Term *b = m->bound[i];
        bool found = false;
        for (int j = 0; j < sum->red && b && b->op == N_INDEX; j++)
            found = found || (b->var == sum->red_vars[j] && b->var->dim == m->of->red_vars[i]->dim);
        for (int j = 0; j < i; j++)
            found = found && m->bound[j] != b;
        if (!found)
            return false;
    }
    return true;
}

static bool matches(const Values *v, const CausalValue *u, const Term *p, const Term *x,
                    const CausalValue *sum) {
    const Term *bound[CORE_MAX_RANK * 2] = {0};
    Match m = {v, u, bound};
    return p && x && u->red <= CORE_MAX_RANK * 2 && match(&m, p, x) && (!sum || runs_over(&m, sum));
}

// Is b the maximum over k of body(k), and a the body at some k? Then a - b <= 0. With a `sum` (or
// NULL): and k runs over all that it adds up.
static bool is_max_of(const Values *v, const Term *b, const Term *a, const CausalValue *sum) {
    b = unfold(v, b);
    if (b->op != N_READ || b->value->reduction != RED_MAX || !b->value->body)
        return false;
    const CausalValue *u = b->value;
    const Term *p = term_substitute(affine_terms(v->affine), u->body, u->rank, u->out, b->args);
    if (!p)
        return false;
    const Term *x = a;
    for (int i = 0; i < UNFOLD_MAX && x; i++) { // at any depth of elementwise values
        if (matches(v, u, p, x, sum))
            return true;
        x = affine_inline(v->affine, x);
    }
    return matches(v, u, unfold(v, p), unfold(v, a), sum);
}

// The least that a sum of exponentials can be: 1 if it is the sum of exp(x - max x).
static double least_sum(const Values *v, const CausalValue *u) {
    const Term *b = unfold(v, u->body);
    if (b->op != N_EXP)
        return 0;
    b = unfold(v, b->args[0]);
    return b->op == N_SUB && is_max_of(v, b->args[1], b->args[0], u) ? 1 : 0;
}

// ---- Reads -------------------------------------------------------------------------------------

static const Term *body_at(const Values *v, const CausalValue *u, const Term *body,
                           const Term *const *at) {
    return at ? term_substitute(affine_terms(v->affine), body, u->rank, u->out, at) : body;
}

// u's body with every reduction index over positions at `where`, a position.
static const Term *element(const Values *v, const CausalValue *u, const Term *where) {
    const Var *from[CORE_MAX_RANK * 2];
    const Term *to[CORE_MAX_RANK * 2];
    int n = 0;
    for (int i = 0; i < u->red && n < CORE_MAX_RANK * 2; i++) {
        if (u->red_vars[i]->dim != affine_length(v->affine)->dim)
            continue;
        from[n] = u->red_vars[i];
        to[n++] = where;
    }
    return n ? term_substitute(affine_terms(v->affine), u->body, n, from, to) : NULL;
}

Interval values_witness(Values *v, const CausalValue *u, const Term *const *at, const Cons *c,
                        bool first, int own) {
    Terms *t = affine_terms(v->affine);
    Interval best = ANY;
    c = c ? c : cons_none(v->affine);
    for (int axis = first ? -1 : 0; axis < u->rank; axis++) {
        if (axis >= 0 && (!u->position[axis] || (own >= 0 && axis != own)))
            continue;
        const Term *where = axis < 0 ? term_int(t, 0) : term_index(t, u->out[axis]);
        const Term *e = element(v, u, where);
        e = e ? body_at(v, u, e, at) : NULL;
        Interval x = e ? values_of(v, e, c) : ANY;
        bool better = u->reduction == RED_MIN ? x.hi < best.hi : x.lo > best.lo;
        if (!x.any && (best.any || better))
            best = x;
    }
    return best;
}

static Interval reduced(Values *v, const CausalValue *u, const Term *const *at, const Cons *c,
                        Interval x) {
    if (x.any || u->reduction == RED_NONE || is(x, 0))
        return x;
    if (u->reduction == RED_MAX || u->reduction == RED_MIN) {
        Interval w = values_witness(v, u, at, c, true, -1);
        if (w.any)
            return x;
        return u->reduction == RED_MAX ? range(fmax(x.lo, w.lo), x.hi)
                                       : range(x.lo, fmin(x.hi, w.hi));
    }
    if (!values_ordinary(v, x))
        return ANY;
    if (u->reduction != RED_SUM)
        return is(x, 1) ? x : range(-v->limit, v->limit);
    return range(x.lo >= 0 ? least_sum(v, u) : -v->limit, x.hi <= 0 ? 0 : v->limit);
}

static Interval read_value(Values *v, const Term *e, const Cons *c) {
    const CausalValue *u = e->value;
    if (u->wild)
        return ANY;
    if (u->kind != CAUSAL_COMP)
        return range(-v->limit, v->limit);
    if (!u->body)
        return ANY;
    // It can't relate two positions: one answer for all of it, whose own conditions are no part of
    // this proof.
    if (u->tokens && u->positions < 2)
        return reduced(v->whole, u, NULL, cons_none(v->affine),
                       values_of(v->whole, u->body, cons_none(v->affine)));
    const Term *body = body_at(v, u, u->body, e->args);
    return body ? reduced(v, u, e->args, c, values_of(v, body, c)) : ANY;
}

// ---- Operations --------------------------------------------------------------------------------

static Interval add(const Values *v, const Term *e, Interval x, Interval y) {
    bool ordinary = values_ordinary(v, x) && values_ordinary(v, y);
    if (e->op == N_SUB)
        y = range(-y.hi, -y.lo);
    bool up = x.hi == INF || y.hi == INF || x.lo == INF || y.lo == INF;
    bool down = x.hi == -INF || y.hi == -INF || x.lo == -INF || y.lo == -INF;
    if (up && down) // inf - inf is NaN
        return ANY;
    double hi = x.hi + y.hi;
    if (e->op == N_SUB && hi > 0 && is_max_of(v, e->args[1], e->args[0], NULL))
        hi = 0;
    return rounded(v, e->dtype, x.lo + y.lo, hi, ordinary);
}

static bool infinite(Interval x) {
    return isinf(x.lo) || isinf(x.hi);
}

static bool has_zero(Interval x) {
    return x.lo <= 0 && 0 <= x.hi;
}

static Interval mul(Values *v, const Term *e, Interval x, Interval y) {
    if (is(x, 0) || is(y, 0)) {
        Interval other = is(x, 0) ? y : x;
        if (infinite(other)) // 0 * inf is NaN
            return ANY;
        if (other.lo != other.hi)
            condition(v, is(x, 0) ? e->args[1] : e->args[0], "is finite");
        return range(0, 0);
    }
    if ((infinite(x) && has_zero(y)) || (infinite(y) && has_zero(x)))
        return ANY;
    double p[] = {x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
    return rounded(v, e->dtype, fmin(fmin(p[0], p[1]), fmin(p[2], p[3])),
                   fmax(fmax(p[0], p[1]), fmax(p[2], p[3])),
                   values_ordinary(v, x) && values_ordinary(v, y));
}

static Interval divide(Values *v, const Term *e, Interval x, Interval y) {
    bool ordinary = values_ordinary(v, x) && values_ordinary(v, y);
    if (!has_zero(y) && !infinite(x) && !infinite(y)) {
        double a = x.lo / y.lo, b = x.hi / y.lo, c = x.lo / y.hi, d = x.hi / y.hi;
        return rounded(v, e->dtype, fmin(fmin(a, b), fmin(c, d)), fmax(fmax(a, b), fmax(c, d)),
                       ordinary);
    }
    // What is computed of positions takes every value in its range: also 0.
    if (!ordinary || (has_zero(y) && affine_forms(v->affine, e->args[1])->n > 0))
        return ANY;
    if (has_zero(y))
        condition(v, e->args[1], "is not 0");
    if (is(x, 0))
        return x;
    return range(x.lo >= 0 && y.lo >= 0 ? 0 : -v->limit, v->limit);
}

static Interval exponential(Values *v, const Term *e, Interval x) {
    if (x.hi < EXP_ZERO)
        return range(0, 0);
    if (EXP_LARGE < x.hi && x.hi <= v->limit)
        condition(v, e, "does not overflow");
    // Beyond the limit it may be: score less the maximum of a row that sees nothing.
    double hi = x.hi > v->limit ? INF : x.hi > EXP_LARGE ? v->limit : exp(x.hi) * 1.0001;
    if (x.hi <= v->limit)
        hi = fmin(hi, v->limit);
    double lo = x.lo < EXP_ZERO ? 0 : exp(fmin(x.lo, EXP_LARGE)) * 0.9999;
    return rounded(v, e->dtype, lo, hi, x.hi <= v->limit);
}

static Interval logarithm(Values *v, const Term *e, Interval x) {
    if (is(x, 0))
        return range(-INF, -INF);
    if (x.lo < 0 || (x.lo == 0 && !values_ordinary(v, x)))
        return ANY;
    const Term *a = unfold(v, e->args[0]);
    bool total = a->op == N_READ && a->value->reduction != RED_NONE;
    if (total && x.lo == 0) // a mask may be 0; a sum is taken as positive
        condition(v, e->args[0], "is positive");
    double lo = x.lo > 0 ? log(x.lo) - 0.001 : total ? -104 : -INF;
    return rounded(v, e->dtype, lo, log(x.hi) + 0.001, false);
}

static Interval absolute(Interval x) {
    if (x.lo >= 0)
        return x;
    return x.hi <= 0 ? range(-x.hi, -x.lo) : range(0, fmax(-x.lo, x.hi));
}

static Interval unary(Values *v, const Term *e, Interval x) {
    switch (e->op) {
    case N_NEG:
        return range(-x.hi, -x.lo);
    case N_ABS:
        return absolute(x);
    case N_EXP:
        return exponential(v, e, x);
    case N_LOG:
        return logarithm(v, e, x);
    case N_SIN:
    case N_COS:
        return infinite(x) ? ANY : range(-1, 1);
    case N_TANH:
        return range(-1, 1);
    case N_SQRT:
        return values_ordinary(v, x) ? range(x.lo < 0 ? -v->limit : 0, v->limit) : ANY;
    case N_RSQRT:
        return values_ordinary(v, x) ? range(-v->limit, v->limit) : ANY;
    default:
        return ANY;
    }
}

static Interval binary(Values *v, const Term *e, Interval x, Interval y) {
    switch (e->op) {
    case N_ADD:
    case N_SUB:
        return add(v, e, x, y);
    case N_MUL:
        return mul(v, e, x, y);
    case N_DIV:
        return divide(v, e, x, y);
    case N_MAX:
        return range(fmax(x.lo, y.lo), fmax(x.hi, y.hi));
    case N_MIN:
        return range(fmin(x.lo, y.lo), fmin(x.hi, y.hi));
    default:
        return ANY;
    }
}

// ---- Conditions and integers -------------------------------------------------------------------

static Interval compare(Values *v, const Term *e, const Cons *c) {
    Interval x = values_of(v, e->args[0], c), y = values_of(v, e->args[1], c);
    Interval unknown = range(0, 1);
    if (x.any || y.any || (e->op != N_LT && e->op != N_LE && e->op != N_GT && e->op != N_GE))
        return unknown;
    if (e->op == N_GT || e->op == N_GE) {
        Interval swap = x;
        x = y;
        y = swap;
    }
    return x.hi < y.lo ? range(1, 1) : x.lo > y.hi ? range(0, 0) : unknown;
}

static Interval truth(Values *v, const Term *e, const Cons *c) {
    int d = affine_decide(v->affine, e, c);
    if (d >= 0)
        return range(d, d);
    if (e->op == N_READ) {
        const Term *inside = affine_inline(v->affine, e);
        return inside ? values_of(v, inside, c) : range(0, 1);
    }
    if (e->op == N_NOT) {
        Interval x = values_of(v, e->args[0], c);
        return range(1 - x.hi, 1 - x.lo);
    }
    if (e->op == N_AND || e->op == N_OR) {
        Interval x = values_of(v, e->args[0], c), y = values_of(v, e->args[1], c);
        return e->op == N_AND ? range(fmin(x.lo, y.lo), fmin(x.hi, y.hi))
                              : range(fmax(x.lo, y.lo), fmax(x.hi, y.hi));
    }
    if (node_class(e->op) == 'C' && dtype_is_float(e->args[0]->dtype))
        return compare(v, e, c);
    return range(0, 1);
}

static Interval integer(Values *v, const Term *e, const Cons *c) {
    int64_t lo, hi;
    affine_interval(v->affine, affine_forms(v->affine, e), NULL, c, &lo, &hi);
    if (lo > hi)
        return ANY;
    return range(lo <= -AFFINE_INF ? -INF : (double)lo, hi >= AFFINE_INF ? INF : (double)hi);
}

static Interval choice(Values *v, const Term *e, const Cons *c) {
    const Term *branch[2];
    const Cons *known[2];
    Interval cond = values_of(v, e->args[0], c);
    int n = affine_branches(v->affine, e, c, branch, known);
    if (n == 2 && cond.lo == cond.hi) {
        int taken = cond.lo > 0 ? 0 : 1;
        return values_of(v, branch[taken], known[taken]);
    }
    Interval r = values_of(v, branch[0], known[0]);
    Interval s = n == 2 ? values_of(v, branch[1], known[1]) : r;
    return r.any || s.any ? ANY : range(fmin(r.lo, s.lo), fmax(r.hi, s.hi));
}

static Interval cast(Values *v, const Term *e, const Cons *c) {
    Interval x = values_of(v, e->args[0], c);
    if (x.any || e->args[0]->dtype == DT_BOOL)
        return x;
    if (dtype_is_float(e->args[0]->dtype))
        return rounded(v, e->dtype, x.lo, x.hi, values_ordinary(v, x));
    return clamp(v, x);
}

static Interval find(Values *v, const Term *e, const Cons *c) {
    if (e->dtype == DT_BOOL)
        return truth(v, e, c);
    if (!dtype_is_float(e->dtype))
        return integer(v, e, c);
    switch (e->op) {
    case N_CONST:
        return e->f != e->f ? ANY : range(e->f, e->f);
    case N_READ:
        return read_value(v, e, c);
    case N_SELECT:
        return choice(v, e, c);
    case N_CAST:
        return cast(v, e, c);
    default:
        break;
    }
    Interval x = e->n > 0 ? values_of(v, e->args[0], c) : ANY;
    Interval y = e->n > 1 ? values_of(v, e->args[1], c) : x;
    if (x.any || y.any)
        return ANY;
    return e->n == 1 ? unary(v, e, x) : binary(v, e, x, y);
}

Interval values_of(Values *v, const Term *e, const Cons *c) {
    Interval unknown = e->dtype == DT_BOOL ? range(0, 1) : ANY;
    if (v->depth > DEPTH || affine_fuel(v->affine) <= 0)
        return unknown;
    if (2 * (v->count + 1) > v->size)
        memo_grow(v);
    Memo *m = slot(v, e, c);
    if (m->term)
        return m->value;
    v->depth++;
    Interval r = find(v, e, c);
    v->depth--;
    if (2 * (v->count + 1) > v->size) // find may have filled it
        memo_grow(v);
    m = slot(v, e, c);
    v->count += !m->term;
    *m = (Memo){e, c, r};
    return r;
}

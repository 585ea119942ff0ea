// Terms as linear forms, conditions as facts and decisions.
#include "opt/affine_impl.h"
#include "opt/causality.h"

enum { FUEL = 40000000 };
static const double POSITIONS = 1 << 20; // positions and dimensions are assumed to be below
static const double TOKENS = 1 << 24;    // tokens are

// ---- Variables ---------------------------------------------------------------------------------

static Var *affine_var(Affine *p, VarKind kind) {
    Var *v = NEW(p->arena, Var);
    v->id = p->vars.len;
    v->kind = kind;
    v->most = POSITIONS;
    vec_push(p->arena, &p->vars, v);
    return v;
}

static const Var *dim_var(Affine *p, const Dim *d) {
    Var *v = map_get(&p->dims, d);
    if (v)
        return v;
    v = affine_var(p, VAR_DIM);
    v->dim = d;
    v->name = dim_is_symbol(d) ? dim_name(d) : NULL;
    v->length = dim_mentions(d, p->S);
    map_put(p->arena, &p->dims, d, v);
    return v;
}

Affine *affine_new(Arena *a, Terms *t, const Dim *S) {
    Affine *p = NEW(a, Affine);
    p->arena = a;
    p->terms = t;
    p->S = S;
    p->fuel = FUEL;
    p->sups = NEW_N(a, SupMemo, SUP_CACHE);
    p->goal = affine_var(p, VAR_GOAL);
    p->length = dim_var(p, S);
    cons_none(p);
    return p;
}

Terms *affine_terms(Affine *p) {
    return p->terms;
}

const Var *affine_length(Affine *p) {
    return p->length;
}

int64_t affine_fuel(const Affine *p) {
    return p->fuel;
}

const Var *affine_index(Affine *p, const char *name, const Dim *extent) {
    Var *v = affine_var(p, VAR_INDEX);
    Form f;
    v->name = name;
    v->dim = extent;
    if (form_dim(p, extent, &f))
        v->most = form_bound(&f);
    return v;
}

static const Var *affine_div_var(Affine *p, const Form *of, int64_t by) {
    for (int i = 0; i < p->vars.len; i++) {
        Var *v = p->vars.data[i];
        if (v->kind == VAR_DIV && v->by == by && form_equal(v->of, of))
            return v;
    }
    Var *v = affine_var(p, VAR_DIV);
    v->of = arena_copy(p->arena, of, sizeof *of);
    v->by = by;
    v->length = form_length(of);
    v->most = form_bound(of) / (double)by + 1;
    return v;
}

bool form_dim(Affine *p, const Dim *d, Form *out) {
    Form r = {0};
    if (!dim_valid(d))
        return false;
    const Dim *a, *b;
    int64_t by;
    if (dim_atom(d, &a, &b) == ATOM_DIV && dim_is_const(b, &by) && by > 0) {
        if (!form_dim(p, a, &r))
            return false;
        *out = form_var(affine_div_var(p, &r, by));
        return true;
    }
    for (int i = 0; i < dim_terms(d); i++) {
        Form part = form_const(1);
        if (dim_factors(d, i) > 1) { // a product: opaque as a whole
            *out = form_var(dim_var(p, d));
            return true;
        }
        if (dim_factors(d, i) == 1) {
            const Dim *factor = dim_factor(d, i, 0);
            if (dim_atom(factor, &a, &b) != ATOM_NONE && factor != d) {
                if (!form_dim(p, factor, &part))
                    return false;
            } else {
                part = form_var(dim_var(p, factor));
            }
        }
        if (!form_add(&r, &r, &part, dim_coefficient(d, i)))
            return false;
    }
    *out = r;
    return true;
}

// ---- Forms of terms ----------------------------------------------------------------------------

typedef struct {
    Affine *p;
    VEC(Alt) alts;
    bool failed;
} Build;

// The greatest absolute value that a dtype holds exactly; 0 for what is no integer.
static double exact(Dtype t) {
    switch (t) {
    case DT_I64:
        return 9e18;
    case DT_I32:
        return 2147483647.0;
    case DT_F64:
        return 9007199254740992.0;
    case DT_F32:
        return 16777216.0;
    default:
        return 0;
    }
}

static void push(Build *b, Dtype t, const Form *f, const Cons *when) {
    if (b->alts.len == ALT_MAX || form_bound(f) > exact(t))
        b->failed = true;
    else
        vec_push(b->p->arena, &b->alts, ((Alt){*f, when}));
}

static const Term *position_text(Affine *p, const Term *e) {
    return e && e->op == N_READ ? affine_inline(p, e) : NULL;
}

// An integer of which nothing more is known.
static void opaque(Build *b, const Term *e) {
    Affine *p = b->p;
    Var *v = map_get(&p->terms_of, e);
    if (!v) {
        v = affine_var(p, VAR_TERM);
        v->term = e;
        v->natural = e->op == N_READ && e->value->kind == CAUSAL_TOKENS;
        v->most = v->natural ? TOKENS : dtype_size(e->dtype) < 8 ? 2147483647.0 : 1.8e19;
        map_put(p->arena, &p->terms_of, e, v);
    }
    b->failed = false;
    b->alts.len = 0;
    Form f = form_var(v);
    vec_push(p->arena, &b->alts, ((Alt){f, cons_none(p)}));
}

static void constant(Build *b, const Term *e) {
    Form f = form_const(e->i);
    if (dtype_is_float(e->dtype)) {
        if (!(e->f > -TOKENS && e->f < TOKENS) || (double)(int64_t)e->f != e->f)
            b->failed = true;
        else
            f.k = (int64_t)e->f;
    }
    if (!b->failed)
        push(b, e->dtype == DT_BOOL ? DT_I64 : e->dtype, &f, cons_none(b->p));
}

static void copy(Build *b, const Term *e, const Alts *from, const Cons *also) {
    for (int i = 0; i < from->n && !b->failed; i++)
        push(b, e->dtype, &from->alts[i].form, cons_join(b->p, from->alts[i].when, also));
    b->failed = b->failed || !from->n;
}

static void choice(Build *b, const Term *e) {
    Affine *p = b->p;
    copy(b, e, affine_forms(p, e->args[1]), affine_facts(p, cons_none(p), e->args[0], true));
    if (!b->failed)
        copy(b, e, affine_forms(p, e->args[2]), affine_facts(p, cons_none(p), e->args[0], false));
}

// 1 or 0, from a bool.
static void truth(Build *b, const Term *e) {
    Affine *p = b->p;
    for (int v = 1; v >= 0; v--) {
        Form f = form_const(v);
        push(b, e->dtype, &f, affine_facts(p, cons_none(p), e->args[0], v));
    }
}

static void cast(Build *b, const Term *e) {
    if (e->args[0]->dtype == DT_BOOL)
        truth(b, e);
    else
        copy(b, e, affine_forms(b->p, e->args[0]), cons_none(b->p));
}

static void product(Build *b, const Term *e, const Form *f, const Form *g, const Cons *when) {
    Form zero = {0}, r;
    if (g->n && f->n)
        b->failed = true;
    else if (g->n ? form_add(&r, &zero, g, f->k) : form_add(&r, &zero, f, g->k))
        push(b, e->dtype, &r, when);
    else
        b->failed = true;
}

// Division and modulo by a constant, towards minus infinity; truncating ones where that is the
// same, for a dividend that is not negative.
static void quotient(Build *b, const Term *e, const Form *f, const Form *g, const Cons *when) {
    Form zero = {0}, negative, r;
    bool floors = e->op == N_FLOORDIV || e->op == N_FLOORMOD;
    if (dtype_is_float(e->dtype) || g->n || g->k <= 0 || g->k > (1 << 24) ||
        !form_add(&negative, &zero, f, -1) || (!floors && affine_sup(b->p, &negative, when) > 0)) {
        b->failed = true;
        return;
    }
    const Var *v = affine_div_var(b->p, f, g->k);
    if (affine_sup(b->p, &negative, cons_none(b->p)) <= 0)
        ((Var *)v)->natural = true;
    r = form_var(v);
    if ((e->op == N_MOD || e->op == N_FLOORMOD) && !form_add(&r, f, &r, -g->k))
        b->failed = true;
    else
        push(b, e->dtype, &r, when);
}

static void extreme(Build *b, const Term *e, const Form *f, const Form *g, const Cons *when) {
    Affine *p = b->p;
    bool max = e->op == N_MAX;
    push(b, e->dtype, f, max ? cons_less(p, when, g, f, 0) : cons_less(p, when, f, g, 0));
    push(b, e->dtype, g, max ? cons_less(p, when, f, g, 0) : cons_less(p, when, g, f, 0));
}

static void combine(Build *b, const Term *e, const Alt *x, const Alt *y) {
    const Cons *when = cons_join(b->p, x->when, y->when);
    Form r;
    switch (e->op) {
    case N_ADD:
    case N_SUB:
        if (form_add(&r, &x->form, &y->form, e->op == N_ADD ? 1 : -1))
            push(b, e->dtype, &r, when);
        else
            b->failed = true;
        break;
    case N_MUL:
        product(b, e, &x->form, &y->form, when);
        break;
    case N_MIN:
    case N_MAX:
        extreme(b, e, &x->form, &y->form, when);
        break;
    default:
        quotient(b, e, &x->form, &y->form, when);
    }
}

static void binary(Build *b, const Term *e) {
    const Alts *x = affine_forms(b->p, e->args[0]), *y = affine_forms(b->p, e->args[1]);
    b->failed = !x->n || !y->n;
    for (int i = 0; i < x->n && !b->failed; i++) {
        for (int j = 0; j < y->n && !b->failed; j++)
            combine(b, e, &x->alts[i], &y->alts[j]);
    }
}

static void negation(Build *b, const Term *e) {
    const Alts *x = affine_forms(b->p, e->args[0]);
    Form zero = {0}, r;
    b->failed = !x->n;
    for (int i = 0; i < x->n && !b->failed; i++) {
        if (form_add(&r, &zero, &x->alts[i].form, -1))
            push(b, e->dtype, &r, x->alts[i].when);
        else
            b->failed = true;
    }
}

static void build(Build *b, const Term *e) {
    Form f;
    switch (e->op) {
    case N_INDEX:
        f = form_var(e->var);
        push(b, e->dtype, &f, cons_none(b->p));
        break;
    case N_DIM:
        b->failed = !form_dim(b->p, e->dim, &f);
        if (!b->failed)
            push(b, e->dtype, &f, cons_none(b->p));
        break;
    case N_CONST:
        constant(b, e);
        break;
    case N_CAST:
        cast(b, e);
        break;
    case N_SELECT:
        choice(b, e);
        break;
    case N_NEG:
        negation(b, e);
        break;
    case N_ADD:
    case N_SUB:
    case N_MUL:
    case N_MIN:
    case N_MAX:
    case N_DIV:
    case N_MOD:
    case N_FLOORDIV:
    case N_FLOORMOD:
        binary(b, e);
        break;
    case N_READ: {
        const Term *inside = position_text(b->p, e);
        b->failed = !inside;
        if (inside)
            copy(b, e, affine_forms(b->p, inside), cons_none(b->p));
        break;
    }
    default:
        b->failed = true;
    }
}

const Alts *affine_forms(Affine *p, const Term *e) {
    static const Alts none = {0};
    if (!e || e->dtype == DT_BOOL)
        return &none;
    Alts *known = map_get(&p->forms, e);
    if (known)
        return known;
    Build b = {.p = p};
    b.failed = exact(e->dtype) == 0 || p->depth > AFFINE_DEPTH || p->fuel-- <= 0;
    p->depth++;
    if (!b.failed)
        build(&b, e);
    p->depth--;
    if (b.failed)
        b.alts.len = 0;
    if (b.failed && (e->dtype == DT_I64 || e->dtype == DT_I32))
        opaque(&b, e);
    known = NEW(p->arena, Alts);
    known->n = b.alts.len;
    known->alts = b.alts.data;
    map_put(p->arena, &p->forms, e, known);
    return known;
}

const Term *affine_inline(Affine *p, const Term *e) {
    if (!e || e->op != N_READ)
        return NULL;
    const CausalValue *v = e->value;
    if (v->kind != CAUSAL_COMP || v->reduction != RED_NONE || !v->body)
        return NULL;
    const Term *known = map_get(&p->inlined, e);
    if (!known && p->fuel > 0) {
        known = term_substitute(p->terms, v->body, v->rank, v->out, e->args);
        map_put(p->arena, &p->inlined, e, (void *)known);
    }
    return known;
}

// ---- Conditions --------------------------------------------------------------------------------

static bool compares(const Term *e) {
    return node_class(e->op) == 'C' && e->args[0]->dtype != DT_BOOL;
}

// The comparison that holds if e is `truth`.
static NodeOp comparison(NodeOp op, bool truth) {
    static const NodeOp opposite[][2] = {{N_EQ, N_NE}, {N_NE, N_EQ}, {N_LT, N_GE},
                                         {N_LE, N_GT}, {N_GT, N_LE}, {N_GE, N_LT}};
    for (int i = 0; i < 6 && !truth; i++) {
        if (opposite[i][0] == op)
            return opposite[i][1];
    }
    return op;
}

static const Cons *compared(Affine *p, const Cons *c, NodeOp op, const Alt *a, const Alt *b) {
    c = cons_join(p, cons_join(p, c, a->when), b->when);
    const Form *x = &a->form, *y = &b->form;
    if (op == N_EQ || op == N_LE || op == N_LT)
        c = cons_less(p, c, x, y, op == N_LT);
    if (op == N_EQ || op == N_GE || op == N_GT)
        c = cons_less(p, c, y, x, op == N_GT);
    return c;
}

const Cons *affine_facts(Affine *p, const Cons *c, const Term *e, bool truth) {
    if (!e || p->depth > AFFINE_DEPTH || p->fuel-- <= 0)
        return c;
    p->depth++;
    if (e->op == N_NOT) {
        c = affine_facts(p, c, e->args[0], !truth);
    } else if (e->op == N_AND || e->op == N_OR) {
        if ((e->op == N_AND) == truth)
            c = affine_facts(p, affine_facts(p, c, e->args[0], truth), e->args[1], truth);
    } else if (e->op == N_XOR && e->args[1]->op == N_CONST) {
        c = affine_facts(p, c, e->args[0], truth != (e->args[1]->i != 0));
    } else if (e->op == N_READ) {
        c = affine_facts(p, c, affine_inline(p, e), truth);
    } else if (compares(e)) {
        const Alts *a = affine_forms(p, e->args[0]), *b = affine_forms(p, e->args[1]);
        if (a->n == 1 && b->n == 1)
            c = compared(p, c, comparison(e->op, truth), &a->alts[0], &b->alts[0]);
    }
    p->depth--;
    return c;
}

// Widens lo..hi by what one form is, where it can be at all.
static void widen(Affine *p, const Form *f, const Cons *c, int64_t *lo, int64_t *hi) {
    Form zero = {0}, negative;
    if (!affine_feasible(p, c))
        return;
    int64_t up = affine_sup(p, f, c), down = AFFINE_INF;
    if (form_add(&negative, &zero, f, -1))
        down = affine_sup(p, &negative, c);
    if (up == -AFFINE_INF || down == -AFFINE_INF) // infeasible after all
        return;
    if (up > *hi)
        *hi = up;
    if (-down < *lo)
        *lo = -down;
}

void affine_interval(Affine *p, const Alts *e, const Form *minus, const Cons *c, int64_t *lo,
                     int64_t *hi) {
    *lo = AFFINE_INF;
    *hi = -AFFINE_INF;
    bool unknown = !e->n;
    for (int i = 0; i < e->n; i++) {
        Form f = e->alts[i].form;
        if (minus && !form_add(&f, &f, minus, -1))
            unknown = true;
        else
            widen(p, &f, cons_join(p, c, e->alts[i].when), lo, hi);
    }
    if (unknown) {
        *lo = -AFFINE_INF;
        *hi = AFFINE_INF;
    }
}

static int decide_order(NodeOp op, int64_t lo, int64_t hi) { // of a - b
    if (lo > hi)
        return -1; // never evaluated: nothing to say
    switch (op) {
    case N_EQ:
        return lo == 0 && hi == 0 ? 1 : lo > 0 || hi < 0 ? 0 : -1;
    case N_LT:
        return hi < 0 ? 1 : lo >= 0 ? 0 : -1;
    case N_LE:
        return hi <= 0 ? 1 : lo > 0 ? 0 : -1;
    default:
        return -1;
    }
}

static int negated(int decided) {
    return decided < 0 ? -1 : !decided;
}

static int decide_compare(Affine *p, const Term *e, const Cons *c) {
    const Alts *a = affine_forms(p, e->args[0]), *b = affine_forms(p, e->args[1]);
    int64_t lo = AFFINE_INF, hi = -AFFINE_INF;
    if (!a->n || !b->n)
        return -1;
    for (int i = 0; i < b->n; i++) {
        int64_t l, h;
        affine_interval(p, a, &b->alts[i].form, cons_join(p, c, b->alts[i].when), &l, &h);
        lo = l < lo ? l : lo;
        hi = h > hi ? h : hi;
    }
    bool flip = e->op == N_NE || e->op == N_GT || e->op == N_GE;
    int r = decide_order(flip ? comparison(e->op, false) : e->op, lo, hi);
    return flip ? negated(r) : r;
}

static int decide_pair(Affine *p, const Term *e, const Cons *c) {
    int a = affine_decide(p, e->args[0], c), b = affine_decide(p, e->args[1], c);
    switch (e->op) {
    case N_AND:
        return a == 0 || b == 0 ? 0 : a < 0 || b < 0 ? -1 : 1;
    case N_OR:
        return a == 1 || b == 1 ? 1 : a < 0 || b < 0 ? -1 : 0;
    case N_XOR:
    case N_NE:
        return a < 0 || b < 0 ? -1 : a != b;
    case N_EQ:
        return a < 0 || b < 0 ? -1 : a == b;
    default:
        return -1;
    }
}

static int decide_choice(Affine *p, const Term *e, const Cons *c) {
    const Term *branch[2];
    const Cons *known[2];
    int n = affine_branches(p, e, c, branch, known);
    int r = affine_decide(p, branch[0], known[0]);
    return n == 2 && r != affine_decide(p, branch[1], known[1]) ? -1 : r;
}

int affine_decide(Affine *p, const Term *e, const Cons *c) {
    int r = -1;
    if (!e || e->dtype != DT_BOOL || p->depth > AFFINE_DEPTH || p->fuel-- <= 0)
        return -1;
    p->depth++;
    if (e->op == N_CONST)
        r = e->i != 0;
    else if (e->op == N_NOT)
        r = negated(affine_decide(p, e->args[0], c));
    else if (e->op == N_READ)
        r = affine_decide(p, affine_inline(p, e), c);
    else if (e->op == N_SELECT)
        r = decide_choice(p, e, c);
    else if (compares(e))
        r = decide_compare(p, e, c);
    else if (e->n == 2)
        r = decide_pair(p, e, c);
    p->depth--;
    return r;
}

int affine_branches(Affine *p, const Term *e, const Cons *c, const Term *branch[2],
                    const Cons *known[2]) {
    int decided = affine_decide(p, e->args[0], c), n = 0;
    for (int side = 1; side >= 0; side--) {
        const Cons *k = affine_facts(p, c, e->args[0], side);
        if (decided >= 0 ? decided == side : affine_feasible(p, k)) {
            branch[n] = e->args[side ? 1 : 2];
            known[n++] = k;
        }
    }
    if (!n) { // c itself is infeasible: either will do
        branch[n] = e->args[1];
        known[n++] = affine_facts(p, c, e->args[0], true);
    }
    return n;
}

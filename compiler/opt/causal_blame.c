// What is wrong with a reduction over positions that is not neutral for k > q: a comparison that is
// not decided there; or one whose other outcome, or a constant whose replacement, would make the
// reduction neutral; or the reduction itself.
#include "opt/causal_impl.h"
#include <math.h>

enum { SWAP_MAX = 20000, TRIES_MAX = 24 };

typedef struct {
    Causal *k;
    CausalValue *t;
    const Var *red, *q; // k and q
    int axis;           // of q
    const Cons *region; // k > q
    Interval now;       // the element there, as it is
    bool both;          // only comparisons that are about q, too
    bool raw;           // look at bodies as written: also at what is decided everywhere
    int tries;          // left
    const Term *found;
    const Term *read; // in what is read there; NULL: in the body itself
    double hides;     // of a select: what would hide
} Blame;

static const Term *root(const Blame *b) {
    return b->raw ? b->t->raw : b->t->body;
}

static bool mentions(const Blame *b, const Term *e, const Var *v) {
    return term_mentions(b->k->terms, e, v);
}

// Is e a comparison of numbers that is about the reduced position?
static bool compares(const Blame *b, const Term *e) {
    return node_class(e->op) == 'C' && e->args[0]->dtype != DT_BOOL && mentions(b, e, b->red) &&
           (!b->both || mentions(b, e, b->q));
}

static bool is_found(Blame *b, const Term *e, const Term *read) {
    b->found = e;
    b->read = read;
    return true;
}

// The values that a term has for k > q.
static Interval element_of(const Blame *b, const Term *body) {
    Values *v = values_new(b->k->arena, b->k->affine, causal_limits[0], b->k->bases[0]);
    Interval x = values_of(v, body, b->region);
    values_forget(v);
    return x;
}

static bool is_one_value(Interval x) {
    return !x.any && x.lo == x.hi;
}

// ---- Not decided -------------------------------------------------------------------------------

// A comparison in a condition that the region leaves open.
static bool open_comparison(Blame *b, const Term *e, const Term *read, int depth) {
    const Term *inside = affine_inline(b->k->affine, e);
    if (inside && depth < 50)
        return open_comparison(b, inside, e, depth + 1);
    if (node_class(e->op) == 'C' && e->args[0]->dtype != DT_BOOL)
        return compares(b, e) && affine_decide(b->k->affine, e, b->region) < 0 &&
               is_found(b, e, read);
    for (int i = 0; i < e->n && e->dtype == DT_BOOL && depth < 50; i++) {
        if (open_comparison(b, e->args[i], read, depth + 1))
            return true;
    }
    return false;
}

static bool find_open(void *ctx, const Term *e, const Term *read) {
    Blame *b = ctx;
    const Term *cond = causal_condition(e);
    return cond && affine_decide(b->k->affine, cond, b->region) < 0 &&
           open_comparison(b, cond, read, 0);
}

// Is e a sum of positions, dimensions and elements of the tokens, each free of the others?
static bool is_free(const Blame *b, const Term *e) {
    const Alts *f = affine_forms(b->k->affine, e);
    bool good = f->n > 0;
    for (int i = 0; i < f->n; i++) {
        const Form *form = &f->alts[i].form;
        for (int j = 0; j < form->n; j++) {
            const Var *v = form->t[j].var;
            good = good && (v->kind != VAR_TERM ||
                            (v->term->op == N_READ && v->term->value->kind == CAUSAL_TOKENS));
        }
    }
    return good;
}

// The one value that e has there; intervals know nothing of integers' abs.
static bool number(const Blame *b, const Term *e, double *x) {
    if (e->op == N_ABS) {
        bool good = number(b, e->args[0], x);
        *x = fabs(*x);
        return good;
    }
    Interval v = element_of(b, e);
    *x = v.lo;
    return is_one_value(v);
}

// What the found comparison is for given k and q: 1, 0, or -1 where that is not known.
static int outcome(const Blame *b, int64_t k, int64_t q) {
    Terms *terms = b->k->terms;
    const Var *vars[] = {b->red, b->q};
    const Term *at[] = {term_int(terms, k), term_int(terms, q)};
    const Term *e = term_substitute(terms, b->found, 2, vars, at);
    double x, y;
    if (!e || !number(b, e->args[0], &x) || !number(b, e->args[1], &y))
        return -1;
    switch (e->op) {
    case N_EQ:
        return x == y;
    case N_NE:
        return x != y;
    case N_LT:
        return x < y;
    case N_LE:
        return x <= y;
    case N_GT:
        return x > y;
    case N_GE:
        return x >= y;
    default:
        return -1;
    }
}

// What an undecided comparison does there. Of what the prover knows nothing of, only examples tell
// that it goes either way.
static const char *open_words(const Blame *b) {
    static const int64_t ahead[] = {1, 2, 3, 7, 40};
    bool either = is_free(b, b->found->args[0]) && is_free(b, b->found->args[1]), seen[2] = {0};
    for (int i = 0; i < 5 && !either; i++) {
        int now = outcome(b, ahead[i] + i, i);
        if (now >= 0)
            seen[now] = true;
        either = seen[0] && seen[1];
    }
    return either ? "goes either way" : "isn't decided";
}

// ---- Turned ------------------------------------------------------------------------------------

typedef struct {
    const Blame *b;
    const Term *from, *to;
    Map done; // term -> with `to` for `from`
    int left; // terms to look at
} Swap;

static const Term *swap(Swap *s, const Term *e);

static const Term *swap_args(Swap *s, const Term *e) {
    const Term *args[CORE_MAX_RANK + 3];
    bool same = true;
    for (int i = 0; i < e->n; i++) {
        args[i] = swap(s, e->args[i]);
        same = same && args[i] == e->args[i];
    }
    const Term *r = same ? e : term_with(s->b->k->terms, e, args);
    return r ? r : e; // beyond the limits: as it is
}

// e with `to` for `from`, also in the elementwise values that it reads.
static const Term *swap(Swap *s, const Term *e) {
    if (e == s->from)
        return s->to;
    const Term *r = map_get(&s->done, e);
    if (r || s->left-- <= 0)
        return r ? r : e;
    const Term *inside = causal_inline(s->b->k, e, s->b->raw);
    if (inside) {
        r = swap(s, inside);
        r = r == inside ? e : r;
    } else {
        r = swap_args(s, e);
    }
    map_put(s->b->k->arena, &s->done, e, (void *)r);
    return r;
}

// The element for k > q with `to` for `from`; NULL: `from` is not found, or beyond the limits.
static const Term *swapped(const Blame *b, const Term *from, const Term *to) {
    Swap s = {.b = b, .from = from, .to = to, .left = SWAP_MAX};
    const Term *body = to ? swap(&s, root(b)) : NULL;
    return body && body != root(b) ? causal_fold_term(b->k, body, b->region) : NULL;
}

static bool neutral(const Blame *b, const Term *body) {
    return causal_neutral(b->k, b->t, body, b->region, b->axis);
}

// `from` is `is` for k > q: does it make t neutral there to have `to` instead? Or (`fixed`) at
// least every element the same?
static bool mended(const Blame *b, const Term *from, const Term *is, const Term *to, bool fixed) {
    const Term *old = swapped(b, from, is), *new = swapped(b, from, to);
    if (!old || !new || old == new || neutral(b, old))
        return false;
    return neutral(b, new) ||
           (fixed && !is_one_value(element_of(b, old)) && is_one_value(element_of(b, new)));
}

static const Term *truth_value(const Blame *b, bool truth) {
    return term_make(b->k->terms, (Term){.op = N_CONST, .dtype = DT_BOOL, .i = truth});
}

// A comparison that lets the elements through: the other way, they would be hidden.
static bool find_wrong(void *ctx, const Term *e, const Term *read) {
    Blame *b = ctx;
    if (!compares(b, e))
        return false;
    int truth = affine_decide(b->k->affine, e, b->region);
    if (truth < 0 || b->tries-- <= 0)
        return false;
    return mended(b, e, truth_value(b, truth), truth_value(b, !truth), true) &&
           is_found(b, e, read);
}

// The branch that a select takes there, if all of them are one ordinary number; else NULL.
static const Term *weak_branch(const Blame *b, const Term *e) {
    if (e->op != N_SELECT || !dtype_is_float(e->dtype) || !mentions(b, e->args[0], b->red))
        return NULL;
    int truth = affine_decide(b->k->affine, e->args[0], b->region);
    const Term *branch = truth < 0 ? NULL : e->args[truth ? 1 : 2];
    if (!branch || branch->depth > 3)
        return NULL;
    Interval x = element_of(b, branch);
    return is_one_value(x) && fabs(x.lo) < causal_limits[0] ? branch : NULL;
}

// A select that hides with an ordinary number where an infinite one, or 0, would do.
static bool find_weak(void *ctx, const Term *e, const Term *read) {
    Blame *b = ctx;
    const Term *branch = weak_branch(b, e);
    if (!branch || b->tries-- <= 0)
        return false;
    const double hides[] = {b->t->reduction == RED_MIN ? INFINITY : -INFINITY, 0};
    for (int i = 0; i < (b->t->reduction == RED_SUM ? 2 : 1); i++) {
        Term to = {.op = N_CONST, .dtype = e->dtype, .f = hides[i]};
        b->hides = hides[i];
        if (mended(b, e, branch, term_make(b->k->terms, to), false))
            return is_found(b, e, read);
    }
    return false;
}

// ---- Words -------------------------------------------------------------------------------------

static const char *every(Causal *k, const Var *red) {
    return arena_printf(k->arena, "every %s is read here", red->name);
}

// The index of v that the read has `var` at, or NULL.
static const Var *index_at(const CausalValue *v, const Term *read, const Var *var) {
    for (int i = 0; i < read->n; i++) {
        if (read->args[i]->op == N_INDEX && read->args[i]->var == var)
            return v->out[i];
    }
    return NULL;
}

// Where what was found stands.
typedef struct {
    const CausalValue *owner;
    int node;          // of owner's comprehension; -1: not known
    bool own;          // by owner's indices
    const char *ahead; // "k > q", by these
} Found;

static Found place(const Blame *b) {
    Found f = {.owner = b->read ? b->read->value : b->t};
    const Var *own_k = b->read ? index_at(f.owner, b->read, b->red) : NULL;
    const Var *own_q = b->read ? index_at(f.owner, b->read, b->q) : NULL;
    f.node = causal_node(b->k, f.owner, b->found, b->read);
    f.own = f.node >= 0 && own_k && own_q;
    f.ahead = arena_printf(b->k->arena, "%s > %s", (f.own ? own_k : b->red)->name,
                           (f.own ? own_q : b->q)->name);
    return f;
}

// The cause at a node of f's owner, and the reduction that reads what it lets through.
static CausalCause *cause_at(const Blame *b, const Found *f, int node, const Term *e,
                             const char *why) {
    CausalCause *c = causal_cause(b->k, b->t, e, why);
    c->owner = f->owner;
    c->span = causal_span(b->k, f->owner, node);
    c->reader = f->owner == b->t ? NULL : every(b->k, b->red);
    return c;
}

// The comparison that was found, by the indices of where it stands if it is about two of them.
static const CausalCause *blame_comparison(const Blame *b) {
    Arena *a = b->k->arena;
    Found f = place(b);
    int truth = affine_decide(b->k->affine, b->found, b->region);
    const char *why = truth < 0 ? arena_printf(a, "does not tell %s from the rest", f.ahead)
                                : arena_printf(a, "lets %s through", f.ahead);
    const Term *e = f.own ? f.owner->nodes[f.node] : b->found;
    CausalCause *c = cause_at(b, &f, f.node, e, why);
    const char *does = truth < 0 ? open_words(b) : truth ? "is true" : "is false";
    c->label = arena_printf(a, "%s for %s", does, f.ahead);
    return c;
}

// The select that was found, for the number that it hides with (constants have no span).
static const CausalCause *blame_constant(const Blame *b) {
    Arena *a = b->k->arena;
    Found f = place(b);
    double x = element_of(b, weak_branch(b, b->found)).lo;
    const char *how = b->hides == 0  ? "isn't 0, so it does not hide"
                      : b->hides < 0 ? "isn't surely low enough to hide"
                                     : "isn't surely high enough to hide";
    CausalCause *c = cause_at(b, &f, f.node, NULL, arena_printf(a, "%s %s", how, f.ahead));
    c->expression = arena_printf(a, "%g", x);
    c->label = arena_printf(a, "is %g for %s", x, f.ahead);
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

static const CausalCause *blame_element(const Blame *b) {
    Arena *a = b->k->arena;
    Interval x = b->now;
    const char *ahead = arena_printf(a, "%s > %s", b->red->name, b->q->name);
    bool hidden = b->t->reduction == RED_MAX && !x.any && x.hi < -causal_limits[0];
    const char *why =
        hidden ? arena_printf(a, "is hidden for %s, but no element is surely visible in every row",
                              ahead)
               : arena_printf(a, "isn't neutral for %s: %s", ahead, interval_text(b->k, x));
    return blame_whole(b->k, b->t, b->red, why);
}

// ---- Blame -------------------------------------------------------------------------------------

static bool search(Blame *b, CausalInlined *fn, bool both) {
    b->both = both;
    b->tries = TRIES_MAX;
    causal_each_inlined(b->k, root(b), b->raw, fn, b);
    return b->found != NULL;
}

const CausalCause *causal_blame(Causal *k, CausalValue *t, const Var *red) {
    int axis = 0;
    while (axis < t->rank && !t->position[axis])
        axis++;
    if (axis == t->rank)
        return blame_whole(k, t, red, "is reduced over every position");
    const Var *q = t->out[axis];
    Form fq = form_var(q), fk = form_var(red);
    Blame b = {.k = k, .t = t, .red = red, .q = q, .axis = axis};
    b.region = cons_less(k->affine, cons_none(k->affine), &fq, &fk, 1);
    b.now = element_of(&b, t->body);
    // Comparisons of k with q come first: one of k with something else may well be right.
    if (search(&b, find_open, true) || search(&b, find_wrong, true) || search(&b, find_open, false))
        return blame_comparison(&b);
    if (search(&b, find_weak, false))
        return blame_constant(&b);
    b.raw = true;
    if (search(&b, find_wrong, true))
        return blame_comparison(&b);
    return blame_element(&b);
}

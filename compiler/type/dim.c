// Dimensions: arithmetic in canonical form, with `/`, `%`, min and max folded where that is exact
// for all integers (a divisor counts as nonzero); see dim.h.
#include "type/dim_impl.h"
#include <string.h>

DimTable *dims_new(Arena *a) {
    DimTable *t = NEW(a, DimTable);
    t->arena = a;
    t->one = mono_gcd(t, &(Mono){.degree = 0}, &(Mono){.degree = 0});
    return t;
}

const Dim *dim_symbol(DimTable *t, Name name) {
    Var *v = NEW(t->arena, Var); // not in the table: each call makes another symbol
    *v = (Var){.kind = VAR_SYMBOL, .id = t->next_id++, .name = name};
    v->node.hash = (uint32_t)v->id;
    v->self = dim_term(t, 1, mono_of(t, v));
    return v->self;
}

const Dim *dim_const(DimTable *t, int64_t value) {
    return dim_term(t, value, t->one);
}

const Dim *dim_add(DimTable *t, const Dim *a, const Dim *b) {
    return dim_add_scaled(t, a, (Term){1, t->one}, b);
}

const Dim *dim_sub(DimTable *t, const Dim *a, const Dim *b) {
    return dim_add_scaled(t, a, (Term){-1, t->one}, b);
}

const Dim *dim_mul(DimTable *t, const Dim *a, const Dim *b) {
    Term out[TERM_LIMIT];
    int n = terms_mul(t, out, a->p, b->p);
    return dim_intern(t, out, n);
}

// Division

void dim_divide(DimTable *t, const Dim *a, const Dim *b, const Dim **q, const Dim **r) {
    Term rest[TERM_LIMIT], next[TERM_LIMIT], whole[TERM_LIMIT];
    int n = a->p.n, count = 0;
    *q = dim_const(t, 0);
    *r = a;
    if (n <= 0 || b->p.n <= 0)
        return;
    memcpy(rest, a->p.terms, (size_t)n * sizeof *rest);
    Term lead = b->p.terms[0];
    for (int i = 0; i < n && count < TERM_LIMIT;) {
        const Mono *m = mono_div(t, rest[i].m, lead.m);
        bool exact = m && !(rest[i].c == INT64_MIN && lead.c == -1) && rest[i].c % lead.c == 0;
        if (!exact) {
            i++;
            continue;
        }
        Term k = {rest[i].c / lead.c, m};
        if (k.c == INT64_MIN)
            return;
        int left = terms_add(t, next, (Poly){rest, n}, (Term){-k.c, m}, b->p);
        if (left < 0)
            return;
        n = left;
        memcpy(rest, next, (size_t)n * sizeof *rest);
        whole[count++] = k;
    }
    *q = dim_intern(t, whole, count);
    *r = dim_intern(t, rest, n);
}

// a/b = whole + rest/by and a%b = scale*(rest%by) + extra. rest is 0 if b divides a.
typedef struct {
    const Dim *whole;
    const Dim *rest;
    const Dim *by;
    const Dim *scale;
    const Dim *extra;
} Split;

// Takes out of the rest what each of its terms has of whole multiples of a divisor of one term.
static void split_whole(DimTable *t, Split *s) {
    Term whole[TERM_LIMIT];
    int n = 0;
    Term d = s->by->p.terms[0];
    for (int i = 0; i < s->rest->p.n; i++) {
        Term k = s->rest->p.terms[i];
        k.m = mono_div(t, k.m, d.m);
        if (k.m && floor_div_i64(k.c, d.c, &k.c) && k.c)
            whole[n++] = k;
    }
    s->whole = dim_intern(t, whole, n);
    s->rest = dim_sub(t, s->rest, dim_mul(t, s->whole, s->by));
}

// The greatest monomial and coefficient that divide all terms, combined with what *g is already.
static void common(DimTable *t, Poly p, uint64_t *c, const Mono **m) {
    for (int i = 0; i < p.n; i++) {
        *m = *m ? mono_gcd(t, *m, p.terms[i].m) : p.terms[i].m;
        *c = gcd_i64((int64_t)*c, p.terms[i].c);
    }
}

static const Dim *divided(DimTable *t, const Dim *d, Term by) {
    Term out[TERM_LIMIT];
    for (int i = 0; i < d->p.n; i++)
        out[i] = (Term){d->p.terms[i].c / by.c, mono_div(t, d->p.terms[i].m, by.m)};
    return dim_intern(t, out, d->p.n);
}

// By a constant c > 0, floor((g*p + k) / (g*m)) is floor((p + floor(k/g)) / m).
static void split_constant(DimTable *t, Split *s) {
    int64_t k = poly_constant(s->rest->p), by = s->by->p.terms[0].c;
    const Dim *varying = dim_sub(t, s->rest, dim_const(t, k));
    uint64_t g = (uint64_t)by;
    const Mono *m = NULL;
    common(t, varying->p, &g, &m);
    Term divisor = {(int64_t)g, t->one};
    s->extra = dim_const(t, k % divisor.c);
    s->scale = dim_const(t, divisor.c);
    s->by = dim_const(t, by / divisor.c);
    s->rest = dim_add(t, divided(t, varying, divisor), dim_const(t, k / divisor.c));
}

// A factor of the dividend and the divisor cancels: (B*P)/(B*P + B*Q) is P/(P + Q).
static void split_common(DimTable *t, Split *s) {
    uint64_t c = 0;
    const Mono *m = NULL;
    common(t, s->rest->p, &c, &m);
    common(t, s->by->p, &c, &m);
    if (c > INT64_MAX) // -2^63 in all of them
        return;
    Term factor = {(int64_t)c, m};
    s->scale = dim_term(t, factor.c, factor.m);
    s->rest = divided(t, s->rest, factor);
    s->by = divided(t, s->by, factor);
}

static bool all_negative(const Dim *d) {
    for (int i = 0; i < d->p.n; i++) {
        if (d->p.terms[i].c > 0)
            return false;
    }
    return true;
}

// b is not zero; false if something left int64.
static bool split(DimTable *t, const Dim *a, const Dim *b, Split *s) {
    const Dim *zero = dim_const(t, 0);
    *s = (Split){zero, a, b, dim_const(t, 1), zero};
    bool single = b->p.n == 1;
    if (single) {
        split_whole(t, s);
    } else {
        const Dim *q, *r;
        dim_divide(t, a, b, &q, &r);
        if (dim_is_zero(r))
            s->whole = q, s->rest = r;
    }
    if (s->rest->p.n < 0)
        return false;
    if (dim_is_const(s->rest, NULL) && dim_is_const(b, NULL)) {
        s->extra = s->rest;
        s->rest = zero;
    } else if (s->rest->p.n > 0 && dim_is_const(b, NULL)) {
        split_constant(t, s);
    } else if (s->rest->p.n > 0) {
        split_common(t, s);
    }
    return s->rest->p.n >= 0 && s->by->p.n >= 0;
}

static const Dim *atom(DimTable *t, VarKind kind, const Dim *a, const Dim *b) {
    return var_intern(t, kind, a, b)->self;
}

static bool divisible_pair(const Dim *a, const Dim *b) {
    return a->p.n >= 0 && b->p.n > 0;
}

const Dim *dim_div(DimTable *t, const Dim *a, const Dim *b) {
    Split s;
    if (!divisible_pair(a, b))
        return dim_invalid(t);
    if (all_negative(b)) {
        a = dim_sub(t, dim_const(t, 0), a);
        b = dim_sub(t, dim_const(t, 0), b);
        return dim_div(t, a, b);
    }
    if (!split(t, a, b, &s))
        return dim_invalid(t);
    if (dim_is_zero(s.rest))
        return s.whole;
    bool again = s.by != b && !dim_is_const(b, NULL);
    const Dim *rest = again ? dim_div(t, s.rest, s.by) : atom(t, VAR_DIV, s.rest, s.by);
    return dim_add(t, s.whole, rest);
}

const Dim *dim_mod(DimTable *t, const Dim *a, const Dim *b) {
    Split s;
    if (!divisible_pair(a, b))
        return dim_invalid(t);
    if (all_negative(b)) {
        const Dim *zero = dim_const(t, 0);
        const Dim *r = dim_mod(t, dim_sub(t, zero, a), dim_sub(t, zero, b));
        return dim_sub(t, zero, r);
    }
    if (!split(t, a, b, &s))
        return dim_invalid(t);
    if (dim_is_zero(s.rest))
        return s.extra;
    bool again = s.by != b && !dim_is_const(b, NULL);
    const Dim *rest = again ? dim_mod(t, s.rest, s.by) : atom(t, VAR_MOD, s.rest, s.by);
    return dim_add(t, dim_mul(t, s.scale, rest), s.extra);
}

// min and max

// Whether d is an atom of this kind with the operand a.
static bool combines(const Dim *d, VarKind kind, const Dim *a) {
    return d->var && d->var->kind == kind && (d->var->a == a || d->var->b == a);
}

static const Dim *extreme(DimTable *t, VarKind kind, const Dim *a, const Dim *b) {
    if (a->p.n < 0 || b->p.n < 0)
        return dim_invalid(t);
    int64_t difference;
    if (dim_is_const(dim_sub(t, a, b), &difference))
        return (difference > 0) == (kind == VAR_MAX) ? a : b;
    VarKind other = kind == VAR_MAX ? VAR_MIN : VAR_MAX;
    if (combines(a, kind, b) || combines(b, other, a))
        return a;
    if (combines(b, kind, a) || combines(a, other, b))
        return b;
    bool ordered = poly_compare(a->p, b->p) < 0;
    return ordered ? atom(t, kind, a, b) : atom(t, kind, b, a);
}

const Dim *dim_min(DimTable *t, const Dim *a, const Dim *b) {
    return extreme(t, VAR_MIN, a, b);
}

const Dim *dim_max(DimTable *t, const Dim *a, const Dim *b) {
    return extreme(t, VAR_MAX, a, b);
}

const Dim *dim_fold(DimTable *t, VarKind kind, const Dim *a, const Dim *b) {
    switch (kind) {
    case VAR_DIV:
    case VAR_QUOTIENT:
        return dim_div(t, a, b);
    case VAR_MOD:
        return dim_mod(t, a, b);
    case VAR_MIN:
    case VAR_MAX:
        return extreme(t, kind, a, b);
    case VAR_SYMBOL:
        break;
    }
    return dim_invalid(t);
}

// Structure

bool dim_valid(const Dim *d) {
    return d->p.n >= 0;
}

bool dim_is_const(const Dim *d, int64_t *value) {
    bool constant = d->p.n == 0 || (d->p.n == 1 && d->p.terms[0].m->degree == 0);
    if (constant && value)
        *value = d->p.n ? d->p.terms[0].c : 0;
    return constant;
}

bool dim_is_symbol(const Dim *d) {
    return d->var && d->var->kind == VAR_SYMBOL;
}

bool dim_mentions(const Dim *d, const Dim *symbol) {
    return symbol->var && dim_has_leaf(d, symbol->var);
}

Name dim_name(const Dim *symbol) {
    return symbol->var ? symbol->var->name : NULL;
}

void dim_symbols(const Dim *d, void (*fn)(void *ctx, const Dim *symbol), void *ctx) {
    for (int i = 0; i < d->leaf_count; i++)
        fn(ctx, d->leaves[i]->self);
}

int dim_terms(const Dim *d) {
    return d->p.n < 0 ? 0 : d->p.n;
}

int64_t dim_coefficient(const Dim *d, int term) {
    return d->p.terms[term].c;
}

int dim_factors(const Dim *d, int term) {
    return d->p.terms[term].m->degree;
}

const Dim *dim_factor(const Dim *d, int term, int factor) {
    return d->p.terms[term].m->factors[factor]->self;
}

AtomKind dim_atom(const Dim *d, const Dim **a, const Dim **b) {
    static const AtomKind kinds[] = {ATOM_NONE, ATOM_DIV, ATOM_MOD, ATOM_MIN, ATOM_MAX, ATOM_DIV};
    if (!d->var || d->var->kind == VAR_SYMBOL)
        return ATOM_NONE;
    *a = d->var->a;
    *b = d->var->b;
    return kinds[d->var->kind];
}

// Substitution

// The term with its variables replaced; the number of terms, -1 if invalid.
static int map_term(DimTable *t, Term term, Term *out, VarMap *fn, void *ctx, bool *changed) {
    Term next[TERM_LIMIT];
    int n = 1;
    out[0] = (Term){term.c, t->one};
    for (int i = 0; i < term.m->degree && n >= 0; i++) {
        const Var *v = term.m->factors[i];
        const Dim *d = fn(ctx, v);
        *changed |= d && d != v->self;
        n = terms_mul(t, next, (Poly){out, n}, d ? d->p : v->self->p);
        if (n > 0)
            memcpy(out, next, (size_t)n * sizeof *out);
    }
    return n;
}

const Dim *dim_map(DimTable *t, const Dim *d, VarMap *fn, void *ctx) {
    Term sum[TERM_LIMIT], next[TERM_LIMIT], term[TERM_LIMIT];
    int n = 0;
    bool changed = false;
    for (int i = 0; i < d->p.n; i++) {
        int count = map_term(t, d->p.terms[i], term, fn, ctx, &changed);
        n = terms_add(t, next, (Poly){sum, n}, (Term){1, t->one}, (Poly){term, count});
        if (n < 0)
            return dim_invalid(t);
        memcpy(sum, next, (size_t)n * sizeof *sum);
    }
    return changed ? dim_intern(t, sum, n) : d;
}

typedef struct {
    DimTable *t;
    VarMap *fn; // of the caller
    void *ctx;  // of the caller
} LeafMap;

static const Dim *map_leaf(void *ctx, const Var *v) {
    const LeafMap *map = ctx;
    if (v->kind == VAR_SYMBOL || v->kind == VAR_QUOTIENT)
        return map->fn(map->ctx, v);
    const Dim *a = dim_map_leaves(map->t, v->a, map->fn, map->ctx);
    const Dim *b = dim_map_leaves(map->t, v->b, map->fn, map->ctx);
    return a == v->a && b == v->b ? NULL : dim_fold(map->t, v->kind, a, b);
}

const Dim *dim_map_leaves(DimTable *t, const Dim *d, VarMap *fn, void *ctx) {
    bool touched = false;
    for (int i = 0; i < d->leaf_count && !touched; i++)
        touched = fn(ctx, d->leaves[i]) != NULL;
    LeafMap map = {t, fn, ctx};
    return touched ? dim_map(t, d, map_leaf, &map) : d;
}

typedef struct {
    const Dim *(*lookup)(void *ctx, const Dim *symbol);
    void *ctx;
} Lookup;

static const Dim *look_up(void *ctx, const Var *v) {
    const Lookup *l = ctx;
    return v->kind == VAR_SYMBOL ? l->lookup(l->ctx, v->self) : NULL;
}

const Dim *dim_substitute(DimTable *t, const Dim *d,
                          const Dim *(*lookup)(void *ctx, const Dim *symbol), void *ctx) {
    Lookup l = {lookup, ctx};
    return dim_map_leaves(t, d, look_up, &l);
}

// Evaluation

typedef bool SymbolValue(void *ctx, const Dim *symbol, int64_t *value);

static bool eval_var(const Var *v, SymbolValue *lookup, void *ctx, int64_t *value) {
    int64_t a, b;
    if (v->kind == VAR_SYMBOL)
        return lookup(ctx, v->self, value);
    if (!dim_eval(v->a, lookup, ctx, &a) || !dim_eval(v->b, lookup, ctx, &b))
        return false;
    if (v->kind == VAR_DIV || v->kind == VAR_QUOTIENT)
        return floor_div_i64(a, b, value);
    if (v->kind == VAR_MOD)
        return floor_mod_i64(a, b, value);
    *value = (a < b) == (v->kind == VAR_MIN) ? a : b;
    return true;
}

bool dim_eval(const Dim *d, bool (*lookup)(void *ctx, const Dim *symbol, int64_t *value), void *ctx,
              int64_t *value) {
    int64_t sum = 0;
    if (d->p.n < 0)
        return false;
    for (int i = 0; i < d->p.n; i++) {
        int64_t product = d->p.terms[i].c;
        const Mono *m = d->p.terms[i].m;
        for (int j = 0; j < m->degree; j++) {
            int64_t factor;
            if (!eval_var(m->factors[j], lookup, ctx, &factor) ||
                !mul_i64(product, factor, &product))
                return false;
        }
        if (!add_i64(sum, product, &sum))
            return false;
    }
    *value = sum;
    return true;
}

// Polynomials over interned variables: hash-consing, order, and checked arithmetic; see dim_impl.h.
#include "type/dim_impl.h"
#include <stdlib.h>
#include <string.h>

bool add_i64(int64_t a, int64_t b, int64_t *r) {
    return !__builtin_add_overflow(a, b, r);
}

bool mul_i64(int64_t a, int64_t b, int64_t *r) {
    return !__builtin_mul_overflow(a, b, r);
}

bool floor_div_i64(int64_t a, int64_t b, int64_t *r) {
    if (b == 0 || (b == -1 && a == INT64_MIN))
        return false;
    *r = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

bool floor_mod_i64(int64_t a, int64_t b, int64_t *r) {
    if (b == 0)
        return false;
    int64_t m = b == -1 ? 0 : a % b;
    *r = m != 0 && (m < 0) != (b < 0) ? m + b : m;
    return true;
}

static uint64_t magnitude(int64_t a) {
    return a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
}

uint64_t gcd_i64(int64_t a, int64_t b) {
    uint64_t x = magnitude(a), y = magnitude(b);
    while (y) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return x;
}

// Hashing

static uint32_t mix(uint32_t h, uint64_t x) {
    h = (h ^ (uint32_t)x) * 16777619u;
    return (h ^ (uint32_t)(x >> 32)) * 16777619u;
}

static Node *table_first(const Table *table, uint32_t hash) {
    return table->size ? table->buckets[hash & (uint32_t)(table->size - 1)] : NULL;
}

static void table_grow(Arena *a, Table *table) {
    int size = table->size ? table->size * 2 : 64;
    Node **buckets = NEW_N(a, Node *, size);
    for (int i = 0; i < table->size; i++) {
        for (Node *n = table->buckets[i]; n;) {
            Node *next = n->next;
            Node **bucket = &buckets[n->hash & (uint32_t)(size - 1)];
            n->next = *bucket;
            *bucket = n;
            n = next;
        }
    }
    table->buckets = buckets;
    table->size = size;
}

static void table_add(Arena *a, Table *table, Node *n) {
    if (table->count++ >= table->size)
        table_grow(a, table);
    Node **bucket = &table->buckets[n->hash & (uint32_t)(table->size - 1)];
    n->next = *bucket;
    *bucket = n;
}

// Monomials

static const Mono *mono_intern(DimTable *t, const Var *const *factors, int degree) {
    uint32_t h = 2166136261u;
    size_t size = (size_t)degree * sizeof(Var *);
    for (int i = 0; i < degree; i++)
        h = mix(h, (uint64_t)factors[i]->id);
    for (Node *n = table_first(&t->monos, h); n; n = n->next) {
        const Mono *m = (const Mono *)n;
        if (n->hash == h && m->degree == degree && memcmp(m->factors, factors, size) == 0)
            return m;
    }
    Mono *m = arena_alloc(t->arena, sizeof *m + size);
    m->node.hash = h;
    m->degree = degree;
    memcpy(m->factors, factors, size);
    table_add(t->arena, &t->monos, &m->node);
    return m;
}

const Mono *mono_of(DimTable *t, const Var *v) {
    return mono_intern(t, &v, 1);
}

// Negative if a comes before b in the order of terms.
static int mono_compare(const Mono *a, const Mono *b) {
    if (a == b)
        return 0;
    if (a->degree != b->degree)
        return b->degree - a->degree;
    for (int i = 0; i < a->degree; i++) {
        if (a->factors[i] != b->factors[i])
            return a->factors[i]->id - b->factors[i]->id;
    }
    return 0;
}

int poly_compare(Poly a, Poly b) {
    if (a.n == 0 || b.n == 0)
        return (a.n == 0) - (b.n == 0);
    for (int i = 0; i < a.n && i < b.n; i++) {
        int order = mono_compare(a.terms[i].m, b.terms[i].m);
        if (order)
            return order;
        if (a.terms[i].c != b.terms[i].c)
            return a.terms[i].c < b.terms[i].c ? -1 : 1;
    }
    return a.n - b.n;
}

// NULL beyond DEGREE_LIMIT.
static const Mono *mono_mul(DimTable *t, const Mono *a, const Mono *b) {
    const Var *factors[DEGREE_LIMIT];
    int n = a->degree + b->degree, i = 0, j = 0;
    if (a->degree == 0 || b->degree == 0)
        return a->degree ? a : b;
    if (n > DEGREE_LIMIT)
        return NULL;
    for (int k = 0; k < n; k++) {
        bool left = j == b->degree || (i < a->degree && a->factors[i]->id <= b->factors[j]->id);
        factors[k] = left ? a->factors[i++] : b->factors[j++];
    }
    return mono_intern(t, factors, n);
}

const Mono *mono_div(DimTable *t, const Mono *a, const Mono *b) {
    const Var *factors[DEGREE_LIMIT];
    int n = 0, j = 0;
    if (a->degree < b->degree)
        return NULL;
    for (int i = 0; i < a->degree; i++) {
        if (j < b->degree && a->factors[i] == b->factors[j])
            j++;
        else
            factors[n++] = a->factors[i];
    }
    return j == b->degree ? mono_intern(t, factors, n) : NULL;
}

const Mono *mono_gcd(DimTable *t, const Mono *a, const Mono *b) {
    const Var *factors[DEGREE_LIMIT];
    int n = 0;
    for (int i = 0, j = 0; i < a->degree && j < b->degree;) {
        if (a->factors[i] == b->factors[j]) {
            factors[n++] = a->factors[i++];
            j++;
        } else if (a->factors[i]->id < b->factors[j]->id) {
            i++;
        } else {
            j++;
        }
    }
    return mono_intern(t, factors, n);
}

bool mono_has(const Mono *m, const Var *v) {
    for (int i = 0; i < m->degree; i++) {
        if (m->factors[i] == v)
            return true;
    }
    return false;
}

// Polynomials

int terms_add(DimTable *t, Term *out, Poly x, Term k, Poly y) {
    int n = 0, i = 0, j = 0;
    if (x.n < 0 || y.n < 0 || !k.m)
        return -1;
    while (i < x.n || j < y.n) {
        Term right = {0, NULL};
        if (j < y.n) {
            right.m = mono_mul(t, k.m, y.terms[j].m);
            if (!right.m || !mul_i64(k.c, y.terms[j].c, &right.c))
                return -1;
        }
        int order = j == y.n ? -1 : i == x.n ? 1 : mono_compare(x.terms[i].m, right.m);
        Term sum = order < 0 ? x.terms[i] : right;
        if (order == 0 && !add_i64(x.terms[i].c, right.c, &sum.c))
            return -1;
        i += order <= 0;
        j += order >= 0;
        if (sum.c && n == TERM_LIMIT)
            return -1;
        if (sum.c)
            out[n++] = sum;
    }
    return n;
}

static int by_order(const void *a, const void *b) {
    return mono_compare(((const Term *)a)->m, ((const Term *)b)->m);
}

int terms_mul(DimTable *t, Term *out, Poly x, Poly y) {
    Term pairs[PAIR_LIMIT];
    int count = 0, n = 0;
    if (x.n < 0 || y.n < 0 || x.n * y.n > PAIR_LIMIT)
        return -1;
    for (int i = 0; i < x.n; i++) {
        for (int j = 0; j < y.n; j++) {
            Term *p = &pairs[count++];
            p->m = mono_mul(t, x.terms[i].m, y.terms[j].m);
            if (!p->m || !mul_i64(x.terms[i].c, y.terms[j].c, &p->c))
                return -1;
        }
    }
    if (x.n > 1 && y.n > 1) // otherwise they are in order
        qsort(pairs, (size_t)count, sizeof *pairs, by_order);
    for (int i = 0; i < count;) {
        Term sum = pairs[i++];
        for (; i < count && pairs[i].m == sum.m; i++) {
            if (!add_i64(sum.c, pairs[i].c, &sum.c))
                return -1;
        }
        if (sum.c && n == TERM_LIMIT)
            return -1;
        if (sum.c)
            out[n++] = sum;
    }
    return n;
}

static Poly poly_copy(Arena *a, const Term *terms, int n) {
    if (n <= 0)
        return (Poly){NULL, n};
    return (Poly){arena_copy(a, terms, (size_t)n * sizeof *terms), n};
}

Poly poly_add(DimTable *t, Arena *a, Poly x, Term k, Poly y) {
    Term out[TERM_LIMIT];
    int n = terms_add(t, out, x, k, y);
    return poly_copy(a, out, n);
}

Poly poly_mul(DimTable *t, Arena *a, Poly x, Poly y) {
    Term out[TERM_LIMIT];
    int n = terms_mul(t, out, x, y);
    return poly_copy(a, out, n);
}

int64_t poly_constant(Poly p) {
    return p.n > 0 && p.terms[p.n - 1].m->degree == 0 ? p.terms[p.n - 1].c : 0;
}

bool poly_has(Poly p, const Var *v) {
    for (int i = 0; i < p.n; i++) {
        if (mono_has(p.terms[i].m, v))
            return true;
    }
    return false;
}

// Dimensions

const Dim *dim_invalid(DimTable *t) {
    Dim *d = NEW(t->arena, Dim); // a new one each time, so that no two are the same
    d->p.n = -1;
    return d;
}

typedef struct {
    const Var *leaves[WEIGHT_LIMIT]; // by id
    int n;
} Leaves;

// The place of a leaf in a list by id, or where it would be.
static int leaf_place(const Var *const *leaves, int n, const Var *leaf) {
    int low = 0, high = n;
    while (low < high) {
        int mid = low + (high - low) / 2;
        if (leaves[mid]->id < leaf->id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void add_leaf(Leaves *list, const Var *leaf) {
    int at = leaf_place(list->leaves, list->n, leaf);
    if (at < list->n && list->leaves[at] == leaf)
        return;
    size_t moved = (size_t)(list->n - at) * sizeof *list->leaves;
    memmove(list->leaves + at + 1, list->leaves + at, moved);
    list->leaves[at] = leaf;
    list->n++;
}

static void add_leaves(Leaves *list, const Dim *d) {
    for (int i = 0; i < d->leaf_count; i++)
        add_leaf(list, d->leaves[i]);
}

static bool is_leaf(const Var *v) {
    return v->kind == VAR_SYMBOL || v->kind == VAR_QUOTIENT;
}

// Weight and depth of what a variable stands for.
static void measure(Dim *d, const Var *v) {
    int weight = is_leaf(v) ? 1 : 1 + v->a->weight + v->b->weight;
    int below = is_leaf(v) ? 0 : v->a->depth > v->b->depth ? v->a->depth : v->b->depth;
    int depth = is_leaf(v) ? 0 : below + 1;
    d->weight += weight;
    d->depth = depth > d->depth ? depth : d->depth;
}

// False if the dimension is too large.
static bool describe(DimTable *t, Dim *d) {
    Leaves list;
    list.n = 0;
    for (int i = 0; i < d->p.n; i++) {
        const Mono *m = d->p.terms[i].m;
        for (int j = 0; j < m->degree; j++) {
            const Var *v = m->factors[j];
            measure(d, v);
            if (d->weight > WEIGHT_LIMIT || d->depth > DEPTH_LIMIT)
                return false;
            if (is_leaf(v)) {
                add_leaf(&list, v);
            } else {
                add_leaves(&list, v->a);
                add_leaves(&list, v->b);
            }
        }
    }
    d->leaf_count = list.n;
    if (list.n)
        d->leaves = arena_copy(t->arena, list.leaves, (size_t)list.n * sizeof *list.leaves);
    return true;
}

const Dim *dim_intern(DimTable *t, const Term *terms, int n) {
    if (n < 0)
        return dim_invalid(t);
    uint32_t h = 2166136261u;
    for (int i = 0; i < n; i++)
        h = mix(mix(h, (uint64_t)terms[i].c), terms[i].m->node.hash);
    for (Node *node = table_first(&t->dims, h); node; node = node->next) {
        const Dim *d = (const Dim *)node;
        bool same = node->hash == h && d->p.n == n;
        for (int i = 0; same && i < n; i++)
            same = d->p.terms[i].c == terms[i].c && d->p.terms[i].m == terms[i].m;
        if (same)
            return d;
    }
    Dim draft = {.node.hash = h, .p = {terms, n}};
    if (!describe(t, &draft))
        return dim_invalid(t);
    Dim *d = arena_copy(t->arena, &draft, sizeof draft);
    d->p = poly_copy(t->arena, terms, n);
    if (n == 1 && terms[0].c == 1 && terms[0].m->degree == 1)
        d->var = terms[0].m->factors[0];
    table_add(t->arena, &t->dims, &d->node);
    return d;
}

const Var *var_intern(DimTable *t, VarKind kind, const Dim *a, const Dim *b) {
    uint32_t h = mix(mix(mix(2166136261u, kind), a->node.hash), b->node.hash);
    for (Node *n = table_first(&t->vars, h); n; n = n->next) {
        const Var *v = (const Var *)n;
        if (n->hash == h && v->kind == kind && v->a == a && v->b == b)
            return v;
    }
    Var *v = NEW(t->arena, Var);
    *v = (Var){.node.hash = h, .kind = kind, .id = t->next_id++, .a = a, .b = b};
    v->self = dim_term(t, 1, mono_of(t, v));
    table_add(t->arena, &t->vars, &v->node);
    return v;
}

const Dim *dim_term(DimTable *t, int64_t c, const Mono *m) {
    Term term = {c, m};
    return dim_intern(t, &term, m ? c != 0 : -1);
}

const Dim *dim_add_scaled(DimTable *t, const Dim *a, Term k, const Dim *b) {
    Term out[TERM_LIMIT];
    int n = terms_add(t, out, a->p, k, b->p);
    return dim_intern(t, out, n);
}

bool dim_is_zero(const Dim *d) {
    return d->p.n == 0;
}

bool dim_has_leaf(const Dim *d, const Var *leaf) {
    int at = leaf_place(d->leaves, d->leaf_count, leaf);
    return at < d->leaf_count && d->leaves[at] == leaf;
}

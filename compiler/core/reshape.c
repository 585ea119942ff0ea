// Reshapes as comprehensions: groups of axes that hold the same number of elements on both sides,
// and in each group the row-major number taken apart.
#include "core/core.h"

typedef struct {
    Core *core;
    const CoreType *from, *to;
    const Facts *facts; // may be NULL
    Comp *comp;
} Reshape;

static const Dim *product(Core *c, const CoreType *t, int from, int to) {
    const Dim *p = dim_const(c->dims, 1);
    for (int i = from; i < to; i++)
        p = dim_mul(c->dims, p, t->dims[i]);
    return p;
}

static bool equal(const Reshape *r, const Dim *a, const Dim *b) {
    if (!dim_valid(a) || !dim_valid(b))
        return false;
    return a == b || (r->facts && facts_prove(r->facts, a, REL_EQ, b));
}

// The smallest next group [i, *i2) of `from` and [j, *j2) of `to`; the rest where none is proved
// equal.
static void next_group(const Reshape *r, int i, int j, int *i2, int *j2) {
    int n = r->from->rank - i, m = r->to->rank - j;
    for (int total = 1; total < n + m; total++) {
        for (int a = total < n ? total : n; a >= 0 && total - a <= m; a--) {
            *i2 = i + a;
            *j2 = j + total - a;
            if (equal(r, product(r->core, r->from, i, *i2), product(r->core, r->to, j, *j2)))
                return;
        }
    }
    *i2 = r->from->rank;
    *j2 = r->to->rank;
}

// Fills positions[i..i2) of the argument from the output indices [j, j2).
static void map_group(Reshape *r, int i, int i2, int j, int j2, int *positions) {
    Core *c = r->core;
    Comp *k = r->comp;
    int number = comp_const_int(c, k, DT_I64, 0);
    for (int o = j; o < j2; o++) {
        int stride = comp_dim(c, k, product(c, r->to, o + 1, j2));
        int term = comp_binary(c, k, N_MUL, comp_index(c, k, o), stride);
        number = comp_binary(c, k, N_ADD, number, term);
    }
    for (int a = i; a < i2; a++) {
        int stride = comp_dim(c, k, product(c, r->from, a + 1, i2));
        int at = comp_binary(c, k, N_FLOORDIV, number, stride);
        if (a > i)
            at = comp_binary(c, k, N_FLOORMOD, at, comp_dim(c, k, r->from->dims[a]));
        positions[a] = at;
    }
}

Comp *comp_reshape(Core *c, const CoreType *from, const CoreType *to, const Facts *facts) {
    Comp *k = NEW(c->session->arena, Comp);
    k->out = to->rank;
    k->reshape = true;
    Reshape r = {c, from, to, facts, k};
    int positions[CORE_MAX_RANK] = {0};
    for (int i = 0, j = 0, i2, j2; i < from->rank || j < to->rank; i = i2, j = j2) {
        next_group(&r, i, j, &i2, &j2);
        map_group(&r, i, i2, j, j2, positions);
    }
    k->root = comp_read(c, k, 0, from->dtype, from->rank, positions);
    return k;
}

Val core_reshape(Core *c, CoreFn *f, Region *r, Val x, const CoreType *to, const Facts *facts,
                 Name name, Span span) {
    Comp *k = comp_reshape(c, core_value(f, x)->type, to, facts);
    Val v = core_add(c, f, OP_COMP, to, name, span);
    core_value(f, v)->comp = k;
    core_arg(c, f, v, x);
    core_emit(c, r, v);
    return v;
}

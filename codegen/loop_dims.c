// Dimensions as expressions, and what is known of their values.
#include "codegen/loop_build.h"

static const Dim *take_as_one(void *ctx, const Dim *symbol) {
    LoopModule *m = ctx;
    return symbol == m->one ? dim_const(m->core->dims, 1) : NULL;
}

const Dim *loop_dim(LoopModule *m, const Dim *d) {
    return m->one ? dim_substitute(m->core->dims, d, take_as_one, m) : d;
}

bool dim_is_one(const Dim *d) {
    int64_t v;
    return dim_is_const(d, &v) && v == 1;
}

const Dim *elements(LoopModule *m, const CoreType *t) {
    const Dim *n = dim_const(m->core->dims, 1);
    for (int i = 0; i < t->rank; i++)
        n = dim_mul(m->core->dims, n, loop_dim(m, t->dims[i]));
    return n;
}

const char *shape_text(LoopModule *m, const CoreType *t) {
    StrBuf b = strbuf_new(m->core->session->arena);
    strbuf_char(&b, '(');
    for (int i = 0; i < t->rank; i++) {
        strbuf_printf(&b, "%s", i ? ", " : "");
        dim_print(&b, loop_dim(m, t->dims[i]));
    }
    strbuf_char(&b, ')');
    return b.data;
}

// ---- Ranges ------------------------------------------------------------------------------------

static bool mul_range(int64_t *lo, int64_t *hi, int64_t lo2, int64_t hi2) {
    int64_t p[4];
    if (__builtin_mul_overflow(*lo, lo2, &p[0]) || __builtin_mul_overflow(*lo, hi2, &p[1]) ||
        __builtin_mul_overflow(*hi, lo2, &p[2]) || __builtin_mul_overflow(*hi, hi2, &p[3]))
        return false;
    *lo = *hi = p[0];
    for (int i = 1; i < 4; i++) {
        *lo = p[i] < *lo ? p[i] : *lo;
        *hi = p[i] > *hi ? p[i] : *hi;
    }
    return true;
}

static bool factor_range(const LoopModule *m, const Dim *d, int64_t *lo, int64_t *hi) {
    for (int i = 0; i < m->symbols.len; i++) {
        if (m->symbols.data[i].dim == d) {
            *lo = m->symbols.data[i].least;
            *hi = m->symbols.data[i].greatest;
            return true;
        }
    }
    const Dim *a, *b;
    int64_t la, ha, lb, hb;
    AtomKind kind = dim_atom(d, &a, &b);
    if (kind == ATOM_NONE || !dim_range(m, a, &la, &ha) || !dim_range(m, b, &lb, &hb))
        return false;
    switch (kind) {
    case ATOM_MIN:
        *lo = la < lb ? la : lb;
        *hi = ha < hb ? ha : hb;
        return true;
    case ATOM_MAX:
        *lo = la > lb ? la : lb;
        *hi = ha > hb ? ha : hb;
        return true;
    case ATOM_DIV:
        *lo = 0;
        *hi = ha;
        return la >= 0 && lb >= 1;
    default:
        *lo = 0;
        *hi = hb - 1;
        return lb >= 1;
    }
}

bool dim_range(const LoopModule *m, const Dim *d, int64_t *lo, int64_t *hi) {
    *lo = *hi = 0;
    for (int t = 0; t < dim_terms(d); t++) {
        int64_t a = dim_coefficient(d, t), z = a;
        for (int f = 0; f < dim_factors(d, t); f++) {
            int64_t fa, fz;
            if (!factor_range(m, dim_factor(d, t, f), &fa, &fz) || !mul_range(&a, &z, fa, fz))
                return false;
        }
        if (__builtin_add_overflow(*lo, a, lo) || __builtin_add_overflow(*hi, z, hi))
            return false;
    }
    return dim_valid(d);
}

bool dim_at_least(LoopModule *m, const Dim *a, const Dim *b) {
    if (a == b)
        return true;
    const Dim *d = dim_sub(m->core->dims, a, b);
    int64_t lo, hi;
    return dim_valid(d) && dim_range(m, d, &lo, &hi) && lo >= 0;
}

// ---- Expressions -------------------------------------------------------------------------------

static const Expr *atom_expr(LoopModule *m, const Dim *d) {
    Arena *arena = m->core->session->arena;
    LoopType i64 = loop_scalar(DT_I64);
    const char *name = loop_symbol(m, d);
    if (name)
        return x_name(arena, name, i64);
    const Dim *a, *b;
    AtomKind kind = dim_atom(d, &a, &b);
    if (kind == ATOM_NONE) {
        loop_fail(m, "the dimension %s is not bound", dim_text(arena, d));
        return x_int(arena, DT_I64, 0);
    }
    const Expr *args[] = {dim_expr_in(m, a), dim_expr_in(m, b)};
    int64_t la = -1, ha, lb = 0, hb;
    bool plain = dim_range(m, a, &la, &ha) && dim_range(m, b, &lb, &hb) && la >= 0 && lb >= 1;
    if (kind == ATOM_MIN || kind == ATOM_MAX)
        return x_call(m, kind == ATOM_MIN ? "rt_min_i64" : "rt_max_i64", i64, 2, args);
    if (plain)
        return x_binary(arena, kind == ATOM_DIV ? X_DIV : X_MOD, i64, args[0], args[1]);
    return x_call(m, kind == ATOM_DIV ? "rt_floordiv_i64" : "rt_floormod_i64", i64, 2, args);
}

static const Expr *term_expr(LoopModule *m, const Dim *d, int t, int64_t coefficient) {
    Arena *a = m->core->session->arena;
    const Expr *x = NULL;
    for (int f = 0; f < dim_factors(d, t); f++) {
        const Expr *y = atom_expr(m, dim_factor(d, t, f));
        x = x ? x_mul(a, x, y) : y;
    }
    const Expr *c = x_int(a, DT_I64, coefficient);
    return x ? x_mul(a, x, c) : c;
}

const Expr *dim_expr_in(LoopModule *m, const Dim *d) {
    Arena *a = m->core->session->arena;
    const Expr *x = x_int(a, DT_I64, 0);
    if (!dim_valid(d))
        loop_fail(m, "a dimension leaves 64 bits");
    for (int t = 0; dim_valid(d) && t < dim_terms(d); t++) {
        if (dim_coefficient(d, t) >= 0)
            x = x_add(a, x, term_expr(m, d, t, dim_coefficient(d, t)));
    }
    for (int t = 0; dim_valid(d) && t < dim_terms(d); t++) {
        int64_t c = dim_coefficient(d, t);
        if (c < 0 && c > INT64_MIN)
            x = x_sub(a, x, term_expr(m, d, t, -c));
        else if (c < 0)
            loop_fail(m, "a dimension leaves 64 bits");
    }
    return x;
}

static void note_symbol(void *ctx, const Dim *symbol) {
    LoopFn *f = ((FnBuild *)ctx)->out;
    for (int i = 0; i < f->symbols.len; i++) {
        if (f->symbols.data[i] == symbol)
            return;
    }
    vec_push(((FnBuild *)ctx)->arena, &f->symbols, symbol);
}

const Expr *dim_expr(FnBuild *b, const Dim *d) {
    if (dim_valid(d))
        dim_symbols(d, note_symbol, b);
    return dim_expr_in(b->module, d);
}

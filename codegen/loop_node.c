// One node of a body as an expression: the operations of core/nodes.def in C's terms.
//
// Floats keep their association; f16 and bf16 are rounded after every operation. Integers wrap, so
// the operators of C are used only where the ranges show that nothing can overflow, and the
// runtime's functions elsewhere.
#include "codegen/loop_build.h"
#include <string.h>

static bool is_half(Dtype t) {
    return t == DT_F16 || t == DT_BF16;
}

static Arena *arena_of(const Body *k) {
    return k->b->arena;
}

static const Expr *call1(LoopModule *m, const char *name, LoopType t, const Expr *x) {
    return x_call(m, name, t, 1, &x);
}

static const Expr *call2(LoopModule *m, const char *name, LoopType t, const Expr *x,
                         const Expr *y) {
    const Expr *args[] = {x, y};
    return x_call(m, name, t, 2, args);
}

static const Expr *call3(LoopModule *m, const char *name, LoopType t, const Expr *x, const Expr *y,
                         int width) {
    const Expr *args[] = {x, y, x_int(m->core->session->arena, DT_I64, width)};
    return x_call(m, name, t, 3, args);
}

// Rounded to f16 or bf16, as a float.
static const Expr *rounded(LoopModule *m, Dtype t, const Expr *x) {
    if (!is_half(t))
        return x;
    return call1(m, t == DT_BF16 ? "rt_round_bf16" : "rt_round_f16", loop_scalar(t), x);
}

const Expr *loaded(LoopModule *m, Dtype t, const Expr *x) {
    if (!is_half(t))
        return x;
    return call1(m, t == DT_BF16 ? "rt_bf16_to_f32" : "rt_f16_to_f32", loop_scalar(t), x);
}

const Expr *stored(LoopModule *m, Dtype t, const Expr *x) {
    if (!is_half(t))
        return x;
    const char *load = t == DT_BF16 ? "rt_bf16_to_f32" : "rt_f16_to_f32";
    const char *round = t == DT_BF16 ? "rt_round_bf16" : "rt_round_f16";
    if (x->op == X_CALL && strcmp(x->name, load) == 0)
        return x->args[0];
    if (x->op == X_CALL && strcmp(x->name, round) == 0)
        x = x->args[0];
    LoopType bits = loop_scalar(t);
    bits.bits = true;
    return call1(m, t == DT_BF16 ? "rt_f32_to_bf16" : "rt_f32_to_f16", bits, x);
}

// ---- Reads -------------------------------------------------------------------------------------

const Expr *flat_index(FnBuild *b, const CoreType *t, const Expr *const *at) {
    const Expr *x = x_int(b->arena, DT_I64, 0);
    for (int i = 0; i < t->rank; i++) {
        const Dim *d = loop_dim(b->module, t->dims[i]);
        if (!x_is_int(x, NULL) || x->i != 0)
            x = x_mul(b->arena, x, dim_expr(b, d));
        x = x_add(b->arena, x, at[i]);
    }
    return x;
}

// Is the position within its axis whatever the indices are?
static bool in_range(const Body *k, int position, const Dim *extent) {
    LoopModule *m = k->b->module;
    const Node *n = &k->comp->nodes.data[position];
    int64_t size, lo, hi;
    if (n->op == N_INDEX && k->extents[n->index] == extent)
        return true;
    if (!dim_range(m, extent, &lo, &hi))
        return false;
    size = lo;
    return k->lo[position] >= 0 && k->hi[position] < size;
}

// The position on one axis; a gathered one is clamped, and so is one that is evaluated where the
// program would not.
static const Expr *position(Body *k, int read, int axis, const Dim *extent) {
    const Node *n = &k->comp->nodes.data[read];
    int p = n->reads[axis];
    bool early = !k->always[read] && (k->hoisted[read] || k->uses[read] > 1);
    if (dim_is_one(extent))
        return x_int(arena_of(k), DT_I64, 0);
    if ((!early && !k->gathered[p]) || in_range(k, p, extent))
        return k->nodes[p];
    int64_t size;
    if (dim_is_const(extent, &size) && size < 1)
        loop_fail(k->b->module, "%s: a read of an empty axis", k->b->fn->label);
    const Expr *limit = dim_expr(k->b, extent);
    return call2(k->b->module, "rt_clamp", loop_scalar(DT_I64), k->nodes[p], limit);
}

const Expr *read_offset(Body *k, int n) {
    const Node *node = &k->comp->nodes.data[n];
    const CoreType *t = core_value(k->b->fn, k->value->args.data[node->index])->type;
    const Expr **at = NEW_N(arena_of(k), const Expr *, t->rank + 1);
    for (int i = 0; i < t->rank; i++)
        at[i] = position(k, n, i, loop_dim(k->b->module, t->dims[i]));
    return flat_index(k->b, t, at);
}

static const Expr *read_expr(Body *k, int n) {
    const Node *node = &k->comp->nodes.data[n];
    const Expr *base = argument(k->b, k->value->args.data[node->index]);
    if (node->read_count == 0)
        return base;
    const Expr *x = x_index(arena_of(k), base, read_offset(k, n));
    return loaded(k->b->module, node->dtype, x);
}

// ---- Casts -------------------------------------------------------------------------------------

static const Expr *to_integer(LoopModule *m, Dtype from, Dtype to, const Expr *x) {
    static const struct {
        Dtype to;
        const char *f32, *f64;
    } rows[] = {
        {DT_I8, "rt_f32_to_i8", "rt_f64_to_i8"},    {DT_I16, "rt_f32_to_i16", "rt_f64_to_i16"},
        {DT_I32, "rt_f32_to_i32", "rt_f64_to_i32"}, {DT_I64, "rt_f32_to_i64", "rt_f64_to_i64"},
        {DT_U8, "rt_f32_to_u8", "rt_f64_to_u8"},    {DT_U16, "rt_f32_to_u16", "rt_f64_to_u16"},
        {DT_U32, "rt_f32_to_u32", "rt_f64_to_u32"}, {DT_U64, "rt_f32_to_u64", "rt_f64_to_u64"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].to == to)
            return call1(m, from == DT_F64 ? rows[i].f64 : rows[i].f32, loop_scalar(to), x);
    }
    return x;
}

static const Expr *cast_expr(const Body *k, const Node *n) {
    LoopModule *m = k->b->module;
    Arena *a = arena_of(k);
    const Expr *x = k->nodes[n->args[0]];
    Dtype from = k->comp->nodes.data[n->args[0]].dtype, to = n->dtype;
    if (from == to)
        return x;
    if (to == DT_BOOL) {
        const Expr *zero = dtype_is_float(from) ? x_real(a, from, 0) : x_int(a, from, 0);
        return x_binary(a, X_NE, loop_scalar(DT_BOOL), x, zero);
    }
    if (dtype_is_float(to)) {
        if (!(is_half(from) && to == DT_F32) && !is_half(to))
            return x_cast(a, to, x);
        if (is_half(to) && !is_half(from) && from != DT_F32)
            x = x_cast(a, DT_F32, x);
        return is_half(to) ? rounded(m, to, x) : x;
    }
    if (dtype_is_float(from))
        return to_integer(m, from, to, x);
    int64_t value;
    if (x_is_int(x, &value) && k->lo[n->args[0]] == value)
        return x_int(a, to, core_wrap(to, value));
    return x_cast(a, to, x);
}

// ---- Integers ----------------------------------------------------------------------------------

static const char *name_of(const Body *k, const char *op, Dtype t) {
    return arena_printf(arena_of(k), "rt_%s_%s", op, dtype_name(t));
}

// An operation that wraps: C's own on u32 and u64, a cast of it for narrower types, and the
// runtime's for i32 and i64.
static const Expr *wrapping(const Body *k, const Node *n, const Expr *x, const Expr *y) {
    static const ExprOp ops[] = {X_ADD, X_SUB, X_MUL};
    static const char *const names[] = {"add", "sub", "mul"};
    Arena *a = arena_of(k);
    Dtype t = n->dtype;
    int which = n->op - N_ADD;
    LoopType type = loop_scalar(t);
    if (t == DT_I32 || t == DT_I64)
        return call2(k->b->module, name_of(k, names[which], t), type, x, y);
    if (t == DT_U32 || t == DT_U64)
        return x_binary(a, ops[which], type, x, y);
    if (t == DT_U16 && n->op == N_MUL)
        x = x_cast(a, DT_U32, x); // int would overflow
    return x_cast(a, t, x_binary(a, ops[which], loop_scalar(DT_I32), x, y));
}

static const Expr *ring(const Body *k, int i, const Expr *x, const Expr *y) {
    const Node *n = &k->comp->nodes.data[i];
    Arena *a = arena_of(k);
    int64_t lo, hi;
    if (!body_exact(k, i, &lo, &hi))
        return wrapping(k, n, x, y);
    if (n->op == N_ADD)
        return x_add(a, x, y);
    return n->op == N_SUB ? x_sub(a, x, y) : x_mul(a, x, y);
}

static const Expr *division(const Body *k, const Node *n, const Expr *x, const Expr *y) {
    int p = n->args[0], q = n->args[1];
    bool remainder = n->op == N_MOD || n->op == N_FLOORMOD;
    bool floors = n->op == N_FLOORDIV || n->op == N_FLOORMOD;
    bool is_signed = dtype_is_signed(n->dtype);
    Arena *a = arena_of(k);
    LoopType type = loop_scalar(n->dtype);
    int64_t c;
    bool safe = k->lo[q] >= 1 || (x_is_int(y, &c) && c != 0 && c != -1);
    bool positive = k->lo[p] >= 0 && k->lo[q] >= 1;
    if (x_is_int(y, &c) && c == 1)
        return remainder ? x_int(a, n->dtype, 0) : x;
    if (!remainder && k->lo[p] >= 0 && k->hi[p] < k->lo[q])
        return x_int(a, n->dtype, 0);
    if (remainder && k->lo[p] >= 0 && k->hi[p] < k->lo[q])
        return x;
    if (safe && (positive || !floors || !is_signed))
        return x_binary(a, remainder ? X_MOD : X_DIV, type, x, y);
    if (n->dtype == DT_U64)
        return call2(k->b->module, remainder ? "rt_mod_u64" : "rt_div_u64", type, x, y);
    const char *op = remainder ? (floors ? "floormod" : "mod") : (floors ? "floordiv" : "div");
    const Expr *wide = call2(k->b->module, name_of(k, op, DT_I64), loop_scalar(DT_I64), x, y);
    return n->dtype == DT_I64 ? wide : x_cast(a, n->dtype, wide);
}

static const Expr *extreme(const Body *k, const Node *n, const Expr *x, const Expr *y) {
    LoopModule *m = k->b->module;
    bool most = n->op == N_MAX;
    LoopType type = loop_scalar(n->dtype);
    if (n->dtype == DT_F64)
        return call2(m, most ? "rt_max64" : "rt_min64", type, x, y);
    if (dtype_is_float(n->dtype))
        return call2(m, most ? "rt_max" : "rt_min", type, x, y);
    if (n->dtype == DT_U64)
        return call2(m, most ? "rt_max_u64" : "rt_min_u64", type, x, y);
    const Expr *wide = call2(m, most ? "rt_max_i64" : "rt_min_i64", loop_scalar(DT_I64), x, y);
    return n->dtype == DT_I64 ? wide : x_cast(arena_of(k), n->dtype, wide);
}

static const Expr *shift(const Body *k, const Node *n, const Expr *x, const Expr *y) {
    LoopModule *m = k->b->module;
    Arena *a = arena_of(k);
    Dtype t = n->dtype;
    int width = 8 * dtype_size(t), p = n->args[0], q = n->args[1];
    bool is_signed = dtype_is_signed(t), left = n->op == N_SHL;
    bool in_width = k->lo[q] >= 0 && k->hi[q] < width;
    int64_t top;
    bool fits = left && k->lo[p] >= 0 && in_width && k->hi[q] < 62 &&
                !__builtin_mul_overflow(k->hi[p], INT64_C(1) << k->hi[q], &top) &&
                (t == DT_I64 || (top < INT64_C(1) << (width - is_signed)));
    bool plain = !x_is_int(x, NULL) && in_width && (!left || fits || t == DT_U32 || t == DT_U64);
    if (plain)
        return x_binary(a, left ? X_SHL : X_SHR, loop_scalar(t), x, y);
    if (left) // the bits of a signed number as they are
        return x_cast(a, t,
                      call3(m, "rt_shl", loop_scalar(DT_U64), x_cast(a, DT_U64, x), y, width));
    const char *name = is_signed ? "rt_sar" : "rt_shr";
    const Expr *r = call3(m, name, loop_scalar(is_signed ? DT_I64 : DT_U64), x, y, width);
    return width == 64 ? r : x_cast(a, t, r);
}

static const Expr *bitwise(const Body *k, const Node *n, const Expr *x, const Expr *y) {
    bool b = n->dtype == DT_BOOL;
    ExprOp op = n->op == N_AND  ? (b ? X_LAND : X_AND)
                : n->op == N_OR ? (b ? X_LOR : X_OR)
                                : (b ? X_NE : X_XOR);
    int64_t known;
    if ((op == X_LAND || op == X_LOR) && (x_is_int(x, &known) || x_is_int(y, &known))) {
        const Expr *other = x_is_int(x, NULL) ? y : x;
        if (op == X_LAND)
            return known ? other : x_int(arena_of(k), DT_BOOL, 0);
        return known ? x_int(arena_of(k), DT_BOOL, 1) : other;
    }
    return x_binary(arena_of(k), op, loop_scalar(n->dtype), x, y);
}

// ---- Comparisons, unary ------------------------------------------------------------------------

static const Expr *compare(const Body *k, const Node *n, const Expr *x, const Expr *y) {
    static const ExprOp ops[] = {X_EQ, X_NE, X_LT, X_LE, X_GT, X_GE};
    int p = n->args[0], q = n->args[1];
    Dtype t = k->comp->nodes.data[p].dtype;
    Arena *a = arena_of(k);
    bool lt = k->hi[p]<k->lo[q], gt = k->lo[p]> k->hi[q];
    bool le = k->hi[p] <= k->lo[q], ge = k->lo[p] >= k->hi[q];
    int64_t i = 0, j = 0;
    if (!dtype_is_float(t) && t != DT_U64 && x_is_int(x, &i) && x_is_int(y, &j)) {
        bool is[] = {i == j, i != j, i<j, i <= j, i> j, i >= j};
        return x_int(a, DT_BOOL, is[n->op - N_EQ]);
    }
    if (!dtype_is_float(t) && t != DT_U64) {
        bool same = p == q;
        bool yes[] = {same, lt || gt, lt, le || same, gt, ge || same};
        bool no[] = {lt || gt, same, ge || same, gt, le || same, lt};
        int which = n->op - N_EQ;
        if (yes[which] || no[which])
            return x_int(a, DT_BOOL, yes[which]);
    }
    if (t == DT_U64 && x_is_int(y, NULL) && y->i == 0 && (n->op == N_LT || n->op == N_GE))
        return x_int(a, DT_BOOL, n->op == N_GE);
    return x_binary(a, ops[n->op - N_EQ], loop_scalar(DT_BOOL), x, y);
}

static const Expr *negative(const Body *k, const Node *n, const Expr *x) {
    LoopModule *m = k->b->module;
    Arena *a = arena_of(k);
    Dtype t = n->dtype;
    LoopType type = loop_scalar(t);
    if (dtype_is_float(t) || t == DT_U32 || t == DT_U64 ||
        ((t == DT_I32 || t == DT_I64) && k->lo[n->args[0]] > INT32_MIN)) // not the least one
        return x_unary(a, X_NEG, type, x);
    if (t == DT_I32 || t == DT_I64)
        return call2(m, name_of(k, "sub", t), type, x_int(a, t, 0), x);
    return x_cast(a, t, x_unary(a, X_NEG, loop_scalar(DT_I32), x));
}

static const Expr *magnitude(const Body *k, const Node *n, const Expr *x) {
    LoopModule *m = k->b->module;
    LoopType type = loop_scalar(n->dtype);
    if (dtype_is_float(n->dtype))
        return call1(m, n->dtype == DT_F64 ? "fabs" : "fabsf", type, x);
    if (!dtype_is_signed(n->dtype))
        return x;
    const Expr *wide = call1(m, "rt_abs_i64", loop_scalar(DT_I64), x);
    return n->dtype == DT_I64 ? wide : x_cast(arena_of(k), n->dtype, wide);
}

static const Expr *function(const Body *k, const Node *n, const Expr *x) {
    LoopModule *m = k->b->module;
    LoopType type = loop_scalar(n->dtype);
    if (n->dtype != DT_F64)
        return rounded(m, n->dtype,
                       call1(m, arena_printf(arena_of(k), "rt_%s", node_text(n->op)), type, x));
    if (n->op == N_SQRT)
        return call1(m, "sqrt", type, x);
    if (n->op == N_RSQRT)
        return x_binary(arena_of(k), X_DIV, type, x_real(arena_of(k), DT_F64, 1),
                        call1(m, "sqrt", type, x));
    loop_fail(m, "%s: %s of an f64 has no exact definition yet", k->b->fn->label, node_text(n->op));
    return x;
}

static const Expr *float_binary(const Body *k, const Node *n, const Expr *x, const Expr *y) {
    static const ExprOp ops[] = {X_ADD, X_SUB, X_MUL, X_DIV};
    LoopType type = loop_scalar(n->dtype);
    return rounded(k->b->module, n->dtype, x_binary(arena_of(k), ops[n->op - N_ADD], type, x, y));
}

static const Expr *arithmetic(const Body *k, int i, const Expr *x, const Expr *y) {
    const Node *n = &k->comp->nodes.data[i];
    bool is_float = dtype_is_float(n->dtype);
    switch (n->op) {
    case N_ADD:
    case N_SUB:
    case N_MUL:
        return is_float ? float_binary(k, n, x, y) : ring(k, i, x, y);
    case N_DIV:
        return is_float ? float_binary(k, n, x, y) : division(k, n, x, y);
    case N_MOD:
    case N_FLOORDIV:
    case N_FLOORMOD:
        return division(k, n, x, y);
    case N_MIN:
    case N_MAX:
        return extreme(k, n, x, y);
    case N_AND:
    case N_OR:
    case N_XOR:
        return bitwise(k, n, x, y);
    case N_SHL:
    case N_SHR:
        return shift(k, n, x, y);
    default:
        return compare(k, n, x, y);
    }
}

const Expr *node_expr(Body *k, int i) {
    const Node *n = &k->comp->nodes.data[i];
    Arena *a = arena_of(k);
    const Expr *x = node_args(n->op) > 0 ? k->nodes[n->args[0]] : NULL;
    switch (n->op) {
    case N_INDEX:
        return k->index[n->index];
    case N_CONST:
        return dtype_is_float(n->dtype) ? x_real(a, n->dtype, n->f) : x_int(a, n->dtype, n->i);
    case N_DIM:
        return dim_expr(k->b, loop_dim(k->b->module, n->dim));
    case N_READ:
        return read_expr(k, i);
    case N_CAST:
        return cast_expr(k, n);
    case N_SELECT:
        return x_cond(a, x, k->nodes[n->args[1]], k->nodes[n->args[2]]);
    case N_NEG:
        return negative(k, n, x);
    case N_ABS:
        return magnitude(k, n, x);
    case N_NOT:
        return x_is_int(x, NULL) ? x_int(a, DT_BOOL, !x->i)
                                 : x_unary(a, X_NOT, loop_scalar(DT_BOOL), x);
    case N_EXP:
    case N_LOG:
    case N_SQRT:
    case N_RSQRT:
    case N_SIN:
    case N_COS:
    case N_TANH:
        return function(k, n, x);
    default:
        return arithmetic(k, i, x, k->nodes[n->args[1]]);
    }
}

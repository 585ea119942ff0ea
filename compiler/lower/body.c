// Expressions as nodes of a comprehension's body.
//
// `pos` holds the nodes of the element's position, one for each axis of the expression. An operand
// of a smaller rank is read at the last positions, an axis of extent 1 at 0.
#include "lower/internal.h"

int cast_to(Fx *x, Body *b, int node, Dtype t) {
    return comp_cast(x->l->core, b->comp, t, node);
}

int body_read(Fx *x, Body *b, Val v, const int *pos, int n) {
    int arg = 0;
    while (arg < b->args.len && b->args.data[arg] != v)
        arg++;
    if (arg == b->args.len)
        vec_push(x->l->a, &b->args, v);
    Dtype t = core_value(x->fn, v)->type->dtype;
    return comp_read(x->l->core, b->comp, arg, t, n, pos);
}

static int zero(Fx *x, Body *b) {
    return comp_const_int(x->l->core, b->comp, DT_I64, 0);
}

// ---- What can be part of a body ----------------------------------------------------------------

static bool builtin_elementwise(int b) {
    return b != BI_RESHAPE && b != BI_CUMSUM;
}

bool is_elementwise(const Expr *e) {
    switch (e->kind) {
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_IF:
    case EXPR_BOOL:
        return true;
    case EXPR_INDEX:
        return e->a->type->kind == TYPE_TENSOR;
    case EXPR_CALL:
        return !e->item && builtin_elementwise(e->builtin);
    default:
        return e->dim || e->has_real;
    }
}

// ---- Operands ----------------------------------------------------------------------------------

// The positions of an operand of type t inside a whole at `pos`: right-aligned, 0 where only the
// operand's extent is 1. False in *same if it is smaller than the whole.
static const int *operand_pos(Fx *x, Body *b, const CoreType *whole, const CoreType *t,
                              const int *pos, bool *same) {
    int *out = NEW_N(x->l->a, int, t->rank + 1);
    const Dim *one = dim_const(x->l->dims, 1);
    int n = whole->rank;
    *same = t->rank == n;
    for (int i = 0; i < t->rank; i++) {
        bool stretched = t->dims[i] == one && whole->dims[n - t->rank + i] != one;
        out[i] = stretched ? zero(x, b) : pos[n - t->rank + i];
        *same &= !stretched;
    }
    return out;
}

static bool is_plain(const Expr *e) {
    if (e->kind == EXPR_CALL && !e->item && e->builtin == BI_CAST)
        e = e->args.data[0].value; // of a constant
    else if (e->kind == EXPR_NAME)
        return true;
    return (e->dim || e->has_real) && type_is_scalar(e->type);
}

// A node for an operand of `whole`. One that is computed and smaller than the whole is computed
// once, apart, unless we are in index notation, where every operand is a scalar.
int body_operand(Fx *x, Body *b, const Expr *whole, const Expr *e, const int *pos, int n) {
    if (e->type->kind != TYPE_TENSOR || n == 0)
        return body_node(x, b, e, pos, 0);
    const CoreType *t = low_type(x, e->type);
    bool same;
    const int *at = operand_pos(x, b, low_type(x, whole->type), t, pos, &same);
    bool in_place = is_plain(e) || (same && is_elementwise(e));
    if (in_place)
        return body_node(x, b, e, at, t->rank);
    Val v = lower_tensor(x, e);
    return v ? body_read(x, b, v, at, t->rank) : zero(x, b);
}

// ---- Operators ---------------------------------------------------------------------------------

static NodeOp binary_node(BinaryOp op) {
    static const NodeOp nodes[] = {
        [BINARY_OROR] = N_OR, [BINARY_ANDAND] = N_AND, [BINARY_EQ] = N_EQ,   [BINARY_NE] = N_NE,
        [BINARY_LT] = N_LT,   [BINARY_LE] = N_LE,      [BINARY_GT] = N_GT,   [BINARY_GE] = N_GE,
        [BINARY_OR] = N_OR,   [BINARY_XOR] = N_XOR,    [BINARY_AND] = N_AND, [BINARY_ADD] = N_ADD,
        [BINARY_SUB] = N_SUB, [BINARY_MUL] = N_MUL,    [BINARY_DIV] = N_DIV, [BINARY_MOD] = N_MOD,
    };
    return nodes[op];
}

static int body_binary(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    if (e->a->type->kind == TYPE_ENUM) {
        Low p = lower_value(x, e->a), q = lower_value(x, e->b);
        bool equal = p.variant == q.variant;
        return comp_const_int(x->l->core, b->comp, DT_BOOL, equal == (e->binary == BINARY_EQ));
    }
    int p = body_operand(x, b, e, e->a, pos, n), before = x->fn->values.len;
    int q = body_operand(x, b, e, e->b, pos, n);
    if (e->binary == BINARY_ANDAND || e->binary == BINARY_OROR) // the right one is a branch
        refuse_effects(x, before, e->b->span);
    return comp_binary(x->l->core, b->comp, binary_node(e->binary), p, q);
}

static int body_unary(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    int p = body_operand(x, b, e, e->a, pos, n);
    if (e->unary == UNARY_PLUS)
        return p;
    return comp_unary(x->l->core, b->comp, e->unary == UNARY_NEG ? N_NEG : N_NOT, p);
}

static int body_if(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    int cond = body_operand(x, b, e, e->c, pos, n), before = x->fn->values.len;
    int p = body_operand(x, b, e, e->a, pos, n);
    int q = body_operand(x, b, e, e->b, pos, n);
    refuse_effects(x, before, e->span);
    return comp_select(x->l->core, b->comp, cond, p, q);
}

// ---- Constants ---------------------------------------------------------------------------------

static int body_constant(Fx *x, Body *b, const Expr *e) {
    Core *c = x->l->core;
    Dtype t = low_dtype(x, e->type->elem);
    if (e->has_real)
        return comp_const_float(c, b->comp, t, e->real);
    const Dim *d = subst_dim(x->l->dims, e->dim, x->subst);
    int64_t v;
    if (dim_is_const(d, &v))
        return dtype_is_float(t) ? comp_const_float(c, b->comp, t, (double)v)
                                 : comp_const_int(c, b->comp, t, core_wrap(t, v));
    return cast_to(x, b, comp_dim(c, b->comp, d), t);
}

// A named constant with an annotation: its value, rounded to its dtype.
static int named_constant(Fx *x, Body *b, const Expr *e) {
    Expr value = {
        .type = e->type, .dim = e->item->dim, .has_real = e->item->has_real, .real = e->item->real};
    if (value.dim || value.has_real)
        return body_constant(x, b, &value);
    return comp_const_int(x->l->core, b->comp, DT_BOOL, e->item->variant_or_bool);
}

// ---- Everything --------------------------------------------------------------------------------

static int body_leaf(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    Low low = lower_value(x, e);
    if (low.kind == LOW_NODE && low.body == b)
        return low.node;
    if (low.kind == LOW_TENSOR)
        return body_read(x, b, low.val, pos, n);
    if (low.kind != LOW_ERROR)
        refuse(x, e->span,
               low.kind == LOW_NODE ? "an element inside of a value of its own"
                                    : "this value in a tensor expression");
    return zero(x, b);
}

static int make_node(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    if ((e->dim || e->has_real) && type_is_scalar(e->type))
        return body_constant(x, b, e);
    const Expr *arm;
    switch (e->kind) {
    case EXPR_BOOL:
        return comp_const_int(x->l->core, b->comp, DT_BOOL, e->int_value);
    case EXPR_UNARY:
        return body_unary(x, b, e, pos, n);
    case EXPR_BINARY:
        return body_binary(x, b, e, pos, n);
    case EXPR_IF:
        return body_if(x, b, e, pos, n);
    case EXPR_CALL:
        return e->item ? body_call(x, b, e, pos, n) : body_builtin(x, b, e, pos, n);
    case EXPR_INDEX:
        return e->element ? body_element(x, b, e) : body_slice(x, b, e, pos, n);
    case EXPR_REDUCE:
        return body_reduce(x, b, e);
    case EXPR_NAME:
    case EXPR_MEMBER:
        if (e->ref == REF_CONST && e->type->kind == TYPE_TENSOR)
            return named_constant(x, b, e);
        break;
    case EXPR_MATCH:
        match_arm(x, e, &arm);
        return arm ? body_node(x, b, arm, pos, n) : zero(x, b);
    default:
        break;
    }
    return body_leaf(x, b, e, pos, n);
}

int body_node(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    if (x->l->failed)
        return zero(x, b);
    int node = make_node(x, b, e, pos, n);
    comp_mark(b->comp, node, e->span);
    return node;
}

// Calls: instances of functions, inlined scalar functions, the prelude.
#include "lower/internal.h"

static const Low error_low = {.kind = LOW_ERROR};

// ---- Functions ---------------------------------------------------------------------------------

static Low receiver_of(Fx *x, const Expr *e) {
    if (e->receiver)
        return lower_value(x, e->receiver);
    if (e->item->block)
        return (Low){.kind = LOW_BLOCK, .val = x->self_val, .inst = x->self};
    return (Low){.kind = LOW_ABSENT};
}

static bool lower_args(Fx *x, const Expr *e, Low *out) {
    for (int i = 0; i < e->value_count; i++) {
        out[i] = e->values[i] ? lower_value(x, e->values[i]) : (Low){.kind = LOW_ABSENT};
        if (out[i].kind == LOW_ERROR)
            return false;
        if (!plain_parts(out[i])) {
            refuse(x, e->span, "this argument");
            return false;
        }
    }
    return true;
}

static Low results_of(Fx *x, const FnInst *f, Val call, Span span) {
    int n = f->core->region.yields.len, next = 0;
    Val *vals = NEW_N(x->l->a, Val, n + 1);
    for (int i = 0; i < n; i++)
        vals[i] = n == 1 ? call : core_result(x->l->core, x->fn, x->region, call, i, span);
    return with_parts(x, f->result, vals, &next);
}

Low lower_call(Fx *x, const Expr *e) {
    Lower *l = x->l;
    if (e->item->kind == ITEM_STRUCT)
        return lower_struct(x, e);
    Low self = receiver_of(x, e);
    Low *args = NEW_N(l->a, Low, e->value_count + 1);
    if (self.kind == LOW_ERROR || !lower_args(x, e, args))
        return error_low;
    const GenericArg *bound = subst_args(l, e->bound, e->bound_count, x->subst);
    FnInst *f = fn_instance(l, e->item, self.kind == LOW_BLOCK ? self.inst : NULL, bound, args);
    if (l->failed || f->running)
        return error_low;
    ValVec vals = {0};
    if (self.kind == LOW_BLOCK)
        vec_push(l->a, &vals, self.val);
    for (int i = 0; i < e->value_count; i++) {
        parts_of(x, args[i], &vals);
    }
    for (int i = 0; i < vals.len && i < f->core->params.len; i++) {
        const CoreType *want = core_value(f->core, f->core->params.data[i])->type;
        vals.data[i] = fit(x, vals.data[i], want, e->span);
    }
    Val call = core_call(l->core, x->fn, x->region, f->core, vals.len, vals.data, e->span);
    return results_of(x, f, call, e->span);
}

// ---- Functions of elements ---------------------------------------------------------------------

// A scalar as a node of this body; what is known when lowering (enums, what is absent) as it is.
static Low element_value(Fx *x, Body *b, const Expr *e) {
    if (!type_is_scalar(e->type))
        return lower_value(x, e);
    return (Low){.kind = LOW_NODE, .node = body_node(x, b, e, NULL, 0), .body = b};
}

// The node of the result, or `fail`.
static int inline_body(Fx *x, Body *b, int fail) {
    const StmtVec *body = &x->item->body;
    for (int i = 0; i < body->len && !x->l->failed; i++) {
        const Stmt *st = body->data[i];
        if (st->kind == STMT_RETURN && st->value)
            return body_node(x, b, st->value, NULL, 0);
        bool named = st->kind == STMT_LET && st->pattern->kind == PATTERN_NAME;
        bool variable = (st->kind == STMT_VAR || st->kind == STMT_ASSIGN) && st->local;
        if (!named && !variable)
            break;
        const Local *local = named ? st->pattern->local : st->local;
        x->locals[local->number] = element_value(x, b, st->value);
    }
    return fail;
}

// A function of scalars called on elements: its lets and its result become nodes of this body.
static int inline_call(Fx *x, Body *b, const Expr *e) {
    Lower *l = x->l;
    int fail = comp_const_int(l->core, b->comp, DT_F32, 0);
    Item *item = e->item;
    enum { MOST_INLINED = 16384 };
    if (!within(l, ++l->inlined, MOST_INLINED, e->span, "calls of functions of elements") ||
        !deeper(l, item))
        return fail;
    const GenericArg *bound = subst_args(l, e->bound, e->bound_count, x->subst);
    Fx in = {.l = l, .item = item, .fn = x->fn, .region = x->region, .inlined = true};
    if (item->block) {
        in.self = x->self;
        in.self_val = x->self_val;
    }
    in.subst = instance_subst(l, e->item, bound, in.self);
    in.locals = NEW_N(l->a, Low, item->local_count + 1);
    in.params = NEW_N(l->a, Low, item->params.len + 1);
    for (int i = 0; i < e->value_count; i++) {
        const Expr *v = e->values[i] ? e->values[i] : item->params.data[i]->fallback;
        in.params[i] = element_value(e->values[i] ? x : &in, b, v);
    }
    int node = inline_body(&in, b, fail);
    l->depth--;
    if (node == fail)
        refuse(x, e->span, "a function of elements with such statements");
    return node;
}

static bool reads_elements(const Expr *e) {
    if (!e)
        return false;
    bool reads = e->element || reads_elements(e->a) || reads_elements(e->b) || reads_elements(e->c);
    for (int i = 0; i < e->args.len; i++)
        reads |= reads_elements(e->args.data[i].value);
    for (int i = 0; i < e->arms.len; i++)
        reads |= reads_elements(e->arms.data[i].value);
    return reads;
}

int body_call(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    bool can_inline = !e->receiver && type_is_scalar(e->type);
    if (can_inline && (x->inlined || (b->indices.len && reads_elements(e))))
        return inline_call(x, b, e);
    Low low = lower_call(x, e);
    if (low.kind == LOW_TENSOR)
        return body_read(x, b, low.val, pos, n);
    if (low.kind != LOW_ERROR)
        refuse(x, e->span, "a tuple in a tensor expression");
    return comp_const_int(x->l->core, b->comp, DT_I64, 0);
}

// ---- The prelude -------------------------------------------------------------------------------

static const Expr *arg(const Expr *e, int i) {
    return e->args.data[i].value;
}

static int body_permute(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    int *at = NEW_N(x->l->a, int, n + 1);
    for (int i = 0; i < n; i++) {
        int64_t k = 0;
        dim_is_const(e->axes[i].dim, &k);
        at[k] = pos[i];
    }
    const Expr *base = arg(e, 0);
    if (is_elementwise(base))
        return body_node(x, b, base, at, n);
    Val v = lower_tensor(x, base);
    return v ? body_read(x, b, v, at, n) : 0;
}

// A piece of the concat: a position of its own on the axis.
static int concat_piece(Fx *x, Body *b, const Expr *piece, const int *pos, int n, int axis,
                        int at) {
    int *inner = arena_copy(x->l->a, pos, (size_t)n * sizeof *inner);
    inner[axis] = at;
    if (is_elementwise(piece))
        return body_node(x, b, piece, inner, n);
    Val v = lower_tensor(x, piece);
    return v ? body_read(x, b, v, inner, n) : 0;
}

// The concrete number of the axis: packs before it may stand for several axes.
int concrete_axis(Fx *x, const Expr *e, int axis) {
    int n = 0;
    subst_axes(x->l->a, x->l->dims, e->type->axes, axis, x->subst, &n);
    return n;
}

// select(i < a, x[i], select(i < a + b, y[i - a], z[i - a - b]))
static int body_concat(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    Core *c = x->l->core;
    int axis = concrete_axis(x, e, e->field), count = 0;
    int *nodes = NEW_N(x->l->a, int, e->args.len), *ends = NEW_N(x->l->a, int, e->args.len);
    const Dim *start = dim_const(x->l->dims, 0);
    for (int i = 0; i < e->args.len; i++) {
        if (e->args.data[i].keyword)
            continue;
        const CoreType *t = low_type(x, arg(e, i)->type);
        int at = pos[axis];
        if (count)
            at = comp_binary(c, b->comp, N_SUB, at, comp_dim(c, b->comp, start));
        nodes[count] = concat_piece(x, b, arg(e, i), pos, n, axis, at);
        start = dim_add(x->l->dims, start, t->dims[axis]);
        ends[count++] = comp_dim(c, b->comp, start);
    }
    int result = nodes[count - 1];
    for (int i = count - 2; i >= 0; i--) {
        int inside = comp_binary(c, b->comp, N_LT, pos[axis], ends[i]);
        result = comp_select(c, b->comp, inside, nodes[i], result);
    }
    return result;
}

static NodeOp unary_builtin(int b) {
    switch (b) {
    case BI_EXP:
        return N_EXP;
    case BI_LOG:
        return N_LOG;
    case BI_SQRT:
        return N_SQRT;
    case BI_RSQRT:
        return N_RSQRT;
    case BI_SIN:
        return N_SIN;
    case BI_COS:
        return N_COS;
    case BI_TANH:
        return N_TANH;
    default:
        return N_ABS;
    }
}

static NodeOp binary_builtin(int b) {
    return b == BI_MIN ? N_MIN : b == BI_MAX ? N_MAX : b == BI_SHL ? N_SHL : N_SHR;
}

int body_builtin(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    Core *c = x->l->core;
    switch ((Builtin)e->builtin) {
    case BI_CAST:
        return cast_to(x, b, body_operand(x, b, e, arg(e, 0), pos, n), low_dtype(x, e->type->elem));
    case BI_MIN:
    case BI_MAX:
    case BI_SHL:
    case BI_SHR: {
        int p = body_operand(x, b, e, arg(e, 0), pos, n),
            q = body_operand(x, b, e, arg(e, 1), pos, n);
        return comp_binary(c, b->comp, binary_builtin(e->builtin), p, q);
    }
    case BI_SELECT: {
        int cond = body_operand(x, b, e, arg(e, 0), pos, n);
        int p = body_operand(x, b, e, arg(e, 1), pos, n),
            q = body_operand(x, b, e, arg(e, 2), pos, n);
        return comp_select(c, b->comp, cond, p, q);
    }
    case BI_IOTA:
        return cast_to(x, b, pos[0], low_dtype(x, e->type->elem));
    case BI_FILL:
        return body_operand(x, b, e, arg(e, 1), pos, n);
    case BI_BROADCAST_TO:
        return body_operand(x, b, e, arg(e, 0), pos, n);
    case BI_PERMUTE:
        return body_permute(x, b, e, pos, n);
    case BI_CONCAT:
        return body_concat(x, b, e, pos, n);
    case BI_RESHAPE:
    case BI_CUMSUM: {
        Val v = lower_tensor(x, e);
        return v ? body_read(x, b, v, pos, n) : comp_const_int(c, b->comp, DT_I64, 0);
    }
    default:
        return comp_unary(c, b->comp, unary_builtin(e->builtin),
                          body_operand(x, b, e, arg(e, 0), pos, n));
    }
}

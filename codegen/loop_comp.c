// Comprehensions as loop nests: a loop for each index, the body, and for reductions what
// accumulates. Float sums have 32 lanes (spec/numerics.md); the others go in row-major order.
#include "codegen/loop_build.h"
#include <math.h>
#include <stdio.h>

// ---- Loops -------------------------------------------------------------------------------------

const Expr *open_index(FnBuild *b, const Comp *comp, int index) {
    static const char *const letters[] = {"i", "j", "k", "l", "m", "n"};
    const char *name = comp->names ? comp->names[index] : NULL;
    if (!name)
        name = letters[index < 6 ? index : 5];
    return x_name(b->arena, names_pick(b->names, name), loop_scalar(DT_I64));
}

Stmt *close_loop(FnBuild *b, Stmts *outer, const Expr *index, const Dim *extent) {
    Stmts *body = b->list;
    b->list = outer;
    Stmt *s = emit(b, S_FOR);
    s->type = loop_scalar(DT_I64);
    s->name = index->name;
    s->value = dim_expr(b, extent);
    s->body = *body;
    return s;
}

Nest open_nest(Body *k, int from, int to) {
    FnBuild *b = k->b;
    int n = to - from > 0 ? to - from : 1;
    Nest nest = {NEW_N(b->arena, Stmts, n), NEW_N(b->arena, Stmts *, n), from, to};
    for (int i = from; i < to; i++) {
        if (dim_is_one(k->extents[i]))
            continue;
        k->index[i] = open_index(b, k->comp, i);
        nest.outer[i - from] = b->list;
        b->list = &nest.bodies[i - from];
    }
    k->list = b->list;
    return nest;
}

void close_nest(Body *k, const Nest *nest) {
    for (int i = nest->to - 1; i >= nest->from; i--) {
        if (nest->outer[i - nest->from])
            close_loop(k->b, nest->outer[i - nest->from], k->index[i], k->extents[i]);
    }
    k->list = k->b->list;
}

static bool has_loops(const Nest *nest) {
    for (int i = nest->from; i < nest->to; i++) {
        if (nest->outer[i - nest->from])
            return true;
    }
    return false;
}

// ---- Reductions --------------------------------------------------------------------------------

static void let(FnBuild *b, LoopType type, const char *name, const Expr *value) {
    Stmt *s = emit(b, S_LET);
    s->type = type;
    s->name = name;
    s->value = value;
}

static void set(FnBuild *b, const Expr *target, const Expr *value) {
    Stmt *s = emit(b, S_SET);
    s->target = target;
    s->value = value;
}

// The row-major number of the reduction's point, mod 32.
static const Expr *lane(Body *k) {
    FnBuild *b = k->b;
    const Expr *n = x_int(b->arena, DT_I64, 0);
    for (int i = k->comp->out; i < k->comp->out + k->comp->red; i++) {
        if (!x_is_int(n, NULL) || n->i != 0)
            n = x_mul(b->arena, n, dim_expr(b, k->extents[i]));
        n = x_add(b->arena, n, k->index[i]);
    }
    if (x_is_int(n, NULL))
        return n;
    const Expr *count = x_int(b->arena, DT_I64, 32);
    return x_binary(b->arena, X_MOD, loop_scalar(DT_I64), n, count);
}

// A float sum in 32 lanes; the result is f32, or f64.
static const Expr *sum_lanes(Body *k, Dtype acc) {
    FnBuild *b = k->b;
    LoopModule *m = b->module;
    const Comp *c = k->comp;
    const Node *root = &c->nodes.data[c->root];
    Stmt *array = emit(b, S_ARRAY);
    array->type = loop_scalar(acc);
    array->name = names_pick(b->names, "lanes");
    array->i = 32;
    const Expr *lanes = x_name(b->arena, array->name, loop_pointer(acc, false));
    Nest nest = open_nest(k, c->out, c->out + c->red);
    bool product = c->step == STEP_FMA;
    if (!body_build(k, product ? 2 : 1, product ? root->args : &c->root))
        return lanes;
    const Expr *at = x_index(b->arena, lanes, lane(k));
    if (product) {
        const Expr *args[] = {k->nodes[root->args[0]], k->nodes[root->args[1]], at};
        set(b, at, x_call(m, acc == DT_F64 ? "rt_fma64" : "rt_fma", loop_scalar(acc), 3, args));
    } else {
        Stmt *s = emit(b, S_ADD);
        s->target = at;
        s->value = k->nodes[c->root];
    }
    close_nest(k, &nest);
    return x_call(m, acc == DT_F64 ? "rt_fold64" : "rt_fold", loop_scalar(acc), 1, &lanes);
}

static const Expr *first_value(FnBuild *b, Reduction r, Dtype t) {
    bool is_float = dtype_is_float(t), is_signed = dtype_is_signed(t);
    int bits = 8 * dtype_size(t);
    int64_t one = 1, least = is_signed ? (int64_t)(UINT64_MAX << (bits - 1)) : 0;
    int64_t most = is_signed ? ~least : bits == 64 ? -1 : (one << bits) - 1;
    switch (r) {
    case RED_PROD:
        return is_float ? x_real(b->arena, t, 1) : x_int(b->arena, t, 1);
    case RED_MAX:
        return is_float ? x_real(b->arena, t, -INFINITY) : x_int(b->arena, t, least);
    case RED_MIN:
        return is_float ? x_real(b->arena, t, INFINITY) : x_int(b->arena, t, most);
    default: // sums, any; all
        return x_int(b->arena, t, r == RED_ALL);
    }
}

// The accumulator's next value, as a body of one node over two scalars would compute it.
static const Expr *combined(Body *k, Dtype t, const Expr *acc, const Expr *x) {
    static const NodeOp ops[] = {[RED_SUM] = N_ADD, [RED_PROD] = N_MUL, [RED_MAX] = N_MAX,
                                 [RED_MIN] = N_MIN, [RED_ANY] = N_OR,   [RED_ALL] = N_AND};
    FnBuild *b = k->b;
    Comp c = {0};
    Value v = {.comp = &c, .type = k->value->type};
    Node leaf = {.op = N_INDEX, .dtype = t}; // stands for the two scalars
    Node both = {.op = ops[k->comp->reduction], .dtype = t, .args = {0, 1, 0}};
    vec_push(b->arena, &c.nodes, leaf);
    vec_push(b->arena, &c.nodes, leaf);
    vec_push(b->arena, &c.nodes, both);
    Body *pair = body_new(b, &v);
    pair->nodes[0] = acc;
    pair->nodes[1] = x;
    for (int i = 0; i < 2; i++) {
        pair->lo[i] = INT64_MIN;
        pair->hi[i] = INT64_MAX;
    }
    return node_expr(pair, 2);
}

// The other reductions, with one accumulator.
static const Expr *reduce(Body *k, Dtype t) {
    FnBuild *b = k->b;
    const Comp *c = k->comp;
    static const char *const nouns[] = {"", "sum", "product", "peak", "least", "any", "all"};
    const char *name = names_pick(b->names, nouns[c->reduction]);
    const Expr *acc = x_name(b->arena, name, loop_scalar(t));
    let(b, loop_scalar(t), name, first_value(b, c->reduction, t));
    Nest nest = open_nest(k, c->out, c->out + c->red);
    if (body_build(k, 1, &c->root))
        set(b, acc, combined(k, t, acc, k->nodes[c->root]));
    close_nest(k, &nest);
    return acc;
}

static const Expr *reduced(Body *k) {
    const Comp *c = k->comp;
    Dtype root = c->nodes.data[c->root].dtype;
    const Expr *call = build_dot(k);
    if (call)
        return call;
    if (c->step == STEP_PAIRS) {
        loop_fail(k->b->module, "%s: a sum of bf16 pairs whose elements do not lie in a row",
                  k->b->fn->label);
        return x_int(k->b->arena, DT_I64, 0);
    }
    if (c->reduction == RED_SUM && dtype_is_float(root))
        return sum_lanes(k, root == DT_F64 ? DT_F64 : DT_F32);
    return reduce(k, root);
}

// A running sum along one axis: its loop is the innermost, the sum is carried in f32 where the
// elements have 16 bits.
void build_cumsum(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    const CoreType *t = value->type;
    begin_value(b, value, true);
    const Expr *target = take_item(b, v, 0), *from = argument(b, value->args.data[0]);
    Comp c = {.reduction = RED_SUM, .out = t->rank};
    Value shape = {.comp = &c, .type = t};
    vec_push(b->arena, &c.nodes, ((Node){.op = N_INDEX, .dtype = t->dtype}));
    Body *k = body_new(b, &shape);
    int mark = names_mark(b->names);
    Nest before = open_nest(k, 0, value->index);
    Nest after = open_nest(k, value->index + 1, t->rank);
    const char *name = names_pick(b->names, "sum");
    const Expr *acc = x_name(b->arena, name, loop_scalar(t->dtype));
    let(b, acc->type, name, first_value(b, RED_SUM, t->dtype));
    Nest axis = open_nest(k, value->index, value->index + 1);
    const Expr *at = flat_index(b, t, k->index);
    const Expr *x = loaded(b->module, t->dtype, x_index(b->arena, from, at));
    bool half = dtype_is_float(t->dtype) && dtype_size(t->dtype) == 2;
    set(b, acc,
        half ? x_binary(b->arena, X_ADD, acc->type, acc, x) : combined(k, t->dtype, acc, x));
    set(b, x_index(b->arena, target, at), stored(b->module, t->dtype, acc));
    close_nest(k, &axis);
    close_nest(k, &after);
    close_nest(k, &before);
    names_release(b->names, mark);
}

// ---- The whole ---------------------------------------------------------------------------------

static const Expr *element_value(Body *k) {
    const Comp *c = k->comp;
    if (c->reduction != RED_NONE)
        return reduced(k);
    body_build(k, 1, &c->root);
    return k->nodes[c->root];
}

// As a scalar variable: 16-bit floats are floats there, rounded.
static const Expr *scalar_value(LoopModule *m, Dtype t, const Expr *x) {
    if (!dtype_is_float(t) || dtype_size(t) != 2 || x->type.dtype == t)
        return x;
    return x_call(m, t == DT_BF16 ? "rt_round_bf16" : "rt_round_f16", loop_scalar(t), 1, &x);
}

void build_comp(FnBuild *b, Val v, const Expr *target) {
    const Value *value = core_value(b->fn, v);
    const CoreType *t = value->type;
    if (build_contraction(b, value, target) || build_split(b, v, target))
        return;
    int mark = names_mark(b->names);
    Body *k = body_new(b, value);
    Nest nest = open_nest(k, 0, value->comp->out);
    const Expr *x = element_value(k);
    if (b->module->error)
        return;
    if (t->rank == 0)
        let(b, loop_scalar(t->dtype), target->name, scalar_value(b->module, t->dtype, x));
    else
        set(b, x_index(b->arena, target, flat_index(b, t, k->index)),
            stored(b->module, t->dtype, x));
    close_nest(k, &nest);
    if (has_loops(&nest))
        names_release(b->names, mark);
}

// Index notation and slices: index variables, reads, reductions.
#include "lower/internal.h"

static const IndexNodes *find_nodes(const Body *b, const IndexVar *v) {
    for (int i = 0; b && i < b->indices.len; i++) {
        if (b->indices.data[i].var == v)
            return &b->indices.data[i];
    }
    return NULL;
}

// The concrete axes of an index variable.
static const Axis *var_axes(Fx *x, const IndexVar *v, int *n) {
    if (v->pack)
        return subst_axes(x->l->a, x->l->dims, v->axes, v->axis_count, x->subst, n);
    Axis axis = {v->extent, NULL};
    return subst_axes(x->l->a, x->l->dims, &axis, 1, x->subst, n);
}

typedef VEC(const Dim *) DimVec;
typedef VEC(Name) Names;

// Gives a variable the next free indices of the body; their extents and names are appended.
static void add_index(Fx *x, Body *b, const IndexVar *v, int first, DimVec *dims, Names *names) {
    int n = 0;
    const Axis *axes = var_axes(x, v, &n);
    int *nodes = NEW_N(x->l->a, int, n + 1);
    for (int i = 0; i < n; i++) {
        nodes[i] = comp_index(x->l->core, b->comp, first + dims->len);
        vec_push(x->l->a, dims, axes[i].dim);
        vec_push(x->l->a, names, v->pack ? NULL : v->name);
    }
    vec_push(x->l->a, &b->indices, ((IndexNodes){v, nodes, n}));
}

// ---- Which outer indices an expression mentions ------------------------------------------------

static void mentions_in(const Expr *e, const Body *b, bool *used);

static void mentions_stmts(const StmtVec *body, const Body *b, bool *used) {
    for (int i = 0; i < body->len; i++)
        mentions_in(body->data[i]->value, b, used);
}

static void mentions_in(const Expr *e, const Body *b, bool *used) {
    if (!e)
        return;
    for (int i = 0; i < e->parts.len; i++) {
        for (int k = 0; k < b->indices.len; k++)
            used[k] |= e->parts.data[i].var && b->indices.data[k].var == e->parts.data[i].var;
        mentions_in(e->parts.data[i].expr, b, used);
    }
    mentions_in(e->a, b, used);
    mentions_in(e->b, b, used);
    mentions_in(e->c, b, used);
    for (int i = 0; i < e->args.len; i++)
        mentions_in(e->args.data[i].value, b, used);
    for (int i = 0; i < e->items.len; i++)
        mentions_in(e->items.data[i], b, used);
    for (int i = 0; i < e->arms.len; i++)
        mentions_in(e->arms.data[i].value, b, used);
    mentions_stmts(&e->body, b, used);
}

// ---- Reductions --------------------------------------------------------------------------------

static Reduction reduction_of(ReduceKind k) {
    static const Reduction map[] = {
        [REDUCE_SUM] = RED_SUM, [REDUCE_PROD] = RED_PROD, [REDUCE_MAX] = RED_MAX,
        [REDUCE_MIN] = RED_MIN, [REDUCE_ANY] = RED_ANY,   [REDUCE_ALL] = RED_ALL,
    };
    return map[k];
}

// The summand and the step that the numerics give it: fma for a product, pairs for two bf16
// factors.
static int summand(Fx *x, Body *b, const Expr *e) {
    Comp *k = b->comp;
    Dtype t = low_dtype(x, e->type->elem);
    bool sum = k->reduction == RED_SUM && dtype_is_float(t);
    bool product = sum && e->kind == EXPR_BINARY && e->binary == BINARY_MUL && !e->has_real;
    k->step = !sum ? STEP_PLAIN : product ? STEP_FMA : STEP_ADD;
    if (!product || t != DT_BF16)
        return body_node(x, b, e, NULL, 0);
    k->step = STEP_PAIRS;
    int p = cast_to(x, b, body_node(x, b, e->a, NULL, 0), DT_F32);
    int q = cast_to(x, b, body_node(x, b, e->b, NULL, 0), DT_F32);
    return comp_binary(x->l->core, k, N_MUL, p, q);
}

_Static_assert((int)TYPE_MOST_AXES == CORE_MAX_RANK, "the checker refuses what Core does not hold");

// Makes `e` the reduction of the body; its reduction indices come after the `out` outputs.
static int reduce_root(Fx *x, Body *b, const Expr *e, Names *names) {
    DimVec dims = {0};
    for (int i = 0; i < e->indices.len; i++)
        add_index(x, b, e->indices.data[i], b->comp->out, &dims, names);
    within(x->l, dims.len, CORE_MAX_RANK, e->span, "indices of a reduction");
    b->comp->red = dims.len;
    b->comp->red_dims = dims.data;
    b->comp->reduction = dims.len ? reduction_of(e->reduce) : RED_NONE;
    if (!dims.len) // a pack of no axes: one element
        return body_node(x, b, e->a, NULL, 0);
    return summand(x, b, e->a);
}

// A reduction as a value: over the indices of `outer` that it mentions, or a scalar.
Val lower_reduce(Fx *x, Body *outer, const Expr *e) {
    Body b = {.comp = NEW(x->l->a, Comp)};
    DimVec dims = {0};
    Names names = {0};
    bool *used = NEW_N(x->l->a, bool, outer ? outer->indices.len + 1 : 1);
    if (outer)
        mentions_in(e->a, outer, used);
    for (int i = 0; outer && i < outer->indices.len; i++) {
        if (used[i])
            add_index(x, &b, outer->indices.data[i].var, 0, &dims, &names);
    }
    within(x->l, dims.len, CORE_MAX_RANK, e->span, "indices around a reduction");
    b.comp->out = dims.len;
    int root = reduce_root(x, &b, e, &names);
    b.comp->names = names.data;
    if (x->l->failed)
        dims.len = dims.len < CORE_MAX_RANK ? dims.len : CORE_MAX_RANK;
    const CoreType *t = core_tensor(x->l->core, low_dtype(x, e->type->elem), dims.len, dims.data);
    return finish_comp(x, &b, t, root, e->span);
}

// A reduction inside of a body: computed apart, read here.
int body_reduce(Fx *x, Body *b, const Expr *e) {
    bool *used = NEW_N(x->l->a, bool, b->indices.len + 1);
    VEC(int) pos = {0};
    mentions_in(e->a, b, used);
    Val v = lower_reduce(x, b, e);
    for (int i = 0; i < b->indices.len; i++) {
        for (int k = 0; used[i] && k < b->indices.data[i].count; k++)
            vec_push(x->l->a, &pos, b->indices.data[i].nodes[k]);
    }
    return body_read(x, b, v, pos.data, pos.len);
}

// let name[i, j] = body
Low lower_notation(Fx *x, const Stmt *st) {
    Body b = {.comp = NEW(x->l->a, Comp)};
    DimVec dims = {0};
    Names names = {0};
    for (int i = 0; i < st->indices.len; i++)
        add_index(x, &b, st->indices.data[i], 0, &dims, &names);
    within(x->l, dims.len, CORE_MAX_RANK, st->span, "axes");
    b.comp->out = dims.len;
    const Expr *e = st->value;
    int root =
        e->kind == EXPR_REDUCE ? reduce_root(x, &b, e, &names) : body_node(x, &b, e, NULL, 0);
    if (x->l->failed)
        return (Low){.kind = LOW_ERROR};
    b.comp->names = names.data;
    const CoreType *t = core_tensor(x->l->core, low_dtype(x, e->type->elem), dims.len, dims.data);
    return (Low){.kind = LOW_TENSOR, .val = finish_comp(x, &b, t, root, st->span)};
}

// ---- Reads -------------------------------------------------------------------------------------

static int position(Fx *x, Body *b, const IndexPart *p) {
    if (p->at)
        return comp_dim(x->l->core, b->comp, subst_dim(x->l->dims, p->at, x->subst));
    return cast_to(x, b, body_node(x, b, p->expr, NULL, 0), DT_I64);
}

// An element of the base at computed positions; a base that is itself an index map is folded in.
static int read_base(Fx *x, Body *b, const Expr *base, const int *pos, int n) {
    bool map = base->kind == EXPR_CALL && !base->item &&
               (base->builtin == BI_IOTA || base->builtin == BI_PERMUTE ||
                base->builtin == BI_BROADCAST_TO || base->builtin == BI_FILL);
    bool slice = base->kind == EXPR_INDEX && base->a->type->kind == TYPE_TENSOR && !base->element;
    if (map || slice)
        return body_node(x, b, base, pos, n);
    Val v = lower_tensor(x, base);
    return v ? body_read(x, b, v, pos, n) : comp_const_int(x->l->core, b->comp, DT_I64, 0);
}

int body_element(Fx *x, Body *b, const Expr *e) {
    VEC(int) pos = {0};
    for (int i = 0; i < e->parts.len; i++) {
        const IndexPart *p = &e->parts.data[i];
        if (!p->var) {
            vec_push(x->l->a, &pos, position(x, b, p));
            continue;
        }
        const IndexNodes *nodes = find_nodes(b, p->var);
        if (!nodes) {
            refuse(x, p->span, "an index used in a value of its own");
            return comp_const_int(x->l->core, b->comp, DT_I64, 0);
        }
        for (int k = 0; k < nodes->count; k++)
            vec_push(x->l->a, &pos, nodes->nodes[k]);
    }
    return read_base(x, b, e->a, pos.data, pos.len);
}

// from + i * stride
static int slice_position(Fx *x, Body *b, const IndexPart *p, int i) {
    Core *c = x->l->core;
    int64_t zero = 1;
    const Dim *from = subst_dim(x->l->dims, p->from, x->subst);
    if (p->stride != 1)
        i = comp_binary(c, b->comp, N_MUL, i, comp_const_int(c, b->comp, DT_I64, p->stride));
    if (dim_is_const(from, &zero) && zero == 0)
        return i;
    return comp_binary(c, b->comp, N_ADD, i, comp_dim(c, b->comp, from));
}

int body_slice(Fx *x, Body *b, const Expr *e, const int *pos, int n) {
    VEC(int) at = {0};
    int next = 0, axis = 0, count = 0;
    for (int i = 0; i < e->parts.len; i++) {
        const IndexPart *p = &e->parts.data[i];
        if (p->kind == INDEX_EXPR) {
            vec_push(x->l->a, &at, position(x, b, p));
            axis++;
        } else if (p->kind == INDEX_SLICE && p->from) {
            vec_push(x->l->a, &at, slice_position(x, b, p, pos[next++]));
            axis++;
        } else { // `...`, or `:` over a pack: the concrete axes it covers
            int covers = p->kind == INDEX_ELLIPSIS ? p->axis_count : 1;
            subst_axes(x->l->a, x->l->dims, e->a->type->axes + axis, covers, x->subst, &count);
            for (int k = 0; k < count; k++)
                vec_push(x->l->a, &at, pos[next++]);
            axis += covers;
        }
    }
    while (next < n)
        vec_push(x->l->a, &at, pos[next++]);
    return read_base(x, b, e->a, at.data, at.len);
}

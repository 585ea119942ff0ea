// Merged axes, value by value in order of execution. Index r of a merged axis is o * inner + i;
// quotients and remainders of such a sum by inner are o and i.
#include "opt/unflatten.h"

typedef struct {
    Core *core;
    CoreFn *f;
    const Dim *outer, *inner, *both;
    int *axis;            // by value - 1: the axis that was split, + 1; 0: none
    bool *fixed;          // by value - 1: its type must stay
    Comp *to;             // being built
    const CoreType *type; // of the value being built
} Unflatten;

static void fix(Unflatten *u, const Val *vals, int n) {
    for (int i = 0; i < n; i++)
        u->fixed[vals[i] - 1] = true;
}

static void find_fixed(Unflatten *u, const Region *r) {
    fix(u, r->yields.data, r->yields.len);
    for (int i = 0; i < r->body.len; i++) {
        const Value *v = core_value(u->f, r->body.data[i]);
        if (v->op != OP_COMP)
            fix(u, v->args.data, v->args.len);
        if (v->op == OP_LOOP)
            find_fixed(u, &v->loop->region);
    }
}

static const Dim *extent(const Unflatten *u, int index) {
    return index < u->to->out ? u->type->dims[index] : u->to->red_dims[index - u->to->out];
}

// Is it o * inner + i, with i an index below inner?
static bool is_merged(const Unflatten *u, int n, int *o, int *i) {
    const Node *add = &u->to->nodes.data[n];
    if (add->op != N_ADD)
        return false;
    for (int side = 0; side < 2; side++) {
        const Node *mul = &u->to->nodes.data[add->args[side]];
        const Node *index = &u->to->nodes.data[add->args[1 - side]];
        if (mul->op != N_MUL || index->op != N_INDEX || extent(u, index->index) != u->inner)
            continue;
        for (int k = 0; k < 2; k++) {
            const Node *dim = &u->to->nodes.data[mul->args[k]];
            if (dim->op != N_DIM || dim->dim != u->inner)
                continue;
            *o = mul->args[1 - k];
            *i = add->args[1 - side];
            return true;
        }
    }
    return false;
}

static int quotient(Unflatten *u, int n, bool rest) {
    int o, i;
    if (is_merged(u, n, &o, &i))
        return rest ? i : o;
    int by = comp_dim(u->core, u->to, u->inner);
    return comp_binary(u->core, u->to, rest ? N_FLOORMOD : N_FLOORDIV, n, by);
}

static int merged_index(Unflatten *u, int axis) {
    Core *c = u->core;
    int o = comp_index(c, u->to, axis), i = comp_index(c, u->to, axis + 1);
    return comp_binary(c, u->to, N_ADD,
                       comp_binary(c, u->to, N_MUL, o, comp_dim(c, u->to, u->inner)), i);
}

static int make_read(Unflatten *u, const Value *v, const Node *n, const int *node) {
    int at[CORE_MAX_RANK + 1], count = 0;
    int split = u->axis[v->args.data[n->index] - 1] - 1;
    for (int j = 0; j < n->read_count; j++) {
        if (j != split) {
            at[count++] = node[n->reads[j]];
            continue;
        }
        at[count++] = quotient(u, node[n->reads[j]], false);
        at[count++] = quotient(u, node[n->reads[j]], true);
    }
    return comp_read(u->core, u->to, n->index, n->dtype, count, at);
}

// The body of v, whose axis `axis` is split (-1: none).
static void make_nodes(Unflatten *u, const Value *v, int axis) {
    const Comp *from = v->comp;
    int *node = NEW_N(u->core->session->arena, int, from->nodes.len);
    for (int i = 0; i < from->nodes.len; i++) {
        Node n = from->nodes.data[i];
        if (n.op == N_INDEX) {
            bool shifted = axis >= 0 && n.index > axis;
            node[i] = n.index == axis ? merged_index(u, axis)
                                      : comp_index(u->core, u->to, n.index + shifted);
            continue;
        }
        if (n.op == N_READ) {
            node[i] = make_read(u, v, &n, node);
            comp_mark(u->to, node[i], n.span);
            continue;
        }
        for (int j = 0; j < node_args(n.op); j++)
            n.args[j] = node[n.args[j]];
        const Node *by =
            n.op == N_FLOORDIV || n.op == N_FLOORMOD ? &u->to->nodes.data[n.args[1]] : NULL;
        if (by && by->op == N_DIM && by->dim == u->inner)
            node[i] = quotient(u, n.args[0], n.op == N_FLOORMOD);
        else
            node[i] = comp_append(u->core, u->to, n);
    }
    u->to->root = node[from->root];
}

static const CoreType *split_type(Unflatten *u, const CoreType *t, int axis) {
    const Dim *dims[CORE_MAX_RANK + 1];
    int n = 0;
    for (int i = 0; i < t->rank; i++) {
        if (i == axis)
            dims[n++] = u->outer;
        dims[n++] = i == axis ? u->inner : t->dims[i];
    }
    return core_tensor(u->core, t->dtype, n, dims);
}

static void split_names(Unflatten *u, const Comp *from, int axis) {
    int n = from->out + from->red;
    if (!from->names || axis < 0)
        return;
    u->to->names = NEW_N(u->core->session->arena, Name, n + 1);
    for (int i = 0; i < n; i++) {
        if (i != axis)
            u->to->names[i + (i > axis)] = from->names[i];
    }
}

static void take_apart(Unflatten *u, Val at) {
    Value *v = core_value(u->f, at);
    int axis = -1;
    bool reads = false;
    for (int i = 0; i < v->type->rank; i++) {
        if (v->type->dims[i] == u->both && axis < 0 && v->type->rank < CORE_MAX_RANK)
            axis = i;
    }
    if (u->fixed[at - 1])
        axis = -1;
    for (int i = 0; i < v->args.len; i++)
        reads = reads || u->axis[v->args.data[i] - 1];
    if (axis < 0 && !reads)
        return;
    const CoreType *type = axis >= 0 ? split_type(u, v->type, axis) : v->type;
    u->axis[at - 1] = axis + 1;
    if (v->comp->reshape && v->args.len == 1) {
        v->comp = comp_reshape(u->core, core_value(u->f, v->args.data[0])->type, type, NULL);
        v->type = type;
        return;
    }
    u->to = comp_copy(u->core, v->comp);
    u->to->nodes.len = 0;
    u->to->reshape = false;
    u->to->out = v->comp->out + (axis >= 0);
    u->type = type;
    split_names(u, v->comp, axis);
    make_nodes(u, v, axis);
    v->comp = u->to;
    v->type = type;
}

static void walk(Unflatten *u, const Region *r) {
    for (int i = 0; i < r->body.len; i++) {
        Value *v = core_value(u->f, r->body.data[i]);
        if (v->op == OP_COMP)
            take_apart(u, r->body.data[i]);
        if (v->op == OP_LOOP)
            walk(u, &v->loop->region);
    }
}

void opt_unflatten(Core *c, CoreFn *f, const Dim *outer, const Dim *inner) {
    Unflatten u = {.core = c, .f = f, .outer = outer, .inner = inner};
    u.both = dim_mul(c->dims, outer, inner);
    u.axis = NEW_N(c->session->arena, int, f->values.len);
    u.fixed = NEW_N(c->session->arena, bool, f->values.len);
    find_fixed(&u, &f->region);
    walk(&u, &f->region);
}

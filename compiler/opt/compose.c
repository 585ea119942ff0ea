// Composition, value by value in order of execution: what a value reads is composed before it.
#include "opt/compose.h"

typedef struct {
    Core *core;
    CoreFn *f;
    ComposeChoice *choice;
    void *ctx;
    VEC(Val) args; // of the new body
    Comp *to;
    bool full;
} Composer;

static bool looks_through(const Composer *k, Val v, Val u) {
    const Value *value = core_value(k->f, u);
    return value->op == OP_COMP && value->comp->reduction == RED_NONE &&
           k->choice(k->ctx, k->f, v, u);
}

static int argument(Composer *k, Val arg) {
    for (int i = 0; i < k->args.len; i++) {
        if (k->args.data[i] == arg)
            return i;
    }
    vec_push(k->core->session->arena, &k->args, arg);
    return k->args.len - 1;
}

// The body of `v` at the given indices, appended; the number of its root. `through`: reads of
// chosen values are looked through (in bodies that are composed already there are none).
static int append(Composer *k, Val v, const int *index, bool through) {
    Arena *a = k->core->session->arena;
    const Value *value = core_value(k->f, v);
    const Comp *from = value->comp;
    int *node = NEW_N(a, int, from->nodes.len);
    for (int i = 0; i < from->nodes.len && !k->full; i++) {
        Node n = from->nodes.data[i];
        k->full = k->to->nodes.len > COMPOSE_MOST;
        if (n.op == N_INDEX) {
            node[i] = index[n.index];
            continue;
        }
        if (n.op != N_READ) {
            for (int j = 0; j < node_args(n.op); j++)
                n.args[j] = node[n.args[j]];
            bool shared = n.op == N_CONST || n.op == N_DIM || n.dtype == DT_I64;
            node[i] = shared && node_args(n.op) == 2
                          ? comp_binary(k->core, k->to, n.op, n.args[0], n.args[1])
                          : comp_append(k->core, k->to, n);
            comp_mark(k->to, node[i], n.span);
            continue;
        }
        int at[CORE_MAX_RANK];
        for (int j = 0; j < n.read_count; j++)
            at[j] = node[n.reads[j]];
        Val u = value->args.data[n.index];
        node[i] = through && looks_through(k, v, u)
                      ? append(k, u, at, false)
                      : comp_read(k->core, k->to, argument(k, u), n.dtype, n.read_count, at);
        comp_mark(k->to, node[i], n.span);
    }
    return node[from->root];
}

// A sum that steps by add keeps doing so though its summand has become a product.
static int keep_step(Composer *k, const Comp *from, int root) {
    const Node *n = &k->to->nodes.data[root];
    if (from->step != STEP_ADD || n->op != N_MUL)
        return root;
    int yes = comp_const_int(k->core, k->to, DT_BOOL, 1);
    return comp_select(k->core, k->to, yes, root, root);
}

// A view of a view is one.
static bool compose_view(Composer *k, Val v) {
    Value *value = core_value(k->f, v);
    if (!value->comp->reshape || value->args.len != 1)
        return false;
    const Value *u = core_value(k->f, value->args.data[0]);
    if (!u->comp || !u->comp->reshape)
        return false;
    Val from = u->args.data[0];
    value->comp = comp_reshape(k->core, core_value(k->f, from)->type, value->type, NULL);
    value->args.data[0] = from;
    return true;
}

static void compose_value(Composer *k, Val v) {
    Arena *a = k->core->session->arena;
    Value *value = core_value(k->f, v);
    bool any = false;
    for (int i = 0; i < value->args.len; i++)
        any = any || looks_through(k, v, value->args.data[i]);
    if (!any || compose_view(k, v))
        return;
    const Comp *from = value->comp;
    k->args.data = NULL;
    k->args.len = k->args.cap = 0;
    k->to = comp_copy(k->core, from);
    k->to->nodes.len = 0;
    k->to->reshape = false;
    int *index = NEW_N(a, int, from->out + from->red);
    for (int i = 0; i < from->out + from->red; i++)
        index[i] = comp_index(k->core, k->to, i);
    int root = append(k, v, index, true);
    if (k->full)
        return;
    k->to->root = keep_step(k, from, root);
    value->comp = k->to;
    value->args.len = 0;
    for (int i = 0; i < k->args.len; i++)
        core_arg(k->core, k->f, v, k->args.data[i]);
}

static void compose_region(Composer *k, const Region *r) {
    for (int i = 0; i < r->body.len && !k->full; i++) {
        Value *v = core_value(k->f, r->body.data[i]);
        if (v->op == OP_COMP)
            compose_value(k, r->body.data[i]);
        if (v->op == OP_LOOP)
            compose_region(k, &v->loop->region);
    }
}

bool opt_compose(Core *c, CoreFn *f, ComposeChoice *choice, void *ctx) {
    Composer k = {.core = c, .f = f, .choice = choice, .ctx = ctx};
    compose_region(&k, &f->region);
    return !k.full;
}

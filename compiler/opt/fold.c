// Each body is gone through once, callees' and arguments' before those that read them: what every
// node is known to be, then which are needed, then the same body of these alone.
#include "opt/fold.h"

// What is known of a node, or of a scalar value.
typedef struct {
    bool known;
    int64_t value; // then: of an integer or a bool
    bool real;     // a float is known
    double number; // then: rounded to its dtype
} Fact;

typedef struct {
    Core *core;
    CoreFn *f;
    Fact *scalars; // per value: its only element
} Fold;

// A body while it is folded.
typedef struct {
    const Comp *from;
    Fact *facts; // per node
    int *is;     // per node: the node that it equals, itself or one before it
    bool any;    // something was found
} Body;

static Fact constant(int64_t value) {
    return (Fact){.known = true, .value = value};
}

static Fact real(double number) {
    return (Fact){.real = true, .number = number};
}

static bool settled(Fact f) {
    return f.known || f.real;
}

// A constant of `from` cast to `to`; f16 and bf16 are reached by way of f32. Floats become integers
// when they are computed.
static Fact cast(Fact x, Dtype from, Dtype to) {
    const int64_t exact = (int64_t)1 << 53; // in f64
    bool fits = x.value >= -exact && x.value <= exact && (from != DT_U64 || x.value >= 0);
    if (x.known && !dtype_is_float(to))
        return constant(core_wrap(to, x.value));
    if (!dtype_is_float(to) || !(x.real || (x.known && fits)))
        return (Fact){0};
    double v = x.real ? x.number : (double)x.value;
    return real(core_round(to, to == DT_F64 ? v : core_round(DT_F32, v)));
}

static Fact compare(NodeOp op, int64_t a, int64_t b) {
    switch (op) {
    case N_EQ:
        return constant(a == b);
    case N_NE:
        return constant(a != b);
    case N_LT:
        return constant(a < b);
    case N_LE:
        return constant(a <= b);
    case N_GT:
        return constant(a > b);
    case N_GE:
        return constant(a >= b);
    default:
        return (Fact){0};
    }
}

// `and` or `or`: one side may settle it, or leave the other.
static Fact logic(Body *b, int i, const Node *n) {
    int64_t neutral = n->op == N_AND;
    for (int k = 0; k < 2; k++) {
        Fact side = b->facts[n->args[k]];
        if (side.known && side.value != neutral)
            return side;
        if (side.known)
            b->is[i] = b->is[n->args[!k]];
    }
    return b->facts[b->is[i]];
}

static Fact fact_of(const Fold *x, Body *b, const Value *value, int i) {
    const Node *n = &b->from->nodes.data[i];
    Fact l = b->facts[n->args[0]], r = b->facts[n->args[1]];
    Dtype t = b->from->nodes.data[n->args[0]].dtype;
    if (n->op == N_CONST)
        return dtype_is_float(n->dtype) ? real(n->f) : constant(n->i);
    if (n->op == N_CAST)
        return cast(l, t, n->dtype);
    if (n->op == N_READ && !n->read_count)
        return x->scalars[value->args.data[n->index] - 1];
    if (n->op == N_NOT && n->dtype == DT_BOOL && l.known)
        return constant(!l.value);
    if ((n->op == N_AND || n->op == N_OR) && n->dtype == DT_BOOL)
        return logic(b, i, n);
    if (node_class(n->op) == 'C' && l.known && r.known && t != DT_U64)
        return compare(n->op, l.value, r.value);
    if (n->op == N_DIV && r.real && r.number == 1) {
        b->is[i] = b->is[n->args[0]];
        return b->facts[b->is[i]];
    }
    if (n->op == N_SELECT && l.known) {
        b->is[i] = b->is[n->args[l.value ? 1 : 2]];
        return b->facts[b->is[i]];
    }
    return (Fact){0};
}

static void study(const Fold *x, Body *b, const Value *value) {
    for (int i = 0; i < b->from->nodes.len; i++) {
        b->is[i] = i;
        b->facts[i] = (Fact){0};
        b->facts[i] = fact_of(x, b, value, i);
        b->any |= b->is[i] != i || (settled(b->facts[i]) && b->from->nodes.data[i].op != N_CONST);
    }
}

// Which nodes the root needs. Under a reduction it stays what it is: an equal one is cast to its
// own dtype, since a root that becomes a product would sum in another way.
static bool *needed(const Fold *x, const Body *b) {
    const Comp *k = b->from;
    bool *need = NEW_N(x->core->session->arena, bool, k->nodes.len);
    need[k->reduction == RED_NONE ? b->is[k->root] : k->root] = true;
    for (int i = k->nodes.len - 1; i >= 0; i--) {
        const Node *n = &k->nodes.data[i];
        if (!need[i] || settled(b->facts[i]))
            continue;
        if (b->is[i] != i) { // the root of a reduction
            need[b->is[i]] = true;
            continue;
        }
        for (int j = 0; j < node_args(n->op); j++)
            need[b->is[n->args[j]]] = true;
        for (int j = 0; j < n->read_count; j++)
            need[b->is[n->reads[j]]] = true;
    }
    return need;
}

static int argument(const Fold *x, Val v, Val arg) {
    const Value *value = core_value(x->f, v);
    for (int i = 0; i < value->args.len; i++) {
        if (value->args.data[i] == arg)
            return i;
    }
    core_arg(x->core, x->f, v, arg);
    return core_value(x->f, v)->args.len - 1;
}

// Node i of the old body in the new one; `to` says where the others went.
static Node moved(const Fold *x, const Body *b, Val v, const Val *args, const int *to, int i) {
    Node n = b->from->nodes.data[i];
    if (settled(b->facts[i]))
        return (Node){
            .op = N_CONST, .dtype = n.dtype, .i = b->facts[i].value, .f = b->facts[i].number};
    if (b->is[i] != i)
        return (Node){.op = N_CAST, .dtype = n.dtype, .args = {to[b->is[i]]}};
    for (int j = 0; j < node_args(n.op); j++)
        n.args[j] = to[b->is[n.args[j]]];
    if (n.op != N_READ)
        return n;
    int *reads = NEW_N(x->core->session->arena, int, n.read_count + 1);
    for (int j = 0; j < n.read_count; j++)
        reads[j] = to[b->is[n.reads[j]]];
    n.reads = reads;
    n.index = argument(x, v, args[n.index]);
    return n;
}

static void rebuild(const Fold *x, const Body *b, Val v) {
    Arena *a = x->core->session->arena;
    Value *value = core_value(x->f, v);
    const bool *need = needed(x, b);
    int *to = NEW_N(a, int, b->from->nodes.len), root = b->from->root;
    const Val *args = arena_copy(a, value->args.data, sizeof(Val) * (size_t)value->args.len);
    Comp *k = comp_copy(x->core, b->from);
    k->nodes.len = 0;
    value->args.len = 0;
    for (int i = 0; i < b->from->nodes.len; i++) {
        if (need[i])
            to[i] = comp_append(x->core, k, moved(x, b, v, args, to, i));
    }
    k->root = to[k->reduction == RED_NONE ? b->is[root] : root];
    core_value(x->f, v)->comp = k;
}

static void fold_value(Fold *x, Val v) {
    Arena *a = x->core->session->arena;
    const Value *value = core_value(x->f, v);
    const Comp *k = value->comp;
    if (value->op != OP_COMP || k->reshape || !k->nodes.len)
        return;
    if (k->reduction != RED_NONE && k->nodes.data[k->root].op == N_MUL)
        return; // how it steps depends on its factors
    Body b = {.from = k};
    b.facts = NEW_N(a, Fact, k->nodes.len);
    b.is = NEW_N(a, int, k->nodes.len);
    study(x, &b, value);
    if (b.any)
        rebuild(x, &b, v);
    if (value->type->rank == 0 && !k->red)
        x->scalars[v - 1] = b.facts[k->root];
}

void opt_fold(Core *c, CoreFn *f) {
    Fold x = {.core = c, .f = f, .scalars = NEW_N(c->session->arena, Fact, f->values.len + 1)};
    for (Val v = 1; v <= (Val)f->values.len; v++)
        fold_value(&x, v);
}

// Elementary functions over whole tensors.
//
// In a comprehension such as x / (1 + exp(-x)) the argument of exp is computed for all elements
// first, then exp of all of them by one call of the runtime, which uses vector instructions, and
// then the rest. The functions are the same ones, so the bits are too.
#include "codegen/loop_build.h"
#include <stdio.h>

enum { MIN_ELEMENTS = 64 }; // below that a call for all does not pay

typedef struct {
    FnBuild *b;
    const Value *value;
    const Expr **buffers; // by node: what holds its values, or NULL
    const Expr *target;   // the result's memory
    int in_target;        // the node whose values lie there, or -1
    bool target_free;     // the body does not read that memory
    int position;         // of the value
} Split;

static bool is_elementary(const Node *n) {
    return n->dtype == DT_F32 && (n->op == N_EXP || n->op == N_LOG || n->op == N_TANH ||
                                  n->op == N_SIN || n->op == N_COS);
}

// Marks what `from` needs, not looking below `cut` (or node -1).
static void reach(const Comp *c, int from, int cut, bool always_only, bool *reached) {
    reached[from] = true;
    for (int i = from; i >= 0; i--) {
        const Node *n = &c->nodes.data[i];
        if (!reached[i] || i == cut)
            continue;
        for (int r = 0; r < n->read_count && n->op == N_READ; r++)
            reached[n->reads[r]] = true;
        for (int a = 0; a < node_args(n->op) && n->op != N_READ; a++)
            reached[n->args[a]] |= !(always_only && n->op == N_SELECT && a > 0);
    }
}

static bool is_needed_after(const Split *s, int node, int next) {
    const Comp *c = s->value->comp;
    bool *reached = NEW_N(s->b->arena, bool, c->nodes.len);
    reach(c, c->root, next, false, reached);
    return reached[node];
}

// The memory for the values of a node: the result's, if it is free by then.
static const Expr *memory_for(Split *s, int node) {
    FnBuild *b = s->b;
    bool f32 = s->value->type->dtype == DT_F32;
    if (f32 && s->target_free && (s->in_target < 0 || !is_needed_after(s, s->in_target, node))) {
        s->in_target = node;
        return s->target;
    }
    const CoreType *t = core_tensor(b->core, DT_F32, s->value->type->rank, s->value->type->dims);
    vec_push(b->arena, &b->storages,
             ((Storage){.type = t, .depth = b->depth, .slot = -1, .last = s->position}));
    const char *noun = node_noun(s->value->comp->nodes.data[node].op);
    return plan_take(b, b->storages.len - 1, noun, shape_text(b->module, t));
}

static Body *point(const Split *s, Nest *nest) {
    Body *k = body_new(s->b, s->value);
    *nest = open_nest(k, 0, s->value->comp->out);
    for (int i = 0; i < s->value->comp->nodes.len; i++) {
        if (s->buffers[i])
            k->nodes[i] =
                x_index(s->b->arena, s->buffers[i], flat_index(s->b, s->value->type, k->index));
    }
    return k;
}

// Loops that store node `node` of every point in memory.
static void store_all(const Split *s, int node, const Expr *memory, Dtype t) {
    FnBuild *b = s->b;
    int mark = names_mark(b->names);
    Nest nest;
    Body *k = point(s, &nest);
    if (!body_build(k, 1, &node))
        return;
    Stmt *set = emit(b, S_SET);
    set->target = x_index(b->arena, memory, flat_index(b, s->value->type, k->index));
    set->value = stored(b->module, t, k->nodes[node]);
    close_nest(k, &nest);
    names_release(b->names, mark);
}

static void apply(Split *s, int node) {
    FnBuild *b = s->b;
    const Node *n = &s->value->comp->nodes.data[node];
    const Expr *memory = memory_for(s, node);
    store_all(s, n->args[0], memory, DT_F32);
    const char *name = arena_printf(b->arena, "rt_%s_n", node_text(n->op));
    const Expr *args[] = {memory, memory, dim_expr(b, elements(b->module, s->value->type))};
    emit(b, S_DO)->value = x_call(b->module, name, loop_scalar(DT_F32), 3, args);
    s->buffers[node] = memory;
}

static bool is_worth_it(FnBuild *b, const Value *v) {
    int64_t n;
    const Dim *size = elements(b->module, v->type);
    return v->type->rank > 0 && v->comp->reduction == RED_NONE && dim_valid(size) &&
           (!dim_is_const(size, &n) || n >= MIN_ELEMENTS);
}

static bool reads_storage(const FnBuild *b, const Value *v, Val target) {
    const int *own = b->places[target].storages;
    for (int i = 0; i < v->args.len; i++) {
        const int *s = b->places[v->args.data[i]].storages;
        if (s && *s == *own)
            return true;
    }
    return false;
}

bool build_split(FnBuild *b, Val v, const Expr *target) {
    const Value *value = core_value(b->fn, v);
    const Comp *c = value->comp;
    int n = c->nodes.len, found = 0;
    if (!is_worth_it(b, value))
        return false;
    bool *always = NEW_N(b->arena, bool, n);
    reach(c, c->root, -1, true, always);
    Split s = {.b = b, .value = value, .buffers = NEW_N(b->arena, const Expr *, n)};
    s.target = target;
    s.in_target = -1;
    s.target_free = !reads_storage(b, value, v);
    s.position = b->places[v].position;
    for (int i = 0; i < n && !b->module->error; i++) {
        if (!always[i] || !is_elementary(&c->nodes.data[i]))
            continue;
        apply(&s, i);
        found++;
    }
    if (!found)
        return false;
    if (s.buffers[c->root] != target)
        store_all(&s, c->root, target, value->type->dtype);
    return true;
}

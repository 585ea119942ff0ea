// Copies of states' contents that are used after they may have changed. Values are followed in
// order: a read of a block's state, and what views it, is current until something writes that
// state; then its users get a copy that is made right after it was read. Loops carry copies, as a
// later round sees what an earlier one wrote.
#include "core/core.h"

typedef struct {
    Core *core;
    CoreFn *fn;
    Arena *a;   // scratch
    int count;  // values before any copy
    Val *root;  // of each value: the state, or the call, whose contents it shares; or 0
    Val *copy;  // of each value: its copy, or 0
    bool *gone; // of each value: its contents may have changed
    bool any;   // a copy was made
} Copier;

enum { DEEPEST_REGION = 64 };

// May a result of the function share a state's memory, or an argument's?
static bool gives_views(const CoreFn *g) {
    for (int i = 0; i < g->region.yields.len; i++) {
        const Value *y = core_value(g, g->region.yields.data[i]);
        if (y->op != OP_COMP || y->comp->reshape)
            return true;
    }
    return false;
}

// The copy of a value, put into its place later.
static Val copy_of(Copier *k, Val v) {
    if (k->copy[v - 1])
        return k->copy[v - 1];
    const CoreType *t = core_value(k->fn, v)->type;
    if (t->kind != CORE_TENSOR)
        return v;
    Comp *comp = NEW(k->core->session->arena, Comp);
    int pos[CORE_MAX_RANK];
    comp->out = t->rank;
    comp->names = NEW_N(k->core->session->arena, Name, t->rank + 1);
    for (int i = 0; i < t->rank; i++)
        pos[i] = comp_index(k->core, comp, i);
    comp->root = comp_read(k->core, comp, 0, t->dtype, t->rank, pos);
    Span span = core_value(k->fn, v)->span;
    Val n = core_add(k->core, k->fn, OP_COMP, t, NULL, span);
    core_value(k->fn, n)->comp = comp;
    core_arg(k->core, k->fn, n, v);
    k->copy[v - 1] = n;
    k->any = true;
    return n;
}

static bool has_effects(const Value *v) {
    return v->op == OP_ASSIGN || v->op == OP_PLACE ||
           (v->op == OP_CALL && v->callee && v->callee->effects);
}

static void write_states(Copier *k, const Value *v) {
    Val written = v->op == OP_CALL ? 0 : v->args.data[0];
    for (int i = 0; i < k->count; i++) {
        if (k->root[i] && core_state_overlaps(k->fn, k->root[i], written))
            k->gone[i] = true;
    }
}

static void write_region(Copier *k, const Region *r, int depth) {
    for (int i = 0; depth < DEEPEST_REGION && i < r->body.len; i++) {
        const Value *v = core_value(k->fn, r->body.data[i]);
        if (has_effects(v))
            write_states(k, v);
        if (v->loop) {
            write_region(k, &v->loop->test, depth + 1);
            write_region(k, &v->loop->region, depth + 1);
        }
    }
}

// Uses the copy where the contents may be others by now, or `always`.
static void settle(Copier *k, Val *use, bool always) {
    if (*use > (Val)k->count || !k->root[*use - 1])
        return;
    if (always || k->gone[*use - 1])
        *use = copy_of(k, *use);
}

static void copy_region(Copier *k, Region *r, int depth);

static void copy_loop(Copier *k, Val n, int depth) {
    Loop *l = core_value(k->fn, n)->loop;
    write_region(k, &l->test, depth);
    write_region(k, &l->region, depth);
    copy_region(k, &l->test, depth + 1);
    copy_region(k, &l->region, depth + 1);
    for (int i = 0; i < l->region.yields.len; i++)
        settle(k, &l->region.yields.data[i], true);
}

static bool shares(const Value *v) {
    return v->op == OP_RESULT || (v->op == OP_COMP && v->comp->reshape) ||
           (v->op == OP_PICK && v->type->kind == CORE_TENSOR) ||
           (v->op == OP_CALL && gives_views(v->callee));
}

static void follow(Copier *k, Val n) {
    const Value *v = core_value(k->fn, n);
    bool state = core_is_block_state(k->fn, n) || v->op == OP_ASSIGN || v->op == OP_PLACE ||
                 (v->op == OP_CALL && v->callee->self && gives_views(v->callee));
    if (state)
        k->root[n - 1] = n;
    for (int i = 0; !state && shares(v) && i < v->args.len; i++) {
        Val arg = v->args.data[i];
        if (arg <= (Val)k->count && k->root[arg - 1])
            k->root[n - 1] = k->root[arg - 1];
    }
}

static void copy_region(Copier *k, Region *r, int depth) {
    for (int i = 0; depth < DEEPEST_REGION && i < r->body.len; i++) {
        Val n = r->body.data[i];
        bool effects = has_effects(core_value(k->fn, n));
        bool loop = core_value(k->fn, n)->loop != NULL;
        bool call = core_value(k->fn, n)->op == OP_CALL;
        bool writes = effects && !call; // its first argument names the state
        for (int j = writes; j < core_value(k->fn, n)->args.len; j++) {
            Val use = core_value(k->fn, n)->args.data[j];
            settle(k, &use, loop || effects);
            core_value(k->fn, n)->args.data[j] = use;
        }
        if (effects)
            write_states(k, core_value(k->fn, n));
        if (loop)
            copy_loop(k, n, depth);
        follow(k, n);
    }
    for (int i = 0; i < r->yields.len; i++)
        settle(k, &r->yields.data[i], false);
}

// Puts the copies behind what they copy.
static void place_copies(Copier *k, Region *r, int depth) {
    VEC(Val) body = {0};
    for (int i = 0; i < r->body.len; i++) {
        Val n = r->body.data[i];
        vec_push(k->core->session->arena, &body, n);
        if (n <= (Val)k->count && k->copy[n - 1])
            vec_push(k->core->session->arena, &body, k->copy[n - 1]);
        Loop *l = core_value(k->fn, n)->loop;
        if (l && depth < DEEPEST_REGION) {
            place_copies(k, &l->test, depth + 1);
            place_copies(k, &l->region, depth + 1);
        }
    }
    r->body.len = 0;
    for (int i = 0; i < body.len; i++)
        vec_push(k->core->session->arena, &r->body, body.data[i]);
}

void core_copy_states(Core *c, CoreFn *f) {
    Copier k = {.core = c, .fn = f, .a = arena_new(), .count = f->values.len};
    k.root = NEW_N(k.a, Val, k.count);
    k.copy = NEW_N(k.a, Val, k.count);
    k.gone = NEW_N(k.a, bool, k.count);
    copy_region(&k, &f->region, 0);
    if (k.any)
        place_copies(&k, &f->region, 0);
    arena_free(k.a);
}

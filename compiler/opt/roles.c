// Roles of values: demand backwards, the cut, demand again; see roles.h.
#include "opt/roles.h"
#include "opt/inline.h"
#include <string.h>

enum { DEEPEST_NEST = 16, MOST_ROUNDS = 8 };

typedef struct {
    Roles *r;
    Arena *arena;    // scratch
    const bool *cut; // by value - 1: kept; NULL: whatever is a source is
    bool *sink;      // by value - 1: needed at other positions by one that is not computed again
    VEC(Val) from;   // edges: `to` is computed again from `from`
    VEC(Val) to;     // as many
    bool changed;    // something more is asked for
} Demand;

static bool refuse(Roles *r, Val v, const char *why) {
    return opt_step_refuse(r->core, &r->why, r->fn, v, true, why);
}

static const CoreType *type_of(const Roles *r, Val v) {
    return core_value(r->fn, v)->type;
}

static bool is_position(const Roles *r, Val v, int axis) {
    return type_of(r, v)->dims[axis] == r->S;
}

static int positions_of(const Roles *r, Val v) {
    int n = 0;
    for (int i = 0; role_of(r, v)->tensor && i < type_of(r, v)->rank; i++)
        n += is_position(r, v, i);
    return n;
}

// ---- Forwards: what depends on tokens ----------------------------------------------------------

// Nodes of a body that depend on tokens.
static bool *token_nodes(const Roles *r, Arena *a, const Value *v) {
    const Comp *k = v->comp;
    bool *dep = NEW_N(a, bool, k->nodes.len);
    for (int i = 0; i < k->nodes.len; i++) {
        const Node *n = &k->nodes.data[i];
        if (n->op == N_READ)
            dep[i] = role_of(r, v->args.data[n->index])->tokens;
        int count = n->op == N_READ ? n->read_count : node_args(n->op);
        const int *args = n->op == N_READ ? n->reads : n->args;
        for (int j = 0; j < count; j++)
            dep[i] = dep[i] || dep[args[j]];
    }
    return dep;
}

// What is computed again reads zeros where nothing was written yet, and must be finite there.
static bool finite_of_zeros(const Roles *r, Arena *a, const Value *v) {
    const Comp *k = v->comp;
    const bool *dep = token_nodes(r, a, v);
    for (int i = 0; i < k->nodes.len; i++) {
        const Node *n = &k->nodes.data[i];
        bool root = n->op == N_LOG || n->op == N_SQRT || n->op == N_RSQRT;
        if ((root && dep[n->args[0]]) ||
            (n->op == N_DIV && dtype_is_float(n->dtype) && dep[n->args[1]]))
            return false;
    }
    return true;
}

static void enter(Roles *r, Val v, const RoleNest *nest) {
    Role *o = role_of(r, v);
    const CoreType *t = type_of(r, v);
    o->tensor = t->kind == CORE_TENSOR;
    o->batch = o->row = -1;
    o->nest = nest;
    o->tokens = o->tokens || v == r->tokens;
    o->source = true;
    for (int i = 0; o->tensor && i < t->rank; i++) {
        if (t->dims[i] == r->B && o->batch < 0)
            o->batch = i;
    }
}

static void enter_loop(Roles *r, Arena *a, Val v, const RoleNest *outer, int depth);

static void enter_region(Roles *r, Arena *a, const Region *g, const RoleNest *nest, int depth) {
    for (int i = 0; i < g->body.len; i++) {
        Val v = g->body.data[i];
        const Value *value = core_value(r->fn, v);
        enter(r, v, nest);
        Role *o = role_of(r, v);
        for (int k = 0; k < value->args.len; k++)
            o->tokens = o->tokens || role_of(r, value->args.data[k])->tokens;
        if (value->op == OP_COMP)
            o->source =
                value->comp->reduction != RED_NONE || (o->tokens && !finite_of_zeros(r, a, value));
        if (value->op == OP_RESULT)
            o->owner = value->args.data[0];
        if (value->op == OP_LOOP)
            enter_loop(r, a, v, nest, depth);
    }
}

static void enter_loop(Roles *r, Arena *a, Val v, const RoleNest *outer, int depth) {
    const Value *value = core_value(r->fn, v);
    const Loop *l = value->loop;
    RoleNest *nest = NEW(r->core->session->arena, RoleNest);
    *nest = (RoleNest){outer, v};
    if (depth >= DEEPEST_NEST || l->region.yields.len != l->carried.len) {
        refuse(r, v, depth >= DEEPEST_NEST ? "is a loop nested too deep" : "is a loop with stacks");
        return;
    }
    enter(r, l->index, nest);
    for (int i = 0; i < l->carried.len; i++) {
        enter(r, l->carried.data[i], nest);
        role_of(r, l->carried.data[i])->owner = v;
        if (role_of(r, value->args.data[i])->tokens)
            role_of(r, l->carried.data[i])->tokens = true;
    }
    for (bool changed = true; changed;) {
        changed = false;
        enter_region(r, a, &l->region, nest, depth + 1);
        for (int i = 0; i < l->carried.len; i++) {
            Role *o = role_of(r, l->carried.data[i]);
            if (!o->tokens && role_of(r, l->region.yields.data[i])->tokens)
                changed = o->tokens = true;
            if (o->tokens)
                role_of(r, v)->tokens = true;
        }
    }
}

// ---- Backwards: modes --------------------------------------------------------------------------

static void check_proof(Roles *r, Val v) {
    Role *o = role_of(r, v);
    const CausalValue *cv = causal_value(r->causal, v);
    if (core_value(r->fn, v)->op != OP_COMP)
        return;
    if (!cv) {
        refuse(r, v, "is not part of the proof");
        return;
    }
    if (!o->tokens) {
        if (cv->length)
            refuse(r, v, "depends on the length, but on no token");
        return;
    }
    bool last = o->mode == ROLE_LAST || o->mode == ROLE_NONE;
    const CausalCause *cause = cv->mix ? cv->mix : cv->lanes;
    if (!cause && !last)
        cause = cv->length ? cv->length : cv->late ? cv->late : cv->all;
    if (!cause)
        return;
    StrBuf b = strbuf_new(r->core->session->arena);
    causal_print_cause(cause, &b);
    if (!r->why.text)
        r->why = (StepRefusal){b.data, cause->span, causal_site(r->causal, cause->owner)};
}

// Row axis and mode from what is asked for.
static void settle(Demand *d, Val v) {
    Roles *r = d->r;
    Role *o = role_of(r, v);
    const CoreType *t = type_of(r, v);
    int n = positions_of(r, v);
    o->mode = ROLE_NONE;
    o->row = -1;
    o->kept = false;
    for (int i = 0; o->tensor && i < t->rank; i++) {
        if (!is_position(r, v, i) && dim_mentions(t->dims[i], r->S))
            refuse(r, v, "has an axis that is made of positions and something else");
        if (is_position(r, v, i) && o->row < 0 && (n == 1 || !o->back[i]))
            o->row = i;
    }
    if (n == 0)
        return;
    if (o->row < 0 && o->tokens) {
        refuse(r, v, "is read at other positions on all its axes: a quadratic cache");
        return;
    }
    o->need_back = o->row < 0 || o->back[o->row];
    o->kept = o->need_back && o->tokens && (d->cut ? d->cut[v - 1] : o->source);
    if (o->need_back && !o->kept)
        o->mode = ROLE_ALL;
    else
        o->mode = o->kept || o->need_rows || v == r->tokens ? ROLE_ROWS : ROLE_LAST;
    if (o->mode == ROLE_ALL && o->source && o->tokens)
        refuse(r, v, "is neither kept nor computed again");
    if ((o->mode == ROLE_ROWS || o->mode == ROLE_LAST) && o->batch < 0 &&
        (o->tokens || t->rank == CORE_MAX_RANK))
        refuse(r, v, "has no axis of the batch");
}

// ---- Backwards: reads --------------------------------------------------------------------------

bool roles_read(Roles *r, Val user, int node, bool *same) {
    const Value *value = core_value(r->fn, user);
    const Node *n = &value->comp->nodes.data[node];
    Val u = value->args.data[n->index];
    const Role *o = role_of(r, user);
    for (int i = 0; i < n->read_count; i++) {
        int64_t lo, hi;
        same[i] = false;
        if (!is_position(r, u, i))
            continue;
        if (!causal_read_anywhere(r->causal, user, node, i, o->row, &lo, &hi))
            continue;
        if (lo > hi)
            return false;
        same[i] = lo == 0 && hi == 0;
    }
    return causal_live_anywhere(r->causal, user, node);
}

static void mark(Demand *d, bool *flag) {
    d->changed = d->changed || !*flag;
    *flag = true;
}

static void read_axis(Demand *d, Val user, Val u, int axis, bool same) {
    Role *o = role_of(d->r, user), *ou = role_of(d->r, u);
    bool again = o->mode == ROLE_ALL;
    if (!same || again)
        mark(d, &ou->back[axis]);
    else
        mark(d, o->mode == ROLE_ROWS ? &ou->need_rows : &ou->need_last);
    if (same && !again && !o->tokens && o->mode == ROLE_NONE)
        refuse(d->r, user, "depends on the length, but on no token");
    if (!ou->tokens)
        return;
    if (same && again) {
        vec_push(d->arena, &d->from, u);
        vec_push(d->arena, &d->to, user);
    } else if (!same) {
        d->sink[u - 1] = true;
    }
}

// Nodes that the root needs.
static bool *live_nodes(Arena *a, const Comp *k) {
    bool *live = NEW_N(a, bool, k->nodes.len);
    live[k->root] = true;
    for (int i = k->root; i >= 0; i--) {
        const Node *n = &k->nodes.data[i];
        int count = n->op == N_READ ? n->read_count : node_args(n->op);
        const int *args = n->op == N_READ ? n->reads : n->args;
        for (int j = 0; live[i] && j < count; j++)
            live[args[j]] = true;
    }
    return live;
}

static void visit_comp(Demand *d, Val v) {
    const Value *value = core_value(d->r->fn, v);
    const Comp *k = value->comp;
    const bool *live = live_nodes(d->arena, k);
    for (int i = 0; i < k->nodes.len; i++) {
        const Node *n = &k->nodes.data[i];
        bool same[CORE_MAX_RANK];
        if (!live[i] || n->op != N_READ || !roles_read(d->r, v, i, same))
            continue;
        Val u = value->args.data[n->index];
        mark(d, &role_of(d->r, u)->live);
        for (int j = 0; j < n->read_count; j++) {
            if (is_position(d->r, u, j))
                read_axis(d, v, u, j, same[j]);
        }
    }
}

// A call or a loop takes u in a mode of its own.
static void take(Demand *d, Val u, RoleMode mode) {
    Role *o = role_of(d->r, u);
    mark(d, &o->live);
    if (positions_of(d->r, u) == 0)
        return;
    if (!o->tokens && o->batch < 0)
        refuse(d->r, u, "has positions but neither tokens nor a batch, and is passed on");
    mark(d, mode == ROLE_ROWS ? &o->need_rows : &o->need_last);
    mark(d, mode == ROLE_ROWS ? &o->want_rows : &o->want_last);
}

static void visit_region(Demand *d, const Region *g);

static void visit_loop(Demand *d, Val v) {
    const Value *value = core_value(d->r->fn, v);
    const Loop *l = value->loop;
    bool outer = d->changed;
    int n = l->carried.len;
    if (role_of(d->r, v)->tensor) { // the one result
        Role *result = role_of(d->r, v), *o = role_of(d->r, l->carried.data[0]);
        o->need_rows = o->need_rows || result->mode == ROLE_ROWS;
        o->need_last = o->need_last || result->mode == ROLE_LAST;
    }
    for (int round = 0; round < MOST_ROUNDS && !d->r->why.text; round++) {
        d->changed = false;
        for (int i = 0; i < n; i++) {
            Val p = l->carried.data[i];
            role_of(d->r, p)->live = true;
            settle(d, p);
            take(d, l->region.yields.data[i], role_of(d->r, p)->mode);
            take(d, value->args.data[i], role_of(d->r, p)->mode);
        }
        visit_region(d, &l->region);
        if (!d->changed)
            break;
        outer = true;
    }
    d->changed = outer;
}

static void visit_result(Demand *d, Val v) {
    const Value *value = core_value(d->r->fn, v);
    Val from = value->args.data[0];
    const Value *source = core_value(d->r->fn, from);
    Role *o = role_of(d->r, v);
    mark(d, &role_of(d->r, from)->live);
    Role *owner = source->op == OP_LOOP ? role_of(d->r, source->loop->carried.data[value->index])
                                        : role_of(d->r, from);
    if (o->mode == ROLE_ROWS)
        mark(d, &owner->need_rows);
    if (o->mode == ROLE_LAST)
        mark(d, &owner->need_last);
}

static void visit_call(Demand *d, Val v) {
    const Value *value = core_value(d->r->fn, v);
    Role *o = role_of(d->r, v);
    if (value->op == OP_CALL &&
        (value->callee->effects || !opt_row_wise(d->r->core, value->callee, d->r->S))) {
        refuse(d->r, v, "is a call that does not work row by row");
        return;
    }
    if (value->op == OP_CUMSUM && is_position(d->r, v, value->index)) {
        refuse(d->r, v, "is a running sum over positions");
        return;
    }
    if (!o->tensor) // several results
        o->mode = o->need_rows ? ROLE_ROWS : o->need_last ? ROLE_LAST : ROLE_NONE;
    for (int i = 0; i < value->args.len; i++)
        take(d, value->args.data[i], o->mode);
}

static void visit(Demand *d, Val v) {
    const Value *value = core_value(d->r->fn, v);
    if (!role_of(d->r, v)->live || d->r->why.text)
        return;
    if (role_of(d->r, v)->tensor)
        settle(d, v);
    check_proof(d->r, v);
    if (value->op == OP_COMP)
        visit_comp(d, v);
    else if (value->op == OP_LOOP)
        visit_loop(d, v);
    else if (value->op == OP_RESULT)
        visit_result(d, v);
    else if (value->op == OP_CALL || value->op == OP_CUMSUM)
        visit_call(d, v);
    else
        for (int i = 0; i < value->args.len; i++)
            mark(d, &role_of(d->r, value->args.data[i])->live);
}

static void visit_region(Demand *d, const Region *g) {
    for (int i = g->body.len - 1; i >= 0 && !d->r->why.text; i--)
        visit(d, g->body.data[i]);
}

// ---- What is not finite where nothing was written ----------------------------------------------

// Does the read go to positions that may be beyond those in use, or to what is wild?
static bool far_read(Roles *r, Val v, int node, bool *wild) {
    const Value *value = core_value(r->fn, v);
    const Node *n = &value->comp->nodes.data[node];
    Val u = value->args.data[n->index];
    bool same[CORE_MAX_RANK], far = false;
    if (!role_of(r, u)->tokens || !roles_read(r, v, node, same))
        return false;
    for (int i = 0; i < n->read_count; i++)
        far = far || (is_position(r, u, i) && (!same[i] || role_of(r, v)->mode == ROLE_ALL));
    bool beyond = role_of(r, u)->mode == ROLE_ALL || positions_of(r, u) > 1; // not rows alone
    *wild = *wild || (far && beyond && role_of(r, u)->wild);
    return far;
}

// Nodes that depend on such reads; *wild: one of them divides, or takes a root or logarithm.
static void find_wild(Roles *r, Arena *a, Val v, bool *wild) {
    const Comp *k = core_value(r->fn, v)->comp;
    bool *far = NEW_N(a, bool, k->nodes.len);
    for (int i = 0; i < k->nodes.len; i++) {
        const Node *n = &k->nodes.data[i];
        far[i] = n->op == N_READ && far_read(r, v, i, wild);
        for (int j = 0; j < (n->op == N_READ ? 0 : node_args(n->op)); j++)
            far[i] = far[i] || far[n->args[j]];
        bool root = n->op == N_LOG || n->op == N_SQRT || n->op == N_RSQRT;
        bool by = n->op == N_DIV && dtype_is_float(n->dtype) && far[n->args[1]];
        *wild = *wild || by || (root && far[n->args[0]]);
    }
}

static void mark_wild(Roles *r, Arena *a, const Region *g) {
    for (int i = 0; i < g->body.len; i++) {
        Val v = g->body.data[i];
        const Value *value = core_value(r->fn, v);
        Role *o = role_of(r, v);
        if (o->live && o->tokens && value->op == OP_COMP)
            find_wild(r, a, v, &o->wild);
        if (value->op == OP_LOOP)
            mark_wild(r, a, &value->loop->region);
    }
}

// ---- The whole ---------------------------------------------------------------------------------

// Results have the mode of what they are of.
static void match_results(Roles *r) {
    for (int i = 0; i < r->fn->values.len; i++) {
        const Value *v = &r->fn->values.data[i];
        Role *o = &r->of[i];
        const Role *owner = NULL;
        if (v->op == OP_LOOP && o->tensor)
            owner = role_of(r, v->loop->carried.data[0]);
        if (v->op == OP_RESULT) {
            const Value *from = core_value(r->fn, v->args.data[0]);
            owner = from->op == OP_LOOP ? role_of(r, from->loop->carried.data[v->index])
                                        : role_of(r, v->args.data[0]);
        }
        if (o->live && owner && o->mode == ROLE_LAST && owner->mode == ROLE_ROWS)
            o->mode = ROLE_ROWS;
    }
}

static void ask(Roles *r, Demand *d) {
    for (int i = 0; i < r->fn->values.len; i++) {
        Role *o = &r->of[i];
        o->live = o->need_rows = o->need_last = o->need_back = o->want_rows = o->want_last = false;
        o->kept = false;
        o->mode = ROLE_NONE;
        memset(o->back, 0, sizeof o->back);
    }
    Role *y = role_of(r, r->fn->region.yields.data[0]);
    y->live = y->need_last = true;
    visit_region(d, &r->fn->region);
    for (int i = 0; i < r->fn->params.len; i++) {
        if (role_of(r, r->fn->params.data[i])->live)
            settle(d, r->fn->params.data[i]);
    }
    match_results(r);
}

// Bytes of one position of one row of the batch, in all rounds of the loops around; at least 1.
static int64_t bytes_of(const Roles *r, Val v) {
    const CoreType *t = type_of(r, v);
    const Role *o = role_of(r, v);
    int64_t bytes = dtype_size(t->dtype), n;
    for (int i = 0; i < t->rank; i++) {
        if (i != o->batch && i != o->row && dim_is_const(t->dims[i], &n) && n > 0 &&
            bytes < (int64_t)1 << 40)
            bytes *= n < 1 << 20 ? n : 1 << 20;
    }
    for (const RoleNest *nest = o->nest; nest; nest = nest->outer) {
        if (dim_is_const(core_value(r->fn, nest->loop)->loop->count, &n) && n > 0 &&
            bytes < (int64_t)1 << 40)
            bytes *= n < 1 << 20 ? n : 1 << 20;
    }
    return bytes < (int64_t)1 << 40 ? bytes : (int64_t)1 << 40;
}

static bool *find_cut(Roles *r, Demand *d) {
    Arena *a = d->arena;
    int n = r->fn->values.len, nodes = 0, edges = 0;
    int *number = NEW_N(a, int, n);
    int64_t *cost = NEW_N(a, int64_t, n);
    bool *source = NEW_N(a, bool, n), *sink = NEW_N(a, bool, n), *in = NEW_N(a, bool, n);
    for (int i = 0; i < n; i++) {
        const Role *o = &r->of[i];
        number[i] = o->live && o->tokens && o->need_back ? nodes : -1;
        if (number[i] < 0)
            continue;
        cost[nodes] = bytes_of(r, (Val)i + 1);
        source[nodes] = o->source;
        sink[nodes++] = d->sink[i];
    }
    int *from = NEW_N(a, int, d->from.len), *to = NEW_N(a, int, d->from.len);
    for (int i = 0; i < d->from.len; i++) {
        from[edges] = number[d->from.data[i] - 1];
        to[edges] = number[d->to.data[i] - 1];
        edges += from[edges] >= 0 && to[edges] >= 0;
    }
    least_cut(a, nodes, cost, source, sink, edges, from, to, in);
    bool *cut = NEW_N(a, bool, n);
    for (int i = 0; i < n; i++)
        cut[i] = number[i] >= 0 && in[number[i]];
    return cut;
}

bool roles_find(Roles *r, Core *c, const CoreFn *f, const Dim *B, const Dim *S, Val tokens,
                Causal *causal) {
    *r = (Roles){.core = c, .fn = f, .B = B, .S = S, .tokens = tokens, .causal = causal};
    r->of = NEW_N(c->session->arena, Role, f->values.len);
    Demand d = {.r = r, .arena = arena_new()};
    for (int i = 0; i < f->params.len; i++)
        enter(r, f->params.data[i], NULL);
    enter_region(r, d.arena, &f->region, NULL, 0);
    d.sink = NEW_N(d.arena, bool, f->values.len);
    if (!role_of(r, f->region.yields.data[0])->tokens)
        refuse(r, 0, "the result does not depend on the tokens");
    if (!r->why.text)
        ask(r, &d);
    d.cut = r->why.text ? NULL : find_cut(r, &d);
    if (!r->why.text)
        ask(r, &d);
    if (!r->why.text)
        mark_wild(r, d.arena, &f->region);
    arena_free(d.arena);
    return !r->why.text;
}

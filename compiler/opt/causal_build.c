// Values of the analysis from a function: bodies as terms, calls looked into, loops kept.
#include "opt/causal_impl.h"
#include <string.h>

typedef struct {
    CausalValue *value;  // a tensor; NULL for blocks and tuples
    int n;               // tuple
    CausalValue **items; // tuple
} Item;

typedef struct {
    Causal *k;
    const CoreFn *f;
    Item *items; // by Val
    bool top;    // the analysed function itself
} Frame;

static bool walk(Frame *fr, const Region *r);

// ---- Values ------------------------------------------------------------------------------------

static void add_axes(Causal *k, CausalValue *v, const CoreType *type) {
    v->dtype = type->dtype;
    v->rank = type->rank;
    v->dims = type->dims;
    v->out = NEW_N(k->arena, const Var *, type->rank + 1);
    v->batch = v->row = -1;
    for (int i = 0; i < v->rank; i++) {
        v->position[i] = v->dims[i] == k->S;
        v->positions += v->position[i];
        v->dep[i] = CAUSAL_NEVER;
        v->back[i] = CAUSAL_NEVER;
        if (k->B && v->dims[i] == k->B && v->batch < 0)
            v->batch = i;
    }
}

static CausalValue *new_value(Frame *fr, Val at, CausalKind kind, const CoreType *type) {
    Causal *k = fr->k;
    const Value *from = core_value(fr->f, at);
    CausalValue *v = NEW(k->arena, CausalValue);
    v->kind = kind;
    v->val = fr->top ? at : 0;
    v->name = from->name;
    v->span = from->span;
    add_axes(k, v, type);
    for (int i = 0; i < v->rank; i++) {
        const Comp *c = from->op == OP_COMP ? from->comp : NULL;
        const char *name = c && c->names ? c->names[i] : NULL;
        static const char *const usual[] = {"i", "j", "k", "l", "m", "n"};
        v->out[i] = affine_index(k->affine, name ? name : usual[i % 6], v->dims[i]);
    }
    k->value_count++;
    fr->items[at - 1] = (Item){.value = v};
    vec_push(k->arena, &k->events, ((Event){EVENT_VALUE, v, NULL}));
    return v;
}

static const Term **own_indices(Causal *k, const CausalValue *v) {
    const Term **at = NEW_N(k->arena, const Term *, v->rank + 1);
    for (int i = 0; i < v->rank; i++)
        at[i] = term_index(k->terms, v->out[i]);
    return at;
}

static const Term *read_term(Causal *k, CausalValue *u, const Term **at) {
    return term_make(k->terms,
                     (Term){.op = N_READ, .dtype = u->dtype, .value = u, .n = u->rank, .args = at});
}

// Is it a view with an axis that is made of positions and something else? Then readers look
// through.
static bool flattened(const Causal *k, const CausalValue *v) {
    if (v->kind != CAUSAL_COMP || v->reduction != RED_NONE || !v->raw)
        return false;
    for (int i = 0; i < v->rank; i++) {
        if (!v->position[i] && dim_mentions(v->dims[i], k->S))
            return true;
    }
    return false;
}

// ---- Bodies ------------------------------------------------------------------------------------

static const Term *node_read(Frame *fr, const Value *from, const Node *n, const Term **nodes) {
    Causal *k = fr->k;
    CausalValue *u = fr->items[from->args.data[n->index] - 1].value;
    const Term *at[CORE_MAX_RANK];
    if (!u)
        return NULL;
    for (int i = 0; i < n->read_count; i++)
        at[i] = nodes[n->reads[i]];
    for (int i = 0; i < n->read_count; i++) {
        if (!at[i])
            return NULL;
    }
    if (flattened(k, u))
        return term_substitute(k->terms, u->raw, u->rank, u->out, at);
    return read_term(k, u, at);
}

static const Term *node_term(Frame *fr, const CausalValue *v, const Value *from, const Node *n,
                             const Term **nodes) {
    Causal *k = fr->k;
    const Term *args[3];
    Term like = {.op = n->op, .dtype = n->dtype, .i = n->i, .f = n->f, .dim = n->dim};
    switch (n->op) {
    case N_INDEX:
        like.var = n->index < v->rank ? v->out[n->index] : v->red_vars[n->index - v->rank];
        break;
    case N_READ:
        return node_read(fr, from, n, nodes);
    default:
        like.n = node_args(n->op);
        like.args = args;
        for (int i = 0; i < like.n; i++)
            args[i] = nodes[n->args[i]];
    }
    return term_make(k->terms, like);
}

static bool make_comp(Frame *fr, Val at) {
    Causal *k = fr->k;
    const Value *from = core_value(fr->f, at);
    const Comp *c = from->comp;
    CausalValue *v = new_value(fr, at, CAUSAL_COMP, from->type);
    v->red = c->red;
    v->red_vars = NEW_N(k->arena, const Var *, c->red + 1);
    v->bounds = NEW_N(k->arena, CausalBound, c->red + 1);
    v->comp = c;
    v->reduction = c->reduction;
    v->step = c->step;
    for (int i = 0; i < c->red; i++) {
        const char *name = c->names ? c->names[c->out + i] : NULL;
        v->red_vars[i] = affine_index(k->affine, name ? name : "n", c->red_dims[i]);
    }
    v->nodes = NEW_N(k->arena, const Term *, c->nodes.len + 1);
    for (int i = 0; i < c->nodes.len; i++)
        v->nodes[i] = node_term(fr, v, from, &c->nodes.data[i], v->nodes);
    v->raw = v->body = v->nodes[c->root];
    if (!v->raw)
        causal_refuse(k, causal_cause(k, v, NULL, "is too large to analyse"));
    return v->raw != NULL;
}

// A draw: row b is drawn for row b of the logits.
static bool make_draw(Frame *fr, Val at) {
    Causal *k = fr->k;
    const Value *from = core_value(fr->f, at);
    CausalValue *v = new_value(fr, at, CAUSAL_OPAQUE, from->type);
    CausalValue *logits = fr->items[from->args.data[1] - 1].value;
    const Term *pos[CORE_MAX_RANK];
    if (!logits || logits->rank != v->rank + 1)
        return false;
    const Term **own = own_indices(k, v);
    for (int i = 0; i < v->rank; i++)
        pos[i] = own[i];
    pos[v->rank] = term_int(k->terms, 0);
    v->bounds = NEW(k->arena, CausalBound);
    v->raw = v->body = read_term(k, logits, pos);
    return v->raw != NULL;
}

// One item of a tensor along its first axis, by a scalar.
static bool make_item(Frame *fr, Val at) {
    Causal *k = fr->k;
    const Value *from = core_value(fr->f, at);
    CausalValue *x = fr->items[from->args.data[0] - 1].value;
    CausalValue *index = fr->items[from->args.data[1] - 1].value;
    if (!x || !index || x->rank < 1 || index->rank != 0)
        return false;
    CausalValue *v = new_value(fr, at, CAUSAL_COMP, from->type);
    const Term *pos[CORE_MAX_RANK], **own = own_indices(k, v);
    pos[0] = read_term(k, index, NULL);
    for (int i = 1; i < x->rank; i++)
        pos[i] = own[i - 1];
    v->bounds = NEW(k->arena, CausalBound);
    v->raw = v->body = read_term(k, x, pos);
    return v->raw != NULL;
}

// A running sum along an axis that is neither positions nor the batch: row by row along those.
static bool make_running_sum(Frame *fr, Val at) {
    Causal *k = fr->k;
    const Value *from = core_value(fr->f, at);
    CausalValue *x = fr->items[from->args.data[0] - 1].value;
    if (!x || from->index < 0 || from->index >= x->rank || x->batch == from->index ||
        dim_mentions(x->dims[from->index], k->S))
        return false;
    CausalValue *v = new_value(fr, at, CAUSAL_OPAQUE, from->type);
    v->wild = true;
    v->bounds = NEW(k->arena, CausalBound);
    v->raw = v->body = read_term(k, x, own_indices(k, v));
    return v->raw != NULL;
}

// ---- Calls and loops ---------------------------------------------------------------------------

static Item results_of(Frame *fr, const Frame *of, const Region *r) {
    if (r->yields.len == 1)
        return of->items[r->yields.data[0] - 1];
    Item t = {.n = r->yields.len};
    t.items = NEW_N(fr->k->arena, CausalValue *, t.n + 1);
    for (int i = 0; i < t.n; i++)
        t.items[i] = of->items[r->yields.data[i] - 1].value;
    return t;
}

static bool walk_call(Frame *fr, Val at) {
    Causal *k = fr->k;
    const Value *call = core_value(fr->f, at);
    if (strcmp(call->callee->name, "std.random::categorical") == 0 && call->args.len == 2)
        return make_draw(fr, at);
    Frame in = {.k = k, .f = call->callee};
    in.items = NEW_N(k->arena, Item, call->callee->values.len + 1);
    for (int i = 0; i < call->args.len; i++)
        in.items[call->callee->params.data[i] - 1] = fr->items[call->args.data[i] - 1];
    if (!walk(&in, &call->callee->region))
        return false;
    fr->items[at - 1] = results_of(fr, &in, &call->callee->region);
    return true;
}

static void loop_items(Frame *fr, Val at, CausalLoop *l) {
    const Value *from = core_value(fr->f, at);
    const CoreType *type = from->type;
    for (int i = 0; i < l->slots; i++) {
        const CoreType *t = type->kind == CORE_TUPLE ? type->items[i] : type;
        l->results[i] = new_value(fr, at, CAUSAL_CARRIED, t);
        if (!l->results[i]->name)
            l->results[i]->name = l->carried[i]->name;
    }
    Item many = {.n = l->slots, .items = l->results};
    fr->items[at - 1] = type->kind == CORE_TUPLE ? many : (Item){.value = l->results[0]};
}

static bool walk_loop(Frame *fr, Val at) {
    Causal *k = fr->k;
    const Value *from = core_value(fr->f, at);
    const Loop *loop = from->loop;
    CausalLoop *l = NEW(k->arena, CausalLoop);
    l->slots = from->args.len;
    l->init = NEW_N(k->arena, CausalValue *, l->slots + 1);
    l->carried = NEW_N(k->arena, CausalValue *, l->slots + 1);
    l->yields = NEW_N(k->arena, CausalValue *, l->slots + 1);
    l->results = NEW_N(k->arena, CausalValue *, l->slots + 1);
    if (loop->region.yields.len != l->slots || !l->slots) // stacks are not analysed
        return false;
    l->begin = k->events.len;
    vec_push(k->arena, &k->events, ((Event){EVENT_BEGIN, NULL, l}));
    new_value(fr, loop->index, CAUSAL_INPUT, core_value(fr->f, loop->index)->type);
    for (int i = 0; i < l->slots; i++) {
        Val p = loop->carried.data[i];
        l->init[i] = fr->items[from->args.data[i] - 1].value;
        if (!l->init[i])
            return false;
        l->carried[i] = new_value(fr, p, CAUSAL_CARRIED, core_value(fr->f, p)->type);
        if (fr->top)
            k->by_val[p] = l->carried[i];
    }
    if (!walk(fr, &loop->region))
        return false;
    for (int i = 0; i < l->slots; i++) {
        l->yields[i] = fr->items[loop->region.yields.data[i] - 1].value;
        if (!l->yields[i])
            return false;
    }
    l->end = k->events.len;
    vec_push(k->arena, &k->events, ((Event){EVENT_END, NULL, l}));
    loop_items(fr, at, l);
    return true;
}

static bool walk_value(Frame *fr, Val at) {
    const Value *v = core_value(fr->f, at);
    const Item *tuple;
    switch (v->op) {
    case OP_COMP:
        return make_comp(fr, at);
    case OP_CALL:
        return walk_call(fr, at);
    case OP_LOOP:
        return walk_loop(fr, at);
    case OP_RESULT:
        tuple = &fr->items[v->args.data[0] - 1];
        fr->items[at - 1].value = v->index < tuple->n ? tuple->items[v->index] : NULL;
        return fr->items[at - 1].value != NULL;
    case OP_MEMBER:
        if (v->type->kind == CORE_TENSOR)
            new_value(fr, at, CAUSAL_INPUT, v->type);
        return true;
    case OP_PICK:
        return v->type->kind != CORE_TENSOR || make_item(fr, at);
    case OP_CUMSUM:
        return make_running_sum(fr, at);
    default:
        return false;
    }
}

static bool walk(Frame *fr, const Region *r) {
    Causal *k = fr->k;
    for (int i = 0; i < r->body.len; i++) {
        Val at = r->body.data[i];
        bool fine = k->value_count < CAUSAL_MAX_VALUES && walk_value(fr, at);
        CausalValue *v = fine ? fr->items[at - 1].value : NULL;
        if (v && fr->top) {
            k->by_val[at] = v;
            v->val = v->val ? v->val : at;
            v->name = v->name ? v->name : core_value(fr->f, at)->name;
        }
        if (!fine && !k->refusal) {
            v = NEW(k->arena, CausalValue);
            v->name = core_value(fr->f, at)->name;
            v->span = core_value(fr->f, at)->span;
            causal_refuse(k, causal_cause(k, v, NULL, "is not of a form that is analysed"));
        }
        if (!fine)
            return false;
    }
    return true;
}

bool causal_build(Causal *k, Val tokens) {
    const CoreFn *f = k->f;
    Frame fr = {.k = k, .f = f, .top = true};
    fr.items = NEW_N(k->arena, Item, f->values.len + 1);
    for (int i = 0; i < f->params.len; i++) {
        Val p = f->params.data[i];
        const CoreType *t = core_value(f, p)->type;
        if (t->kind != CORE_TENSOR)
            continue;
        CausalValue *v = new_value(&fr, p, p == tokens ? CAUSAL_TOKENS : CAUSAL_INPUT, t);
        k->by_val[p] = v;
        v->tokens = p == tokens;
        for (int a = 0; a < v->rank && v->tokens; a++)
            v->dep[a] = v->position[a] ? 0 : CAUSAL_NEVER;
    }
    if (!walk(&fr, &f->region))
        return false;
    for (int i = 0; i < f->region.yields.len; i++) {
        CausalValue *v = fr.items[f->region.yields.data[i] - 1].value;
        if (v)
            vec_push(k->arena, &k->outputs, v);
    }
    return true;
}

// Rewriting whole functions; see rewrite.h. Calls go callee first, so recursion ends.
#include "opt/rewrite.h"
#include <string.h>

// ---- Mentions ----------------------------------------------------------------------------------

bool opt_type_mentions(const CoreType *t, const Dim *symbol) {
    bool found = false;
    for (int i = 0; t->kind == CORE_TENSOR && i < t->rank; i++)
        found = found || dim_mentions(t->dims[i], symbol);
    for (int i = 0; t->kind == CORE_TUPLE && i < t->item_count; i++)
        found = found || opt_type_mentions(t->items[i], symbol);
    return found || (t->kind == CORE_ARRAY && dim_mentions(t->count, symbol));
}

static bool comp_mentions(const Comp *k, const Dim *symbol) {
    for (int i = 0; i < k->red; i++) {
        if (dim_mentions(k->red_dims[i], symbol))
            return true;
    }
    for (int i = 0; i < k->nodes.len; i++) {
        const Node *n = &k->nodes.data[i];
        if (n->op == N_DIM && dim_mentions(n->dim, symbol))
            return true;
    }
    return false;
}

// `free`: functions that are known not to.
static bool fn_mentions(Arena *a, Map *free, const CoreFn *f, const Dim *symbol) {
    if (map_has(free, f))
        return false;
    for (int i = 0; i < f->values.len; i++) {
        const Value *v = &f->values.data[i];
        if (opt_type_mentions(v->type, symbol) || (v->comp && comp_mentions(v->comp, symbol)) ||
            (v->loop && v->loop->count && dim_mentions(v->loop->count, symbol)) ||
            (v->callee && fn_mentions(a, free, v->callee, symbol)))
            return true;
    }
    map_put(a, free, f, free);
    return false;
}

bool opt_fn_mentions(const CoreFn *f, const Dim *symbol) {
    Arena *a = arena_new();
    Map free = {0};
    bool found = fn_mentions(a, &free, f, symbol);
    arena_free(a);
    return found;
}

// ---- A dimension replaced ----------------------------------------------------------------------

static const Dim *lookup(void *ctx, const Dim *symbol) {
    const Resize *r = ctx;
    return symbol == r->from ? r->to : NULL;
}

static const Dim *opt_resized_dim(const Resize *r, const Dim *d) {
    return dim_mentions(d, r->from)
               ? dim_substitute(r->core->dims, d, lookup, (void *)r) // reads it only
               : d;
}

static const CoreType *opt_resized_type(const Resize *r, const CoreType *t) {
    if (!opt_type_mentions(t, r->from))
        return t;
    CoreType *n = NEW(r->core->session->arena, CoreType);
    *n = *t;
    if (t->kind == CORE_TENSOR) {
        n->dims = NEW_N(r->core->session->arena, const Dim *, t->rank);
        for (int i = 0; i < t->rank; i++)
            n->dims[i] = opt_resized_dim(r, t->dims[i]);
    }
    if (t->kind == CORE_TUPLE) {
        n->items = NEW_N(r->core->session->arena, const CoreType *, t->item_count);
        for (int i = 0; i < t->item_count; i++)
            n->items[i] = opt_resized_type(r, t->items[i]);
    }
    if (t->kind == CORE_ARRAY)
        n->count = opt_resized_dim(r, t->count);
    return n;
}

static void resize_comp(const Resize *r, Comp *k) {
    for (int i = 0; i < k->red; i++)
        k->red_dims[i] = opt_resized_dim(r, k->red_dims[i]);
    for (int i = 0; i < k->nodes.len; i++) {
        Node *n = &k->nodes.data[i];
        if (n->op != N_DIM)
            continue;
        n->dim = opt_resized_dim(r, n->dim);
        if (!dim_is_const(n->dim, &n->i))
            continue;
        n->op = N_CONST;
        n->dim = NULL;
    }
}

CoreFn *opt_resized(Resize *r, CoreFn *f) {
    CoreFn *made = map_get(&r->copies, f);
    if (made)
        return made;
    if (!opt_fn_mentions(f, r->from))
        return f;
    for (int i = 0; i < f->values.len; i++) { // callees come first in the module
        if (f->values.data[i].callee)
            opt_resized(r, f->values.data[i].callee);
    }
    const char *label = f->label;
    const char *point = strrchr(label, '.');
    bool numbered = point && point[1] >= '0' && point[1] <= '9';
    int length = numbered ? (int)(point - label) : (int)strlen(label);
    made = core_copy(r->core, f, f->name,
                     arena_printf(r->core->session->arena, "%.*s", length, label));
    for (int i = 0; i < made->values.len; i++) {
        Value *v = &made->values.data[i];
        v->type = opt_resized_type(r, v->type);
        if (v->callee)
            v->callee = opt_resized(r, v->callee);
        if (v->loop && v->loop->count)
            v->loop->count = opt_resized_dim(r, v->loop->count);
        if (v->comp)
            resize_comp(r, v->comp);
    }
    map_put(r->core->session->arena, &r->copies, f, made);
    return made;
}

// ---- Calls in place ----------------------------------------------------------------------------

typedef struct {
    Core *core;
    CoreFn *to; // the copy
    InlineChoice *choice;
    void *ctx;
    Span site; // of the innermost call put in place that stands in the function's own file
    int calls; // put in place
    bool full; // too many of them, or of values; or one of an operation that is not copied
} Inliner;

// A function whose values go into the copy.
typedef struct {
    const CoreFn *from;
    Val *map;     // of each value: its copy, or 0
    Val **tuples; // of a call put in place: its results
} Frame;

static Frame frame_new(Inliner *in, const CoreFn *from) {
    Arena *a = in->core->session->arena;
    return (Frame){from, NEW_N(a, Val, from->values.len), NEW_N(a, Val *, from->values.len)};
}

static void put_region(Inliner *in, Frame *f, const Region *from, Region *to);

static Val put_value(Inliner *in, Frame *f, Val v) {
    Arena *a = in->core->session->arena;
    const Value *old = core_value(f->from, v);
    Val n = core_add(in->core, in->to, old->op, old->type, old->name, old->span);
    f->map[v - 1] = n;
    Value copy = *old;
    memset(&copy.args, 0, sizeof copy.args);
    for (int i = 0; i < old->args.len; i++)
        vec_push(a, &copy.args, f->map[old->args.data[i] - 1]);
    copy.comp = old->comp ? comp_copy(in->core, old->comp) : NULL;
    if (in->site.file)
        copy.site = in->site;
    *core_value(in->to, n) = copy;
    return n;
}

static void put_loop(Inliner *in, Frame *f, Val v, Val n) {
    Arena *a = in->core->session->arena;
    const Loop *old = core_value(f->from, v)->loop;
    Loop *l = NEW(a, Loop);
    l->count = old->count;
    l->index = put_value(in, f, old->index);
    for (int i = 0; i < old->carried.len; i++) {
        Val p = put_value(in, f, old->carried.data[i]);
        vec_push(a, &l->carried, p);
    }
    put_region(in, f, &old->region, &l->region);
    core_value(in->to, n)->loop = l;
}

// The callee's results take the call's name and comment, unless they are its arguments.
static void name_results(Inliner *in, const Frame *callee, const Value *call) {
    const CoreFn *g = callee->from;
    if (g->region.yields.len != 1 || core_value(g, g->region.yields.data[0])->op == OP_PARAM)
        return;
    Value *y = core_value(in->to, callee->map[g->region.yields.data[0] - 1]);
    if (call->name)
        y->name = call->name;
    if (call->comment)
        y->comment = call->comment;
}

static void put_call(Inliner *in, Frame *f, Val v, Region *to) {
    const Value *call = core_value(f->from, v);
    const CoreFn *g = call->callee;
    Frame callee = frame_new(in, g);
    for (int i = 0; i < g->params.len; i++)
        callee.map[g->params.data[i] - 1] = f->map[call->args.data[i] - 1];
    Region body = {0};
    Span outer = in->site;
    if (call->span.file == in->to->span.file)
        in->site = call->span;
    put_region(in, &callee, &g->region, &body);
    in->site = outer;
    for (int i = 0; i < body.body.len; i++)
        core_emit(in->core, to, body.body.data[i]);
    if (in->full)
        return;
    name_results(in, &callee, call);
    f->map[v - 1] = body.yields.data[0];
    f->tuples[v - 1] = body.yields.data;
}

static bool chosen(Inliner *in, const Frame *f, Val v) {
    const Value *call = core_value(f->from, v);
    return call->op == OP_CALL && in->choice(in->ctx, f->from, call);
}

static bool copied(const Value *v) {
    switch (v->op) {
    case OP_LOOP:
        return v->loop->region.yields.len == v->loop->carried.len;
    case OP_CALL:
        return !v->callee->effects;
    case OP_COMP:
    case OP_RESULT:
    case OP_MEMBER:
    case OP_PICK:
    case OP_CUMSUM:
        return true;
    default:
        return false;
    }
}

static void put_region(Inliner *in, Frame *f, const Region *from, Region *to) {
    for (int i = 0; i < from->body.len && !in->full; i++) {
        Val v = from->body.data[i];
        const Value *old = core_value(f->from, v);
        in->full = in->to->values.len > REWRITE_MOST || in->calls > REWRITE_MOST;
        in->full = in->full || !copied(old);
        if (in->full)
            return;
        if (chosen(in, f, v)) {
            in->calls++;
            put_call(in, f, v, to);
            continue;
        }
        Val *items = old->op == OP_RESULT ? f->tuples[old->args.data[0] - 1] : NULL;
        if (items) {
            f->map[v - 1] = items[old->index];
            if (old->name && core_value(in->to, f->map[v - 1])->op != OP_PARAM)
                core_value(in->to, f->map[v - 1])->name = old->name;
            continue;
        }
        Val n = put_value(in, f, v);
        if (old->op == OP_LOOP)
            put_loop(in, f, v, n);
        core_emit(in->core, to, n);
    }
    for (int i = 0; i < from->yields.len && !in->full; i++)
        vec_push(in->core->session->arena, &to->yields, f->map[from->yields.data[i] - 1]);
}

CoreFn *opt_inline(Core *c, const CoreFn *f, InlineChoice *choice, void *ctx) {
    CoreFn *to = core_fn(c, f->name, f->label);
    Inliner in = {.core = c, .to = to, .choice = choice, .ctx = ctx};
    to->span = f->span;
    to->doc = f->doc;
    to->entry = f->entry;
    to->self = f->self;
    Frame frame = frame_new(&in, f);
    for (int i = 0; i < f->params.len; i++) {
        Val p = put_value(&in, &frame, f->params.data[i]);
        vec_push(c->session->arena, &to->params, p);
    }
    put_region(&in, &frame, &f->region, &to->region);
    return in.full ? NULL : to;
}

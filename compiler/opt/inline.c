// Flattening: calls replaced by copies of their bodies, but for those that work row by row.
#include "opt/inline.h"
#include <string.h>

// ---- Which calls stay --------------------------------------------------------------------------

typedef struct {
    Core *core;
    const Dim *S;
    Map known;   // CoreFn -> yes or no: row-wise
    Map touched; // CoreFn -> yes or no: mentions S
} Rows;

static const char yes[] = "yes", no[] = "no";

static bool type_mentions(const CoreType *t, const Dim *S) {
    for (int i = 0; t->kind == CORE_TENSOR && i < t->rank; i++) {
        if (dim_mentions(t->dims[i], S))
            return true;
    }
    for (int i = 0; t->kind == CORE_TUPLE && i < t->item_count; i++) {
        if (type_mentions(t->items[i], S))
            return true;
    }
    return false;
}

// The one axis of extent S; -1: none; -2: several, or one that only partly is.
static int row_axis(const CoreType *t, const Dim *S) {
    int axis = -1;
    for (int i = 0; t->kind == CORE_TENSOR && i < t->rank; i++) {
        if (t->dims[i] == S && axis == -1)
            axis = i;
        else if (dim_mentions(t->dims[i], S))
            return -2;
    }
    return axis;
}

// Is node n the plain output index `axis`?
static bool is_index(const Comp *k, int n, int axis) {
    return k->nodes.data[n].op == N_INDEX && k->nodes.data[n].index == axis;
}

// A read: at the row on the axis of positions and there only. Another node: no use of the row.
static bool node_row_wise(const CoreFn *f, const Value *v, const Node *n, int axis, const Dim *S) {
    const Comp *k = v->comp;
    if (n->op == N_DIM)
        return !dim_mentions(n->dim, S);
    if (n->op != N_READ) {
        for (int j = 0; axis >= 0 && j < node_args(n->op); j++) {
            if (is_index(k, n->args[j], axis))
                return false;
        }
        return true;
    }
    int at = row_axis(core_value(f, v->args.data[n->index])->type, S);
    for (int j = 0; j < n->read_count; j++) {
        if ((j == at) != (axis >= 0 && is_index(k, n->reads[j], axis)))
            return false;
    }
    return at != -2;
}

// Every read of an axis of extent S is at the row, and the row is used for nothing else.
static bool comp_row_wise(const CoreFn *f, const Value *v, const Dim *S) {
    const Comp *k = v->comp;
    int axis = row_axis(v->type, S);
    if (axis == -2)
        return false;
    for (int i = 0; i < k->red; i++) {
        if (dim_mentions(k->red_dims[i], S))
            return false;
    }
    for (int i = 0; i < k->nodes.len; i++) {
        if (!node_row_wise(f, v, &k->nodes.data[i], axis, S))
            return false;
    }
    return axis < 0 || !is_index(k, k->root, axis);
}

static bool row_wise(Rows *r, const CoreFn *f);

static bool value_row_wise(Rows *r, const CoreFn *f, const Value *v) {
    switch (v->op) {
    case OP_COMP:
        return comp_row_wise(f, v, r->S);
    case OP_CALL:
        return row_wise(r, v->callee);
    case OP_PARAM:
    case OP_RESULT:
    case OP_MEMBER:
        return row_axis(v->type, r->S) != -2;
    case OP_PICK: // of no position
        return row_axis(v->type, r->S) != -2 &&
               row_axis(core_value(f, v->args.data[0])->type, r->S) != 0;
    case OP_CUMSUM: // along another axis
        return row_axis(v->type, r->S) != -2 && v->index != row_axis(v->type, r->S);
    default: // a loop: rows would have to be told apart from what it carries
        return false;
    }
}

// Is there a dimension in f or its callees that mentions S?
static bool touches(Rows *r, const CoreFn *f) {
    const char *known = map_get(&r->touched, f);
    if (known)
        return known == yes;
    bool found = f->effects;
    for (int i = 0; i < f->values.len && !found; i++) {
        const Value *v = &f->values.data[i];
        found = type_mentions(v->type, r->S) || (v->op == OP_CALL && touches(r, v->callee));
        for (int j = 0; v->comp && j < v->comp->red && !found; j++)
            found = dim_mentions(v->comp->red_dims[j], r->S);
        for (int j = 0; v->comp && j < v->comp->nodes.len && !found; j++) {
            const Node *n = &v->comp->nodes.data[j];
            found = n->op == N_DIM && dim_mentions(n->dim, r->S);
        }
    }
    map_put(r->core->session->arena, &r->touched, f, (void *)(found ? yes : no));
    return found;
}

// With positions in it, f must take and give rows: a table of S rows made of nothing is no row.
static bool takes_and_gives_rows(const CoreFn *f, const Dim *S) {
    bool takes = false, gives = true;
    for (int i = 0; i < f->params.len; i++)
        takes = takes || row_axis(core_value(f, f->params.data[i])->type, S) >= 0;
    for (int i = 0; i < f->region.yields.len; i++)
        gives = gives && row_axis(core_value(f, f->region.yields.data[i])->type, S) >= 0;
    return takes && gives;
}

static bool row_wise(Rows *r, const CoreFn *f) {
    const char *known = map_get(&r->known, f);
    if (known)
        return known == yes;
    bool fine = !touches(r, f);
    if (!fine && takes_and_gives_rows(f, r->S) && !f->effects) {
        fine = true;
        for (int i = 0; i < f->values.len && fine; i++)
            fine = value_row_wise(r, f, &f->values.data[i]);
    }
    map_put(r->core->session->arena, &r->known, f, (void *)(fine ? yes : no));
    return fine;
}

Val opt_unflat(const CoreFn *f) {
    for (int i = 0; i < f->values.len; i++) {
        const Value *v = &f->values.data[i];
        Op op = v->op;
        if ((op != OP_PARAM && op != OP_COMP && op != OP_CALL && op != OP_RESULT && op != OP_LOOP &&
             op != OP_MEMBER && op != OP_PICK && op != OP_CUMSUM) ||
            (op == OP_CALL && v->callee->effects))
            return (Val)i + 1;
    }
    return 0;
}

// Can f's body be copied here?
static bool plain(const CoreFn *f) {
    return !opt_unflat(f) && !f->effects;
}

static bool draws(const CoreFn *f) {
    return strcmp(f->name, "std.random::categorical") == 0;
}

bool opt_row_wise(Core *c, const CoreFn *f, const Dim *S) {
    Rows r = {.core = c, .S = S};
    return row_wise(&r, f);
}

// ---- Copies ------------------------------------------------------------------------------------

enum { FLAT_MAX = 100000 }; // values; beyond, calls stay

typedef struct {
    Core *core;
    CoreFn *to;
    Rows rows;
    Span site; // of the innermost call put in place that stands in the entry's own file
} Flat;

// A function's values in the flat one.
typedef struct {
    const CoreFn *from;
    Val *vals;  // by Val of `from`
    Val **many; // by Val: the values of an inlined call with several results, or NULL
} Inline;

static void copy_region(Flat *f, Inline *in, const Region *from, Region *into);

static Val new_copy(Flat *f, Inline *in, Val at) {
    Value old = *core_value(in->from, at);
    Val v = core_add(f->core, f->to, old.op, old.type, old.name, old.span);
    Value *n = core_value(f->to, v);
    n->comment = old.comment;
    n->comp = old.comp ? comp_copy(f->core, old.comp) : NULL;
    n->callee = old.callee;
    n->member = old.member;
    n->index = old.index;
    n->site = f->site;
    in->vals[at - 1] = v;
    return v;
}

static void copy_args(Flat *f, const Inline *in, Val at, Val v) {
    for (int i = 0; i < core_value(in->from, at)->args.len; i++)
        core_arg(f->core, f->to, v, in->vals[core_value(in->from, at)->args.data[i] - 1]);
}

static void copy_loop(Flat *f, Inline *in, Val at, Region *into) {
    Arena *a = f->core->session->arena;
    const Loop *old = core_value(in->from, at)->loop;
    Val v = new_copy(f, in, at);
    copy_args(f, in, at, v);
    Loop *l = NEW(a, Loop);
    core_value(f->to, v)->loop = l;
    l->count = old->count;
    l->index = new_copy(f, in, old->index);
    for (int i = 0; i < old->carried.len; i++) {
        Val carried = new_copy(f, in, old->carried.data[i]);
        vec_push(a, &l->carried, carried);
    }
    copy_region(f, in, &old->region, &l->region);
    core_emit(f->core, into, v);
}

static void inline_call(Flat *f, Inline *in, Val at, Region *into) {
    Arena *a = f->core->session->arena;
    const Value *call = core_value(in->from, at);
    const CoreFn *callee = call->callee;
    Inline inside = {.from = callee};
    inside.vals = NEW_N(a, Val, callee->values.len + 1);
    inside.many = NEW_N(a, Val *, callee->values.len + 1);
    for (int i = 0; i < call->args.len; i++)
        inside.vals[callee->params.data[i] - 1] = in->vals[call->args.data[i] - 1];
    Region body = {0};
    Span outer = f->site;
    if (call->span.file == f->to->span.file)
        f->site = call->span;
    copy_region(f, &inside, &callee->region, &body);
    f->site = outer;
    for (int i = 0; i < body.body.len; i++)
        vec_push(a, &into->body, body.body.data[i]);
    in->many[at - 1] = body.yields.data;
    if (body.yields.len != 1)
        return;
    in->vals[at - 1] = body.yields.data[0];
    Value *result = core_value(f->to, body.yields.data[0]);
    if (!result->name) // it is what the caller calls it
        result->name = call->name;
    if (!result->comment)
        result->comment = call->comment;
}

static void copy_value(Flat *f, Inline *in, Val at, Region *into) {
    const Value *v = core_value(in->from, at);
    bool stays = v->op == OP_CALL && (draws(v->callee) || row_wise(&f->rows, v->callee) ||
                                      !plain(v->callee) || f->to->values.len > FLAT_MAX);
    if (v->op == OP_CALL && !stays) {
        inline_call(f, in, at, into);
    } else if (v->op == OP_RESULT && in->many[v->args.data[0] - 1]) {
        in->vals[at - 1] = in->many[v->args.data[0] - 1][v->index];
    } else if (v->op == OP_LOOP) {
        copy_loop(f, in, at, into);
    } else {
        Val n = new_copy(f, in, at);
        copy_args(f, in, at, n);
        core_emit(f->core, into, n);
    }
}

static void copy_region(Flat *f, Inline *in, const Region *from, Region *into) {
    for (int i = 0; i < from->body.len; i++)
        copy_value(f, in, from->body.data[i], into);
    for (int i = 0; i < from->yields.len; i++) {
        Val v = in->vals[from->yields.data[i] - 1];
        vec_push(f->core->session->arena, &into->yields, v);
    }
}

CoreFn *opt_flatten(Core *c, CoreFn *entry, const Dim *S) {
    Arena *a = c->session->arena;
    if (!plain(entry))
        return NULL;
    Name name = session_name(c->session, arena_printf(a, "%s.flat", entry->name));
    Flat f = {.core = c, .rows = {.core = c, .S = S}};
    f.to = core_fn(c, name, arena_printf(a, "%s.flat", entry->label));
    f.to->span = entry->span;
    f.to->doc = entry->doc;
    f.to->entry = entry->entry;
    f.to->self = entry->self;
    Inline in = {.from = entry};
    in.vals = NEW_N(a, Val, entry->values.len + 1);
    in.many = NEW_N(a, Val *, entry->values.len + 1);
    for (int i = 0; i < entry->params.len; i++) {
        Val p = new_copy(&f, &in, entry->params.data[i]);
        vec_push(a, &f.to->params, p);
    }
    copy_region(&f, &in, &entry->region, &f.to->region);
    return f.to;
}

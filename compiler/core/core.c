// The builder: modules, types, blocks, functions, values; see core.h.
#include "core/core.h"
#include <string.h>

static const char *const op_texts[] = {
#define OP(id, text, args, doc) text,
#include "core/ops.def"
#undef OP
};

const char *op_text(Op op) {
    return op_texts[op];
}

Core *core_new(Session *s, DimTable *dims) {
    Core *c = NEW(s->arena, Core);
    c->session = s;
    c->dims = dims;
    return c;
}

// ---- Types -------------------------------------------------------------------------------------

const CoreType *core_tensor(Core *c, Dtype dtype, int rank, const Dim *const *dims) {
    CoreType *t = NEW(c->session->arena, CoreType);
    t->kind = CORE_TENSOR;
    t->dtype = dtype;
    t->rank = rank;
    t->dims = NEW_N(c->session->arena, const Dim *, rank);
    for (int i = 0; i < rank; i++)
        t->dims[i] = dims[i];
    return t;
}

const CoreType *core_block_type(Core *c, CoreBlock *block) {
    CoreType *t = NEW(c->session->arena, CoreType);
    t->kind = CORE_BLOCK;
    t->block = block;
    return t;
}

const CoreType *core_array_type(Core *c, CoreBlock *block, const Dim *count) {
    CoreType *t = NEW(c->session->arena, CoreType);
    t->kind = CORE_ARRAY;
    t->block = block;
    t->count = count;
    return t;
}

const CoreType *core_tuple(Core *c, int n, const CoreType *const *items) {
    CoreType *t = NEW(c->session->arena, CoreType);
    t->kind = CORE_TUPLE;
    t->item_count = n;
    t->items = NEW_N(c->session->arena, const CoreType *, n);
    for (int i = 0; i < n; i++)
        t->items[i] = items[i];
    return t;
}

bool core_type_equal(const CoreType *a, const CoreType *b) {
    if (a == b)
        return true;
    if (!a || !b || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case CORE_TENSOR:
        if (a->dtype != b->dtype || a->rank != b->rank)
            return false;
        for (int i = 0; i < a->rank; i++) {
            if (a->dims[i] != b->dims[i])
                return false;
        }
        return true;
    case CORE_BLOCK:
        return a->block == b->block;
    case CORE_ARRAY:
        return a->block == b->block && a->count == b->count;
    case CORE_TUPLE:
        if (a->item_count != b->item_count)
            return false;
        for (int i = 0; i < a->item_count; i++) {
            if (!core_type_equal(a->items[i], b->items[i]))
                return false;
        }
        return true;
    }
    return false;
}

// ---- Blocks and functions ----------------------------------------------------------------------

static bool block_label_taken(const Core *c, Name label) {
    for (int i = 0; i < c->blocks.len; i++) {
        if (c->blocks.data[i]->label == label)
            return true;
    }
    return false;
}

static bool fn_label_taken(const Core *c, Name label) {
    for (int i = 0; i < c->fns.len; i++) {
        if (c->fns.data[i]->label == label)
            return true;
    }
    return false;
}

// `text` with everything but letters, digits, `_` and `.` made `_`; a number after it until it is
// free.
static Name unique_label(Core *c, const char *text, bool (*taken)(const Core *, Name)) {
    StrBuf b = strbuf_new(c->session->arena);
    for (const char *p = text; *p; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_';
        bool inner = (*p >= '0' && *p <= '9') || *p == '.';
        strbuf_char(&b, letter || (inner && b.len) ? *p : '_');
    }
    if (!b.len)
        strbuf_char(&b, '_');
    Name label = session_name(c->session, b.data);
    for (int n = 2; taken(c, label); n++)
        label = session_name(c->session, arena_printf(c->session->arena, "%s.%d", b.data, n));
    return label;
}

CoreBlock *core_block(Core *c, Name name) {
    CoreBlock *b = NEW(c->session->arena, CoreBlock);
    b->name = name;
    b->label = unique_label(c, name, block_label_taken);
    vec_push(c->session->arena, &c->blocks, b);
    return b;
}

CoreFn *core_fn(Core *c, Name name, const char *short_name) {
    CoreFn *f = NEW(c->session->arena, CoreFn);
    f->name = name;
    f->label = unique_label(c, short_name, fn_label_taken);
    vec_push(c->session->arena, &c->fns, f);
    return f;
}

CoreFn *core_find(const Core *c, const char *label) {
    for (int i = 0; i < c->fns.len; i++) {
        if (strcmp(c->fns.data[i]->label, label) == 0)
            return c->fns.data[i];
    }
    return NULL;
}

const CoreType *core_result_type(Core *c, const CoreFn *f) {
    int n = f->region.yields.len;
    if (n == 1)
        return core_value(f, f->region.yields.data[0])->type;
    const CoreType **items = NEW_N(c->session->arena, const CoreType *, n);
    for (int i = 0; i < n; i++)
        items[i] = core_value(f, f->region.yields.data[i])->type;
    return core_tuple(c, n, items);
}

// ---- Values ------------------------------------------------------------------------------------

Val core_add(Core *c, CoreFn *f, Op op, const CoreType *type, Name name, Span span) {
    Value v = {.op = op, .type = type, .name = name, .span = span};
    vec_push(c->session->arena, &f->values, v);
    return (Val)f->values.len;
}

void core_emit(Core *c, Region *r, Val v) {
    vec_push(c->session->arena, &r->body, v);
}

void core_arg(Core *c, CoreFn *f, Val v, Val arg) {
    vec_push(c->session->arena, &core_value(f, v)->args, arg);
}

Val core_param(Core *c, CoreFn *f, const CoreType *type, Name name, Span span) {
    Val v = core_add(c, f, OP_PARAM, type, name, span);
    vec_push(c->session->arena, &f->params, v);
    return v;
}

Val core_state(Core *c, CoreFn *f, const CoreType *type, Name name, Span span) {
    Val v = core_param(c, f, type, name, span);
    vec_push(c->session->arena, &f->states, v);
    return v;
}

Val core_call(Core *c, CoreFn *f, Region *r, CoreFn *callee, int n, const Val *args, Span span) {
    Val v = core_add(c, f, OP_CALL, core_result_type(c, callee), NULL, span);
    core_value(f, v)->callee = callee;
    f->effects = f->effects || callee->effects;
    for (int i = 0; i < n; i++)
        core_arg(c, f, v, args[i]);
    core_emit(c, r, v);
    return v;
}

Val core_result(Core *c, CoreFn *f, Region *r, Val tuple, int index, Span span) {
    const CoreType *t = core_value(f, tuple)->type;
    if (!t || t->kind != CORE_TUPLE || index < 0 || index >= t->item_count)
        return 0;
    Val v = core_add(c, f, OP_RESULT, t->items[index], NULL, span);
    core_value(f, v)->index = index;
    core_arg(c, f, v, tuple);
    core_emit(c, r, v);
    return v;
}

const CoreMember *core_find_member(const CoreBlock *block, Name member) {
    for (int i = 0; i < block->members.len; i++) {
        if (block->members.data[i].name == member)
            return &block->members.data[i];
    }
    return NULL;
}

Val core_member(Core *c, CoreFn *f, Region *r, Val block, Name member, Span span) {
    const CoreType *t = core_value(f, block)->type;
    const CoreMember *m = t && t->kind == CORE_BLOCK ? core_find_member(t->block, member) : NULL;
    if (!m)
        return 0;
    Val v = core_add(c, f, OP_MEMBER, m->type, member, span);
    core_value(f, v)->member = member;
    core_arg(c, f, v, block);
    core_emit(c, r, v);
    return v;
}

Val core_pick(Core *c, CoreFn *f, Region *r, Val array, Val index, Span span) {
    const CoreType *t = core_value(f, array)->type;
    bool tensor = t && t->kind == CORE_TENSOR && t->rank >= 1;
    if (!tensor && (!t || t->kind != CORE_ARRAY))
        return 0;
    const CoreType *item =
        tensor ? core_tensor(c, t->dtype, t->rank - 1, t->dims + 1) : core_block_type(c, t->block);
    Val v = core_add(c, f, OP_PICK, item, NULL, span);
    core_arg(c, f, v, array);
    core_arg(c, f, v, index);
    core_emit(c, r, v);
    return v;
}

Val core_write(Core *c, CoreFn *f, Region *r, Val state, Val rows, Val pos, Span span) {
    Val v = core_add(c, f, OP_WRITE, core_value(f, state)->type, NULL, span);
    core_arg(c, f, v, state);
    core_arg(c, f, v, rows);
    core_arg(c, f, v, pos);
    core_emit(c, r, v);
    return v;
}

Val core_assign(Core *c, CoreFn *f, Region *r, Val state, Val value, Span span) {
    Val v = core_add(c, f, OP_ASSIGN, core_value(f, state)->type, NULL, span);
    core_arg(c, f, v, state);
    core_arg(c, f, v, value);
    core_emit(c, r, v);
    f->effects = true;
    return v;
}

Val core_cumsum(Core *c, CoreFn *f, Region *r, Val x, int axis, Span span) {
    Val v = core_add(c, f, OP_CUMSUM, core_value(f, x)->type, NULL, span);
    core_value(f, v)->index = axis;
    core_arg(c, f, v, x);
    core_emit(c, r, v);
    return v;
}

bool core_is_block_state(const CoreFn *f, Val v) {
    const Value *value = core_value(f, v);
    if (value->op != OP_MEMBER || value->args.len != 1)
        return false;
    const CoreType *t = core_value(f, value->args.data[0])->type;
    const CoreMember *m = t->kind == CORE_BLOCK ? core_find_member(t->block, value->member) : NULL;
    return m && m->kind == MEMBER_STATE;
}

// ---- Weights -----------------------------------------------------------------------------------

typedef void WeightFn(void *ctx, const char *path, const CoreType *type);

typedef struct {
    Arena *arena; // scratch, for the paths
    WeightFn *fn; // the caller's
    void *ctx;    // the caller's
    int left;     // instances and weights that may still be visited
} WeightWalk;

enum { DEEPEST_BLOCK = 64 };

static bool weights_in(WeightWalk *w, const CoreBlock *block, const char *prefix, int depth) {
    if (depth > DEEPEST_BLOCK)
        return false;
    for (int i = 0; i < block->members.len; i++) {
        const CoreMember *m = &block->members.data[i];
        const char *path = arena_printf(w->arena, "%s%s%s", prefix, *prefix ? "." : "", m->name);
        if (w->left-- <= 0)
            return false;
        if (m->kind == MEMBER_PARAM || m->kind == MEMBER_BUFFER)
            w->fn(w->ctx, path, m->type);
        if (m->kind == MEMBER_SUB && !weights_in(w, m->type->block, path, depth + 1))
            return false;
        if (m->kind != MEMBER_ARRAY)
            continue;
        int64_t count;
        if (!dim_is_const(m->type->count, &count) || count > w->left)
            return false;
        for (int64_t k = 0; k < count; k++) {
            const char *item = arena_printf(w->arena, "%s.%lld", path, (long long)k);
            w->left--;
            if (!weights_in(w, m->type->block, item, depth + 1))
                return false;
        }
    }
    return true;
}

bool core_weights(Core *c, const CoreBlock *block,
                  void (*fn)(void *ctx, const char *path, const CoreType *type), void *ctx) {
    (void)c;
    WeightWalk w = {arena_new(), fn, ctx, CORE_MAX_WEIGHTS};
    bool all = weights_in(&w, block, "", 0);
    arena_free(w.arena);
    return all;
}

// ---- Copies ------------------------------------------------------------------------------------

#define COPY_VEC(a, to, from)                                                                      \
    do {                                                                                           \
        memset((to), 0, sizeof *(to));                                                             \
        for (int i_ = 0; i_ < (from)->len; i_++)                                                   \
            vec_push((a), (to), (from)->data[i_]);                                                 \
    } while (0)

static void copy_region(Arena *a, Region *to, const Region *from) {
    COPY_VEC(a, &to->body, &from->body);
    COPY_VEC(a, &to->yields, &from->yields);
}

Comp *comp_copy(Core *c, const Comp *k) {
    Arena *a = c->session->arena;
    Comp *n = NEW(a, Comp);
    *n = *k;
    n->red_dims = NEW_N(a, const Dim *, k->red);
    for (int i = 0; i < k->red; i++)
        n->red_dims[i] = k->red_dims[i];
    if (k->names) {
        n->names = NEW_N(a, Name, k->out + k->red);
        for (int i = 0; i < k->out + k->red; i++)
            n->names[i] = k->names[i];
    }
    COPY_VEC(a, &n->nodes, &k->nodes);
    for (int i = 0; i < n->nodes.len; i++) {
        Node *node = &n->nodes.data[i];
        if (node->read_count)
            node->reads = arena_copy(a, node->reads, sizeof(int) * (size_t)node->read_count);
    }
    return n;
}

static Loop *copy_loop(Arena *a, const Loop *from) {
    Loop *to = NEW(a, Loop);
    to->count = from->count;
    to->index = from->index;
    COPY_VEC(a, &to->carried, &from->carried);
    copy_region(a, &to->test, &from->test);
    copy_region(a, &to->region, &from->region);
    return to;
}

CoreFn *core_copy(Core *c, const CoreFn *f, Name name, const char *short_name) {
    Arena *a = c->session->arena;
    CoreFn *g = core_fn(c, name, short_name);
    g->span = f->span;
    g->doc = f->doc;
    g->entry = f->entry;
    g->effects = f->effects;
    g->self = f->self;
    COPY_VEC(a, &g->values, &f->values);
    COPY_VEC(a, &g->params, &f->params);
    COPY_VEC(a, &g->states, &f->states);
    copy_region(a, &g->region, &f->region);
    for (int i = 0; i < g->values.len; i++) {
        Value *v = &g->values.data[i];
        COPY_VEC(a, &v->args, &f->values.data[i].args);
        if (v->comp)
            v->comp = comp_copy(c, v->comp);
        if (v->loop)
            v->loop = copy_loop(a, v->loop);
    }
    return g;
}

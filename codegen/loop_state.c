// Members of blocks, and states. A state is a parameter, or a member of a block, that the caller
// keeps from call to call: a pick of one is a pointer into it, a write or a place stores rows in
// place, an assignment all of it.
#include "codegen/loop_build.h"

// A pointer `n` elements on.
static const Expr *offset(Arena *a, const Expr *base, const Expr *n) {
    return x_is_int(n, NULL) && n->i == 0 ? base : x_binary(a, X_ADD, base->type, base, n);
}

// One item along the first axis of a tensor: a pointer to its first element, or a scalar.
void build_tensor_pick(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    const CoreType *t = value->type;
    const Expr *base = argument(b, value->args.data[0]), *at = argument(b, value->args.data[1]);
    begin_value(b, value, false);
    if (t->rank == 0) {
        const Expr *x = take_item(b, v, 0);
        Stmt *scalar = emit(b, S_LET);
        scalar->type = loop_scalar(t->dtype);
        scalar->name = x->name;
        scalar->value = loaded(b->module, t->dtype, x_index(b->arena, base, at));
        return;
    }
    Stmt *s = emit(b, S_LET);
    s->type = loop_pointer(t->dtype, !is_state(b, v));
    Name name = value->name ? value->name : core_value(b->fn, value->args.data[0])->name;
    s->name = names_pick(b->names, name ? name : "item");
    s->value = offset(b->arena, base, x_mul(b->arena, at, dim_expr(b, elements(b->module, t))));
    s->comment = shape_text(b->module, t);
    b->places[v].expr = x_name(b->arena, s->name, s->type);
}

// What a write is made of; all strides in elements.
typedef struct {
    const Dim *capacity, *width; // Cap, C
    const Dim *row;              // elements of a position
} Write;

static Write write_of(FnBuild *b, const CoreType *state, const CoreType *rows) {
    LoopModule *m = b->module;
    Write w = {loop_dim(m, state->dims[1]), loop_dim(m, rows->dims[1]),
               dim_const(b->core->dims, 1)};
    for (int i = 2; i < state->rank; i++)
        w.row = dim_mul(b->core->dims, w.row, loop_dim(m, state->dims[i]));
    return w;
}

// Stores the rows of sequence i.
static void emit_write(FnBuild *b, const Value *v, const Expr *i) {
    Arena *a = b->arena;
    Write w = write_of(b, v->type, core_value(b->fn, v->args.data[1])->type);
    DimTable *dims = b->core->dims;
    const Expr *state = argument(b, v->args.data[0]), *rows = argument(b, v->args.data[1]);
    const Expr *pos = argument(b, v->args.data[2]);
    const Dim *size = dim_const(dims, dtype_size(v->type->dtype));
    const Expr *to = x_mul(a, i, dim_expr(b, dim_mul(dims, w.capacity, w.row)));
    const Expr *from = x_mul(a, i, dim_expr(b, dim_mul(dims, w.width, w.row)));
    const Expr *args[] = {offset(a, state, to),  dim_expr(b, w.capacity),
                          offset(a, rows, from), dim_expr(b, w.width),
                          x_index(a, pos, i),    dim_expr(b, dim_mul(dims, w.row, size))};
    emit(b, S_DO)->value = x_call(b->module, "keep_rows", (LoopType){0}, 6, args);
    b->module->keeps = true;
}

// Calls `one` with each row number of `count`: in a loop, or with 0.
static void each_row(FnBuild *b, const Value *v, const Dim *count, const char *name,
                     void (*one)(FnBuild *b, const Value *v, const Expr *row)) {
    if (dim_is_one(count)) {
        one(b, v, x_int(b->arena, DT_I64, 0));
        return;
    }
    int mark = names_mark(b->names);
    const Expr *i = x_name(b->arena, names_pick(b->names, name), loop_scalar(DT_I64));
    Stmts body = {0}, *outer = b->list;
    b->list = &body;
    one(b, v, i);
    close_loop(b, outer, i, count);
    names_release(b->names, mark);
}

void build_write(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    begin_value(b, value, true);
    each_row(b, value, loop_dim(b->module, value->type->dims[0]), "b", emit_write);
    b->places[v].expr = argument(b, value->args.data[0]);
}

// ---- Members -----------------------------------------------------------------------------------

// The field of a member. States are written through pointers in structs that are constant.
const Expr *member_field(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    Val owner = value->args.data[0];
    const CoreBlock *block = core_value(b->fn, owner)->type->block;
    const LoopBlock *out = loop_block(b->module, block);
    const CoreType *t = value->type;
    int m = 0;
    while (out && m < block->members.len && block->members.data[m].name != value->member)
        m++;
    if (!out || m == block->members.len || !out->members[m]) {
        loop_fail(b->module, "%s: %s has no weight %s", b->fn->label, block->label, value->member);
        return x_int(b->arena, DT_I64, 0);
    }
    bool constant = block->members.data[m].kind != MEMBER_STATE;
    LoopType type = t->kind == CORE_TENSOR ? loop_pointer(t->dtype, constant)
                                           : (LoopType){.block = t->block, .constant = true};
    return x_field(b->arena, argument(b, owner), out->members[m], type);
}

void build_block_member(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    const CoreType *t = value->type;
    const Expr *x = member_field(b, v);
    if (t->kind == CORE_BLOCK)
        x = x_unary(b->arena, X_ADDRESS, x->type, x);
    if (t->kind == CORE_TENSOR && t->rank == 0)
        x = loaded(b->module, t->dtype, x_index(b->arena, x, x_int(b->arena, DT_I64, 0)));
    b->places[v].expr = x;
}

// ---- States of blocks --------------------------------------------------------------------------

// Row m of what is stored: which sequence it goes to, or its first position there.
static const Expr *place_of(FnBuild *b, Val v, const Expr *m) {
    Val scalar;
    if (!is_plain_place(b, v, &scalar))
        return x_index(b->arena, argument(b, v), m);
    return scalar ? argument(b, scalar) : m;
}

static void emit_place(FnBuild *b, const Value *v, const Expr *m) {
    Arena *a = b->arena;
    LoopModule *module = b->module;
    DimTable *dims = b->core->dims;
    const CoreType *state = v->type, *rows = core_value(b->fn, v->args.data[1])->type;
    const Dim *row = dim_const(dims, 1);
    for (int i = 3; i < state->rank; i++)
        row = dim_mul(dims, row, loop_dim(module, state->dims[i]));
    const Dim *heads = loop_dim(module, rows->dims[1]), *count = loop_dim(module, rows->dims[2]);
    const Dim *size = dim_const(dims, dtype_size(state->dtype));
    const Expr *from = x_mul(a, m, dim_expr(b, dim_mul(dims, heads, dim_mul(dims, count, row))));
    const Expr *args[] = {argument(b, v->args.data[0]),
                          dim_expr(b, loop_dim(module, state->dims[0])),
                          dim_expr(b, heads),
                          dim_expr(b, loop_dim(module, state->dims[2])),
                          place_of(b, v->args.data[2], m),
                          place_of(b, v->args.data[3], m),
                          offset(a, argument(b, v->args.data[1]), from),
                          dim_expr(b, count),
                          dim_expr(b, dim_mul(dims, row, size))};
    emit(b, S_DO)->value = x_call(module, "place_rows", (LoopType){0}, 9, args);
    module->places = true;
}

void build_place(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    const CoreType *rows = core_value(b->fn, value->args.data[1])->type;
    const Dim *count = loop_dim(b->module, rows->dims[0]);
    begin_value(b, value, !dim_is_one(count));
    each_row(b, value, count, "m", emit_place);
    b->places[v].expr = argument(b, value->args.data[0]);
}

void build_assign(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    const CoreType *t = value->type;
    Val from = value->args.data[1];
    const int *made = b->places[from].storages;
    const Expr *to = member_field(b, value->args.data[0]), *x = argument(b, from);
    if (made && b->storages.data[*made].state == value->args.data[0]) {
        b->places[v].expr = to;
        return;
    }
    begin_value(b, value, false);
    if (t->rank == 0) {
        to = x_index(b->arena, to, x_int(b->arena, DT_I64, 0));
        x = stored(b->module, t->dtype, x);
    }
    copy_value(b, t, to, x);
    b->places[v].expr = t->rank ? to : loaded(b->module, t->dtype, to);
}

// ---- Assignments in place ----------------------------------------------------------------------

// Does a value show what the member's state holds?
static bool shows(const FnBuild *b, Val v, Val member) {
    while (viewed(b, v))
        v = viewed(b, v);
    return core_is_block_state(b->fn, v) && core_state_overlaps(b->fn, v, member);
}

// Does the comprehension read what the member holds only at the point that it writes?
static bool reads_same_point(const FnBuild *b, const Value *v, Val member) {
    for (int i = 0; i < v->comp->nodes.len; i++) {
        const Node *n = &v->comp->nodes.data[i];
        if (n->op != N_READ || !shows(b, v->args.data[n->index], member))
            continue;
        if (!core_type_equal(core_value(b->fn, v->args.data[n->index])->type, v->type))
            return false;
        for (int r = 0; r < n->read_count; r++) {
            const Node *at = &v->comp->nodes.data[n->reads[r]];
            if (at->op != N_INDEX || at->index != r)
                return false;
        }
    }
    return true;
}

// May that value read or change what the member holds?
static bool touches(const FnBuild *b, const Value *v, Val member) {
    bool plain = v->op == OP_COMP || v->op == OP_MEMBER || v->op == OP_PICK || v->op == OP_RESULT ||
                 v->op == OP_CUMSUM;
    for (int i = 0; plain && i < v->args.len; i++)
        plain = !shows(b, v->args.data[i], member);
    return !plain;
}

static int uses_in(const Region *r, Val v) {
    int uses = 0;
    for (int i = 0; i < r->yields.len; i++)
        uses += r->yields.data[i] == v;
    return uses;
}

static int uses_of(const FnBuild *b, Val v) {
    int uses = uses_in(&b->fn->region, v);
    for (int i = 0; i < b->fn->values.len; i++) {
        const Value *user = &b->fn->values.data[i];
        for (int a = 0; a < user->args.len; a++)
            uses += user->args.data[a] == v;
        if (user->loop)
            uses += uses_in(&user->loop->test, v) + uses_in(&user->loop->region, v);
    }
    return uses;
}

// Can the value that number `at` of the region assigns be made where it is kept?
static bool made_in_place(const FnBuild *b, const Region *r, int at) {
    const Value *assign = core_value(b->fn, r->body.data[at]);
    Val member = assign->args.data[0], y = assign->args.data[1];
    Val owner = core_value(b->fn, member)->args.data[0];
    const Value *v = core_value(b->fn, y);
    if (v->op != OP_COMP || v->comp->reduction != RED_NONE || v->type->rank == 0 || viewed(b, y) ||
        uses_of(b, y) != 1 || b->places[owner].position >= b->places[y].position)
        return false;
    int from = at - 1;
    for (; from >= 0 && r->body.data[from] != y; from--) {
        Val between = r->body.data[from];
        if (b->places[between].used && touches(b, core_value(b->fn, between), member))
            return false;
    }
    return from >= 0 && reads_same_point(b, v, member);
}

void plan_assigns(FnBuild *b, const Region *r) {
    for (int i = 0; i < r->body.len; i++) {
        const Value *v = core_value(b->fn, r->body.data[i]);
        if (v->op != OP_ASSIGN || !made_in_place(b, r, i))
            continue;
        Storage *s = &b->storages.data[*b->places[v->args.data[1]].storages];
        s->state = v->args.data[0];
        s->external = true;
    }
}

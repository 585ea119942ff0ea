// Functions: parameters, calls, arrays of blocks. Comprehensions are in loop_comp.c, loops in
// loop_carry.c, members in loop_state.c.
#include "codegen/loop_build.h"
#include <stdio.h>
#include <string.h>

// A statement of the value being built.
Stmt *emit(FnBuild *b, StmtOp op) {
    return loop_stmt(b->arena, b->list, op);
}

static bool is_simple(const Stmt *s) {
    return s->op != S_FOR && s->op != S_WHILE;
}

// What stands before the statements of a value: a blank line before loops and new source lines.
void begin_value(FnBuild *b, const Value *v, bool loops) {
    const char *comment = v->comment;
    if (comment && b->comment && strcmp(comment, b->comment) == 0)
        comment = NULL;
    if (b->list->len && (loops || comment || !is_simple(vec_last(b->list))))
        emit(b, S_BLANK);
    if (!comment)
        return;
    b->comment = comment;
    emit(b, S_COMMENT)->comment = comment;
}

Storage *storage_of(FnBuild *b, Val v, int item) {
    return &b->storages.data[b->places[v].storages[item]];
}

const Expr *argument(FnBuild *b, Val v) {
    const Place *p = &b->places[v];
    const CoreType *t = core_value(b->fn, v)->type;
    const Expr *x = p->expr;
    if (!x && t->kind == CORE_TENSOR && p->storages)
        x = b->storages.data[p->storages[0]].expr;
    if (x)
        return x;
    loop_fail(b->module, "%s: a value is used before it is made", b->fn->label);
    return x_int(b->arena, DT_I64, 0);
}

// "std.nn.linear::RmsNorm.forward" -> "rms_norm_forward".
static const char *fn_noun(LoopModule *m, const CoreFn *f) {
    const char *colon = strrchr(f->name, ':');
    return names_snake(m->core->session->arena, colon ? colon + 1 : f->name);
}

// What to call the result of a call: after the member whose method it is, or the function.
static const char *call_noun(const FnBuild *b, const Value *v) {
    const char *name = fn_noun(b->module, v->callee);
    if (v->callee->self && v->args.len) {
        const Value *self = core_value(b->fn, v->args.data[0]);
        if (self->op == OP_MEMBER)
            name = self->member;
    }
    return arena_printf(b->arena, "%s_out", name);
}

static const char *value_noun(const FnBuild *b, const Value *v) {
    static const char *const nouns[] = {"", "sum", "product", "peak", "least", "any", "all"};
    if (v->name)
        return v->name;
    if (v->op == OP_CALL)
        return call_noun(b, v);
    if (v->op != OP_COMP)
        return "value";
    if (v->comp->reduction != RED_NONE)
        return nouns[v->comp->reduction];
    return node_noun(v->comp->nodes.data[v->comp->root].op);
}

// The memory, or the new variable, for item `item` of a value.
const Expr *take_item(FnBuild *b, Val v, int item) {
    const Value *value = core_value(b->fn, v);
    Storage *s = storage_of(b, v, item);
    const char *noun = s->hint ? s->hint : value_noun(b, value);
    if (s->state)
        s->expr = member_field(b, s->state);
    if (s->type->rank > 0)
        return plan_take(b, b->places[v].storages[item], noun, shape_text(b->module, s->type));
    s->expr = x_name(b->arena, names_pick(b->names, noun), loop_scalar(s->type->dtype));
    return s->expr;
}

// ---- Comprehensions ----------------------------------------------------------------------------

static void build_view(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    const Expr *base = argument(b, viewed(b, v));
    if (!b->places[v].needed) { // a result: its memory is the argument's
        b->places[v].expr = base;
        return;
    }
    begin_value(b, value, false);
    Stmt *s = emit(b, S_LET);
    s->type = loop_pointer(value->type->dtype, true);
    s->name = names_pick(b->names, value->name ? value->name : "view");
    s->value = base;
    s->comment = arena_printf(b->arena, "%s", shape_text(b->module, value->type));
    b->places[v].expr = x_name(b->arena, s->name, s->type);
}

// A scalar that is a literal needs no variable.
static bool build_literal(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    const Comp *c = value->comp;
    if (value->type->rank > 0 || c->reduction != RED_NONE)
        return false;
    Body *k = body_new(b, value);
    Stmts dropped = {0};
    k->list = &dropped;
    if (!body_build(k, 1, &c->root) || dropped.len)
        return false;
    const Expr *x = k->nodes[c->root];
    if (x->op != X_INT && x->op != X_REAL)
        return false;
    storage_of(b, v, 0)->expr = x;
    return true;
}

static void build_computed(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    int mark = names_mark(b->names);
    if (build_literal(b, v))
        return;
    names_release(b->names, mark);
    begin_value(b, value, value->type->rank > 0 || value->comp->red > 0);
    build_comp(b, v, take_item(b, v, 0));
}

// ---- Calls -------------------------------------------------------------------------------------

static int find_loop_fn(const LoopModule *m, const CoreFn *fn) {
    for (int i = 0; i < m->fns.len; i++) {
        if (m->fns.data[i]->source == fn)
            return i;
    }
    return -1;
}

static void note_callee(FnBuild *b, int number) {
    for (int i = 0; i < b->out->callees.len; i++) {
        if (b->out->callees.data[i] == number)
            return;
    }
    vec_push(b->arena, &b->out->callees, number);
}

typedef VEC(const Expr *) Args;

static void add_context(FnBuild *b, const LoopFn *callee, Args *args) {
    if (callee->uses_work) {
        b->out->uses_work = true;
        vec_push(b->arena, args, x_name(b->arena, "work", (LoopType){0}));
    }
    for (int i = 0; i < callee->symbols.len; i++)
        vec_push(b->arena, args, dim_expr(b, callee->symbols.data[i]));
}

// A result through a pointer: tensors are pointers, a scalar's address is passed.
static const Expr *result_argument(FnBuild *b, Val v, int item) {
    Storage *s = storage_of(b, v, item);
    const Expr *x = take_item(b, v, item);
    if (s->type->rank > 0)
        return x;
    Stmt *let = emit(b, S_LET);
    let->type = loop_scalar(s->type->dtype);
    let->name = x->name;
    return x_unary(b->arena, X_ADDRESS, loop_pointer(s->type->dtype, false), x);
}

static void build_call(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    int number = find_loop_fn(b->module, value->callee);
    if (number < 0) {
        loop_fail(b->module, "%s calls %s, which follows it", b->fn->label, value->callee->label);
        return;
    }
    const LoopFn *callee = b->module->fns.data[number];
    Args args = {0};
    note_callee(b, number);
    begin_value(b, value, false);
    add_context(b, callee, &args);
    int items = value->type->kind == CORE_TUPLE ? value->type->item_count : 1;
    for (int i = 0; i < items && !callee->returns; i++)
        vec_push(b->arena, &args, result_argument(b, v, i));
    for (int i = 0; i < value->args.len; i++) {
        if (callee->param_used[i])
            vec_push(b->arena, &args, argument(b, value->args.data[i]));
    }
    const Expr *call = x_call(b->module, callee->name, callee->result, args.len, args.data);
    Stmt *s = emit(b, callee->returns ? S_LET : S_DO);
    s->value = call;
    if (!callee->returns)
        return;
    s->type = callee->result;
    s->name = take_item(b, v, 0)->name;
    s->effects = value->callee->effects;
}

// ---- Blocks ------------------------------------------------------------------------------------

static void build_pick(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    if (value->type->kind == CORE_TENSOR) {
        build_tensor_pick(b, v);
        return;
    }
    const Expr *base = argument(b, value->args.data[0]);
    LoopType type = {.block = value->type->block, .constant = true};
    const Expr *x = x_index(b->arena, base, argument(b, value->args.data[1]));
    begin_value(b, value, false);
    Stmt *s = emit(b, S_LET);
    s->type = type;
    s->name = names_pick(b->names, value->name ? value->name : "layer");
    s->value = x_unary(b->arena, X_ADDRESS, type, x);
    b->places[v].expr = x_name(b->arena, s->name, type);
}

static void build_value(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    switch (value->op) {
    case OP_COMP:
        if (viewed(b, v))
            build_view(b, v);
        else
            build_computed(b, v);
        break;
    case OP_CALL:
        build_call(b, v);
        break;
    case OP_LOOP:
    case OP_WHILE:
        build_carrying(b, v);
        break;
    case OP_MEMBER:
        build_block_member(b, v);
        break;
    case OP_PICK:
        build_pick(b, v);
        break;
    case OP_CUMSUM:
        build_cumsum(b, v);
        break;
    case OP_WRITE:
        build_write(b, v);
        break;
    case OP_PLACE:
        build_place(b, v);
        break;
    case OP_ASSIGN:
        build_assign(b, v);
        break;
    case OP_RESULT: // it has its tuple's memory
        break;
    default:
        loop_fail(b->module, "%s: `%s` is not there yet in C", b->fn->label, op_text(value->op));
        break;
    }
}

void build_region(FnBuild *b, const Region *r) {
    for (int i = 0; i < r->body.len && !b->module->error; i++) {
        Val v = r->body.data[i];
        if (!b->places[v].used)
            continue;
        build_value(b, v);
        if (!core_value(b->fn, v)->loop)
            plan_release(b, b->places[v].position);
    }
}

// ---- Functions ---------------------------------------------------------------------------------

static void add_param(FnBuild *b, const char *name, LoopType type, const char *comment) {
    vec_push(b->arena, &b->out->params, ((LoopParam){name, type, comment}));
}

static void declare_results(FnBuild *b) {
    const Region *r = &b->fn->region;
    LoopFn *f = b->out;
    const CoreType *first = r->yields.len ? core_value(b->fn, r->yields.data[0])->type : NULL;
    f->returns = r->yields.len == 1 && first->rank == 0;
    if (f->returns)
        f->result = loop_scalar(first->dtype);
    for (int i = 0; i < r->yields.len && !f->returns; i++) {
        const Value *y = core_value(b->fn, r->yields.data[i]);
        Storage *s = storage_of(b, r->yields.data[i], 0);
        const char *wanted = y->op == OP_PARAM || !y->name ? "out" : y->name;
        const char *name = names_pick(b->names, wanted);
        LoopType type = loop_pointer(y->type->dtype, false);
        add_param(b, name, type, y->type->rank ? shape_text(b->module, y->type) : NULL);
        if (s->out && !s->expr)
            s->expr = x_name(b->arena, name, type);
    }
}

static void declare_params(FnBuild *b) {
    const CoreFn *fn = b->fn;
    b->out->param_used = NEW_N(b->arena, bool, fn->params.len + 1);
    for (int i = 0; i < fn->params.len; i++) {
        Val v = fn->params.data[i];
        const Value *p = core_value(fn, v);
        const CoreType *t = p->type;
        if (!b->places[v].used)
            continue;
        b->out->param_used[i] = true;
        bool self = fn->self && i == 0;
        const char *name = names_pick(b->names, self ? "self" : p->name ? p->name : "x");
        LoopType type = t->kind != CORE_TENSOR ? (LoopType){.block = t->block, .constant = true}
                        : t->rank              ? loop_pointer(t->dtype, !is_state(b, v))
                                               : loop_scalar(t->dtype);
        bool shaped = t->kind == CORE_TENSOR && t->rank > 0;
        add_param(b, name, type, shaped ? shape_text(b->module, t) : NULL);
        b->places[v].expr = x_name(b->arena, name, type);
    }
}

// Results that are not made in the caller's memory are copied there.
static void deliver_results(FnBuild *b) {
    const Region *r = &b->fn->region;
    for (int i = 0; i < r->yields.len && !b->module->error; i++) {
        Val y = r->yields.data[i];
        const CoreType *t = core_value(b->fn, y)->type;
        const Expr *x = argument(b, y);
        if (b->out->returns) {
            if (b->list->len && !is_simple(vec_last(b->list)))
                emit(b, S_BLANK);
            emit(b, S_RETURN)->value = x;
            return;
        }
        const LoopParam *p = &b->out->params.data[i];
        const Storage *s = storage_of(b, y, 0);
        const Expr *to = x_name(b->arena, p->name, p->type);
        if (t->rank == 0) {
            Stmt *set = emit(b, S_SET);
            set->target = x_index(b->arena, to, x_int(b->arena, DT_I64, 0));
            set->value = stored(b->module, t->dtype, x);
        } else if (!s->expr || s->expr->name != p->name) {
            copy_value(b, t, to, x);
        }
    }
}

static void sort_symbols(LoopModule *m, LoopFn *f) {
    int kept = 0;
    const Dim **all = f->symbols.data;
    for (int i = 0; i < m->symbols.len; i++) {
        for (int j = kept; j < f->symbols.len; j++) {
            if (all[j] != m->symbols.data[i].dim)
                continue;
            const Dim *d = all[j];
            all[j] = all[kept];
            all[kept++] = d;
        }
    }
}

LoopFn *loop_build_fn(LoopModule *m, const CoreFn *fn) {
    Arena *a = m->core->session->arena;
    FnBuild *b = NEW(a, FnBuild);
    LoopFn *f = NEW(a, LoopFn);
    *b = (FnBuild){.module = m, .arena = a, .core = m->core, .fn = fn, .out = f};
    f->source = fn;
    f->name = names_pick(m->names, fn_noun(m, fn));
    f->names = b->names = names_new(m->core->session, m->names);
    b->places = NEW_N(a, Place, fn->values.len + 1);
    b->top = b->list = &f->body;
    plan_fn(b);
    declare_params(b);
    declare_results(b);
    // results stand first
    int results = f->returns ? 0 : fn->region.yields.len;
    LoopParam *moved = NEW_N(a, LoopParam, f->params.len + 1);
    for (int i = 0; i < f->params.len; i++)
        moved[(i + results) % f->params.len] = f->params.data[i];
    f->params.data = moved;
    f->params.cap = f->params.len;
    build_region(b, &fn->region);
    deliver_results(b);
    for (int i = 0; i < b->slots.len; i++) {
        const Expr *bytes = dim_expr(b, b->slots.data[i].bytes);
        b->slots.data[i].stmt->value = bytes;
        vec_push(a, &f->buffers, bytes);
        vec_push(a, &f->buffer_dims, b->slots.data[i].bytes);
        f->uses_work = true;
    }
    loop_sweep(m, f, results);
    f->takes = b->slots.len > 0;
    for (int i = 0; i < f->callees.len; i++)
        f->takes |= m->fns.data[f->callees.data[i]]->takes;
    sort_symbols(m, f);
    return f;
}

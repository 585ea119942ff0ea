// Loops: the values that they carry from turn to turn, and those that every turn adds to a stack.
#include "codegen/loop_build.h"

// to = from: elements, or one scalar.
void copy_value(FnBuild *b, const CoreType *t, const Expr *to, const Expr *from) {
    if (t->rank == 0) {
        Stmt *s = emit(b, S_SET);
        s->target = to;
        s->value = from;
        return;
    }
    DimTable *dims = b->core->dims;
    const Dim *size = dim_const(dims, dtype_size(t->dtype));
    const Expr *bytes = dim_expr(b, dim_mul(dims, elements(b->module, t), size));
    const Expr *args[] = {to, from, bytes};
    emit(b, S_DO)->value = x_call(b->module, "memcpy", loop_pointer(t->dtype, false), 3, args);
}

static bool used_again(const Value *loop, int before) {
    for (int i = 0; i < loop->args.len; i++) {
        if (i != before && loop->args.data[i] == loop->args.data[before])
            return true;
    }
    return false;
}

// Gives carried value `i` its memory, holding its first value.
static void start_carried(FnBuild *b, Val v, int i) {
    const Value *value = core_value(b->fn, v);
    Val init = value->args.data[i];
    const Place *from = &b->places[init];
    const CoreType *t = core_value(b->fn, init)->type;
    int to = b->places[v].storages[i];
    const Storage *s = t->rank ? &b->storages.data[from->storages[0]] : NULL;
    if (s && s->last == b->places[v].position && !used_again(value, i) &&
        plan_steal(b, from->storages[0], to))
        return;
    const Expr *x = take_item(b, v, i);
    if (t->rank > 0) {
        copy_value(b, t, x, argument(b, init));
        return;
    }
    Stmt *let = emit(b, S_LET);
    let->type = loop_scalar(t->dtype);
    let->name = x->name;
    let->value = argument(b, init);
}

// A yield that lives in the memory of another carried value is copied aside first.
static const Expr *yielded(FnBuild *b, Val loop, int i, Val y) {
    const Place *p = &b->places[loop];
    const CoreType *t = core_value(b->fn, y)->type;
    const Expr *x = argument(b, y);
    for (int j = 0; j < core_value(b->fn, loop)->loop->carried.len; j++) {
        if (j == i || !b->places[y].storages || b->places[y].storages[0] != p->storages[j])
            continue;
        if (t->rank > 0) {
            vec_push(b->arena, &b->storages, ((Storage){.type = t, .slot = -1, .last = p->end}));
            const char *shape = shape_text(b->module, t);
            const Expr *aside = plan_take(b, b->storages.len - 1, "next", shape);
            copy_value(b, t, aside, x);
            return aside;
        }
        Stmt *let = emit(b, S_LET);
        let->type = loop_scalar(t->dtype);
        let->name = names_pick(b->names, "next");
        let->value = x;
        return x_name(b->arena, let->name, let->type);
    }
    return x;
}

// The values of the next turn.
static void end_turn(FnBuild *b, Val v) {
    const Loop *loop = core_value(b->fn, v)->loop;
    int n = loop->carried.len;
    const Expr **next = NEW_N(b->arena, const Expr *, n ? n : 1);
    for (int i = 0; i < n; i++)
        next[i] = yielded(b, v, i, loop->region.yields.data[i]);
    for (int i = 0; i < n; i++) {
        Val y = loop->region.yields.data[i];
        const Place *p = &b->places[y];
        int to = b->places[v].storages[i];
        if (p->storages && p->storages[0] == to)
            continue;
        copy_value(b, core_value(b->fn, y)->type, b->storages.data[to].expr, next[i]);
    }
}

// Stores what this turn adds to the stacks, before the values carried change.
static void push_stacks(FnBuild *b, Val v, const Expr *turn) {
    const Loop *loop = core_value(b->fn, v)->loop;
    for (int i = loop->carried.len; i < loop->region.yields.len; i++) {
        Val y = loop->region.yields.data[i];
        const CoreType *t = core_value(b->fn, y)->type;
        const Expr *stack = storage_of(b, v, i)->expr, *x = argument(b, y);
        const Expr *at = x_mul(b->arena, turn, dim_expr(b, elements(b->module, t)));
        if (t->rank == 0)
            copy_value(b, t, x_index(b->arena, stack, at), stored(b->module, t->dtype, x));
        else
            copy_value(b, t, x_binary(b->arena, X_ADD, stack->type, stack, at), x);
    }
}

// The body of a loop, with the statements that follow it, into a list of its own.
static void build_turn(FnBuild *b, Val v, const Expr *turn) {
    const Loop *loop = core_value(b->fn, v)->loop;
    build_region(b, &loop->region);
    if (turn)
        push_stacks(b, v, turn);
    end_turn(b, v);
}

static void build_for(FnBuild *b, Val v) {
    const Loop *loop = core_value(b->fn, v)->loop;
    const Value *index = core_value(b->fn, loop->index);
    LoopType i64 = loop_scalar(DT_I64);
    const Expr *i = x_name(b->arena, names_pick(b->names, index->name ? index->name : "i"), i64);
    storage_of(b, loop->index, 0)->expr = i;
    Stmts body = {0}, *outer = b->list;
    b->list = &body;
    b->depth++;
    build_turn(b, v, i);
    b->depth--;
    close_loop(b, outer, i, loop_dim(b->module, loop->count));
}

// The one value that the test is, where it is made by one statement; else the test stands in the
// loop, before its body.
static void build_while(FnBuild *b, Val v) {
    const Loop *loop = core_value(b->fn, v)->loop;
    Stmts body = {0}, *outer = b->list;
    b->list = &body;
    b->depth++;
    build_region(b, &loop->test);
    const Expr *met = argument(b, loop->test.yields.data[0]);
    const Stmt *made = body.len ? vec_last(&body) : NULL;
    int before = body.len - 1;
    while (before > 0 && body.data[before - 1]->op == S_COMMENT)
        before--;
    if (made && before == 0 && made->op == S_LET && made->value && made->name == met->name) {
        met = made->value;
        body.len = 0;
    } else if (body.len) {
        emit(b, S_LEAVE)->value = x_unary(b->arena, X_NOT, met->type, met);
        met = x_int(b->arena, DT_BOOL, 1);
    }
    build_turn(b, v, NULL);
    b->depth--;
    b->list = outer;
    Stmt *s = emit(b, S_WHILE);
    s->value = met;
    s->body = body;
}

// The names of the body stay taken: the arena's pointers are declared before the loop.
void build_carrying(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    const Loop *loop = value->loop;
    begin_value(b, value, true);
    for (int i = 0; i < loop->carried.len; i++)
        start_carried(b, v, i);
    for (int i = loop->carried.len; i < loop->region.yields.len; i++)
        take_item(b, v, i);
    if (value->op == OP_WHILE)
        build_while(b, v);
    else
        build_for(b, v);
    plan_release(b, b->places[v].end);
}

// States: parameters that the caller keeps from call to call. A pick of one is a pointer into it, a
// write stores rows in place.
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
    const Dim *count, *capacity, *width; // B, Cap, C
    const Dim *row;                      // elements of a position
} Write;

static Write write_of(FnBuild *b, const CoreType *state, const CoreType *rows) {
    LoopModule *m = b->module;
    Write w = {loop_dim(m, state->dims[0]), loop_dim(m, state->dims[1]), loop_dim(m, rows->dims[1]),
               dim_const(b->core->dims, 1)};
    for (int i = 2; i < state->rank; i++)
        w.row = dim_mul(b->core->dims, w.row, loop_dim(m, state->dims[i]));
    return w;
}

// Stores the rows of sequence i.
static void emit_write(FnBuild *b, const Value *v, const Write *w, const Expr *i) {
    Arena *a = b->arena;
    DimTable *dims = b->core->dims;
    const Expr *state = argument(b, v->args.data[0]), *rows = argument(b, v->args.data[1]);
    const Expr *pos = argument(b, v->args.data[2]);
    const Dim *size = dim_const(dims, dtype_size(v->type->dtype));
    const Expr *to = x_mul(a, i, dim_expr(b, dim_mul(dims, w->capacity, w->row)));
    const Expr *from = x_mul(a, i, dim_expr(b, dim_mul(dims, w->width, w->row)));
    const Expr *args[] = {offset(a, state, to),  dim_expr(b, w->capacity),
                          offset(a, rows, from), dim_expr(b, w->width),
                          x_index(a, pos, i),    dim_expr(b, dim_mul(dims, w->row, size))};
    emit(b, S_DO)->value = x_call(b->module, "keep_rows", (LoopType){0}, 6, args);
    b->module->keeps = true;
}

void build_write(FnBuild *b, Val v) {
    const Value *value = core_value(b->fn, v);
    Write w = write_of(b, value->type, core_value(b->fn, value->args.data[1])->type);
    begin_value(b, value, true);
    if (dim_is_one(w.count)) {
        emit_write(b, value, &w, x_int(b->arena, DT_I64, 0));
    } else {
        int mark = names_mark(b->names);
        const Expr *i = x_name(b->arena, names_pick(b->names, "b"), loop_scalar(DT_I64));
        Stmts body = {0}, *outer = b->list;
        b->list = &body;
        emit_write(b, value, &w, i);
        close_loop(b, outer, i, w.count);
        names_release(b->names, mark);
    }
    b->places[v].expr = argument(b, value->args.data[0]);
}

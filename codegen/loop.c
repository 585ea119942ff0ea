// Loop IR: constructors with the foldings that keep index arithmetic short.
#include "codegen/loop.h"
#include <stdio.h>
#include <string.h>

// ORDER LOOP OPS
static const struct {
    const char *text;
    int level; // of precedence
} loop_ops[X_OP_COUNT] = {
    {"?", 1},  {"||", 2},  {"&&", 3},  {"|", 4},  {"^", 5},  {"&", 6},  {"==", 7}, {"!=", 7},
    {"<", 8},  {"<=", 8},  {">", 8},   {">=", 8}, {"<<", 9}, {">>", 9}, {"+", 10}, {"-", 10},
    {"*", 11}, {"/", 11},  {"%", 11},  {"-", 12}, {"!", 12}, {"&", 12}, {"", 12},  {"[]", 13},
    {".", 13}, {"->", 13}, {"()", 13}, {"", 14},  {"", 14},  {"", 14},
};

const char *loop_op_text(ExprOp op) {
    return loop_ops[op].text;
}

int loop_op_level(ExprOp op) {
    return loop_ops[op].level;
}

LoopType loop_scalar(Dtype t) {
    return (LoopType){.dtype = t};
}

LoopType loop_pointer(Dtype t, bool constant) {
    return (LoopType){.dtype = t, .pointer = true, .constant = constant};
}

void loop_fail(LoopModule *m, const char *format, ...) {
    if (m->error)
        return;
    StrBuf b = strbuf_new(m->core->session->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&b, format, args);
    va_end(args);
    m->error = b.data;
}

static const Expr *x_op(Arena *a, ExprOp op, LoopType type, int n, const Expr *const *args) {
    Expr *x = NEW(a, Expr);
    x->op = op;
    x->type = type;
    x->count = n;
    if (n) {
        x->args = NEW_N(a, const Expr *, n);
        memcpy(x->args, args, (size_t)n * sizeof *args);
    }
    return x;
}

const Expr *x_name(Arena *a, const char *name, LoopType type) {
    Expr *x = NEW(a, Expr);
    *x = (Expr){.op = X_NAME, .type = type, .name = name};
    return x;
}

const Expr *x_int(Arena *a, Dtype t, int64_t value) {
    Expr *x = NEW(a, Expr);
    *x = (Expr){.op = X_INT, .type = loop_scalar(t), .i = value};
    return x;
}

const Expr *x_real(Arena *a, Dtype t, double value) {
    Expr *x = NEW(a, Expr);
    *x = (Expr){.op = X_REAL, .type = loop_scalar(t), .f = value};
    return x;
}

const Expr *x_unary(Arena *a, ExprOp op, LoopType type, const Expr *x) {
    return x_op(a, op, type, 1, &x);
}

const Expr *x_binary(Arena *a, ExprOp op, LoopType type, const Expr *x, const Expr *y) {
    const Expr *args[] = {x, y};
    return x_op(a, op, type, 2, args);
}

const Expr *x_cond(Arena *a, const Expr *c, const Expr *x, const Expr *y) {
    const Expr *args[] = {c, x, y};
    int64_t known;
    if (x_is_int(c, &known))
        return known ? x : y;
    return x_op(a, X_COND, x->type, 3, args);
}

const Expr *x_cast(Arena *a, Dtype t, const Expr *x) {
    return x_unary(a, X_CAST, loop_scalar(t), x);
}

const Expr *x_call(LoopModule *m, const char *name, LoopType type, int n, const Expr *const *args) {
    Session *s = m->core->session;
    Name unit = session_name(s, name);
    if (strncmp(name, "rt_", 3) == 0)
        map_put(s->arena, &m->units, unit, m);
    Expr *x = NEW(s->arena, Expr);
    *x = *x_op(s->arena, X_CALL, type, n, args);
    x->name = unit;
    return x;
}

const Expr *x_index(Arena *a, const Expr *base, const Expr *at) {
    LoopType t = loop_scalar(base->type.dtype);
    t.bits = dtype_size(t.dtype) == 2 && dtype_is_float(t.dtype);
    return x_binary(a, X_INDEX, t, base, at);
}

// block.name or block->name: fields of a nested struct are reached by a dot.
const Expr *x_field(Arena *a, const Expr *block, const char *name, LoopType type) {
    ExprOp op = X_ARROW;
    if (block->op == X_ADDRESS) {
        op = X_FIELD;
        block = block->args[0];
    }
    Expr *x = NEW(a, Expr);
    *x = *x_op(a, op, type, 1, &block);
    x->name = name;
    return x;
}

bool x_is_int(const Expr *x, int64_t *value) {
    if (x->op != X_INT)
        return false;
    if (value)
        *value = x->i;
    return true;
}

const Expr *x_add(Arena *a, const Expr *x, const Expr *y) {
    int64_t p = 0, q = 0, sum;
    bool left = x_is_int(x, &p), right = x_is_int(y, &q);
    if (left && right && !__builtin_add_overflow(p, q, &sum))
        return x_int(a, x->type.dtype, sum);
    if (left && p == 0)
        return y;
    if (right && q == 0)
        return x;
    if (right && q < 0 && q > INT64_MIN)
        return x_sub(a, x, x_int(a, x->type.dtype, -q));
    return x_binary(a, X_ADD, x->type, x, y);
}

const Expr *x_sub(Arena *a, const Expr *x, const Expr *y) {
    int64_t p = 0, q = 0, sum;
    bool left = x_is_int(x, &p), right = x_is_int(y, &q);
    if (left && right && !__builtin_sub_overflow(p, q, &sum))
        return x_int(a, x->type.dtype, sum);
    if (right && q == 0)
        return x;
    return x_binary(a, X_SUB, x->type, x, y);
}

const Expr *x_mul(Arena *a, const Expr *x, const Expr *y) {
    int64_t p = 0, q = 0, product;
    bool left = x_is_int(x, &p), right = x_is_int(y, &q);
    if (left && right && !__builtin_mul_overflow(p, q, &product))
        return x_int(a, x->type.dtype, product);
    if ((left && p == 0) || (right && q == 1))
        return x;
    if ((right && q == 0) || (left && p == 1))
        return y;
    return x_binary(a, X_MUL, x->type, x, y);
}

Stmt *loop_stmt(Arena *a, Stmts *list, StmtOp op) {
    Stmt *s = NEW(a, Stmt);
    s->op = op;
    vec_push(a, list, s);
    return s;
}

const char *loop_symbol(const LoopModule *m, const Dim *symbol) {
    for (int i = 0; i < m->symbols.len; i++) {
        if (m->symbols.data[i].dim == symbol)
            return m->symbols.data[i].name;
    }
    return NULL;
}

const LoopBlock *loop_block(const LoopModule *m, const CoreBlock *block) {
    for (int i = 0; i < m->blocks.len; i++) {
        if (m->blocks.data[i].block == block)
            return &m->blocks.data[i];
    }
    return NULL;
}

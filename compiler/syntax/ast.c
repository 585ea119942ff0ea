// Nodes and their names.
#include "syntax/ast.h"

Expr *expr_new(Session *s, ExprKind kind, Span span) {
    Expr *e = NEW(s->arena, Expr);
    e->kind = kind;
    e->span = span;
    return e;
}

Stmt *stmt_new(Session *s, StmtKind kind, Span span) {
    Stmt *stmt = NEW(s->arena, Stmt);
    stmt->kind = kind;
    stmt->span = span;
    return stmt;
}

Item *item_new(Session *s, ItemKind kind, Span span) {
    Item *item = NEW(s->arena, Item);
    item->kind = kind;
    item->span = span;
    return item;
}

static const struct {
    const char *text;
    int precedence;
} binary[] = {
    [BINARY_OROR] = {"||", 1}, [BINARY_ANDAND] = {"&&", 2}, [BINARY_EQ] = {"==", 3},
    [BINARY_NE] = {"!=", 3},   [BINARY_LT] = {"<", 4},      [BINARY_LE] = {"<=", 4},
    [BINARY_GT] = {">", 4},    [BINARY_GE] = {">=", 4},     [BINARY_OR] = {"|", 5},
    [BINARY_XOR] = {"^", 6},   [BINARY_AND] = {"&", 7},     [BINARY_ADD] = {"+", 8},
    [BINARY_SUB] = {"-", 8},   [BINARY_MUL] = {"*", 9},     [BINARY_DIV] = {"/", 9},
    [BINARY_MOD] = {"%", 9},
};

const char *binary_text(BinaryOp op) {
    return binary[op].text;
}

int binary_precedence(BinaryOp op) {
    return binary[op].precedence;
}

const char *unary_text(UnaryOp op) {
    return op == UNARY_NEG ? "-" : op == UNARY_NOT ? "!" : "+";
}

const char *reduce_text(ReduceKind k) {
    static const char *const names[] = {"sum", "prod", "max", "min", "any", "all"};
    return names[k];
}

const char *item_kind_text(ItemKind k) {
    static const char *const names[] = {"const", "type",   "struct", "enum",  "fn",
                                        "op",    "kernel", "entry",  "block", "inference"};
    return names[k];
}

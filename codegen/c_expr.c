// Expressions as C text.
#include "codegen/c_text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *scalar_type(const LoopType *t) {
    if (t->size)
        return "size_t";
    if (dtype_is_float(t->dtype) && dtype_size(t->dtype) == 2)
        return t->pointer || t->bits ? "uint16_t" : "float";
    return dtype_c(t->dtype);
}

const char *c_declare(const LoopModule *m, LoopType t, const char *name, bool restricted) {
    Arena *a = m->core->session->arena;
    const LoopBlock *block = t.block ? loop_block(m, t.block) : NULL;
    const char *type = block ? block->name : scalar_type(&t);
    const char *star = block || t.pointer ? "*" : "";
    const char *constant = t.constant ? "const " : "";
    return arena_printf(a, "%s%s %s%s%s", constant, type, star, restricted ? "restrict " : "",
                        name);
}

const char *c_type(const LoopModule *m, LoopType t) {
    char *text = arena_printf(m->core->session->arena, "%s", c_declare(m, t, "", false));
    size_t n = strlen(text);
    if (n && text[n - 1] == ' ')
        text[n - 1] = 0;
    return text;
}

// ---- Literals ----------------------------------------------------------------------------------

static void integer(StrBuf *b, const Expr *x) {
    if (x->type.dtype == DT_BOOL)
        strbuf_printf(b, "%s", x->i ? "true" : "false");
    else if (x->type.dtype == DT_U64 || x->type.dtype == DT_U32)
        strbuf_printf(b, "%lluu", (unsigned long long)x->i);
    else if (x->i == INT64_MIN || x->i == INT64_MAX)
        strbuf_printf(b, x->i < 0 ? "INT64_MIN" : "INT64_MAX");
    else if (x->i == INT32_MIN)
        strbuf_printf(b, "INT32_MIN");
    else
        strbuf_printf(b, "%lld", (long long)x->i);
}

// The shortest decimal that reads back as the same number.
static void real(StrBuf *b, const Expr *x) {
    bool is_double = x->type.dtype == DT_F64;
    double v = x->f;
    char text[40];
    if (isnan(v) || isinf(v)) {
        strbuf_printf(b, "%s", isnan(v) ? "NAN" : v > 0 ? "INFINITY" : "-INFINITY");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (is_double ? strtod(text, NULL) == v : strtof(text, NULL) == (float)v)
            break;
    }
    const char *dot = strpbrk(text, ".e") ? "" : ".0";
    strbuf_printf(b, "%s%s%s", text, dot, is_double ? "" : "f");
}

static bool is_negative(const Expr *x) {
    return x->op == X_NEG || (x->op == X_REAL && signbit(x->f) && !isnan(x->f)) ||
           (x->op == X_INT && x->i < 0 && x->i > INT32_MIN && x->type.dtype != DT_U64) ||
           (x->op == X_INT && x->i < INT32_MIN && x->i > INT64_MIN && x->type.dtype != DT_U64);
}

// ---- Operators ---------------------------------------------------------------------------------

static bool is_binary(ExprOp op) {
    return op >= X_LOR && op <= X_MOD;
}

// Does a child need parentheses? Also where C does not ask, but compilers warn.
static bool needs_parens(const Expr *parent, const Expr *child, bool right) {
    int p = loop_op_level(parent->op), c = loop_op_level(child->op);
    if (is_negative(child))
        return p >= loop_op_level(X_NEG) || (!right && p >= loop_op_level(X_MUL));
    if (c < p)
        return true;
    if (!is_binary(parent->op) || !is_binary(child->op))
        return false;
    int equal = loop_op_level(X_EQ), less = loop_op_level(X_LT);
    if ((p == equal || p == less) && (c == equal || c == less))
        return true; // comparisons of comparisons
    if (c == p && p < equal)
        return parent->op != child->op;
    if (c == p)
        return right &&
               !(parent->op == X_ADD && child->op == X_ADD && !dtype_is_float(parent->type.dtype));
    bool bits = parent->op == X_OR || parent->op == X_XOR || parent->op == X_AND ||
                parent->op == X_SHL || parent->op == X_SHR;
    return bits || (parent->op == X_LOR && child->op == X_LAND);
}

static void expr(const LoopModule *m, StrBuf *b, const Expr *x);

static void child(const LoopModule *m, StrBuf *b, const Expr *parent, int i) {
    bool parens = needs_parens(parent, parent->args[i], i > 0);
    if (parens)
        strbuf_char(b, '(');
    expr(m, b, parent->args[i]);
    if (parens)
        strbuf_char(b, ')');
}

static void condition(const LoopModule *m, StrBuf *b, const Expr *x) {
    for (int i = 0; i < 3; i++) {
        bool parens = x->args[i]->op == X_COND;
        strbuf_printf(b, "%s%s", i == 1 ? " ? " : i == 2 ? " : " : "", parens ? "(" : "");
        expr(m, b, x->args[i]);
        strbuf_printf(b, "%s", parens ? ")" : "");
    }
}

static void call(const LoopModule *m, StrBuf *b, const Expr *x) {
    strbuf_printf(b, "%s(", x->name);
    for (int i = 0; i < x->count; i++) {
        strbuf_printf(b, "%s", i ? ", " : "");
        expr(m, b, x->args[i]);
    }
    strbuf_char(b, ')');
}

static void expr(const LoopModule *m, StrBuf *b, const Expr *x) {
    switch (x->op) {
    case X_INT:
        integer(b, x);
        break;
    case X_REAL:
        real(b, x);
        break;
    case X_NAME:
        strbuf_printf(b, "%s", x->name);
        break;
    case X_CALL:
        call(m, b, x);
        break;
    case X_COND:
        condition(m, b, x);
        break;
    case X_INDEX:
        child(m, b, x, 0);
        strbuf_char(b, '[');
        expr(m, b, x->args[1]);
        strbuf_char(b, ']');
        break;
    case X_FIELD:
    case X_ARROW:
        child(m, b, x, 0);
        strbuf_printf(b, "%s%s", loop_op_text(x->op), x->name);
        break;
    case X_CAST:
        strbuf_printf(b, "(%s)", c_type(m, x->type));
        child(m, b, x, 0);
        break;
    case X_NEG:
    case X_NOT:
    case X_ADDRESS:
        strbuf_printf(b, "%s", loop_op_text(x->op));
        child(m, b, x, 0);
        break;
    default:
        child(m, b, x, 0);
        strbuf_printf(b, " %s ", loop_op_text(x->op));
        child(m, b, x, 1);
    }
}

const char *c_expr(const LoopModule *m, const Expr *x) {
    StrBuf b = strbuf_new(m->core->session->arena);
    expr(m, &b, x);
    return b.data;
}

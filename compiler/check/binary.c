// Operators: folding of constants and dimensions, dtypes, broadcasting.
#include "check/internal.h"

static bool is_compare(BinaryOp op) {
    return op >= BINARY_EQ && op <= BINARY_GE;
}

// ---- Folding -----------------------------------------------------------------------------------

static bool check_divisor(Checker *c, Expr *e) {
    if (c->in_where || facts_prove(c->facts, e->b->dim, REL_GT, dim_const(c->dims, 0)))
        return true;
    Diag *d = report(c->s, e->b->span, E2205, "the divisor `%s` is not provably positive",
                     dim_text(c->a, e->b->dim));
    if (!dim_is_const(e->b->dim, NULL))
        diag_help(c->s, d, "add `where %s > 0`", dim_text(c->a, e->b->dim));
    make_error(e);
    return false;
}

static const Dim *fold_bits(Checker *c, BinaryOp op, const Dim *a, const Dim *b) {
    int64_t x, y;
    if (!dim_is_const(a, &x) || !dim_is_const(b, &y))
        return NULL;
    int64_t v = op == BINARY_AND ? x & y : op == BINARY_OR ? x | y : x ^ y;
    return dim_const(c->dims, v);
}

static void fold_dims(Checker *c, Expr *e) {
    const Dim *a = e->a->dim, *b = e->b->dim;
    bool divides = e->binary == BINARY_DIV || e->binary == BINARY_MOD;
    if (divides && !check_divisor(c, e))
        return;
    e->type = type_simple(TYPE_INT);
    switch (e->binary) {
    case BINARY_ADD:
        e->dim = dim_add(c->dims, a, b);
        break;
    case BINARY_SUB:
        e->dim = dim_sub(c->dims, a, b);
        break;
    case BINARY_MUL:
        e->dim = dim_mul(c->dims, a, b);
        break;
    case BINARY_DIV:
        e->dim = dim_div(c->dims, a, b);
        break;
    case BINARY_MOD:
        e->dim = dim_mod(c->dims, a, b);
        break;
    default:
        e->dim = fold_bits(c, e->binary, a, b);
    }
    if (e->dim)
        return;
    report(c->s, e->op_span, E2104, "`%s` of dimensions folds only for constants",
           binary_text(e->binary));
    make_error(e);
}

static bool real_of(const Expr *e, double *v) {
    int64_t i = 0;
    if (e->has_real)
        *v = e->real;
    else if (e->dim && dim_is_const(e->dim, &i))
        *v = (double)i;
    else
        return false;
    return true;
}

static bool fold_reals(Expr *e) {
    double x, y;
    if (!real_of(e->a, &x) || !real_of(e->b, &y) || e->binary > BINARY_DIV ||
        e->binary < BINARY_ADD)
        return false;
    e->has_real = true;
    e->real = e->binary == BINARY_ADD   ? x + y
              : e->binary == BINARY_SUB ? x - y
              : e->binary == BINARY_MUL ? x * y
                                        : x / y;
    e->type = type_simple(TYPE_REAL);
    return true;
}

// ---- Operands ----------------------------------------------------------------------------------

static bool is_bool(const Type *t) {
    return t->kind == TYPE_TENSOR && elem_is(t->elem, DT_BOOL);
}

static void bad_operand(Checker *c, Expr *e, const Type *t) {
    report(c->s, e->kind == EXPR_BINARY ? e->op_span : e->span, E2104, "`%s` is not defined for %s",
           e->kind == EXPR_BINARY ? binary_text(e->binary) : unary_text(e->unary),
           type_text(c->a, t));
    make_error(e);
}

// Gives constants the other side's dtype, or the default one. False after a report.
static bool settle(Checker *c, Expr *e, const Type *want) {
    Expr *a = e->a, *b = e->b;
    if (contextual(a->type) && contextual(b->type)) {
        const Type *t = want && want->kind == TYPE_TENSOR && !is_compare(e->binary) ? want : NULL;
        if (!t) {
            bool real = a->type->kind == TYPE_REAL || b->type->kind == TYPE_REAL;
            t = type_scalar(c->a, elem_of(real ? DT_F64 : DT_I64));
        }
        return coerce(c, a, t) && coerce(c, b, t);
    }
    if (contextual(a->type) && b->type->kind == TYPE_TENSOR)
        return coerce(c, a, b->type);
    if (contextual(b->type) && a->type->kind == TYPE_TENSOR)
        return coerce(c, b, a->type);
    return true;
}

static void check_logical(Checker *c, Expr *e) {
    bool fine = type_is_scalar(e->a->type) && is_bool(e->a->type) && type_is_scalar(e->b->type) &&
                is_bool(e->b->type);
    if (!fine) {
        Diag *d = report(c->s, e->op_span, E2116, "`%s` needs scalar bools, not %s and %s",
                         binary_text(e->binary), type_text(c->a, e->a->type),
                         type_text(c->a, e->b->type));
        diag_help(c->s, d, "on tensors of bool write `%s`", e->binary == BINARY_OROR ? "|" : "&");
        make_error(e);
        return;
    }
    e->type = e->a->type;
}

static bool supports(BinaryOp op, Elem elem) {
    bool is_bool_elem = elem_is(elem, DT_BOOL);
    if (op == BINARY_EQ || op == BINARY_NE)
        return is_bool_elem || elem_is_numeric(elem);
    if (op >= BINARY_OR && op <= BINARY_AND)
        return is_bool_elem || elem_is_integer(elem);
    if (op == BINARY_MOD)
        return elem_is_integer(elem);
    return elem_is_numeric(elem);
}

static void check_enums(Checker *c, Expr *e) {
    bool same = e->a->type->decl == e->b->type->decl;
    if (same && (e->binary == BINARY_EQ || e->binary == BINARY_NE))
        e->type = type_scalar(c->a, elem_of(DT_BOOL));
    else
        bad_operand(c, e, e->a->type);
}

static void check_operands(Checker *c, Expr *e, const Type *want) {
    if (e->a->type->kind == TYPE_ENUM && e->b->type->kind == TYPE_ENUM) {
        check_enums(c, e);
        return;
    }
    if (!settle(c, e, want)) {
        make_error(e);
        return;
    }
    const Type *a = expect_tensor(c, e->a), *b = a ? expect_tensor(c, e->b) : NULL;
    make_error(e);
    if (!a || !b)
        return;
    if (e->binary <= BINARY_ANDAND) {
        check_logical(c, e);
        return;
    }
    if (!elem_equal(a->elem, b->elem)) {
        Diag *d = report(c->s, e->op_span, E2103, "`%s` has the operands %s and %s",
                         binary_text(e->binary), type_text(c->a, a), type_text(c->a, b));
        diag_note(c->s, d, e->a->span, "this is %s", elem_text(a->elem));
        diag_note(c->s, d, e->b->span, "this is %s", elem_text(b->elem));
        diag_help(c->s, d, "write cast<%s>(...) around one of them", elem_text(a->elem));
        return;
    }
    if (!supports(e->binary, a->elem)) {
        bad_operand(c, e, a);
        return;
    }
    const Type *t =
        broadcast(c, a, b, is_compare(e->binary) ? elem_of(DT_BOOL) : a->elem, e->op_span);
    if (t)
        e->type = t;
}

// ---- Unary -------------------------------------------------------------------------------------

static void check_unary(Checker *c, Expr *e, const Type *want) {
    check_expr(c, e->a, want);
    const Type *t = e->type = e->a->type;
    if (t->kind == TYPE_ERROR)
        return;
    if (e->unary == UNARY_NOT) {
        if (type_is_scalar(t) && is_bool(t))
            return;
        Diag *d =
            report(c->s, e->span, E2116, "`!` needs a scalar bool, not %s", type_text(c->a, t));
        if (is_bool(t))
            diag_help(c->s, d, "on a tensor of bool write `x ^ true`");
        make_error(e);
        return;
    }
    bool neg = e->unary == UNARY_NEG;
    if (e->a->dim && t->kind == TYPE_INT)
        e->dim = neg ? dim_sub(c->dims, dim_const(c->dims, 0), e->a->dim) : e->a->dim;
    else if (e->a->has_real && t->kind == TYPE_REAL) {
        e->has_real = true;
        e->real = neg ? -e->a->real : e->a->real;
    } else if (t->kind == TYPE_TENSOR ? !elem_is_numeric(t->elem) : !contextual(t)) {
        bad_operand(c, e, t);
    }
}

void check_binary(Checker *c, Expr *e, const Type *want) {
    if (e->kind == EXPR_UNARY) {
        check_unary(c, e, want);
        return;
    }
    check_expr(c, e->a, NULL);
    check_expr(c, e->b, NULL);
    if (is_error(e->a) || is_error(e->b)) {
        make_error(e);
        return;
    }
    bool folds = e->binary >= BINARY_OR;
    bool ints = e->a->type->kind == TYPE_INT && e->b->type->kind == TYPE_INT;
    if (folds && ints && e->a->dim && e->b->dim)
        fold_dims(c, e);
    else if (!(folds && contextual(e->a->type) && contextual(e->b->type) && fold_reals(e)))
        check_operands(c, e, want);
}

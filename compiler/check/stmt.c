// Statements and patterns.
#include "check/internal.h"

// ---- Patterns ----------------------------------------------------------------------------------

static void bind_pattern(Checker *c, Pattern *p, const Type *type, const Dim *dim) {
    p->type = type;
    p->variant = -1;
    switch (p->kind) {
    case PATTERN_NAME:
        p->local = declare(c, p->name, p->span, type, false);
        p->local->dim = dim;
        return;
    case PATTERN_WILD:
        return;
    case PATTERN_TUPLE: {
        bool fits = type->kind == TYPE_TUPLE && type->item_count == p->items.len;
        if (!fits && type->kind != TYPE_ERROR)
            report(c->s, p->span, E2117, "a pattern of %d can't match %s", p->items.len,
                   type_text(c->a, type));
        for (int i = 0; i < p->items.len; i++)
            bind_pattern(c, p->items.data[i], fits ? type->items[i] : type_error(), NULL);
        return;
    }
    case PATTERN_SOME:
    case PATTERN_NONE:
        report(c->s, p->span, E2117, "`some` and `none` stand only in the arms of a match");
        if (p->items.len)
            bind_pattern(c, p->items.data[0], type_error(), NULL);
    }
}

// Binds an arm's pattern. The number of the case it covers (some 0, none 1, variants), ARM_ALL, or
// -1 after a report.
int check_arm_pattern(Checker *c, Pattern *p, const Type *type) {
    p->type = type;
    p->variant = -1;
    bool optional = type->kind == TYPE_OPTIONAL;
    if (p->kind == PATTERN_SOME) {
        bind_pattern(c, p->items.data[0], optional ? type->items[0] : type_error(), NULL);
    } else if (p->kind == PATTERN_NAME && type->kind == TYPE_ENUM) {
        for (int i = 0; i < type->decl->variants.len; i++) {
            if (type->decl->variants.data[i].name == p->name)
                return p->variant = i;
        }
    }
    if (p->kind == PATTERN_NAME && type->kind == TYPE_ENUM) {
        Diag *d =
            report(c->s, p->span, E2107, "`%s` has no variant `%s`", type->decl->name, p->name);
        diag_help(c->s, d, "write `_` for every other case");
        return ARM_ALL;
    }
    if (p->kind == PATTERN_NAME || p->kind == PATTERN_WILD) {
        bind_pattern(c, p, type, NULL);
        return ARM_ALL;
    }
    if (optional && (p->kind == PATTERN_SOME || p->kind == PATTERN_NONE))
        return p->kind == PATTERN_NONE;
    if (type->kind != TYPE_ERROR)
        report(c->s, p->span, E2117, "this pattern can't match %s", type_text(c->a, type));
    return -1;
}

// ---- Values ------------------------------------------------------------------------------------

static void check_scan(Checker *c, Expr *e);

// The right side of let, var, assignment, return: a scan is allowed here.
static void check_value(Checker *c, Expr *e, const Type *want) {
    if (e->kind == EXPR_FOR && !e->parens)
        check_scan(c, e);
    else
        check_expr(c, e, want);
}

static bool is_value(const Type *t) {
    return t->kind != TYPE_UNIT && t->kind != TYPE_SHAPE;
}

// The type a local takes from its value: a symbolic dimension stays one.
static const Type *local_type(Checker *c, Expr *e) {
    if (e->type->kind == TYPE_NONE) {
        report(c->s, e->span, E2113, "`none` needs an optional type here");
        return type_error();
    }
    bool block = e->type->kind == TYPE_BLOCK || e->type->kind == TYPE_ARRAY;
    if (block || !is_value(e->type)) {
        report(c->s, e->span, E2101, block ? "a block is not a value" : "this gives no value");
        return type_error();
    }
    bool symbolic = e->type->kind == TYPE_INT && e->dim && !dim_is_const(e->dim, NULL);
    if (!symbolic)
        default_literal(c, e);
    return e->type;
}

static void check_let(Checker *c, Stmt *st) {
    const Type *want = st->type ? resolve_type(c, st->type) : NULL;
    check_value(c, st->value, want);
    const Type *type = want;
    if (want && !is_error(st->value))
        expect_type(c, st->value, want, st->value->span, "the value");
    else if (!is_error(st->value))
        type = local_type(c, st->value);
    else if (!want)
        type = type_error();
    // In a narrower dtype the number may have another value than the dimension.
    bool narrow = want && !(type_is_scalar(want) && elem_is(want->elem, DT_I64));
    bind_pattern(c, st->pattern, type, narrow ? NULL : st->value->dim);
}

static void check_var(Checker *c, Stmt *st) {
    const Type *want = st->type ? resolve_type(c, st->type) : NULL;
    check_value(c, st->value, want);
    const Type *type = want ? want : st->value->type;
    if (want && !is_error(st->value))
        expect_type(c, st->value, want, st->value->span, "the value");
    if (!want && !is_error(st->value)) {
        default_literal(c, st->value);
        type = local_type(c, st->value);
    }
    st->local = declare(c, st->name, st->name_span, type, true);
}

static const Type *assigned_type(Checker *c, Stmt *st) {
    Ref ref = lookup(c, st->name);
    if (ref.kind == REF_LOCAL && ref.local->mutable) {
        st->local = ref.local;
        return ref.local->type;
    }
    if (ref.kind == REF_MEMBER && ref.member->role == AST_STATE) {
        if (c->fn->kind == ITEM_OP)
            report(c->s, st->name_span, E2108, "`%s` is an op and can't assign the state `%s`",
                   c->fn->name, st->name);
        st->member = ref.member;
        ref.member->used = true;
        return ref.member->type;
    }
    if (ref.kind == REF_NONE)
        unknown_name(c, st->name, st->name_span);
    else
        report(c->s, st->name_span, E2108, "`%s` can't be assigned: it is no `var` and no state",
               st->name);
    return type_error();
}

static void check_assign(Checker *c, Stmt *st) {
    const Type *want = assigned_type(c, st);
    check_value(c, st->value, want);
    if (is_error(st->value) || want->kind == TYPE_ERROR)
        return;
    bool misfit = st->value->type->kind == TYPE_REAL && want->kind == TYPE_TENSOR &&
                  !elem_is_float(want->elem);
    if (!misfit)
        coerce(c, st->value, want);
    if (is_error(st->value) || type_equal(st->value->type, want, c->facts))
        return;
    Diag *d = report(c->s, st->value->span, E2109, "`%s` is %s and can't become %s", st->name,
                     type_text(c->a, want), type_text(c->a, st->value->type));
    if (st->local)
        diag_note(c->s, d, st->local->span, "it is declared here");
}

static void check_return(Checker *c, Stmt *st, bool last) {
    const Type *want = c->fn->type;
    if (in_kernel(c)) {
        report(c->s, st->span, E2120, "a kernel has no result to return: it stores");
        return;
    }
    if (!last || c->loop_depth)
        report(c->s, st->span, E2120, "`return` stands at the end of a function only");
    if (!st->value) {
        if (want->kind != TYPE_UNIT && want->kind != TYPE_ERROR)
            report(c->s, st->span, E2120, "`%s` returns %s", c->fn->name, type_text(c->a, want));
        return;
    }
    check_value(c, st->value, want);
    if (want->kind == TYPE_UNIT && !is_error(st->value))
        report(c->s, st->value->span, E2101, "`%s` has no result", c->fn->name);
    else if (!is_error(st->value))
        expect_type(c, st->value, want, st->value->span, "the result");
}

// ---- Loops -------------------------------------------------------------------------------------

static bool check_range(Checker *c, Expr *from, Expr *to, const Dim **a, const Dim **b,
                        DiagCode code) {
    Expr *ends[] = {from, to};
    for (int i = 0; i < 2; i++) {
        check_expr(c, ends[i], NULL);
        if (is_error(ends[i]))
            return false;
        if (!ends[i]->dim) {
            report(c->s, ends[i]->span, code, "the range needs compile-time bounds");
            return false;
        }
        default_literal(c, ends[i]);
    }
    *a = from->dim;
    *b = to->dim;
    if (facts_prove(c->facts, *b, REL_GE, *a))
        return true;
    Diag *d = report(c->s, span_join(from->span, to->span), code,
                     "`%s` is not provably at least `%s`", dim_text(c->a, *b), dim_text(c->a, *a));
    diag_help(c->s, d, "add it to the `where`");
    return false;
}

static void loop_body(Checker *c, Pattern *p, const Type *type, StmtVec *body) {
    Scope scope;
    scope_push(c, &scope);
    if (p)
        bind_pattern(c, p, type, NULL);
    c->loop_depth++;
    bool scan = c->in_scan;
    c->in_scan = false;
    check_stmts(c, body, false);
    c->in_scan = scan;
    c->loop_depth--;
    scope_pop(c);
}

static void check_static_for(Checker *c, Stmt *st) {
    const Type *type = type_error();
    if (st->from) {
        if (check_range(c, st->from, st->to, &st->first, &st->last, E2121))
            type = type_scalar(c->a, elem_of(DT_I64));
    } else {
        check_expr(c, st->value, NULL);
        if (st->value->type->kind == TYPE_ARRAY)
            type = st->value->type->items[0];
        else if (!is_error(st->value))
            report(c->s, st->value->span, E2121,
                   "`static for` iterates an array of sub-blocks or a range, not %s",
                   type_text(c->a, st->value->type));
    }
    loop_body(c, st->pattern, type, &st->body);
}

static void check_while(Checker *c, Stmt *st) {
    check_expr(c, st->value, NULL);
    const Type *t = st->value->type;
    if (!is_error(st->value) && !(type_is_scalar(t) && elem_is(t->elem, DT_BOOL)))
        report(c->s, st->value->span, E2114, "the condition must be a scalar bool, not %s",
               type_text(c->a, t));
    loop_body(c, NULL, NULL, &st->body);
}

static void check_for(Checker *c, Stmt *st) {
    const Type *type = type_error();
    if (check_range(c, st->from, st->to, &st->first, &st->last, E2123))
        type = type_scalar(c->a, elem_of(DT_I64));
    loop_body(c, st->pattern, type, &st->body);
}

static void check_yield(Checker *c, Stmt *st) {
    check_expr(c, st->value, NULL);
    default_literal(c, st->value);
    if (!c->in_scan) {
        report(c->s, st->span, E2124, "`yield` stands at the end of a `for` that gives a value");
        return;
    }
    if (c->yield)
        report(c->s, st->span, E2124, "a `for` yields once");
    c->yield = st->value->type;
}

static const Type *stacked(Checker *c, const Type *t, const Dim *n) {
    if (t->kind == TYPE_TENSOR) {
        Axis *axes = NEW_N(c->a, Axis, t->rank + 1);
        axes[0] = (Axis){n, NULL};
        for (int i = 0; i < t->rank; i++)
            axes[i + 1] = t->axes[i];
        return type_tensor(c->a, t->elem, t->rank + 1, axes);
    }
    if (t->kind != TYPE_TUPLE)
        return type_error();
    const Type **items = NEW_N(c->a, const Type *, t->item_count);
    for (int i = 0; i < t->item_count; i++)
        items[i] = stacked(c, t->items[i], n);
    return type_tuple(c->a, t->item_count, items);
}

// for i in a..b { ... yield v }: the yields stacked on a new leading axis.
static void check_scan(Checker *c, Expr *e) {
    make_error(e);
    bool good = check_range(c, e->a, e->b, &e->from, &e->to, E2123);
    Scope scope;
    scope_push(c, &scope);
    bind_pattern(c, e->pattern, good ? type_scalar(c->a, elem_of(DT_I64)) : type_error(), NULL);
    bool outer = c->in_scan;
    const Type *yield = c->yield;
    c->in_scan = true;
    c->yield = NULL;
    c->loop_depth++;
    check_stmts(c, &e->body, false);
    c->loop_depth--;
    if (!c->yield)
        report(c->s, e->span, E2124, "this `for` yields nothing");
    else if (good)
        e->type = stacked(c, c->yield, facts_simplify(c->facts, dim_sub(c->dims, e->to, e->from)));
    c->in_scan = outer;
    c->yield = yield;
    scope_pop(c);
}

// ---- Lists of statements -----------------------------------------------------------------------

static void check_stmt(Checker *c, Stmt *st, bool last) {
    switch (st->kind) {
    case STMT_LET:
        check_let(c, st);
        break;
    case STMT_LET_INDEX:
        check_notation(c, st);
        break;
    case STMT_VAR:
        check_var(c, st);
        break;
    case STMT_ASSIGN:
        check_assign(c, st);
        break;
    case STMT_RETURN:
        check_return(c, st, last);
        break;
    case STMT_STATIC_FOR:
        check_static_for(c, st);
        break;
    case STMT_WHILE:
        check_while(c, st);
        break;
    case STMT_FOR:
        check_for(c, st);
        break;
    case STMT_YIELD:
        check_yield(c, st);
        break;
    case STMT_STORE:
        check_store(c, st);
        break;
    case STMT_ERROR:
        break;
    }
}

void check_stmts(Checker *c, StmtVec *body, bool is_fn_body) {
    bool broken = false;
    for (int i = 0; i < body->len; i++) {
        check_stmt(c, body->data[i], is_fn_body && i == body->len - 1);
        broken |= body->data[i]->kind == STMT_ERROR;
    }
    if (!is_fn_body || broken || c->fn->type->kind == TYPE_UNIT || c->fn->type->kind == TYPE_ERROR)
        return;
    if (!body->len || vec_last(body)->kind != STMT_RETURN)
        report(c->s, c->fn->name_span, E2120, "`%s` must end in `return`", c->fn->name);
}

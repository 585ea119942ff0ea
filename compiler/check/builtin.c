// Calls of the prelude's functions.
#include "check/internal.h"
#include <string.h>

static const struct {
    int least, most, generics;
} limits[] = {
#define BUILTIN(id, name, least, most, generics) {least, most, generics},
#include "check/builtins.def"
#undef BUILTIN
};

static Expr *arg(Expr *e, int i) {
    return e->args.data[i].value;
}

static void bad_type(Checker *c, Expr *e, Expr *at, const char *need) {
    report(c->s, at->span, E2104, "`%s` needs %s, not %s", builtin_name((Builtin)e->builtin), need,
           type_text(c->a, at->type));
    make_error(e);
}

// ---- Elementwise -------------------------------------------------------------------------------

static void check_float_fn(Checker *c, Expr *e, const Type *want) {
    Expr *x = arg(e, 0);
    if (contextual(x->type) && want && want->kind == TYPE_TENSOR && elem_is_float(want->elem))
        coerce(c, x, type_scalar(c->a, want->elem));
    if (x->type->kind == TYPE_INT)
        coerce(c, x, type_scalar(c->a, elem_of(DT_F64)));
    const Type *t = expect_tensor(c, x);
    if (t && !elem_is_float(t->elem))
        bad_type(c, e, x, "floats");
    else
        e->type = t ? t : type_error();
}

static void check_abs(Checker *c, Expr *e) {
    const Type *t = expect_tensor(c, arg(e, 0));
    if (t && !elem_is_numeric(t->elem))
        bad_type(c, e, arg(e, 0), "numbers");
    else
        e->type = t ? t : type_error();
}

// Two operands of one dtype; a constant adopts the other's. Leaves TYPE_ERROR after a report.
static void check_pair(Checker *c, Expr *e, Expr *a, Expr *b) {
    make_error(e);
    if (contextual(a->type) ? !coerce(c, a, b->type) : !coerce(c, b, a->type))
        return;
    const Type *x = expect_tensor(c, a), *y = expect_tensor(c, b);
    if (!x || !y)
        return;
    if (!elem_equal(x->elem, y->elem)) {
        report(c->s, e->span, E2103, "`%s` has the operands %s and %s",
               builtin_name((Builtin)e->builtin), type_text(c->a, x), type_text(c->a, y));
        return;
    }
    const Type *t = broadcast(c, x, y, x->elem, e->span);
    if (t)
        e->type = t;
}

static void check_min_max(Checker *c, Expr *e) {
    Expr *a = arg(e, 0), *b = arg(e, 1);
    if (a->type->kind == TYPE_INT && b->type->kind == TYPE_INT && a->dim && b->dim) {
        e->dim = e->builtin == BI_MIN ? dim_min(c->dims, a->dim, b->dim)
                                      : dim_max(c->dims, a->dim, b->dim);
        e->type = type_simple(TYPE_INT);
    } else if (contextual(a->type) && contextual(b->type)) {
        e->type = a->type->kind == TYPE_REAL ? a->type : b->type;
    } else {
        check_pair(c, e, a, b);
        if (!is_error(e) && !elem_is_numeric(e->type->elem))
            bad_type(c, e, a, "numbers");
    }
}

static void check_shift(Checker *c, Expr *e) {
    check_pair(c, e, arg(e, 0), arg(e, 1));
    if (!is_error(e) && !elem_is_integer(e->type->elem))
        bad_type(c, e, arg(e, 0), "integers");
}

static void check_select(Checker *c, Expr *e, const Type *want) {
    Expr *cond = arg(e, 0), *a = arg(e, 1), *b = arg(e, 2);
    const Type *t = expect_tensor(c, cond);
    if (t && !elem_is(t->elem, DT_BOOL)) {
        report(c->s, cond->span, E2114, "the condition must be bool, not %s",
               type_text(c->a, cond->type));
        t = NULL;
    }
    make_error(e);
    if (!t)
        return;
    if (contextual(a->type) && contextual(b->type)) {
        bool real = a->type->kind == TYPE_REAL || b->type->kind == TYPE_REAL;
        if (t->rank == 0) {
            e->type = type_simple(real ? TYPE_REAL : TYPE_INT);
            return;
        }
        Elem elem =
            want && want->kind == TYPE_TENSOR ? want->elem : elem_of(real ? DT_F64 : DT_I64);
        if (!coerce(c, a, type_scalar(c->a, elem)) || !coerce(c, b, type_scalar(c->a, elem)))
            return;
    }
    check_pair(c, e, a, b);
    if (is_error(e))
        return;
    const Type *both = broadcast(c, t, e->type, e->type->elem, e->span);
    e->type = both ? both : type_error();
}

static void check_cast(Checker *c, Expr *e) {
    Expr *x = arg(e, 0);
    Elem to = e->bound[0].elem;
    make_error(e);
    if (!e->bound[0].bound)
        return;
    if (contextual(x->type) && !elem_is(to, DT_BOOL)) {
        default_literal(c, x);
        if (!is_error(x))
            e->type = type_scalar(c->a, to);
        return;
    }
    const Type *t = expect_tensor(c, x);
    if (t)
        e->type = type_tensor(c->a, to, t->rank, t->axes);
}

// ---- Shapes ------------------------------------------------------------------------------------

static bool shape_arg(Checker *c, Expr *e, Expr *shape) {
    if (shape->kind != EXPR_SHAPE) {
        report(c->s, shape->span, E2102, "a shape such as [B, S] is needed here");
        return false;
    }
    shape->type = type_simple(TYPE_SHAPE);
    shape->axes = resolve_shape(c, &shape->shape, &shape->axis_count);
    e->axes = shape->axes;
    e->axis_count = shape->axis_count;
    return shape->axes != NULL;
}

// The product of the plain axes; packs are counted in *packs by identity.
static const Dim *product(Checker *c, const Axis *axes, int n) {
    const Dim *p = dim_const(c->dims, 1);
    for (int i = 0; i < n; i++) {
        if (!axes[i].pack)
            p = dim_mul(c->dims, p, axes[i].dim);
    }
    return p;
}

static int count_pack(const Axis *axes, int n, const Generic *pack) {
    int count = 0;
    for (int i = 0; i < n; i++)
        count += axes[i].pack == pack;
    return count;
}

static bool same_packs(const Axis *a, int n, const Axis *b, int m) {
    for (int i = 0; i < n; i++) {
        if (a[i].pack && count_pack(a, n, a[i].pack) != count_pack(b, m, a[i].pack))
            return false;
    }
    for (int i = 0; i < m; i++) {
        if (b[i].pack && !count_pack(a, n, b[i].pack))
            return false;
    }
    return true;
}

static void check_reshape(Checker *c, Expr *e) {
    const Type *t = expect_tensor(c, arg(e, 0));
    make_error(e);
    if (!t || !shape_arg(c, e, arg(e, 1)))
        return;
    const Dim *from = product(c, t->axes, t->rank), *to = product(c, e->axes, e->axis_count);
    const Type *made = type_tensor(c->a, t->elem, e->axis_count, e->axes);
    if (!same_packs(t->axes, t->rank, e->axes, e->axis_count) ||
        !facts_prove(c->facts, from, REL_EQ, to)) {
        Diag *d = report(c->s, e->span, E2203, "reshape of %s to %s changes the number of elements",
                         type_text(c->a, t), type_text(c->a, made));
        if (from == to)
            diag_note(c->s, d, (Span){0}, "the packs on both sides differ");
        else
            diag_note(c->s, d, (Span){0}, "there are `%s` and `%s`: not provably equal",
                      dim_text(c->a, from), dim_text(c->a, to));
        return;
    }
    e->type = made;
}

static void check_broadcast_to(Checker *c, Expr *e) {
    const Type *t = expect_tensor(c, arg(e, 0));
    make_error(e);
    if (!t || !shape_arg(c, e, arg(e, 1)))
        return;
    const Type *to = type_tensor(c->a, t->elem, e->axis_count, e->axes);
    const Type *both = broadcast(c, t, to, t->elem, e->span);
    if (!both)
        return;
    if (!type_equal(both, to, c->facts))
        report(c->s, e->span, E2207, "%s does not broadcast to %s", type_text(c->a, t),
               type_text(c->a, to));
    else
        e->type = to;
}

static void check_permute(Checker *c, Expr *e) {
    const Type *t = expect_tensor(c, arg(e, 0));
    Expr *shape = arg(e, 1);
    make_error(e);
    if (!t || !shape_arg(c, e, shape))
        return;
    Axis *axes = NEW_N(c->a, Axis, t->rank + 1);
    bool *seen = NEW_N(c->a, bool, t->rank + 1);
    bool good = e->axis_count == t->rank;
    for (int i = 0; good && i < t->rank; i++) {
        int64_t k = -1;
        good = !t->axes[i].pack && !e->axes[i].pack && dim_is_const(e->axes[i].dim, &k) && k >= 0 &&
               k < t->rank && !seen[k];
        if (good) {
            seen[k] = true;
            axes[i] = t->axes[k];
        }
    }
    if (good)
        e->type = type_tensor(c->a, t->elem, t->rank, axes);
    else
        report(c->s, shape->span, E2210, "the axes must name each axis of %s once",
               type_text(c->a, t));
}

// The value of `axis = k`, counted from the back if negative; -1 after a report.
static int axis_arg(Checker *c, Expr *e, const Type *t) {
    Expr *axis = NULL;
    for (int i = 0; i < e->args.len; i++) {
        if (e->args.data[i].keyword && strcmp(e->args.data[i].keyword, "axis") == 0)
            axis = arg(e, i);
    }
    int64_t k;
    if (!axis) {
        report(c->s, e->span, E2102, "`%s` needs `axis = k`", builtin_name((Builtin)e->builtin));
        return -1;
    }
    if (!axis->dim || !dim_is_const(axis->dim, &k) || k < -t->rank || k >= t->rank) {
        report(c->s, axis->span, E2210, "%s has no such axis", type_text(c->a, t));
        return -1;
    }
    for (int i = (int)k; k < 0 ? i < 0 : i >= 0; i += k < 0 ? 1 : -1) {
        if (t->axes[k < 0 ? t->rank + i : i].pack) {
            report(c->s, axis->span, E2210,
                   "a pack stands between the axis and the side counted from");
            return -1;
        }
    }
    default_literal(c, axis);
    e->field = (int)(k < 0 ? t->rank + k : k);
    return e->field;
}

static void check_concat(Checker *c, Expr *e) {
    const Type *first = NULL;
    const Dim *sum = NULL;
    int axis = -1, count = 0;
    make_error(e);
    for (int i = 0; i < e->args.len; i++) {
        if (e->args.data[i].keyword)
            continue;
        const Type *t = expect_tensor(c, arg(e, i));
        if (!t)
            return;
        if (!first && (axis = axis_arg(c, e, t)) < 0)
            return;
        count++;
        if (first && (t->rank != first->rank || !elem_equal(t->elem, first->elem))) {
            mismatch(c, arg(e, i)->span, first, t, "the tensor to join");
            return;
        }
        for (int k = 0; first && k < t->rank; k++) {
            if (k != axis && !axis_equal(t->axes[k], first->axes[k], c->facts)) {
                mismatch(c, arg(e, i)->span, first, t, "off the axis joined, the tensor");
                return;
            }
        }
        sum = first ? dim_add(c->dims, sum, t->axes[axis].dim) : t->axes[axis].dim;
        first = first ? first : t;
    }
    if (count < 2) {
        report(c->s, e->span, E2102, "`concat` joins at least two tensors");
        return;
    }
    Axis *axes = arena_copy(c->a, first->axes, (size_t)first->rank * sizeof *axes);
    axes[axis].dim = facts_simplify(c->facts, sum);
    e->type = type_tensor(c->a, first->elem, first->rank, axes);
    if (!sound_shape(c, e->type, e->span))
        make_error(e);
}

static void check_cumsum(Checker *c, Expr *e) {
    const Type *t = expect_tensor(c, arg(e, 0));
    make_error(e);
    if (!t || axis_arg(c, e, t) < 0)
        return;
    if (!elem_is_numeric(t->elem))
        report(c->s, e->span, E2112, "`cumsum` needs numbers, not %s", type_text(c->a, t));
    else
        e->type = t;
}

static void check_iota(Checker *c, Expr *e) {
    Elem elem = e->bound[0].bound ? e->bound[0].elem : elem_of(DT_I64);
    const Dim *n = resolve_dim(c, arg(e, 0));
    make_error(e);
    if (!n)
        return;
    default_literal(c, arg(e, 0));
    Axis axis = {n, NULL};
    if (is_negative(c, n))
        report(c->s, e->span, E2208, "the dimension `%s` is negative", dim_text(c->a, n));
    else if (!elem_is_numeric(elem))
        report(c->s, e->span, E2112, "`iota` needs a number type");
    else
        e->type = type_tensor(c->a, elem, 1, &axis);
}

static void check_fill(Checker *c, Expr *e, const Type *want) {
    Expr *value = arg(e, 1);
    make_error(e);
    if (!shape_arg(c, e, arg(e, 0)) || is_error(value))
        return;
    if (e->bound[0].bound &&
        !expect_type(c, value, type_scalar(c->a, e->bound[0].elem), value->span, "the value"))
        return;
    if (contextual(value->type) && want && want->kind == TYPE_TENSOR)
        coerce(c, value, type_scalar(c->a, want->elem));
    default_literal(c, value);
    if (is_error(value))
        return;
    if (type_is_scalar(value->type))
        e->type = type_tensor(c->a, value->type->elem, e->axis_count, e->axes);
    else
        bad_type(c, e, value, "a scalar");
}

// ---- The call ----------------------------------------------------------------------------------

static bool generic_arg(Checker *c, Expr *e) {
    GenericArg *bound = NEW(c->a, GenericArg);
    e->bound = bound;
    e->bound_count = 1;
    int most = limits[e->builtin].generics;
    if (e->generics.len > most || (e->builtin == BI_CAST && e->generics.len != 1) ||
        (e->generics.len && !e->generics.data[0].type)) {
        report(c->s, e->span, E2111, "`%s` takes %s", builtin_name((Builtin)e->builtin),
               most ? "one element type: <f32>" : "no generic arguments");
        return false;
    }
    if (e->generics.len) {
        bound->elem = resolve_elem(c, e->generics.data[0].type);
        bound->bound = bound->elem.generic || bound->elem.dtype != DT_COUNT;
        return bound->bound;
    }
    return true;
}

// The number of the argument that is a shape, or -1.
static int shape_place(int builtin) {
    switch (builtin) {
    case BI_RESHAPE:
    case BI_BROADCAST_TO:
    case BI_PERMUTE:
        return 1;
    case BI_FILL:
        return 0;
    default:
        return -1;
    }
}

static bool check_args(Checker *c, Expr *e) {
    bool good = true;
    int plain = 0;
    for (int i = 0; i < e->args.len; i++) {
        Expr *x = arg(e, i);
        bool axis = e->args.data[i].keyword && strcmp(e->args.data[i].keyword, "axis") == 0 &&
                    (e->builtin == BI_CONCAT || e->builtin == BI_CUMSUM);
        if (e->args.data[i].keyword && !axis) {
            report(c->s, e->args.data[i].span, E2102, "`%s` has no parameter `%s`",
                   builtin_name((Builtin)e->builtin), e->args.data[i].keyword);
            good = false;
        }
        plain += !axis;
        if (x->kind == EXPR_SHAPE && i == shape_place(e->builtin))
            continue;
        check_expr(c, x, NULL);
        good &= !is_error(x);
    }
    if (good && (plain < limits[e->builtin].least || plain > limits[e->builtin].most)) {
        int least = limits[e->builtin].least;
        report(c->s, e->span, E2102, "`%s` takes %s%d argument%s, not %d",
               builtin_name((Builtin)e->builtin),
               limits[e->builtin].most > least ? "at least " : "", least, least == 1 ? "" : "s",
               plain);
        good = false;
    }
    return good;
}

void check_builtin(Checker *c, Expr *e, const Type *want) {
    make_error(e);
    if (e->builtin >= BI_PAD) {
        bool kernel = e->builtin >= BI_PROGRAM_ID;
        if (kernel && in_kernel(c)) {
            check_kernel_call(c, e);
            return;
        }
        report(c->s, e->span, kernel ? E2127 : E1103,
               kernel ? "`%s` stands only in kernels" : "`%s` is reserved and can't be called",
               builtin_name((Builtin)e->builtin));
        return;
    }
    if (!generic_arg(c, e) || !check_args(c, e))
        return;
    switch ((Builtin)e->builtin) {
    case BI_CAST:
        check_cast(c, e);
        break;
    case BI_ABS:
        check_abs(c, e);
        break;
    case BI_MIN:
    case BI_MAX:
        check_min_max(c, e);
        break;
    case BI_SHL:
    case BI_SHR:
        check_shift(c, e);
        break;
    case BI_SELECT:
        check_select(c, e, want);
        break;
    case BI_RESHAPE:
        check_reshape(c, e);
        break;
    case BI_BROADCAST_TO:
        check_broadcast_to(c, e);
        break;
    case BI_PERMUTE:
        check_permute(c, e);
        break;
    case BI_CONCAT:
        check_concat(c, e);
        break;
    case BI_IOTA:
        check_iota(c, e);
        break;
    case BI_FILL:
        check_fill(c, e, want);
        break;
    case BI_CUMSUM:
        check_cumsum(c, e);
        break;
    default:
        check_float_fn(c, e, want);
    }
}

// Expressions: names, members, literals, if, tuples; literals in context; expected types.
//
// A literal, or arithmetic of literals and dimensions, has the type TYPE_INT or TYPE_REAL until a
// context gives it a dtype (coerce). Its value stays in Expr.dim or Expr.real, and nothing below it
// is evaluated.
#include "check/internal.h"
#include <float.h>
#include <math.h>

void make_error(Expr *e) {
    e->type = type_error();
}

bool is_error(const Expr *e) {
    return e->type->kind == TYPE_ERROR;
}

// ---- Literals in context -----------------------------------------------------------------------

static bool fits_integer(int64_t v, Dtype t) {
    int bits = 8 * dtype_size(t);
    if (dtype_is_signed(t))
        return bits == 64 || (v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1));
    return v >= 0 && (bits == 64 || v < (int64_t)1 << bits);
}

static bool fits_float(double v, Dtype t) {
    double most = t == DT_F16    ? 65504.0
                  : t == DT_BF16 ? 0x1.fep127
                  : t == DT_F32  ? (double)FLT_MAX
                                 : DBL_MAX;
    return fabs(v) <= most;
}

// Checks a folded constant against a concrete dtype: E2105.
static bool check_fit(Checker *c, Expr *e, Elem elem) {
    int64_t v = 0;
    bool fits = true;
    if (elem.generic)
        return true;
    if (e->dim && dim_is_const(e->dim, &v))
        fits = !dtype_is_integer(elem.dtype) || fits_integer(v, elem.dtype);
    else if (e->has_real)
        fits = fits_float(e->real, elem.dtype);
    if (!fits)
        report(c->s, e->span, E2105, "the value does not fit %s", dtype_name(elem.dtype));
    return fits;
}

static bool coerce_parts(Checker *c, Expr *e, const Type *want) {
    if (e->dim || e->has_real)
        return true;
    switch (e->kind) {
    case EXPR_IF:
        return coerce(c, e->a, want) && coerce(c, e->b, want);
    case EXPR_UNARY:
        return coerce(c, e->a, want);
    case EXPR_BINARY:
        return coerce(c, e->a, want) && coerce(c, e->b, want);
    case EXPR_CALL: {
        int first = e->builtin == BI_SELECT;
        for (int i = first; i < e->args.len; i++) {
            if (!coerce(c, e->args.data[i].value, want))
                return false;
        }
        return true;
    }
    case EXPR_MATCH:
        for (int i = 0; i < e->arms.len; i++) {
            if (!coerce(c, e->arms.data[i].value, want))
                return false;
        }
        return true;
    default:
        return true;
    }
}

bool coerce(Checker *c, Expr *e, const Type *want) {
    if (!contextual(e->type) || want->kind != TYPE_TENSOR)
        return true;
    bool allowed =
        e->type->kind == TYPE_REAL ? elem_is_float(want->elem) : elem_is_numeric(want->elem);
    if (!allowed) {
        report(c->s, e->span, E2101, "%s can't be %s",
               e->type->kind == TYPE_REAL ? "a float constant" : "an integer constant",
               elem_text(want->elem));
        make_error(e);
        return false;
    }
    if (!check_fit(c, e, want->elem) || !coerce_parts(c, e, want)) {
        make_error(e);
        return false;
    }
    e->type = type_scalar(c->a, want->elem);
    return true;
}

void default_literal(Checker *c, Expr *e) {
    if (contextual(e->type))
        coerce(c, e, type_scalar(c->a, elem_of(e->type->kind == TYPE_INT ? DT_I64 : DT_F64)));
}

// ---- Expected types ----------------------------------------------------------------------------

// Both shapes, and a mark under the first axis that differs.
static void note_axes(Checker *c, Diag *d, const Type *want, const Type *have) {
    if (want->rank != have->rank) {
        diag_note(c->s, d, (Span){0}, "the ranks are %d and %d", want->rank, have->rank);
        return;
    }
    for (int i = 0; i < want->rank; i++) {
        if (axis_equal(want->axes[i], have->axes[i], c->facts))
            continue;
        StrBuf b = strbuf_new(c->a);
        axes_print(&b, &want->axes[i], 1);
        strbuf_add(&b, STR(" and "));
        axes_print(&b, &have->axes[i], 1);
        diag_note(c->s, d, (Span){0}, "axis %d differs: %s are not provably equal", i, b.data);
    }
}

void mismatch(Checker *c, Span span, const Type *want, const Type *have, const char *what) {
    const char *w = type_text(c->a, want), *h = type_text(c->a, have);
    if (want->kind == TYPE_TENSOR && have->kind == TYPE_TENSOR) {
        if (!elem_equal(want->elem, have->elem)) {
            Diag *d = report(c->s, span, E2103, "%s must be %s, not %s", what, w, h);
            diag_help(c->s, d, "write cast<%s>(...)", elem_text(want->elem));
            return;
        }
        Diag *d = report(c->s, span, E2202, "%s must have the shape of %s, not of %s", what, w, h);
        note_axes(c, d, want, have);
        return;
    }
    Diag *d = report(c->s, span, E2101, "%s must be %s, not %s", what, w, h);
    if (want->kind == TYPE_OPTIONAL && type_equal(want->items[0], have, c->facts))
        diag_help(c->s, d, "write some(...)");
}

bool expect_type(Checker *c, Expr *e, const Type *want, Span span, const char *what) {
    if (is_error(e) || want->kind == TYPE_ERROR)
        return false;
    if (e->type->kind == TYPE_NONE) {
        if (want->kind != TYPE_OPTIONAL) {
            report(c->s, span, E2113, "`none` needs an optional type, not %s",
                   type_text(c->a, want));
            return false;
        }
        e->type = want;
        return true;
    }
    if (contextual(e->type) && want->kind == TYPE_TENSOR && !coerce(c, e, want))
        return false;
    if (contextual(e->type))
        default_literal(c, e);
    if (is_error(e) || type_equal(want, e->type, c->facts))
        return !is_error(e);
    mismatch(c, span, want, e->type, what);
    return false;
}

const Type *expect_tensor(Checker *c, Expr *e) {
    if (is_error(e))
        return NULL;
    default_literal(c, e);
    if (e->type->kind == TYPE_TENSOR)
        return e->type;
    if (!is_error(e))
        report(c->s, e->span, E2104, "a scalar or a tensor is needed here, not %s",
               type_text(c->a, e->type));
    make_error(e);
    return NULL;
}

const Type *broadcast(Checker *c, const Type *a, const Type *b, Elem elem, Span span) {
    int rank = a->rank > b->rank ? a->rank : b->rank;
    Axis *axes = NEW_N(c->a, Axis, rank + 1);
    const Dim *one = dim_const(c->dims, 1);
    for (int i = 1; i <= rank; i++) {
        const Axis *x = i <= a->rank ? &a->axes[a->rank - i] : NULL;
        const Axis *y = i <= b->rank ? &b->axes[b->rank - i] : NULL;
        if (!x || !y || axis_equal(*x, *y, c->facts)) {
            axes[rank - i] = x ? *x : *y;
        } else if (!x->pack && !y->pack && (x->dim == one || y->dim == one)) {
            axes[rank - i] = x->dim == one ? *y : *x;
        } else {
            Diag *d = report(c->s, span, E2207, "the shapes of %s and %s do not broadcast",
                             type_text(c->a, a), type_text(c->a, b));
            StrBuf t = strbuf_new(c->a);
            axes_print(&t, x, 1);
            strbuf_add(&t, STR(" and "));
            axes_print(&t, y, 1);
            diag_note(c->s, d, (Span){0}, "counted from the right, axis %d differs: %s", i, t.data);
            diag_help(c->s, d, "they must be provably equal, or one of them 1");
            return NULL;
        }
    }
    return type_tensor(c->a, elem, rank, axes);
}

// ---- Names and members -------------------------------------------------------------------------

static void constant_value(Checker *c, Expr *e, Item *item) {
    check_const(c->p, item, e->span);
    e->ref = REF_CONST;
    e->item = item;
    e->type = item->type;
    if (contextual(item->type)) {
        e->dim = item->dim;
        e->has_real = item->has_real;
        e->real = item->real;
    }
}

static void not_a_value(Checker *c, Expr *e, const char *what) {
    report(c->s, e->span, E1208, "`%s` is %s, not a value", e->name, what);
    make_error(e);
}

static void generic_value(Checker *c, Expr *e, const Generic *g) {
    if (g->kind != GENERIC_DIM) {
        not_a_value(c, e, g->kind == GENERIC_SHAPE ? "a shape pack" : "an element type");
        return;
    }
    e->ref = REF_GENERIC;
    e->dim = g->dim;
    e->type = type_simple(TYPE_INT);
}

const char *item_article(ItemKind k) {
    return k == ITEM_ENUM || k == ITEM_OP || k == ITEM_ENTRY ? "an" : "a";
}

static void item_value(Checker *c, Expr *e, Item *item) {
    if (item->kind == ITEM_CONST)
        constant_value(c, e, item);
    else
        not_a_value(
            c, e,
            arena_printf(c->a, "%s %s", item_article(item->kind), item_kind_text(item->kind)));
}

static void no_such_value(Checker *c, Expr *e) {
    make_error(e);
    if (!find_index(c, e->name, false)) {
        unknown_name(c, e->name, e->span);
        return;
    }
    Diag *d = report(c->s, e->span, E3104, "the index `%s` is not a value", e->name);
    diag_help(c->s, d, "write iota(N)[%s], N being its extent", e->name);
}

// The type of a parameter or member; it has none yet in the declarations before its own.
static void early_use(Checker *c, Expr *e, const Type *type) {
    e->type = type ? type : type_error();
    if (!type)
        report(c->s, e->span, E2123, "`%s` is no compile-time integer", e->name);
}

// The tensors of a kernel are no values.
static void memory_value(Checker *c, Expr *e) {
    Diag *d = report(c->s, e->span, E2127, "`%s` is memory, not a value", e->name);
    diag_help(c->s, d, "a tile of it is read by load(%s[...]) or written by store(%s[...], ...)",
              e->name, e->name);
    make_error(e);
}

static void check_name(Checker *c, Expr *e) {
    Ref ref = lookup(c, e->name);
    e->ref = ref.kind;
    switch (ref.kind) {
    case REF_LOCAL:
        e->local = ref.local;
        ref.local->used = true;
        e->type = ref.local->type;
        e->dim = ref.local->dim;
        break;
    case REF_PARAM:
        e->param = ref.param;
        ref.param->used = true;
        early_use(c, e, ref.param->type);
        if (is_memory(c, ref.param) && !is_error(e))
            memory_value(c, e);
        break;
    case REF_MEMBER:
        e->member = ref.member;
        ref.member->used = true;
        early_use(c, e, ref.member->type);
        break;
    case REF_GENERIC:
        generic_value(c, e, ref.generic);
        break;
    case REF_CONST:
    case REF_ENUM:
    case REF_FN:
        item_value(c, e, ref.item);
        break;
    case REF_BUILTIN:
        not_a_value(c, e, "a built-in function");
        break;
    case REF_MODULE:
        not_a_value(c, e, "a module");
        break;
    default:
        no_such_value(c, e);
    }
}

static void check_variant(Checker *c, Expr *e, Item *decl) {
    for (int i = 0; i < decl->variants.len; i++) {
        if (decl->variants.data[i].name == e->name) {
            e->ref = REF_VARIANT;
            e->item = decl;
            e->field = i;
            e->type = type_nominal(c->a, TYPE_ENUM, decl, decl->name);
            return;
        }
    }
    report(c->s, e->name_span, E2107, "`%s` has no variant `%s`", decl->name, e->name);
    make_error(e);
}

// module.item or Enum.Variant, before the base is taken as a value. False if it is neither.
static bool check_qualified(Checker *c, Expr *e) {
    if (e->a->kind != EXPR_NAME)
        return false;
    Ref ref = lookup(c, e->a->name);
    if (ref.kind == REF_ENUM) {
        check_variant(c, e, ref.item);
        return true;
    }
    if (ref.kind != REF_MODULE)
        return false;
    Item *item = module_item(ref.module, e->name);
    make_error(e);
    if (!item)
        report(c->s, e->name_span, E1201, "`%s` has no item `%s`", ref.module->key, e->name);
    else if (!item->pub)
        report(c->s, e->name_span, E1203, "`%s` is not public in `%s`", e->name, ref.module->key);
    else
        item_value(c, e, item);
    return true;
}

static void check_field(Checker *c, Expr *e) {
    Item *decl = e->a->type->decl;
    for (int i = 0; i < decl->fields.len; i++) {
        if (decl->fields.data[i].name == e->name) {
            e->ref = REF_FIELD;
            e->field = i;
            e->type =
                subst_type(c->a, c->dims, decl->fields.data[i].type, subst_block(c, e->a->type));
            return;
        }
    }
    report(c->s, e->name_span, E2107, "`%s` has no field `%s`", decl->name, e->name);
    make_error(e);
}

static void check_block_member(Checker *c, Expr *e) {
    const Type *block = e->a->type;
    Member *m = block_member(block->decl, e->name);
    if (!m) {
        bool method = block_item(block->decl, e->name) != NULL;
        Diag *d =
            report(c->s, e->name_span, E2107, "`%s` has no member `%s`", block->decl_name, e->name);
        if (method)
            diag_help(c->s, d, "it is a method: call it");
        make_error(e);
        return;
    }
    m->used = true;
    e->ref = REF_MEMBER;
    e->member = m;
    e->type = subst_type(c->a, c->dims, m->type, subst_block(c, block));
}

static void check_member_expr(Checker *c, Expr *e) {
    if (check_qualified(c, e))
        return;
    check_expr(c, e->a, NULL);
    if (is_error(e->a)) {
        make_error(e);
    } else if (e->a->type->kind == TYPE_BLOCK) {
        check_block_member(c, e);
    } else if (e->a->type->kind == TYPE_STRUCT) {
        check_field(c, e);
    } else {
        report(c->s, e->name_span, E2107, "%s has no member `%s`", type_text(c->a, e->a->type),
               e->name);
        make_error(e);
    }
}

// ---- Others ------------------------------------------------------------------------------------

// The common type of two branches: typed ones equal, constants adopting the other's dtype.
static const Type *join(Checker *c, Expr *a, Expr *b, const Type *want, Span span) {
    if (is_error(a) || is_error(b))
        return type_error();
    if (a->type->kind == TYPE_NONE || b->type->kind == TYPE_NONE) {
        const Type *t = a->type->kind == TYPE_NONE ? b->type : a->type;
        t = t->kind == TYPE_NONE && want ? want : t;
        return expect_type(c, a, t, a->span, "the branch") &&
                       expect_type(c, b, t, b->span, "the branch")
                   ? t
                   : type_error();
    }
    if (contextual(a->type) && contextual(b->type))
        return a->type->kind == TYPE_REAL ? a->type : b->type;
    if (contextual(a->type) ? !coerce(c, a, b->type) : !coerce(c, b, a->type))
        return type_error();
    if (type_equal(a->type, b->type, c->facts))
        return a->type;
    report(c->s, span, E2115, "the branches have the types %s and %s", type_text(c->a, a->type),
           type_text(c->a, b->type));
    return type_error();
}

// The type that a branch gives to the literals of the next one, or NULL.
static const Type *branch_context(const Expr *first) {
    const Type *t = first->type;
    return contextual(t) || t->kind == TYPE_ERROR || t->kind == TYPE_NONE ? NULL : t;
}

static void check_if(Checker *c, Expr *e, const Type *want) {
    check_expr(c, e->c, NULL);
    check_expr(c, e->a, want);
    check_expr(c, e->b, want ? want : branch_context(e->a));
    if (!is_error(e->c) && !(type_is_scalar(e->c->type) && elem_is(e->c->type->elem, DT_BOOL)))
        report(c->s, e->c->span, E2114, "the condition must be a scalar bool, not %s",
               type_text(c->a, e->c->type));
    e->type = join(c, e->a, e->b, want, e->span);
}

static void missing_case(Checker *c, Expr *e, int which) {
    const Type *t = e->a->type;
    const char *name = t->kind == TYPE_ENUM ? t->decl->variants.data[which].name
                       : which              ? "none"
                                            : "some(v)";
    Diag *d = report(c->s, e->span, E2118, "the match does not cover every case of %s",
                     type_text(c->a, t));
    diag_help(c->s, d, "add an arm: %s => ...", name);
}

static void check_match(Checker *c, Expr *e, const Type *want) {
    check_expr(c, e->a, NULL);
    default_literal(c, e->a);
    int cases = e->a->type->kind == TYPE_ENUM ? e->a->type->decl->variants.len : 2;
    bool *seen = NEW_N(c->a, bool, cases + 1);
    bool all = false;
    for (int i = 0; i < e->arms.len; i++) {
        Arm *arm = &e->arms.data[i];
        Scope scope;
        scope_push(c, &scope);
        int which = check_arm_pattern(c, arm->pattern, e->a->type);
        if (all || (which >= 0 && seen[which]))
            report(c->s, arm->pattern->span, E2117, "an arm before covers this case");
        if (which == ARM_ALL)
            all = true;
        else if (which >= 0)
            seen[which] = true;
        Expr *first = i ? e->arms.data[0].value : NULL;
        check_expr(c, arm->value, want || !first ? want : branch_context(first));
        scope_pop(c);
        if (i == 0)
            e->type = arm->value->type;
        else
            e->type = join(c, e->arms.data[0].value, arm->value, want, e->span);
    }
    if (is_error(e->a)) {
        make_error(e);
        return;
    }
    int missing = 0;
    while (missing < cases && seen[missing])
        missing++;
    if (!all && missing < cases)
        missing_case(c, e, missing);
    if (!e->type)
        make_error(e);
}

static void check_tuple(Checker *c, Expr *e, const Type *want) {
    int n = e->items.len;
    const Type **types = NEW_N(c->a, const Type *, n);
    bool good = true, fits = want && want->kind == TYPE_TUPLE && want->item_count == n;
    for (int i = 0; i < n; i++) {
        Expr *item = e->items.data[i];
        check_expr(c, item, fits ? want->items[i] : NULL);
        if (fits && (contextual(item->type) || item->type->kind == TYPE_NONE))
            expect_type(c, item, want->items[i], item->span, "the item");
        default_literal(c, item);
        types[i] = item->type;
        good &= !is_error(item);
    }
    e->type = good ? type_tuple(c->a, n, types) : type_error();
    if (too_large(c, e->type, e->span))
        make_error(e);
}

static void check_some(Checker *c, Expr *e, const Type *want) {
    const Type *inner = want && want->kind == TYPE_OPTIONAL ? want->items[0] : NULL;
    check_expr(c, e->a, inner);
    if (inner && contextual(e->a->type))
        coerce(c, e->a, inner);
    default_literal(c, e->a);
    e->type = is_error(e->a) ? e->a->type : type_optional(c->a, e->a->type);
}

static void check_int(Checker *c, Expr *e) {
    e->dim = dim_const(c->dims, e->int_value);
    e->type = type_simple(TYPE_INT);
}

static void refuse(Checker *c, Expr *e, DiagCode code, const char *why) {
    report(c->s, e->span, code, "%s", why);
    make_error(e);
}

void check_expr(Checker *c, Expr *e, const Type *want) {
    switch (e->kind) {
    case EXPR_INT:
        check_int(c, e);
        break;
    case EXPR_FLOAT:
        e->has_real = true;
        e->real = e->float_value;
        e->type = type_simple(TYPE_REAL);
        break;
    case EXPR_BOOL:
        e->type = type_scalar(c->a, elem_of(DT_BOOL));
        break;
    case EXPR_NONE:
        e->type = type_simple(TYPE_NONE);
        break;
    case EXPR_SOME:
        check_some(c, e, want);
        break;
    case EXPR_NAME:
        check_name(c, e);
        break;
    case EXPR_MEMBER:
        check_member_expr(c, e);
        break;
    case EXPR_CALL:
        check_call(c, e, want);
        break;
    case EXPR_INDEX:
        check_index(c, e);
        break;
    case EXPR_UNARY:
    case EXPR_BINARY:
        check_binary(c, e, want);
        break;
    case EXPR_IF:
        check_if(c, e, want);
        break;
    case EXPR_MATCH:
        check_match(c, e, want);
        break;
    case EXPR_FOR:
        refuse(c, e, E2124, "a `for` with a value is a whole right side");
        break;
    case EXPR_REDUCE:
        check_reduce(c, e);
        break;
    case EXPR_TUPLE:
        check_tuple(c, e, want);
        break;
    case EXPR_STRING:
        refuse(c, e, E2104, "a string is not a value");
        break;
    case EXPR_SHAPE:
        refuse(c, e, E2104, "a shape stands only in arguments that ask for one");
        break;
    case EXPR_ERROR:
        make_error(e);
        break;
    }
    if (e->dim && !dim_valid(e->dim)) {
        report(c->s, e->span, E2105, "the dimension leaves the range of i64");
        make_error(e);
    }
}

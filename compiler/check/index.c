// Indexing: elements in index notation, slices and positions outside of it, reductions.
//
// In index notation a plain index takes its domain from the axes it stands on; all of them must be
// provably equal. A pack index `*s` stands for several axes at once.
#include "check/internal.h"

// ---- Index variables ---------------------------------------------------------------------------

static bool one_axis_of(Checker *c, IndexVar *v, Axis axis, Span span) {
    v->used = true;
    if (axis.pack) {
        report(c->s, span, E3106, "the index `%s` stands on the pack `*%s`", v->name,
               axis.pack->name);
        return false;
    }
    if (!v->extent) {
        v->extent = axis.dim;
        v->first = span;
        return true;
    }
    if (axis_equal((Axis){v->extent, NULL}, axis, c->facts))
        return true;
    Diag *d = report(c->s, span, E2201, "the index `%s` runs over `%s` and over `%s`", v->name,
                     dim_text(c->a, v->extent), dim_text(c->a, axis.dim));
    diag_note(c->s, d, v->first, "it runs over `%s` here", dim_text(c->a, v->extent));
    diag_help(c->s, d, "both extents must be provably equal: a `where` can say so");
    return false;
}

static bool pack_axes_of(Checker *c, IndexVar *v, const Axis *axes, int n, Span span) {
    bool same = true;
    if (!v->used) {
        v->axes = axes;
        v->axis_count = n;
    } else {
        same = v->axis_count == n;
        for (int i = 0; same && i < n; i++)
            same = axis_equal(v->axes[i], axes[i], c->facts);
        if (!same) {
            StrBuf b = strbuf_new(c->a);
            axes_print(&b, v->axes, v->axis_count);
            strbuf_add(&b, STR(" and over "));
            axes_print(&b, axes, n);
            report(c->s, span, E2201, "the index `*%s` runs over %s", v->name, b.data);
        }
    }
    v->used = true;
    return same;
}

// False after E3105.
static bool push_notation(Checker *c, Notation *n, IndexVarVec *vars) {
    bool good = true;
    for (int i = 0; i < vars->len; i++) {
        IndexVar *v = vars->data[i];
        bool twice = find_index(c, v->name, false) || find_index(c, v->name, true);
        for (int k = 0; k < i; k++)
            twice |= vars->data[k]->name == v->name;
        if (twice)
            report(c->s, v->span, E3105, "the index `%s` is listed twice", v->name);
        good &= !twice;
    }
    *n = (Notation){c->notation, vars};
    c->notation = n;
    return good;
}

// ---- Positions ---------------------------------------------------------------------------------

static bool is_index_name(Checker *c, IndexPart *part) {
    if (part->kind == INDEX_EXPR && part->expr->kind == EXPR_NAME && !part->expr->parens)
        part->var = find_index(c, part->expr->name, false);
    return part->var != NULL;
}

// A lone name in a position of index notation that nothing declares is meant as an index.
static bool unlisted_index(Checker *c, const Expr *e) {
    if (!c->notation || e->kind != EXPR_NAME || lookup(c, e->name).kind != REF_NONE ||
        find_index(c, e->name, false) || find_index(c, e->name, true))
        return false;
    Diag *d =
        report(c->s, e->span, E3101, "the index `%s` is neither an output nor reduced", e->name);
    diag_help(c->s, d, "list it on the left side, or reduce over it: sum[%s] ...", e->name);
    return true;
}

// A position that is no index: a compile-time integer, or a runtime i32 or i64.
static bool check_position(Checker *c, IndexPart *part) {
    Expr *e = part->expr;
    if (unlisted_index(c, e))
        return false;
    check_expr(c, e, NULL);
    if (is_error(e))
        return false;
    if (e->dim) {
        part->at = e->dim;
        default_literal(c, e);
        return true;
    }
    const Type *t = e->type;
    if (type_is_scalar(t) && elem_is_integer(t->elem))
        return true;
    report(c->s, e->span, E2101, "a position is an integer, not %s", type_text(c->a, t));
    return false;
}

static bool bad_bound(Checker *c, Expr *e, const char *what) {
    int64_t v;
    bool constant = dim_is_const(e->dim, &v);
    Diag *d = report(c->s, e->span, E2209, "`%s` is not %s%s", dim_text(c->a, e->dim),
                     constant ? "" : "provably ", what);
    if (constant && v < 0)
        diag_help(c->s, d, "negative positions are not allowed: the last one is N - 1");
    else
        diag_help(c->s, d, "it must follow from the `where` clauses");
    return false;
}

// ---- Elements ----------------------------------------------------------------------------------

// How many axes each pack part covers: what the others leave.
static bool size_packs(Checker *c, Expr *e, int rank) {
    int others = 0, open = 0;
    for (int i = 0; i < e->parts.len; i++) {
        IndexPart *p = &e->parts.data[i];
        if (p->kind != INDEX_PACK) {
            others++;
            continue;
        }
        p->var = find_index(c, p->pack, true);
        if (!p->var) {
            bool plain = find_index(c, p->pack, false) != NULL;
            report(c->s, p->span, plain ? E3106 : E3101, "`*%s` is %s", p->pack,
                   plain ? "listed as a plain index" : "neither an output nor reduced");
            return false;
        }
        if (p->var->used)
            others += p->axis_count = p->var->axis_count;
        else
            open++;
    }
    for (int i = 0; i < e->parts.len; i++) {
        IndexPart *p = &e->parts.data[i];
        if (p->kind == INDEX_PACK && !p->var->used)
            p->axis_count = rank - others;
    }
    bool fits = open ? open == 1 && rank >= others : rank == others;
    if (!fits) {
        Diag *d = report(c->s, e->span, E2204, "%s has the rank %d; the positions given: %d",
                         type_text(c->a, e->a->type), rank, others + open);
        diag_help(c->s, d, "in index notation every axis is indexed");
    }
    return fits;
}

// A position that is known must not be provably outside; that it is inside needs no proof.
static bool outside(Checker *c, IndexPart *p, Axis axis) {
    if (!p->at)
        return false;
    const Dim *zero = dim_const(c->dims, 0);
    if (facts_prove(c->facts, p->at, REL_LT, zero))
        return !bad_bound(c, p->expr, "at least 0");
    if (!facts_prove(c->facts, p->at, REL_GE, axis.dim))
        return false;
    return !bad_bound(c, p->expr,
                      arena_printf(c->a, "below the extent `%s`", dim_text(c->a, axis.dim)));
}

static bool element_part(Checker *c, IndexPart *p, const Type *t, int axis) {
    if (p->kind == INDEX_PACK) {
        return pack_axes_of(c, p->var, p->axis_count ? t->axes + axis : NULL, p->axis_count,
                            p->span);
    }
    if (is_index_name(c, p)) {
        return one_axis_of(c, p->var, t->axes[axis], p->span);
    }
    if (p->expr->kind == EXPR_NAME && find_index(c, p->expr->name, true)) {
        report(c->s, p->span, E3106, "`%s` is a pack index: write `*%s`", p->expr->name,
               p->expr->name);
        return false;
    }
    if (t->axes[axis].pack) {
        report(c->s, p->span, E3106, "a single position stands on the pack `*%s`",
               t->axes[axis].pack->name);
        return false;
    }
    return check_position(c, p) && !outside(c, p, t->axes[axis]);
}

static void check_element(Checker *c, Expr *e) {
    const Type *t = e->a->type;
    make_error(e);
    if (!size_packs(c, e, t->rank))
        return;
    bool good = true;
    for (int i = 0, axis = 0; i < e->parts.len; i++) {
        IndexPart *p = &e->parts.data[i];
        good &= element_part(c, p, t, axis);
        axis += p->kind == INDEX_PACK ? p->axis_count : 1;
    }
    e->element = true;
    if (good)
        e->type = type_scalar(c->a, t->elem);
}

// ---- Slices ------------------------------------------------------------------------------------

static bool prove(Checker *c, const Dim *a, Relation rel, int64_t b) {
    return facts_prove(c->facts, a, rel, dim_const(c->dims, b));
}

static bool slice_bound(Checker *c, Expr *e, const Dim **out) {
    const Dim *d = resolve_dim(c, e);
    if (!d)
        return false;
    default_literal(c, e);
    *out = d;
    return prove(c, d, REL_GE, 0) || bad_bound(c, e, "at least 0");
}

static bool check_slice(Checker *c, IndexPart *p, const Dim *axis) {
    const Dim *zero = dim_const(c->dims, 0), *from = zero, *stop = axis, *step = NULL;
    p->stride = 1;
    if (p->start && !slice_bound(c, p->start, &from))
        return false;
    if (p->stop && !slice_bound(c, p->stop, &stop))
        return false;
    if (p->step) {
        step = resolve_dim(c, p->step);
        if (!step)
            return false;
        if (!dim_is_const(step, &p->stride) || p->stride < 1)
            return bad_bound(c, p->step, "a positive constant");
    }
    if (stop != axis)
        stop = dim_min(c->dims, stop, axis);
    const Dim *len = dim_sub(c->dims, stop, from);
    len = facts_simplify(c->facts, len);
    if (p->stride > 1) {
        len = dim_add(c->dims, len, dim_const(c->dims, p->stride - 1));
        len = dim_div(c->dims, len, dim_const(c->dims, p->stride));
    }
    if (!prove(c, len, REL_GE, 0))
        len = dim_max(c->dims, zero, len);
    p->from = from;
    p->extent = facts_simplify(c->facts, len);
    return true;
}

static bool single_position(Checker *c, IndexPart *p, Axis axis) {
    if (axis.pack) {
        report(c->s, p->span, E3106, "the axes of the pack `*%s` can't be indexed one by one",
               axis.pack->name);
        return false;
    }
    if (!check_position(c, p))
        return false;
    if (!p->at)
        return true;
    if (!prove(c, p->at, REL_GE, 0))
        return bad_bound(c, p->expr, "at least 0");
    if (!facts_prove(c->facts, p->at, REL_LT, axis.dim))
        return bad_bound(c, p->expr,
                         arena_printf(c->a, "below the extent `%s`", dim_text(c->a, axis.dim)));
    return true;
}

// One part; appends the axes it leaves to out. False after a report.
static bool slice_part(Checker *c, IndexPart *p, const Type *t, int axis, Axis *out, int *n) {
    switch (p->kind) {
    case INDEX_EXPR:
        return single_position(c, p, t->axes[axis]);
    case INDEX_PACK:
        report(c->s, p->span, E3106, "`*%s` stands only in index notation", p->pack);
        return false;
    case INDEX_ELLIPSIS:
        for (int i = 0; i < p->axis_count; i++)
            out[(*n)++] = t->axes[axis + i];
        return true;
    case INDEX_SLICE:
        if (t->axes[axis].pack) {
            bool whole = !p->start && !p->stop && !p->step;
            out[(*n)++] = t->axes[axis];
            if (!whole)
                report(c->s, p->span, E3106, "the pack `*%s` can't be sliced",
                       t->axes[axis].pack->name);
            return whole;
        }
        if (!check_slice(c, p, t->axes[axis].dim))
            return false;
        out[(*n)++] = (Axis){p->extent, NULL};
        return true;
    }
    return false;
}

static bool size_ellipsis(Checker *c, Expr *e, int rank) {
    int others = 0, ellipses = 0;
    for (int i = 0; i < e->parts.len; i++)
        *(e->parts.data[i].kind == INDEX_ELLIPSIS ? &ellipses : &others) += 1;
    for (int i = 0; i < e->parts.len; i++) {
        if (e->parts.data[i].kind == INDEX_ELLIPSIS)
            e->parts.data[i].axis_count = rank - others;
    }
    if (others <= rank && ellipses <= 1)
        return true;
    if (ellipses > 1)
        report(c->s, e->span, E2204, "`...` stands twice");
    else
        report(c->s, e->span, E2204, "%s has the rank %d; the positions given: %d",
               type_text(c->a, e->a->type), rank, others);
    return false;
}

static void check_slices(Checker *c, Expr *e) {
    const Type *t = e->a->type;
    Axis *out = NEW_N(c->a, Axis, t->rank + 1);
    int n = 0, axis = 0;
    bool good = true;
    make_error(e);
    if (!size_ellipsis(c, e, t->rank))
        return;
    for (int i = 0; i < e->parts.len; i++) {
        IndexPart *p = &e->parts.data[i];
        good &= slice_part(c, p, t, axis, out, &n);
        axis += p->kind == INDEX_ELLIPSIS ? p->axis_count : 1;
    }
    while (axis < t->rank)
        out[n++] = t->axes[axis++];
    if (good)
        e->type = type_tensor(c->a, t->elem, n, out);
}

static void check_array_item(Checker *c, Expr *e) {
    IndexPart *p = &e->parts.data[0];
    make_error(e);
    if (e->parts.len != 1 || p->kind != INDEX_EXPR) {
        report(c->s, e->span, E2204, "an array of sub-blocks takes exactly one position");
        return;
    }
    p->at = resolve_dim(c, p->expr);
    if (!p->at)
        return;
    default_literal(c, p->expr);
    if (!prove(c, p->at, REL_GE, 0) || !facts_prove(c->facts, p->at, REL_LT, e->a->type->count)) {
        bad_bound(c, p->expr,
                  arena_printf(c->a, "within 0..%s", dim_text(c->a, e->a->type->count)));
        return;
    }
    e->type = e->a->type->items[0];
}

void check_index(Checker *c, Expr *e) {
    check_expr(c, e->a, NULL);
    if (e->a->type->kind == TYPE_ARRAY) {
        check_array_item(c, e);
        return;
    }
    if (!expect_tensor(c, e->a)) {
        make_error(e);
        return;
    }
    bool element = c->notation != NULL;
    for (int i = 0; i < e->parts.len; i++)
        element &= e->parts.data[i].kind == INDEX_EXPR || e->parts.data[i].kind == INDEX_PACK;
    if (element)
        check_element(c, e);
    else
        check_slices(c, e);
}

// ---- Bodies ------------------------------------------------------------------------------------

// The body of a notation is a typed scalar. False after a report.
static bool scalar_body(Checker *c, Expr *body) {
    if (is_error(body))
        return false;
    if (type_is_scalar(body->type))
        return true;
    Diag *d = report(c->s, body->span, E3104, "the body must be a typed scalar, not %s",
                     type_text(c->a, body->type));
    if (body->type->kind == TYPE_TENSOR)
        diag_help(c->s, d, "index every axis of it");
    else
        diag_help(c->s, d, "write cast<f32>(...), or fill for a constant tensor");
    return false;
}

static bool reduces(Checker *c, Expr *e, Elem elem) {
    bool logical = e->reduce >= REDUCE_ANY;
    if (logical ? elem_is(elem, DT_BOOL) : elem_is_numeric(elem))
        return true;
    report(c->s, e->span, E2104, "`%s` is not defined for %s", reduce_text(e->reduce),
           elem_text(elem));
    return false;
}

void check_reduce(Checker *c, Expr *e) {
    Notation n;
    bool good = push_notation(c, &n, &e->indices);
    check_expr(c, e->a, NULL);
    c->notation = n.outer;
    make_error(e);
    if (!scalar_body(c, e->a) || !good || too_many_axes(c, e->indices.len, e->span))
        return;
    for (int i = 0; i < e->indices.len; i++) {
        IndexVar *v = e->indices.data[i];
        if (!v->used) {
            report(c->s, v->span, E3102, "the body does not use the index `%s`", v->name);
            return;
        }
    }
    Elem elem = e->a->type->elem;
    if (e->elem) {
        Elem wanted = resolve_elem(c, e->elem);
        if (!wanted.generic && wanted.dtype == DT_COUNT)
            return;
        if (!elem_equal(wanted, elem)) {
            Diag *d = report(c->s, e->a->span, E2103, "the body is %s, the accumulator %s",
                             elem_text(elem), elem_text(wanted));
            diag_help(c->s, d, "write cast<%s>(...)", elem_text(wanted));
            return;
        }
    }
    if (reduces(c, e, elem))
        e->type = type_scalar(c->a, elem);
}

static void add_axes(const IndexVar *v, Axis *axes, int *n) {
    if (!v->pack)
        axes[(*n)++] = (Axis){v->extent, NULL};
    for (int i = 0; v->pack && i < v->axis_count; i++)
        axes[(*n)++] = v->axes[i];
}

// let name[i, j] = body
void check_notation(Checker *c, Stmt *st) {
    Notation n;
    bool good = push_notation(c, &n, &st->indices);
    check_expr(c, st->value, NULL);
    c->notation = n.outer;
    const Type *type = type_error();
    good &= scalar_body(c, st->value);
    int rank = 0, room = 1;
    for (int i = 0; i < st->indices.len; i++) {
        IndexVar *v = st->indices.data[i];
        room += 1 + v->axis_count;
        if (!v->used && good) {
            report(c->s, v->span, E3103, "the body does not use the index `%s`", v->name);
            good = false;
        }
    }
    Axis *axes = NEW_N(c->a, Axis, room);
    for (int i = 0; good && i < st->indices.len; i++)
        add_axes(st->indices.data[i], axes, &rank);
    if (good && !too_many_axes(c, rank, st->span))
        type = type_tensor(c->a, st->value->type->elem, rank, axes);
    st->local = declare(c, st->name, st->name_span, type, false);
}

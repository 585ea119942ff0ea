// Expressions as values: tensors, blocks, tuples, what is absent.
//
// Elementwise trees and index maps become one comprehension (body.c); everything else is a value
// that a body then reads.
#include "lower/internal.h"

static const Low error_low = {.kind = LOW_ERROR};

Val finish_comp(Fx *x, Body *b, const CoreType *type, int root, Span span) {
    Lower *l = x->l;
    b->comp->root = root;
    if (!b->comp->names)
        b->comp->names = NEW_N(l->a, Name, b->comp->out + b->comp->red + 1);
    Val v = core_add(l->core, x->fn, OP_COMP, type, NULL, span);
    core_value(x->fn, v)->comp = b->comp;
    for (int i = 0; i < b->args.len; i++)
        core_arg(l->core, x->fn, v, b->args.data[i]);
    core_emit(l->core, x->region, v);
    return v;
}

// Elementwise over the whole shape.
static Val comp_over(Fx *x, const Expr *e, const CoreType *type) {
    Body b = {.comp = NEW(x->l->a, Comp)};
    int *pos = NEW_N(x->l->a, int, type->rank + 1);
    b.comp->out = type->rank;
    for (int i = 0; i < type->rank; i++)
        pos[i] = comp_index(x->l->core, b.comp, i);
    int root = body_node(x, &b, e, pos, type->rank);
    return finish_comp(x, &b, type, root, e->span);
}

static Low tensor(Val v) {
    return v ? (Low){.kind = LOW_TENSOR, .val = v} : error_low;
}

// ---- Members -----------------------------------------------------------------------------------

static int member_number(const Item *decl, const Member *m) {
    for (int i = 0; i < decl->members.len; i++) {
        if (decl->members.data[i] == m)
            return i;
    }
    return -1;
}

static Low lower_member(Fx *x, Low base, const Member *m, Span span) {
    if (base.kind != LOW_BLOCK)
        return error_low;
    int i = member_number(base.inst->decl, m);
    if (!base.inst->present[i])
        return (Low){.kind = LOW_ABSENT};
    Val v = core_member(x->l->core, x->fn, x->region, base.val, m->name, span);
    const CoreType *t = core_value(x->fn, v)->type;
    LowKind kind = t->kind == CORE_BLOCK   ? LOW_BLOCK
                   : t->kind == CORE_ARRAY ? LOW_ARRAY
                                           : LOW_TENSOR;
    core_value(x->fn, v)->name = m->name;
    return (Low){.kind = kind, .val = v, .inst = base.inst->subs[i]};
}

static Low array_item(Fx *x, const Expr *e) {
    Low array = lower_value(x, e->a);
    if (array.kind != LOW_ARRAY)
        return error_low;
    Body b = {.comp = NEW(x->l->a, Comp)};
    const Dim *at = subst_dim(x->l->dims, e->parts.data[0].at, x->subst);
    int root = comp_dim(x->l->core, b.comp, at);
    Val i = finish_comp(x, &b, core_tensor(x->l->core, DT_I64, 0, NULL), root, e->span);
    Val v = core_pick(x->l->core, x->fn, x->region, array.val, i, e->span);
    return (Low){.kind = LOW_BLOCK, .val = v, .inst = array.inst};
}

// ---- Names -------------------------------------------------------------------------------------

static Low lower_name(Fx *x, const Expr *e) {
    switch (e->ref) {
    case REF_LOCAL:
        return x->locals[e->local->number];
    case REF_PARAM:
        for (int i = 0; i < x->item->params.len; i++) {
            if (x->item->params.data[i] == e->param)
                return x->params[i];
        }
        return error_low;
    case REF_MEMBER:
        return lower_member(x, (Low){.kind = LOW_BLOCK, .val = x->self_val, .inst = x->self},
                            e->member, e->span);
    case REF_CONST:
        if (e->type->kind == TYPE_ENUM)
            return (Low){.kind = LOW_ENUM, .variant = e->item->variant_or_bool};
        return tensor(comp_over(x, e, low_type(x, e->type)));
    default:
        return error_low;
    }
}

// ---- Match, tuples -----------------------------------------------------------------------------

static void bind_arm(Fx *x, const Pattern *p, Low low) {
    if (p->kind == PATTERN_SOME)
        bind_arm(x, p->items.data[0], low);
    else if (p->kind == PATTERN_NAME && p->local)
        x->locals[p->local->number] = low;
}

// The arm that is taken, its pattern bound; what it matches is decided at compile time.
Low match_arm(Fx *x, const Expr *e, const Expr **value) {
    Low low = lower_value(x, e->a);
    *value = NULL;
    for (int i = 0; i < e->arms.len; i++) {
        const Arm *arm = &e->arms.data[i];
        const Pattern *p = arm->pattern;
        bool taken = p->kind == PATTERN_WILD ||
                     (p->kind == PATTERN_NAME && (p->variant < 0 || p->variant == low.variant)) ||
                     (p->kind == PATTERN_NONE && low.kind == LOW_ABSENT) ||
                     (p->kind == PATTERN_SOME && low.kind != LOW_ABSENT);
        if (!taken)
            continue;
        bind_arm(x, p, low);
        *value = arm->value;
        return low;
    }
    return error_low;
}

static Low lower_tuple(Fx *x, const Expr *e) {
    Low *items = NEW_N(x->l->a, Low, e->items.len + 1);
    for (int i = 0; i < e->items.len; i++)
        items[i] = lower_value(x, e->items.data[i]);
    return (Low){.kind = LOW_TUPLE, .items = items, .count = e->items.len};
}

static Low lower_reshape(Fx *x, const Expr *e) {
    Val v = lower_tensor(x, e->args.data[0].value);
    if (!v)
        return error_low;
    const CoreType *to = low_type(x, e->type);
    return tensor(core_reshape(x->l->core, x->fn, x->region, v, to, NULL, NULL, e->span));
}

static Low lower_cumsum(Fx *x, const Expr *e) {
    Val v = lower_tensor(x, e->args.data[0].value);
    if (!v)
        return error_low;
    int axis = concrete_axis(x, e, e->field);
    return tensor(core_cumsum(x->l->core, x->fn, x->region, v, axis, e->span));
}

// ---- Values ------------------------------------------------------------------------------------

// A whole-tensor identity such as x[...] needs no copy.
static bool is_constant(const Expr *e) {
    return (e->dim || e->has_real) && type_is_scalar(e->type);
}

Low lower_value(Fx *x, const Expr *e) {
    if (x->l->failed)
        return error_low;
    if (is_constant(e))
        return tensor(comp_over(x, e, low_type(x, e->type)));
    const Expr *arm;
    switch (e->kind) {
    case EXPR_NAME:
        return lower_name(x, e);
    case EXPR_NONE:
        return (Low){.kind = LOW_ABSENT};
    case EXPR_SOME:
        return lower_value(x, e->a);
    case EXPR_TUPLE:
        return lower_tuple(x, e);
    case EXPR_MEMBER:
        if (e->ref == REF_VARIANT)
            return (Low){.kind = LOW_ENUM, .variant = e->field};
        if (e->ref == REF_CONST)
            return lower_name(x, e);
        if (e->ref == REF_MEMBER)
            return lower_member(x, lower_value(x, e->a), e->member, e->span);
        if (e->ref == REF_FIELD)
            return lower_field(x, e);
        refuse(x, e->span, "this member");
        return error_low;
    case EXPR_IF:
        if (e->type->kind != TYPE_TENSOR)
            return lower_if_parts(x, e);
        break;
    case EXPR_MATCH:
        match_arm(x, e, &arm);
        return arm ? lower_value(x, arm) : error_low;
    case EXPR_CALL:
        if (e->item)
            return lower_call(x, e);
        if (e->builtin == BI_RESHAPE)
            return lower_reshape(x, e);
        if (e->builtin == BI_CUMSUM)
            return lower_cumsum(x, e);
        break;
    case EXPR_REDUCE:
        return tensor(lower_reduce(x, NULL, e));
    case EXPR_INDEX:
        if (e->a->type->kind == TYPE_ARRAY)
            return array_item(x, e);
        break;
    case EXPR_FOR:
        return lower_scan(x, e);
    default:
        break;
    }
    if (e->type->kind != TYPE_TENSOR) {
        refuse(x, e->span, "this expression");
        return error_low;
    }
    return tensor(comp_over(x, e, low_type(x, e->type)));
}

Val lower_tensor(Fx *x, const Expr *e) {
    Low low = lower_value(x, e);
    if (low.kind == LOW_TENSOR)
        return low.val;
    if (low.kind != LOW_ERROR)
        refuse(x, e->span, "this value in a tensor expression");
    return 0;
}

// Values of several parts: tuples and structs. A part that is a tensor is a value of Core; what is
// absent and variants of enums are known when lowering, so they are structure alone.
#include "lower/internal.h"

bool same_parts(const Low *a, const Low *b) {
    if (a->kind != b->kind || a->count != b->count || a->variant != b->variant)
        return false;
    for (int i = 0; i < a->count; i++) {
        if (!same_parts(&a->items[i], &b->items[i]))
            return false;
    }
    return true;
}

void parts_of(Fx *x, Low low, ValVec *out) {
    if (low.kind == LOW_TENSOR)
        vec_push(x->l->a, out, low.val);
    for (int i = 0; i < low.count; i++)
        parts_of(x, low.items[i], out);
}

void yield_parts(Fx *x, Low low, Region *r) {
    ValVec parts = {0};
    parts_of(x, low, &parts);
    for (int i = 0; i < parts.len; i++)
        vec_push(x->l->a, &r->yields, parts.data[i]);
}

Low with_parts(Fx *x, Low shape, const Val *vals, int *next) {
    if (shape.kind == LOW_TENSOR)
        shape.val = vals[(*next)++];
    if (shape.kind != LOW_TUPLE)
        return shape;
    Low *items = NEW_N(x->l->a, Low, shape.count + 1);
    for (int i = 0; i < shape.count; i++)
        items[i] = with_parts(x, shape.items[i], vals, next);
    shape.items = items;
    return shape;
}

// Extents that only the `where` clauses make equal are two forms in Core: a copy has the other one.
Val fit(Fx *x, Val v, const CoreType *want, Span span) {
    const CoreType *have = core_value(x->fn, v)->type;
    bool alike = have->kind == CORE_TENSOR && want->kind == CORE_TENSOR &&
                 have->rank == want->rank && have->dtype == want->dtype;
    if (!alike || core_type_equal(have, want))
        return v;
    Body b = {.comp = NEW(x->l->a, Comp)};
    int *pos = NEW_N(x->l->a, int, want->rank + 1);
    b.comp->out = want->rank;
    for (int i = 0; i < want->rank; i++)
        pos[i] = comp_index(x->l->core, b.comp, i);
    int root = body_read(x, &b, v, pos, want->rank);
    return finish_comp(x, &b, want, root, span);
}

Low fit_parts(Fx *x, Low low, Low model, Span span) {
    ValVec vals = {0}, models = {0};
    int next = 0;
    if (!same_parts(&low, &model))
        return low;
    parts_of(x, low, &vals);
    parts_of(x, model, &models);
    for (int i = 0; i < vals.len; i++)
        vals.data[i] = fit(x, vals.data[i], core_value(x->fn, models.data[i])->type, span);
    return with_parts(x, low, vals.data, &next);
}

bool plain_parts(Low low) {
    bool plain = low.kind == LOW_TENSOR || low.kind == LOW_ABSENT || low.kind == LOW_ENUM ||
                 low.kind == LOW_TUPLE;
    for (int i = 0; i < low.count; i++)
        plain = plain && plain_parts(low.items[i]);
    return plain;
}

static const Type *bare(const Type *t) {
    return t->kind == TYPE_OPTIONAL ? t->items[0] : t;
}

// Of a tuple's item, a struct's field.
static const Type *part_type(Fx *x, const Type *t, int i) {
    if (t->kind != TYPE_STRUCT)
        return bare(t->items[i]);
    const Item *decl = t->decl;
    Subst s = {binding_args(x->l, decl, t->args), NULL};
    return bare(subst_type(x->l->a, x->l->dims, decl->fields.data[i].type, &s));
}

// The parameter's parts become parameters of the function, in order.
Low param_parts(Fx *x, Low key, const Type *t, Name name, Span span) {
    t = bare(t);
    if (key.kind == LOW_TENSOR)
        key.val = core_param(x->l->core, x->fn, low_type(x, t), name, span);
    if (key.kind != LOW_TUPLE)
        return key;
    Low *items = NEW_N(x->l->a, Low, key.count + 1);
    for (int i = 0; i < key.count; i++) {
        Name part = t->kind == TYPE_STRUCT ? t->decl->fields.data[i].name : name;
        items[i] = param_parts(x, key.items[i], part_type(x, t, i), part, span);
    }
    key.items = items;
    return key;
}

// The key of an entry's parameter: all of its tensors are given, what is optional is not.
Low entry_parts(Fx *x, const Type *t, bool *fits) {
    if (t->kind == TYPE_TENSOR)
        return (Low){.kind = LOW_TENSOR};
    if (t->kind == TYPE_OPTIONAL)
        return (Low){.kind = LOW_ABSENT};
    *fits = *fits && (t->kind == TYPE_TUPLE || t->kind == TYPE_STRUCT);
    if (!*fits)
        return (Low){.kind = LOW_ABSENT};
    int n = t->kind == TYPE_STRUCT ? t->decl->fields.len : t->item_count;
    Low *items = NEW_N(x->l->a, Low, n + 1);
    for (int i = 0; i < n; i++)
        items[i] = entry_parts(x, part_type(x, t, i), fits);
    return (Low){.kind = LOW_TUPLE, .items = items, .count = n};
}

Low lower_struct(Fx *x, const Expr *e) {
    Low *items = NEW_N(x->l->a, Low, e->value_count + 1);
    for (int i = 0; i < e->value_count; i++) {
        items[i] = lower_value(x, e->values[i]);
        if (items[i].kind == LOW_ERROR)
            return items[i];
    }
    return (Low){.kind = LOW_TUPLE, .items = items, .count = e->value_count};
}

Low lower_field(Fx *x, const Expr *e) {
    Low base = lower_value(x, e->a);
    if (base.kind != LOW_TUPLE || e->field < 0 || e->field >= base.count)
        return (Low){.kind = LOW_ERROR};
    return base.items[e->field];
}

// ---- Branches ----------------------------------------------------------------------------------

// The values added since there were `from` of them must not change states: both branches of an `if`
// are computed, then one is taken.
void refuse_effects(Fx *x, int from, Span span) {
    for (int i = from; i < x->fn->values.len; i++) {
        const Value *v = &x->fn->values.data[i];
        bool effects = v->op == OP_ASSIGN || (v->op == OP_CALL && v->callee->effects);
        if (!effects)
            continue;
        refuse(x, span, "a call that changes states inside of a branch");
        return;
    }
}

static Val select_part(Fx *x, Val cond, Val p, Val q, Span span) {
    Core *c = x->l->core;
    const CoreType *t = core_value(x->fn, p)->type;
    Body b = {.comp = NEW(x->l->a, Comp)};
    int pos[CORE_MAX_RANK];
    b.comp->out = t->rank;
    for (int i = 0; i < t->rank; i++)
        pos[i] = comp_index(c, b.comp, i);
    int test = body_read(x, &b, cond, NULL, 0);
    int yes = body_read(x, &b, p, pos, t->rank), no = body_read(x, &b, q, pos, t->rank);
    return finish_comp(x, &b, t, comp_select(c, b.comp, test, yes, no), span);
}

// Do constants and enums alone, which are known when lowering, decide the condition?
static bool known_condition(Fx *x, const Expr *e, bool *out) {
    bool other = false;
    if (e->kind == EXPR_BOOL || e->ref == REF_CONST) {
        *out = e->kind == EXPR_BOOL ? e->int_value : e->item->variant_or_bool;
        return true;
    }
    if (e->kind == EXPR_UNARY && known_condition(x, e->a, out)) {
        *out = !*out;
        return true;
    }
    if (e->kind != EXPR_BINARY)
        return false;
    if (e->a->type->kind == TYPE_ENUM) {
        Low p = lower_value(x, e->a), q = lower_value(x, e->b);
        *out = (p.variant == q.variant) == (e->binary == BINARY_EQ);
        return true;
    }
    bool both = e->binary == BINARY_ANDAND || e->binary == BINARY_OROR;
    if (!both || !known_condition(x, e->a, out) || !known_condition(x, e->b, &other))
        return false;
    *out = e->binary == BINARY_ANDAND ? *out && other : *out || other;
    return true;
}

Low lower_if_parts(Fx *x, const Expr *e) {
    bool which;
    if (known_condition(x, e->c, &which))
        return lower_value(x, which ? e->a : e->b);
    Val cond = lower_tensor(x, e->c);
    int before = x->fn->values.len;
    Low p = lower_value(x, e->a), q = lower_value(x, e->b);
    refuse_effects(x, before, e->span);
    if (x->l->failed || !cond)
        return (Low){.kind = LOW_ERROR};
    if (!same_parts(&p, &q) || !plain_parts(p)) {
        refuse(x, e->span, "an `if` whose branches differ in what is there");
        return (Low){.kind = LOW_ERROR};
    }
    ValVec yes = {0}, no = {0};
    parts_of(x, p, &yes);
    parts_of(x, q, &no);
    for (int i = 0; i < yes.len; i++)
        yes.data[i] = select_part(x, cond, yes.data[i], no.data[i], e->span);
    int next = 0;
    return with_parts(x, p, yes.data, &next);
}

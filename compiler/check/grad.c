// grad(y, dy) { ... } after an op: from the result and its gradient, the gradients of the op's
// float tensors, in order. It is checked and never run: nothing here differentiates.
#include "check/internal.h"

// The type of the gradients: of one tensor, or a tuple of them; NULL if there are none.
static const Type *gradients(Checker *c, const Item *item) {
    const Type **types = NEW_N(c->a, const Type *, item->params.len + 1);
    int n = 0;
    for (int i = 0; i < item->params.len; i++) {
        const Type *t = item->params.data[i]->type;
        if (t->kind == TYPE_TENSOR && t->rank && elem_is_float(t->elem))
            types[n++] = t;
    }
    return n > 1 ? type_tuple(c->a, n, types) : n ? types[0] : NULL;
}

// Is it an op that can have a grad clause? E2125 at what is wrong.
static bool differentiable(Checker *c, const Item *item) {
    if (item->kind != ITEM_OP) {
        report(c->s, item->name_span, E2125, "`%s` is a %s: only an op has a grad clause",
               item->name, item_kind_text(item->kind));
        return false;
    }
    if (item->grad_params.len != 2) {
        report(c->s, item->name_span, E2125,
               "the grad clause of `%s` names the result and its gradient, as in grad(y, dy)",
               item->name);
        return false;
    }
    bool float_tensor = item->type->kind == TYPE_TENSOR && elem_is_float(item->type->elem);
    if (!float_tensor && item->type->kind != TYPE_ERROR) {
        report(c->s, item->name_span, E2125,
               "`%s` gives %s: only an op with one float tensor has a grad clause", item->name,
               type_text(c->a, item->type));
        return false;
    }
    for (int i = 0; i < item->params.len; i++) {
        const Param *p = item->params.data[i];
        if (p->type->kind != TYPE_OPTIONAL)
            continue;
        report(c->s, p->span, E2125, "an op with a grad clause has no optional parameter");
        return false;
    }
    return item->type->kind != TYPE_ERROR;
}

void check_grad(Checker *c, Item *item) {
    if (!item->grad_params.len || !differentiable(c, item))
        return;
    const Type *want = gradients(c, item);
    if (!want) {
        report(c->s, item->name_span, E2125, "`%s` has no float tensor to give the gradient of",
               item->name);
        return;
    }
    Item grad = *item; // a function of its own that returns them
    grad.type = want;
    grad.body = item->grad_body;
    Checker inner = *c;
    inner.fn = &grad;
    inner.callees = NULL; // it may call its own op, which is no use of it
    bool used = item->used;
    Scope scope;
    scope_push(&inner, &scope);
    for (int i = 0; i < 2; i++)
        declare(&inner, item->grad_params.data[i], item->name_span, item->type, false)->used = true;
    check_stmts(&inner, &grad.body, true);
    scope_pop(&inner);
    item->used = used;
}

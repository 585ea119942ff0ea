// Verifies states: parameters whose memory `write` changes in place. Their memory has one name at a
// time: after a write it is the result's, and what shared it before can't be used.
#include "core/verify.h"

static const CoreType *type_of(const Verifier *v, Val n) {
    return core_value(v->fn, n)->type;
}

static bool same_dims(const CoreType *a, int from_a, const CoreType *b, int from_b) {
    if (a->rank - from_a != b->rank - from_b)
        return false;
    for (int i = from_a; i < a->rank; i++) {
        if (a->dims[i] != b->dims[i - from_a + from_b])
            return false;
    }
    return true;
}

bool verify_states(Verifier *v) {
    const CoreFn *f = v->fn;
    for (int i = 0; i < f->states.len; i++) {
        Val s = f->states.data[i];
        bool param = false;
        for (int k = 0; k < f->params.len; k++)
            param = param || f->params.data[k] == s;
        if (!param || v->states[s - 1] || type_of(v, s)->kind != CORE_TENSOR) {
            verify_fault(v, "state %d is no tensor parameter, or listed twice", i);
            return false;
        }
        v->states[s - 1] = true;
        v->root[s - 1] = s;
    }
    return true;
}

void verify_pick_tensor(Verifier *v, const Value *value) {
    const CoreType *t = type_of(v, value->args.data[0]), *item = value->type;
    if (t->rank < 1)
        verify_fault(v, "`pick` from a scalar");
    else if (item->kind != CORE_TENSOR || item->dtype != t->dtype || !same_dims(t, 1, item, 0))
        verify_fault(v, "the type is not that of the tensor's items");
}

void verify_write(Verifier *v, const Value *value) {
    const CoreType *t = type_of(v, value->args.data[0]), *rows = type_of(v, value->args.data[1]);
    const CoreType *pos = type_of(v, value->args.data[2]);
    if (t->kind != CORE_TENSOR || t->rank < 2 || !core_type_equal(value->type, t)) {
        verify_fault(v, "`write` of something that is no tensor [B, Cap, ..], or as another type");
        return;
    }
    if (rows->kind != CORE_TENSOR || rows->dtype != t->dtype || rows->rank != t->rank ||
        rows->dims[0] != t->dims[0] || !same_dims(t, 2, rows, 2))
        verify_fault(v, "the rows of `write` do not fit its state");
    if (pos->kind != CORE_TENSOR || pos->dtype != DT_I32 || pos->rank != 1 ||
        pos->dims[0] != t->dims[0])
        verify_fault(v, "the positions of `write` are not i32, one for each of its rows");
    Val state = value->args.data[0];
    if (!v->states[state - 1])
        verify_fault(v, "`write` of something that is no state");
    else if (v->home[state - 1] != v->region && (v->home[state - 1] || v->region != 1))
        verify_fault(v, "`write` of a state from outside of its region");
}

// Could the callee's result be its argument, or a view of it?
static bool may_give_views(const CoreFn *g) {
    for (int i = 0; g && i < g->region.yields.len; i++) {
        Val n = g->region.yields.data[i];
        if (n < 1 || (int)n > g->values.len)
            return true;
        const Value *y = core_value(g, n);
        if (y->op != OP_COMP || !y->comp || y->comp->reshape)
            return true;
    }
    return false;
}

static bool shares(const Value *value) {
    return value->op == OP_PICK || value->op == OP_WRITE || value->op == OP_RESULT ||
           (value->op == OP_COMP && value->comp && value->comp->reshape) ||
           (value->op == OP_CALL && may_give_views(value->callee));
}

static void overwritten(Verifier *v, Val root) {
    for (int i = 0; i < v->fn->values.len; i++) {
        if (v->root[i] == root && v->state[i] == VALUE_HERE)
            v->state[i] = VALUE_WRITTEN;
    }
}

void verify_memory(Verifier *v, const Value *value) {
    Val root = 0, first = value->args.len ? value->args.data[0] : 0;
    for (int i = 0; i < value->args.len; i++) {
        if (v->root[value->args.data[i] - 1])
            root = v->root[value->args.data[i] - 1];
    }
    if (!root)
        return;
    if (value->op == OP_LOOP)
        verify_fault(v, "a loop carries a state");
    if (value->op == OP_WRITE)
        overwritten(v, v->root[first - 1]);
    bool direct = value->op == OP_PICK || value->op == OP_WRITE;
    if (shares(value))
        v->root[v->value - 1] = direct ? v->root[first - 1] : root;
    v->states[v->value - 1] = direct && v->states[first - 1];
}

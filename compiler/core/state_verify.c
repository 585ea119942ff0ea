// Verifies states: parameters whose memory `write` changes in place. Their memory has one name at a
// time: after a write it is the result's, and what shared it before can't be used. States of blocks
// are named by their members: what was read of one can't be used after it may have changed.
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

// ---- States of blocks --------------------------------------------------------------------------

void verify_assign(Verifier *v, const Value *value) {
    const CoreType *t = type_of(v, value->args.data[0]), *x = type_of(v, value->args.data[1]);
    if (!core_is_block_state(v->fn, value->args.data[0])) {
        verify_fault(v, "`%s` of something that is no state of a block", op_text(value->op));
        return;
    }
    if (!core_type_equal(value->type, t))
        verify_fault(v, "the type is not that of the state");
    if (value->op == OP_ASSIGN) {
        if (!core_type_equal(x, t))
            verify_fault(v, "the value is of another type than its state");
        return;
    }
    bool fits = t->rank >= 3 && x->kind == CORE_TENSOR && x->dtype == t->dtype &&
                x->rank == t->rank && x->dims[1] == t->dims[1] && same_dims(t, 3, x, 3);
    for (int i = 2; fits && i < 4; i++) {
        const CoreType *at = type_of(v, value->args.data[i]);
        fits = at->kind == CORE_TENSOR && at->dtype == DT_I32 && at->rank == 1 &&
               at->dims[0] == x->dims[0];
    }
    if (!fits)
        verify_fault(v, "the rows, or where they go, do not fit the state of `place`");
}

// Where a value's contents come from: a state of a block, or a call that may give one.
static bool from_block(const CoreFn *f, Val root) {
    const Value *v = core_value(f, root);
    return v->op == OP_CALL || v->op == OP_ASSIGN || v->op == OP_PLACE ||
           core_is_block_state(f, root);
}

static const Value *member_of(const CoreFn *f, Val root) {
    const Value *v = core_value(f, root);
    if (v->op == OP_ASSIGN || v->op == OP_PLACE)
        v = core_value(f, v->args.data[0]);
    return v->op == OP_MEMBER ? v : NULL;
}

// May writing the state `written` (0: any) change what `root` gives?
bool core_state_overlaps(const CoreFn *f, Val root, Val written) {
    if (!from_block(f, root))
        return false;
    const Value *a = member_of(f, root), *b = written ? member_of(f, written) : NULL;
    if (!a || !b)
        return true;
    return a->member == b->member && core_value(f, a->args.data[0])->type->block ==
                                         core_value(f, b->args.data[0])->type->block;
}

// What was read from blocks' states that may be written is gone.
static void written_blocks(Verifier *v, Val written) {
    for (int i = 0; i < v->fn->values.len; i++) {
        if (v->root[i] && v->state[i] == VALUE_HERE &&
            core_state_overlaps(v->fn, v->root[i], written))
            v->state[i] = VALUE_WRITTEN;
    }
}

static bool has_effects(const Value *v) {
    return v->op == OP_ASSIGN || v->op == OP_PLACE ||
           (v->op == OP_CALL && v->callee && v->callee->effects);
}

enum { DEEPEST_REGION = 64 };

static void written_in(Verifier *v, const Region *r, int depth) {
    for (int i = 0; depth < DEEPEST_REGION && i < r->body.len; i++) {
        Val n = r->body.data[i];
        if (n < 1 || (int)n > v->fn->values.len)
            continue;
        const Value *value = core_value(v->fn, n);
        bool state = value->op != OP_CALL && value->args.len && value->args.data[0] >= 1 &&
                     (int)value->args.data[0] <= v->fn->values.len;
        if (has_effects(value))
            written_blocks(v, state ? value->args.data[0] : 0);
        if (value->loop) {
            written_in(v, &value->loop->test, depth + 1);
            written_in(v, &value->loop->region, depth + 1);
        }
    }
}

// A later round sees what an earlier one wrote.
void verify_loop_memory(Verifier *v, const Value *value) {
    for (int i = 0; i < value->args.len; i++) {
        if (v->root[value->args.data[i] - 1])
            verify_fault(v, "a loop carries a state");
    }
    written_in(v, &value->loop->test, 0);
    written_in(v, &value->loop->region, 0);
}

void verify_yields_memory(Verifier *v, const Region *r) {
    for (int i = 0; i < r->yields.len; i++) {
        Val n = r->yields.data[i];
        if (n >= 1 && (int)n <= v->fn->values.len && v->root[n - 1])
            verify_fault(v, "a loop yields a state");
    }
}

void verify_effects(Verifier *v, int index) {
    const CoreFn *f = v->fn;
    bool effects = false;
    for (int i = 0; i < f->region.yields.len; i++) {
        Val n = f->region.yields.data[i];
        if (n >= 1 && (int)n <= f->values.len && v->root[n - 1])
            v->gives[index] = v->gives[index] || from_block(f, v->root[n - 1]);
    }
    for (int i = 0; i < f->values.len; i++)
        effects = effects || has_effects(&f->values.data[i]);
    v->value = 0;
    if (effects && !f->effects)
        verify_fault(v, "it assigns states of blocks and is not marked so");
}

// ---- Memory ------------------------------------------------------------------------------------

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

static void verify_block_memory(Verifier *v, const Value *value) {
    uintptr_t callee = value->op == OP_CALL ? (uintptr_t)map_get(&v->fns, value->callee) : 0;
    bool effects = has_effects(value), call = value->op == OP_CALL;
    for (int i = !call; effects && i < value->args.len; i++) {
        if (v->root[value->args.data[i] - 1])
            verify_fault(v, "`%s` is given a state, and changes one", op_text(value->op));
    }
    if (effects)
        written_blocks(v, call ? 0 : value->args.data[0]);
    bool state =
        core_is_block_state(v->fn, v->value) || value->op == OP_ASSIGN || value->op == OP_PLACE;
    if (state || (callee && v->gives[callee - 1]))
        v->root[v->value - 1] = v->value;
}

void verify_memory(Verifier *v, const Value *value) {
    verify_block_memory(v, value);
    Val root = 0, first = value->args.len ? value->args.data[0] : 0;
    for (int i = 0; i < value->args.len; i++) {
        if (v->root[value->args.data[i] - 1])
            root = v->root[value->args.data[i] - 1];
    }
    if (!root || v->root[v->value - 1] || value->op == OP_LOOP || value->op == OP_WHILE)
        return;
    if (value->op == OP_WRITE)
        overwritten(v, v->root[first - 1]);
    bool direct = value->op == OP_PICK || value->op == OP_WRITE;
    if (shares(value))
        v->root[v->value - 1] = direct ? v->root[first - 1] : root;
    v->states[v->value - 1] = direct && v->states[first - 1];
}

// Serving engines: where positions meet, and the shapes of attentions.
#include "opt/compat_impl.h"

// ---- Positions (E3304) -------------------------------------------------------------------------

static int row_axis(const CausalValue *t) {
    if (t->positions != 1)
        return t->positions ? t->row : -1;
    for (int i = 0; i < t->rank; i++) {
        if (t->position[i])
            return i;
    }
    return -1;
}

// Does the read of node n in v look at another position than the row's own?
static bool looks_away(Compat *x, Causal *k, Val v, int n) {
    const Node *node = &core_value(x->f, v)->comp->nodes.data[n];
    const CausalValue *t = causal_value(k, v);
    const CausalValue *u = causal_value(k, core_value(x->f, v)->args.data[node->index]);
    if (!u || !u->tokens)
        return false;
    for (int i = 0; i < u->rank && i < node->read_count; i++) {
        int64_t lo, hi;
        if (!u->position[i] || !causal_read_interval(k, v, n, i, row_axis(t), &lo, &hi))
            continue;
        if (lo <= hi && (lo != 0 || hi != 0))
            return true;
    }
    return false;
}

static void mixes(Compat *x, const Value *v) {
    compat_fault(x, E3304, v, NULL,
                 "works along positions outside of std.nn.attention, where an "
                 "engine can't put its own attention",
                 "write it as attention(q, k, v, scale, some(causal_mask<S, "
                 "S>()))");
}

// The first value that reads tokens' features at other positions.
static bool check_positions(Compat *x, Causal *k) {
    for (Val v = 1; v <= (Val)x->f->values.len; v++) {
        const Value *value = core_value(x->f, v);
        const CausalValue *t = causal_value(k, v);
        if (!x->live[v - 1] || !t)
            continue;
        if (value->op == OP_CUMSUM && t->tokens && value->type->dims[value->index] == x->S) {
            mixes(x, value);
            return false;
        }
        for (int n = 0; value->op == OP_COMP && n < value->comp->nodes.len; n++) {
            if (value->comp->nodes.data[n].op == N_READ && looks_away(x, k, v, n)) {
                mixes(x, value);
                return false;
            }
        }
    }
    return true;
}

// Is mask [Q, K] true exactly where k <= q?
static bool is_causal(Causal *k, const CausalValue *mask) {
    Affine *p = causal_affine(k);
    if (!mask || mask->rank != 2 || !mask->body || mask->tokens)
        return false;
    Form q = form_var(mask->out[0]), key = form_var(mask->out[1]);
    const Cons *seen = cons_less(p, cons_none(p), &key, &q, 0);
    const Cons *hidden = cons_less(p, cons_none(p), &q, &key, 1);
    return affine_decide(p, mask->body, seen) == 1 && affine_decide(p, mask->body, hidden) == 0;
}

static void check_mask(Compat *x, Causal *k, const Value *call) {
    bool masked = call->args.len > 4;
    if (masked && is_causal(k, causal_value(k, call->args.data[4])))
        return;
    const char *symbol = masked ? core_value(x->f, call->args.data[4])->name : "attention";
    compat_fault(x, E3304, call, symbol ? symbol : "mask",
                 masked ? "is another mask than the causal one, which is the only "
                          "one of an engine's attention"
                        : "has no mask, and an engine's own is causal",
                 "give it some(causal_mask<S, S>())");
}

// ---- Shapes (E3305) ----------------------------------------------------------------------------

static void shapes(Compat *x, const Value *call, const char *cause, const char *fix) {
    compat_fault(x, E3305, call, x->name, cause, fix);
}

static const CoreType *arg_type(Compat *x, const Value *call, int i) {
    return core_value(x->f, call->args.data[i])->type;
}

// False after a fault.
static bool check_shape(Compat *x, const Value *call, const Value *first) {
    Arena *a = x->core->session->arena;
    const CoreType *q = arg_type(x, call, 0), *k = arg_type(x, call, 1);
    int64_t heads = 0, groups = 0;
    dim_is_const(q->dims[1], &heads);
    dim_is_const(k->dims[1], &groups);
    if (q->dims[1] != k->dims[1]) {
        shapes(x, call,
               arena_printf(a,
                            "attends with %lld key heads for %lld query heads, and an engine keeps "
                            "one number of heads",
                            (long long)groups, (long long)heads),
               "repeat keys and values to the query's heads before attention");
        return false;
    }
    const CoreType *other = arg_type(x, first, 0);
    if (q->dims[1] == other->dims[1] && q->dims[3] == other->dims[3] && q->dtype == other->dtype)
        return true;
    shapes(x, call, "has attentions of different shapes, and an engine's cache has one",
           "give every attention the same number of heads, head width and dtype");
    return false;
}

static void check_shapes(Compat *x, bool mixed) {
    const Value *first = NULL;
    for (Val v = 1; v <= (Val)x->f->values.len; v++) {
        const Value *value = core_value(x->f, v);
        if (!x->live[v - 1] || !compat_attends(value))
            continue;
        first = first ? first : value;
        if (!check_shape(x, value, first))
            return;
    }
    if (!first && !mixed)
        compat_fault(x, E3305, NULL, x->name, "has no attention, so an engine has nothing to keep",
                     "an engine runs models with attention only");
}

void compat_attention(Compat *x) {
    Causal *k = causal_analyse(x->core, x->f, x->S, x->tokens);
    int before = x->out->len;
    if (!causal_ok(k)) {
        compat_fault(x, E3304, NULL, x->name, causal_refusal(k)->why, "mend it");
        return;
    }
    bool rows = check_positions(x, k);
    for (Val v = 1; rows && v <= (Val)x->f->values.len; v++) {
        if (x->live[v - 1] && compat_attends(core_value(x->f, v)) && x->out->len == before)
            check_mask(x, k, core_value(x->f, v));
    }
    check_shapes(x, x->out->len > before);
}

// The window of a function: how far back its rows look, if that is bounded.
#include "opt/roles.h"

static void widen(int64_t *window, int64_t back) {
    if (*window < 0)
        return;
    if (back >= AFFINE_INF || back >= (int64_t)1 << 31)
        *window = -1;
    else if (back > *window)
        *window = back;
}

static void reductions(const Roles *r, Val v, int64_t *window) {
    const Comp *k = core_value(r->fn, v)->comp;
    const CausalValue *cv = causal_value(r->causal, v);
    for (int j = 0; j < k->red; j++) {
        if (k->red_dims[j] != r->S)
            continue;
        bool bounded = cv && cv->tokens && cv->bounds[j].bounded;
        widen(window, bounded ? cv->bounds[j].window : AFFINE_INF);
    }
}

// Reads of what depends on positions alone: the proof says nothing of how far back they go.
static void far_reads(Roles *r, Val v, int64_t *window) {
    const Value *value = core_value(r->fn, v);
    const Comp *k = value->comp;
    bool same[CORE_MAX_RANK];
    for (int i = 0; i < k->nodes.len; i++) {
        const Node *n = &k->nodes.data[i];
        if (n->op != N_READ || role_of(r, value->args.data[n->index])->tokens ||
            !roles_read(r, v, i, same))
            continue;
        const CoreType *t = core_value(r->fn, value->args.data[n->index])->type;
        for (int a = 0; a < n->read_count; a++) {
            int64_t lo = 0, hi;
            if (t->dims[a] != r->S || same[a] || k->nodes.data[n->reads[a]].op == N_INDEX)
                continue;
            bool known = role_of(r, v)->mode != ROLE_ALL &&
                         causal_read_anywhere(r->causal, v, i, a, role_of(r, v)->row, &lo, &hi);
            widen(window, known && lo > -AFFINE_INF ? -lo : AFFINE_INF);
        }
    }
}

int64_t roles_window(Roles *r) {
    int64_t window = 0;
    for (int i = 0; i < r->fn->values.len; i++) {
        const Role *o = &r->of[i];
        Val v = (Val)i + 1;
        const CausalValue *cv = o->live && o->tensor ? causal_value(r->causal, v) : NULL;
        for (int a = 0; cv && o->tokens && a < cv->rank; a++) {
            if (cv->position[a])
                widen(&window, cv->back[a]);
        }
        if (!o->live || core_value(r->fn, v)->op != OP_COMP)
            continue;
        reductions(r, v, &window);
        far_reads(r, v, &window);
    }
    return window;
}

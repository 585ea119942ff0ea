// What is decided the same way for every row and length: `q < S`, or a mask that hides nothing. The
// step has no S of its own, and no values that decide nothing, so these comparisons, and the
// selects that they decide, become constants.
#include "opt/decide.h"
#include "opt/causal_impl.h"

typedef struct {
    Causal *k;
    Arena *arena; // scratch, of the maps
    Map seen;     // constraints -> terms visited under them
    Map known;    // term -> 1 + what it is (0, 1), or 3: not always the same
} Decide;

static void record(Decide *d, const Term *e, int truth) {
    uintptr_t old = (uintptr_t)map_get(&d->known, e);
    uintptr_t new = truth < 0 ? 3 : 1 + (uintptr_t)truth;
    if (old != new)
        map_put(d->arena, &d->known, e, (void *)(old ? 3 : new));
}

static bool visited(Decide *d, const Term *e, const Cons *c) {
    Map *terms = map_get(&d->seen, c);
    if (!terms) {
        terms = NEW(d->arena, Map);
        map_put(d->arena, &d->seen, c, terms);
    }
    if (map_has(terms, e))
        return true;
    map_put(d->arena, terms, e, (void *)e);
    return false;
}

static void visit(Decide *d, const Term *e, const Cons *c) {
    if (visited(d, e, c))
        return;
    if (e->op == N_SELECT) {
        const Term *branch[2];
        const Cons *known[2];
        int n = affine_branches(d->k->affine, e, c, branch, known);
        record(d, e, n == 1 ? branch[0] == e->args[1] : -1);
        if (n == 2)
            visit(d, e->args[0], c);
        for (int i = 0; i < n; i++)
            visit(d, branch[i], known[i]);
        return;
    }
    if ((e->op == N_MIN || e->op == N_MAX) && dtype_is_integer(e->dtype)) {
        const Term *le = term_binary(d->k->terms, N_LE, e->args[0], e->args[1]);
        int less = le ? affine_decide(d->k->affine, le, c) : -1;
        record(d, e, less < 0 ? -1 : (e->op == N_MIN) == less);
    }
    if (node_class(e->op) == 'C') {
        int truth = affine_decide(d->k->affine, e, c);
        record(d, e, truth);
        if (truth >= 0)
            return;
    }
    for (int i = 0; i < e->n; i++)
        visit(d, e->args[i], c);
}

// Which nodes have the length in them, or elements of other values.
static bool *with_more(const Causal *k, const Comp *c) {
    bool *with = NEW_N(k->arena, bool, c->nodes.len + 1);
    for (int i = 0; i < c->nodes.len; i++) {
        const Node *n = &c->nodes.data[i];
        with[i] = n->op == N_READ || (n->op == N_DIM && dim_mentions(n->dim, k->S));
        for (int j = 0; j < node_args(n->op); j++)
            with[i] = with[i] || with[n->args[j]];
    }
    return with;
}

// The node that stands for node i if it is decided; op N_NEG (which is none of them) if it is not.
static Node decided(const Decide *d, const CausalValue *t, const Comp *k, const bool *with, int i) {
    const Node *n = &k->nodes.data[i];
    uintptr_t known = t->nodes[i] ? (uintptr_t)map_get(&d->known, t->nodes[i]) : 0;
    bool select = n->op == N_SELECT, truth = known == 2;
    if (known < 1 || known > 2 || !with[select ? n->args[0] : i])
        return (Node){.op = N_NEG};
    if (node_class(n->op) == 'C')
        return (Node){.op = N_CONST, .dtype = DT_BOOL, .i = truth};
    return (Node){.op = N_CAST, .dtype = n->dtype, .args = {n->args[select + !truth]}};
}

// A copy of the body with those nodes replaced, or NULL. A select becomes a cast to its own dtype,
// not the branch itself: a root that becomes a product would sum in another way.
static Comp *decide(Decide *d, const CausalValue *t, const Comp *from, const bool *with) {
    Comp *to = NULL;
    for (int i = 0; i < from->nodes.len; i++) {
        Node n = decided(d, t, from, with, i);
        if (n.op == N_NEG)
            continue;
        to = to ? to : comp_copy(d->k->core, from);
        to->nodes.data[i] = n;
    }
    return to;
}

bool opt_decide(CoreFn *f, Causal *k) {
    bool any = false;
    for (Val v = 1; v <= (Val)f->values.len; v++) {
        Value *value = core_value(f, v);
        const CausalValue *t = causal_value(k, v);
        if (value->op != OP_COMP || !t || !t->raw || !t->nodes)
            continue;
        const bool *with = with_more(k, value->comp);
        if (!with[value->comp->root])
            continue;
        Decide d = {.k = k, .arena = arena_child(k->arena)};
        visit(&d, t->raw, cons_none(k->affine));
        Comp *to = decide(&d, t, value->comp, with);
        arena_free(d.arena);
        if (to)
            value->comp = to;
        any = any || to;
    }
    return any;
}

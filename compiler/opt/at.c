// Entries of one length; see at.h.
//
// What has an axis of positions is computed for all N of them; causality says that the padding
// changes none before it. Everything else must be free of the length, but for the one place where a
// row is selected: there the constant S - 1 becomes a read of the new parameter.
#include "opt/at.h"
#include "opt/dce.h"

typedef struct {
    const Dim *S, *last; // the length, and S - 1
    Core *core;
    const CoreFn *f;
    StepRefusal *why;
    int place; // number of the value that selects, from 0
    int node;  // that holds S - 1 in its body
    int found; // how many do
} Search;

// Of value number i; -1: of the function.
static bool refuse(Search *x, int i, const char *why) {
    return opt_step_refuse(x->core, x->why, x->f, (Val)(i + 1), true, why);
}

// ---- The selection -----------------------------------------------------------------------------

// Is node n the place of a read along an axis of positions, and nothing else?
static bool only_selects(const Search *x, const CoreFn *f, const Value *v, int n) {
    const Comp *k = v->comp;
    for (int i = 0; i < k->nodes.len; i++) {
        const Node *user = &k->nodes.data[i];
        for (int a = 0; a < node_args(user->op); a++) {
            if (user->args[a] == n)
                return false;
        }
        if (user->op != N_READ)
            continue;
        const CoreType *from = core_value(f, v->args.data[user->index])->type;
        for (int a = 0; a < user->read_count; a++) {
            if (user->reads[a] == n && from->dims[a] != x->S)
                return false;
        }
    }
    return k->root != n;
}

static bool look_at_comp(Search *x, const CoreFn *f, int i) {
    const Value *v = &f->values.data[i];
    const Comp *k = v->comp;
    for (int r = 0; r < k->red; r++) {
        if (dim_mentions(k->red_dims[r], x->S))
            return refuse(x, i, "is reduced over every position");
    }
    for (int n = 0; n < k->nodes.len; n++) {
        const Node *node = &k->nodes.data[n];
        if (node->op != N_DIM || !dim_mentions(node->dim, x->S))
            continue;
        if (node->dim != x->last || !only_selects(x, f, v, n))
            return refuse(x, i, "depends on the length");
        x->place = i;
        x->node = n;
        x->found++;
    }
    return true;
}

// A value without an axis of positions.
static bool look_at(Search *x, const CoreFn *f, int i) {
    const Value *v = &f->values.data[i];
    if (v->op == OP_COMP)
        return look_at_comp(x, f, i);
    if (v->op == OP_CALL && opt_fn_mentions(v->callee, x->S))
        return opt_step_refuse(
            x->core, x->why, f, (Val)(i + 1), false,
            arena_printf(x->core->session->arena, "`%s` depends on the length", v->callee->name));
    if (v->loop && v->loop->count && dim_mentions(v->loop->count, x->S))
        return refuse(x, i, "is a loop over positions");
    for (int a = 0; v->op != OP_COMP && v->op != OP_CALL && !v->loop && a < v->args.len; a++) {
        if (opt_type_mentions(core_value(f, v->args.data[a])->type, x->S))
            return refuse(x, i, "takes positions together");
    }
    return true;
}

static bool search(Search *x, const CoreFn *f) {
    Arena *a = arena_new();
    bool good = true, *live = opt_live(a, f);
    for (int i = 0; good && i < f->values.len; i++) {
        bool free = f->values.data[i].op == OP_PARAM || !live[i];
        if (!free && !opt_type_mentions(f->values.data[i].type, x->S))
            good = look_at(x, f, i);
    }
    arena_free(a);
    if (!good)
        return false;
    if (x->found == 0)
        return refuse(x, -1, "the last position is selected nowhere");
    return x->found == 1 || refuse(x, x->place, "selects the last position once more");
}

CoreFn *opt_at(Resize *r, const CoreFn *f, StepRefusal *why) {
    Core *c = r->core;
    Session *s = c->session;
    Search x = {.S = r->from, .core = c, .f = f, .why = why};
    *why = (StepRefusal){0};
    x.last = dim_sub(c->dims, r->from, dim_const(c->dims, 1));
    if (!search(&x, f))
        return NULL;
    Name name = session_name(s, arena_printf(s->arena, "%s.at", f->name));
    CoreFn *copy = core_copy(c, f, name, arena_printf(s->arena, "%s.at", f->label));
    Val at = core_param(c, copy, core_tensor(c, DT_I64, 0, NULL), session_name(s, "at"), f->span);
    Value *v = &copy->values.data[x.place];
    v->comp->nodes.data[x.node] = (Node){.op = N_READ, .dtype = DT_I64, .index = v->args.len};
    core_arg(c, copy, (Val)(x.place + 1), at);
    c->fns.len--; // the copy of one length takes its place
    CoreFn *made = opt_resized(r, copy);
    made->doc = arena_printf(s->arena, "%s, at a position of a padded text", f->name);
    return made;
}

// ---- The proof ---------------------------------------------------------------------------------

// Why the rows of u may change with what follows them, or NULL.
static const CausalCause *unstable(const CausalValue *u) {
    const CausalCause *causes[] = {u->length, u->lanes, u->late, u->all};
    for (int i = 0; i < 4; i++) {
        if (causes[i])
            return causes[i];
    }
    return NULL;
}

bool opt_may_pad(const StepPlan *p, const Dim *S, const CausalCause **cause) {
    const CoreFn *f = p->flat;
    Arena *a = arena_new();
    bool *live = opt_live(a, f);
    *cause = NULL;
    for (int i = 0; !*cause && i < f->values.len; i++) {
        const Value *v = &f->values.data[i];
        bool rows = opt_type_mentions(v->type, S);
        for (int k = 0; !*cause && live[i] && !rows && k < v->args.len; k++) {
            const CausalValue *u = causal_value(p->causal, v->args.data[k]);
            *cause = u && u->positions ? unstable(u) : NULL;
        }
    }
    arena_free(a);
    return !*cause;
}

// ---- The last row ------------------------------------------------------------------------------

CoreFn *opt_last_logits(Core *c, CoreFn *f) {
    Session *s = c->session;
    Val x = f->region.yields.data[0];
    const CoreType *t = core_value(f, x)->type;
    if (t->dtype == DT_F32 && t->rank == 2)
        return f;
    Name name = session_name(s, arena_printf(s->arena, "%s.last", f->name));
    CoreFn *copy = core_copy(c, f, name, arena_printf(s->arena, "%s.last", f->label));
    const Dim *dims[] = {t->dims[0], t->dims[t->rank - 1]};
    Comp *k = NEW(s->arena, Comp);
    int at[3], n = 0;
    k->out = 2;
    k->names = NEW_N(s->arena, Name, 2);
    at[n++] = comp_index(c, k, 0);
    if (t->rank == 3)
        at[n++] = comp_dim(c, k, dim_sub(c->dims, t->dims[1], dim_const(c->dims, 1)));
    at[n++] = comp_index(c, k, 1);
    k->root = comp_cast(c, k, DT_F32, comp_read(c, k, 0, t->dtype, n, at));
    Val y = core_add(c, copy, OP_COMP, core_tensor(c, DT_F32, 2, dims), session_name(s, "last"),
                     core_value(copy, x)->span);
    core_value(copy, y)->comp = k;
    core_value(copy, y)->comment = "the logits of the last position";
    core_arg(c, copy, y, x);
    core_emit(c, &copy->region, y);
    copy->region.yields.data[0] = y;
    return copy;
}

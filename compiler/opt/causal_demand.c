// Demand backwards from the outputs: where each value is asked for (the current row, the last
// position, so far back), before anything is cut; and with it the verdict.
#include "opt/causal_impl.h"

enum { ROUNDS = 6 };

static void mark(Causal *k, bool *flag) {
    k->changed = k->changed || !*flag;
    *flag = true;
}

static void ask_back(Causal *k, CausalValue *u, int axis, int64_t back) {
    if (back > u->back[axis]) {
        u->back[axis] = back;
        k->changed = true;
    }
}

// ---- How a value is computed -------------------------------------------------------------------

static bool source(const CausalValue *t) {
    return t->kind == CAUSAL_TOKENS || t->kind == CAUSAL_CARRIED || t->reduction != RED_NONE;
}

// The row axis: of several, the first that is not asked for elsewhere. False: a quadratic cache.
static bool choose_row(CausalValue *t) {
    t->row = -1;
    for (int i = 0; i < t->rank && t->row < 0; i++) {
        if (t->position[i] && (t->positions == 1 || t->back[i] == CAUSAL_NEVER))
            t->row = i;
    }
    return !t->positions || t->row >= 0;
}

static void choose_mode(CausalValue *t) {
    bool back = t->row >= 0 && t->back[t->row] != CAUSAL_NEVER;
    if (back && !source(t))
        t->mode = CAUSAL_ALL;
    else if (back || (t->row >= 0 && t->at_row[t->row]))
        t->mode = CAUSAL_ROWS;
    else
        t->mode = CAUSAL_LAST;
}

// Why t can't be computed that way, or NULL.
static const CausalCause *obstacle(const CausalValue *t) {
    if (t->mix || t->lanes)
        return t->mix ? t->mix : t->lanes;
    if (t->mode == CAUSAL_LAST)
        return NULL;
    return t->length ? t->length : t->late ? t->late : t->all;
}

// ---- What it reads -----------------------------------------------------------------------------

// How far before the row an index of t goes; CAUSAL_NEVER: it is the row, or no position.
static int64_t reach(const CausalValue *t, int axis) {
    if (axis == t->row)
        return t->back[axis];
    return t->back[axis] != CAUSAL_NEVER ? t->back[axis] : 0;
}

static const Cons *near_row(Causal *k, const Cons *c, const Form *i, const Form *row, int64_t w) {
    c = cons_less(k->affine, c, i, row, 0);
    return w < AFFINE_INF ? cons_less(k->affine, c, row, i, -w) : c;
}

typedef struct {
    Causal *k;
    CausalValue *t;
    Form row; // the row's index, or S - 1
} Demand;

static Form row_form(Causal *k, const CausalValue *t) {
    if (t->mode != CAUSAL_LAST)
        return form_var(t->out[t->row]);
    Form last = form_var(affine_length(k->affine));
    last.k = -1;
    return last;
}

static const Cons *surroundings(Causal *k, const CausalValue *t, const Form *row) {
    const Cons *c = cons_none(k->affine);
    if (t->mode == CAUSAL_LAST && t->row >= 0) {
        Form own = form_var(t->out[t->row]);
        c = near_row(k, c, &own, row, 0);
    }
    for (int i = 0; i < t->rank; i++) {
        Form index = form_var(t->out[i]);
        if (t->position[i] && i != t->row)
            c = near_row(k, c, &index, row, reach(t, i));
    }
    return cons_join(k->affine, c, causal_bounds(k, t));
}

static void ask_axis(Demand *d, const Term *e, int axis, const Cons *c) {
    Causal *k = d->k;
    CausalValue *t = d->t, *u = e->value;
    int64_t lo, hi;
    affine_interval(k->affine, affine_forms(k->affine, e->args[axis]), &d->row, c, &lo, &hi);
    if (lo > hi) // never read
        return;
    mark(k, &u->asked);
    if (hi > 0) {
        causal_refuse(k, causal_cause(k, t, e, "may be a later position"));
        return;
    }
    int64_t back = lo <= -AFFINE_INF ? AFFINE_INF : -lo;
    if (t->mode == CAUSAL_ALL) {
        int64_t own = t->back[t->row];
        bool all = own >= AFFINE_INF || back >= AFFINE_INF;
        ask_back(k, u, axis, all ? AFFINE_INF : own + back);
    } else if (lo || hi) {
        ask_back(k, u, axis, back);
    } else {
        mark(k, t->mode == CAUSAL_ROWS ? &u->at_row[axis] : &u->at_last[axis]);
    }
}

// A value that depends on the length but on no token needs a length of its own for every row of a
// batch. What is elementwise and read for the last position only can be put in there.
static bool length_only(const CausalValue *t, const CausalValue *u) {
    bool inlined = u->kind == CAUSAL_COMP && u->reduction == RED_NONE && t->mode == CAUSAL_LAST;
    return !u->tokens && u->length && !inlined;
}

static void ask(void *ctx, const Term *e, const Cons *c) {
    Demand *d = ctx;
    if (e->op != N_READ)
        return;
    CausalValue *u = e->value;
    if (length_only(d->t, u)) {
        causal_refuse(d->k, u->length);
        return;
    }
    if (!u->tokens)
        return;
    if (!u->positions)
        mark(d->k, &u->asked);
    for (int i = 0; i < u->rank; i++) {
        if (u->position[i])
            ask_axis(d, e, i, c);
    }
}

static void demand_value(Causal *k, CausalValue *t) {
    if (!t->asked || !t->tokens)
        return;
    if (!choose_row(t)) {
        causal_refuse(k, causal_cause(k, t, t->body,
                                      "is read at other positions on all its axes: its cache would "
                                      "be quadratic"));
        return;
    }
    choose_mode(t);
    const CausalCause *why = obstacle(t);
    if (why)
        causal_refuse(k, why);
    if (why || !t->body)
        return;
    Demand d = {k, t, row_form(k, t)};
    causal_each_live(k, t->body, surroundings(k, t, &d.row), ask, &d);
}

// ---- Loops -------------------------------------------------------------------------------------

// What gives `to` its elements is asked for where `to` is; at other positions `to` keeps its own.
static void pass_on(Causal *k, const CausalValue *to, CausalValue *from) {
    if (!to->asked)
        return;
    mark(k, &from->asked);
    for (int i = 0; i < to->rank; i++) {
        if (to->at_row[i] || to->back[i] != CAUSAL_NEVER)
            mark(k, &from->at_row[i]);
        if (to->at_last[i])
            mark(k, &from->at_last[i]);
    }
}

static void demand_range(Causal *k, int from, int to);

static void demand_loop(Causal *k, const CausalLoop *l) {
    bool outer = k->changed;
    for (int round = 0; round < ROUNDS && !k->refusal; round++) {
        k->changed = false;
        for (int i = 0; i < l->slots; i++) {
            pass_on(k, l->results[i], l->yields[i]);
            pass_on(k, l->carried[i], l->yields[i]);
        }
        demand_range(k, l->begin + 1, l->end);
        if (!k->changed)
            break;
    }
    if (k->changed && l->slots)
        causal_refuse(k, causal_cause(k, l->carried[0], NULL,
                                      "is asked for further and further back by a loop"));
    k->changed = outer;
    for (int i = 0; i < l->slots; i++) {
        pass_on(k, l->results[i], l->init[i]);
        pass_on(k, l->carried[i], l->init[i]);
    }
}

static void demand_range(Causal *k, int from, int to) {
    for (int i = to - 1; i >= from && !k->refusal; i--) {
        const Event *e = &k->events.data[i];
        if (e->kind == EVENT_END) {
            demand_loop(k, e->loop);
            i = e->loop->begin;
        } else if (e->kind == EVENT_VALUE) {
            demand_value(k, e->value);
        }
    }
}

void causal_demand(Causal *k) {
    for (int i = 0; i < k->outputs.len; i++) {
        CausalValue *v = k->outputs.data[i];
        v->asked = true;
        for (int a = 0; a < v->rank; a++)
            v->at_row[a] = v->position[a];
    }
    demand_range(k, 0, k->events.len);
}

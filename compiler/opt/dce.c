// Liveness from the results and the writes of states backwards. A loop that is needed, or writes,
// keeps all it carries.
#include "opt/dce.h"

typedef struct {
    Arena *arena;
    bool *live;
    VEC(Val) work; // live values whose operands are to be looked at
} Liveness;

static void need(Liveness *l, Val v) {
    if (l->live[v - 1])
        return;
    l->live[v - 1] = true;
    vec_push(l->arena, &l->work, v);
}

enum { DEEPEST_REGION = 64 };

static bool changes_states(const Value *v) {
    return v->op == OP_WRITE || v->op == OP_ASSIGN || v->op == OP_PLACE ||
           (v->op == OP_CALL && v->callee->effects);
}

// A write changes memory that outlives the call: it and the loops around it are needed. A `while`
// is needed too where what it carries is.
static bool need_writes(Liveness *l, const CoreFn *f, const Region *r, int depth) {
    bool writes = false;
    for (int i = 0; depth < DEEPEST_REGION && i < r->body.len; i++) {
        const Value *v = core_value(f, r->body.data[i]);
        bool test = v->loop && need_writes(l, f, &v->loop->test, depth + 1);
        bool inner = v->loop && need_writes(l, f, &v->loop->region, depth + 1);
        if (!changes_states(v) && !inner && !test)
            continue;
        writes = true;
        need(l, r->body.data[i]);
    }
    return writes;
}

bool *opt_live(Arena *a, const CoreFn *f) {
    Liveness l = {.arena = a, .live = NEW_N(a, bool, f->values.len)};
    for (int i = 0; i < f->region.yields.len; i++)
        need(&l, f->region.yields.data[i]);
    if (f->states.len || f->effects)
        need_writes(&l, f, &f->region, 0);
    while (l.work.len) {
        const Value *v = core_value(f, l.work.data[--l.work.len]);
        for (int i = 0; i < v->args.len; i++)
            need(&l, v->args.data[i]);
        if (!v->loop)
            continue;
        if (v->loop->index)
            need(&l, v->loop->index);
        for (int i = 0; i < v->loop->test.yields.len; i++)
            need(&l, v->loop->test.yields.data[i]);
        for (int i = 0; i < v->loop->carried.len; i++)
            need(&l, v->loop->carried.data[i]);
        for (int i = 0; i < v->loop->region.yields.len; i++)
            need(&l, v->loop->region.yields.data[i]);
    }
    return l.live;
}

static void sweep(Region *r, const bool *live) {
    int kept = 0;
    for (int i = 0; i < r->body.len; i++) {
        if (live[r->body.data[i] - 1])
            r->body.data[kept++] = r->body.data[i];
    }
    r->body.len = kept;
}

void opt_dce(Core *c, CoreFn *f) {
    bool *live = opt_live(c->session->arena, f);
    sweep(&f->region, live);
    for (int i = 0; i < f->values.len; i++) {
        Loop *loop = live[i] ? f->values.data[i].loop : NULL;
        if (loop) {
            sweep(&loop->test, live);
            sweep(&loop->region, live);
        }
    }
}

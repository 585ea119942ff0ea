// What the derivation asks of a finished analysis, and the proof as text.
#include "opt/causal_impl.h"

bool causal_ok(const Causal *k) {
    return !k->refusal;
}

const CausalCause *causal_refusal(const Causal *k) {
    return k->refusal;
}

int causal_steps(const Causal *k) {
    return k->steps.len;
}

const CausalStep *causal_step(const Causal *k, int i) {
    return &k->steps.data[i];
}

double causal_limit(const Causal *k) {
    return k->limit;
}

bool causal_warns(const Causal *k) {
    return k->limit < 1e5;
}

const CausalValue *causal_value(const Causal *k, Val v) {
    return v && v <= (Val)k->f->values.len ? k->by_val[v] : NULL;
}

Affine *causal_affine(Causal *k) {
    return k->affine;
}

const char *causal_code(const Causal *k) {
    (void)k;
    return "E3304";
}

// ---- Reads -------------------------------------------------------------------------------------

// The value and the term of a node of comprehension `user`, or NULL.
static const Term *node_of(const Causal *k, Val user, int node, const CausalValue **t) {
    *t = causal_value(k, user);
    if (!*t || core_value(k->f, user)->op != OP_COMP)
        return NULL;
    const Comp *c = core_value(k->f, user)->comp;
    return node >= 0 && node < c->nodes.len ? (*t)->nodes[node] : NULL;
}

typedef struct {
    Causal *k;
    const Term *wanted;
    int axis;   // of the read; -1: only whether it is live
    Form minus; // the row
    int64_t lo, hi;
    bool live;
} Find;

static void find(void *ctx, const Term *e, const Cons *c) {
    Find *f = ctx;
    if (e != f->wanted || !affine_feasible(f->k->affine, c))
        return;
    f->live = true;
    if (f->axis < 0)
        return;
    int64_t lo, hi;
    affine_interval(f->k->affine, affine_forms(f->k->affine, e->args[f->axis]), &f->minus, c, &lo,
                    &hi);
    f->lo = lo < f->lo ? lo : f->lo;
    f->hi = hi > f->hi ? hi : f->hi;
}

static bool interval_under(Causal *k, Val user, int read, int axis, int row, bool bounds,
                           int64_t *lo, int64_t *hi) {
    const CausalValue *t;
    const Term *e = node_of(k, user, read, &t);
    if (!e || e->op != N_READ || axis < 0 || axis >= e->n || row >= t->rank)
        return false;
    Find f = {.k = k, .wanted = e, .axis = axis, .lo = AFFINE_INF, .hi = -AFFINE_INF};
    f.minus = form_var(row < 0 ? affine_length(k->affine) : t->out[row]);
    f.minus.k = row < 0 ? -1 : 0;
    causal_each_live(k, t->raw, bounds ? causal_bounds(k, t) : cons_none(k->affine), find, &f);
    *lo = f.lo;
    *hi = f.hi;
    return true;
}

bool causal_read_interval(Causal *k, Val user, int read, int axis, int row, int64_t *lo,
                          int64_t *hi) {
    return interval_under(k, user, read, axis, row, true, lo, hi);
}

bool causal_read_anywhere(Causal *k, Val user, int read, int axis, int row, int64_t *lo,
                          int64_t *hi) {
    return interval_under(k, user, read, axis, row, false, lo, hi);
}

static bool live_under(Causal *k, Val user, int node, bool bounds) {
    const CausalValue *t;
    const Term *e = node_of(k, user, node, &t);
    if (!e)
        return false;
    Find f = {.k = k, .wanted = e, .axis = -1};
    causal_each_live(k, t->raw, bounds ? causal_bounds(k, t) : cons_none(k->affine), find, &f);
    return f.live;
}

bool causal_live(Causal *k, Val user, int node) {
    return live_under(k, user, node, true);
}

bool causal_live_anywhere(Causal *k, Val user, int node) {
    return live_under(k, user, node, false);
}

// ---- Folding -----------------------------------------------------------------------------------

typedef struct {
    Causal *k;
    const CausalValue *t;
    const Comp *from;
    const Value *value;
    Comp *to;
    Map done; // Term -> node + 1
    bool failed;
} Rebuild;

static int rebuild(Rebuild *r, const Term *e);

static int rebuild_index(Rebuild *r, const Var *v) {
    for (int i = 0; i < r->t->rank; i++) {
        if (r->t->out[i] == v)
            return comp_index(r->k->core, r->to, i);
    }
    for (int i = 0; i < r->t->red; i++) {
        if (r->t->red_vars[i] == v)
            return comp_index(r->k->core, r->to, r->t->rank + i);
    }
    r->failed = true;
    return 0;
}

static int rebuild_read(Rebuild *r, const Term *e) {
    int positions[CORE_MAX_RANK];
    for (int i = 0; i < e->n; i++)
        positions[i] = rebuild(r, e->args[i]);
    for (int i = 0; i < r->value->args.len; i++) {
        if (causal_value(r->k, r->value->args.data[i]) == e->value)
            return comp_read(r->k->core, r->to, i, e->dtype, e->n, positions);
    }
    r->failed = true; // it was looked through
    return 0;
}

static int rebuild_new(Rebuild *r, const Term *e) {
    Core *c = r->k->core;
    Node n = {.op = e->op, .dtype = e->dtype};
    switch (e->op) {
    case N_INDEX:
        return rebuild_index(r, e->var);
    case N_CONST:
        return dtype_is_float(e->dtype) ? comp_const_float(c, r->to, e->dtype, e->f)
                                        : comp_const_int(c, r->to, e->dtype, e->i);
    case N_DIM:
        return comp_dim(c, r->to, e->dim);
    case N_READ:
        return rebuild_read(r, e);
    default:
        for (int i = 0; i < e->n; i++)
            n.args[i] = rebuild(r, e->args[i]);
        return comp_append(c, r->to, n);
    }
}

static int rebuild(Rebuild *r, const Term *e) {
    uintptr_t known = (uintptr_t)map_get(&r->done, e);
    if (known)
        return (int)known - 1;
    int n = rebuild_new(r, e);
    map_put(r->k->arena, &r->done, e, (void *)((uintptr_t)n + 1));
    return n;
}

// The body under the bounds. A root that is a product stays one: how a sum steps is fixed.
static const Term *folded(Causal *k, const CausalValue *t) {
    const Cons *c = causal_bounds(k, t);
    if (t->raw->op != N_MUL)
        return causal_fold_term(k, t->raw, c);
    const Term *args[2];
    for (int i = 0; i < 2; i++)
        args[i] = t->step == STEP_PAIRS ? t->raw->args[i] : causal_fold_term(k, t->raw->args[i], c);
    return term_with(k->terms, t->raw, args);
}

Comp *causal_fold(Causal *k, Val user) {
    const CausalValue *t = causal_value(k, user);
    if (!t || core_value(k->f, user)->op != OP_COMP || !t->raw)
        return NULL;
    const Term *e = folded(k, t);
    bool product = e && e->op == N_MUL;
    if (!e || e == t->raw || (t->step == STEP_ADD && product))
        return NULL;
    const Comp *from = core_value(k->f, user)->comp;
    Rebuild r = {.k = k, .t = t, .from = from, .value = core_value(k->f, user)};
    r.to = comp_copy(k->core, from);
    r.to->nodes.len = 0;
    r.to->reshape = false;
    r.to->root = rebuild(&r, e);
    return r.failed ? NULL : r.to;
}

// ---- Text --------------------------------------------------------------------------------------

void causal_print_cause(const CausalCause *cause, StrBuf *out) {
    strbuf_printf(out, "%s: ", cause->value->name ? cause->value->name : "value");
    if (cause->expression)
        strbuf_printf(out, "`%s` ", cause->expression);
    strbuf_printf(out, "%s", cause->why);
}

Span causal_site(const Causal *k, const CausalCause *cause) {
    Val v = cause->value ? cause->value->val : 0;
    return v ? core_value(k->f, v)->site : (Span){0};
}

static void print_place(const Causal *k, Span span, StrBuf *out) {
    const Source *s = session_source(k->core->session, span);
    if (!s)
        return;
    int line, column;
    source_place(s, span.start, &line, &column);
    strbuf_printf(out, "%s:%d:%d: ", s->path, line, column);
}

void causal_print_proof(const Causal *k, StrBuf *out) {
    for (int i = 0; i < k->steps.len; i++) {
        print_place(k, k->steps.data[i].span, out);
        strbuf_printf(out, "%s\n", k->steps.data[i].text);
    }
    if (k->refusal) {
        print_place(k, k->refusal->span, out);
        strbuf_printf(out, "refused: ");
        causal_print_cause(k->refusal, out);
        strbuf_char(out, '\n');
        return;
    }
    if (k->limit < causal_limits[CAUSAL_LIMITS - 1])
        strbuf_printf(out,
                      "%s ordinary values (weights, scores, what is computed from them) are "
                      "finite and within %.4g\n",
                      causal_warns(k) ? "warning: holds only if" : "holds if", k->limit);
}

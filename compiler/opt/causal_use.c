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

bool causal_live_anywhere(Causal *k, Val user, int node) {
    const CausalValue *t;
    const Term *e = node_of(k, user, node, &t);
    if (!e)
        return false;
    Find f = {.k = k, .wanted = e, .axis = -1};
    causal_each_live(k, t->raw, cons_none(k->affine), find, &f);
    return f.live;
}

// ---- Text --------------------------------------------------------------------------------------

void causal_print_cause(const CausalCause *cause, StrBuf *out) {
    strbuf_printf(out, "%s: ", cause->value->name ? cause->value->name : "value");
    if (cause->expression)
        strbuf_printf(out, "`%s` ", cause->expression);
    strbuf_printf(out, "%s", cause->why);
}

Span causal_site(const Causal *k, const CausalValue *v) {
    return v && v->val ? core_value(k->f, v->val)->site : (Span){0};
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
    if (!k->steps.len)
        strbuf_add(out, STR("nothing to prove: what is kept, or needed at the last position, reads "
                            "no later one\n"));
    if (k->limit < causal_limits[CAUSAL_LIMITS - 1])
        strbuf_printf(out,
                      "%s ordinary values (weights, scores, what is computed from them) are "
                      "finite and within %.4g\n",
                      causal_warns(k) ? "warning: holds only if" : "holds if", k->limit);
}

// Greedy: copies of the functions that draw, callees first, with the draws replaced; see greedy.h.
#include "opt/greedy.h"
#include "opt/dce.h"
#include <string.h>

typedef struct {
    CoreFn *copy; // without draws; NULL for a function that has none
    bool *keeps;  // by parameter of the original: the copy still has it
} Copy;

typedef struct {
    const CoreType *type; // of the logits
    CoreFn *fn;
} Argmax;

typedef struct {
    Core *core;
    StrBuf *why;
    Map copies;           // CoreFn * -> Copy *
    VEC(Argmax) argmaxes; // made so far, one for each type of logits
} Greedy;

static bool draws(const CoreFn *f) {
    return strcmp(f->name, "std.random::categorical") == 0;
}

// ---- argmax ------------------------------------------------------------------------------------

// Makes k the body of a new value, one element a row.
static Val row_comp(Core *c, CoreFn *f, const CoreType *type, const char *name, Comp *k) {
    Val v = core_add(c, f, OP_COMP, type, session_name(c->session, name), f->span);
    k->out = type->rank;
    core_value(f, v)->comp = k;
    core_emit(c, &f->region, v);
    return v;
}

static Comp *reduce_row(Core *c, const CoreType *x, Reduction reduction) {
    Comp *k = NEW(c->session->arena, Comp);
    k->reduction = reduction;
    k->red = 1;
    k->red_dims = NEW(c->session->arena, const Dim *);
    k->red_dims[0] = x->dims[x->rank - 1];
    k->names = NEW_N(c->session->arena, Name, x->rank);
    k->names[x->rank - 1] = session_name(c->session, "n");
    return k;
}

// Element of argument `arg` at the first n indices.
static int read_at(Core *c, Comp *k, int arg, Dtype t, int n) {
    int positions[CORE_MAX_RANK];
    for (int i = 0; i < n; i++)
        positions[i] = comp_index(c, k, i);
    return comp_read(c, k, arg, t, n, positions);
}

static Val peak_of(Core *c, CoreFn *f, Val x) {
    const CoreType *t = core_value(f, x)->type;
    Comp *k = reduce_row(c, t, RED_MAX);
    k->root = read_at(c, k, 0, t->dtype, t->rank);
    Val v = row_comp(c, f, core_tensor(c, t->dtype, t->rank - 1, t->dims), "peak", k);
    core_value(f, v)->comment = "the greatest value of each row";
    core_arg(c, f, v, x);
    return v;
}

static Val first_of(Core *c, CoreFn *f, Val x, Val peak) {
    const CoreType *t = core_value(f, x)->type;
    Comp *k = reduce_row(c, t, RED_MIN);
    int element = read_at(c, k, 0, t->dtype, t->rank);
    int equal = comp_binary(c, k, N_EQ, element, read_at(c, k, 1, t->dtype, t->rank - 1));
    int size = comp_dim(c, k, t->dims[t->rank - 1]);
    k->root = comp_select(c, k, equal, comp_index(c, k, t->rank - 1), size);
    Val v = row_comp(c, f, core_tensor(c, DT_I64, t->rank - 1, t->dims), "first", k);
    core_value(f, v)->comment = "where it comes first";
    core_arg(c, f, v, x);
    core_arg(c, f, v, peak);
    return v;
}

// A row with a NaN has no first place: the last index stands in, so that it can be used as one.
static Val token_of(Core *c, CoreFn *f, Val x, Val first) {
    const CoreType *t = core_value(f, x)->type;
    Comp *k = NEW(c->session->arena, Comp);
    const Dim *last = dim_sub(c->dims, t->dims[t->rank - 1], dim_const(c->dims, 1));
    int at = read_at(c, k, 0, DT_I64, t->rank - 1);
    k->root = comp_cast(c, k, DT_I32, comp_binary(c, k, N_MIN, at, comp_dim(c, k, last)));
    Val v = row_comp(c, f, core_tensor(c, DT_I32, t->rank - 1, t->dims), "token", k);
    core_value(f, v)->comment = "the last index where nothing is equal to a NaN";
    core_arg(c, f, v, first);
    return v;
}

static CoreFn *argmax_of(Greedy *g, const CoreType *logits) {
    Core *c = g->core;
    for (int i = 0; i < g->argmaxes.len; i++) {
        if (core_type_equal(g->argmaxes.data[i].type, logits))
            return g->argmaxes.data[i].fn;
    }
    CoreFn *f = core_fn(c, session_name(c->session, "std.nn.decoding::argmax"), "argmax");
    f->doc = "std/nn/decoding  argmax(x) -> the first index of the greatest value";
    Val x = core_param(c, f, logits, session_name(c->session, "x"), f->span);
    Val peak = peak_of(c, f, x);
    Val first = first_of(c, f, x, peak);
    Val token = token_of(c, f, x, first);
    vec_push(c->session->arena, &f->region.yields, token);
    vec_push(c->session->arena, &g->argmaxes, ((Argmax){logits, f}));
    return f;
}

// ---- Copies ------------------------------------------------------------------------------------

static bool is_call(const CoreFn *f, const bool *live, int i) {
    return live[i] && f->values.data[i].op == OP_CALL;
}

// Is it (key, logits [.., V]) -> i32 [..]? Then the argmax for its logits, made before the copy is.
static bool prepare_draw(Greedy *g, const CoreFn *f, const Value *call) {
    const CoreType *x = call->args.len == 2 ? core_value(f, call->args.data[1])->type : NULL;
    bool fits = x && x->kind == CORE_TENSOR && x->rank >= 1 && dtype_is_float(x->dtype);
    if (fits) {
        const CoreType *gives = core_tensor(g->core, DT_I32, x->rank - 1, x->dims);
        fits = core_type_equal(call->type, gives);
    }
    if (fits)
        argmax_of(g, x);
    else if (g->why)
        strbuf_printf(g->why, "@%s draws with a key and logits of an unknown form", f->label);
    return fits;
}

static bool prepare(Greedy *g, const CoreFn *f, const bool *live, bool *changes) {
    *changes = false;
    for (int i = 0; i < f->values.len; i++) {
        if (!is_call(f, live, i))
            continue;
        const Value *call = &f->values.data[i];
        if (draws(call->callee)) {
            if (!prepare_draw(g, f, call))
                return false;
            *changes = true;
        }
        if (map_has(&g->copies, call->callee))
            *changes = true;
    }
    return true;
}

static void rewrite_call(Greedy *g, CoreFn *f, Value *call) {
    if (draws(call->callee)) {
        call->callee = argmax_of(g, core_value(f, call->args.data[1])->type);
        call->args.data[0] = call->args.data[1];
        call->args.len = 1;
        return;
    }
    const Copy *copy = map_get(&g->copies, call->callee);
    if (!copy)
        return;
    call->callee = copy->copy;
    int kept = 0;
    for (int i = 0; i < call->args.len; i++) {
        if (copy->keeps[i])
            call->args.data[kept++] = call->args.data[i];
    }
    call->args.len = kept;
}

// Parameters that served the draws alone. An entry's are its face, and a method's first is its
// block.
static void drop_params(Greedy *g, CoreFn *f, const CoreFn *from, Copy *copy, bool keep_all) {
    Arena *a = g->core->session->arena;
    bool *before = opt_live(a, from), *live = opt_live(a, f);
    copy->keeps = NEW_N(a, bool, f->params.len);
    int kept = 0;
    for (int i = 0; i < from->params.len; i++) {
        Val p = from->params.data[i];
        copy->keeps[i] = keep_all || live[p - 1] || !before[p - 1] || (i == 0 && f->self);
        if (copy->keeps[i])
            f->params.data[kept++] = p;
    }
    f->params.len = kept;
}

static bool copy_fn(Greedy *g, CoreFn *f, bool entry) {
    Core *c = g->core;
    Arena *a = c->session->arena;
    bool changes, *live = opt_live(a, f);
    if (!prepare(g, f, live, &changes))
        return false;
    if (!changes)
        return true;
    Name name = session_name(c->session, arena_printf(a, "%s.greedy", f->name));
    Copy *copy = NEW(a, Copy);
    copy->copy = core_copy(c, f, name, arena_printf(a, "%s.greedy", f->label));
    for (int i = 0; i < copy->copy->values.len; i++) {
        if (is_call(copy->copy, live, i))
            rewrite_call(g, copy->copy, &copy->copy->values.data[i]);
    }
    opt_dce(c, copy->copy);
    drop_params(g, copy->copy, f, copy, entry);
    map_put(a, &g->copies, f, copy);
    return true;
}

// ---- The entry ---------------------------------------------------------------------------------

// needed[i]: the entry calls function i, directly or through others. Callees come first in a
// module.
static bool *functions_of(Core *c, const CoreFn *entry) {
    Arena *a = c->session->arena;
    bool *needed = NEW_N(a, bool, c->fns.len);
    Map index = {0};
    for (int i = 0; i < c->fns.len; i++)
        map_put(a, &index, c->fns.data[i], (void *)((uintptr_t)i + 1));
    for (int i = c->fns.len - 1; i >= 0; i--) {
        const CoreFn *f = c->fns.data[i];
        needed[i] = needed[i] || f == entry;
        bool *live = needed[i] ? opt_live(a, f) : NULL;
        for (int v = 0; live && v < f->values.len; v++) {
            if (is_call(f, live, v))
                needed[(uintptr_t)map_get(&index, f->values.data[v].callee) - 1] = true;
        }
    }
    return needed;
}

CoreFn *opt_greedy(Core *c, CoreFn *entry, StrBuf *why) {
    Greedy g = {.core = c, .why = why};
    int count = c->fns.len;
    bool *needed = functions_of(c, entry);
    for (int i = 0; i < count; i++) {
        CoreFn *f = c->fns.data[i];
        if (needed[i] && !draws(f) && !copy_fn(&g, f, f == entry))
            return NULL;
    }
    const Copy *copy = map_get(&g.copies, entry);
    return copy ? copy->copy : entry;
}

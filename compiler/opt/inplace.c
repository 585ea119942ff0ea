// Writes of caches in place; see inplace.h. The functions of std.nn.cache are known by name, as
// their meaning is: rows [M, H, N, D] go to rows[m], positions pos[m] + n, and what is outside is
// dropped.
#include "opt/inplace.h"
#include "opt/dce.h"
#include <string.h>

typedef struct {
    Core *core;
    CoreFn *fn;
    Region body; // of the region being rewritten: the new one
    int count;   // assignments rewritten
} Inplace;

typedef enum {
    WRITE_AT,     // value [B, H, N, D], at: every row from there on; also write_span
    WRITE_ROWS,   // value [B, H, 1, D], at [B]
    WRITE_SLOT,   // value [1, H, N, D], slot, at
    WRITE_SLOTS,  // value [M, H, N, D], slots [M], at
    WRITE_TOKENS, // value [1, H, P, D], rows [P], positions [P]
    WRITE_OTHER,  // something else
} WriteKind;

static WriteKind kind_of(const CoreFn *f) {
    static const struct {
        const char *name;
        WriteKind kind;
        int params;
    } writes[] = {
        {"std.nn.cache::write_at", WRITE_AT, 3},
        {"std.nn.cache::write_span", WRITE_AT, 3},
        {"std.nn.cache::write_rows", WRITE_ROWS, 3},
        {"std.nn.cache::write_slot", WRITE_SLOT, 4},
        {"std.nn.cache::write_slots", WRITE_SLOTS, 4},
        {"std.nn.cache::write_tokens", WRITE_TOKENS, 4},
    };
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        if (strcmp(f->name, writes[i].name) == 0 && f->params.len == writes[i].params)
            return writes[i].kind;
    }
    return WRITE_OTHER;
}

// ---- Where the rows go -------------------------------------------------------------------------

static Val finish(Inplace *p, Comp *k, const CoreType *t, int root, int n, const Val *args,
                  Span span) {
    k->root = root;
    k->names = NEW_N(p->core->session->arena, Name, k->out + k->red + 1);
    Val v = core_add(p->core, p->fn, OP_COMP, t, NULL, span);
    core_value(p->fn, v)->comp = k;
    for (int i = 0; i < n; i++)
        core_arg(p->core, p->fn, v, args[i]);
    core_emit(p->core, &p->body, v);
    return v;
}

static Comp *new_comp(Inplace *p, int out) {
    Comp *k = NEW(p->core->session->arena, Comp);
    k->out = out;
    return k;
}

// i32 [n]: 0, 1, ..
static Val count_up(Inplace *p, const Dim *n, Span span) {
    Comp *k = new_comp(p, 1);
    int root = comp_cast(p->core, k, DT_I32, comp_index(p->core, k, 0));
    return finish(p, k, core_tensor(p->core, DT_I32, 1, &n), root, 0, NULL, span);
}

// i32 [n]: the scalar in every place.
static Val repeat(Inplace *p, Val scalar, const Dim *n, Span span) {
    Comp *k = new_comp(p, 1);
    int root = comp_read(p->core, k, 0, DT_I32, 0, NULL);
    return finish(p, k, core_tensor(p->core, DT_I32, 1, &n), root, 1, &scalar, span);
}

// value [1, H, P, D] as [P, H, 1, D].
static Val tokens_first(Inplace *p, Val value, Span span) {
    const CoreType *t = core_value(p->fn, value)->type;
    Comp *k = new_comp(p, 4);
    int i[4];
    for (int a = 0; a < 4; a++)
        i[a] = comp_index(p->core, k, a);
    int at[] = {comp_const_int(p->core, k, DT_I64, 0), i[1], i[0], i[3]};
    int root = comp_read(p->core, k, 0, t->dtype, 4, at);
    const Dim *dims[] = {t->dims[2], t->dims[1], dim_const(p->core->dims, 1), t->dims[3]};
    return finish(p, k, core_tensor(p->core, t->dtype, 4, dims), root, 1, &value, span);
}

// i64 [M]: the sum of the numbers that name the same slot as m, at most M - 1: the library's rule
// for slots that are named twice, so that the order of storing does not matter.
static Val named_by(Inplace *p, Val slots, const Dim *m, Span span) {
    Core *c = p->core;
    Comp *k = new_comp(p, 1);
    k->red = 1;
    k->red_dims = NEW_N(c->session->arena, const Dim *, 1);
    k->red_dims[0] = m;
    k->reduction = RED_SUM;
    k->step = STEP_PLAIN;
    int own = comp_index(c, k, 0), other = comp_index(c, k, 1);
    int same = comp_binary(c, k, N_EQ, comp_read(c, k, 0, DT_I32, 1, &own),
                           comp_read(c, k, 0, DT_I32, 1, &other));
    int root = comp_select(c, k, same, other, comp_const_int(c, k, DT_I64, 0));
    const CoreType *t = core_tensor(c, DT_I64, 1, &m);
    return finish(p, k, t, root, 1, &slots, span);
}

static Val by_slot(Inplace *p, Val value, Val slots, Span span) {
    Core *c = p->core;
    const CoreType *t = core_value(p->fn, value)->type;
    Val named[] = {value, named_by(p, slots, t->dims[0], span)};
    Comp *k = new_comp(p, 4);
    int i[4];
    for (int a = 0; a < 4; a++)
        i[a] = comp_index(c, k, a);
    int last = comp_dim(c, k, dim_sub(c->dims, t->dims[0], dim_const(c->dims, 1)));
    int at[] = {comp_binary(c, k, N_MIN, comp_read(c, k, 1, DT_I64, 1, &i[0]), last), i[1], i[2],
                i[3]};
    return finish(p, k, t, comp_read(c, k, 0, t->dtype, 4, at), 2, named, span);
}

// The rows that the call writes, and where they go.
static void place_args(Inplace *p, WriteKind kind, const Val *args, Span span, Val out[3]) {
    const Dim *rows = core_value(p->fn, args[1])->type->dims[0];
    const Dim *one = dim_const(p->core->dims, 1);
    int64_t count;
    out[0] = args[1];
    switch (kind) {
    case WRITE_AT:
        out[1] = count_up(p, rows, span);
        out[2] = repeat(p, args[2], rows, span);
        break;
    case WRITE_ROWS:
        out[1] = count_up(p, rows, span);
        out[2] = args[2];
        break;
    case WRITE_SLOT:
        out[1] = repeat(p, args[2], one, span);
        out[2] = repeat(p, args[3], one, span);
        break;
    case WRITE_SLOTS:
        out[0] =
            dim_is_const(rows, &count) && count == 1 ? args[1] : by_slot(p, args[1], args[2], span);
        out[1] = args[2];
        out[2] = repeat(p, args[3], rows, span);
        break;
    default:
        out[0] = tokens_first(p, args[1], span);
        out[1] = args[2];
        out[2] = args[3];
    }
}

// ---- Which assignments -------------------------------------------------------------------------

static bool same_state(const CoreFn *f, Val a, Val b) {
    const Value *x = core_value(f, a), *y = core_value(f, b);
    return core_is_block_state(f, a) && core_is_block_state(f, b) && x->member == y->member &&
           x->args.data[0] == y->args.data[0];
}

static bool has_effects(const Value *v) {
    return v->op == OP_ASSIGN || v->op == OP_PLACE || v->op == OP_LOOP || v->op == OP_WHILE ||
           (v->op == OP_CALL && v->callee->effects);
}

// Is `assign` the last of a region's first `at` values to change what its call has read?
static WriteKind writes_itself(const CoreFn *f, const Region *r, int at) {
    const Value *assign = core_value(f, r->body.data[at]);
    const Value *call = core_value(f, assign->args.data[1]);
    WriteKind kind = call->op == OP_CALL ? kind_of(call->callee) : WRITE_OTHER;
    if (kind == WRITE_OTHER || !same_state(f, assign->args.data[0], call->args.data[0]))
        return WRITE_OTHER;
    for (int i = at - 1; i >= 0 && r->body.data[i] != call->args.data[0]; i--) {
        if (i == 0 || has_effects(core_value(f, r->body.data[i])))
            return WRITE_OTHER;
    }
    return kind;
}

static void rewrite_region(Inplace *p, Region *r, int depth) {
    enum { DEEPEST = 64 };
    Region outer = p->body;
    p->body = (Region){0};
    for (int i = 0; i < r->body.len; i++) {
        Val v = r->body.data[i];
        Loop *loop = core_value(p->fn, v)->loop;
        if (loop && depth < DEEPEST) {
            rewrite_region(p, &loop->test, depth + 1);
            rewrite_region(p, &loop->region, depth + 1);
        }
        bool assign = core_value(p->fn, v)->op == OP_ASSIGN;
        WriteKind kind = assign ? writes_itself(p->fn, r, i) : WRITE_OTHER;
        if (kind != WRITE_OTHER) {
            Val out[3], call = core_value(p->fn, v)->args.data[1];
            place_args(p, kind, core_value(p->fn, call)->args.data, core_value(p->fn, call)->span,
                       out);
            Value *value = core_value(p->fn, v);
            value->op = OP_PLACE;
            value->comment = core_value(p->fn, call)->comment;
            value->args.data[1] = out[0];
            core_arg(p->core, p->fn, v, out[1]);
            core_arg(p->core, p->fn, v, out[2]);
            p->count++;
        }
        core_emit(p->core, &p->body, v);
    }
    r->body.len = 0;
    for (int i = 0; i < p->body.body.len; i++)
        core_emit(p->core, r, p->body.body.data[i]);
    p->body = outer;
}

int opt_inplace(Core *c) {
    int count = 0;
    for (int i = 0; i < c->fns.len; i++) {
        Inplace p = {.core = c, .fn = c->fns.data[i]};
        if (!p.fn->effects)
            continue;
        rewrite_region(&p, &p.fn->region, 0);
        count += p.count;
        if (!p.count)
            continue;
        opt_dce(c, p.fn); // the calls
        core_copy_states(c, p.fn);
    }
    return count;
}

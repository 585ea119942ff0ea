// Random comprehensions: the interpreter in each of its ways, on one thread and on three, against
// the plain evaluator of interp_help.h, bit for bit.
#include "interp_help.h"

#define MAX_ARGS 3

typedef struct {
    Test *test;
    Random random;
    Session *session;
    Core *core;
    Comp *comp;
    int arg_count;
    Tensor args[MAX_ARGS];
    int64_t extent[12]; // of the indices
    int nested;         // reads around the position being made
    RtPool *pools[2];   // one thread, three
} Case;

static const Dtype dtypes[] = {DT_F32, DT_F32, DT_F16, DT_BF16, DT_F64, DT_I64, DT_I64, DT_I32,
                               DT_I8,  DT_I16, DT_U8,  DT_U16,  DT_U32, DT_U64, DT_BOOL};

static bool no_symbol(void *ctx, const Dim *symbol, int64_t *value) {
    (void)ctx;
    (void)symbol;
    *value = 0;
    return false;
}

// ---- Arguments ---------------------------------------------------------------------------------

static double random_float(Random *r) {
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 1e-40, 3e38, 65504, 0.5};
    int kind = random_below(r, 30);
    if (kind == 0)
        return special[random_below(r, 8)];
    if (kind == 1)
        return random_below(r, 2) ? (double)INFINITY : (double)NAN;
    return ((double)random_bits(r) / 0x1p32 - 0.5) * (kind == 2 ? 1e4 : 4);
}

static int64_t random_integer(Random *r) {
    static const int64_t special[] = {0, 1, -1, INT64_MIN, INT64_MAX, INT32_MIN, 127, -128};
    int kind = random_below(r, 4);
    if (kind == 0)
        return special[random_below(r, 8)];
    if (kind == 1)
        return (int64_t)((uint64_t)random_bits(r) << 32 | random_bits(r));
    return random_below(r, 41) - 8;
}

static void fill_blocks(Case *c, Tensor *t, int64_t n) {
    uint64_t bytes = rt_format_bytes(t->format, (uint64_t)n, NULL);
    uint8_t *data = arena_alloc(c->session->arena, bytes + 1);
    uint32_t block = rt_format_block_bytes(t->format);
    for (uint64_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)random_bits(&c->random);
    for (uint64_t i = 0; block > 4 && i < bytes; i += block)
        data[i + 1] = data[i + 3] = 0x2c; // scales of a moderate size
    for (uint64_t i = 0; block == 2 && i < bytes; i += 2)
        data[i + 1] = (uint8_t)((data[i + 1] & 0x83) | 0x3c);
    t->data = data;
}

static void fill_rows(Case *c, Tensor *t) {
    int n = (int)t->dims[0];
    int32_t *rows = NEW_N(c->session->arena, int32_t, n + 1);
    for (int i = 0; i < n; i++)
        rows[i] = random_below(&c->random, n);
    t->rows = rows;
}

static Tensor random_tensor(Case *c, Dtype dtype, int rank, const int64_t *dims, bool stored) {
    Random *r = &c->random;
    static const RtFormat formats[] = {RT_F16, RT_BF16, RT_Q8_0, RT_Q4_0, RT_Q4_1};
    Tensor t = {.dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        t.dims[i] = dims[i];
    int64_t n = elements(&t);
    if (stored && dtype == DT_F32 && rank > 0) {
        t.format = formats[random_below(r, rank && dims[rank - 1] % 32 == 0 ? 5 : 2)];
        fill_blocks(c, &t, n);
    } else {
        char *data = arena_alloc(c->session->arena, (size_t)(n * dtype_size(dtype)) + 1);
        for (int64_t i = 0; i < n; i++) {
            Number v = {0, 0};
            if (dtype_is_float(dtype))
                v.f = random_float(r);
            else
                v.i = core_wrap(dtype, random_integer(r));
            number_write(dtype, data, i, v);
        }
        t.data = data;
    }
    if (rank > 0 && random_below(r, 4) == 0 && stored)
        fill_rows(c, &t);
    return t;
}

// ---- Bodies ------------------------------------------------------------------------------------

static int random_value(Case *c, Dtype t, int depth);

static int random_position(Case *c, int64_t extent, int depth) {
    Core *k = c->core;
    Comp *comp = c->comp;
    int indices = comp->out + comp->red, kind = random_below(&c->random, depth > 0 ? 8 : 5);
    if (indices == 0 && kind < 5)
        return comp_const_int(k, comp, DT_I64, random_below(&c->random, (int)extent + 1));
    int i = indices ? comp_index(k, comp, random_below(&c->random, indices)) : 0;
    int j = indices ? comp_index(k, comp, random_below(&c->random, indices)) : 0;
    int small = comp_const_int(k, comp, DT_I64, random_below(&c->random, 7) - 2);
    switch (kind) {
    case 0:
    case 1:
    case 2:
        return i;
    case 3:
        return comp_binary(k, comp, random_below(&c->random, 2) ? N_ADD : N_SUB, i, small);
    case 4:
        return comp_binary(k, comp, N_ADD, comp_binary(k, comp, N_MUL, i, small), j);
    case 5:
        return comp_binary(k, comp, random_below(&c->random, 2) ? N_FLOORDIV : N_FLOORMOD,
                           random_value(c, DT_I64, 1), comp_const_int(k, comp, DT_I64, 3));
    default:
        return random_value(c, DT_I64, depth - 1);
    }
}

static int random_leaf(Case *c, Dtype t) {
    int match[MAX_ARGS], n = 0;
    for (int i = 0; i < c->arg_count; i++) {
        if (c->args[i].dtype == t)
            match[n++] = i;
    }
    if (n && random_below(&c->random, 4)) {
        int arg = match[random_below(&c->random, n)], at[12];
        c->nested++;
        for (int i = 0; i < c->args[arg].rank; i++)
            at[i] = random_position(c, c->args[arg].dims[i], c->nested < 3);
        c->nested--;
        return comp_read(c->core, c->comp, arg, t, c->args[arg].rank, at);
    }
    int indices = c->comp->out + c->comp->red;
    if (t == DT_I64 && indices && random_below(&c->random, 2))
        return comp_index(c->core, c->comp, random_below(&c->random, indices));
    if (dtype_is_float(t))
        return comp_const_float(c->core, c->comp, t, random_float(&c->random));
    return comp_const_int(c->core, c->comp, t, core_wrap(t, random_integer(&c->random)));
}

// The ops that a dtype has, by the classes of nodes.def.
static bool has_op(NodeOp op, Dtype t) {
    bool is_float = dtype_is_float(t), transcendental = op >= N_EXP && op <= N_TANH;
    if (op == N_NOT)
        return t == DT_BOOL;
    if (t == DT_BOOL)
        return op == N_AND || op == N_OR || op == N_XOR;
    if (node_class(op) == 'F')
        return is_float && !(t == DT_F64 && transcendental && op != N_SQRT && op != N_RSQRT);
    return node_class(op) == 'A' || (node_class(op) == 'I' && !is_float);
}

static int random_op(Case *c, Dtype t, int depth) {
    for (;;) {
        NodeOp op = (NodeOp)random_below(&c->random, NODE_COUNT);
        if (node_class(op) == 'C' && t == DT_BOOL) {
            Dtype of = dtypes[random_below(&c->random, 14)];
            int a = random_value(c, of, depth - 1);
            return comp_binary(c->core, c->comp, op, a, random_value(c, of, depth - 1));
        }
        if (node_class(op) == 'L' || node_class(op) == 'X' || !has_op(op, t))
            continue;
        int a = random_value(c, t, depth - 1);
        if (node_args(op) == 1)
            return comp_unary(c->core, c->comp, op, a);
        return comp_binary(c->core, c->comp, op, a, random_value(c, t, depth - 1));
    }
}

static int random_value(Case *c, Dtype t, int depth) {
    int kind = random_below(&c->random, 10);
    if (depth <= 0 || kind < 2)
        return random_leaf(c, t);
    if (kind == 2) {
        int cond = random_value(c, DT_BOOL, depth - 1), a = random_value(c, t, depth - 1);
        return comp_select(c->core, c->comp, cond, a, random_value(c, t, depth - 1));
    }
    if (kind == 3) {
        Dtype from = dtypes[random_below(&c->random, 15)];
        return comp_cast(c->core, c->comp, t, random_value(c, from, depth - 1));
    }
    return random_op(c, t, depth);
}

// ---- Comparing ---------------------------------------------------------------------------------

static void *expected(const Case *c, const Value *value) {
    int64_t n = 1;
    for (int i = 0; i < c->comp->out; i++)
        n *= c->extent[i];
    char *data = calloc((size_t)n + 1, 8);
    Point p = {.comp = c->comp, .args = c->args, .symbol = no_symbol};
    for (int64_t at = 0; at < n; at++) {
        int64_t rest = at;
        for (int k = c->comp->out; k-- > 0; rest /= c->extent[k])
            p.index[k] = rest % c->extent[k];
        number_write(value->type->dtype, data, at, eval_point(&p, c->extent + c->comp->out));
    }
    return data;
}

static void report_case(const Case *c, const char *what, int64_t at, const Tensor *got,
                        const void *want) {
    Tensor w = *got;
    w.data = want;
    printf("differs at %lld: %s\n%s", (long long)at, what, printed(c->core));
    if (got->data) {
        Number a = number_read(got, at), b = number_read(&w, at);
        printf("%a %lld is not %a %lld\n", a.f, (long long)a.i, b.f, (long long)b.i);
    }
}

static void compare(Case *c, const CoreFn *fn, const Value *value) {
    void *want = expected(c, value);
    for (int way = 0; way < 8; way++) {
        Interp *it = interp_new(c->core, c->pools[way / 4]);
        char error[500] = "";
        Tensor got = {0};
        interp_mode(it, (InterpMode)(way % 4));
        bool ok = interp_call(it, fn, NULL, c->arg_count, c->args, &got, error, sizeof error);
        int64_t at = ok ? first_difference(got.dtype, got.data, want, elements(&got)) : 0;
        if (at >= 0 && c->test->failed < 3) {
            char what[600];
            snprintf(what, sizeof what, "mode %d, pool %d %s", way % 4, way / 4, error);
            report_case(c, what, at, &got, want);
        }
        CHECK(c->test, at < 0);
        interp_free(it);
    }
    free(want);
}

static const CoreType *type_of(Case *c, Dtype t, int rank, const int64_t *dims) {
    const Dim *d[CORE_MAX_RANK];
    for (int i = 0; i < rank; i++)
        d[i] = dim_const(c->core->dims, dims[i]);
    return core_tensor(c->core, t, rank, d);
}

// A function of one comprehension with the case's arguments.
static CoreFn *make_fn(Case *c, Dtype result, Value **value) {
    Span nowhere = {0, 0, 0};
    CoreFn *f = core_fn(c->core, session_name(c->session, "test::f"), "f");
    Val v = 0;
    for (int i = 0; i < c->arg_count; i++) {
        const Tensor *t = &c->args[i];
        Name name = session_name(c->session, "x");
        core_param(c->core, f, type_of(c, t->dtype, t->rank, t->dims), name, nowhere);
    }
    v = core_add(c->core, f, OP_COMP, type_of(c, result, c->comp->out, c->extent), NULL, nowhere);
    for (int i = 0; i < c->arg_count; i++)
        core_arg(c->core, f, v, f->params.data[i]);
    core_value(f, v)->comp = c->comp;
    core_emit(c->core, &f->region, v);
    vec_push(c->session->arena, &f->region.yields, v);
    *value = core_value(f, v);
    return f;
}

static void begin(Case *c, int out, int red) {
    c->session = session_new();
    c->core = core_new(c->session, dims_new(c->session->arena));
    c->comp = NEW(c->session->arena, Comp);
    c->comp->out = out;
    c->comp->red = red;
    c->comp->red_dims = NEW_N(c->session->arena, const Dim *, red + 1);
    c->comp->names = NEW_N(c->session->arena, Name, out + red + 1);
}

static void finish_case(Case *c, Dtype result) {
    Value *value;
    for (int k = 0; k < c->comp->red; k++)
        c->comp->red_dims[k] = dim_const(c->core->dims, c->extent[c->comp->out + k]);
    CoreFn *fn = make_fn(c, result, &value);
    const char *faults = faults_of(c->core);
    if (faults[0])
        printf("%s%s", faults, printed(c->core));
    CHECK(c->test, faults[0] == 0);
    if (!faults[0])
        compare(c, fn, value);
    session_free(c->session);
}

static int64_t random_extent(Random *r) {
    static const int64_t extents[] = {1, 1, 2, 3, 4, 5, 7, 31, 32, 33, 40, 64, 65, 0};
    return extents[random_below(r, random_below(r, 8) ? 13 : 14)];
}

static Reduction random_reduction(Random *r, Dtype t) {
    if (t == DT_BOOL)
        return random_below(r, 2) ? RED_ANY : RED_ALL;
    return (Reduction)(RED_SUM + random_below(r, 4));
}

// A body of any kind.
static void random_case(Case *c) {
    Random *r = &c->random;
    int64_t dims[3];
    begin(c, random_below(r, 4), random_below(r, 3));
    int64_t points = 1;
    for (int i = 0; i < c->comp->out + c->comp->red; i++) {
        c->extent[i] = random_extent(r);
        if (points * c->extent[i] > 6000)
            c->extent[i] = 2;
        points *= c->extent[i] ? c->extent[i] : 1;
    }
    if (c->comp->red == 0 && c->comp->out && random_below(r, 3) == 0 && points < 100)
        c->extent[random_below(r, c->comp->out)] = 300 + random_below(r, 400);
    c->arg_count = 1 + random_below(r, MAX_ARGS);
    for (int i = 0; i < c->arg_count; i++) {
        int rank = random_below(r, 4);
        for (int k = 0; k < rank; k++)
            dims[k] = random_extent(r);
        c->args[i] =
            random_tensor(c, dtypes[random_below(r, 15)], rank, dims, random_below(r, 3) == 0);
    }
    Dtype t = dtypes[random_below(r, 15)];
    c->comp->root = random_value(c, t, 4);
    if (c->comp->red)
        c->comp->reduction = random_reduction(r, t);
    const Node *root = &c->comp->nodes.data[c->comp->root];
    if (c->comp->reduction == RED_SUM && dtype_is_float(t))
        c->comp->step = root->op == N_MUL ? STEP_FMA : STEP_ADD;
    if (c->comp->step == STEP_FMA && t == DT_BF16) { // would be pairs
        c->comp->step = STEP_PLAIN;
        c->comp->reduction = RED_PROD;
    }
    bool widen = c->comp->step != STEP_PLAIN && (t == DT_F16 || t == DT_BF16) && random_below(r, 2);
    finish_case(c, widen ? DT_F32 : t);
}

// ---- Contractions ------------------------------------------------------------------------------

// A factor: an argument whose axes are some of the indices, in any order, with some of them
// divided.
static int random_factor(Case *c, int arg, uint32_t mask, Dtype t) {
    Random *r = &c->random;
    int count = c->comp->out + c->comp->red, axes[12], rank = 0, at[12];
    int64_t dims[12];
    for (int i = 0; i < count; i++) {
        if (mask >> i & 1)
            axes[rank++] = i;
    }
    for (int i = rank; random_below(r, 2) && i > 1; i--) {
        int k = random_below(r, i), swap = axes[i - 1];
        axes[i - 1] = axes[k];
        axes[k] = swap;
    }
    for (int i = 0; i < rank; i++) {
        int kind = axes[i] < c->comp->out ? random_below(r, 12) : 3 + random_below(r, 9);
        at[i] = comp_index(c->core, c->comp, axes[i]);
        dims[i] = c->extent[axes[i]];
        int three = comp_const_int(c->core, c->comp, DT_I64, 3);
        if (kind == 0) {
            at[i] = comp_binary(c->core, c->comp, N_FLOORDIV, at[i], three);
            dims[i] = dims[i] / 3 + 1;
        } else if (kind == 1) {
            at[i] = comp_binary(c->core, c->comp, N_SUB, three, at[i]);
        } else if (kind == 3) {
            at[i] = comp_binary(c->core, c->comp, N_ADD, at[i], three);
            dims[i] += 3 + random_below(r, 2);
        }
    }
    c->args[arg] = random_tensor(c, t, rank, dims, random_below(r, 3) == 0);
    return comp_read(c->core, c->comp, arg, t, rank, at);
}

static void contraction_case(Case *c) {
    Random *r = &c->random;
    static const int64_t sizes[] = {1, 2, 3, 4, 8, 9, 12, 17, 32, 33, 64};
    int out = 1 + random_below(r, 4), red = 1 + (random_below(r, 4) == 0);
    int64_t points = 1;
    begin(c, out, red);
    uint32_t masks[2] = {0, 0};
    for (int i = 0; i < out + red; i++) {
        c->extent[i] = sizes[random_below(r, 11)];
        if (points * c->extent[i] > 40000)
            c->extent[i] = 1;
        points *= c->extent[i];
        int where = i >= out ? 2 : random_below(r, 5);
        masks[0] |= (uint32_t)(where != 0 && where != 3) << i;
        masks[1] |= (uint32_t)(where == 0 || where >= 2) << i;
    }
    c->arg_count = 2;
    int kind = random_below(r, 6);
    Dtype t = kind == 0 ? DT_BF16 : kind == 1 ? DT_F16 : DT_F32;
    int a = random_factor(c, 0, masks[0], t), b = random_factor(c, 1, masks[1], t);
    bool widen = t == DT_BF16 || (t == DT_F16 && random_below(r, 3));
    bool narrow_result = t == DT_BF16 && random_below(r, 2);
    if (widen) {
        a = comp_cast(c->core, c->comp, DT_F32, a);
        b = comp_cast(c->core, c->comp, DT_F32, b);
    }
    c->comp->root = comp_binary(c->core, c->comp, N_MUL, a, b);
    c->comp->reduction = RED_SUM;
    bool pairs = t == DT_BF16 && (narrow_result || random_below(r, 2));
    c->comp->step = pairs ? STEP_PAIRS : STEP_FMA;
    finish_case(c, narrow_result ? t : widen ? DT_F32 : t);
}

int main(int argc, char **argv) {
    Test t = {0, 0};
    int rounds = argc > 1 ? atoi(argv[1]) : 600;
    Case c = {.test = &t, .random = {argc > 2 ? (uint64_t)atoi(argv[2]) : 1}};
    c.pools[0] = rt_pool_new(1);
    c.pools[1] = rt_pool_new(3);
    for (int i = 0; i < rounds && t.failed < 20; i++) {
        random_case(&c);
        contraction_case(&c);
    }
    rt_pool_free(c.pools[0]);
    rt_pool_free(c.pools[1]);
    return finish(&t);
}

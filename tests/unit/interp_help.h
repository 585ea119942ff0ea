// What the tests of the interpreter share: tensors, and a second evaluator of comprehensions that
// is as plain as it can be (one point after another, recursion over nodes).
#pragma once
#include "core_help.h"
#include "interp/interp.h"
#include "interp_integers.h"
#include "runtime/kernels.h"
#include <math.h>

typedef struct {
    uint64_t state;
} Random;

static inline uint32_t random_bits(Random *r) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = r->state ^ r->state >> 29;
    return (uint32_t)((x * 0xbf58476d1ce4e5b9u) >> 32);
}

static inline int random_below(Random *r, int n) {
    return (int)(random_bits(r) % (uint32_t)n);
}

static inline int64_t elements(const Tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    return n;
}

// ---- f16 and bf16, from their definitions ------------------------------------------------------

static inline double half_value(uint16_t h, int mantissa, int bias) {
    int exponent = (h & 0x7fff) >> mantissa, m = h & ((1 << mantissa) - 1);
    double sign = h & 0x8000 ? -1 : 1;
    if (exponent == (0x7fff >> mantissa))
        return m ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(m, 1 - bias - mantissa);
    return sign * ldexp(m + (1 << mantissa), exponent - bias - mantissa);
}

static inline double half_read(Dtype t, uint16_t h) {
    return t == DT_F16 ? half_value(h, 10, 15) : half_value(h, 7, 127);
}

// The half nearest to v, which core_round has made exact: found by its value.
static inline uint16_t half_write(Dtype t, double v) {
    int mantissa = t == DT_F16 ? 10 : 7, bias = t == DT_F16 ? 15 : 127, e;
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    if (v != v)
        return 0x7fff;
    v = fabs(core_round(t, v));
    if (isinf(v))
        return (uint16_t)(sign | (0x7fff >> mantissa) << mantissa);
    if (v == 0)
        return sign;
    frexp(v, &e);
    int exponent = e - 1 + bias;
    if (exponent <= 0)
        return (uint16_t)(sign | (int)ldexp(v, bias - 1 + mantissa));
    int m = (int)ldexp(v, mantissa - (e - 1)) - (1 << mantissa);
    return (uint16_t)(sign | exponent << mantissa | m);
}

// ---- Elements ----------------------------------------------------------------------------------

static inline Number number_read(const Tensor *t, int64_t at) {
    Number n = {0, 0};
    int64_t width = t->rank && t->dims[0] ? elements(t) / t->dims[0] : 1;
    if (t->rows)
        at = t->rows[at / width] * width + at % width;
    switch (t->dtype) {
    case DT_F32:
        n.f = (double)rt_format_at(t->format, t->data, (uint64_t)at);
        break;
    case DT_F64:
        n.f = ((const double *)t->data)[at];
        break;
    case DT_F16:
    case DT_BF16:
        n.f = half_read(t->dtype, ((const uint16_t *)t->data)[at]);
        break;
    default:
        memcpy(&n.i, (const char *)t->data + at * dtype_size(t->dtype),
               (size_t)dtype_size(t->dtype));
        n.i = core_wrap(t->dtype, n.i);
    }
    return n;
}

static inline void number_write(Dtype t, void *data, int64_t at, Number n) {
    float f = (float)n.f;
    uint16_t h = t == DT_F16 || t == DT_BF16 ? half_write(t, n.f) : 0;
    const void *from = t == DT_F32 ? (void *)&f : t == DT_F64 ? (void *)&n.f : (void *)&n.i;
    if (t == DT_F16 || t == DT_BF16)
        from = &h;
    memcpy((char *)data + at * dtype_size(t), from, (size_t)dtype_size(t));
}

// ---- Scalar operations -------------------------------------------------------------------------

static inline double narrow(Dtype t, double v) {
    if (t == DT_F64)
        return v;
    v = (double)(float)v;
    return t == DT_F32 ? v : core_round(t, v);
}

static inline double order_pick(double a, double b, bool larger) {
    if (a != a || b != b)
        return (double)NAN;
    if (a == b)
        return signbit(a) == larger ? b : a;
    return (a > b) == larger ? a : b;
}

static inline Number float_op(NodeOp op, Dtype t, double a, double b) {
    float x = (float)a, y = (float)b;
    bool wide = t == DT_F64;
    double v = 0;
    switch (op) {
    case N_NEG:
        v = -a;
        break;
    case N_ABS:
        v = fabs(a);
        break;
    case N_EXP:
        rt_exp_n(&y, &x, 1);
        v = (double)y;
        break;
    case N_LOG:
        rt_log_n(&y, &x, 1);
        v = (double)y;
        break;
    case N_SIN:
        rt_sin_n(&y, &x, 1);
        v = (double)y;
        break;
    case N_COS:
        rt_cos_n(&y, &x, 1);
        v = (double)y;
        break;
    case N_TANH:
        rt_tanh_n(&y, &x, 1);
        v = (double)y;
        break;
    case N_SQRT:
        v = wide ? sqrt(a) : (double)sqrtf(x);
        break;
    case N_RSQRT:
        v = wide ? 1 / sqrt(a) : (double)(1 / sqrtf(x));
        break;
    case N_ADD:
        v = wide ? a + b : (double)(x + y);
        break;
    case N_SUB:
        v = wide ? a - b : (double)(x - y);
        break;
    case N_MUL:
        v = wide ? a * b : (double)(x * y);
        break;
    case N_DIV:
        v = wide ? a / b : (double)(x / y);
        break;
    case N_MIN:
        v = order_pick(a, b, false);
        break;
    case N_MAX:
        v = order_pick(a, b, true);
        break;
    case N_EQ:
        return (Number){0, a == b};
    case N_NE:
        return (Number){0, a != b};
    case N_LT:
        return (Number){0, a < b};
    case N_LE:
        return (Number){0, a <= b};
    case N_GT:
        return (Number){0, a > b};
    case N_GE:
        return (Number){0, a >= b};
    default:
        abort();
    }
    return (Number){narrow(t, v), 0};
}

static inline Number cast_number(Dtype from, Dtype to, Number n) {
    bool from_float = dtype_is_float(from), to_float = dtype_is_float(to);
    if (from_float && to_float)
        return (Number){narrow(to, n.f), 0};
    if (to == DT_BOOL)
        return (Number){0, from_float ? n.f != 0 : n.i != 0};
    if (!from_float && !to_float)
        return (Number){0, core_wrap(to, n.i)};
    if (!from_float) {
        bool big = from == DT_U64;
        double wide = big ? (double)(uint64_t)n.i : (double)n.i;
        float f = big ? (float)(uint64_t)n.i : (float)n.i;
        return (Number){to == DT_F64 ? wide : narrow(to, (double)f), 0};
    }
    int bits = 8 * dtype_size(to) - (dtype_is_signed(to) ? 1 : 0);
    double top = ldexp(1, bits), bottom = dtype_is_signed(to) ? -top : 0;
    if (n.f != n.f)
        return (Number){0, 0};
    if (n.f >= top)
        return (Number){0, core_wrap(to, bits == 64 ? -1 : (int64_t)(((uint64_t)1 << bits) - 1))};
    if (n.f <= bottom)
        return (Number){0, core_wrap(to, bottom == 0 ? 0 : (int64_t)bottom)};
    return (Number){0, bits == 64 ? (int64_t)(uint64_t)n.f : (int64_t)n.f};
}

// ---- Comprehensions ----------------------------------------------------------------------------

typedef struct {
    const Comp *comp;
    const Tensor *args;
    int64_t index[40];
    bool (*symbol)(void *ctx, const Dim *symbol, int64_t *value);
    void *ctx;
} Point;

static inline Number eval_node(const Point *p, int node);

static inline Number eval_read(const Point *p, const Node *n) {
    const Tensor *t = &p->args[n->index];
    int64_t at = 0;
    if (elements(t) == 0)
        return (Number){0, 0};
    for (int k = 0; k < n->read_count; k++) {
        int64_t i = eval_node(p, n->reads[k]).i;
        i = i < 0 ? 0 : i >= t->dims[k] ? t->dims[k] - 1 : i;
        at = at * t->dims[k] + i;
    }
    return number_read(t, at);
}

static inline Number eval_node(const Point *p, int node) {
    const Node *n = &p->comp->nodes.data[node];
    Number v = {n->f, n->i};
    Dtype t =
        n->op == N_READ || node_args(n->op) == 0 ? n->dtype : p->comp->nodes.data[n->args[0]].dtype;
    switch (n->op) {
    case N_INDEX:
        v.i = p->index[n->index];
        return v;
    case N_CONST:
        return v;
    case N_DIM:
        if (!dim_eval(n->dim, p->symbol, p->ctx, &v.i))
            abort();
        return v;
    case N_READ:
        return eval_read(p, n);
    case N_SELECT:
        return eval_node(p, eval_node(p, n->args[0]).i ? n->args[1] : n->args[2]);
    case N_CAST:
        return cast_number(t, n->dtype, eval_node(p, n->args[0]));
    default:
        break;
    }
    Number a = eval_node(p, n->args[0]), b = a;
    if (node_args(n->op) > 1)
        b = eval_node(p, n->args[1]);
    return dtype_is_float(t) ? float_op(n->op, t, a.f, b.f) : integer_op(n->op, t, a.i, b.i);
}

// A float sum by the letter: lanes, fold, + 0.
typedef struct {
    double lane[32]; // f64 sums
    float narrow[32];
} Lanes;

static inline void lanes_step(Lanes *l, int64_t n, bool wide, bool product, double a, double b) {
    double *d = &l->lane[n % 32];
    float *f = &l->narrow[n % 32];
    if (wide)
        *d = product ? fma(a, b, *d) : *d + a;
    else
        *f = product ? fmaf((float)a, (float)b, *f) : *f + (float)a;
}

static inline double lanes_end(Lanes *l, bool wide) {
    for (int half = 16; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            l->lane[i] += l->lane[i + half];
            l->narrow[i] += l->narrow[i + half];
        }
    }
    return wide ? l->lane[0] + 0.0 : (double)(l->narrow[0] + 0.0f);
}

static inline Number reduce_start(Reduction r, Dtype t) {
    Number least = cast_number(DT_F64, dtype_is_float(t) ? DT_F64 : t, (Number){-INFINITY, 0});
    Number most = cast_number(DT_F64, dtype_is_float(t) ? DT_F64 : t, (Number){INFINITY, 0});
    if (r == RED_MAX)
        return t == DT_BOOL ? (Number){0, 0} : least;
    if (r == RED_MIN)
        return most;
    return (Number){r == RED_PROD, r == RED_PROD || r == RED_ALL};
}

// One element of a result. `extent` holds the reduction's extents.
static inline Number eval_point(Point *p, const int64_t *extent) {
    static const NodeOp ops[] = {N_ADD, N_ADD, N_MUL, N_MAX, N_MIN, N_OR, N_AND};
    const Comp *c = p->comp;
    const Node *root = &c->nodes.data[c->root];
    Dtype t = root->dtype;
    int64_t points = 1;
    if (c->reduction == RED_NONE)
        return eval_node(p, c->root);
    for (int k = 0; k < c->red; k++)
        points *= extent[k];
    bool lanes = c->reduction == RED_SUM && dtype_is_float(t), wide = t == DT_F64;
    bool product = c->step == STEP_FMA || c->step == STEP_PAIRS;
    Lanes sum = {{0}, {0}};
    Number acc = reduce_start(c->reduction, t);
    uint16_t *rows = c->step == STEP_PAIRS ? calloc((size_t)points * 2 + 1, 2) : NULL;
    for (int64_t n = 0; n < points; n++) {
        int64_t rest = n;
        for (int k = c->red; k-- > 0; rest /= extent[k])
            p->index[c->out + k] = rest % extent[k];
        Number a = eval_node(p, product ? root->args[0] : c->root);
        Number b = product ? eval_node(p, root->args[1]) : a;
        if (rows) {
            rows[n] = half_write(DT_BF16, a.f);
            rows[points + n] = half_write(DT_BF16, b.f);
        } else if (lanes) {
            lanes_step(&sum, n, wide, product, a.f, b.f);
        } else if (dtype_is_float(t)) {
            acc = float_op(ops[c->reduction], t, acc.f, a.f);
        } else {
            acc = integer_op(ops[c->reduction], t, acc.i, a.i);
        }
    }
    if (rows)
        acc.f = (double)rt_dot_bf16(rows, rows + points, (size_t)points);
    else if (lanes)
        acc.f = lanes_end(&sum, wide);
    free(rows);
    return acc;
}

// Are two tensors the same bits, but for the payloads of NaNs?
static inline int64_t first_difference(Dtype t, const void *a, const void *b, int64_t n) {
    size_t size = (size_t)dtype_size(t);
    for (int64_t i = 0; i < n; i++) {
        const char *x = (const char *)a + (size_t)i * size, *y = (const char *)b + (size_t)i * size;
        if (memcmp(x, y, size) == 0)
            continue;
        Tensor tx = {.dtype = t, .data = x}, ty = {.dtype = t, .data = y};
        Number p = number_read(&tx, 0), q = number_read(&ty, 0);
        if (!dtype_is_float(t) || p.f == p.f || q.f == q.f)
            return i;
    }
    return -1;
}

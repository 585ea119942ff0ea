// The orders of reductions. A float sum has 32 lanes: along the reduction they are 32 numbers,
// across outputs they are 32 blocks of numbers. A sum of pairs collects its factors as bf16 and
// leaves the order to the kernel. Everything else keeps one running value, or along the reduction a
// block of them.
#include "interp/reduce.h"
#include "runtime/kernels.h"
#include <math.h>
#include <string.h>

enum { LANES = 32 };

static uint64_t float_bits(VecClass c, double v) {
    uint64_t bits = 0;
    float f = (float)v;
    if (c == VEC_F64)
        memcpy(&bits, &v, sizeof v);
    else
        memcpy(&bits, &f, sizeof f);
    return bits;
}

static uint64_t identity_of(Reduction r, Dtype t) {
    VecClass c = vec_class(t);
    int64_t bounds[2];
    vec_bounds(t, bounds);
    if (r == RED_ANY || r == RED_ALL)
        return r == RED_ALL;
    if (r == RED_SUM || r == RED_PROD)
        return dtype_is_float(t) ? float_bits(c, r == RED_PROD) : r == RED_PROD;
    if (dtype_is_float(t))
        return float_bits(c, r == RED_MAX ? -HUGE_VAL : HUGE_VAL);
    if (t == DT_U64)
        return r == RED_MAX ? 0 : UINT64_MAX;
    if (t == DT_BOOL)
        return r == RED_MIN;
    return (uint64_t)(r == RED_MAX ? bounds[0] : bounds[1]);
}

bool reduce_init(Reducer *r, Reduction reduction, Step step, Dtype dtype, bool inner, int64_t count,
                 int width, bool wide) {
    static const NodeOp ops[] = {N_CONST, N_ADD, N_MUL, N_MAX, N_MIN, N_OR, N_AND};
    memset(r, 0, sizeof *r);
    r->reduction = reduction;
    r->step = step;
    r->inner = inner;
    r->class = vec_class(dtype);
    r->lanes = reduction == RED_SUM && dtype_is_float(dtype);
    r->fn = vec_op(ops[reduction], r->class, wide);
    r->fit = reduction == RED_PROD ? vec_fit(dtype) : NULL;
    r->count = count;
    r->width = width;
    r->identity = identity_of(reduction, dtype);
    return r->lanes || r->fn;
}

static size_t block_bytes(const Reducer *r) {
    return ((size_t)r->width * (size_t)vec_size(r->class) + 63) / 64 * 64;
}

size_t reduce_bytes(const Reducer *r) {
    if (r->step == STEP_PAIRS)
        return ((size_t)r->count * 4 + 63) / 64 * 64;
    if (r->lanes)
        return r->inner ? LANES * sizeof(double) : LANES * block_bytes(r);
    return 2 * block_bytes(r); // the values, and room for the next
}

static int lanes_used(const Reducer *r) {
    return r->count < LANES ? (int)r->count : LANES;
}

void reduce_begin(const Reducer *r, void *state, int n) {
    size_t size = (size_t)vec_size(r->class);
    if (r->step == STEP_PAIRS)
        return;
    if (r->lanes && r->inner) {
        memset(state, 0, LANES * sizeof(double));
        return;
    }
    if (r->lanes) {
        for (int l = 0; l < lanes_used(r); l++)
            memset((char *)state + (size_t)l * block_bytes(r), 0, (size_t)n * size);
        return;
    }
    for (int i = 0; i < (r->inner ? r->width : n); i++)
        memcpy((char *)state + (size_t)i * size, &r->identity, size);
}

static void lanes_f64(double *lanes, const double *a, const double *b, int n, int64_t number) {
    for (int i = 0; i < n; i++) {
        double *l = &lanes[(number + i) % LANES];
        *l = b ? fma(a[i], b[i], *l) : *l + a[i];
    }
}

static void vec_step_f64(double *acc, const double *a, const double *b, bool a_one, int n) {
    for (int i = 0; i < n; i++) {
        double x = a[a_one ? 0 : i];
        acc[i] = b ? fma(x, b[i], acc[i]) : acc[i] + x;
    }
}

static void vec_step_f32(const Reducer *r, float *acc, const float *a, const float *b, bool a_one,
                         int n) {
    const int64_t imm[2] = {0, 0};
    float sum[VEC_BLOCK];
    if (b && a_one) {
        rt_vec_fma_s(acc, a[0], b, (size_t)n);
    } else if (b) {
        rt_vec_fma(acc, a, b, (size_t)n);
    } else {
        r->fn(sum, acc, a, NULL, n, imm);
        memcpy(acc, sum, (size_t)n * sizeof *acc);
    }
}

// bf16 values are held as f32: their upper halves.
static void collect(uint16_t *to, const float *from, int n) {
    for (int i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        to[i] = (uint16_t)(bits >> 16);
    }
}

static void running_step(const Reducer *r, char *state, const char *a, int n) {
    const int64_t imm[2] = {0, 0};
    size_t size = (size_t)vec_size(r->class);
    char *next = state + block_bytes(r);
    bool in_order = r->inner && r->reduction == RED_PROD;
    int at_once = in_order ? 1 : n;
    for (int i = 0; i < n; i += at_once) {
        r->fn(next, state, a + (size_t)i * size, NULL, at_once, imm);
        if (r->fit)
            r->fit(state, next, NULL, NULL, at_once, imm);
        else
            memcpy(state, next, (size_t)at_once * size);
    }
}

void reduce_step(const Reducer *r, void *state, const void *a, const void *b, bool a_one, int n,
                 int64_t number) {
    if (r->step == STEP_PAIRS) {
        uint16_t *rows = state;
        collect(rows + number, a, n);
        collect(rows + r->count + number, b, n);
    } else if (!r->lanes) {
        running_step(r, state, a, n);
    } else if (r->inner && r->class == VEC_F64) {
        lanes_f64(state, a, b, n, number);
    } else if (r->inner && b) {
        rt_lanes_fma(state, a, b, (size_t)n, (size_t)number);
    } else if (r->inner) {
        rt_lanes_add(state, a, (size_t)n, (size_t)number);
    } else {
        char *lane = (char *)state + (size_t)(number % LANES) * block_bytes(r);
        if (r->class == VEC_F64)
            vec_step_f64((double *)lane, a, b, a_one, n);
        else
            vec_step_f32(r, (float *)lane, a, b, a_one, n);
    }
}

// The fold over blocks of lanes; lanes that got nothing are +0 and left out.
#define FOLD_LANES(T)                                                                              \
    do {                                                                                           \
        size_t block = block_bytes(r) / sizeof(T);                                                 \
        T *lanes = state, *to = result;                                                            \
        for (int half = LANES / 2; half > 0; half /= 2) {                                          \
            for (int l = 0; l < half && l + half < used; l++) {                                    \
                for (int i = 0; i < n; i++)                                                        \
                    lanes[(size_t)l * block + (size_t)i] +=                                        \
                        lanes[(size_t)(l + half) * block + (size_t)i];                             \
            }                                                                                      \
            used = used < half ? used : half;                                                      \
        }                                                                                          \
        for (int i = 0; i < n; i++)                                                                \
            to[i] = used ? lanes[i] + 0 : 0;                                                       \
    } while (0)

static double fold_f64(double *lanes) {
    for (int half = LANES / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    }
    return lanes[0] + 0.0;
}

void reduce_end(const Reducer *r, void *state, int n, void *result) {
    int used = lanes_used(r);
    if (r->step == STEP_PAIRS) {
        const uint16_t *rows = state;
        *(float *)result = rt_dot_bf16(rows, rows + r->count, (size_t)r->count);
    } else if (r->lanes && r->inner && r->class == VEC_F64) {
        *(double *)result = fold_f64(state);
    } else if (r->lanes && r->inner) {
        *(float *)result = rt_fold(state);
    } else if (r->lanes && r->class == VEC_F64) {
        FOLD_LANES(double);
    } else if (r->lanes) {
        FOLD_LANES(float);
    } else if (r->inner && r->reduction != RED_PROD) {
        vec_fold(r->fn, r->class, state, r->width, result);
    } else {
        memcpy(result, state, (size_t)n * (size_t)vec_size(r->class));
    }
}

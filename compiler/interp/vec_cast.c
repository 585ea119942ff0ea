// Conversions between register classes, and rounding or wrapping within one.
#include "interp/vec.h"
#include "runtime/numerics.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("tree-vectorize,vect-cost-model=dynamic")
#endif

#define DEFINE(name, R, T, expression)                                                             \
    static void name(void *dst, const void *va, const void *vb, const void *vc, int n,             \
                     const int64_t imm[2]) {                                                       \
        R *restrict d = dst;                                                                       \
        const T *restrict x = va;                                                                  \
        (void)vb;                                                                                  \
        (void)vc;                                                                                  \
        (void)imm;                                                                                 \
        for (int i = 0; i < n; i++) {                                                              \
            T a = x[i];                                                                            \
            d[i] = (R)(expression);                                                                \
        }                                                                                          \
    }

DEFINE(fit_f16, float, float, rt_f16_to_f32(rt_f32_to_f16(a)))
DEFINE(fit_bf16, float, float, rt_bf16_to_f32(rt_f32_to_bf16(a)))
DEFINE(fit_i8, int32_t, int32_t, (int8_t)a)
DEFINE(fit_i16, int32_t, int32_t, (int16_t)a)
DEFINE(fit_u8, int32_t, int32_t, (uint8_t)a)
DEFINE(fit_u16, int32_t, int32_t, (uint16_t)a)

VecFn *vec_fit(Dtype t) {
    switch (t) {
    case DT_F16:
        return fit_f16;
    case DT_BF16:
        return fit_bf16;
    case DT_I8:
        return fit_i8;
    case DT_I16:
        return fit_i16;
    case DT_U8:
        return fit_u8;
    case DT_U16:
        return fit_u16;
    default:
        return NULL;
    }
}

// A double towards zero, into [least, greatest]; NaN gives 0. The bounds of i64 are not doubles: at
// 2^63 and above the greatest is meant.
static inline int64_t saturate(double a, int64_t least, int64_t greatest) {
    if (a != a)
        return 0;
    if (a <= (double)least)
        return least;
    return a >= (double)greatest ? greatest : (int64_t)a;
}

static inline uint64_t saturate_u64(double a) {
    if (!(a > 0))
        return 0;
    return a >= 0x1p64 ? UINT64_MAX : (uint64_t)a;
}

DEFINE(f32_i32, int32_t, float, rt_f32_to_i32(a))
DEFINE(f32_i64, int64_t, float, saturate((double)a, imm[0], imm[1]))
DEFINE(f64_i64, int64_t, double, saturate(a, imm[0], imm[1]))
DEFINE(f32_u64, uint64_t, float, saturate_u64((double)a))
DEFINE(f64_u64, uint64_t, double, saturate_u64(a))
DEFINE(f32_f64, double, float, a)
DEFINE(f64_f32, float, double, a)
DEFINE(i32_f32, float, int32_t, a)
DEFINE(u32_f32, float, uint32_t, a)
DEFINE(i64_f32, float, int64_t, a)
DEFINE(u64_f32, float, uint64_t, a)
DEFINE(i32_f64, double, int32_t, a)
DEFINE(u32_f64, double, uint32_t, a)
DEFINE(i64_f64, double, int64_t, a)
DEFINE(u64_f64, double, uint64_t, a)
DEFINE(i32_i64, int64_t, int32_t, a)
DEFINE(u32_i64, int64_t, uint32_t, a)
DEFINE(i64_i32, int32_t, int64_t, (uint32_t)(uint64_t)a)
DEFINE(u8_i32, int32_t, uint8_t, a)
DEFINE(f32_bool, uint8_t, float, a != 0)
DEFINE(f64_bool, uint8_t, double, a != 0)
DEFINE(i32_bool, uint8_t, int32_t, a != 0)
DEFINE(i64_bool, uint8_t, int64_t, a != 0)

void vec_bounds(Dtype t, int64_t imm[2]) {
    int bits = 8 * dtype_size(t);
    if (!dtype_is_integer(t) || t == DT_U64) {
        imm[0] = imm[1] = 0;
    } else if (dtype_is_signed(t)) {
        imm[1] = (int64_t)(UINT64_MAX >> (65 - bits));
        imm[0] = -imm[1] - 1;
    } else {
        imm[0] = 0;
        imm[1] = (int64_t)(UINT64_MAX >> (64 - bits));
    }
}

// From a float class to the class of an integer or bool dtype.
static int cast_from_float(bool wide, Dtype to, VecFn *steps[3], VecClass classes[3]) {
    VecClass c = vec_class(to);
    classes[0] = c;
    if (c == VEC_BOOL) {
        steps[0] = wide ? f64_bool : f32_bool;
    } else if (c == VEC_U64) {
        steps[0] = wide ? f64_u64 : f32_u64;
    } else if (to == DT_I32 && !wide) {
        steps[0] = f32_i32;
    } else {
        steps[0] = wide ? f64_i64 : f32_i64;
        classes[0] = VEC_I64;
        if (c == VEC_I64)
            return 1;
        steps[1] = i64_i32;
        classes[1] = c;
        return 2;
    }
    return 1;
}

// From an integer class to a float class.
static VecFn *cast_to_float(VecClass from, bool wide) {
    switch (from) {
    case VEC_I32:
        return wide ? i32_f64 : i32_f32;
    case VEC_U32:
        return wide ? u32_f64 : u32_f32;
    case VEC_I64:
        return wide ? i64_f64 : i64_f32;
    default:
        return wide ? u64_f64 : u64_f32;
    }
}

static VecFn *cast_integer(VecClass from, VecClass to) {
    bool from_wide = vec_size(from) == 8;
    if (to == VEC_BOOL)
        return from_wide ? i64_bool : i32_bool;
    if (from_wide == (vec_size(to) == 8))
        return NULL;
    if (from_wide)
        return i64_i32;
    return from == VEC_U32 ? u32_i64 : i32_i64;
}

int vec_cast(Dtype from, Dtype to, VecFn *steps[3], VecClass classes[3]) {
    VecClass f = vec_class(from), t = vec_class(to);
    bool from_float = f == VEC_F32 || f == VEC_F64, to_float = t == VEC_F32 || t == VEC_F64;
    int n = 0;
    if (f == t && f != VEC_I32 && !(from_float && to_float))
        return 0;
    if (from_float && !to_float) {
        n = cast_from_float(f == VEC_F64, to, steps, classes);
    } else if (from_float && f != t) {
        classes[n] = t;
        steps[n++] = t == VEC_F64 ? f32_f64 : f64_f32;
    } else if (!from_float) {
        if (f == VEC_BOOL) { // as an i32 of 0 or 1
            classes[n] = VEC_I32;
            steps[n++] = u8_i32;
            f = VEC_I32;
        }
        VecFn *step = to_float ? cast_to_float(f, t == VEC_F64)
                      : f == t ? NULL
                               : cast_integer(f, t);
        if (step) {
            classes[n] = t;
            steps[n++] = step;
        }
    }
    // A float cast to an integer has saturated already.
    VecFn *fit = from_float && !to_float ? NULL : vec_fit(to);
    if (fit && from != to) {
        classes[n] = t;
        steps[n++] = fit;
    }
    return n;
}

// ---- Storing -----------------------------------------------------------------------------------

#define RUN(S, D, expression)                                                                      \
    do {                                                                                           \
        const S *restrict from = src;                                                              \
        D *restrict to = (D *)data + off;                                                          \
        for (int i = 0; i < n; i++) {                                                              \
            S a = from[i];                                                                         \
            to[i * stride] = (D)(expression);                                                      \
        }                                                                                          \
    } while (0)

void vec_store(Dtype dtype, void *data, int64_t off, int64_t stride, int n, const void *src) {
    VecClass c = vec_class(dtype);
    size_t size = (size_t)dtype_size(dtype);
    if (stride == 1 && (size_t)vec_size(c) == size) {
        memcpy((char *)data + (size_t)off * size, src, (size_t)n * size);
        return;
    }
    if (dtype == DT_F16)
        RUN(float, uint16_t, rt_f32_to_f16(a));
    else if (dtype == DT_BF16)
        RUN(float, uint16_t, rt_f32_to_bf16(a));
    else if (size == 8)
        RUN(uint64_t, uint64_t, a);
    else if (size == 4)
        RUN(uint32_t, uint32_t, a);
    else if (size == 2)
        RUN(uint32_t, uint16_t, a);
    else if (c == VEC_BOOL)
        RUN(uint8_t, uint8_t, a);
    else
        RUN(uint32_t, uint8_t, a);
}

// The vector operations. Every loop is compiled twice, for the baseline and for AVX2; each holds
// one operation, rounded once, so both give the same bits.
#include "interp/vec.h"
#include "runtime/kernels.h"
#include "runtime/numerics.h"

// Lets gcc vectorise these loops at any -O level above 0.
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("tree-vectorize,vect-cost-model=dynamic")
#endif

#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#else
#define WIDE
#endif

VecClass vec_class(Dtype t) {
    switch (t) {
    case DT_F64:
        return VEC_F64;
    case DT_U32:
        return VEC_U32;
    case DT_I64:
        return VEC_I64;
    case DT_U64:
        return VEC_U64;
    case DT_BOOL:
        return VEC_BOOL;
    default:
        return dtype_is_float(t) ? VEC_F32 : VEC_I32;
    }
}

int vec_size(VecClass c) {
    static const int sizes[] = {4, 8, 4, 4, 8, 8, 1};
    return sizes[c];
}

// ---- Scalar forms that C's operators do not give -----------------------------------------------

static inline double max_f64(double a, double b) {
    double equal = signbit(a) ? b : a;
    double ordered = a == b ? equal : a > b ? a : b;
    return a != a ? a : ordered;
}

static inline double min_f64(double a, double b) {
    double equal = signbit(a) ? a : b;
    double ordered = a == b ? equal : a < b ? a : b;
    return a != a ? a : ordered;
}

#define MAX_INT(a, b) ((a) > (b) ? (a) : (b))
#define MIN_INT(a, b) ((a) < (b) ? (a) : (b))

#define SIGNED_FORMS(S, T, U)                                                                      \
    static inline T div_##S(T a, T b) {                                                            \
        return b == -1 ? (T)(0 - (U)a) : b ? (T)(a / b) : 0;                                       \
    }                                                                                              \
    static inline T mod_##S(T a, T b) {                                                            \
        return b == -1 || b == 0 ? 0 : (T)(a % b);                                                 \
    }                                                                                              \
    static inline T floordiv_##S(T a, T b) {                                                       \
        T m = mod_##S(a, b);                                                                       \
        return (T)((U)div_##S(a, b) - (U)(m != 0 && (m < 0) != (b < 0)));                          \
    }                                                                                              \
    static inline T floormod_##S(T a, T b) {                                                       \
        T m = mod_##S(a, b);                                                                       \
        return m != 0 && (m < 0) != (b < 0) ? (T)(m + b) : m;                                      \
    }                                                                                              \
    static inline T shl_##S(T a, T b, U width) {                                                   \
        return (U)b < width ? (T)((U)a << ((U)b & (sizeof(T) * 8 - 1))) : 0;                       \
    }                                                                                              \
    static inline T shr_##S(T a, T b, U width, T outside) {                                        \
        return (T)(a >> (((U)b < width ? b : outside) & (T)(sizeof(T) * 8 - 1)));                  \
    }
SIGNED_FORMS(i32, int32_t, uint32_t)
SIGNED_FORMS(i64, int64_t, uint64_t)

#define UNSIGNED_FORMS(S, T)                                                                       \
    static inline T div_##S(T a, T b) {                                                            \
        return b ? (T)(a / b) : 0;                                                                 \
    }                                                                                              \
    static inline T mod_##S(T a, T b) {                                                            \
        return b ? (T)(a % b) : 0;                                                                 \
    }                                                                                              \
    static inline T shl_##S(T a, T b, T width) {                                                   \
        return b < width ? (T)(a << (b & (sizeof(T) * 8 - 1))) : 0;                                \
    }                                                                                              \
    static inline T shr_##S(T a, T b, T width, T outside) {                                        \
        (void)outside;                                                                             \
        return b < width ? (T)(a >> (b & (sizeof(T) * 8 - 1))) : 0;                                \
    }
UNSIGNED_FORMS(u32, uint32_t)
UNSIGNED_FORMS(u64, uint64_t)
#define floordiv_u32 div_u32
#define floordiv_u64 div_u64
#define floormod_u32 mod_u32
#define floormod_u64 mod_u64

// ---- The table: X(node, class, suffix, result type, operand type, expression of a, b) ----------

#define COMPARE(X, C, S, T)                                                                        \
    X(EQ, C, S, uint8_t, T, a == b)                                                                \
    X(NE, C, S, uint8_t, T, a != b)                                                                \
    X(LT, C, S, uint8_t, T, a < b)                                                                 \
    X(LE, C, S, uint8_t, T, a <= b)                                                                \
    X(GT, C, S, uint8_t, T, a > b)                                                                 \
    X(GE, C, S, uint8_t, T, a >= b)

#define FLOATS(X, C, S, T, fabs_, sqrt_, max_, min_)                                               \
    X(NEG, C, S, T, T, (-a))                                                                       \
    X(ABS, C, S, T, T, fabs_(a))                                                                   \
    X(SQRT, C, S, T, T, sqrt_(a))                                                                  \
    X(RSQRT, C, S, T, T, 1 / sqrt_(a))                                                             \
    X(ADD, C, S, T, T, a + b)                                                                      \
    X(SUB, C, S, T, T, a - b)                                                                      \
    X(MUL, C, S, T, T, a *b)                                                                       \
    X(DIV, C, S, T, T, a / b)                                                                      \
    X(MIN, C, S, T, T, min_(a, b))                                                                 \
    X(MAX, C, S, T, T, max_(a, b))                                                                 \
    COMPARE(X, C, S, T)

#define INTEGERS(X, C, S, T, U, abs_)                                                              \
    X(NEG, C, S, T, T, 0 - (U)a)                                                                   \
    X(ABS, C, S, T, T, abs_)                                                                       \
    X(ADD, C, S, T, T, (U)a + (U)b)                                                                \
    X(SUB, C, S, T, T, (U)a - (U)b)                                                                \
    X(MUL, C, S, T, T, (U)a *(U)b)                                                                 \
    X(DIV, C, S, T, T, div_##S(a, b))                                                              \
    X(MOD, C, S, T, T, mod_##S(a, b))                                                              \
    X(FLOORDIV, C, S, T, T, floordiv_##S(a, b))                                                    \
    X(FLOORMOD, C, S, T, T, floormod_##S(a, b))                                                    \
    X(MIN, C, S, T, T, MIN_INT(a, b))                                                              \
    X(MAX, C, S, T, T, MAX_INT(a, b))                                                              \
    X(AND, C, S, T, T, a &b)                                                                       \
    X(OR, C, S, T, T, a | b)                                                                       \
    X(XOR, C, S, T, T, a ^ b)                                                                      \
    X(SHL, C, S, T, T, shl_##S(a, b, (U)imm[0]))                                                   \
    X(SHR, C, S, T, T, shr_##S(a, b, (U)imm[0], (T)imm[1]))                                        \
    COMPARE(X, C, S, T)

#define BOOLS(X, C, S, T)                                                                          \
    X(NOT, C, S, T, T, !a)                                                                         \
    X(MIN, C, S, T, T, a &b)                                                                       \
    X(MAX, C, S, T, T, a | b)                                                                      \
    X(AND, C, S, T, T, a &b)                                                                       \
    X(OR, C, S, T, T, a | b)                                                                       \
    X(XOR, C, S, T, T, a ^ b)                                                                      \
    COMPARE(X, C, S, T)

#define OPERATIONS(X)                                                                              \
    FLOATS(X, VEC_F32, f32, float, fabsf, sqrtf, rt_max, rt_min)                                   \
    FLOATS(X, VEC_F64, f64, double, fabs, sqrt, max_f64, min_f64)                                  \
    INTEGERS(X, VEC_I32, i32, int32_t, uint32_t, (a < 0 ? 0 - (uint32_t)a : (uint32_t)a))          \
    INTEGERS(X, VEC_U32, u32, uint32_t, uint32_t, a)                                               \
    INTEGERS(X, VEC_I64, i64, int64_t, uint64_t, (a < 0 ? 0 - (uint64_t)a : (uint64_t)a))          \
    INTEGERS(X, VEC_U64, u64, uint64_t, uint64_t, a)                                               \
    BOOLS(X, VEC_BOOL, bool, uint8_t)

// One loop. A node with one argument has b == NULL: then b repeats a, and is not used.
#define LOOP(R, T, expression)                                                                     \
    R *restrict d = dst;                                                                           \
    const T *restrict x = va;                                                                      \
    const T *restrict y = vb ? vb : va;                                                            \
    (void)vc;                                                                                      \
    (void)imm;                                                                                     \
    for (int i = 0; i < n; i++) {                                                                  \
        T a = x[i], b = y[i];                                                                      \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        d[i] = (R)(expression);                                                                    \
    }
#define ARGUMENTS                                                                                  \
    void *dst, const void *va, const void *vb, const void *vc, int n, const int64_t imm[2]

#define DEFINE(N, C, S, R, T, expression)                                                          \
    static void N##_##S(ARGUMENTS){LOOP(R, T, expression)} WIDE static void N##_##S##_wide(        \
        ARGUMENTS) {                                                                               \
        LOOP(R, T, expression)                                                                     \
    }
OPERATIONS(DEFINE)

#define LIBRARY(N, function)                                                                       \
    static void N##_f32(ARGUMENTS) {                                                               \
        (void)vb;                                                                                  \
        (void)vc;                                                                                  \
        (void)imm;                                                                                 \
        function(dst, va, (size_t)n);                                                              \
    }
LIBRARY(EXP, rt_exp_n)
LIBRARY(LOG, rt_log_n)
LIBRARY(SIN, rt_sin_n)
LIBRARY(COS, rt_cos_n)
LIBRARY(TANH, rt_tanh_n)

VecFn *vec_op(NodeOp op, VecClass c, bool wide) {
#define ROW(N, C, S, R, T, expression) [N_##N][C] = {N##_##S, N##_##S##_wide},
#define LIBRARY_ROW(N) [N_##N][VEC_F32] = {N##_f32, N##_f32},
    static VecFn *const table[NODE_COUNT][VEC_CLASSES][2] = {OPERATIONS(ROW) LIBRARY_ROW(
        EXP) LIBRARY_ROW(LOG) LIBRARY_ROW(SIN) LIBRARY_ROW(COS) LIBRARY_ROW(TANH)};
    return table[op][c][wide];
}

// ---- Choice ------------------------------------------------------------------------------------

#define SELECT_LOOP(T)                                                                             \
    T *restrict d = dst;                                                                           \
    const uint8_t *restrict x = va;                                                                \
    const T *restrict y = vb;                                                                      \
    const T *restrict z = vc;                                                                      \
    (void)imm;                                                                                     \
    for (int i = 0; i < n; i++) {                                                                  \
        T yes = y[i], no = z[i];                                                                   \
        d[i] = x[i] ? yes : no;                                                                    \
    }
#define DEFINE_SELECT(T)                                                                           \
    static void select_##T(ARGUMENTS){SELECT_LOOP(T)} WIDE static void select_##T##_wide(          \
        ARGUMENTS) {                                                                               \
        SELECT_LOOP(T)                                                                             \
    }
DEFINE_SELECT(uint8_t)
DEFINE_SELECT(uint32_t)
DEFINE_SELECT(uint64_t)

VecFn *vec_select(VecClass c, bool wide) {
    static VecFn *const table[3][2] = {{select_uint8_t, select_uint8_t_wide},
                                       {select_uint32_t, select_uint32_t_wide},
                                       {select_uint64_t, select_uint64_t_wide}};
    return table[vec_size(c) / 4][wide];
}

// Halves the values by fn until one is left. For operations whose order does not matter.
void vec_fold(VecFn *fn, VecClass c, void *values, int n, void *result) {
    uint64_t half[VEC_BLOCK / 2];
    const int64_t imm[2] = {0, 0};
    size_t size = (size_t)vec_size(c);
    while (n > 1) {
        int h = n / 2;
        fn(half, values, (char *)values + (size_t)(n - h) * size, NULL, h, imm);
        memcpy(values, half, (size_t)h * size);
        n -= h;
    }
    memcpy(result, values, size);
}

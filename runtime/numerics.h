/* Numbers: elementary functions and conversions whose bits are the same everywhere.
 *
 * Everything here is built from operations that IEEE 754 rounds in one way only: +, -, *, /, sqrt,
 * fma, comparisons, conversions and integer arithmetic. So one text gives one set of bits, in plain
 * C at any optimisation level, vectorised by a compiler, or in CUDA. Never build with -ffast-math.
 * (An inexact product is added by an fma only, so contraction of a * b + c would change nothing
 * here; all else needs -ffp-contract=off.)
 *
 * Accuracy is in ulp of the exact result; the measured errors are in spec/numerics.md.
 * A line that starts with "//:" opens a unit: the name of what it defines, and the units it needs.
 * What stands before the first unit, and the unit "end", belong to any selection.
 */
#ifndef RT_NUMERICS_H
#define RT_NUMERICS_H

#ifdef __CUDACC__
#ifdef __CUDACC_RTC__ /* NVRTC has no headers */
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif
#define RT_FN static __device__ __forceinline__
#else
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __GNUC__ /* inlined even at -O0, so that callers with fma instructions use them */
#define RT_FN static inline __attribute__((always_inline, unused))
#else
#define RT_FN static inline
#endif
#endif

//: rt_bits
/* The bits of a float. */
RT_FN uint32_t rt_bits(float x) {
#ifdef __CUDACC__
    return (uint32_t)__float_as_int(x);
#else
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
#endif
}

//: rt_from_bits
/* The float with these bits. */
RT_FN float rt_from_bits(uint32_t u) {
#ifdef __CUDACC__
    return __int_as_float((int)u);
#else
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
#endif
}

//: rt_pick needs rt_bits rt_from_bits
/* c ? a : b without a branch, so that loops over these functions vectorise. */
RT_FN float rt_pick(int c, float a, float b) {
    uint32_t mask = 0u - (uint32_t)(c != 0);
    return rt_from_bits((rt_bits(a) & mask) | (rt_bits(b) & ~mask));
}

//: rt_fma
/* a * b + c, rounded once. */
RT_FN float rt_fma(float a, float b, float c) {
#ifdef __CUDACC__
    return __fmaf_rn(a, b, c);
#else
    return fmaf(a, b, c);
#endif
}

//: rt_fma64
/* a * b + c in double precision, rounded once. */
RT_FN double rt_fma64(double a, double b, double c) {
#ifdef __CUDACC__
    return __fma_rn(a, b, c);
#else
    return fma(a, b, c);
#endif
}

//: rt_sqrt
/* The square root, correctly rounded; -0 stays -0, anything below is NaN. */
RT_FN float rt_sqrt(float x) {
#ifdef __CUDACC__
    return __fsqrt_rn(x);
#else
    return sqrtf(x);
#endif
}

//: rt_rsqrt needs rt_sqrt
/* 1 / sqrt(x), both roundings. */
RT_FN float rt_rsqrt(float x) {
#ifdef __CUDACC__
    return __fdiv_rn(1.0f, rt_sqrt(x));
#else
    return 1.0f / rt_sqrt(x);
#endif
}

//: rt_max needs rt_bits rt_from_bits
/* The larger one. A NaN wins; -0 is below +0. */
RT_FN float rt_max(float a, float b) {
    float larger = a > b ? a : b;
    float equal = rt_from_bits(rt_bits(a) & rt_bits(b)); /* matters for zeros only */
    float ordered = a == b ? equal : larger;
    return a != a ? a : ordered; /* where b is NaN, a > b has failed already */
}

//: rt_min needs rt_bits rt_from_bits
/* The smaller one. A NaN wins; -0 is below +0. */
RT_FN float rt_min(float a, float b) {
    float smaller = a < b ? a : b;
    float equal = rt_from_bits(rt_bits(a) | rt_bits(b));
    float ordered = a == b ? equal : smaller;
    return a != a ? a : ordered;
}

//: rt_exp_parts needs rt_bits rt_from_bits rt_fma
/* e^x = (*high + *low) * 2^n for |x| <= 126; returns n. *high is within a rounding of the whole. */
RT_FN int32_t rt_exp_parts(float x, float *high, float *low) {
    /* Adding 1.5 * 2^23 leaves x / ln 2, rounded to an integer, in the low bits of the sum. */
    float t = rt_fma(x, 0x1.715476p0f, 0x1.8p23f);
    int32_t n = (int32_t)(rt_bits(t) - 0x4b400000u);
    float nf = t - 0x1.8p23f;
    float r = rt_fma(nf, -0x1.62e43p-1f, x);
    r = rt_fma(nf, 0x1.05c61p-29f, r);
    /* e^r = 1 + r + r^2 q(r), where what is lost in 1 + r is kept. */
    float q = rt_fma(0x1.a2d944p-13f, r, 0x1.6d3096p-10f);
    q = rt_fma(q, r, 0x1.110fc2p-7f);
    q = rt_fma(q, r, 0x1.5555p-5f);
    q = rt_fma(q, r, 0x1.555556p-3f);
    q = rt_fma(q, r, 0.5f);
    float one_r = 1.0f + r;
    float lost = r - (one_r - 1.0f);
    float rest = rt_fma(q, r * r, lost);
    *high = one_r + rest;
    *low = rest - (*high - one_r);
    return n;
}

//: rt_exp needs rt_exp_parts rt_pick rt_from_bits
/* e^x within 1 ulp. Exactly 0 where e^x is below the normal range (below 2^-126). */
RT_FN float rt_exp(float x) {
    float c = x > 89.0f ? 89.0f : x; /* a NaN passes both */
    c = c < -88.0f ? -88.0f : c;
    float high, low;
    int32_t n = rt_exp_parts(c, &high, &low);
    /* 2^n in two factors: n may be 128. */
    int32_t half = n >> 1;
    float a = rt_from_bits((uint32_t)(half + 127) << 23);
    float b = rt_from_bits((uint32_t)(n - half + 127) << 23);
    float y = high * a * b;
    return rt_pick(x < -0x1.5d589ep+6f, 0.0f, y); /* the last x whose e^x is at least 2^-126 */
}

//: rt_log needs rt_pick rt_bits rt_from_bits rt_fma
/* The natural logarithm within 1 ulp. log(+-0) = -inf, of anything below NaN, of +inf +inf. */
RT_FN float rt_log(float x) {
    int tiny = x < 0x1p-126f;
    uint32_t u = rt_bits(rt_pick(tiny, x * 0x1p23f, x));
    /* x = m * 2^e, m in [2/3, 4/3) */
    uint32_t e_bits = (u - 0x3f2aaaabu) & 0xff800000u;
    float m = rt_from_bits(u - e_bits);
    float e = (float)((int32_t)e_bits) * 0x1p-23f - rt_pick(tiny, 23.0f, 0.0f);
    /* log(1 + f) = f - f^2 / 2 + f^3 p(f) */
    float f = m - 1.0f;
    float p = rt_fma(0x1.e9d18ap-4f, f, -0x1.06c2bap-3f);
    p = rt_fma(p, f, 0x1.b91efap-4f);
    p = rt_fma(p, f, -0x1.f3b02cp-4f);
    p = rt_fma(p, f, 0x1.24eb6ep-3f);
    p = rt_fma(p, f, -0x1.55978cp-3f);
    p = rt_fma(p, f, 0x1.9997eep-3f);
    p = rt_fma(p, f, -0x1.ffff18p-3f);
    p = rt_fma(p, f, 0x1.555556p-2f);
    p = rt_fma(p, f, -0.5f);
    /* e ln 2 + f + f^2 p: e times the high part of ln 2 is exact, what its sum loses is kept. */
    float whole = e * 0x1.62e4p-1f;
    float sum = whole + f;
    float lost = f - (sum - whole);
    float y = sum + rt_fma(p, f * f, rt_fma(e, 0x1.7f7d1cp-20f, lost));
    y = rt_pick(x == 0.0f, rt_from_bits(0xff800000u), y);
    y = rt_pick(x < 0.0f, rt_from_bits(0x7fc00000u), y);
    return rt_pick(x < rt_from_bits(0x7f800000u), y, x); /* +inf and NaN are their own */
}

//: rt_quadrant_near needs rt_fma64
/* Reduces 0 <= x <= 2^30: x = n pi / 2 + *r, |*r| <= pi / 4 or a little more; returns n mod 2^32.
 */
RT_FN uint32_t rt_quadrant_near(float x, double *r) {
    double t = rt_fma64((double)x, 0x1.45f306dc9c883p-1, 0x1.8p52);
    double n = t - 0x1.8p52;
    double d = rt_fma64(n, -0x1.921fb544p0, (double)x);
    d = rt_fma64(n, -0x1.0b4611a6p-34, d);
    *r = rt_fma64(n, -0x1.3198a2e037073p-69, d);
    return (uint32_t)(int32_t)n;
}

//: rt_quadrant_far needs rt_bits
/* The same for finite x > 2^30: multiplies by the 96 bits of 2 / pi that matter. */
RT_FN uint32_t rt_quadrant_far(float x, double *r) {
    const uint32_t two_over_pi[7] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                     0xdb629599u, 0x3c439041u, 0xfe5163abu};
    uint32_t u = rt_bits(x);
    uint64_t m = (u & 0x7fffffu) | 0x800000u;
    uint32_t skip = (u >> 23) - 152; /* leading bits whose product is a multiple of 4 */
    uint32_t word = skip >> 5, shift = skip & 31;
    uint64_t w[3];
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t pair = (uint64_t)two_over_pi[word + i] << 32 | two_over_pi[word + i + 1];
        w[i] = (pair << shift) >> 32;
    }
    uint64_t turn = (m * w[0] << 32) + m * w[1] + (m * w[2] >> 32); /* quarter turns * 2^62 */
    uint64_t n = (turn + ((uint64_t)1 << 61)) >> 62;
    *r = (double)(int64_t)(turn - (n << 62)) * 0x1.921fb54442d18p-62;
    return (uint32_t)n;
}

//: rt_sin_poly needs rt_fma64
/* sin r for |r| <= pi / 4, in double precision, good to about 2^-45. */
RT_FN double rt_sin_poly(double r) {
    double z = r * r;
    double s = rt_fma64(0x1.6cce087763643p-19, z, -0x1.a00f6b3a0393bp-13);
    s = rt_fma64(s, z, 0x1.1111084ac01dep-7);
    s = rt_fma64(s, z, -0x1.5555554c351d3p-3);
    return rt_fma64(s * z, r, r);
}

//: rt_cos_poly needs rt_fma64
/* cos r for |r| <= pi / 4, in double precision, good to about 2^-45. */
RT_FN double rt_cos_poly(double r) {
    double z = r * r;
    double c = rt_fma64(-0x1.23d5cdb92ff3ep-22, z, 0x1.a00f0353cf3b2p-16);
    c = rt_fma64(c, z, -0x1.6c16b3e015aa4p-10);
    c = rt_fma64(c, z, 0x1.55555546b87c9p-5);
    c = rt_fma64(c, z, -0x1.ffffffffeb68bp-2);
    return rt_fma64(c, z, 1.0);
}

//: rt_turn needs rt_sin_poly rt_cos_poly rt_pick rt_bits rt_from_bits
/* sin(n pi / 2 + r), rounded to float. */
RT_FN float rt_turn(uint32_t n, double r) {
    float s = (float)rt_sin_poly(r), c = (float)rt_cos_poly(r);
    return rt_from_bits(rt_bits(rt_pick(n & 1, c, s)) ^ (n & 2) << 30);
}

//: rt_sin_near needs rt_quadrant_near rt_turn rt_bits rt_from_bits
/* sin x for |x| <= 2^30 only. */
RT_FN float rt_sin_near(float x) {
    double r;
    uint32_t u = rt_bits(x), sign = u & 0x80000000u;
    uint32_t n = rt_quadrant_near(rt_from_bits(u ^ sign), &r);
    return rt_from_bits(rt_bits(rt_turn(n, r)) ^ sign);
}

//: rt_cos_near needs rt_quadrant_near rt_turn rt_bits rt_from_bits
/* cos x for |x| <= 2^30 only. */
RT_FN float rt_cos_near(float x) {
    double r;
    uint32_t n = rt_quadrant_near(rt_from_bits(rt_bits(x) & 0x7fffffffu), &r);
    return rt_turn(n + 1, r);
}

//: rt_is_near needs rt_bits
/* Is |x| <= 2^30? False for NaN. */
RT_FN int rt_is_near(float x) {
    return (rt_bits(x) & 0x7fffffffu) <= 0x4e800000u;
}

//: rt_sin needs rt_sin_near rt_is_near rt_quadrant_far rt_turn rt_bits rt_from_bits
/* The sine of x radians within 1 ulp, for every finite x; NaN for infinities. */
RT_FN float rt_sin(float x) {
    if (rt_is_near(x))
        return rt_sin_near(x);
    uint32_t u = rt_bits(x), sign = u & 0x80000000u;
    if ((u ^ sign) >= 0x7f800000u)
        return x - x;
    double r;
    uint32_t n = rt_quadrant_far(rt_from_bits(u ^ sign), &r);
    return rt_from_bits(rt_bits(rt_turn(n, r)) ^ sign);
}

//: rt_cos needs rt_cos_near rt_is_near rt_quadrant_far rt_turn rt_bits rt_from_bits
/* The cosine of x radians within 1 ulp, for every finite x; NaN for infinities. */
RT_FN float rt_cos(float x) {
    if (rt_is_near(x))
        return rt_cos_near(x);
    uint32_t u = rt_bits(x) & 0x7fffffffu;
    if (u >= 0x7f800000u)
        return x - x;
    double r;
    uint32_t n = rt_quadrant_far(rt_from_bits(u), &r);
    return rt_turn(n + 1, r);
}

//: rt_tanh needs rt_exp_parts rt_pick rt_bits rt_from_bits rt_fma
/* The hyperbolic tangent within 1 ulp. */
RT_FN float rt_tanh(float x) {
    uint32_t sign = rt_bits(x) & 0x80000000u;
    float a = rt_from_bits(rt_bits(x) ^ sign);
    /* near 0: x + x^3 p(x^2) */
    float z = a * a;
    float p = rt_fma(-0x1.94a21ep-8f, z, 0x1.581d9ap-6f);
    p = rt_fma(p, z, -0x1.b906dcp-5f);
    p = rt_fma(p, z, 0x1.110c62p-3f);
    p = rt_fma(p, z, -0x1.555548p-2f);
    float small = rt_fma(p * z, a, a);
    /* else 1 - 2 / (e^2a + 1), every step with the part that it loses */
    float high, low, c = rt_pick(a > 10.0f, 10.0f, a);
    int32_t n = rt_exp_parts(c + c, &high, &low);
    float scale = rt_from_bits((uint32_t)(n + 127) << 23);
    float e = high * scale, d = e + 1.0f;
    float d_low = rt_fma(low, scale, 1.0f - (d - e));
    float q = 2.0f / d;
    float rest = rt_fma(-q, d_low, rt_fma(-q, d, 2.0f));
    float y = 1.0f - q;
    float y_low = rt_fma(rest, -0.5f * q, (1.0f - y) - q);
    float large = y + y_low;
    return rt_from_bits(rt_bits(rt_pick(a < 0.5625f, small, large)) | sign);
}

//: rt_bf16_to_f32 needs rt_from_bits
/* Exact. */
RT_FN float rt_bf16_to_f32(uint16_t h) {
    return rt_from_bits((uint32_t)h << 16);
}

//: rt_f32_to_bf16 needs rt_bits
/* To nearest even; a NaN stays one. */
RT_FN uint16_t rt_f32_to_bf16(float x) {
    uint32_t u = rt_bits(x);
    uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    return (uint16_t)(x != x ? u >> 16 | 0x40 : rounded);
}

//: rt_f16_to_f32 needs rt_from_bits
/* Exact, subnormals included. */
RT_FN float rt_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = (uint32_t)(h & 0x7fff) << 13;
    uint32_t special = magnitude >= 0x0f800000u ? 0x38000000u : 0; /* exponent 31 becomes 255 */
    float subnormal = (float)(h & 0x3ff) * 0x1p-24f;
    float normal = rt_from_bits(magnitude + 0x38000000u + special);
    float y = magnitude < 0x00800000u ? subnormal : normal;
    return sign ? -y : y;
}

//: rt_f32_to_f16 needs rt_bits
/* To nearest even, subnormals included; too large gives an infinity, a NaN stays one. */
RT_FN uint16_t rt_f32_to_f16(float x) {
    uint32_t u = rt_bits(x), sign = u >> 16 & 0x8000, a = u & 0x7fffffffu;
    if (a > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
    if (a >= 0x477ff000u) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (a >= 0x38800000u)
        return (uint16_t)(sign | (a - 0x38000000u + 0xfff + (a >> 13 & 1)) >> 13);
    if (a <= 0x33000000u) /* half of the least subnormal, and ties go to even */
        return (uint16_t)sign;
    uint32_t shift = 126 - (a >> 23), m = (a & 0x7fffffu) | 0x800000u;
    uint32_t half = (uint32_t)1 << (shift - 1);
    return (uint16_t)(sign | (m + half - 1 + (m >> shift & 1)) >> shift);
}

//: rt_f32_to_i32
/* Towards zero; saturates; NaN gives 0. */
RT_FN int32_t rt_f32_to_i32(float x) {
    if (x != x)
        return 0;
    if (x >= 0x1p31f)
        return 2147483647;
    return x <= -0x1p31f ? -2147483647 - 1 : (int32_t)x;
}

//: rt_f32_to_i64
/* Towards zero; saturates; NaN gives 0. */
RT_FN int64_t rt_f32_to_i64(float x) {
    if (x != x)
        return 0;
    if (x >= 0x1p63f)
        return 0x7fffffffffffffff;
    return x <= -0x1p63f ? -0x7fffffffffffffff - 1 : (int64_t)x;
}

//: rt_add_i32
/* a + b mod 2^32. */
RT_FN int32_t rt_add_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

//: rt_sub_i32
/* a - b mod 2^32. */
RT_FN int32_t rt_sub_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

//: rt_mul_i32
/* a * b mod 2^32. */
RT_FN int32_t rt_mul_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

//: rt_add_i64
/* a + b mod 2^64. */
RT_FN int64_t rt_add_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

//: rt_sub_i64
/* a - b mod 2^64. */
RT_FN int64_t rt_sub_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

//: rt_mul_i64
/* a * b mod 2^64. */
RT_FN int64_t rt_mul_i64(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

//: rt_div_i64 needs rt_sub_i64
/* a / b towards zero. Division by 0 gives 0, INT64_MIN / -1 wraps. */
RT_FN int64_t rt_div_i64(int64_t a, int64_t b) {
    if (b == -1)
        return rt_sub_i64(0, a);
    return b ? a / b : 0;
}

//: rt_mod_i64
/* The remainder of rt_div_i64, with the sign of a; 0 when b is 0. */
RT_FN int64_t rt_mod_i64(int64_t a, int64_t b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

//: rt_floordiv_i64 needs rt_div_i64 rt_mod_i64
/* a / b towards minus infinity. Division by 0 gives 0, INT64_MIN / -1 wraps. */
RT_FN int64_t rt_floordiv_i64(int64_t a, int64_t b) {
    int64_t m = rt_mod_i64(a, b);
    return rt_div_i64(a, b) - (m != 0 && (m < 0) != (b < 0));
}

//: rt_floormod_i64 needs rt_mod_i64
/* The remainder of rt_floordiv_i64, with the sign of b; 0 when b is 0. */
RT_FN int64_t rt_floormod_i64(int64_t a, int64_t b) {
    int64_t m = rt_mod_i64(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}

//: rt_div_i32 needs rt_div_i64
/* a / b towards zero. Division by 0 gives 0, INT32_MIN / -1 wraps. */
RT_FN int32_t rt_div_i32(int32_t a, int32_t b) {
    return (int32_t)rt_div_i64(a, b);
}

//: rt_mod_i32 needs rt_mod_i64
/* The remainder of rt_div_i32, with the sign of a; 0 when b is 0. */
RT_FN int32_t rt_mod_i32(int32_t a, int32_t b) {
    return (int32_t)rt_mod_i64(a, b);
}

//: end
#endif

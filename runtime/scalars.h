/* Scalars of every type: what numerics.h lacks of wrapping integers, saturating conversions,
 * doubles and rounding to 16 bits. Plain C whose bits are the same everywhere, valid in CUDA too.
 * A line that starts with "//:" opens a unit, as in numerics.h.
 */
#ifndef RT_SCALARS_H
#define RT_SCALARS_H

#include "runtime/numerics.h"

//: rt_round_bf16 needs rt_f32_to_bf16 rt_bf16_to_f32
/* The nearest bf16 number, ties to even. */
RT_FN float rt_round_bf16(float x) {
    return rt_bf16_to_f32(rt_f32_to_bf16(x));
}

//: rt_round_f16 needs rt_f32_to_f16 rt_f16_to_f32
/* The nearest f16 number, ties to even. */
RT_FN float rt_round_f16(float x) {
    return rt_f16_to_f32(rt_f32_to_f16(x));
}

//: rt_clamp
/* A position kept on an axis of n elements. */
RT_FN int64_t rt_clamp(int64_t position, int64_t n) {
    int64_t p = position < n ? position : n - 1;
    return p < 0 ? 0 : p;
}

//: rt_min_i64
/* The smaller one. */
RT_FN int64_t rt_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

//: rt_max_i64
/* The larger one. */
RT_FN int64_t rt_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

//: rt_min_u64
/* The smaller one. */
RT_FN uint64_t rt_min_u64(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

//: rt_max_u64
/* The larger one. */
RT_FN uint64_t rt_max_u64(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

//: rt_abs_i64 needs rt_sub_i64
/* |a|; INT64_MIN stays as it is. */
RT_FN int64_t rt_abs_i64(int64_t a) {
    return a < 0 ? rt_sub_i64(0, a) : a;
}

//: rt_div_u64
/* a / b; division by 0 gives 0. */
RT_FN uint64_t rt_div_u64(uint64_t a, uint64_t b) {
    return b ? a / b : 0;
}

//: rt_mod_u64
/* a % b; 0 when b is 0. */
RT_FN uint64_t rt_mod_u64(uint64_t a, uint64_t b) {
    return b ? a % b : 0;
}

//: rt_shl
/* a << n in a type of `width` bits: 0 when n is not below the width. */
RT_FN uint64_t rt_shl(uint64_t a, int64_t n, int64_t width) {
    return n >= 0 && n < width ? a << n : 0;
}

//: rt_shr
/* a >> n of an unsigned number of `width` bits: 0 when n is not below the width. */
RT_FN uint64_t rt_shr(uint64_t a, int64_t n, int64_t width) {
    return n >= 0 && n < width ? a >> n : 0;
}

//: rt_sar
/* a >> n of a signed number of `width` bits, rounding down: by width - 1 when n is not below it. */
RT_FN int64_t rt_sar(int64_t a, int64_t n, int64_t width) {
    int64_t by = n >= 0 && n < width ? n : width - 1;
    return a < 0 ? ~(~a >> by) : a >> by;
}

//: rt_f32_to_i8 needs rt_f32_to_i32
/* Towards zero; saturates; NaN gives 0. So do the next ones. */
RT_FN int8_t rt_f32_to_i8(float x) {
    int32_t i = rt_f32_to_i32(x);
    return (int8_t)(i < -128 ? -128 : i > 127 ? 127 : i);
}

//: rt_f32_to_i16 needs rt_f32_to_i32
RT_FN int16_t rt_f32_to_i16(float x) {
    int32_t i = rt_f32_to_i32(x);
    return (int16_t)(i < -32768 ? -32768 : i > 32767 ? 32767 : i);
}

//: rt_f32_to_u8 needs rt_f32_to_i32
RT_FN uint8_t rt_f32_to_u8(float x) {
    int32_t i = rt_f32_to_i32(x);
    return (uint8_t)(i < 0 ? 0 : i > 255 ? 255 : i);
}

//: rt_f32_to_u16 needs rt_f32_to_i32
RT_FN uint16_t rt_f32_to_u16(float x) {
    int32_t i = rt_f32_to_i32(x);
    return (uint16_t)(i < 0 ? 0 : i > 65535 ? 65535 : i);
}

//: rt_f32_to_u32 needs rt_f32_to_i64
RT_FN uint32_t rt_f32_to_u32(float x) {
    int64_t i = rt_f32_to_i64(x);
    return (uint32_t)(i < 0 ? 0 : i > 0xffffffff ? 0xffffffff : i);
}

//: rt_f64_to_u64
RT_FN uint64_t rt_f64_to_u64(double x) {
    if (!(x > 0))
        return 0;
    return x >= 0x1p64 ? ~(uint64_t)0 : (uint64_t)x;
}

//: rt_f32_to_u64 needs rt_f64_to_u64
RT_FN uint64_t rt_f32_to_u64(float x) {
    return rt_f64_to_u64(x);
}

//: rt_f64_to_i64
RT_FN int64_t rt_f64_to_i64(double x) {
    if (x != x)
        return 0;
    if (x >= 0x1p63)
        return INT64_MAX;
    return x <= -0x1p63 ? INT64_MIN : (int64_t)x;
}

//: rt_f64_to_i32 needs rt_f64_to_i64
RT_FN int32_t rt_f64_to_i32(double x) {
    int64_t i = rt_f64_to_i64(x);
    return (int32_t)(i < INT32_MIN ? INT32_MIN : i > INT32_MAX ? INT32_MAX : i);
}

//: rt_f64_to_i16 needs rt_f64_to_i64
RT_FN int16_t rt_f64_to_i16(double x) {
    int64_t i = rt_f64_to_i64(x);
    return (int16_t)(i < -32768 ? -32768 : i > 32767 ? 32767 : i);
}

//: rt_f64_to_i8 needs rt_f64_to_i64
RT_FN int8_t rt_f64_to_i8(double x) {
    int64_t i = rt_f64_to_i64(x);
    return (int8_t)(i < -128 ? -128 : i > 127 ? 127 : i);
}

//: rt_f64_to_u8 needs rt_f64_to_i64
RT_FN uint8_t rt_f64_to_u8(double x) {
    int64_t i = rt_f64_to_i64(x);
    return (uint8_t)(i < 0 ? 0 : i > 255 ? 255 : i);
}

//: rt_f64_to_u16 needs rt_f64_to_i64
RT_FN uint16_t rt_f64_to_u16(double x) {
    int64_t i = rt_f64_to_i64(x);
    return (uint16_t)(i < 0 ? 0 : i > 65535 ? 65535 : i);
}

//: rt_f64_to_u32 needs rt_f64_to_i64
RT_FN uint32_t rt_f64_to_u32(double x) {
    int64_t i = rt_f64_to_i64(x);
    return (uint32_t)(i < 0 ? 0 : i > 0xffffffff ? 0xffffffff : i);
}

//: rt_bits64
/* The bits of a double. */
RT_FN uint64_t rt_bits64(double x) {
#ifdef __CUDACC__
    return (uint64_t)__double_as_longlong(x);
#else
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
#endif
}

//: rt_max64 needs rt_bits64
/* The larger double. A NaN wins; -0 is below +0. */
RT_FN double rt_max64(double a, double b) {
    if (a != a || b != b)
        return a != a ? a : b;
    if (a == b)
        return rt_bits64(a) >> 63 ? b : a;
    return a > b ? a : b;
}

//: rt_min64 needs rt_bits64
/* The smaller double. A NaN wins; -0 is below +0. */
RT_FN double rt_min64(double a, double b) {
    if (a != a || b != b)
        return a != a ? a : b;
    if (a == b)
        return rt_bits64(a) >> 63 ? a : b;
    return a < b ? a : b;
}

//: rt_fold64
/* Adds 32 lanes of doubles in the order of rt_fold, and +0. */
RT_FN double rt_fold64(const double *lanes) {
    double s[32];
    for (int i = 0; i < 32; i++)
        s[i] = lanes[i];
    for (int apart = 16; apart > 0; apart /= 2)
        for (int i = 0; i < apart; i++)
            s[i] += s[i + apart];
    return s[0] + 0.0;
}

//: end
#endif

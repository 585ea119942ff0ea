/* Sums, dot products and elementwise functions over arrays; see kernels.h for what they promise.
 *
 * Most are one plain C body, compiled twice: as it is, and with AVX2 and FMA allowed, where a
 * compiler vectorises it over the lanes or elements. Dot products are written out for AVX-512.
 * A line that starts with "//:" opens a unit, as in numerics.h.
 */
#include "runtime/kernels.h"
#include "runtime/numerics.h"
#include "runtime/simd.h"

#include <string.h>

//: rt_fold
float rt_fold(const float lanes[32]) {
    float s[16];
    for (int i = 0; i < 16; i++)
        s[i] = lanes[i] + lanes[i + 16];
    for (int apart = 8; apart > 0; apart /= 2)
        for (int i = 0; i < apart; i++)
            s[i] += s[i + apart];
    return s[0] + 0.0f; /* no sum is -0 */
}

//: rt_lanes_add
void rt_lanes_add(float lanes[32], const float *x, size_t n, size_t start) {
    float s[32]; /* a copy that cannot overlap x */
    memcpy(s, lanes, sizeof s);
    size_t i = 0;
    for (; i < n && (start + i) % 32 != 0; i++)
        s[(start + i) % 32] += x[i];
    for (; n - i >= 32; i += 32)
        for (int lane = 0; lane < 32; lane++)
            s[lane] += x[i + lane];
    for (int lane = 0; i < n; i++, lane++)
        s[lane] += x[i];
    memcpy(lanes, s, sizeof s);
}

//: rt_sum needs rt_fold rt_lanes_add
float rt_sum(const float *x, size_t n) {
    float lanes[32] = {0};
    rt_lanes_add(lanes, x, n, 0);
    return rt_fold(lanes);
}

//: rt_lanes_fma needs rt_targets rt_simd_best rt_fma
RT_FN void lanes_fma(float lanes[32], const float *a, const float *b, size_t n, size_t start) {
    float s[32]; /* a copy that cannot overlap a and b */
    memcpy(s, lanes, sizeof s);
    size_t i = 0;
    for (; i < n && (start + i) % 32 != 0; i++)
        s[(start + i) % 32] = rt_fma(a[i], b[i], s[(start + i) % 32]);
    for (; n - i >= 32; i += 32)
        for (int lane = 0; lane < 32; lane++)
            s[lane] = rt_fma(a[i + lane], b[i + lane], s[lane]);
    for (int lane = 0; i < n; i++, lane++)
        s[lane] = rt_fma(a[i], b[i], s[lane]);
    memcpy(lanes, s, sizeof s);
}

#if RT_X86
RT_AVX2_FN static void lanes_fma_avx2(float lanes[32], const float *a, const float *b, size_t n,
                                      size_t start) {
    lanes_fma(lanes, a, b, n, start);
}
#endif

void rt_lanes_fma(float lanes[32], const float *a, const float *b, size_t n, size_t start) {
#if RT_X86
    if (rt_simd_best() >= RT_AVX2) {
        lanes_fma_avx2(lanes, a, b, n, start);
        return;
    }
#endif
    lanes_fma(lanes, a, b, n, start);
}

//: rt_dot_avx512 needs rt_targets
#if RT_X86
/* Tails are filled with zeros: with +0 at the end of the fold they change no bit. */
RT_AVX512_FN static float dot_avx512(const float *a, const float *b, size_t n) {
    __m512 s0 = _mm512_setzero_ps(), s1 = s0;
    size_t i = 0;
    for (; n - i >= 32; i += 32) {
        s0 = _mm512_fmadd_ps(_mm512_loadu_ps(a + i), _mm512_loadu_ps(b + i), s0);
        s1 = _mm512_fmadd_ps(_mm512_loadu_ps(a + i + 16), _mm512_loadu_ps(b + i + 16), s1);
    }
    uint32_t rest = ((uint32_t)1 << (n - i)) - 1;
    __mmask16 m0 = (__mmask16)rest, m1 = (__mmask16)(rest >> 16);
    if (m0 != 0)
        s0 =
            _mm512_fmadd_ps(_mm512_maskz_loadu_ps(m0, a + i), _mm512_maskz_loadu_ps(m0, b + i), s0);
    if (m1 != 0)
        s1 = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(m1, a + i + 16),
                             _mm512_maskz_loadu_ps(m1, b + i + 16), s1);
    s0 = _mm512_add_ps(s0, s1); /* 16 apart, then 8, 4, 2 and 1 */
    __m256 s = _mm256_add_ps(_mm512_castps512_ps256(s0), _mm512_extractf32x8_ps(s0, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    q = _mm_add_ss(q, _mm_movehdup_ps(q));
    return _mm_cvtss_f32(q) + 0.0f;
}
#endif

//: rt_dot needs rt_dot_avx512 rt_lanes_fma rt_fold
float rt_dot(const float *a, const float *b, size_t n) {
#if RT_X86
    if (rt_simd_best() >= RT_AVX512)
        return dot_avx512(a, b, n);
#endif
    float lanes[32] = {0};
    rt_lanes_fma(lanes, a, b, n, 0);
    return rt_fold(lanes);
}

//: rt_vec_fma needs rt_targets rt_simd_best rt_fma
RT_FN void vec_fma(float *acc, const float *a, const float *b, size_t n) {
    for (; n >= 16; n -= 16, acc += 16, a += 16, b += 16) {
        float s[16];
        for (int i = 0; i < 16; i++)
            s[i] = rt_fma(a[i], b[i], acc[i]);
        memcpy(acc, s, sizeof s);
    }
    for (size_t i = 0; i < n; i++)
        acc[i] = rt_fma(a[i], b[i], acc[i]);
}

#if RT_X86
RT_AVX2_FN static void vec_fma_avx2(float *acc, const float *a, const float *b, size_t n) {
    vec_fma(acc, a, b, n);
}
#endif

void rt_vec_fma(float *acc, const float *a, const float *b, size_t n) {
#if RT_X86
    if (rt_simd_best() >= RT_AVX2) {
        vec_fma_avx2(acc, a, b, n);
        return;
    }
#endif
    vec_fma(acc, a, b, n);
}

//: rt_vec_fma_s needs rt_targets rt_simd_best rt_fma
RT_FN void vec_fma_s(float *acc, float a, const float *b, size_t n) {
    for (; n >= 16; n -= 16, acc += 16, b += 16) {
        float s[16];
        for (int i = 0; i < 16; i++)
            s[i] = rt_fma(a, b[i], acc[i]);
        memcpy(acc, s, sizeof s);
    }
    for (size_t i = 0; i < n; i++)
        acc[i] = rt_fma(a, b[i], acc[i]);
}

#if RT_X86
RT_AVX2_FN static void vec_fma_s_avx2(float *acc, float a, const float *b, size_t n) {
    vec_fma_s(acc, a, b, n);
}
#endif

void rt_vec_fma_s(float *acc, float a, const float *b, size_t n) {
#if RT_X86
    if (rt_simd_best() >= RT_AVX2) {
        vec_fma_s_avx2(acc, a, b, n);
        return;
    }
#endif
    vec_fma_s(acc, a, b, n);
}

//: rt_map needs rt_targets rt_simd_best
/* RT_MAP(NAME, F) defines NAME(y, x, n): y[i] = F(x[i]), in blocks that a compiler vectorises where
 * F has no branches. */
#define RT_MAP_BODY(NAME, F)                                                                       \
    RT_FN void NAME##_body(float *y, const float *x, size_t n) {                                   \
        for (; n >= 16; n -= 16, y += 16, x += 16) {                                               \
            float block[16];                                                                       \
            for (int i = 0; i < 16; i++)                                                           \
                block[i] = F(x[i]);                                                                \
            memcpy(y, block, sizeof block);                                                        \
        }                                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = F(x[i]);                                                                        \
    }
#if RT_X86
#define RT_MAP(NAME, F)                                                                            \
    RT_MAP_BODY(NAME, F)                                                                           \
    RT_AVX2_FN static void NAME##_avx2(float *y, const float *x, size_t n) {                       \
        NAME##_body(y, x, n);                                                                      \
    }                                                                                              \
    void NAME(float *y, const float *x, size_t n) {                                                \
        if (rt_simd_best() >= RT_AVX2)                                                             \
            NAME##_avx2(y, x, n);                                                                  \
        else                                                                                       \
            NAME##_body(y, x, n);                                                                  \
    }
#else
#define RT_MAP(NAME, F)                                                                            \
    RT_MAP_BODY(NAME, F)                                                                           \
    void NAME(float *y, const float *x, size_t n) {                                                \
        NAME##_body(y, x, n);                                                                      \
    }
#endif

//: rt_exp_n needs rt_map rt_exp
RT_MAP(rt_exp_n, rt_exp)

//: rt_log_n needs rt_map rt_log
RT_MAP(rt_log_n, rt_log)

//: rt_tanh_n needs rt_map rt_tanh
RT_MAP(rt_tanh_n, rt_tanh)

//: rt_near_blocks needs rt_is_near
/* The length of the next block of sines or cosines, and whether all its arguments are <= 2^30. */
static size_t near_block(const float *x, size_t n, int *near) {
    size_t length = n < 256 ? n : 256;
    *near = 1;
    for (size_t i = 0; i < length; i++)
        *near &= rt_is_near(x[i]);
    return length;
}

//: rt_sin_near_n needs rt_map rt_sin_near
RT_MAP(rt_sin_near_n, rt_sin_near)

//: rt_sin_n needs rt_sin_near_n rt_sin rt_near_blocks
void rt_sin_n(float *y, const float *x, size_t n) {
    int near;
    for (size_t length; n > 0; n -= length, y += length, x += length) {
        length = near_block(x, n, &near);
        if (near)
            rt_sin_near_n(y, x, length);
        else
            for (size_t i = 0; i < length; i++)
                y[i] = rt_sin(x[i]);
    }
}

//: rt_cos_near_n needs rt_map rt_cos_near
RT_MAP(rt_cos_near_n, rt_cos_near)

//: rt_cos_n needs rt_cos_near_n rt_cos rt_near_blocks
void rt_cos_n(float *y, const float *x, size_t n) {
    int near;
    for (size_t length; n > 0; n -= length, y += length, x += length) {
        length = near_block(x, n, &near);
        if (near)
            rt_cos_near_n(y, x, length);
        else
            for (size_t i = 0; i < length; i++)
                y[i] = rt_cos(x[i]);
    }
}

/* The product of bf16 rows in the order of pairs, rt_matmul_nt_bf16 and rt_dot_bf16; see kernels.h.
 *
 * AVX512-BF16 has the instruction whose order this is; AVX2 does the same with the processor's
 * flush modes, and plain C spells out what flushing means.
 * A line that starts with "//:" opens a unit, as in numerics.h.
 */
#include "runtime/tile.h"
#include "runtime/numerics.h"

#include <string.h>

//: rt_pairs_portable needs rt_tile_fold rt_fma rt_bits rt_from_bits rt_bf16_to_f32
static float flushed(float x) {
    uint32_t u = rt_bits(x);
    return rt_from_bits(u & 0x7f800000u ? u : u & 0x80000000u);
}

/* fma(a, b, c) of bf16 values a and b, where subnormal operands and results are zeros of their
 * sign. A result is tiny when it is below 2^-126 after rounding as if exponents had no end. */
static float fma_flushed(float a, float b, float c) {
    a = flushed(a);
    b = flushed(b);
    c = flushed(c);
    float r = rt_fma(a, b, c);
    if ((rt_bits(r) & 0x7fffffffu) != 0x00800000u)
        return flushed(r);
    /* Just 2^-126: was it rounded up to that from a tiny number? Where the product and c cancel to
     * so little, both are below 2^-100, so scaling them by 2^64 is exact. */
    float scaled = rt_fma(a * 0x1p64f, b, c * 0x1p64f);
    return (rt_bits(scaled) & 0x7fffffffu) < 0x20800000u ? flushed(r * 0.5f) : r;
}

static void pairs_portable(const RtTile *t) {
    float lanes[RT_TILE_M][RT_TILE_N][32] = {{{0}}};
    for (int i = 0; i < t->m; i++)
        for (int j = 0; j < t->n; j++)
            for (size_t c = 0; c < t->k; c += 2) {
                const uint16_t *x = t->x[i], *w = t->w[j];
                float *s = &lanes[i][j][c / 2 % 32];
                if (c + 1 < t->k)
                    *s = fma_flushed(rt_bf16_to_f32(x[c + 1]), rt_bf16_to_f32(w[c + 1]), *s);
                *s = fma_flushed(rt_bf16_to_f32(x[c]), rt_bf16_to_f32(w[c]), *s);
            }
    rt_tile_fold(t, lanes);
}

//: rt_pairs_avx2 needs rt_targets rt_tile_fold
#if RT_X86
/* One chunk of 32 pairs for a row of x and the rows of w, all at offset c. */
RT_AVX2_FN RT_INLINED void pairs_chunk_avx2(const uint16_t *x, const uint16_t *const *w,
                                            float lanes[RT_TILE_N][32]) {
    const __m256i upper = _mm256_set1_epi32((int)0xffff0000u);
    for (int v = 0; v < 4; v++) {
        __m256i xs = _mm256_loadu_si256((const __m256i *)(const void *)(x + 16 * v));
        __m256 odd = _mm256_castsi256_ps(_mm256_and_si256(xs, upper));
        __m256 even = _mm256_castsi256_ps(_mm256_slli_epi32(xs, 16));
        RT_UNROLL
        for (int j = 0; j < RT_TILE_N; j++) {
            __m256i ws = _mm256_loadu_si256((const __m256i *)(const void *)(w[j] + 16 * v));
            __m256 s = _mm256_loadu_ps(lanes[j] + 8 * v);
            s = _mm256_fmadd_ps(odd, _mm256_castsi256_ps(_mm256_and_si256(ws, upper)), s);
            s = _mm256_fmadd_ps(even, _mm256_castsi256_ps(_mm256_slli_epi32(ws, 16)), s);
            _mm256_storeu_ps(lanes[j] + 8 * v, s);
        }
    }
}

/* The lanes of a row of x; run with FTZ and DAZ set. Not inlined: the compiler does not know that
 * arithmetic depends on those, and must not move it to where they are not set. */
RT_AVX2_FN __attribute__((noinline)) static void pairs_row_avx2(const RtTile *t, const uint16_t *x,
                                                                float lanes[RT_TILE_N][32]) {
    const uint16_t *w[RT_TILE_N];
    uint16_t x_tail[64] = {0}, w_tail[RT_TILE_N][64] = {{0}};
    size_t c = 0;
    for (; t->k - c >= 64; c += 64) {
        for (int j = 0; j < RT_TILE_N; j++)
            w[j] = (const uint16_t *)t->w[j] + c;
        pairs_chunk_avx2(x + c, w, lanes);
    }
    if (c == t->k)
        return;
    memcpy(x_tail, x + c, (t->k - c) * sizeof *x);
    for (int j = 0; j < RT_TILE_N; j++) {
        memcpy(w_tail[j], (const uint16_t *)t->w[j] + c, (t->k - c) * sizeof *x);
        w[j] = w_tail[j];
    }
    pairs_chunk_avx2(x_tail, w, lanes);
}

RT_AVX2_FN static void pairs_avx2(const RtTile *t) {
    float lanes[RT_TILE_M][RT_TILE_N][32] = {{{0}}};
    unsigned mode = _mm_getcsr();
    _mm_setcsr(mode | 0x8040); /* flush to zero, denormals are zero */
    for (int i = 0; i < t->m; i++)
        pairs_row_avx2(t, t->x[i], lanes[i]);
    _mm_setcsr(mode);
    rt_tile_fold(t, lanes);
}
#endif

//: rt_pairs_bf16 needs rt_fold4_avx512
#if RT_X86
RT_BF16_FN RT_INLINED __m512bh load_pairs(__mmask32 mask, const uint16_t *p) {
    return (__m512bh)_mm512_maskz_loadu_epi16(mask, p);
}

/* VDPBF16PS adds the odd product, then the even one, and flushes whatever the modes are. */
RT_BF16_FN RT_INLINED void pairs_rows_bf16(const RtTile *t, int rows) {
    __m512 s[RT_TILE_M][RT_TILE_N][2];
    RT_UNROLL
    for (int i = 0; i < rows; i++) {
        RT_UNROLL
        for (int j = 0; j < RT_TILE_N; j++)
            s[i][j][0] = s[i][j][1] = _mm512_setzero_ps();
    }
    for (size_t c = 0; c < t->k; c += 64) {
        uint64_t all = t->k - c >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << (t->k - c)) - 1;
        RT_UNROLL
        for (int half = 0; half < 2; half++) {
            __mmask32 mask = (__mmask32)(all >> 32 * half);
            __m512bh x[RT_TILE_M];
            RT_UNROLL
            for (int i = 0; i < rows; i++)
                x[i] = load_pairs(mask, (const uint16_t *)t->x[i] + c + 32 * half);
            RT_UNROLL
            for (int j = 0; j < RT_TILE_N; j++) {
                __m512bh w = load_pairs(mask, (const uint16_t *)t->w[j] + c + 32 * half);
                RT_UNROLL
                for (int i = 0; i < rows; i++)
                    s[i][j][half] = _mm512_dpbf16_ps(s[i][j][half], x[i], w);
            }
        }
    }
    RT_UNROLL
    for (int i = 0; i < rows; i++)
        rt_fold4_avx512(s[i], t->y + (size_t)i * t->ldy, t->n);
}

RT_BF16_FN static void pairs_bf16(const RtTile *t) {
    if (t->m == 1)
        pairs_rows_bf16(t, 1);
    else if (t->m == 2)
        pairs_rows_bf16(t, 2);
    else
        pairs_rows_bf16(t, 3);
}
#endif

//: rt_matmul_nt_bf16 needs RtPool rt_run_panels rt_pairs_portable rt_pairs_avx2 rt_pairs_bf16
void rt_matmul_nt_bf16(RtPool *pool, size_t m, size_t n, size_t k, const uint16_t *x, size_t ldx,
                       const uint16_t *w, size_t ldw, float *y, size_t ldy) {
    RtMatmul job = {.tile = pairs_portable, .m = m, .n = n, .k = k, .y = y, .ldy = ldy};
    job.x = (const char *)x;
    job.x_row = ldx * sizeof *x;
    job.w = (const char *)w;
    job.w_row = ldw * sizeof *w;
#if RT_X86
    RtSimd simd = rt_pool_simd(pool);
    if (simd >= RT_AVX2)
        job.tile = simd == RT_AVX512_BF16 ? pairs_bf16 : pairs_avx2;
#endif
    rt_run_panels(pool, &job); /* allocates nothing, so it cannot fail */
}

//: rt_dot_bf16 needs rt_matmul_nt_bf16
float rt_dot_bf16(const uint16_t *a, const uint16_t *b, size_t n) {
    float y;
    rt_matmul_nt_bf16(NULL, 1, 1, n, a, n, b, n, &y, 1);
    return y;
}

/* The product of rows and columns, rt_matmul_nn; see kernels.h for what it promises.
 *
 * w's rows run along the outputs. A tile of outputs goes through the lanes one after another, in
 * the order in which the fold needs them, so only 6 partial sums are alive at a time. A line that
 * starts with "//:" opens a unit, as in numerics.h.
 */
#include "runtime/kernels.h"
#include "runtime/numerics.h"
#include "runtime/simd.h"

#include <string.h>

//: RtTileNn
/* A tile of rt_matmul_nn: up to 4 rows of x by a block of columns of w. */
typedef struct {
    const float *x; /* the first row of x */
    size_t ldx;     /* elements from row to row */
    const float *w; /* the first column of the first row of w */
    size_t ldw;     /* elements from row to row */
    size_t k;       /* length of the sums */
    int n;          /* columns that exist */
    float *y;       /* the first output */
    size_t ldy;     /* elements from row to row */
} RtTileNn;

/* The order in which a fold meets the lanes: after lane number i, counted from 0, as many pairs of
 * sums are added as i has ones at its end. */
static const unsigned char lane_order[32] = {0,  16, 8,  24, 4,  20, 12, 28, 2,  18, 10,
                                             26, 6,  22, 14, 30, 1,  17, 9,  25, 5,  21,
                                             13, 29, 3,  19, 11, 27, 7,  23, 15, 31};

//: rt_nn_portable needs RtTileNn rt_fma
static void nn_portable(const RtTileNn *t, int rows) {
    for (int r = 0; r < rows; r++) {
        const float *x = t->x + (size_t)r * t->ldx;
        float sums[6][16];
        int depth = 0;
        for (unsigned i = 0; i < 32; i++) {
            float s[16] = {0};
            for (size_t c = lane_order[i]; c < t->k; c += 32)
                for (int j = 0; j < t->n; j++)
                    s[j] = rt_fma(x[c], t->w[c * t->ldw + (size_t)j], s[j]);
            for (unsigned ones = i; ones & 1; ones >>= 1) {
                depth--;
                for (int j = 0; j < 16; j++)
                    s[j] = sums[depth][j] + s[j];
            }
            memcpy(sums[depth++], s, sizeof s);
        }
        for (int j = 0; j < t->n; j++)
            t->y[(size_t)r * t->ldy + (size_t)j] = sums[0][j] + 0.0f;
    }
}

//: rt_nn_avx2 needs rt_targets RtTileNn
#if RT_X86
/* Adds lane number i (see lane_order) to the sums that wait for it, of which there are `depth`;
 * returns how many wait then. */
RT_AVX2_FN RT_INLINED int settle_avx2(__m256 s[4][2], __m256 sums[6][4][2], int depth, unsigned i,
                                      int rows) {
    for (unsigned ones = i; ones & 1; ones >>= 1) {
        depth--;
        RT_UNROLL
        for (int r = 0; r < rows; r++) {
            RT_UNROLL
            for (int v = 0; v < 2; v++)
                s[r][v] = _mm256_add_ps(sums[depth][r][v], s[r][v]);
        }
    }
    RT_UNROLL
    for (int r = 0; r < rows; r++) {
        RT_UNROLL
        for (int v = 0; v < 2; v++)
            sums[depth][r][v] = s[r][v];
    }
    return depth + 1;
}

RT_AVX2_FN RT_INLINED void nn_rows_avx2(const RtTileNn *t, int rows) {
    __m256 sums[6][4][2], s[4][2];
    __m256i mask[2];
    for (int v = 0; v < 2; v++)
        mask[v] = _mm256_cmpgt_epi32(_mm256_set1_epi32(t->n - 8 * v),
                                     _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    int depth = 0;
    for (unsigned i = 0; i < 32; i++) {
        RT_UNROLL
        for (int r = 0; r < rows; r++)
            s[r][0] = s[r][1] = _mm256_setzero_ps();
        for (size_t c = lane_order[i]; c < t->k; c += 32) {
            __m256 w0 = _mm256_maskload_ps(t->w + c * t->ldw, mask[0]);
            __m256 w1 = _mm256_maskload_ps(t->w + c * t->ldw + 8, mask[1]);
            RT_UNROLL
            for (int r = 0; r < rows; r++) {
                __m256 x = _mm256_set1_ps(t->x[(size_t)r * t->ldx + c]);
                s[r][0] = _mm256_fmadd_ps(x, w0, s[r][0]);
                s[r][1] = _mm256_fmadd_ps(x, w1, s[r][1]);
            }
        }
        depth = settle_avx2(s, sums, depth, i, rows);
    }
    RT_UNROLL
    for (int r = 0; r < rows; r++) {
        RT_UNROLL
        for (int v = 0; v < 2; v++)
            _mm256_maskstore_ps(t->y + (size_t)r * t->ldy + 8 * v, mask[v],
                                _mm256_add_ps(sums[0][r][v], _mm256_setzero_ps()));
    }
}

RT_AVX2_FN static void nn_avx2(const RtTileNn *t, int rows) {
    if (rows == 4) {
        nn_rows_avx2(t, 4);
        return;
    }
    RtTileNn one = *t;
    for (; rows > 0; rows--, one.x += t->ldx, one.y += t->ldy)
        nn_rows_avx2(&one, 1);
}
#endif

//: rt_nn_avx512 needs rt_targets RtTileNn
#if RT_X86
/* Adds lane number i (see lane_order) to the sums that wait for it, of which there are `depth`;
 * returns how many wait then. */
RT_AVX512_FN RT_INLINED int settle_avx512(__m512 s[4][4], __m512 sums[6][4][4], int depth,
                                          unsigned i, int rows) {
    for (unsigned ones = i; ones & 1; ones >>= 1) {
        depth--;
        RT_UNROLL
        for (int r = 0; r < rows; r++) {
            RT_UNROLL
            for (int v = 0; v < 4; v++)
                s[r][v] = _mm512_add_ps(sums[depth][r][v], s[r][v]);
        }
    }
    RT_UNROLL
    for (int r = 0; r < rows; r++) {
        RT_UNROLL
        for (int v = 0; v < 4; v++)
            sums[depth][r][v] = s[r][v];
    }
    return depth + 1;
}

RT_AVX512_FN RT_INLINED void nn_rows_avx512(const RtTileNn *t, int rows) {
    __m512 sums[6][4][4], s[4][4], w[4];
    __mmask16 mask[4];
    for (int v = 0; v < 4; v++)
        mask[v] = (__mmask16)(~(uint64_t)0 >> (64 - t->n) >> 16 * v);
    int depth = 0;
    for (unsigned i = 0; i < 32; i++) {
        RT_UNROLL
        for (int r = 0; r < rows; r++) {
            RT_UNROLL
            for (int v = 0; v < 4; v++)
                s[r][v] = _mm512_setzero_ps();
        }
        for (size_t c = lane_order[i]; c < t->k; c += 32) {
            RT_UNROLL
            for (int v = 0; v < 4; v++)
                w[v] = _mm512_maskz_loadu_ps(mask[v], t->w + c * t->ldw + 16 * v);
            RT_UNROLL
            for (int r = 0; r < rows; r++) {
                __m512 x = _mm512_set1_ps(t->x[(size_t)r * t->ldx + c]);
                RT_UNROLL
                for (int v = 0; v < 4; v++)
                    s[r][v] = _mm512_fmadd_ps(x, w[v], s[r][v]);
            }
        }
        depth = settle_avx512(s, sums, depth, i, rows);
    }
    RT_UNROLL
    for (int r = 0; r < rows; r++) {
        RT_UNROLL
        for (int v = 0; v < 4; v++)
            _mm512_mask_storeu_ps(t->y + (size_t)r * t->ldy + 16 * v, mask[v],
                                  _mm512_add_ps(sums[0][r][v], _mm512_setzero_ps()));
    }
}

RT_AVX512_FN static void nn_avx512(const RtTileNn *t, int rows) {
    if (rows == 4) {
        nn_rows_avx512(t, 4);
        return;
    }
    RtTileNn one = *t;
    for (; rows > 0; rows--, one.x += t->ldx, one.y += t->ldy)
        nn_rows_avx512(&one, 1);
}
#endif

//: rt_matmul_nn needs RtPool rt_nn_portable rt_nn_avx2 rt_nn_avx512
/* A product, cut into tiles. */
typedef struct {
    void (*tile)(const RtTileNn *, int rows); /* the kernel */
    RtTileNn all;                             /* the whole as one tile, without n */
    size_t m, n;                              /* extents */
    size_t width, across;                     /* columns of a tile; tiles in a row of tiles */
} MatmulNn;

static void nn_task(void *ctx, size_t task) {
    const MatmulNn *job = ctx;
    size_t i = task / job->across * 4, j = task % job->across * job->width;
    RtTileNn t = job->all;
    t.x += i * t.ldx;
    t.w += j;
    t.y += i * t.ldy + j;
    t.n = (int)(job->n - j < job->width ? job->n - j : job->width);
    job->tile(&t, job->m - i < 4 ? (int)(job->m - i) : 4);
}

void rt_matmul_nn(RtPool *pool, size_t m, size_t n, size_t k, const float *x, size_t ldx,
                  const float *w, size_t ldw, float *y, size_t ldy) {
    if (m == 0 || n == 0)
        return;
    MatmulNn job = {.tile = nn_portable, .m = m, .n = n, .width = 16};
    job.all = (RtTileNn){.x = x, .ldx = ldx, .w = w, .ldw = ldw, .k = k, .y = y, .ldy = ldy};
#if RT_X86
    RtSimd simd = rt_pool_simd(pool);
    if (simd >= RT_AVX512) {
        job.tile = nn_avx512;
        job.width = 64;
    } else if (simd >= RT_AVX2) {
        job.tile = nn_avx2;
    }
#endif
    job.across = (n - 1) / job.width + 1;
    if (m * n < RT_SMALL_WORK && m * n * k < RT_SMALL_WORK)
        pool = NULL;
    rt_pool_run(pool, nn_task, &job, ((m - 1) / 4 + 1) * job.across);
}

/* The product of f32 rows, rt_matmul_nt; see kernels.h for what it promises.
 *
 * Both operands have their rows along the sum. A tile of up to 3 rows of x by 4 rows of w keeps the
 * 32 lanes of each of its outputs in registers, so that a loaded vector is used three or four
 * times. Work is cut into panels of w's rows, small enough to stay in cache while all rows of x
 * pass. Tails of a sum are filled with zeros: with +0 at the end of the fold they change no bit.
 * A line that starts with "//:" opens a unit, as in numerics.h.
 */
#include "runtime/tile.h"
#include "runtime/numerics.h"

#include <stdlib.h>

//: rt_tile_portable needs rt_tile_fold rt_fma
static void tile_portable(const RtTile *t) {
    float lanes[RT_TILE_M][RT_TILE_N][32] = {{{0}}};
    for (int i = 0; i < t->m; i++)
        for (int j = 0; j < t->n; j++) {
            const float *x = t->x[i], *w = t->w[j];
            float *s = lanes[i][j];
            size_t c = 0;
            for (; t->k - c >= 32; c += 32)
                for (int lane = 0; lane < 32; lane++)
                    s[lane] = rt_fma(x[c + lane], w[c + lane], s[lane]);
            for (int lane = 0; c < t->k; c++, lane++)
                s[lane] = rt_fma(x[c], w[c], s[lane]);
        }
    rt_tile_fold(t, lanes);
}

//: rt_tile_avx2 needs rt_targets rt_tile_fold
#if RT_X86
/* The first `count` of 8 elements, the others 0; 8 and more are all. */
RT_AVX2_FN RT_INLINED __m256 load_avx2(const float *p, int whole, ptrdiff_t count) {
    const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    if (whole)
        return _mm256_loadu_ps(p);
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), number));
}

/* Elements [c, c + 8 vecs) of the sums s[rows][cols][vecs], of which `rest` exist. */
RT_AVX2_FN RT_INLINED void chunk_avx2(const float *const *x, const float *const *w, size_t c,
                                      int whole, ptrdiff_t rest, int vecs, int rows, int cols,
                                      __m256 *s) {
    RT_UNROLL
    for (int v = 0; v < vecs; v++) {
        if (!whole && rest <= 8 * v)
            return;
        RT_UNROLL
        for (int j = 0; j < cols; j++) {
            __m256 wj = load_avx2(w[j] + c + 8 * v, whole, rest - 8 * v);
            RT_UNROLL
            for (int i = 0; i < rows; i++) {
                __m256 xi = load_avx2(x[i] + c + 8 * v, whole, rest - 8 * v);
                __m256 *sum = &s[(i * cols + j) * vecs + v];
                *sum = _mm256_fmadd_ps(wj, xi, *sum);
            }
        }
    }
}

/* Lanes [8 first, 8 (first + vecs)) of rows x cols outputs, of which the caller makes constants. */
RT_AVX2_FN RT_INLINED void lanes_avx2(const float *const *x, const float *const *w, size_t k,
                                      int first, int vecs, int rows, int cols, float *lanes) {
    __m256 s[12];
    RT_UNROLL
    for (int i = 0; i < rows * cols * vecs; i++)
        s[i] = _mm256_setzero_ps();
    size_t c = 0, at = 8 * (size_t)first;
    for (; k - c >= 32; c += 32)
        chunk_avx2(x, w, c + at, 1, 0, vecs, rows, cols, s);
    chunk_avx2(x, w, c + at, 0, (ptrdiff_t)(k - c) - (ptrdiff_t)at, vecs, rows, cols, s);
    RT_UNROLL
    for (int i = 0; i < rows * cols * vecs; i++) {
        int output = i / (cols * vecs) * RT_TILE_N + i / vecs % cols;
        _mm256_storeu_ps(lanes + output * 32 + at + 8 * (i % vecs), s[i]);
    }
}

/* 16 registers: one row takes all lanes of two outputs, more rows a quarter of them at a time. */
RT_AVX2_FN static void tile_avx2(const RtTile *t) {
    float lanes[RT_TILE_M][RT_TILE_N][32];
    const float *x[RT_TILE_M] = {t->x[0], t->x[1], t->x[2]};
    const float *w[RT_TILE_N] = {t->w[0], t->w[1], t->w[2], t->w[3]};
    if (t->m == 1) {
        lanes_avx2(x, w, t->k, 0, 4, 1, 2, lanes[0][0]);
        lanes_avx2(x, w + 2, t->k, 0, 4, 1, 2, lanes[0][2]);
    } else {
        for (int quarter = 0; quarter < 4; quarter++)
            lanes_avx2(x, w, t->k, quarter, 1, 3, 4, lanes[0][0]);
    }
    rt_tile_fold(t, lanes);
}
#endif

//: rt_tile_avx512 needs rt_fold4_avx512
#if RT_X86
RT_AVX512_FN RT_INLINED void tile_rows_avx512(const RtTile *t, int rows) {
    __m512 s[RT_TILE_M][RT_TILE_N][2];
    RT_UNROLL
    for (int i = 0; i < rows; i++) {
        RT_UNROLL
        for (int j = 0; j < RT_TILE_N; j++)
            s[i][j][0] = s[i][j][1] = _mm512_setzero_ps();
    }
    for (size_t c = 0; c < t->k; c += 32) {
        uint32_t all = t->k - c >= 32 ? ~(uint32_t)0 : ((uint32_t)1 << (t->k - c)) - 1;
        RT_UNROLL
        for (int half = 0; half < 2; half++) {
            __mmask16 mask = (__mmask16)(all >> 16 * half);
            __m512 x[RT_TILE_M];
            RT_UNROLL
            for (int i = 0; i < rows; i++)
                x[i] = _mm512_maskz_loadu_ps(mask, (const float *)t->x[i] + c + 16 * half);
            RT_UNROLL
            for (int j = 0; j < RT_TILE_N; j++) {
                __m512 w = _mm512_maskz_loadu_ps(mask, (const float *)t->w[j] + c + 16 * half);
                RT_UNROLL
                for (int i = 0; i < rows; i++)
                    s[i][j][half] = _mm512_fmadd_ps(w, x[i], s[i][j][half]);
            }
        }
    }
    RT_UNROLL
    for (int i = 0; i < rows; i++)
        rt_fold4_avx512(s[i], t->y + (size_t)i * t->ldy, t->n);
}

RT_AVX512_FN static void tile_avx512(const RtTile *t) {
    if (t->m == 1)
        tile_rows_avx512(t, 1);
    else if (t->m == 2)
        tile_rows_avx512(t, 2);
    else
        tile_rows_avx512(t, 3);
}
#endif

//: rt_run_panels needs RtMatmul RtPool
enum {
    PANEL_BYTES = 32768, /* of w, to stay in the first cache beside a tile's rows of x */
    PANEL_ROWS = 64,     /* at most */
};

static void panel_unit(const RtMatmul *job, size_t unit, char *scratch) {
    size_t n0 = unit / job->blocks * job->panel, m0 = unit % job->blocks * job->block;
    size_t n1 = job->n - n0 < job->panel ? job->n : n0 + job->panel;
    size_t m1 = job->m - m0 < job->block ? job->m : m0 + job->block;
    const char *w = job->w ? job->w + n0 * job->w_row : scratch;
    if (job->w == NULL)
        for (size_t j = n0; j < n1; j++)
            job->rows.load(job->rows.ctx, j, (float *)(void *)(scratch + (j - n0) * job->w_row));
    for (size_t i = m0; i < m1; i += RT_TILE_M)
        for (size_t j = n0; j < n1; j += RT_TILE_N) {
            RtTile t = {.k = job->k, .y = job->y + i * job->ldy + j, .ldy = job->ldy};
            t.m = m1 - i < RT_TILE_M ? (int)(m1 - i) : RT_TILE_M;
            t.n = n1 - j < RT_TILE_N ? (int)(n1 - j) : RT_TILE_N;
            for (int a = 0; a < RT_TILE_M; a++)
                t.x[a] = job->x + (i + (size_t)(a < t.m ? a : t.m - 1)) * job->x_row;
            for (int b = 0; b < RT_TILE_N; b++)
                t.w[b] = w + (j - n0 + (size_t)(b < t.n ? b : t.n - 1)) * job->w_row;
            job->tile(&t);
        }
}

static void panel_task(void *ctx, size_t task) {
    RtMatmul *job = ctx;
    char *scratch = job->scratch ? job->scratch + task * job->panel * job->w_row : NULL;
    size_t unit, units = job->panels * job->blocks;
    while ((unit = atomic_fetch_add(&job->next, 1)) < units)
        panel_unit(job, unit, scratch);
}

bool rt_run_panels(RtPool *pool, RtMatmul *job) {
    if (job->m == 0 || job->n == 0)
        return true;
    if (job->m * job->n < RT_SMALL_WORK && job->m * job->n * job->k < RT_SMALL_WORK)
        pool = NULL;
    size_t threads = (size_t)rt_pool_threads(pool);
    size_t fits = PANEL_BYTES / (job->w_row + 1);
    job->panel = fits >= PANEL_ROWS  ? PANEL_ROWS
                 : fits <= RT_TILE_N ? RT_TILE_N
                                     : fits / RT_TILE_N * RT_TILE_N;
    job->panels = (job->n - 1) / job->panel + 1;
    job->block = job->m;
    if (job->w && job->panels < 4 * threads && threads > 1) {
        size_t parts = (4 * threads - 1) / job->panels + 1;
        job->block = ((job->m - 1) / parts / RT_TILE_M + 1) * RT_TILE_M;
    }
    job->blocks = (job->m - 1) / job->block + 1;
    if (job->w == NULL) {
        size_t rows = threads * job->panel;
        if (job->w_row > SIZE_MAX / rows)
            return false;
        job->scratch = aligned_alloc(64, rows * job->w_row);
        if (job->scratch == NULL)
            return false;
    }
    atomic_init(&job->next, 0);
    rt_pool_run(pool, panel_task, job, threads);
    free(job->scratch);
    return true;
}

//: rt_matmul_nt needs RtPool rt_run_panels rt_tile_portable rt_tile_avx2 rt_tile_avx512
bool rt_matmul_nt(RtPool *pool, size_t m, size_t n, size_t k, const float *x, size_t ldx, RtRows w,
                  float *y, size_t ldy) {
    RtMatmul job = {.tile = tile_portable, .m = m, .n = n, .k = k, .rows = w, .y = y, .ldy = ldy};
    job.x = (const char *)x;
    job.x_row = ldx * sizeof *x;
    job.w = (const char *)w.data;
    job.w_row = w.data ? w.stride * sizeof *x : (k / 16 + 1) * 64;
#if RT_X86
    RtSimd simd = rt_pool_simd(pool);
    if (simd >= RT_AVX2)
        job.tile = simd >= RT_AVX512 ? tile_avx512 : tile_avx2;
#endif
    return rt_run_panels(pool, &job);
}

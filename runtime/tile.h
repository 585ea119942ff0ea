/* What the products of rows (matmul.c, matmul_bf16.c) share: tiles of outputs, and how a product is
 * cut into them.
 * A line that starts with "//:" opens a unit, as in numerics.h.
 */
#ifndef RT_TILE_H
#define RT_TILE_H

#include "runtime/kernels.h"
#include "runtime/simd.h"
#include <stdatomic.h>

//: RtTile
enum {
    RT_TILE_M = 3, /* rows of x in a tile */
    RT_TILE_N = 4, /* rows of w in a tile */
};

/* A tile of rt_matmul_nt. Where a matrix ends, its last row is repeated, and not stored. */
typedef struct {
    const void *x[RT_TILE_M]; /* rows of x, f32 or bf16 */
    const void *w[RT_TILE_N]; /* rows of w, of the same kind */
    size_t k;                 /* length of the sums */
    int m, n;                 /* rows that exist: 1 to RT_TILE_M, 1 to RT_TILE_N */
    float *y;                 /* the first output */
    size_t ldy;               /* elements from one row of outputs to the next */
} RtTile;

//: rt_tile_fold needs RtTile rt_fold
/* Writes the outputs whose lanes are given, in plain C. */
static inline void rt_tile_fold(const RtTile *t, float lanes[RT_TILE_M][RT_TILE_N][32]) {
    for (int i = 0; i < t->m; i++)
        for (int j = 0; j < t->n; j++)
            t->y[(size_t)i * t->ldy + (size_t)j] = rt_fold(lanes[i][j]);
}

//: rt_fold4_avx512 needs rt_targets RtTile
#if RT_X86
/* Folds the lanes of four outputs together and stores n of them. */
RT_AVX512_FN RT_INLINED void rt_fold4_avx512(__m512 s[RT_TILE_N][2], float *y, int n) {
    __m512 a = _mm512_add_ps(s[0][0], s[0][1]), b = _mm512_add_ps(s[1][0], s[1][1]);
    __m512 c = _mm512_add_ps(s[2][0], s[2][1]), d = _mm512_add_ps(s[3][0], s[3][1]);
    /* 8 apart: a and b together, c and d together */
    a = _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    c = _mm512_add_ps(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    /* 4 apart: all four, each in a quarter of the register; then 2 and 1 apart */
    a = _mm512_add_ps(_mm512_shuffle_f32x4(a, c, 0x88), _mm512_shuffle_f32x4(a, c, 0xdd));
    a = _mm512_add_ps(a, _mm512_permute_ps(a, 0x4e));
    a = _mm512_add_ps(a, _mm512_permute_ps(a, 0xb1));
    a = _mm512_maskz_compress_ps(0x1111, a);
    __m128 four = _mm_add_ps(_mm512_castps512_ps128(a), _mm_setzero_ps());
    _mm_mask_storeu_ps(y, (__mmask8)((1 << n) - 1), four);
}
#endif

//: RtMatmul needs RtTile RtRows
/* A product, cut into units: panels of w's rows by blocks of x's rows. */
typedef struct {
    void (*tile)(const RtTile *); /* the kernel */
    size_t m, n, k;               /* extents of x's rows, w's rows and the sums */
    const char *x;                /* x */
    size_t x_row;                 /* bytes from row to row */
    const char *w;                /* w, or NULL where rows are loaded */
    size_t w_row;                 /* bytes from row to row */
    RtRows rows;                  /* the loader */
    float *y;                     /* the outputs */
    size_t ldy;                   /* elements from row to row */
    size_t panel, panels;         /* rows of a panel; number of panels */
    size_t block, blocks;         /* rows of a block of x; number of blocks */
    char *scratch;                /* a loaded panel for each task, or NULL */
    atomic_size_t next;           /* next unit that no thread has */
} RtMatmul;

/* Chooses the units (panel, panels, block, blocks), and runs them; the caller has set the rest,
 * zero where nothing is said. Returns false if there is no memory for loaded panels. */
bool rt_run_panels(RtPool *pool, RtMatmul *job);

//: end
#endif

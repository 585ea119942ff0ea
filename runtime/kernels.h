/* Sums, dot products, matrix products and elementwise functions over arrays.
 *
 * A sum has one order, whatever computes it: element n goes to lane n mod 32 (by fma where the
 * summand is a product), the 32 lanes, which began at +0, are added pairwise 16, 8, 4, 2 and 1
 * apart, and +0 is added last. Products of two bf16 numbers go in pairs, see rt_dot_bf16. Instead
 * of choosing an order, the kernels choose how many outputs to work on at once. So every function
 * here gives the same bits for every kind of instructions, number of threads and tiling.
 * A line that starts with "//:" opens a unit, as in numerics.h; its definition is the unit of the
 * same name in kernels.c or matmul.c.
 */
#ifndef RT_KERNELS_H
#define RT_KERNELS_H

#include "runtime/threads.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

//: rt_fold
/* Adds 32 lanes in the fixed order, and +0. */
float rt_fold(const float lanes[32]);

//: rt_sum
/* The sum of x[0 .. n). */
float rt_sum(const float *x, size_t n);

//: rt_dot
/* The sum of a[i] * b[i], i < n. */
float rt_dot(const float *a, const float *b, size_t n);

//: rt_dot_bf16
/* The sum of a[i] * b[i] of bf16 numbers in the order of pairs: pair p = i / 2 goes to lane p mod
 * 32; there its odd element is added first, then its even one, each by an fma that takes subnormal
 * operands and results as zeros (tiny after rounding). An odd n ends in a zero. */
float rt_dot_bf16(const uint16_t *a, const uint16_t *b, size_t n);

//: rt_lanes_add
/* One step of a sum in blocks: x[i] is added to lane (start + i) mod 32, i < n. */
void rt_lanes_add(float lanes[32], const float *x, size_t n, size_t start);

//: rt_lanes_fma
/* The same for products: a[i] * b[i] goes to lane (start + i) mod 32. */
void rt_lanes_fma(float lanes[32], const float *a, const float *b, size_t n, size_t start);

//: rt_vec_fma
/* acc[i] = fma(a[i], b[i], acc[i]) for i < n. */
void rt_vec_fma(float *acc, const float *a, const float *b, size_t n);

//: rt_vec_fma_s
/* acc[i] = fma(a, b[i], acc[i]) for i < n. */
void rt_vec_fma_s(float *acc, float a, const float *b, size_t n);

//: rt_exp_n
/* y[i] = rt_exp(x[i]) for i < n; so are the next four. y may be x, but not otherwise overlap it. */
void rt_exp_n(float *y, const float *x, size_t n);

//: rt_log_n
void rt_log_n(float *y, const float *x, size_t n);

//: rt_tanh_n
void rt_tanh_n(float *y, const float *x, size_t n);

//: rt_sin_n
void rt_sin_n(float *y, const float *x, size_t n);

//: rt_cos_n
void rt_cos_n(float *y, const float *x, size_t n);

//: rt_sin_near_n
/* rt_sin_n where every |x[i]| <= 2^30. */
void rt_sin_near_n(float *y, const float *x, size_t n);

//: rt_cos_near_n
/* rt_cos_n where every |x[i]| <= 2^30. */
void rt_cos_near_n(float *y, const float *x, size_t n);

//: RtRows
/* The rows of a matrix: row r is data + r * stride, or, where data is NULL, what `load` writes. */
typedef struct {
    const float *data; /* the first element, or NULL */
    size_t stride;     /* elements from row to row */
    /* writes the k elements of a row as f32; called by several threads at once */
    void (*load)(const void *ctx, size_t row, float *out);
    const void *ctx; /* passed to load */
} RtRows;

//: rt_matmul_nt needs RtRows RtPool
/* y[i * ldy + j] = sum over c of x[i * ldx + c] * w_j[c], where w_j is row j of w; i < m, j < n,
 * c < k. Equals rt_dot for every element. y overlaps neither. Returns false where the rows are
 * loaded and there is no memory for them; y is then not complete. */
bool rt_matmul_nt(RtPool *pool, size_t m, size_t n, size_t k, const float *x, size_t ldx, RtRows w,
                  float *y, size_t ldy);

//: rt_matmul_nn needs RtPool
/* y[i * ldy + j] = sum over c of x[i * ldx + c] * w[c * ldw + j]; i < m, j < n, c < k. The same
 * bits as rt_dot on the columns of w. */
void rt_matmul_nn(RtPool *pool, size_t m, size_t n, size_t k, const float *x, size_t ldx,
                  const float *w, size_t ldw, float *y, size_t ldy);

//: rt_matmul_nt_bf16 needs RtPool
/* y[i * ldy + j] = rt_dot_bf16 of row i of x and row j of w. */
void rt_matmul_nt_bf16(RtPool *pool, size_t m, size_t n, size_t k, const uint16_t *x, size_t ldx,
                       const uint16_t *w, size_t ldw, float *y, size_t ldy);

//: end
#endif

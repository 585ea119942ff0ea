/* A pool of threads, and the vector instructions that its kernels use.
 *
 * Work is cut into tasks; which thread does which task never changes a result.
 */
#ifndef RT_THREADS_H
#define RT_THREADS_H

#include <stddef.h>

//: RtSimd
/* Kernels of one kind; all give the same bits. Each includes the ones before it. */
typedef enum {
    RT_PORTABLE,    /* plain C */
    RT_AVX2,        /* AVX2 and FMA */
    RT_AVX512,      /* AVX-512 F, DQ, BW and VL */
    RT_AVX512_BF16, /* and products of bf16 pairs */
} RtSimd;

//: rt_simd_best needs RtSimd
/* The best kind that this machine runs. */
RtSimd rt_simd_best(void);

//: RtPool needs RtSimd
/* Threads that wait for work. A pool is used by one thread at a time; NULL stands for the calling
 * thread alone with the best instructions. */
typedef struct RtPool RtPool;

enum { RT_SMALL_WORK = 20000 }; /* multiplications that are not worth waking a thread */

/* Starts a pool of `threads` threads, the calling one included (0: one for each processor; at most
 * 256). SERIN_SIMD=portable, avx2 or avx512 in the environment limits the instructions. Returns
 * NULL when there is no memory, and a smaller pool when the system has no more threads. */
RtPool *rt_pool_new(int threads);

/* Ends the threads and frees the pool. NULL is allowed. */
void rt_pool_free(RtPool *pool);

/* The number of threads, at least 1. */
int rt_pool_threads(const RtPool *pool);

/* The kind of kernels to use. */
RtSimd rt_pool_simd(const RtPool *pool);

/* Calls fn(ctx, 0) ... fn(ctx, tasks - 1) on the pool's threads, in any order, and returns when all
 * have returned; what they wrote is then visible here. fn must not use the pool. */
void rt_pool_run(RtPool *pool, void (*fn)(void *ctx, size_t task), void *ctx, size_t tasks);

//: end
#endif

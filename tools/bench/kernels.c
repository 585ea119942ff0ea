// Speed of the matrix products of runtime/kernels.h, on one thread or as many as the argument says.
//
// usage: make build/bench/kernels && [SERIN_SIMD=avx2] build/bench/kernels [THREADS]
#include "runtime/kernels.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The products. */
typedef enum { NT, NN, NT_BF16 } Kind;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *filled(size_t floats) {
    float *x = aligned_alloc(64, (floats + 15) / 16 * 64);
    if (x == NULL)
        exit(1);
    for (size_t i = 0; i < floats; i++)
        x[i] = (float)(i % 17) * 0.1f - 0.7f;
    return x;
}

/* Prints the best rate of repeated calls within half a second. */
static void bench(RtPool *pool, Kind kind, size_t m, size_t n, size_t k) {
    static const char *const names[] = {"nt", "nn", "nt_bf16"};
    float *x = filled(m * k), *w = filled(n * k), *y = filled(m * n);
    double best = 1e9, total = 0;
    for (int call = 0; total < 0.5 || call < 3; call++) {
        double start = seconds();
        if (kind == NT)
            rt_matmul_nt(pool, m, n, k, x, k, (RtRows){.data = w, .stride = k}, y, n);
        else if (kind == NN)
            rt_matmul_nn(pool, m, n, k, x, k, w, n, y, n);
        else
            rt_matmul_nt_bf16(pool, m, n, k, (void *)x, k, (void *)w, k, y, n);
        double took = seconds() - start;
        total += took;
        best = took < best ? took : best;
    }
    double bytes = (kind == NT_BF16 ? 2.0 : 4.0) * (double)(n * k);
    printf("%-8s %4zu x %5zu x %4zu  %6.1f GFLOP/s, weights at %6.1f GB/s\n", names[kind], m, n, k,
           2e-9 * (double)(m * n * k) / best, 1e-9 * bytes / best);
    free(x);
    free(w);
    free(y);
}

int main(int argc, char **argv) {
    static const char *const kinds[] = {"portable", "avx2", "avx512", "avx512 with bf16"};
    RtPool *pool = rt_pool_new(argc > 1 ? atoi(argv[1]) : 1);
    printf("%s, %d threads\n", kinds[rt_pool_simd(pool)], rt_pool_threads(pool));
    bench(pool, NT, 32, 576, 576);
    bench(pool, NT, 256, 1536, 576);
    bench(pool, NT, 256, 576, 1536);
    bench(pool, NT, 64, 4096, 4096);
    bench(pool, NT, 1, 576, 576);
    bench(pool, NT, 1, 49152, 576);
    bench(pool, NN, 32, 64, 256);
    bench(pool, NN, 1, 64, 256);
    bench(pool, NN, 256, 64, 1000);
    bench(pool, NT_BF16, 32, 576, 576);
    bench(pool, NT_BF16, 256, 1536, 576);
    bench(pool, NT_BF16, 1, 49152, 576);
    rt_pool_free(pool);
    return 0;
}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "kernels.h"
#include "numerics.h"
#include "scalars.h"

// What a function works with. It is passed by value: what a function takes of the arena is
// free again when it returns.
typedef struct {
    RtPool *pool;         // the threads of matrix products
    unsigned char *arena; // the free part of the memory for temporaries
} Work;

// Bytes rounded up to whole cache lines.
static size_t room(int64_t bytes) {
    return ((size_t)bytes + 63) & ~(size_t)63;
}

// Takes memory off the arena.
static void *take(Work *work, int64_t bytes) {
    void *start = work->arena;
    work->arena += room(bytes);
    return start;
}

// crate::squares
// entry squares(x: Tensor[4; f32]) -> Tensor[4; f32]
// y (4), x (4)
static void squares(float *restrict y, const float *x) {
    // let y = for i in 0..4 { yield x[i] * x[i] }
    for (int64_t i = 0; i < 4; i++) {
        float value = x[rt_clamp(i, 4)];
        float product = value * value;
        y[i] = product;
    }
}

// crate::rows
// entry rows<N: Dim>(x: Tensor[N, 3; f32]) -> (Tensor[N, 3; f32], Tensor[3; f32]) where N > 0
// sums (N, 3), total (3), x (N, 3)
static void rows2(Work work, int64_t N, float *restrict sums, float *restrict total,
                  const float *x) {
    // var total = fill<f32>([3], 0.0)
    float *total2 = take(&work, 12); // (3)
    for (int64_t i = 0; i < 3; i++) {
        total2[i] = 0.0f;
    }

    memcpy(total, total2, 12);
    float *total3 = take(&work, 12); // (3)
    for (int64_t i = 0; i < N; i++) {
        // total = total + x[i, :]
        for (int64_t i2 = 0; i2 < 3; i2++) {
            total3[i2] = total[i2] + x[rt_clamp(i, N) * 3 + i2];
        }
        memcpy(sums + i * 3, total3, 12);
        memcpy(total, total3, 12);
    }
}

// crate::collatz
// entry collatz(n: i64) -> i64
static int64_t collatz(int64_t n) {
    int64_t x = n;
    int64_t steps = 0;
    while (x != 1) {
        // x = select(x % 2 == 0, x / 2, 3 * x + 1)
        int64_t x2 = x % 2 == 0 ? x / 2 : rt_add_i64(rt_mul_i64(3, x), 1);

        // steps = steps + 1
        int64_t steps2 = rt_add_i64(steps, 1);
        x = x2;
        steps = steps2;
    }

    return steps;
}

// crate::shrink
// entry shrink(x: Tensor[5; f32], most: f32) -> Tensor[5; f32]
// y (5), x (5)
static void shrink(float *restrict y, const float *x, float most) {
    memcpy(y, x, 20);
    bool running = true;
    while (true) {
        float sum = rt_dot(y, y, 5);
        bool both = running && sum > most;
        if (!both)
            break;

        // y = y * 0.5
        for (int64_t i = 0; i < 5; i++) {
            y[i] = y[i] * 0.5f;
        }

        // running = y[0] > 0.001
        bool running2 = y[0] > 0.001f;
        running = running2;
    }
}

// Bytes of the arena that each function needs, with what it calls.
static size_t arena_bytes(int64_t N) {
    (void)N;
    size_t rows2 = room(12) + room(12);
    return rows2;
}

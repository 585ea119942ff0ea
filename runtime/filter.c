/* Filters before a draw; see filter.h. A heap hands out the logits from the greatest down, so that
 * no more of them are ordered than are kept. */
#include "runtime/filter.h"
#include "runtime/numerics.h"

#include <math.h>
#include <stdbool.h>

/* Does index a come before index b? */
static bool before(const float *logits, int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

static void sink(const float *logits, int32_t *heap, int32_t size, int32_t at) {
    for (;;) {
        int32_t child = 2 * at + 1, top = at;
        if (child < size && before(logits, heap[child], heap[top]))
            top = child;
        if (child + 1 < size && before(logits, heap[child + 1], heap[top]))
            top = child + 1;
        if (top == at)
            return;
        int32_t moved = heap[at];
        heap[at] = heap[top];
        heap[top] = moved;
        at = top;
    }
}

/* The first of the heap, which moves to its end. */
static int32_t pop(const float *logits, int32_t *heap, int32_t size) {
    int32_t first = heap[0];
    heap[0] = heap[size - 1];
    heap[size - 1] = first;
    sink(logits, heap, size - 1, 0);
    return first;
}

/* softmax's numerator, the greatest logit's being 1. */
static double weight(const float *logits, int32_t i, float greatest, float temperature) {
    return (double)rt_exp(logits[i] / temperature - greatest / temperature);
}

void rt_filter(float *logits, int32_t n, float temperature, int32_t top_k, float top_p,
               int32_t *order) {
    int32_t most = top_k > 0 && top_k < n ? top_k : n, kept = 0;
    double total = 0, sum = 0;
    if (most == n && !(top_p < 1))
        return;
    for (int32_t i = 0; i < n; i++) {
        if (logits[i] != logits[i])
            return; /* rt_sample says that there is a NaN */
        order[i] = i;
    }
    for (int32_t i = n / 2; i-- > 0;)
        sink(logits, order, n, i);
    float greatest = logits[order[0]];
    if (most == n) {
        for (int32_t i = 0; i < n; i++)
            total += weight(logits, i, greatest, temperature);
    }
    /* The kept ones gather at the end of `order`, the greatest last. */
    for (; kept < most && (most < n || sum < (double)top_p * total || kept == 0); kept++)
        sum += weight(logits, pop(logits, order, n - kept), greatest, temperature);
    if (most < n && top_p < 1) { /* the share is of the top_k */
        total = sum;
        sum = 0;
        int32_t i = 0;
        while (i < kept && (i == 0 || sum < (double)top_p * total))
            sum += weight(logits, order[n - ++i], greatest, temperature);
        kept = i;
    }
    for (int32_t i = 0; i < n - kept; i++)
        logits[order[i]] = -INFINITY;
}

// Filters against a plain sort, on small and on random logits.
#include "runtime/filter.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 300 };
static int passed, failed;

static void check(int ok, const char *what) {
    if (ok)
        passed++;
    else
        failed++, printf("failed: %s\n", what);
}

// Which are kept, by sorting all of them: the reference.
static int reference(const float *x, int n, double t, int k, double p, int *keep) {
    int order[MOST], m = k > 0 && k < n ? k : n, kept = 0;
    double total = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && x[order[at - 1]] < x[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < m; i++)
        total += exp(((double)x[order[i]] - (double)x[order[0]]) / t);
    memset(keep, 0, (size_t)n * sizeof *keep);
    while (kept < m && (kept == 0 || p >= 1 || sum < p * total)) {
        sum += exp(((double)x[order[kept]] - (double)x[order[0]]) / t);
        keep[order[kept++]] = 1;
    }
    return kept;
}

static void compare(const float *x, int n, float t, int k, float p) {
    float y[MOST];
    int32_t order[MOST];
    int keep[MOST], same = 1;
    memcpy(y, x, (size_t)n * sizeof *x);
    reference(x, n, (double)t, k, (double)p, keep);
    rt_filter(y, n, t, k, p, order);
    for (int i = 0; i < n; i++)
        same &= keep[i] ? memcmp(&x[i], &y[i], sizeof *x) == 0 : y[i] == -INFINITY;
    check(same, "the same logits are kept");
}

int main(void) {
    const float small[] = {1, 3, 3, 2, -1};
    unsigned state = 1;
    for (int k = 0; k <= 6; k++) {
        compare(small, 5, 1, k, 1);
        compare(small, 5, 0.7f, k, 0.61f);
        compare(small, 5, 1, k, 1e-6f);
    }
    for (int round = 0; round < 2000; round++) {
        float x[MOST];
        int n = 1 + round % (MOST - 1);
        for (int i = 0; i < n; i++) {
            state = state * 1664525u + 1013904223u;
            x[i] = (float)(state >> 20) / 256.0f - 8.0f;
        }
        compare(x, n, 0.5f + (float)(round % 7) / 4, round % 3 ? round % 41 : 0,
                round % 5 ? 0.1f + (float)(round % 9) / 10.1f : 1);
    }
    float nan_only[2] = {NAN, NAN}, infinite[3] = {-INFINITY, 2, NAN};
    int32_t order[3];
    rt_filter(nan_only, 2, 1, 1, 0.5f, order);
    rt_filter(infinite, 3, 1, 1, 0.5f, order);
    check(nan_only[0] != nan_only[0] && infinite[1] == 2 && infinite[2] != infinite[2],
          "a NaN stays, for the draw to see");
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

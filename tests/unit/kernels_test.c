/* runtime/kernels.h: every kind of instructions, several numbers of threads and ragged shapes give
 * the bits of plain loops, and those give the bits of exact arithmetic in tests/data/lanes.txt.
 */
#include "runtime/kernels.h"
#include "runtime/numerics.h"
#include <stdio.h>
#include <stdlib.h>

/* Counts of one run. */
typedef struct {
    int passed; /* checks that held */
    int failed; /* checks that did not */
} Tally;

static void check(Tally *t, bool ok, const char *what) {
    if (ok)
        t->passed++;
    else if (++t->failed <= 50)
        printf("FAILED: %s\n", what);
}

enum { POOLS = 6 };

/* The kinds and numbers of threads that are tried. */
static const struct {
    const char *simd; /* SERIN_SIMD, or "" for the best */
    int threads;      /* of the pool */
} pool_kinds[POOLS] = {{"portable", 1}, {"avx2", 1}, {"avx512", 1}, {"", 1}, {"", 2}, {"avx2", 3}};

static uint32_t random_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/* A float of any sign, mantissa, and magnitude around 2^-spread to 2^spread. */
static float random_float(uint64_t *state, uint32_t spread) {
    uint32_t exponent = 127 - spread + random_bits(state) % (2 * spread + 1);
    return rt_from_bits((random_bits(state) & 0x807fffffu) | exponent << 23);
}

static void *allocate(size_t size) {
    void *p = malloc(size ? size : 1);
    if (p == NULL)
        abort();
    return p;
}

static float *random_floats(size_t n, uint32_t spread, uint64_t *state) {
    float *x = allocate(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = random_float(state, spread);
    return x;
}

static uint16_t *random_bf16s(size_t n, uint32_t spread, uint64_t *state) {
    uint16_t *x = allocate(n * sizeof *x);
    for (size_t i = 0; i < n; i++) /* one in 16 is subnormal or zero */
        x[i] = (uint16_t)(random_bits(state) % 16 ? rt_bits(random_float(state, spread)) >> 16
                                                  : random_bits(state) & 0x807f);
    return x;
}

static float plain_fold(float *s) {
    for (int apart = 16; apart > 0; apart /= 2)
        for (int i = 0; i < apart; i++)
            s[i] = s[i] + s[i + apart];
    return s[0] + 0.0f;
}

/* The definition: a[i * a_step] * b[i * b_step]. */
static float plain_dot(const float *a, const float *b, size_t n, size_t b_step) {
    float s[32] = {0};
    for (size_t i = 0; i < n; i++)
        s[i % 32] = fmaf(a[i], b[i * b_step], s[i % 32]);
    return plain_fold(s);
}

static bool same_bits(const float *a, const float *b, size_t n) {
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* The same bits, or both NaN. */
static bool same(float a, float b) {
    return rt_bits(a) == rt_bits(b) || (a != a && b != b);
}

/* ---- tests/data/lanes.txt ---- */

static void read_words(FILE *f, unsigned *out, int n) {
    for (int i = 0; i < n; i++)
        if (fscanf(f, "%x", &out[i]) != 1)
            out[i] = 0xdead;
}

static void check_f32_case(Tally *t, FILE *f, int n, unsigned dot, unsigned sum) {
    unsigned bits[2][1000];
    read_words(f, bits[0], n);
    read_words(f, bits[1], n);
    float a[1000], b[1000];
    for (int i = 0; i < n; i++) {
        a[i] = rt_from_bits(bits[0][i]);
        b[i] = rt_from_bits(bits[1][i]);
    }
    check(t, rt_bits(rt_dot(a, b, (size_t)n)) == dot, "f32 dot of lanes.txt");
    check(t, rt_bits(rt_sum(a, (size_t)n)) == sum, "f32 sum of lanes.txt");
    check(t, rt_bits(plain_dot(a, b, (size_t)n, 1)) == dot, "plain dot of lanes.txt");
}

static void check_bf16_case(Tally *t, RtPool **pools, FILE *f, int n, unsigned dot) {
    unsigned bits[2][1000];
    read_words(f, bits[0], n);
    read_words(f, bits[1], n);
    uint16_t a[1000], b[1000];
    for (int i = 0; i < n; i++) {
        a[i] = (uint16_t)bits[0][i];
        b[i] = (uint16_t)bits[1][i];
    }
    check(t, rt_bits(rt_dot_bf16(a, b, (size_t)n)) == dot, "bf16 dot of lanes.txt");
    for (int p = 0; p < POOLS; p++) {
        float y;
        rt_matmul_nt_bf16(pools[p], 1, 1, (size_t)n, a, 1, b, 1, &y, 1);
        check(t, rt_bits(y) == dot, "bf16 product of lanes.txt");
    }
}

static void test_lanes(Tally *t, RtPool **pools) {
    FILE *f = fopen("tests/data/lanes.txt", "r");
    check(t, f != NULL, "tests/data/lanes.txt is there (run from the project's root)");
    if (f == NULL)
        return;
    char line[128];
    int cases = 0, n;
    while (fgets(line, sizeof line, f)) {
        unsigned dot, sum;
        if (sscanf(line, "f32 %d %x %x", &n, &dot, &sum) == 3 && n <= 1000)
            check_f32_case(t, f, n, dot, sum);
        else if (sscanf(line, "bf16 %d %x", &n, &dot) == 2 && n <= 1000)
            check_bf16_case(t, pools, f, n, dot);
        else
            continue;
        cases++;
    }
    fclose(f);
    check(t, cases == 41, "all cases of lanes.txt were read");
}

/* ---- matrix products ---- */

/* One shape, with room around the rows. */
typedef struct {
    size_t m, n, k;       /* extents */
    size_t ldx, ldw, ldy; /* elements from row to row */
    uint32_t spread;      /* magnitudes of the data */
} Shape;

static void report(Tally *t, bool ok, const char *what, const Shape *s, int pool) {
    char text[160];
    snprintf(text, sizeof text, "%s m %zu n %zu k %zu spread %u SERIN_SIMD=%s threads %d", what,
             s->m, s->n, s->k, s->spread, pool_kinds[pool].simd, pool_kinds[pool].threads);
    check(t, ok, text);
}

/* The outputs, and between the rows a mark that nothing may overwrite. */
static float *marked(const Shape *s) {
    float *y = allocate(s->m * s->ldy * sizeof *y);
    for (size_t i = 0; i < s->m * s->ldy; i++)
        y[i] = 12345.0f;
    return y;
}

static void load_row(const void *ctx, size_t row, float *out) {
    const float *const *w = ctx; /* {first row, second row, end of the second row} */
    size_t stride = (size_t)(w[1] - w[0]), k = (size_t)(w[2] - w[1]);
    memcpy(out, w[0] + row * stride, k * sizeof *out);
}

static void test_nt(Tally *t, RtPool **pools, const Shape *s, uint64_t *state) {
    float *x = random_floats((s->m - 1) * s->ldx + s->k, s->spread, state);
    float *w = random_floats((s->n - 1) * s->ldw + s->k, s->spread, state);
    float *want = marked(s);
    for (size_t i = 0; i < s->m; i++)
        for (size_t j = 0; j < s->n; j++) {
            want[i * s->ldy + j] = plain_dot(x + i * s->ldx, w + j * s->ldw, s->k, 1);
            if (!same(want[i * s->ldy + j], rt_dot(x + i * s->ldx, w + j * s->ldw, s->k)))
                report(t, false, "rt_dot", s, 3);
        }
    const float *const rows[3] = {w, w + s->ldw, w + s->ldw + s->k};
    for (int p = 0; p < POOLS; p++) {
        float *y = marked(s);
        bool ok = rt_matmul_nt(pools[p], s->m, s->n, s->k, x, s->ldx,
                               (RtRows){.data = w, .stride = s->ldw}, y, s->ldy);
        report(t, ok && same_bits(y, want, s->m * s->ldy), "rt_matmul_nt", s, p);
        float *z = marked(s);
        ok = rt_matmul_nt(pools[p], s->m, s->n, s->k, x, s->ldx,
                          (RtRows){.load = load_row, .ctx = rows}, z, s->ldy);
        report(t, ok && same_bits(z, want, s->m * s->ldy), "rt_matmul_nt, loaded", s, p);
        free(y);
        free(z);
    }
    free(x);
    free(w);
    free(want);
}

static void test_nn(Tally *t, RtPool **pools, const Shape *s, uint64_t *state) {
    size_t ldw = s->n + s->ldw - s->k;
    float *x = random_floats((s->m - 1) * s->ldx + s->k, s->spread, state);
    float *w = random_floats((s->k - 1) * ldw + s->n, s->spread, state);
    float *want = marked(s);
    for (size_t i = 0; i < s->m; i++)
        for (size_t j = 0; j < s->n; j++)
            want[i * s->ldy + j] = plain_dot(x + i * s->ldx, w + j, s->k, ldw);
    for (int p = 0; p < POOLS; p++) {
        float *y = marked(s);
        rt_matmul_nn(pools[p], s->m, s->n, s->k, x, s->ldx, w, ldw, y, s->ldy);
        report(t, same_bits(y, want, s->m * s->ldy), "rt_matmul_nn", s, p);
        free(y);
    }
    free(x);
    free(w);
    free(want);
}

/* The portable kernel is the reference for the others; lanes.txt is its own. */
static void test_bf16(Tally *t, RtPool **pools, const Shape *s, uint64_t *state) {
    uint16_t *x = random_bf16s((s->m - 1) * s->ldx + s->k, s->spread, state);
    uint16_t *w = random_bf16s((s->n - 1) * s->ldw + s->k, s->spread, state);
    float *want = marked(s);
    rt_matmul_nt_bf16(pools[0], s->m, s->n, s->k, x, s->ldx, w, s->ldw, want, s->ldy);
    for (int p = 1; p < POOLS; p++) {
        float *y = marked(s);
        rt_matmul_nt_bf16(pools[p], s->m, s->n, s->k, x, s->ldx, w, s->ldw, y, s->ldy);
        report(t, same_bits(y, want, s->m * s->ldy), "rt_matmul_nt_bf16", s, p);
        free(y);
    }
    free(x);
    free(w);
    free(want);
}

/* 2^-126 less a little: what rounds to 2^-126 stays, what rounds below it is flushed, although an
 * fma that rounds to a subnormal grid gives 2^-126 for some of those too. */
static void test_flush_edge(Tally *t, RtPool **pools) {
    for (uint32_t e = 148; e <= 154; e++)
        for (uint32_t fraction = 0; fraction < 128; fraction++)
            for (uint32_t sign = 0; sign < 0x10000; sign += 0x8000) {
                /* the odd product is +-2^-126, the even one -+(1 + fraction / 128) 2^-e */
                uint16_t a[2] = {(uint16_t)((127 - 75) << 7 | fraction | (sign ^ 0x8000)),
                                 (uint16_t)((127 - 63) << 7 | sign)};
                uint16_t b[2] = {(uint16_t)((127 - (e - 75)) << 7), (127 - 63) << 7};
                bool tiny = e < 151 || (e == 151 && fraction > 0);
                uint32_t want = tiny ? 0 : (sign << 16 | 0x00800000u);
                for (int p = 0; p < POOLS; p++) {
                    float y;
                    rt_matmul_nt_bf16(pools[p], 1, 1, 2, a, 2, b, 2, &y, 1);
                    check(t, rt_bits(y) == want, "flushing at 2^-126");
                }
            }
}

static void test_shape(Tally *t, RtPool **pools, size_t m, size_t n, size_t k, uint64_t *state) {
    uint32_t pad = random_bits(state);
    Shape s = {m, n, k, k + pad % 3, k + pad / 3 % 4, n + pad / 12 % 3, 2};
    if (pad % 5 == 0)
        s.spread = 20;
    if (pad % 7 == 0)
        s.spread = 70; /* products underflow */
    test_nt(t, pools, &s, state);
    test_nn(t, pools, &s, state);
    s.spread = pad % 2 ? 63 : s.spread; /* products around 2^-126, where flushing happens */
    test_bf16(t, pools, &s, state);
}

static void test_shapes(Tally *t, RtPool **pools) {
    static const size_t ms[] = {1, 2, 3, 4, 5, 9}, ns[] = {1, 2, 3, 4, 5, 15, 16, 17, 33, 64, 70};
    uint64_t state = 1;
    for (size_t k = 1; k <= 70; k++)
        for (size_t i = 0; i < 3; i++)
            test_shape(t, pools, ms[random_bits(&state) % 6], ns[random_bits(&state) % 11], k,
                       &state);
    for (size_t m = 1; m <= 70; m += m < 10 ? 1 : 7)
        test_shape(t, pools, m, 1 + random_bits(&state) % 70, 1 + random_bits(&state) % 70, &state);
    for (size_t n = 1; n <= 70; n++)
        test_shape(t, pools, 1 + random_bits(&state) % 9, n, 1 + random_bits(&state) % 70, &state);
    /* large enough for threads; with few panels, and with many */
    test_shape(t, pools, 70, 70, 70, &state);
    test_shape(t, pools, 65, 5, 300, &state);
    test_shape(t, pools, 1, 331, 577, &state);
    test_shape(t, pools, 4, 130, 1001, &state);
    test_shape(t, pools, 2, 3, 9001, &state);
    for (int p = 0; p < POOLS; p++) { /* no terms: +0; no outputs: nothing */
        float x = 1, y = 5;
        check(t, rt_matmul_nt(pools[p], 1, 1, 0, &x, 1, (RtRows){.data = &x, .stride = 1}, &y, 1),
              "empty sum");
        check(t, rt_bits(y) == 0, "an empty sum is +0");
        rt_matmul_nn(pools[p], 1, 0, 1, &x, 1, &x, 1, &y, 1);
        check(t, rt_bits(y) == 0, "no outputs");
    }
}

/* A sum is never -0, even where all lanes are; 128 terms of which each rounds to -0. */
static void test_no_minus_zero(Tally *t, RtPool **pools) {
    float a[128], b[128], lanes[32], y;
    uint16_t c[128], d[128];
    for (int i = 0; i < 128; i++) {
        a[i] = -1e-30f;
        b[i] = 1e-30f;
        c[i] = 0x8000 | (127 - 100) << 7;
        d[i] = (127 - 100) << 7;
        lanes[i % 32] = -0.0f;
    }
    check(t, rt_bits(rt_fold(lanes)) == 0, "32 lanes of -0 give +0");
    for (size_t n = 0; n <= 128; n++) {
        check(t, rt_bits(rt_dot(a, b, n)) == 0, "underflowing lanes give +0");
        for (int p = 0; p < POOLS; p++) {
            rt_matmul_nt(pools[p], 1, 1, n, a, n, (RtRows){.data = b, .stride = n}, &y, 1);
            check(t, rt_bits(y) == 0, "underflowing lanes give +0, nt");
            rt_matmul_nn(pools[p], 1, 1, n, a, n, b, 1, &y, 1);
            check(t, rt_bits(y) == 0, "underflowing lanes give +0, nn");
            rt_matmul_nt_bf16(pools[p], 1, 1, n, c, n, d, n, &y, 1);
            check(t, rt_bits(y) == 0, "underflowing lanes give +0, bf16");
        }
    }
}

/* Terms that are zero change nothing. */
static void test_zeros(Tally *t) {
    uint64_t state = 5;
    for (int round = 0; round < 200; round++) {
        float x[96], y[96] = {0}, one[96];
        size_t n = 1 + random_bits(&state) % 40, zeros = random_bits(&state) % 50;
        for (size_t i = 0; i < 96; i++) {
            x[i] = i < n ? random_float(&state, 3) : random_bits(&state) % 2 ? 0.0f : -0.0f;
            one[i] = i < n ? random_float(&state, 3) : -7.0f;
        }
        memcpy(y, x, sizeof y);
        check(t, same(rt_dot(x, one, n), rt_dot(y, one, n + zeros)), "zero terms of a dot product");
        check(t, same(rt_sum(x, n), rt_sum(y, n + zeros)), "zero terms of a sum");
    }
}

/* ---- sums in blocks, vectors ---- */

static void test_steps(Tally *t) {
    uint64_t state = 9;
    for (int round = 0; round < 300; round++) {
        size_t n = random_bits(&state) % 200;
        float *a = random_floats(n, 60, &state), *b = random_floats(n, 60, &state);
        float fma_lanes[32] = {0}, add_lanes[32] = {0}, want_fma[32] = {0}, want_add[32] = {0};
        for (size_t i = 0; i < n; i++) {
            want_fma[i % 32] = fmaf(a[i], b[i], want_fma[i % 32]);
            want_add[i % 32] += a[i];
        }
        for (size_t i = 0, step; i < n; i += step) {
            step = 1 + random_bits(&state) % 80;
            step = step < n - i ? step : n - i;
            rt_lanes_fma(fma_lanes, a + i, b + i, step, i);
            rt_lanes_add(add_lanes, a + i, step, i);
        }
        check(t, same_bits(fma_lanes, want_fma, 32), "rt_lanes_fma");
        check(t, same_bits(add_lanes, want_add, 32), "rt_lanes_add");
        check(t, same(rt_fold(add_lanes), rt_sum(a, n)), "rt_sum in blocks");
        check(t, same(rt_fold(fma_lanes), rt_dot(a, b, n)), "rt_dot in blocks");
        float *acc = random_floats(n, 60, &state), *want = allocate(n * sizeof *want);
        for (size_t i = 0; i < n; i++)
            want[i] = fmaf(1.25f, b[i], fmaf(a[i], b[i], acc[i]));
        rt_vec_fma(acc, a, b, n);
        rt_vec_fma_s(acc, 1.25f, b, n);
        check(t, same_bits(acc, want, n), "rt_vec_fma and rt_vec_fma_s");
        free(a);
        free(b);
        free(acc);
        free(want);
    }
}

/* ---- functions over arrays ---- */

static float f_exp(float x) {
    return rt_exp(x);
}
static float f_log(float x) {
    return rt_log(x);
}
static float f_tanh(float x) {
    return rt_tanh(x);
}
static float f_sin(float x) {
    return rt_sin(x);
}
static float f_cos(float x) {
    return rt_cos(x);
}

static void test_maps(Tally *t) {
    static const struct {
        const char *name;                              /* for the report */
        void (*array)(float *, const float *, size_t); /* under test */
        float (*scalar)(float);                        /* what it must equal */
    } maps[] = {{"rt_exp_n", rt_exp_n, f_exp},
                {"rt_log_n", rt_log_n, f_log},
                {"rt_tanh_n", rt_tanh_n, f_tanh},
                {"rt_sin_n", rt_sin_n, f_sin},
                {"rt_cos_n", rt_cos_n, f_cos}};
    uint64_t state = 3;
    for (int f = 0; f < 5; f++)
        for (size_t n = 0; n < 3000; n += n < 40 ? 1 : 371) {
            float *x = allocate(n * sizeof *x), *y = allocate(n * sizeof *y);
            for (size_t i = 0; i < n; i++) /* any bits, or (whole blocks of) small numbers */
                x[i] = n % 2 ? rt_from_bits(random_bits(&state)) : random_float(&state, 6);
            maps[f].array(y, x, n);
            bool ok = true;
            for (size_t i = 0; i < n; i++)
                ok &= same(y[i], maps[f].scalar(x[i]));
            check(t, ok, maps[f].name);
            maps[f].array(x, x, n);
            for (size_t i = 0; i < n; i++)
                ok &= same(x[i], y[i]);
            check(t, ok, "the same in place");
            free(x);
            free(y);
        }
}

/* ---- threads ---- */

static void mark_task(void *ctx, size_t task) {
    ((unsigned char *)ctx)[task]++;
}

static void test_pool(Tally *t, RtPool **pools) {
    for (int p = 0; p < POOLS; p++) {
        bool ok = true;
        for (size_t tasks = 0; tasks < 600; tasks++) {
            unsigned char done[600] = {0};
            rt_pool_run(pools[p], mark_task, done, tasks);
            for (size_t i = 0; i < 600; i++)
                ok &= done[i] == (i < tasks);
        }
        check(t, ok, "every task runs once");
        check(t, rt_pool_threads(pools[p]) == pool_kinds[p].threads, "threads of the pool");
    }
    check(t, rt_pool_simd(pools[0]) == RT_PORTABLE, "SERIN_SIMD=portable");
    check(t, rt_pool_simd(pools[1]) <= RT_AVX2, "SERIN_SIMD=avx2");
    check(t, rt_pool_simd(NULL) == rt_simd_best() && rt_pool_threads(NULL) == 1, "no pool");
    rt_pool_free(NULL);
}

int main(void) {
    Tally t = {0, 0};
    RtPool *pools[POOLS];
    for (int p = 0; p < POOLS; p++) {
        if (pool_kinds[p].simd[0])
            setenv("SERIN_SIMD", pool_kinds[p].simd, 1);
        else
            unsetenv("SERIN_SIMD");
        pools[p] = rt_pool_new(pool_kinds[p].threads);
        if (pools[p] == NULL)
            abort();
    }
    test_pool(&t, pools);
    test_lanes(&t, pools);
    test_flush_edge(&t, pools);
    test_no_minus_zero(&t, pools);
    test_zeros(&t);
    test_steps(&t);
    test_maps(&t);
    test_shapes(&t, pools);
    for (int p = 0; p < POOLS; p++)
        rt_pool_free(pools[p]);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

/* runtime/numerics.h and runtime/threefry.h against double-precision libm, integer references and
 * published vectors. The elementary functions are tried on every 997th f32 bit pattern and around
 * every power of two; `--every N` takes every Nth (N = 1: all 2^32, half an hour).
 */
#include "runtime/numerics.h"
#include "runtime/threefry.h"
#include <stdio.h>
#include <stdlib.h>

/* Counts of one run. */
typedef struct {
    int passed; /* checks that held */
    int failed; /* checks that did not */
} Tally;

static void check(Tally *t, int ok, const char *what) {
    if (ok)
        t->passed++;
    else {
        t->failed++;
        printf("FAILED: %s\n", what);
    }
}

/* What one function did over a sample. */
typedef struct {
    const char *name;           /* for the table */
    float (*mine)(float);       /* the function under test */
    double (*exact)(double);    /* reference, good to far less than 0.001 ulp of f32 */
    double limit;               /* domain of the claim: |x| <= limit */
    double worst;               /* largest error in ulp over normal exact results */
    double worst_beyond;        /* the same where |x| > limit */
    float at;                   /* where the worst is */
    unsigned long long tried;   /* arguments with a normal exact result */
    unsigned long long inexact; /* results that are not the correctly rounded ones */
    unsigned long long wrong;   /* special cases that are not as stated */
} Measure;

static float f_exp(float x) {
    return rt_exp(x);
}
static float f_log(float x) {
    return rt_log(x);
}
static float f_sin(float x) {
    return rt_sin(x);
}
static float f_cos(float x) {
    return rt_cos(x);
}
static float f_tanh(float x) {
    return rt_tanh(x);
}

/* |got - want| in units of the last place of want, a normal number. */
static double ulps(float got, double want) {
    int e;
    frexp(want, &e);
    return fabs((double)got - want) / ldexp(1.0, e - 24);
}

/* Results that are not normal numbers: zeros, subnormals, infinities, NaN. */
static int special_ok(const Measure *f, float x, float got, double want) {
    if (want != want)
        return got != got;
    if (fabs(want) >= 0x1.ffffffp127)
        return got == (want > 0 ? INFINITY : -INFINITY) ||
               (fabs((double)got) >= 0x1.fffffep127 && fabs(want) < 0x1p128);
    if (f->mine == f_exp)
        return rt_bits(got) == 0;
    /* sin and tanh of zeros and subnormals are x itself; log(1) is +0 */
    return f->mine == f_log ? rt_bits(got) == 0 : rt_bits(got) == rt_bits(x);
}

static void measure_at(Measure *f, uint32_t bits) {
    float x = rt_from_bits(bits), got = f->mine(x);
    double want = f->exact(x), size = fabs(want);
    if (!(size >= 0x1p-126 && size < 0x1.ffffffp127)) {
        f->wrong += !special_ok(f, x, got, want);
        return;
    }
    f->tried++;
    f->inexact += got != (float)want;
    double u = got == got ? ulps(got, want) : INFINITY;
    double *worst = fabs((double)x) <= f->limit ? &f->worst : &f->worst_beyond;
    if (u > *worst) {
        *worst = u;
        f->at = x;
    }
}

static void measure(Measure *f, uint32_t step) {
    for (uint64_t bits = 0; bits <= 0xffffffffu; bits += step)
        measure_at(f, (uint32_t)bits);
    if (step == 1)
        return;
    for (uint32_t e = 0; e < 512; e++)
        for (uint32_t i = 0; i < 64; i++)
            measure_at(f, (e << 23) + i - 32);
}

static void test_functions(Tally *t, uint32_t step) {
    Measure f[] = {{.name = "exp", .mine = f_exp, .exact = exp, .limit = INFINITY},
                   {.name = "log", .mine = f_log, .exact = log, .limit = INFINITY},
                   {.name = "sin", .mine = f_sin, .exact = sin, .limit = 0x1p20},
                   {.name = "cos", .mine = f_cos, .exact = cos, .limit = 0x1p20},
                   {.name = "tanh", .mine = f_tanh, .exact = tanh, .limit = INFINITY}};
    printf("function  worst ulp  beyond 2^20  at              tried       not nearest  wrong\n");
    for (int i = 0; i < 5; i++) {
        measure(&f[i], step);
        printf("%-9s %-10.4f %-12.4f %-15.9g %-11llu %-12llu %llu\n", f[i].name, f[i].worst,
               f[i].worst_beyond, (double)f[i].at, f[i].tried, f[i].inexact, f[i].wrong);
        check(t, f[i].worst <= 1.0, f[i].name);
        check(t, f[i].worst_beyond <= 1.0, f[i].name);
        check(t, f[i].wrong == 0, f[i].name);
    }
}

static void test_exp_edge(Tally *t) {
    float last = -0x1.5d589ep+6f; /* the last x with e^x >= 2^-126 */
    check(t, rt_exp(last) >= 0x1p-126f, "exp is normal at the edge");
    check(t, rt_bits(rt_exp(nextafterf(last, -1e9f))) == 0, "exp is +0 below the normal range");
    check(t, exp((double)last) >= 0x1p-126, "the edge is inside");
    check(t, exp((double)nextafterf(last, -1e9f)) < 0x1p-126, "the edge is the last");
    check(t, rt_bits(rt_exp(-INFINITY)) == 0 && rt_exp(INFINITY) == INFINITY, "exp of infinities");
    check(t, rt_exp(0.0f) == 1.0f && rt_exp(-0.0f) == 1.0f, "exp of zeros");
    check(t, rt_log(0.0f) == -INFINITY && rt_log(-0.0f) == -INFINITY, "log of zeros");
    check(t, rt_log(-1.0f) != rt_log(-1.0f), "log of a negative number");
    check(t, rt_bits(rt_sin(-0.0f)) == 0x80000000u, "sin of -0");
    check(t, rt_bits(rt_tanh(-0.0f)) == 0x80000000u, "tanh of -0");
    check(t, rt_sin(INFINITY) != rt_sin(INFINITY), "sin of an infinity");
    check(t, rt_tanh(INFINITY) == 1.0f && rt_tanh(-INFINITY) == -1.0f, "tanh of infinities");
    check(t, rt_bits(rt_rsqrt(3.0f)) == rt_bits(1.0f / sqrtf(3.0f)), "rsqrt rounds twice");
}

static void test_order(Tally *t) {
    check(t, rt_bits(rt_max(-0.0f, 0.0f)) == 0 && rt_bits(rt_max(0.0f, -0.0f)) == 0, "max zeros");
    check(t, rt_bits(rt_min(-0.0f, 0.0f)) == 0x80000000u, "min of -0 and +0");
    check(t, rt_bits(rt_min(0.0f, -0.0f)) == 0x80000000u, "min of +0 and -0");
    check(t, rt_bits(rt_max(-0.0f, -0.0f)) == 0x80000000u, "max of -0 and -0");
    check(t, isnan(rt_max(NAN, 1.0f)) && isnan(rt_max(1.0f, NAN)), "NaN wins in max");
    check(t, isnan(rt_min(NAN, 1.0f)) && isnan(rt_min(1.0f, NAN)), "NaN wins in min");
    check(t, rt_max(1.0f, 2.0f) == 2.0f && rt_max(2.0f, -3.0f) == 2.0f, "max");
    check(t, rt_min(1.0f, 2.0f) == 1.0f && rt_min(2.0f, -3.0f) == -3.0f, "min");
    check(t, rt_max(-INFINITY, -5.0f) == -5.0f && rt_min(INFINITY, 5.0f) == 5.0f, "infinities");
}

/* The f16 nearest to |x| by search, ties to even: a reference that shares nothing. */
static uint16_t nearest_f16(float x) {
    double a = fabs((double)x), best = INFINITY;
    uint16_t found = 0;
    for (uint32_t h = 0; h <= 0x7c00; h++) {
        double v = h == 0x7c00 ? 65536.0
                               : ldexp(h < 0x400 ? h : (h & 0x3ff) + 1024,
                                       h < 0x400 ? -24 : (int)(h >> 10) - 25);
        double d = fabs(v - a);
        if (d < best || (d == best && (h & 1) == 0)) {
            best = d;
            found = (uint16_t)h;
        }
    }
    return (uint16_t)(found | (signbit(x) ? 0x8000 : 0));
}

static void test_f16(Tally *t) {
    int same = 1, nearest = 1, nan_ok = 1;
    for (uint32_t h = 0; h < 65536; h++) {
        float x = rt_f16_to_f32((uint16_t)h);
        if ((h & 0x7fff) > 0x7c00)
            nan_ok &= isnan(x) && (rt_f32_to_f16(x) & 0x7fff) > 0x7c00;
        else
            same &= rt_f32_to_f16(x) == h && rt_bits(x) >> 31 == h >> 15;
    }
    check(t, same, "f16 -> f32 -> f16 is the identity");
    check(t, nan_ok, "f16 NaN stays NaN");
    check(t, rt_f16_to_f32(1) == 0x1p-24f && rt_f16_to_f32(0x7bff) == 65504.0f, "f16 ends");
    check(t, rt_f16_to_f32(0xfc00) == -INFINITY, "f16 infinity");
    /* around every midpoint of a sample of neighbours */
    for (uint32_t h = 0; h < 0x7c00; h += h < 64 || h > 0x7bc0 ? 1 : 251) {
        float mid =
            rt_from_bits((rt_bits(rt_f16_to_f32((uint16_t)h)) +
                          rt_bits(h + 1 == 0x7c00 ? 65536.0f : rt_f16_to_f32((uint16_t)(h + 1)))) /
                         2);
        if (h < 0x400)
            mid = (float)((h + 0.5) * 0x1p-24);
        float near[3] = {nextafterf(mid, 0), mid, nextafterf(mid, INFINITY)};
        for (int i = 0; i < 3; i++)
            nearest &= rt_f32_to_f16(near[i]) == nearest_f16(near[i]) &&
                       rt_f32_to_f16(-near[i]) == nearest_f16(-near[i]);
    }
    check(t, nearest, "f32 -> f16 to nearest even");
    check(t, rt_f32_to_f16(1e30f) == 0x7c00 && rt_f32_to_f16(-INFINITY) == 0xfc00, "f16 overflow");
    check(t, (rt_f32_to_f16(rt_from_bits(0x7f800001)) & 0x7fff) > 0x7c00, "f32 NaN to f16");
}

static void test_bf16(Tally *t) {
    int same = 1;
    for (uint32_t h = 0; h < 65536; h++) {
        float x = rt_bf16_to_f32((uint16_t)h);
        same &= isnan(x) ? (rt_f32_to_bf16(x) & 0x7fff) > 0x7f80 : rt_f32_to_bf16(x) == h;
    }
    check(t, same, "bf16 -> f32 -> bf16 is the identity");
    check(t, rt_f32_to_bf16(rt_from_bits(0x3f808000)) == 0x3f80, "bf16 tie to even, down");
    check(t, rt_f32_to_bf16(rt_from_bits(0x3f818000)) == 0x3f82, "bf16 tie to even, up");
    check(t, rt_f32_to_bf16(rt_from_bits(0x3f808001)) == 0x3f81, "bf16 above a tie");
    check(t, rt_f32_to_bf16(rt_from_bits(0x7f7fffff)) == 0x7f80, "bf16 overflow");
    check(t, (rt_f32_to_bf16(rt_from_bits(0x7f800001)) & 0x7fff) > 0x7f80, "bf16 NaN");
    check(t, (rt_f32_to_bf16(rt_from_bits(0xffffffff)) & 0x7fff) > 0x7f80, "bf16 full NaN");
    check(t, rt_f32_to_bf16(rt_from_bits(0x00008000)) == 0, "bf16 subnormal tie");
}

static void test_integers(Tally *t) {
    check(t, rt_f32_to_i32(2147483648.0f) == INT32_MAX && rt_f32_to_i32(-3e9f) == INT32_MIN, "i32");
    check(t, rt_f32_to_i32(NAN) == 0 && rt_f32_to_i32(-1.9f) == -1, "i32 of NaN, truncation");
    check(t, rt_f32_to_i32(2147483520.0f) == 2147483520, "largest f32 in i32");
    check(t, rt_f32_to_i64(INFINITY) == INT64_MAX && rt_f32_to_i64(-1e30f) == INT64_MIN, "i64");
    check(t, rt_f32_to_i64(NAN) == 0 && rt_f32_to_i64(1e10f) == 10000000000, "i64 of NaN");
    check(t, rt_add_i32(INT32_MAX, 1) == INT32_MIN && rt_sub_i32(INT32_MIN, 1) == INT32_MAX, "+-");
    check(t, rt_mul_i32(65536, 65537) == 65536, "i32 product wraps");
    check(t, rt_add_i64(INT64_MAX, 1) == INT64_MIN && rt_sub_i64(INT64_MIN, 1) == INT64_MAX, "64");
    check(t, rt_mul_i64(INT64_MIN, -1) == INT64_MIN, "i64 product wraps");
    check(t, rt_div_i64(7, 0) == 0 && rt_mod_i64(7, 0) == 0, "division by zero");
    check(t, rt_div_i64(INT64_MIN, -1) == INT64_MIN && rt_mod_i64(INT64_MIN, -1) == 0, "min / -1");
    check(t, rt_div_i32(INT32_MIN, -1) == INT32_MIN && rt_mod_i32(INT32_MIN, -1) == 0, "i32 / -1");
    check(t, rt_floordiv_i64(INT64_MIN, -1) == INT64_MIN, "floor of min / -1");
    check(t, rt_floordiv_i64(7, 0) == 0 && rt_floormod_i64(7, 0) == 0, "floor division by zero");
    int truncating = 1, flooring = 1;
    for (int64_t a = -20; a <= 20; a++)
        for (int64_t b = -6; b <= 6; b++) {
            if (b == 0)
                continue;
            double q = (double)a / (double)b;
            truncating &= rt_div_i64(a, b) == (int64_t)trunc(q);
            truncating &= rt_mod_i64(a, b) == a - (int64_t)trunc(q) * b;
            flooring &= rt_floordiv_i64(a, b) == (int64_t)floor(q);
            flooring &= rt_floormod_i64(a, b) == a - (int64_t)floor(q) * b;
        }
    check(t, truncating, "truncating division");
    check(t, flooring, "flooring division");
}

/* Lines of tests/data/threefry.txt: "block k0 k1 c0 c1 o0 o1", "key seed k0 k1",
 * "child seed i o0 o1", "bits seed i value", "uniform seed i value", "open seed i value"; words in
 * hexadecimal, uniforms as the bits of the f32. */
static int threefry_line(const char *line) {
    char kind[16];
    unsigned long long v[6] = {0};
    int n = sscanf(line, "%15s %llx %llx %llx %llx %llx %llx", kind, &v[0], &v[1], &v[2], &v[3],
                   &v[4], &v[5]);
    RtKey key = rt_key(v[0]);
    uint32_t i = (uint32_t)v[1];
    if (n == 7 && strcmp(kind, "block") == 0) {
        RtKey k = {{(uint32_t)v[0], (uint32_t)v[1]}};
        RtKey x = rt_threefry(k, (uint32_t)v[2], (uint32_t)v[3]);
        return x.word[0] == v[4] && x.word[1] == v[5];
    }
    if (n == 4 && strcmp(kind, "key") == 0)
        return key.word[0] == v[1] && key.word[1] == v[2];
    if (n == 5 && strcmp(kind, "child") == 0) {
        RtKey x = rt_child(key, i);
        return x.word[0] == v[2] && x.word[1] == v[3];
    }
    if (n == 4 && strcmp(kind, "bits") == 0)
        return rt_random_bits(key, i) == v[2];
    if (n == 4 && strcmp(kind, "uniform") == 0)
        return rt_bits(rt_uniform(key, i)) == v[2];
    return n == 4 && strcmp(kind, "open") == 0 && rt_bits(rt_open_uniform(key, i)) == v[2];
}

static void test_threefry(Tally *t) {
    FILE *f = fopen("tests/data/threefry.txt", "r");
    check(t, f != NULL, "tests/data/threefry.txt is there (run from the project's root)");
    if (f == NULL)
        return;
    char line[256];
    int lines = 0;
    while (fgets(line, sizeof line, f))
        if (line[0] != '#') {
            lines++;
            check(t, threefry_line(line), line);
        }
    check(t, lines > 100, "threefry vectors were read");
    fclose(f);
}

int main(int argc, char **argv) {
    Tally t = {0, 0};
    long every = argc > 2 && strcmp(argv[1], "--every") == 0 ? atol(argv[2]) : 997;
    test_functions(&t, every > 0 ? (uint32_t)every : 1);
    test_exp_edge(&t);
    test_order(&t);
    test_f16(&t);
    test_bf16(&t);
    test_integers(&t);
    test_threefry(&t);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

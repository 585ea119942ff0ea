// The interpreter on whole functions: calls, loops, blocks of weights, storage formats, and what it
// refuses. Expected values are computed here, in plain C.
#include "interp_run.h"

// ---- Normalisation and softmax -----------------------------------------------------------------

static const char norms[] =
    "core 1\ndim S\n"
    "fn @rms_norm \"rms_norm\" (%x: f32[S, 70], %w: f32[70], %eps: f32[]) -> f32[S, 70] {\n"
    "    %m: f32[S] = comp(%x) [s] sum.add [h < 70] {\n"
    "        let a = read(0, s, h); div(mul(a, a), 70.0:f32) }\n"
    "    %y: f32[S, 70] = comp(%x, %m, %w, %eps) [s, h] {\n"
    "        mul(mul(read(0, s, h), rsqrt(add(read(1, s), read(3)))), read(2, h)) }\n"
    "    return %y\n}\n"
    "fn @softmax \"softmax\" (%x: f32[S, 70]) -> f32[S, 70] {\n"
    "    %p: f32[S] = comp(%x) [s] max [h < 70] { read(0, s, h) }\n"
    "    %e: f32[S, 70] = comp(%x, %p) [s, h] { exp(sub(read(0, s, h), read(1, s))) }\n"
    "    %t: f32[S] = comp(%e) [s] sum.add [h < 70] { read(0, s, h) }\n"
    "    %y: f32[S, 70] = comp(%e, %t) [s, h] { div(read(0, s, h), read(1, s)) }\n"
    "    return %y\n}\n";

enum { ROWS = 5, WIDTH = 70 };

static void rms_row(const float *x, const float *w, float eps, float *y) {
    float squares[WIDTH];
    for (int h = 0; h < WIDTH; h++)
        squares[h] = x[h] * x[h] / 70.0f;
    float scale = 1.0f / sqrtf(rt_sum(squares, WIDTH) + eps);
    for (int h = 0; h < WIDTH; h++)
        y[h] = x[h] * scale * w[h];
}

static void softmax_row(const float *x, float *y) {
    float peak = x[0];
    for (int h = 0; h < WIDTH; h++)
        peak = x[h] > peak ? x[h] : peak;
    for (int h = 0; h < WIDTH; h++)
        y[h] = x[h] - peak;
    rt_exp_n(y, y, WIDTH);
    float total = rt_sum(y, WIDTH);
    for (int h = 0; h < WIDTH; h++)
        y[h] /= total;
}

static void test_norms(Test *t, RtPool *pool) {
    Random random = {3};
    float x[ROWS * WIDTH], w[WIDTH], want[ROWS * WIDTH], eps = 1e-5f;
    fill(&random, x, ROWS * WIDTH);
    fill(&random, w, WIDTH);
    Run r = start(t, norms, pool);
    bind(&r, "S", ROWS);
    Tensor args[] = {f32(x, 2, ROWS, WIDTH, 0, 0), f32(w, 1, WIDTH, 0, 0, 0),
                     f32(&eps, 0, 0, 0, 0, 0)};
    must(&r, "rms_norm", NULL, 3, args);
    for (int s = 0; s < ROWS; s++)
        rms_row(x + s * WIDTH, w, eps, want + s * WIDTH);
    CHECK(t, same(&r, 0, want, sizeof want));
    must(&r, "softmax", NULL, 1, args);
    for (int s = 0; s < ROWS; s++)
        softmax_row(x + s * WIDTH, want + s * WIDTH);
    CHECK(t, same(&r, 0, want, sizeof want));
    bind(&r, "S", 0);
    args[0].dims[0] = 0;
    must(&r, "softmax", NULL, 1, args);
    CHECK(t, r.results[0].dims[0] == 0);
    stop(&r);
}

// ---- Attention with grouped heads, rope --------------------------------------------------------

static const char attention[] =
    "core 1\ndim S\n"
    "fn @attend \"attend\" (%q: f32[S, 6, 16], %k: f32[S, 2, 16], %v: f32[S, 2, 16])\n"
    " -> f32[S, 96] {\n"
    "    %s: f32[6, S, S] = comp(%q, %k) [h, i, j] sum.fma [d < 16] {\n"
    "        mul(read(0, i, h, d), read(1, j, floordiv(h, 3), d)) }\n"
    "    %m: f32[6, S, S] = comp(%s) [h, i, j] {\n"
    "        select(le(j, i), mul(read(0, h, i, j), 0.25:f32), -1e+30:f32) }\n"
    "    %p: f32[6, S] = comp(%m) [h, i] max [j < S] { read(0, h, i, j) }\n"
    "    %e: f32[6, S, S] = comp(%m, %p) [h, i, j] { exp(sub(read(0, h, i, j), read(1, h, i))) }\n"
    "    %t: f32[6, S] = comp(%e) [h, i] sum.add [j < S] { read(0, h, i, j) }\n"
    "    %w: f32[6, S, S] = comp(%e, %t) [h, i, j] { div(read(0, h, i, j), read(1, h, i)) }\n"
    "    %o: f32[S, 6, 16] = comp(%w, %v) [i, h, d] sum.fma [j < S] {\n"
    "        mul(read(0, h, i, j), read(1, j, floordiv(h, 3), d)) }\n"
    "    %y: f32[S, 96] = view(%o)\n"
    "    return %y\n}\n"
    "fn @rotate \"rotate\" (%x: f32[S, 16], %c: f32[S, 16], %s: f32[S, 16]) -> f32[S, 16] {\n"
    "    %h: f32[S, 16] = comp(%x) [s, d] {\n"
    "        select(lt(d, 8), neg(read(0, s, add(d, 8))), read(0, s, sub(d, 8))) }\n"
    "    %y: f32[S, 16] = comp(%x, %h, %c, %s) [s, d] {\n"
    "        add(mul(read(0, s, d), read(2, s, d)), mul(read(1, s, d), read(3, s, d))) }\n"
    "    return %y\n}\n";

enum { LENGTH = 37, HEADS = 6, GROUPS = 2, DEPTH = 16 };

static void attend_row(const float *q, const float *k, const float *v, int h, int i, float *y) {
    float s[LENGTH], column[LENGTH], peak = -1e30f, total;
    for (int j = 0; j < LENGTH; j++) {
        float dot = rt_dot(q + (i * HEADS + h) * DEPTH, k + (j * GROUPS + h / 3) * DEPTH, DEPTH);
        s[j] = j <= i ? dot * 0.25f : -1e30f;
        peak = s[j] > peak ? s[j] : peak;
    }
    for (int j = 0; j < LENGTH; j++)
        s[j] -= peak;
    rt_exp_n(s, s, LENGTH);
    total = rt_sum(s, LENGTH);
    for (int j = 0; j < LENGTH; j++)
        s[j] /= total;
    for (int d = 0; d < DEPTH; d++) {
        for (int j = 0; j < LENGTH; j++)
            column[j] = v[(j * GROUPS + h / 3) * DEPTH + d];
        y[(i * HEADS + h) * DEPTH + d] = rt_dot(s, column, LENGTH);
    }
}

static void test_attention(Test *t, RtPool *pool) {
    Random random = {5};
    static float q[LENGTH * HEADS * DEPTH], k[LENGTH * GROUPS * DEPTH], v[LENGTH * GROUPS * DEPTH];
    static float want[LENGTH * HEADS * DEPTH];
    fill(&random, q, LENGTH * HEADS * DEPTH);
    fill(&random, k, LENGTH * GROUPS * DEPTH);
    fill(&random, v, LENGTH * GROUPS * DEPTH);
    for (int i = 0; i < LENGTH; i++) {
        for (int h = 0; h < HEADS; h++)
            attend_row(q, k, v, h, i, want);
    }
    Run r = start(t, attention, pool);
    bind(&r, "S", LENGTH);
    Tensor args[] = {f32(q, 3, LENGTH, HEADS, DEPTH, 0), f32(k, 3, LENGTH, GROUPS, DEPTH, 0),
                     f32(v, 3, LENGTH, GROUPS, DEPTH, 0)};
    for (int mode = 0; mode < 4; mode++) {
        interp_mode(r.interp, (InterpMode)mode);
        must(&r, "attend", NULL, 3, args);
        CHECK(t, same(&r, 0, want, sizeof want));
    }
    Tensor rope[] = {f32(q, 2, LENGTH, DEPTH, 0, 0), f32(k, 2, LENGTH, DEPTH, 0, 0),
                     f32(v, 2, LENGTH, DEPTH, 0, 0)};
    must(&r, "rotate", NULL, 3, rope);
    for (int i = 0; i < LENGTH * DEPTH; i++) {
        float other = i % 16 < 8 ? -q[i + 8] : q[i - 8];
        want[i] = q[i] * k[i] + other * v[i];
    }
    CHECK(t, same(&r, 0, want, sizeof(float) * LENGTH * DEPTH));
    CHECK(t, interp_peak(r.interp) > 0);
    stop(&r);
}

// ---- Blocks, loops, calls, storage formats -----------------------------------------------------

static const char model[] =
    "core 1\ndim S, N\n"
    "block @Layer \"Layer\" {\n    param w: f32[64, 64]\n    param b: f32[64]\n}\n"
    "block @Net \"Net\" {\n    param table: f32[40, 64]\n    array layers: @Layer[3]\n"
    "    sub last: @Layer\n    state seen: i32[]\n}\n"
    "fn @Layer.forward \"Layer.forward\" (%self: @Layer, %x: f32[S, 64]) -> f32[S, 64] {\n"
    "    %w: f32[64, 64] = member %self.w\n    %b: f32[64] = member %self.b\n"
    "    %m: f32[S, 64] = comp(%x, %w) [s, o] sum.fma [h < 64] { mul(read(0, s, h), read(1, o, h)) "
    "}\n"
    "    %y: f32[S, 64] = comp(%m, %b) [s, o] { add(read(0, s, o), read(1, o)) }\n"
    "    return %y\n}\n"
    "fn @both \"both\" (%x: f32[S, 64]) -> (f32[S, 64], f32[S]) {\n"
    "    %n: f32[S, 64] = comp(%x) [s, h] { neg(read(0, s, h)) }\n"
    "    %t: f32[S] = comp(%x) [s] max [h < 64] { read(0, s, h) }\n"
    "    return %n, %t\n}\n"
    "entry fn @Net.forward \"Net.forward\" (%self: @Net, %ids: i32[S]) -> (f32[S, 64], f32[S], "
    "i64[]) {\n"
    "    %table: f32[40, 64] = member %self.table\n"
    "    %x: f32[S, 64] = comp(%table, %ids) [s, h] { read(0, cast.i64(read(1, s)), h) }\n"
    "    %layers: @Layer[3] = member %self.layers\n"
    "    %zero: i64[] = comp() [] { 0 }\n"
    "    %loop: (f32[S, 64], i64[]) = loop %i < 3 (%h = %x, %n = %zero) {\n"
    "        %layer: @Layer = pick %layers, %i\n"
    "        %g: f32[S, 64] = call @Layer.forward(%layer, %h)\n"
    "        %k: i64[] = comp(%n, %i) [] { add(mul(read(0), 10), read(1)) }\n"
    "        yield %g, %k\n    }\n"
    "    %a: f32[S, 64] = result %loop, 0\n    %c: i64[] = result %loop, 1\n"
    "    %last: @Layer = member %self.last\n"
    "    %d: f32[S, 64] = call @Layer.forward(%last, %a)\n"
    "    %e: (f32[S, 64], f32[S]) = call @both(%d)\n"
    "    %f: f32[S, 64] = result %e, 0\n    %p: f32[S] = result %e, 1\n"
    "    return %f, %p, %c\n}\n"
    "fn @weights \"weights\" (%self: @Net) -> (f32[40, 64], f32[2560], f32[40, 64]) {\n"
    "    %t: f32[40, 64] = member %self.table\n    %v: f32[2560] = view(%t)\n"
    "    %i: f32[40, 64] = comp(%t) [a, b] { read(0, a, b) }\n"
    "    return %t, %v, %i\n}\n"
    "fn @swap \"swap\" (%x: f32[S], %y: f32[S]) -> (f32[S], f32[S]) {\n"
    "    %l: (f32[S], f32[S]) = loop %i < N (%a = %x, %b = %y) { yield %b, %a }\n"
    "    %u: f32[S] = result %l, 0\n    %v: f32[S] = result %l, 1\n    return %u, %v\n}\n";

// The weights as stored, and as the numbers that they mean.
typedef struct {
    uint8_t q8[64 * 68]; // rows of two blocks of 34 bytes
    uint16_t half[64 * 64];
    float plain[64 * 64];
    float bias[64];
    int32_t rows[64];
    float table[40 * 64];
    float meant[5][64 * 64]; // of layers 0..2 and last; table
    const char *missing;
    int asked;
} Store;

static void make_store(Store *s) {
    Random random = {11};
    for (size_t i = 0; i < sizeof s->q8; i++)
        s->q8[i] = i % 34 == 1 ? 0x20 : (uint8_t)random_bits(&random);
    fill(&random, s->plain, 64 * 64);
    fill(&random, s->bias, 64);
    fill(&random, s->table, 40 * 64);
    for (int i = 0; i < 64 * 64; i++)
        s->half[i] = half_write(DT_F16, (double)s->plain[i] / 8);
    for (int i = 0; i < 64; i++)
        s->rows[i] = (i * 7 + 3) % 64;
    rt_format_row(RT_Q8_0, s->q8, 0, 64 * 64, s->meant[0]);
    rt_format_row(RT_F16, s->half, 0, 64 * 64, s->meant[1]);
    for (int i = 0; i < 64; i++)
        memcpy(s->meant[2] + i * 64, s->plain + s->rows[i] * 64, 64 * sizeof(float));
    for (int i = 0; i < 64; i++)
        rt_format_row(RT_Q8_0, s->q8, (uint64_t)s->rows[i] * 64, 64, s->meant[3] + i * 64);
    for (int i = 0; i < 40; i++)
        rt_format_row(RT_Q8_0, s->q8, (uint64_t)(i * 7 % 40) * 64, 64, s->meant[4] + i * 64);
}

static bool find_weight(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    Store *s = ctx;
    static const int32_t table_rows[40] = {0,  7,  14, 21, 28, 35, 2,  9,  16, 23, 30, 37, 4,  11,
                                           18, 25, 32, 39, 6,  13, 20, 27, 34, 1,  8,  15, 22, 29,
                                           36, 3,  10, 17, 24, 31, 38, 5,  12, 19, 26, 33};
    s->asked++;
    if (s->missing && strcmp(path, s->missing) == 0)
        return false;
    *out = f32(s->bias, 1, 64, 0, 0, 0);
    if (type->rank == 1)
        return true;
    *out = f32(s->plain, 2, 64, 64, 0, 0);
    if (strcmp(path, "layers.0.w") == 0) {
        out->data = s->q8;
        out->format = RT_Q8_0;
    } else if (strcmp(path, "layers.1.w") == 0) {
        out->data = s->half;
        out->format = RT_F16;
    } else if (strcmp(path, "layers.2.w") == 0) {
        out->rows = s->rows;
    } else if (strcmp(path, "last.w") == 0) {
        out->data = s->q8;
        out->format = RT_Q8_0;
        out->rows = s->rows;
    } else {
        *out = f32((const float *)s->q8, 2, 40, 64, 0, 0);
        out->format = RT_Q8_0;
        out->rows = table_rows;
    }
    return true;
}

static void layer_row(const Store *s, int layer, float *x) {
    float y[64];
    for (int o = 0; o < 64; o++)
        y[o] = rt_dot(x, s->meant[layer] + o * 64, 64) + s->bias[o];
    memcpy(x, y, sizeof y);
}

static void test_model(Test *t, RtPool *pool) {
    static Store store;
    make_store(&store);
    store.asked = 0;
    Run r = start(t, model, pool);
    const int32_t ids[7] = {3, 39, -4, 1000, 0, 17, 3}; // clamped to 0..39
    const CoreBlock *net = r.core->blocks.data[1];
    bind(&r, "S", 7);
    InterpBlock *block = interp_block(r.interp, net, find_weight, &store, r.error, sizeof r.error);
    if (!block)
        printf("%s\n", r.error);
    CHECK(t, block && store.asked == 9);
    Tensor arg = {.dtype = DT_I32, .rank = 1, .dims = {7}, .data = ids};
    for (int mode = 0; mode < 4; mode++) {
        interp_mode(r.interp, (InterpMode)mode);
        must(&r, "Net.forward", block, 1, &arg);
        for (int s = 0; s < 7; s++) {
            int id = ids[s] < 0 ? 0 : ids[s] > 39 ? 39 : ids[s];
            float x[64], peak = -INFINITY;
            memcpy(x, store.meant[4] + id * 64, sizeof x);
            for (int layer = 0; layer < 4; layer++)
                layer_row(&store, layer, x);
            for (int h = 0; h < 64; h++) {
                peak = x[h] > peak ? x[h] : peak;
                x[h] = -x[h];
            }
            CHECK(t, memcmp(floats(&r, 0) + s * 64, x, sizeof x) == 0 && floats(&r, 1)[s] == peak);
        }
        CHECK(t, *(const int64_t *)r.results[2].data == 12);
    }
    must(&r, "weights", block, 0, NULL);
    for (int k = 0; k < 3; k++)
        CHECK(t, same(&r, k, store.meant[4], 40 * 64 * sizeof(float)) && !r.results[k].rows);
    stop(&r);
}

static void test_swap(Test *t) {
    Run r = start(t, model, NULL);
    float x[3] = {1, 2, 3}, y[3] = {4, 5, 6};
    Tensor args[] = {f32(x, 1, 3, 0, 0, 0), f32(y, 1, 3, 0, 0, 0)};
    bind(&r, "S", 3);
    for (int n = 0; n < 4; n++) {
        bind(&r, "N", n);
        must(&r, "swap", NULL, 2, args);
        CHECK(t, same(&r, 0, n % 2 ? y : x, sizeof x) && same(&r, 1, n % 2 ? x : y, sizeof x));
    }
    stop(&r);
}

// ---- What is refused ---------------------------------------------------------------------------

static void refuses(Run *r, const char *label, const InterpBlock *self, int n, const Tensor *args,
                    const char *text) {
    bool ok = call(r, label, self, n, args);
    CHECK(r->test, !ok);
    if (!ok && !strstr(r->error, text))
        printf("not about \"%s\": %s\n", text, r->error);
    CHECK(r->test, ok || strstr(r->error, text));
}

static void test_refusals(Test *t) {
    static Store store;
    make_store(&store);
    Run r = start(t, model, NULL);
    const CoreBlock *net = r.core->blocks.data[1];
    float x[6] = {1, 2, 3, 4, 5, 6};
    Tensor args[] = {f32(x, 1, 3, 0, 0, 0), f32(x, 1, 3, 0, 0, 0)};
    refuses(&r, "swap", NULL, 2, args, "S has no value");
    bind(&r, "S", -3);
    refuses(&r, "swap", NULL, 2, args, "negative");
    bind(&r, "S", 3);
    refuses(&r, "swap", NULL, 1, args, "2 arguments, not 1");
    refuses(&r, "swap", NULL, 2, args, "N has no value");
    args[1].dims[0] = 2;
    refuses(&r, "swap", NULL, 2, args, "argument 2 (y) of swap must be f32[3] but is f32[2]");
    args[1].dims[0] = 3;
    args[1].dtype = DT_I32;
    refuses(&r, "swap", NULL, 2, args, "must be f32[3] but is i32[3]");
    refuses(&r, "Net.forward", NULL, 1, args, "weights of block Net");
    store.missing = "layers.1.b";
    CHECK(t, !interp_block(r.interp, net, find_weight, &store, r.error, sizeof r.error));
    CHECK(t, strstr(r.error, "layers.1.b") != NULL);
    stop(&r);
}

// Programs whose sizes make no sense end in messages.
static void test_hostile(Test *t) {
    static const char text[] =
        "core 1\ndim N\n"
        "fn @big \"big\" () -> f32[N, N, N] { %y: f32[N, N, N] = comp() [i, j, k] { 1.0:f32 } "
        "return %y }\n"
        "fn @negative \"negative\" () -> i64[N - 5] { %y: i64[N - 5] = comp() [i] { i } return %y "
        "}\n"
        "fn @deep \"deep\" () -> f32[] { %y: f32[] = comp() [] sum.add [i < N, j < N, k < N] { "
        "1.0:f32 }\n"
        " return %y }\n"
        "fn @exp64 \"exp64\" (%x: f64[2]) -> f64[2] { %y: f64[2] = comp(%x) [i] { exp(read(0, i)) "
        "}\n"
        " return %y }\n"
        "fn @far \"far\" (%x: f32[4]) -> f32[4] { %y: f32[4] = comp(%x) [i] {\n"
        " read(0, add(mul(i, 9223372036854775807), mul(dim(N), 4611686018427387904))) } return %y "
        "}\n"
        "fn @empty \"empty\" (%x: f32[0]) -> f32[4] { %y: f32[4] = comp(%x) [i] { read(0, i) } "
        "return %y }\n";
    Run r = start(t, text, NULL);
    double d[2] = {1, 2};
    float x[4] = {1, 2, 3, 4}, want[4] = {1, 4, 1, 1};
    Tensor wide = {.dtype = DT_F64, .rank = 1, .dims = {2}, .data = d};
    Tensor plain = f32(x, 1, 4, 0, 0, 0), none = f32(NULL, 1, 0, 0, 0, 0);
    bind(&r, "N", 1 << 20);
    refuses(&r, "big", NULL, 0, NULL, "too many points");
    refuses(&r, "deep", NULL, 0, NULL, "too many points");
    bind(&r, "N", 6000);
    refuses(&r, "big", NULL, 0, NULL, "more than 65536 MiB");
    interp_limit(r.interp, 1 << 20, 1000);
    bind(&r, "N", 100);
    refuses(&r, "big", NULL, 0, NULL, "more than the 1000 steps");
    refuses(&r, "deep", NULL, 0, NULL, "more than the 1000 steps");
    interp_limit(r.interp, UINT64_MAX, UINT64_MAX);
    bind(&r, "N", 2);
    refuses(&r, "negative", NULL, 0, NULL, "negative extent -3");
    refuses(&r, "exp64", NULL, 1, &wide, "exp of f64 is not available");
    bind(&r, "N", 0);
    must(&r, "far", NULL, 1, &plain); // 0, 2^63 - 1, -2, and so on, wrapped and clamped
    CHECK(t, same(&r, 0, want, 8));
    must(&r, "empty", NULL, 1, &none);
    CHECK(t, floats(&r, 0)[3] == 0);
    stop(&r);
}

int main(void) {
    Test t = {0, 0};
    RtPool *pools[3] = {NULL, rt_pool_new(1), rt_pool_new(3)};
    for (int i = 0; i < 3; i++) {
        test_norms(&t, pools[i]);
        test_attention(&t, pools[i]);
        test_model(&t, pools[i]);
        rt_pool_free(pools[i]);
    }
    test_swap(&t);
    test_refusals(&t);
    test_hostile(&t);
    return finish(&t);
}

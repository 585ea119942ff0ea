// Tests of the standard library's attention and caches against straight C in double precision.
#include "stdlib_help.h"

// Two rows, six query heads over two key heads, five queries of width four; a cache of seven.
enum { B = 2, H = 6, HK = 2, Q = 5, K = 7, D = 4, PAGES = 3, SIZE = 4, POOL = 20, P = 4 };
enum { QUERY = B * H * Q * D, KEY = B * HK * K * D, CACHE = B * HK * K * D };

static const char program[] =
    "module t\n"
    "use std.nn.attention::{attention, attention_rows, causal_mask, grouped_attention,\n"
    "    grouped_attention_rows, merge_heads, paged_attention, paged_prefill_attention,\n"
    "    sink_attention, split_heads}\n"
    "use std.nn.cache::{page_slots, write_at, write_rows, write_slot, write_slots, write_span,\n"
    "    write_tokens}\n"
    "pub entry plain(q: Tensor[2, 6, 5, 4; f32], k: Tensor[2, 6, 7, 4; f32],\n"
    "    v: Tensor[2, 6, 7, 4; f32], scale: f32) -> Tensor[2, 6, 5, 4; f32] {\n"
    "    return attention(q, k, v, scale)\n"
    "}\n"
    "pub entry causal(q: Tensor[2, 6, 5, 4; f32], k: Tensor[2, 6, 7, 4; f32],\n"
    "    v: Tensor[2, 6, 7, 4; f32], scale: f32) -> Tensor[2, 6, 5, 4; f32] {\n"
    "    return attention(q, k, v, scale, some(causal_mask<5, 7>()))\n"
    "}\n"
    "pub entry grouped(q: Tensor[2, 6, 5, 4; f32], k: Tensor[2, 2, 7, 4; f32],\n"
    "    v: Tensor[2, 2, 7, 4; f32], scale: f32, m: Tensor[5, 7; bool])\n"
    "    -> Tensor[2, 6, 5, 4; f32] {\n"
    "    return grouped_attention(q, k, v, scale, some(m))\n"
    "}\n"
    "pub entry rows(q: Tensor[2, 6, 5, 4; f32], k: Tensor[2, 6, 7, 4; f32],\n"
    "    v: Tensor[2, 6, 7, 4; f32], scale: f32, m: Tensor[2, 5, 7; bool])\n"
    "    -> Tensor[2, 6, 5, 4; f32] {\n"
    "    return attention_rows(q, k, v, scale, m)\n"
    "}\n"
    "pub entry grouped_rows(q: Tensor[2, 6, 5, 4; f32], k: Tensor[2, 2, 7, 4; f32],\n"
    "    v: Tensor[2, 2, 7, 4; f32], scale: f32, m: Tensor[2, 5, 7; bool])\n"
    "    -> Tensor[2, 6, 5, 4; f32] {\n"
    "    return grouped_attention_rows(q, k, v, scale, m)\n"
    "}\n"
    "pub entry sink(q: Tensor[2, 6, 5, 4; f32], k: Tensor[2, 2, 7, 4; f32],\n"
    "    v: Tensor[2, 2, 7, 4; f32], scale: f32, m: Tensor[2, 5, 7; bool], s: Tensor[6; f32])\n"
    "    -> Tensor[2, 6, 5, 4; f32] {\n"
    "    return sink_attention(q, k, v, s, scale, m)\n"
    "}\n"
    "pub entry paged(q: Tensor[2, 6, 1, 4; f32], k: Tensor[1, 2, 20, 4; f32],\n"
    "    v: Tensor[1, 2, 20, 4; f32], table: Tensor[2, 3; i32], at: Tensor[2; i32], scale: f32)\n"
    "    -> Tensor[2, 6, 1, 4; f32] {\n"
    "    return paged_attention<2, 6, 2, 20, 3, 4, 4, f32>(q, k, v, table, at, scale)\n"
    "}\n"
    "pub entry prefill(q: Tensor[1, 6, 4, 4; f32], k: Tensor[1, 2, 20, 4; f32],\n"
    "    v: Tensor[1, 2, 20, 4; f32], table: Tensor[2, 3; i32], rows: Tensor[4; i32],\n"
    "    at: Tensor[4; i32], scale: f32) -> Tensor[1, 6, 4, 4; f32] {\n"
    "    return paged_prefill_attention<4, 6, 2, 20, 2, 3, 4, 4, f32>(\n"
    "        q, k, v, table, rows, at, scale\n"
    "    )\n"
    "}\n"
    "pub entry heads(x: Tensor[2, 5, 12; f32]) -> Tensor[2, 3, 5, 4; f32] {\n"
    "    return split_heads<2, 5, 3, 4, f32>(x)\n"
    "}\n"
    "pub entry there_and_back(x: Tensor[2, 5, 12; f32]) -> Tensor[2, 5, 12; f32] {\n"
    "    return merge_heads(split_heads<2, 5, 3, 4, f32>(x))\n"
    "}\n"
    "pub entry one(c: Tensor[2, 2, 7, 4; f32], v: Tensor[2, 2, 1, 4; f32], at: i32)\n"
    "    -> Tensor[2, 2, 7, 4; f32] { return write_at(c, v, at) }\n"
    "pub entry span(c: Tensor[2, 2, 7, 4; f32], v: Tensor[2, 2, 3, 4; f32], at: i32)\n"
    "    -> Tensor[2, 2, 7, 4; f32] { return write_span(c, v, at) }\n"
    "pub entry each(c: Tensor[2, 2, 7, 4; f32], v: Tensor[2, 2, 1, 4; f32],\n"
    "    at: Tensor[2; i32]) -> Tensor[2, 2, 7, 4; f32] { return write_rows(c, v, at) }\n"
    "pub entry slot(c: Tensor[2, 2, 7, 4; f32], v: Tensor[1, 2, 3, 4; f32], slot: i32, at: i32)\n"
    "    -> Tensor[2, 2, 7, 4; f32] { return write_slot(c, v, slot, at) }\n"
    "pub entry slots(c: Tensor[2, 2, 7, 4; f32], v: Tensor[3, 2, 3, 4; f32],\n"
    "    slots: Tensor[3; i32], at: i32) -> Tensor[2, 2, 7, 4; f32] {\n"
    "    return write_slots(c, v, slots, at)\n"
    "}\n"
    "pub entry tokens(c: Tensor[2, 2, 7, 4; f32], v: Tensor[1, 2, 5, 4; f32],\n"
    "    rows: Tensor[5; i32], at: Tensor[5; i32]) -> Tensor[2, 2, 7, 4; f32] {\n"
    "    return write_tokens(c, v, rows, at)\n"
    "}\n"
    "pub entry places(table: Tensor[2, 3; i32], at: Tensor[2; i32]) -> Tensor[2; i32] {\n"
    "    return page_slots<2, 3, 4>(table, at)\n"
    "}\n";

// ---- Attention ---------------------------------------------------------------------------------

// One query [D] over n keys and values, visible ones only; `sink` joins the denominator if it is
// not NULL. Everything by the definition, the mean of all values where none is visible.
static void attend(const float *q, const float *const *k, const float *const *v, const bool *seen,
                   int n, float scale, const float *sink, double *out) {
    double share[64], total = sink ? exp((double)*sink) : 0, visible = 0;
    for (int i = 0; i < n; i++) {
        double dot = 0;
        for (int d = 0; d < D; d++)
            dot += (double)q[d] * (double)k[i][d];
        share[i] = seen[i] ? exp(dot * (double)scale) : 0;
        total += share[i];
        visible += seen[i];
    }
    for (int d = 0; d < D; d++)
        out[d] = 0;
    for (int i = 0; i < n; i++) {
        double part = visible > 0 ? share[i] / total : 1.0 / n;
        for (int d = 0; d < D; d++)
            out[d] += part * (double)v[i][d];
    }
}

typedef struct {
    float q[QUERY], k[B * H * K * D], v[B * H * K * D], sinks[H];
    unsigned char mask[B * Q * K];
    float scale;
} Inputs;

// Everything of B, H, Q with `kv` key heads; `mask` is [B or 1, Q, K].
static void attend_all(const Inputs *x, int kv, const unsigned char *mask, bool per_row, bool sinks,
                       double *want) {
    for (int i = 0; i < B * H * Q; i++) {
        int b = i / (H * Q), h = i / Q % H, q = i % Q;
        const float *k[K], *v[K];
        bool seen[K];
        for (int n = 0; n < K; n++) {
            int at = ((b * kv + h / (H / kv)) * K + n) * D;
            k[n] = x->k + at;
            v[n] = x->v + at;
            seen[n] = !mask || mask[((per_row ? b * Q : 0) + q) * K + n];
        }
        attend(x->q + i * D, k, v, seen, K, x->scale, sinks ? &x->sinks[h] : NULL, want + i * D);
    }
}

static Inputs *inputs(Test *t) {
    Inputs *x = calloc(1, sizeof *x);
    if (!x)
        abort();
    random_fill(t, x->q, QUERY, 2);
    random_fill(t, x->k, B * H * K * D, 2);
    random_fill(t, x->v, B * H * K * D, 2);
    random_fill(t, x->sinks, H, 2);
    for (int i = 0; i < B * Q * K; i++)
        x->mask[i] = random_below(t, 3) > 0;
    x->mask[0] = 1;
    x->scale = 0.7f;
    return x;
}

static void test_attention(Test *t) {
    Inputs *x = inputs(t);
    double want[QUERY];
    unsigned char causal[Q * K];
    for (int i = 0; i < Q * K; i++)
        causal[i] = i % K <= i / K + (K - Q);
    Tensor full[] = {F32(x->q, B, H, Q, D), F32(x->k, B, H, K, D), F32(x->v, B, H, K, D),
                     scalar(DT_F32, &x->scale), BOOL(x->mask, B, Q, K)},
           out;
    attend_all(x, H, NULL, false, false, want);
    if (run(t, "plain", 4, full, &out))
        near(t, "attention", &out, want, QUERY, 1e-6);
    attend_all(x, H, causal, false, false, want);
    if (run(t, "causal", 4, full, &out))
        near(t, "attention, causal_mask", &out, want, QUERY, 1e-6);
    memset(x->mask + K, 0, K); // a query that sees nothing
    attend_all(x, H, x->mask, true, false, want);
    if (run(t, "rows", 5, full, &out))
        near(t, "attention_rows", &out, want, QUERY, 1e-6);
    free(x);
}

static void test_grouped(Test *t) {
    Inputs *x = inputs(t);
    double want[QUERY];
    Tensor args[] = {F32(x->q, B, H, Q, D),     F32(x->k, B, HK, K, D), F32(x->v, B, HK, K, D),
                     scalar(DT_F32, &x->scale), BOOL(x->mask, Q, K),    F32(x->sinks, H)},
           out;
    attend_all(x, HK, x->mask, false, false, want);
    if (run(t, "grouped", 5, args, &out))
        near(t, "grouped_attention", &out, want, QUERY, 1e-6);
    args[4] = BOOL(x->mask, B, Q, K);
    attend_all(x, HK, x->mask, true, false, want);
    if (run(t, "grouped_rows", 5, args, &out))
        near(t, "grouped_attention_rows", &out, want, QUERY, 1e-6);
    for (int i = 0; i < B * Q; i++)
        x->mask[i * K] = 1; // beside a sink nothing visible means nothing at all, not the mean
    attend_all(x, HK, x->mask, true, true, want);
    if (run(t, "sink", 6, args, &out))
        near(t, "sink_attention", &out, want, QUERY, 1e-6);
    free(x);
}

// The query of one head of token p, whose row of the table is `pages` and whose position is `at`.
static void attend_paged(const Inputs *x, const float *q, int h, const int32_t *pages, int at,
                         double *out) {
    const float *k[PAGES * SIZE], *v[PAGES * SIZE];
    bool seen[PAGES * SIZE];
    for (int s = 0; s < PAGES * SIZE; s++) {
        int place = pages[s / SIZE] * SIZE + s % SIZE;
        k[s] = x->k + ((h / (H / HK)) * POOL + place) * D;
        v[s] = x->v + ((h / (H / HK)) * POOL + place) * D;
        seen[s] = s <= at;
    }
    attend(q, k, v, seen, PAGES * SIZE, x->scale, NULL, out);
}

static void test_paged(Test *t) {
    Inputs *x = inputs(t);
    static const int32_t table[B * PAGES] = {4, 0, 2, 3, 1, 0}, at[B] = {9, 6};
    static const int32_t rows[P] = {1, 0, 1, 0}, places[P] = {5, 11, 0, 3};
    double want[H * P * D];
    for (int i = 0; i < B * H; i++)
        attend_paged(x, x->q + i * D, i % H, table + i / H * PAGES, at[i / H], want + i * D);
    Tensor args[] = {F32(x->q, B, H, 1, D),
                     F32(x->k, 1, HK, POOL, D),
                     F32(x->v, 1, HK, POOL, D),
                     I32(table, B, PAGES),
                     I32(at, B),
                     scalar(DT_F32, &x->scale)},
           out;
    if (run(t, "paged", 6, args, &out))
        near(t, "paged_attention", &out, want, B * H * D, 1e-6);
    for (int i = 0; i < H * P; i++)
        attend_paged(x, x->q + i * D, i / P, table + rows[i % P] * PAGES, places[i % P],
                     want + i * D);
    Tensor more[] = {F32(x->q, 1, H, P, D), args[1],        args[2], args[3],
                     I32(rows, P),          I32(places, P), args[5]};
    if (run(t, "prefill", 7, more, &out))
        near(t, "paged_prefill_attention", &out, want, H * P * D, 1e-6);
    Tensor where[] = {args[3], args[4]};
    if (run(t, "places", 2, where, &out)) {
        const int32_t *p = out.data;
        CHECK(t, p[0] == table[2] * SIZE + 1 && p[1] == table[4] * SIZE + 2);
    }
    free(x);
}

static void test_heads(Test *t) {
    float x[120];
    double want[120];
    random_fill(t, x, 120, 1);
    for (int i = 0; i < 120; i++) {
        int b = i / 60, h = i / 20 % 3, s = i / 4 % 5, d = i % 4;
        want[i] = (double)x[b * 60 + s * 12 + h * 4 + d];
    }
    Tensor args[] = {F32(x, 2, 5, 12)}, out;
    if (run(t, "heads", 1, args, &out))
        near(t, "split_heads", &out, want, 120, 0);
    if (run(t, "there_and_back", 1, args, &out))
        CHECK(t, memcmp(out.data, x, sizeof x) == 0);
}

// ---- Caches ------------------------------------------------------------------------------------

typedef struct {
    float cache[CACHE], value[3 * HK * 5 * D];
    float want[CACHE];
} Caches;

// What the cache should be after position `at` of row b takes token n of row m of values [., HK, N,
// D].
static void put(Caches *c, int b, int64_t at, int m, int n, int tokens) {
    if (b < 0 || b >= B || at < 0 || at >= K)
        return;
    for (int h = 0; h < HK; h++)
        memcpy(c->want + ((b * HK + h) * K + at) * D, c->value + ((m * HK + h) * tokens + n) * D,
               D * sizeof(float));
}

static void start(Test *t, Caches *c) {
    random_fill(t, c->cache, CACHE, 1);
    random_fill(t, c->value, 3 * HK * 5 * D, 1);
    memcpy(c->want, c->cache, sizeof c->want);
}

static void compare(Test *t, const char *name, int nargs, const Tensor *args, const Caches *c) {
    Tensor out;
    if (!run(t, name, nargs, args, &out))
        return;
    bool same = memcmp(out.data, c->want, sizeof c->want) == 0;
    if (!same)
        printf("%s: another cache than expected\n", name);
    CHECK(t, same);
}

static const int32_t places[] = {0, 3, 4, 6, 7, -1, -2, -3, INT32_MAX, INT32_MIN};

static void test_one_and_span(Test *t) {
    Caches c;
    for (int i = 0; i < 10; i++) {
        int32_t at = places[i];
        start(t, &c);
        Tensor args[] = {F32(c.cache, B, HK, K, D), F32(c.value, B, HK, 1, D), scalar(DT_I32, &at)};
        for (int b = 0; b < B; b++)
            put(&c, b, at, b, 0, 1);
        compare(t, "one", 3, args, &c);
        start(t, &c);
        args[1] = F32(c.value, B, HK, 3, D);
        for (int b = 0; b < 3 * B; b++)
            put(&c, b / 3, (int64_t)at + b % 3, b / 3, b % 3, 3);
        compare(t, "span", 3, args, &c);
        int32_t each[B] = {at, 2};
        start(t, &c);
        Tensor rows[] = {args[0], F32(c.value, B, HK, 1, D), I32(each, B)};
        for (int b = 0; b < B; b++)
            put(&c, b, each[b], b, 0, 1);
        compare(t, "each", 3, rows, &c);
    }
}

static void test_slots(Test *t) {
    static const int32_t named[][3] = {{1, 0, 5}, {-1, 1, 9}, {0, 0, 7}, {2, 1, 1}, {4, 4, 4}};
    Caches c;
    for (int i = 0; i < 10; i++) {
        int32_t at = places[i], slot = i % 4 - 1;
        start(t, &c);
        Tensor args[] = {F32(c.cache, B, HK, K, D), F32(c.value, 1, HK, 3, D),
                         scalar(DT_I32, &slot), scalar(DT_I32, &at)};
        for (int n = 0; n < 3; n++)
            put(&c, slot, (int64_t)at + n, 0, n, 3);
        compare(t, "slot", 4, args, &c);
        start(t, &c);
        const int32_t *slots = named[i % 5];
        Tensor many[] = {args[0], F32(c.value, 3, HK, 3, D), I32(slots, 3), args[3]};
        for (int b = 0; b < B; b++) {
            int sum = 0, hits = 0;
            for (int m = 0; m < 3; m++) {
                sum += slots[m] == b ? m : 0;
                hits += slots[m] == b;
            }
            for (int n = 0; hits && n < 3; n++)
                put(&c, b, (int64_t)at + n, sum < 2 ? sum : 2, n, 3);
        }
        compare(t, "slots", 4, many, &c);
    }
}

static void test_tokens(Test *t) {
    static const int32_t rows[][5] = {{0, 1, 0, 1, 1}, {1, 1, 1, 0, 0}, {2, -1, 0, 1, 0}};
    static const int32_t at[][5] = {{0, 6, 3, 6, 2}, {4, 4, 4, 0, 0}, {1, 1, 7, -1, 5}};
    Caches c;
    for (int i = 0; i < 3; i++) {
        start(t, &c);
        Tensor args[] = {F32(c.cache, B, HK, K, D), F32(c.value, 1, HK, 5, D), I32(rows[i], 5),
                         I32(at[i], 5)};
        for (int p = 0; p < 5; p++)
            put(&c, rows[i][p], at[i][p], 0, p, 5); // a later one overwrites an earlier one
        compare(t, "tokens", 4, args, &c);
    }
}

int main(void) {
    Test t = {0};
    open_program(&t, program);
    test_attention(&t);
    test_grouped(&t);
    test_paged(&t);
    test_heads(&t);
    test_one_and_span(&t);
    test_slots(&t);
    test_tokens(&t);
    return finish(&t);
}

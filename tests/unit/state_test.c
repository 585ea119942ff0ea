// States, loops, structs and running sums, from source to results.
#include "package_help.h"

// ---- States ------------------------------------------------------------------------------------

static const char states[] =
    "module t\n"
    "block Counter<N: Dim> where N > 0 {\n"
    "    state total: Tensor[N; f32]\n"
    "    state calls: Tensor[1; i64]\n"
    "    pub fn bump(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
    "        let old = total\n"
    "        total = total + x\n"
    "        calls = calls + 1\n"
    "        return old\n"
    "    }\n"
    "    pub fn now() -> Tensor[N; f32] { return total }\n"
    "    pub fn swap(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
    "        let old = total\n"
    "        total = x\n"
    "        return old\n"
    "    }\n"
    "}\n"
    "block Model<N: Dim> where N > 0 {\n"
    "    sub a: Counter<N>\n"
    "    sub b: [Counter<N>; 3]\n"
    "    state last: Tensor[N; f32]\n"
    // Operands from left to right: x, then 2x.
    "    entry order(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
    "        return a.bump(x) + 10.0 * a.bump(x)\n"
    "    }\n"
    "    entry count() -> (Tensor[1; i64], Tensor[N; f32]) { return (a.calls, a.total) }\n"
    "    entry each(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
    "        var y = x\n"
    "        static for c in b { y = y + c.bump(y) }\n"
    "        return y\n"
    "    }\n"
    "    entry third() -> Tensor[N; f32] { return b[2].total }\n"
    // What was read before a call that changes it stays as it was read.
    "    entry stale(x: Tensor[N; f32]) -> (Tensor[N; f32], Tensor[N; f32]) {\n"
    "        let before = a.now()\n"
    "        let inner = a.total + a.bump(x)\n"
    "        return (before, inner)\n"
    "    }\n"
    "    entry given(x: Tensor[N; f32]) -> (Tensor[N; f32], Tensor[N; f32]) {\n"
    "        last = x\n"
    "        let old = a.swap(last)\n"
    "        last = last * 2.0\n"
    "        return (old, a.swap(last))\n"
    "    }\n"
    "    entry shifted(x: Tensor[N; f32]) -> Tensor[N; f32] {\n"
    "        var c = last\n"
    "        var i: i32 = 0\n"
    "        while i < 3 {\n"
    "            last = last + x\n"
    "            c = c + last\n"
    "            i = i + 1\n"
    "        }\n"
    "        return c\n"
    "    }\n"
    "    entry swapped(n: i32) -> (Tensor[N; f32], Tensor[N; f32]) {\n"
    "        var c = last\n"
    "        var i: i32 = 0\n"
    "        while i < n {\n"
    "            let old = last\n"
    "            last = c\n"
    "            c = old + 1.0\n"
    "            i = i + 1\n"
    "        }\n"
    "        return (c, last)\n"
    "    }\n"
    "    entry silent(n: i32) -> i32 {\n"
    "        for _ in 0..4 { last = last * 2.0 }\n"
    "        return n\n"
    "    }\n"
    "}\n";

static bool is(const Tensor *t, int n, const float *want) {
    return t->data && memcmp(t->data, want, sizeof(float) * (size_t)n) == 0;
}

#define IS(t, got, ...)                                                                            \
    CHECK(t, is(got, (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__}))

static void test_states(Test *t) {
    const float x[] = {1, 2};
    const int32_t n = 3;
    Tensor r[2] = {0}, arg = F32(x, 2), count = SCALAR(DT_I32, &n);
    if (!open_text(t, states, BOUNDS({"N", 2})))
        return;
    call(t, "order", NULL, 0, 1, &arg, r);
    IS(t, &r[0], 10, 20);
    call(t, "count", NULL, 0, 0, NULL, r);
    CHECK(t, *(const int64_t *)r[0].data == 2);
    IS(t, &r[1], 2, 4);
    for (int i = 0; i < 2; i++)
        call(t, "each", NULL, 0, 1, &arg, r);
    IS(t, &r[0], 4, 8); // the second time every counter gives 1, 2
    call(t, "third", NULL, 0, 0, NULL, r);
    IS(t, &r[0], 4, 8);
    call(t, "stale", NULL, 0, 1, &arg, r);
    IS(t, &r[0], 2, 4);
    IS(t, &r[1], 4, 8);
    call(t, "given", NULL, 0, 1, &arg, r);
    IS(t, &r[0], 3, 6);
    IS(t, &r[1], 1, 2);
    call(t, "shifted", NULL, 0, 1, &arg, r); // last is 2, 4
    IS(t, &r[0], 2 + 3 + 4 + 5, 4 + 6 + 8 + 10);
    call(t, "swapped", NULL, 0, 1, &count, r); // c 5, last 5; 6, 5; 6, 6; 7, 6
    IS(t, &r[0], 7, 12);
    IS(t, &r[1], 6, 11);
    call(t, "silent", NULL, 0, 1, &count, r);
    call(t, "shifted", NULL, 0, 1, &arg, r);
    IS(t, &r[0], 96 + 97 + 98 + 99, 176 + 178 + 180 + 182);
    interp_reset_state(t->self);
    call(t, "count", NULL, 0, 0, NULL, r);
    CHECK(t, *(const int64_t *)r[0].data == 0);
    IS(t, &r[1], 0, 0);
}

// ---- Loops and structs -------------------------------------------------------------------------

static const char loops[] =
    "module t\n"
    "enum Way { Up, Down }\n"
    "struct Pair<N: Dim, T: Numeric> {\n"
    "    first: Tensor[N; T]\n"
    "    second: (i64, Tensor[N; T])\n"
    "}\n"
    "struct Both<N: Dim> {\n"
    "    pair: Pair<N, f32>\n"
    "    scale: f32\n"
    "}\n"
    "fn pair<N: Dim, T: Numeric>(x: Tensor[N; T], n: i64) -> Pair<N, T> {\n"
    "    return Pair(first = x + x, second = (n, x))\n"
    "}\n"
    "fn total<N: Dim>(p: Pair<N, f32>, q: (f32, Pair<N, f32>)) -> f32 {\n"
    "    let (s, r) = q\n"
    "    let (n, x) = r.second\n"
    "    let own = p.first\n"
    "    return s * (sum[i] own[i] * x[i]) + cast<f32>(n)\n"
    "}\n"
    "fn way(w: Way) -> Way { return match w { Up => Way.Down Down => Way.Up } }\n"
    "block Model<N: Dim> where N > 0 {\n"
    "    entry structs(x: Tensor[N; f32], up: bool) -> Both<N> {\n"
    "        let p = pair(x, 3)\n"
    "        let q = if up { p } else { pair(p.first, 4) }\n"
    "        return Both(pair = q, scale = total(p, (2.0, q)))\n"
    "    }\n"
    "    entry takes(b: Both<N>) -> f32 {\n"
    "        let (n, x) = b.pair.second\n"
    "        let y = b.pair.first\n"
    "        return b.scale * (sum[i] x[i] - y[i]) + cast<f32>(n)\n"
    "    }\n"
    "    entry fibonacci(n: i64) -> (i64, i64) {\n"
    "        var i: i64 = 0\n"
    "        var p = (cast<i64>(0), cast<i64>(1))\n"
    "        while i < n {\n"
    "            let (a, b) = p\n"
    "            p = (b, a + b)\n"
    "            i = i + 1\n"
    "        }\n"
    "        let (a, b) = p\n"
    "        return (a, b)\n"
    "    }\n"
    "    entry scan(x: Tensor[N; f32]) -> (Tensor[4, N; f32], Tensor[4; i64], f32) {\n"
    "        var run: f32 = 0.0\n"
    "        let (rows, squares) = for i in 2..6 {\n"
    "            run = run + cast<f32>(i)\n"
    "            yield (x * run, i * i)\n"
    "        }\n"
    "        return (rows, squares, run)\n"
    "    }\n"
    "    entry empty() -> Tensor[0, 3; f32] {\n"
    "        return for i in 2..2 { yield fill([3], cast<f32>(i)) }\n"
    "    }\n"
    "    entry nested() -> Tensor[2, 3; i64] {\n"
    "        return for i in 0..2 {\n"
    "            let row = for j in 0..3 { yield 10 * i + j }\n"
    "            yield row\n"
    "        }\n"
    "    }\n"
    "    entry ways() -> i64 {\n"
    "        return match way(Way.Up) { Up => 1 Down => 2 }\n"
    "    }\n"
    "    entry sums(x: Tensor[2, 3; i8], y: Tensor[4; bf16], z: Tensor[4; f32])\n"
    "        -> (Tensor[2, 3; i8], Tensor[2, 3; i8], Tensor[4; bf16], Tensor[4; f32]) {\n"
    "        return (\n"
    "            cumsum(x, axis = 0), cumsum(x + 1, axis = -1), cumsum(y, axis = 0),\n"
    "            cumsum(z, axis = 0),\n"
    "        )\n"
    "    }\n"
    "}\n";

static void test_structs(Test *t) {
    const float x[] = {1, 2}, scale = 3;
    const int64_t three = 3;
    bool up = false;
    Tensor r[4] = {0}, args[] = {F32(x, 2), SCALAR(DT_BOOL, &up), {0}, {0}};
    call(t, "structs", NULL, 0, 2, args, r);
    IS(t, &r[0], 4, 8);
    CHECK(t, *(const int64_t *)r[1].data == 4);
    IS(t, &r[2], 2, 4);
    IS(t, &r[3], 2 * (2 * 2 + 4 * 4) + 4);
    up = true;
    call(t, "structs", NULL, 0, 2, args, r);
    IS(t, &r[0], 2, 4);
    IS(t, &r[3], 2 * (2 * 1 + 4 * 2) + 3);
    const float y[] = {5, 7};
    Tensor both[] = {F32(x, 2), SCALAR(DT_I64, &three), F32(y, 2), SCALAR(DT_F32, &scale)};
    call(t, "takes", NULL, 0, 4, both, r);
    IS(t, &r[0], 3 * (4 + 5) + 3);
    call(t, "ways", NULL, 0, 0, NULL, r);
    CHECK(t, *(const int64_t *)r[0].data == 2);
}

static void test_loops(Test *t) {
    const float x[] = {1, 2};
    int64_t n = 50;
    Tensor r[3] = {0}, arg = F32(x, 2), count = SCALAR(DT_I64, &n);
    call(t, "fibonacci", NULL, 0, 1, &count, r);
    CHECK(t, *(const int64_t *)r[0].data == 12586269025);
    n = 0;
    call(t, "fibonacci", NULL, 0, 1, &count, r);
    CHECK(t, *(const int64_t *)r[1].data == 1);
    call(t, "scan", NULL, 0, 1, &arg, r);
    IS(t, &r[0], 2, 4, 5, 10, 9, 18, 14, 28);
    const int64_t squares[] = {4, 9, 16, 25}, table[] = {0, 1, 2, 10, 11, 12};
    CHECK(t, memcmp(r[1].data, squares, sizeof squares) == 0);
    IS(t, &r[2], 14);
    call(t, "empty", NULL, 0, 0, NULL, r);
    CHECK(t, r[0].rank == 2 && r[0].dims[0] == 0 && r[0].dims[1] == 3);
    call(t, "nested", NULL, 0, 0, NULL, r);
    CHECK(t, memcmp(r[0].data, table, sizeof table) == 0);
}

static void test_sums(Test *t) {
    const int8_t x[] = {100, 2, -3, 100, 5, -6};
    // In bf16 256 + 1 is a tie that goes down to 256; carried in f32 the 1s add up.
    const uint16_t y[] = {0x4380, 0x3f80, 0x3f80, 0x3f80};
    const uint16_t want_y[] = {0x4380, 0x4380, 0x4381, 0x4382};
    const float z[] = {1e8f, 1, -1e8f, 1};
    const int8_t down[] = {100, 2, -3, -56, 7, -9}, along[] = {101, 104, 102, 101, 107, 102};
    Tensor r[4] = {0};
    Tensor args[] = {tensor(DT_I8, x, DIMS(2, 3)), tensor(DT_BF16, y, DIMS(4)), F32(z, 4)};
    if (!call(t, "sums", NULL, 0, 3, args, r))
        return;
    CHECK(t, memcmp(r[0].data, down, sizeof down) == 0);
    CHECK(t, memcmp(r[1].data, along, sizeof along) == 0);
    CHECK(t, memcmp(r[2].data, want_y, sizeof want_y) == 0);
    IS(t, &r[3], 1e8f, 1e8f, 0, 1);
}

// ---- Refusals ----------------------------------------------------------------------------------

static void refuses(Test *t, const char *body, DiagCode code) {
    const GenericArg *args[MOST_ENTRIES];
    start(t);
    const char *source = arena_printf(
        t->s->arena,
        "module t\nblock Model {\n    state s: Tensor[2; f32]\n"
        "    fn bump() -> f32 {\n        s = s + 1.0\n        return sum[i] s[i]\n    }\n"
        "    entry e(x: f32, c: bool) -> f32 {\n%s    }\n}\n",
        body);
    t->program = check_program(
        t->s, session_add(t->s, source_new(t->s->arena, "test.serin", str_of(source))), NULL);
    Item *block = t->program->root->items.data[0], *entry = vec_last(&block->items);
    CHECK(t, t->s->errors == 0);
    LowerOptions o = {.program = t->program, .core = core_new(t->s, t->program->dims)};
    o.block_args = bind_args(t, block, NULL, 0);
    args[0] = bind_args(t, entry, NULL, 0);
    CoreFn *fn = NULL;
    CHECK(t, !lower_entries(&o, block, 1, &entry, args, &fn));
    CHECK(t, t->s->errors == 1 && vec_last(&t->s->diags)->code == code);
}

int main(void) {
    Test t = {0};
    test_states(&t);
    if (open_text(&t, loops, BOUNDS({"N", 2}))) {
        test_structs(&t);
        test_loops(&t);
        test_sums(&t);
    }
    refuses(&t, "        return if c { bump() } else { x }\n", E2190);
    refuses(&t, "        let (a, b) = if c { (bump(), x) } else { (x, x) }\n        return a + b\n",
            E2190);
    refuses(&t, "        let d = c && bump() > x\n        return cast<f32>(d)\n", E2190);
    close_package(&t);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

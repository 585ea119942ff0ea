// States in the interpreter: rows stored in place, items picked, and values that were read before.
#include "interp_run.h"

static const char text[] =
    "core 1\ndim B, C, Cap\n"
    "fn @append \"append\" (state %k: f32[B, Cap, 3], %x: f32[B, C, 3], %pos: i32[B])\n"
    " -> (f32[B, Cap, 3], f32[B, Cap, 3], f32[B]) {\n"
    "    %old: f32[B, Cap, 3] = comp(%k) [b, i, d] { read(0, b, i, d) }\n"
    "    %k.2: f32[B, Cap, 3] = write %k, %x, %pos\n"
    "    %sum: f32[B] = comp(%k.2) [b] sum.add [i < Cap, d < 3] { read(0, b, i, d) }\n"
    "    return %k.2, %old, %sum\n}\n"
    "fn @layers \"layers\" (state %k: bf16[4, B, Cap, 2], %x: bf16[B, C, 2], %pos: i32[B])\n"
    " -> bf16[B, C, 2] {\n"
    "    %l: bf16[B, C, 2] = loop %i < 4 (%y = %x) {\n"
    "        %a: bf16[B, Cap, 2] = pick %k, %i\n"
    "        %w: bf16[B, Cap, 2] = write %a, %y, %pos\n"
    "        %z: bf16[B, C, 2] = comp(%y, %w, %i) [b, c, d] { add(read(0, b, c, d), 1.0:bf16) }\n"
    "        yield %z\n    }\n"
    "    return %l\n}\n"
    "fn @itself \"itself\" (state %k: f32[B, Cap, 3], %pos: i32[B]) -> f32[B, Cap, 3] {\n"
    "    %w: f32[B, Cap, 3] = write %k, %k, %pos\n    return %w\n}\n"
    "fn @items \"items\" (%w: f32[C, 2, 32], %n: f32[C, 6], %i: i64[]) -> (f32[2, 32], f32[6]) {\n"
    "    %a: f32[2, 32] = pick %w, %i\n    %b: f32[6] = pick %n, %i\n    return %a, %b\n}\n";

static void test_append(Test *t) {
    Run r = start(t, text, NULL);
    float k[2 * 4 * 3], old[2 * 4 * 3], x[2 * 2 * 3], want[2 * 4 * 3];
    const int32_t pos[2] = {
        3, -1}; // the last row of the first and the first of the second are outside
    Tensor args[3] = {f32(k, 3, 2, 4, 3, 0),
                      f32(x, 3, 2, 2, 3, 0),
                      {.dtype = DT_I32, .rank = 1, .dims = {2}, .data = pos}};
    for (int i = 0; i < 24; i++)
        k[i] = old[i] = want[i] = (float)i;
    for (int i = 0; i < 12; i++)
        x[i] = 100 + (float)i;
    memcpy(want + 9, x, 3 * sizeof(float));
    memcpy(want + 12, x + 9, 3 * sizeof(float));
    bind(&r, "B", 2);
    bind(&r, "C", 2);
    bind(&r, "Cap", 4);
    must(&r, "append", NULL, 3, args);
    CHECK(t, memcmp(k, want, sizeof k) == 0 && r.results[0].data == k);
    CHECK(t, same(&r, 1, old, sizeof old));
    CHECK(t, floats(&r, 2)[0] == rt_sum(want, 12) && floats(&r, 2)[1] == rt_sum(want + 12, 12));
    args[0].format = RT_BF16;
    CHECK(t, !call(&r, "append", NULL, 3, args) && strstr(r.error, "state"));
    stop(&r);
}

static void test_layers(Test *t) {
    Run r = start(t, text, NULL);
    uint16_t k[4 * 1 * 3 * 2] = {0}, x[2] = {0x3f80, 0x4000}; // 1, 2
    const int32_t pos[1] = {1};
    Tensor args[3] = {{.dtype = DT_BF16, .rank = 4, .dims = {4, 1, 3, 2}, .data = k},
                      {.dtype = DT_BF16, .rank = 3, .dims = {1, 1, 2}, .data = x},
                      {.dtype = DT_I32, .rank = 1, .dims = {1}, .data = pos}};
    bind(&r, "B", 1);
    bind(&r, "C", 1);
    bind(&r, "Cap", 3);
    must(&r, "layers", NULL, 3, args);
    for (int i = 0; i < 4; i++) {
        for (int n = 0; n < 6; n++) {
            double row = n / 2 == 1 ? 1 + n % 2 + i : 0;
            CHECK(t, half_read(DT_BF16, k[i * 6 + n]) == row);
        }
    }
    const uint16_t last[2] = {half_write(DT_BF16, 5), half_write(DT_BF16, 6)};
    CHECK(t, same(&r, 0, last, sizeof last));
    stop(&r);
}

// Rows that are the state's own memory are read before they are stored.
static void test_itself(Test *t) {
    Run r = start(t, text, NULL);
    float k[5 * 3], want[5 * 3];
    const int32_t pos[1] = {1};
    Tensor args[2] = {f32(k, 3, 1, 5, 3, 0),
                      {.dtype = DT_I32, .rank = 1, .dims = {1}, .data = pos}};
    for (int i = 0; i < 15; i++)
        k[i] = want[i] = (float)i;
    memcpy(want + 3, k, 12 * sizeof(float));
    bind(&r, "B", 1);
    bind(&r, "Cap", 5);
    must(&r, "itself", NULL, 2, args);
    CHECK(t, memcmp(k, want, sizeof k) == 0);
    stop(&r);
}

static void test_items(Test *t) {
    Run r = start(t, text, NULL);
    uint8_t q[3 * 68];
    uint16_t half[3 * 6];
    float want[64], narrow[6];
    const int32_t rows[3] = {2, 0, 1};
    for (int i = 0; i < 3 * 68; i++)
        q[i] = i % 34 == 1 ? 0x20 : (uint8_t)(i * 7);
    for (int i = 0; i < 18; i++)
        half[i] = half_write(DT_F16, i * 0.25 - 2);
    bind(&r, "C", 3);
    for (int64_t i = 0; i < 3; i++) {
        Tensor args[3] = {f32((const float *)q, 3, 3, 2, 32, 0),
                          f32((const float *)half, 2, 3, 6, 0, 0),
                          {.dtype = DT_I64, .rank = 0, .data = &i}};
        args[0].format = RT_Q8_0;
        args[0].rows = rows;
        args[1].format = RT_F16;
        must(&r, "items", NULL, 3, args);
        rt_format_row(RT_Q8_0, q, (uint64_t)rows[i] * 64, 64, want);
        rt_format_row(RT_F16, half, (uint64_t)i * 6, 6, narrow);
        CHECK(t, same(&r, 0, want, sizeof want) && same(&r, 1, narrow, sizeof narrow));
    }
    int64_t far = 3;
    Tensor args[3] = {f32((const float *)q, 3, 3, 2, 32, 0),
                      f32((const float *)half, 2, 3, 6, 0, 0),
                      {.dtype = DT_I64, .rank = 0, .data = &far}};
    args[0].format = RT_Q8_0;
    args[1].format = RT_F16;
    CHECK(t, !call(&r, "items", NULL, 3, args) && strstr(r.error, "item 3"));
    stop(&r);
}

int main(void) {
    Test t = {0, 0};
    test_append(&t);
    test_layers(&t);
    test_itself(&t);
    test_items(&t);
    return finish(&t);
}

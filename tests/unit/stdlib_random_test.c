// Tests of std.random against a Threefry of their own, published known answers included.
#include "stdlib_help.h"

static const char program[] =
    "module t\n"
    "use std.random::{bits, categorical, fold_in, normal, split, threefry2x32, uniform}\n"
    "pub entry cipher(key: Tensor[2; i64], high: Tensor[3; i64], low: Tensor[3; i64])\n"
    "    -> Tensor[6; i64] {\n"
    "    let (first, second) = threefry2x32(key, high, low)\n"
    "    return concat(first, second, axis = 0)\n"
    "}\n"
    "pub entry some_bits(key: Tensor[2; i64]) -> Tensor[40; i64] { return bits<40>(key) }\n"
    "pub entry children(key: Tensor[2; i64]) -> Tensor[5, 2; i64] { return split<5>(key) }\n"
    "pub entry child(key: Tensor[2; i64], i: i32) -> Tensor[2; i64] { return fold_in(key, i) }\n"
    "pub entry even(key: Tensor[2; i64]) -> Tensor[40; f32] { return uniform<40, f32>(key) }\n"
    "pub entry bell(key: Tensor[2; i64]) -> Tensor[2000; f32] { return normal<2000, f32>(key) }\n"
    "pub entry draw(key: Tensor[2; i64], logits: Tensor[3, 50; f32]) -> Tensor[3; i32] {\n"
    "    return categorical(key, logits)\n"
    "}\n";

static uint32_t rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

// Threefry-2x32 of 20 rounds, in the published form: 32-bit words, the key schedule in an array.
static void threefry(const uint32_t key[2], const uint32_t counter[2], uint32_t out[2]) {
    static const int turns[8] = {13, 15, 26, 6, 17, 29, 16, 24};
    uint32_t ks[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
    uint32_t x0 = counter[0] + ks[0], x1 = counter[1] + ks[1];
    for (uint32_t round = 0; round < 20; round++) {
        x0 += x1;
        x1 = rotate(x1, turns[round % 8]) ^ x0;
        if (round % 4 == 3) {
            uint32_t g = round / 4 + 1;
            x0 += ks[g % 3];
            x1 += ks[(g + 1) % 3] + g;
        }
    }
    out[0] = x0;
    out[1] = x1;
}

static uint32_t bits_at(const int64_t key[2], uint32_t i) {
    uint32_t out[2];
    threefry((uint32_t[]){(uint32_t)key[0], (uint32_t)key[1]}, (uint32_t[]){0, i}, out);
    return out[0] ^ out[1];
}

static void test_cipher(Test *t) {
    static const uint32_t known[3][6] = {
        {0, 0, 0, 0, 0x6b200159, 0x99ba4efe},
        {~0u, ~0u, ~0u, ~0u, 0x1cb996fc, 0xbb002be7},
        {0x13198a2e, 0x03707344, 0x243f6a88, 0x85a308d3, 0xc4923a9c, 0x483df7a0},
    };
    for (int i = 0; i < 3; i++) {
        int64_t key[2] = {known[i][0], known[i][1]};
        int64_t high[3] = {known[i][2], 7, 0xffffffff}, low[3] = {known[i][3], 9, 0};
        Tensor args[] = {I64(key, 2), I64(high, 3), I64(low, 3)}, out;
        if (!run(t, "cipher", 3, args, &out))
            return;
        const int64_t *x = out.data;
        CHECK(t, x[0] == known[i][4] && x[3] == known[i][5]);
        for (int k = 0; k < 3; k++) {
            uint32_t want[2];
            threefry((uint32_t[]){known[i][0], known[i][1]},
                     (uint32_t[]){(uint32_t)high[k], (uint32_t)low[k]}, want);
            CHECK(t, x[k] == want[0] && x[3 + k] == want[1]);
        }
    }
}

static void test_keys(Test *t) {
    int64_t key[2] = {256, 0xdeadbeef};
    Tensor args[] = {I64(key, 2), {0}}, out;
    if (run(t, "children", 1, args, &out)) {
        for (uint32_t i = 0; i < 5; i++) {
            uint32_t want[2];
            threefry((uint32_t[]){256, 0xdeadbeef}, (uint32_t[]){0, i}, want);
            CHECK(t, ((const int64_t *)out.data)[2 * i] == want[0]);
            CHECK(t, ((const int64_t *)out.data)[2 * i + 1] == want[1]);
        }
    }
    static const int32_t data[] = {0, 1, 77, INT32_MAX, -1, INT32_MIN};
    for (int i = 0; i < 6; i++) {
        args[1] = scalar(DT_I32, &data[i]);
        uint32_t want[2];
        threefry((uint32_t[]){256, 0xdeadbeef}, (uint32_t[]){0, (uint32_t)data[i]}, want);
        if (run(t, "child", 2, args, &out)) {
            const int64_t *x = out.data;
            CHECK(t, x[0] == want[0] && x[1] == want[1]);
        }
    }
}

static void test_numbers(Test *t) {
    int64_t key[2] = {3, 42};
    Tensor args[] = {I64(key, 2)}, out;
    if (run(t, "some_bits", 1, args, &out)) {
        for (uint32_t i = 0; i < 40; i++)
            CHECK(t, ((const int64_t *)out.data)[i] == bits_at(key, i));
    }
    if (run(t, "even", 1, args, &out)) {
        for (uint32_t i = 0; i < 40; i++)
            CHECK(t, ((const float *)out.data)[i] == (float)(bits_at(key, i) >> 9) * 0x1p-23f);
    }
    double *want = calloc(2000, sizeof *want), mean = 0, square = 0;
    for (uint32_t i = 0; want && i < 2000; i++) {
        double u = (bits_at(key, i) >> 9) * 0x1p-23, v = (bits_at(key, 2000 + i) >> 9) * 0x1p-23;
        want[i] = sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v);
        mean += want[i] / 2000;
        square += want[i] * want[i] / 2000;
    }
    CHECK(t, fabs(mean) < 0.1 && fabs(square - 1) < 0.15);
    if (run(t, "bell", 1, args, &out))
        near(t, "normal", &out, want, 2000, 1e-6);
    free(want);
}

// Every draw is the class of the greatest logit plus Gumbel noise, wherever that is not too close.
static void test_categorical(Test *t) {
    float logits[150];
    int sure = 0;
    for (int round = 0; round < 20; round++) {
        int64_t key[2] = {random_bits(t), random_bits(t)};
        random_fill(t, logits, 150, 3);
        Tensor args[] = {I64(key, 2), F32(logits, 3, 50)}, out;
        if (!run(t, "draw", 2, args, &out))
            return;
        for (uint32_t b = 0; b < 3; b++) {
            double best = -INFINITY, next = -INFINITY;
            int at = -1;
            for (uint32_t v = 0; v < 50; v++) {
                double u = ((bits_at(key, b * 50 + v) >> 9) + 0.5) * 0x1p-23;
                double score = (double)logits[b * 50 + v] - log(-log(1 - u));
                next = fmax(next, fmin(score, best));
                at = score > best ? (int)v : at;
                best = fmax(best, score);
            }
            if (best - next > 1e-4) {
                sure++;
                CHECK(t, ((const int32_t *)out.data)[b] == at);
            }
        }
    }
    CHECK(t, sure > 50);
}

int main(void) {
    Test t = {0};
    open_program(&t, program);
    test_cipher(&t);
    test_keys(&t);
    test_numbers(&t);
    test_categorical(&t);
    return finish(&t);
}

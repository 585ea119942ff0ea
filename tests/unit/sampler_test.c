// Tests of the sampler: the same tokens as the standard library's categorical in the interpreter.
#include "runtime/numerics.h"

#include "runtime/sampler.h"
#include "stdlib_help.h"

enum { VOCAB = 97, ROUNDS = 400 };

static const char program[] =
    "module t\n"
    "use std.random::{categorical}\n"
    "use std.nn.decoding::{argmax}\n"
    "pub entry draw(key: Tensor[2; i64], logits: Tensor[1, 97; f32], temperature: f32) -> "
    "Tensor[1; i32] {\n"
    "    return categorical(key, logits / temperature)\n"
    "}\n"
    "pub entry best(logits: Tensor[1, 97; f32]) -> Tensor[1; i32] {\n"
    "    return argmax(logits)\n"
    "}\n";

static void test_draws(Test *t) {
    int seen[VOCAB] = {0}, distinct = 0;
    for (int i = 0; i < ROUNDS; i++) {
        float logits[VOCAB], temperature = i % 3 == 0 ? 1.0f : 0.1f + 0.01f * (float)i;
        random_fill(t, logits, VOCAB, i % 2 ? 3.0f : 0.5f);
        if (i % 5 == 0)
            logits[i % VOCAB] = i % 2 ? -__builtin_inff() : 1e30f;
        RtKey key = rt_child(rt_key(77), (uint32_t)i);
        int64_t words[2] = {key.word[0], key.word[1]};
        Tensor args[] = {I64(words, 2), F32(logits, 1, VOCAB), scalar(DT_F32, &temperature)}, r;
        if (i >= 40 && i % 10) // the interpreter's runs take a while each
            continue;
        if (!run(t, "draw", 3, args, &r))
            return;
        int32_t want = *(const int32_t *)r.data, got = rt_sample(logits, VOCAB, temperature, key);
        CHECK(t, got == want);
        distinct += got >= 0 && got < VOCAB && seen[got]++ == 0;
    }
    CHECK(t, distinct > 10);
}

static void test_argmax(Test *t) {
    for (int i = 0; i < 20; i++) {
        float logits[VOCAB];
        for (int k = 0; k < VOCAB; k++)
            logits[k] = (float)random_below(t, i < 10 ? 4 : 1000) * (i % 2 ? -1.0f : 1.0f);
        Tensor args[] = {F32(logits, 1, VOCAB)}, r;
        if (!run(t, "best", 1, args, &r))
            return;
        CHECK(t, rt_argmax(logits, VOCAB) == *(const int32_t *)r.data);
    }
    const float zeros[] = {-1.0f, -0.0f, 0.0f, -2.0f}, nan[] = {1, __builtin_nanf(""), 3, 2};
    CHECK(t, rt_argmax(zeros, 4) == 1);
    CHECK(t, rt_argmax(nan, 4) == 3);
    CHECK(t, rt_sample(nan, 4, 1, rt_key(1)) == 4);
}

int main(void) {
    Test t = {0};
    open_program(&t, program);
    test_draws(&t);
    test_argmax(&t);
    return finish(&t);
}

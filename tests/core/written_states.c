#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "kernels.h"
#include "numerics.h"
#include "scalars.h"

typedef struct {
    const float *weight; // (7, 6)
} Embedding;

typedef struct {
    const float *decay; // (6)
    float *total;       // (6), kept
    int64_t *count2;    // (1), kept
    float *last;        // (2, 6), kept
    bool *odd;          // (3), kept
    uint16_t *half;     // (6), kept
} Memory;

typedef struct {
    const uint16_t *weight; // (7, 6)
} Linear;

typedef struct {
    Embedding embedding;
    Memory layers[3];
    Linear head;
    int32_t *texts; // (24), kept
} Model;

// What a function works with. It is passed by value: what a function takes of the arena is
// free again when it returns.
typedef struct {
    RtPool *pool;         // the threads of matrix products
    unsigned char *arena; // the free part of the memory for temporaries
} Work;

// Bytes rounded up to whole cache lines.
static size_t room(int64_t bytes) {
    return ((size_t)bytes + 63) & ~(size_t)63;
}

// Takes memory off the arena.
static void *take(Work *work, int64_t bytes) {
    void *start = work->arena;
    work->arena += room(bytes);
    return start;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

// std.nn.embedding::embedding
// op embedding<*S: Shape, Vocab: Dim, H: Dim, T: Float>(ids: Tensor[*S; i32], table: Tensor[Vocab,
// H; T]) -> Tensor[*S, H; T]
// rows2 (1, 6), ids (1), table (7, 6)
static void embedding(float *restrict rows2, const int32_t *ids, const float *table) {
    // let rows[*s, h] = table[ids[*s], h]
    for (int64_t h = 0; h < 6; h++) {
        rows2[h] = table[rt_clamp((int64_t)ids[0], 7) * 6 + h];
    }
}

// std.nn.embedding::Embedding.forward
// fn forward<*S: Shape>(ids: Tensor[*S; i32]) -> Tensor[*S, H; T]
// out (1, 6), ids (1)
static void embedding_forward(float *restrict out, const Embedding *self, const int32_t *ids) {
    // return embedding(ids, weight)
    embedding(out, ids, self->weight);
}

// crate::Memory.tick
// fn tick() -> i64
static int64_t memory_tick(const Memory *self) {
    // count = count + 1
    self->count2[0] = rt_add_i64(self->count2[0], 1);

    // return count[0]
    int64_t value = self->count2[0];
    return value;
}

// crate::Memory.settle
// fn settle(n: i64) -> Tensor[H; f32]
// halved (6)
static void memory_settle(Work work, float *restrict halved, const Memory *self, int64_t n) {
    // var halved = fill<f32>([H], 1.0)
    float *halved2 = take(&work, 24); // (6)
    for (int64_t i = 0; i < 6; i++) {
        halved2[i] = 1.0f;
    }

    // return halved
    memcpy(halved, halved2, 24);
    while (true) {
        int64_t memory_tick_out = memory_tick(self);
        bool test = rt_mod_i64(memory_tick_out, n) != 0;
        if (!test)
            break;

        // total = total * 0.5
        for (int64_t i = 0; i < 6; i++) {
            self->total[i] = self->total[i] * 0.5f;
        }

        // halved = halved + 1.0
        for (int64_t i = 0; i < 6; i++) {
            halved[i] += 1.0f;
        }
    }
}

// crate::Memory.fading
// fn fading() -> Tensor[3, H; f32]
// rows2 (3, 6)
static void memory_fading(Work work, float *restrict rows2, const Memory *self) {
    float *value = take(&work, 24); // (6)
    for (int64_t i = 0; i < 6; i++) {
        value[i] = self->total[i];
    }

    float *product = take(&work, 24); // (6)
    for (int64_t i = 0; i < 3; i++) {
        // total = total * 0.75
        for (int64_t i2 = 0; i2 < 6; i2++) {
            self->total[i2] = self->total[i2] * 0.75f;
        }

        // y = y * 0.5 + total
        for (int64_t i2 = 0; i2 < 6; i2++) {
            value[i2] = value[i2] * 0.5f + self->total[i2];
        }

        float converted = (float)rt_add_i64(i, 1);

        for (int64_t i2 = 0; i2 < 6; i2++) {
            product[i2] = value[i2] * converted;
        }
        memcpy(rows2 + i * 6, product, 24);
    }
}

// crate::Memory.contents
// fn contents() -> Tensor[H; f32]
// total (6)
static void memory_contents(float *restrict total, const Memory *self) {
    memcpy(total, self->total, 24);
}

// crate::Memory.add
// fn add(x: Tensor[H; f32]) -> Tensor[H; f32]
// out (6), x (6)
static void memory_add(Work work, float *restrict out, const Memory *self, const float *x) {
    float *value = take(&work, 24); // (6)
    for (int64_t i = 0; i < 6; i++) {
        value[i] = self->total[i];
    }

    // let _n = tick()
    memory_tick(self);

    // total = total * decay + x
    for (int64_t i = 0; i < 6; i++) {
        self->total[i] = self->total[i] * self->decay[i] + x[i];
    }

    const float *view = x; // (1, 6)

    // last = concat(last[1:2, :], reshape(x, [1, H]), axis = 0)
    float *chosen = take(&work, 48); // (2, 6)
    for (int64_t i = 0; i < 2; i++) {
        for (int64_t j = 0; j < 6; j++) {
            chosen[i * 6 + j] = i < 1 ? self->last[(i + 1) * 6 + j] : view[j];
        }
    }

    memcpy(self->last, chosen, 48);

    // odd = odd ^ true
    for (int64_t i = 0; i < 3; i++) {
        self->odd[i] = self->odd[i] != true;
    }

    // half = half + cast<bf16>(x)
    for (int64_t i = 0; i < 6; i++) {
        self->half[i] = rt_f32_to_bf16(rt_bf16_to_f32(self->half[i]) + rt_round_bf16(x[i]));
    }

    bool value2 = self->odd[2];

    // let first = select(odd[2], last[0], x)
    float *first = chosen; // (6), reuses chosen
    for (int64_t i = 0; i < 6; i++) {
        first[i] = value2 ? self->last[i] : x[i];
    }

    // let turns = settle(3)
    float *turns = take(&work, 24); // (6)
    memory_settle(work, turns, self, 3);
    const float *view2 = turns; // (6)

    // let faded = fading()
    float *faded = take(&work, 72); // (3, 6)
    memory_fading(work, faded, self);

    // let most = for i in 0..3 { yield max[h] faded[i, h] }
    float *most = take(&work, 12); // (3)
    for (int64_t i = 0; i < 3; i++) {
        float peak2 = -INFINITY;
        for (int64_t h = 0; h < 6; h++) {
            peak2 = rt_max(peak2, faded[rt_clamp(i, 3) * 6 + h]);
        }
        float peak = peak2;
        most[i] = peak;
    }

    float *memory_contents_out = take(&work, 24); // (6)
    memory_contents(memory_contents_out, self);
    float value3 = most[1];
    float converted = (float)self->count2[0];

    // return before + contents() * first + turns * most[1] + faded[2] + cast<f32>(half) *
    // cast<f32>(count[0])
    for (int64_t i2 = 0; i2 < 6; i2++) {
        float total = value[i2] + memory_contents_out[i2] * first[i2];
        float total2 = total + view2[i2] * value3 + faded[12 + i2];
        out[i2] = total2 + rt_bf16_to_f32(self->half[i2]) * converted;
    }
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, 7), x (1, 6), weight (7, 6)
static void linear(uint16_t *restrict product, const uint16_t *x, const uint16_t *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    for (int64_t o = 0; o < 7; o++) {
        product[o] = rt_f32_to_bf16(rt_dot_bf16(x, weight + o * 6, 6));
    }
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, 7), x (1, 6)
static void linear_forward(uint16_t *restrict out, const Linear *self, const uint16_t *x) {
    // return linear(x, weight, bias)
    linear(out, x, self->weight);
}

// crate::Model.step
// fn step(token: i32, pos: i32) -> Tensor[1, 7; bf16]
// out (1, 7)
static void model_step(Work work, uint16_t *restrict out, const Model *self, int32_t token,
                       int32_t pos) {
    // let place = iota<i32>(MaxSeq)
    int32_t *place = take(&work, 96); // (24)
    for (int64_t i = 0; i < 24; i++) {
        place[i] = (int32_t)i;
    }

    // texts = select(place == pos, token, texts)
    for (int64_t i = 0; i < 24; i++) {
        self->texts[i] = place[i] == pos ? token : self->texts[i];
    }

    // let same = sum<f32>[s] cast<f32>(texts[s] == token)
    float lanes[32] = {0};
    for (int64_t s = 0; s < 24; s++) {
        lanes[s % 32] += (float)(self->texts[s] == token);
    }
    float same = rt_fold(lanes);

    int32_t *value = place; // (1), reuses place
    value[0] = token;
    float *embedding_out = take(&work, 24); // (1, 6)
    embedding_forward(embedding_out, &self->embedding, value);
    float scale = rt_rsqrt(same);

    // var x = embedding.forward(fill<i32>([1], token))[0, :] * rsqrt(same)
    float *x = (float *)place; // (6), reuses place
    for (int64_t i = 0; i < 6; i++) {
        x[i] = embedding_out[i] * scale;
    }

    // for each item
    float *memory_add_out = take(&work, 24); // (6)
    for (int64_t i = 0; i < 3; i++) {
        const Memory *layer = &self->layers[i];

        float *product = embedding_out; // (6), reuses embedding_out
        for (int64_t i2 = 0; i2 < 6; i2++) {
            product[i2] = x[i2] * 0.5f;
        }

        memory_add(work, memory_add_out, layer, product);

        // x = x + layer.add(x * 0.5)
        for (int64_t i2 = 0; i2 < 6; i2++) {
            x[i2] += memory_add_out[i2];
        }
    }

    // let bounded = x / (1.0 + abs(x))
    float *bounded = embedding_out; // (6), reuses embedding_out
    for (int64_t i2 = 0; i2 < 6; i2++) {
        float value2 = x[i2];
        bounded[i2] = value2 / (1.0f + fabsf(value2));
    }

    const float *view = bounded; // (1, 6)

    uint16_t *converted = (uint16_t *)memory_add_out; // (1, 6), reuses memory_add_out
    for (int64_t j = 0; j < 6; j++) {
        converted[j] = rt_f32_to_bf16(view[j]);
    }

    // return head.forward(cast<bf16>(reshape(bounded, [1, 6])))
    linear_forward(out, &self->head, converted);
}

// crate::Model.decode
// entry decode(token: Tensor[1, 1; i32], pos: i32) -> Tensor[1, 7; bf16]
// out (1, 7), token (1, 1)
static void model_decode(Work work, uint16_t *restrict out, const Model *self, const int32_t *token,
                         int32_t pos) {
    int32_t value = token[0];

    // return step(token[0, 0], pos)
    model_step(work, out, self, value, pos);
}

// crate::Model.prefill
// entry prefill<S: Dim>(tokens: Tensor[1, S; i32], pos: i32) -> Tensor[1, 7; bf16] where S > 0
// logits (1, 7), tokens2 (1, S)
static void model_prefill(Work work, int64_t S, uint16_t *restrict logits, const Model *self,
                          const int32_t *tokens2, int32_t pos) {
    // var logits = fill<bf16>([1, 7], 0.0)
    uint16_t *logits2 = take(&work, 14); // (1, 7)
    for (int64_t j = 0; j < 7; j++) {
        logits2[j] = rt_f32_to_bf16(0.0f);
    }

    // return logits
    memcpy(logits, logits2, 14);
    for (int64_t i = 0; i < S; i++) {
        int32_t value = tokens2[rt_clamp(i, S)];
        int32_t sum = rt_add_i32(pos, (int32_t)i);

        // logits = step(tokens[0, i], pos + cast<i32>(i))
        uint16_t *logits3 = logits2; // (1, 7), reuses logits2
        model_step(work, logits3, self, value, sum);
        const uint16_t *view = logits3; // (1, 7)
        memcpy(logits, view, 14);
    }
}

// crate::Model.decode
// out (1, 7), token (1, 1)
static void model_decode2(Work work, float *restrict out, const Model *self, const int32_t *token,
                          int32_t pos) {
    uint16_t *model_decode_out = take(&work, 14); // (1, 7)
    model_decode(work, model_decode_out, self, token, pos);

    for (int64_t j = 0; j < 7; j++) {
        out[j] = rt_bf16_to_f32(model_decode_out[j]);
    }
}

// crate::Model.prefill
// out (1, 7), tokens2 (1, S)
static void model_prefill2(Work work, int64_t S, float *restrict out, const Model *self,
                           const int32_t *tokens2, int32_t pos) {
    uint16_t *model_prefill_out = take(&work, 14); // (1, 7)
    model_prefill(work, S, model_prefill_out, self, tokens2, pos);

    for (int64_t j = 0; j < 7; j++) {
        out[j] = rt_bf16_to_f32(model_prefill_out[j]);
    }
}

// Bytes of the arena that each function needs, with what it calls.
static size_t arena_bytes(int64_t S) {
    (void)S;
    size_t memory_settle = room(24);
    size_t memory_fading = room(24) + room(24);
    size_t bytes = room(24) + room(48) + room(24) + room(72) + room(12);
    size_t memory_add = bytes + room(24) + larger(memory_settle, memory_fading);
    size_t model_step = room(96) + room(24) + room(24) + memory_add;
    size_t model_decode = model_step;
    size_t model_prefill = room(14) + model_step;
    size_t model_decode2 = room(14) + model_decode;
    size_t model_prefill2 = room(14) + model_prefill;
    size_t bytes2 = larger(larger(memory_settle, memory_fading), memory_add);
    size_t bytes3 = larger(larger(bytes2, model_step), model_decode);
    return larger(larger(larger(bytes3, model_prefill), model_decode2), model_prefill2);
}

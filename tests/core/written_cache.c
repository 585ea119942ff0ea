#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "kernels.h"
#include "numerics.h"
#include "scalars.h"

typedef struct {
    const float *weight; // (11, 8)
} Embedding;

typedef struct {
    const float *weight; // (8)
} RmsNorm;

typedef struct {
    const float *weight; // (4, 8)
} Linear_2;

typedef struct {
    const float *weight; // (8, 8)
} Linear;

typedef struct {
    Linear query;
    Linear_2 key2;
    Linear_2 value;
    Linear out;
    float *keys;   // (1, 1, 16, 4), kept
    float *values; // (1, 1, 16, 4), kept
} Attention;

typedef struct {
    const float *weight; // (12, 8)
} Linear_3;

typedef struct {
    const float *weight; // (8, 12)
} Linear_4;

typedef struct {
    Linear_3 gate;
    Linear_3 up;
    Linear_4 down;
} SwiGlu;

typedef struct {
    const float *weight; // (11, 8)
} Linear_5;

typedef struct {
    RmsNorm norm;
    Attention attention;
    RmsNorm mlp_norm;
    SwiGlu mlp;
} Layer;

typedef struct {
    Embedding embedding;
    Layer layers[2];
    RmsNorm norm;
    Linear_5 head;
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

// A matrix in memory, by its rows.
static RtRows rows(const float *data, int64_t stride) {
    return (RtRows){.data = data, .stride = (size_t)stride};
}

// Stores rows (heads, count), each of `bytes` bytes, at positions pos, pos + 1, .. of one
// sequence of a state (sequences, heads, capacity), nowhere outside.
static void place_rows(void *state, int64_t sequences, int64_t heads, int64_t capacity,
                       int64_t sequence, int64_t pos, const void *rows, int64_t count,
                       int64_t bytes) {
    int64_t first = pos < 0 ? -pos : 0, room = capacity - pos;
    int64_t stored = (room < count ? room : count) - first;
    if (sequence < 0 || sequence >= sequences || stored <= 0)
        return;
    for (int64_t h = 0; h < heads; h++) {
        int64_t to = (sequence * heads + h) * capacity + pos + first, from = h * count + first;
        memcpy((unsigned char *)state + to * bytes, (const unsigned char *)rows + from * bytes,
               (size_t)(stored * bytes));
    }
}

// std.nn.embedding::embedding
// op embedding<*S: Shape, Vocab: Dim, H: Dim, T: Float>(ids: Tensor[*S; i32], table: Tensor[Vocab,
// H; T]) -> Tensor[*S, H; T]
// rows2 (1, 1, 8), ids (1, 1), table (11, 8)
static void embedding(float *restrict rows2, const int32_t *ids, const float *table) {
    // let rows[*s, h] = table[ids[*s], h]
    for (int64_t h = 0; h < 8; h++) {
        rows2[h] = table[rt_clamp((int64_t)ids[0], 11) * 8 + h];
    }
}

// std.nn.embedding::Embedding.forward
// fn forward<*S: Shape>(ids: Tensor[*S; i32]) -> Tensor[*S, H; T]
// out (1, 1, 8), ids (1, 1)
static void embedding_forward(float *restrict out, const Embedding *self, const int32_t *ids) {
    // return embedding(ids, weight)
    embedding(out, ids, self->weight);
}

// std.nn.norm::rms_norm
// op rms_norm<*S: Shape, H: Dim, T: Float>(x: Tensor[*S, H; T], weight: Tensor[H; T], eps: f32 =
// 1e-5) -> Tensor[*S, H; T]
// out (1, 1, 8), x (1, 1, 8), weight (8)
static void rms_norm(Work work, float *restrict out, const float *x, const float *weight) {
    // let wide = cast<f32>(x)
    const float *wide = x; // (1, 1, 8)

    // let square[*s] = sum<f32>[h] wide[*s, h] * wide[*s, h] / cast<f32>(H)
    float *square = take(&work, 4); // (1, 1)
    float lanes[32] = {0};
    for (int64_t h = 0; h < 8; h++) {
        float value = wide[h];
        lanes[h % 32] += value * value / (float)8;
    }
    square[0] = rt_fold(lanes);

    // let unit[*s, h] = cast<T>(wide[*s, h] * rsqrt(square[*s] + eps))
    float *unit = take(&work, 32); // (1, 1, 8)
    for (int64_t h2 = 0; h2 < 8; h2++) {
        unit[h2] = wide[h2] * rt_rsqrt(square[0] + 1e-05f);
    }

    // return unit * weight
    for (int64_t k = 0; k < 8; k++) {
        out[k] = unit[k] * weight[k];
    }
}

// std.nn.norm::RmsNorm.forward
// fn forward<*S: Shape>(x: Tensor[*S, H; T]) -> Tensor[*S, H; T]
// out (1, 1, 8), x (1, 1, 8)
static void rms_norm_forward(Work work, float *restrict out, const RmsNorm *self, const float *x) {
    // return rms_norm(x, weight)
    rms_norm(work, out, x, self->weight);
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, 1, 4), x (1, 1, 8), weight (4, 8)
static void linear(Work work, float *restrict product, const float *x, const float *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    rt_matmul_nt(work.pool, 1, 4, 8, x, 8, rows(weight, 8), product, 4);
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, 1, 4), x (1, 1, 8)
static void linear_forward(Work work, float *restrict out, const Linear_2 *self, const float *x) {
    // return linear(x, weight, bias)
    linear(work, out, x, self->weight);
}

// crate::angles
// fn angles<S: Dim, D: Dim>(at: Tensor[S; i32]) -> Tensor[S, D; f32] where D % 2 == 0
// out (1, 4), at (1)
static void angles(Work work, float *restrict out, const int32_t *at) {
    // let number = cast<f32>(iota<i64>(D / 2))
    float *number = take(&work, 8); // (2)
    for (int64_t i = 0; i < 2; i++) {
        number[i] = (float)i;
    }

    float logarithm = rt_log(1e+04f);

    // let step = exp(-(number * 2.0 / cast<f32>(D)) * log(THETA))
    float *step = take(&work, 8); // (2)
    for (int64_t i = 0; i < 2; i++) {
        step[i] = rt_exp((-(number[i] * 2.0f / (float)4)) * logarithm);
    }

    // let angle[s, i] = cast<f32>(at[s]) * step[i]
    float *angle = number; // (1, 2), reuses number
    for (int64_t i = 0; i < 2; i++) {
        angle[i] = (float)at[0] * step[i];
    }

    // return concat(angle, angle, axis = -1)
    for (int64_t j = 0; j < 4; j++) {
        out[j] = j < 2 ? angle[j] : angle[j - 2];
    }
}

// std.nn.attention::split_heads
// op split_heads<B: Dim, S: Dim, N: Dim, D: Dim, T: Float>(x: Tensor[B, S, N * D; T]) -> Tensor[B,
// N, S, D; T]
// out (1, 1, 1, 4), x (1, 1, 4)
static void split_heads(float *restrict out, const float *x) {
    const float *view = x; // (1, 1, 1, 4)

    // return permute(reshape(x, [B, S, N, D]), [0, 2, 1, 3])
    for (int64_t l = 0; l < 4; l++) {
        out[l] = view[l];
    }
}

// std.nn.rope::rotate_half
// fn rotate_half<*S: Shape, D: Dim, T: Float>(x: Tensor[*S, D; T]) -> Tensor[*S, D; T] where D % 2
// == 0
// out (1, 1, 1, 4), x (1, 1, 1, 4)
static void rotate_half(float *restrict out, const float *x) {
    // return concat(-x[..., D / 2:D], x[..., 0:D / 2], axis = -1)
    for (int64_t l = 0; l < 4; l++) {
        out[l] = l < 2 ? -x[l + 2] : x[l - 2];
    }
}

// std.nn.rope::rope
// op rope<B: Dim, H: Dim, S: Dim, D: Dim, T: Float>(x: Tensor[B, H, S, D; T], cos_table: Tensor[S,
// D; T], sin_table: Tensor[S, D; T]) -> Tensor[B, H, S, D; T] where D % 2 == 0
// out (1, 1, 1, 4), x (1, 1, 1, 4), cos_table (1, 4), sin_table (1, 4)
static void rope(Work work, float *restrict out, const float *x, const float *cos_table,
                 const float *sin_table) {
    float *rotate_half_out = take(&work, 16); // (1, 1, 1, 4)
    rotate_half(rotate_half_out, x);

    // return x * cos_table + rotate_half(x) * sin_table
    for (int64_t l = 0; l < 4; l++) {
        out[l] = x[l] * cos_table[l] + rotate_half_out[l] * sin_table[l];
    }
}

// crate::turned
// fn turned<H: Dim, S: Dim, D: Dim, B: Dim>(x: Tensor[B, S, H * D; f32], at: Tensor[S; i32]) ->
// Tensor[B, H, S, D; f32] where D % 2 == 0
// out (1, 1, 1, 4), x (1, 1, 4), at (1)
static void turned(Work work, float *restrict out, const float *x, const int32_t *at) {
    // let a = angles<S, D>(at)
    float *a = take(&work, 16); // (1, 4)
    angles(work, a, at);
    float *split_heads_out = take(&work, 16); // (1, 1, 1, 4)
    split_heads(split_heads_out, x);

    float *cosine = take(&work, 16); // (1, 4)
    for (int64_t j = 0; j < 4; j++) {
        cosine[j] = rt_cos(a[j]);
    }

    float *sine = take(&work, 16); // (1, 4)
    for (int64_t j = 0; j < 4; j++) {
        sine[j] = rt_sin(a[j]);
    }

    // return rope(split_heads<B, S, H, D, f32>(x), cos(a), sin(a))
    rope(work, out, split_heads_out, cosine, sine);
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, 1, 8), x (1, 1, 8), weight (8, 8)
static void linear2(Work work, float *restrict product, const float *x, const float *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    rt_matmul_nt(work.pool, 1, 8, 8, x, 8, rows(weight, 8), product, 8);
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, 1, 8), x (1, 1, 8)
static void linear_forward2(Work work, float *restrict out, const Linear *self, const float *x) {
    // return linear(x, weight, bias)
    linear2(work, out, x, self->weight);
}

// std.nn.attention::split_heads
// op split_heads<B: Dim, S: Dim, N: Dim, D: Dim, T: Float>(x: Tensor[B, S, N * D; T]) -> Tensor[B,
// N, S, D; T]
// out (1, 2, 1, 4), x (1, 1, 8)
static void split_heads2(float *restrict out, const float *x) {
    const float *view = x; // (1, 1, 2, 4)

    // return permute(reshape(x, [B, S, N, D]), [0, 2, 1, 3])
    for (int64_t j = 0; j < 2; j++) {
        for (int64_t l = 0; l < 4; l++) {
            out[j * 4 + l] = view[j * 4 + l];
        }
    }
}

// std.nn.rope::rotate_half
// fn rotate_half<*S: Shape, D: Dim, T: Float>(x: Tensor[*S, D; T]) -> Tensor[*S, D; T] where D % 2
// == 0
// out (1, 2, 1, 4), x (1, 2, 1, 4)
static void rotate_half2(float *restrict out, const float *x) {
    // return concat(-x[..., D / 2:D], x[..., 0:D / 2], axis = -1)
    for (int64_t j = 0; j < 2; j++) {
        for (int64_t l = 0; l < 4; l++) {
            out[j * 4 + l] = l < 2 ? -x[j * 4 + l + 2] : x[j * 4 + (l - 2)];
        }
    }
}

// std.nn.rope::rope
// op rope<B: Dim, H: Dim, S: Dim, D: Dim, T: Float>(x: Tensor[B, H, S, D; T], cos_table: Tensor[S,
// D; T], sin_table: Tensor[S, D; T]) -> Tensor[B, H, S, D; T] where D % 2 == 0
// out (1, 2, 1, 4), x (1, 2, 1, 4), cos_table (1, 4), sin_table (1, 4)
static void rope2(Work work, float *restrict out, const float *x, const float *cos_table,
                  const float *sin_table) {
    float *rotate_half_out = take(&work, 32); // (1, 2, 1, 4)
    rotate_half2(rotate_half_out, x);

    // return x * cos_table + rotate_half(x) * sin_table
    for (int64_t j = 0; j < 2; j++) {
        for (int64_t l = 0; l < 4; l++) {
            float scaled = rotate_half_out[j * 4 + l] * sin_table[l];
            out[j * 4 + l] = x[j * 4 + l] * cos_table[l] + scaled;
        }
    }
}

// crate::turned
// fn turned<H: Dim, S: Dim, D: Dim, B: Dim>(x: Tensor[B, S, H * D; f32], at: Tensor[S; i32]) ->
// Tensor[B, H, S, D; f32] where D % 2 == 0
// out (1, 2, 1, 4), x (1, 1, 8), at (1)
static void turned2(Work work, float *restrict out, const float *x, const int32_t *at) {
    // let a = angles<S, D>(at)
    float *a = take(&work, 16); // (1, 4)
    angles(work, a, at);
    float *split_heads_out = take(&work, 32); // (1, 2, 1, 4)
    split_heads2(split_heads_out, x);

    float *cosine = take(&work, 16); // (1, 4)
    for (int64_t j = 0; j < 4; j++) {
        cosine[j] = rt_cos(a[j]);
    }

    float *sine = take(&work, 16); // (1, 4)
    for (int64_t j = 0; j < 4; j++) {
        sine[j] = rt_sin(a[j]);
    }

    // return rope(split_heads<B, S, H, D, f32>(x), cos(a), sin(a))
    rope2(work, out, split_heads_out, cosine, sine);
}

// std.nn.softmax::softmax
// op softmax<*S: Shape, N: Dim, T: Float>(x: Tensor[*S, N; T]) -> Tensor[*S, N; T]
// share (1, 1, 2, 1, 16), x (1, 1, 2, 1, 16)
static void softmax(Work work, float *restrict share, const float *x) {
    // let wide = cast<f32>(x)
    const float *wide = x; // (1, 1, 2, 1, 16)

    // let peak[*s] = max[n] wide[*s, n]
    float *peak = take(&work, 8); // (1, 1, 2, 1)
    for (int64_t k = 0; k < 2; k++) {
        float peak2 = -INFINITY;
        for (int64_t n = 0; n < 16; n++) {
            peak2 = rt_max(peak2, wide[k * 16 + n]);
        }
        peak[k] = peak2;
    }

    // let power[*s, n] = exp(wide[*s, n] - peak[*s])
    float *power = take(&work, 128); // (1, 1, 2, 1, 16)
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t n = 0; n < 16; n++) {
            power[k * 16 + n] = rt_exp(wide[k * 16 + n] - peak[k]);
        }
    }

    // let total[*s] = sum<f32>[n] power[*s, n]
    float *total = peak; // (1, 1, 2, 1), reuses peak
    for (int64_t k = 0; k < 2; k++) {
        total[k] = rt_sum(power + k * 16, 16);
    }

    // let share[*s, n] = cast<T>(power[*s, n] / total[*s])
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t n = 0; n < 16; n++) {
            share[k * 16 + n] = power[k * 16 + n] / total[k];
        }
    }
}

// std.nn.attention::grouped_attention
// op grouped_attention<B: Dim, H: Dim, Hk: Dim, Q: Dim, K: Dim, D: Dim, T: Float>(query: Tensor[B,
// H, Q, D; T], key: Tensor[B, Hk, K, D; T], value: Tensor[B, Hk, K, D; T], scale: f32, mask:
// Tensor[Q, K; bool]? = none) -> Tensor[B, H, Q, D; T] where Hk > 0, H % Hk == 0
// out (1, 2, 1, 4), query (1, 2, 1, 4), key2 (1, 1, 16, 4), value (1, 1, 16, 4), mask (1, 16)
static void grouped_attention(Work work, float *restrict out, const float *query, const float *key2,
                              const float *value, float scale, const bool *mask) {
    // let group = reshape(query, [B, Hk, H / Hk, Q, D])
    const float *group = query; // (1, 1, 2, 1, 4)

    // let dot[b, h, g, q, k] = sum<f32>[d] cast<f32>(group[b, h, g, q, d]) * cast<f32>(key[b, h, k,
    // d])
    float *dot = take(&work, 128); // (1, 1, 2, 1, 16)
    rt_matmul_nt(work.pool, 2, 16, 4, group, 4, rows(key2, 4), dot, 16);

    // let score = dot * scale
    float *score = take(&work, 128); // (1, 1, 2, 1, 16)
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t m = 0; m < 16; m++) {
            score[k * 16 + m] = dot[k * 16 + m] * scale;
        }
    }

    float *chosen = dot; // (1, 1, 2, 1, 16), reuses dot
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t m = 0; m < 16; m++) {
            chosen[k * 16 + m] = mask[m] ? score[k * 16 + m] : -1e+30f;
        }
    }

    // let share = softmax( match mask { some(seen) => select(seen, score, HIDDEN) none => score },
    // )
    float *share = score; // (1, 1, 2, 1, 16), reuses score
    softmax(work, share, chosen);

    // let mixed[b, h, g, q, d] = sum<f32>[k] share[b, h, g, q, k] * cast<f32>(value[b, h, k, d])
    rt_matmul_nn(work.pool, 2, 4, 16, share, 16, value, 4, out, 4);
}

// std.nn.attention::merge_heads
// op merge_heads<B: Dim, S: Dim, N: Dim, D: Dim, T: Float>(x: Tensor[B, N, S, D; T]) -> Tensor[B,
// S, N * D; T]
// out (1, 1, 8), x (1, 2, 1, 4)
static void merge_heads(float *restrict out, const float *x) {
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t l = 0; l < 4; l++) {
            out[k * 4 + l] = x[k * 4 + l];
        }
    }
}

// crate::Attention.kept
// fn kept<S: Dim>(x: Tensor[1, S, Heads * D; f32], at: Tensor[S; i32]) -> Tensor[1, S, Heads * D;
// f32]
// out (1, 1, 8), x (1, 1, 8), at (1)
static void attention_kept(Work work, float *restrict out, const Attention *self, const float *x,
                           const int32_t *at) {
    float *query_out = take(&work, 64); // (1, 1, 8)
    linear_forward2(work, query_out, &self->query, x);

    // let q = turned<Heads, S, D, 1>(query.forward(x), at)
    float *q = take(&work, 32); // (1, 2, 1, 4)
    turned2(work, q, query_out, at);

    // let place = iota<i32>(MaxSeq)
    int32_t *place = (int32_t *)query_out; // (16), reuses query_out
    for (int64_t i = 0; i < 16; i++) {
        place[i] = (int32_t)i;
    }

    // let seen[i, s] = place[s] <= at[i]
    bool *seen = take(&work, 16); // (1, 16)
    for (int64_t s = 0; s < 16; s++) {
        seen[s] = place[s] <= at[0];
    }

    float scale = rt_rsqrt((float)4);

    // let mixed = grouped_attention(q, keys, values, rsqrt(cast<f32>(D)), some(seen))
    float *mixed = query_out; // (1, 2, 1, 4), reuses query_out
    grouped_attention(work, mixed, q, self->keys, self->values, scale, seen);
    float *merge_heads_out = q; // (1, 1, 8), reuses q
    merge_heads(merge_heads_out, mixed);

    // return out.forward(merge_heads<1, S, Heads, D, f32>(mixed))
    linear_forward2(work, out, &self->out, merge_heads_out);
}

// crate::Attention.decode
// fn decode(x: Tensor[1, 1, Heads * D; f32], pos: i32) -> Tensor[1, 1, Heads * D; f32]
// out (1, 1, 8), x (1, 1, 8)
static void attention_decode(Work work, float *restrict out, const Attention *self, const float *x,
                             int32_t pos) {
    // let at = fill<i32>([1], pos)
    int32_t *at = take(&work, 4); // (1)
    at[0] = pos;
    float *key_out = take(&work, 16); // (1, 1, 4)
    linear_forward(work, key_out, &self->key2, x);
    float *turned_out = take(&work, 16); // (1, 1, 1, 4)
    turned(work, turned_out, key_out, at);
    const float *view = turned_out; // (1, 1, 1, 4)

    // keys = write_at(keys, turned<KvHeads, 1, D, 1>(key.forward(x), at), pos)
    place_rows(self->keys, 1, 1, 16, 0, pos, view, 1, 16);
    float *value_out = key_out; // (1, 1, 4), reuses key_out
    linear_forward(work, value_out, &self->value, x);
    float *split_heads_out = turned_out; // (1, 1, 1, 4), reuses turned_out
    split_heads(split_heads_out, value_out);

    // values = write_at(values, split_heads<1, 1, KvHeads, D, f32>(value.forward(x)), pos)
    place_rows(self->values, 1, 1, 16, 0, pos, split_heads_out, 1, 16);

    // return kept(x, at)
    attention_kept(work, out, self, x, at);
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, 1, 12), x (1, 1, 8), weight (12, 8)
static void linear3(Work work, float *restrict product, const float *x, const float *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    rt_matmul_nt(work.pool, 1, 12, 8, x, 8, rows(weight, 8), product, 12);
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, 1, 12), x (1, 1, 8)
static void linear_forward3(Work work, float *restrict out, const Linear_3 *self, const float *x) {
    // return linear(x, weight, bias)
    linear3(work, out, x, self->weight);
}

// std.nn.activations::sigmoid
// op sigmoid<*S: Shape, T: Float>(x: Tensor[*S; T]) -> Tensor[*S; T]
// out (1, 1, 12), x (1, 1, 12)
static void sigmoid(float *restrict out, const float *x) {
    // return 1.0 / (1.0 + exp(-x))
    for (int64_t k = 0; k < 12; k++) {
        out[k] = 1.0f / (1.0f + rt_exp(-x[k]));
    }
}

// std.nn.activations::silu
// op silu<*S: Shape, T: Float>(x: Tensor[*S; T]) -> Tensor[*S; T]
// out (1, 1, 12), x (1, 1, 12)
static void silu(Work work, float *restrict out, const float *x) {
    float *sigmoid_out = take(&work, 48); // (1, 1, 12)
    sigmoid(sigmoid_out, x);

    // return x * sigmoid(x)
    for (int64_t k = 0; k < 12; k++) {
        out[k] = x[k] * sigmoid_out[k];
    }
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, 1, 8), x (1, 1, 12), weight (8, 12)
static void linear4(Work work, float *restrict product, const float *x, const float *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    rt_matmul_nt(work.pool, 1, 8, 12, x, 12, rows(weight, 12), product, 8);
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, 1, 8), x (1, 1, 12)
static void linear_forward4(Work work, float *restrict out, const Linear_4 *self, const float *x) {
    // return linear(x, weight, bias)
    linear4(work, out, x, self->weight);
}

// std.nn.mlp::SwiGlu.forward
// fn forward<*S: Shape>(x: Tensor[*S, H; T]) -> Tensor[*S, H; T]
// out (1, 1, 8), x (1, 1, 8)
static void swi_glu_forward(Work work, float *restrict out, const SwiGlu *self, const float *x) {
    float *gate_out = take(&work, 48); // (1, 1, 12)
    linear_forward3(work, gate_out, &self->gate, x);
    float *silu_out = take(&work, 48); // (1, 1, 12)
    silu(work, silu_out, gate_out);
    float *up_out = gate_out; // (1, 1, 12), reuses gate_out
    linear_forward3(work, up_out, &self->up, x);

    float *product = take(&work, 48); // (1, 1, 12)
    for (int64_t k = 0; k < 12; k++) {
        product[k] = silu_out[k] * up_out[k];
    }

    // return down.forward(silu(gate.forward(x)) * up.forward(x))
    linear_forward4(work, out, &self->down, product);
}

// std.nn.norm::rms_norm
// op rms_norm<*S: Shape, H: Dim, T: Float>(x: Tensor[*S, H; T], weight: Tensor[H; T], eps: f32 =
// 1e-5) -> Tensor[*S, H; T]
// out (1, 8), x (1, 8), weight (8)
static void rms_norm2(Work work, float *restrict out, const float *x, const float *weight) {
    // let wide = cast<f32>(x)
    const float *wide = x; // (1, 8)

    // let square[*s] = sum<f32>[h] wide[*s, h] * wide[*s, h] / cast<f32>(H)
    float *square = take(&work, 4); // (1)
    float lanes[32] = {0};
    for (int64_t h = 0; h < 8; h++) {
        float value = wide[h];
        lanes[h % 32] += value * value / (float)8;
    }
    square[0] = rt_fold(lanes);

    // let unit[*s, h] = cast<T>(wide[*s, h] * rsqrt(square[*s] + eps))
    float *unit = take(&work, 32); // (1, 8)
    for (int64_t h2 = 0; h2 < 8; h2++) {
        unit[h2] = wide[h2] * rt_rsqrt(square[0] + 1e-05f);
    }

    // return unit * weight
    for (int64_t j = 0; j < 8; j++) {
        out[j] = unit[j] * weight[j];
    }
}

// std.nn.norm::RmsNorm.forward
// fn forward<*S: Shape>(x: Tensor[*S, H; T]) -> Tensor[*S, H; T]
// out (1, 8), x (1, 8)
static void rms_norm_forward2(Work work, float *restrict out, const RmsNorm *self, const float *x) {
    // return rms_norm(x, weight)
    rms_norm2(work, out, x, self->weight);
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, 11), x (1, 8), weight (11, 8)
static void linear5(Work work, float *restrict product, const float *x, const float *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    rt_matmul_nt(work.pool, 1, 11, 8, x, 8, rows(weight, 8), product, 11);
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, 11), x (1, 8)
static void linear_forward5(Work work, float *restrict out, const Linear_5 *self, const float *x) {
    // return linear(x, weight, bias)
    linear5(work, out, x, self->weight);
}

// crate::Model.decode
// entry decode(token: Tensor[1, 1; i32], pos: i32) -> Tensor[1, 11; f32]
// out (1, 11), token (1, 1)
static void model_decode(Work work, float *restrict out, const Model *self, const int32_t *token,
                         int32_t pos) {
    // var x = embedding.forward(token)
    float *x = take(&work, 32); // (1, 1, 8)
    embedding_forward(x, &self->embedding, token);

    // for each item
    float *norm_out = take(&work, 32);      // (1, 1, 8)
    float *attention_out = take(&work, 32); // (1, 1, 8)
    float *mlp_out = take(&work, 32);       // (1, 1, 8)
    for (int64_t i = 0; i < 2; i++) {
        const Layer *layer = &self->layers[i];
        rms_norm_forward(work, norm_out, &layer->norm, x);
        const float *view2 = norm_out; // (1, 1, 8)
        attention_decode(work, attention_out, &layer->attention, view2, pos);

        // x = x + layer.attention.decode(layer.norm.forward(x), pos)
        float *x2 = norm_out; // (1, 1, 8), reuses norm_out
        for (int64_t k = 0; k < 8; k++) {
            x2[k] = x[k] + attention_out[k];
        }

        float *mlp_norm_out = attention_out; // (1, 1, 8), reuses attention_out
        rms_norm_forward(work, mlp_norm_out, &layer->mlp_norm, x2);
        swi_glu_forward(work, mlp_out, &layer->mlp, mlp_norm_out);

        // x = x + layer.mlp.forward(layer.mlp_norm.forward(x))
        for (int64_t k = 0; k < 8; k++) {
            x[k] = x2[k] + mlp_out[k];
        }
    }

    float *value = norm_out; // (1, 8), reuses norm_out
    for (int64_t j = 0; j < 8; j++) {
        value[j] = x[j];
    }

    float *norm_out2 = x; // (1, 8), reuses x
    rms_norm_forward2(work, norm_out2, &self->norm, value);

    // return head.forward(norm.forward(x[:, 0, :]))
    linear_forward5(work, out, &self->head, norm_out2);
}

// std.nn.embedding::embedding
// op embedding<*S: Shape, Vocab: Dim, H: Dim, T: Float>(ids: Tensor[*S; i32], table: Tensor[Vocab,
// H; T]) -> Tensor[*S, H; T]
// rows2 (1, S, 8), ids (1, S), table (11, 8)
static void embedding2(int64_t S, float *restrict rows2, const int32_t *ids, const float *table) {
    // let rows[*s, h] = table[ids[*s], h]
    for (int64_t j = 0; j < S; j++) {
        for (int64_t h = 0; h < 8; h++) {
            rows2[j * 8 + h] = table[rt_clamp((int64_t)ids[j], 11) * 8 + h];
        }
    }
}

// std.nn.embedding::Embedding.forward
// fn forward<*S: Shape>(ids: Tensor[*S; i32]) -> Tensor[*S, H; T]
// out (1, S, 8), ids (1, S)
static void embedding_forward2(int64_t S, float *restrict out, const Embedding *self,
                               const int32_t *ids) {
    // return embedding(ids, weight)
    embedding2(S, out, ids, self->weight);
}

// std.nn.norm::rms_norm
// op rms_norm<*S: Shape, H: Dim, T: Float>(x: Tensor[*S, H; T], weight: Tensor[H; T], eps: f32 =
// 1e-5) -> Tensor[*S, H; T]
// out (1, S, 8), x (1, S, 8), weight (8)
static void rms_norm3(Work work, int64_t S, float *restrict out, const float *x,
                      const float *weight) {
    // let wide = cast<f32>(x)
    const float *wide = x; // (1, S, 8)

    // let square[*s] = sum<f32>[h] wide[*s, h] * wide[*s, h] / cast<f32>(H)
    float *square = take(&work, S * 4); // (1, S)
    for (int64_t j = 0; j < S; j++) {
        float lanes[32] = {0};
        for (int64_t h = 0; h < 8; h++) {
            float value = wide[j * 8 + h];
            lanes[h % 32] += value * value / (float)8;
        }
        square[j] = rt_fold(lanes);
    }

    // let unit[*s, h] = cast<T>(wide[*s, h] * rsqrt(square[*s] + eps))
    float *unit = take(&work, S * 32); // (1, S, 8)
    for (int64_t j = 0; j < S; j++) {
        for (int64_t h = 0; h < 8; h++) {
            unit[j * 8 + h] = wide[j * 8 + h] * rt_rsqrt(square[j] + 1e-05f);
        }
    }

    // return unit * weight
    for (int64_t j = 0; j < S; j++) {
        for (int64_t k = 0; k < 8; k++) {
            out[j * 8 + k] = unit[j * 8 + k] * weight[k];
        }
    }
}

// std.nn.norm::RmsNorm.forward
// fn forward<*S: Shape>(x: Tensor[*S, H; T]) -> Tensor[*S, H; T]
// out (1, S, 8), x (1, S, 8)
static void rms_norm_forward3(Work work, int64_t S, float *restrict out, const RmsNorm *self,
                              const float *x) {
    // return rms_norm(x, weight)
    rms_norm3(work, S, out, x, self->weight);
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, S, 4), x (1, S, 8), weight (4, 8)
static void linear6(Work work, int64_t S, float *restrict product, const float *x,
                    const float *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    rt_matmul_nt(work.pool, S, 4, 8, x, 8, rows(weight, 8), product, 4);
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, S, 4), x (1, S, 8)
static void linear_forward6(Work work, int64_t S, float *restrict out, const Linear_2 *self,
                            const float *x) {
    // return linear(x, weight, bias)
    linear6(work, S, out, x, self->weight);
}

// crate::angles
// fn angles<S: Dim, D: Dim>(at: Tensor[S; i32]) -> Tensor[S, D; f32] where D % 2 == 0
// out (S, 4), at (S)
static void angles2(Work work, int64_t S, float *restrict out, const int32_t *at) {
    // let number = cast<f32>(iota<i64>(D / 2))
    float *number = take(&work, 8); // (2)
    for (int64_t i = 0; i < 2; i++) {
        number[i] = (float)i;
    }

    float logarithm = rt_log(1e+04f);

    // let step = exp(-(number * 2.0 / cast<f32>(D)) * log(THETA))
    float *step = take(&work, 8); // (2)
    for (int64_t i = 0; i < 2; i++) {
        step[i] = rt_exp((-(number[i] * 2.0f / (float)4)) * logarithm);
    }

    // let angle[s, i] = cast<f32>(at[s]) * step[i]
    float *angle = take(&work, S * 8); // (S, 2)
    for (int64_t s = 0; s < S; s++) {
        for (int64_t i = 0; i < 2; i++) {
            angle[s * 2 + i] = (float)at[s] * step[i];
        }
    }

    // return concat(angle, angle, axis = -1)
    for (int64_t i = 0; i < S; i++) {
        for (int64_t j = 0; j < 4; j++) {
            out[i * 4 + j] = j < 2 ? angle[i * 2 + j] : angle[i * 2 + (j - 2)];
        }
    }
}

// std.nn.attention::split_heads
// op split_heads<B: Dim, S: Dim, N: Dim, D: Dim, T: Float>(x: Tensor[B, S, N * D; T]) -> Tensor[B,
// N, S, D; T]
// out (1, 1, S, 4), x (1, S, 4)
static void split_heads3(int64_t S, float *restrict out, const float *x) {
    const float *view = x; // (1, S, 1, 4)

    // return permute(reshape(x, [B, S, N, D]), [0, 2, 1, 3])
    for (int64_t k = 0; k < S; k++) {
        for (int64_t l = 0; l < 4; l++) {
            out[k * 4 + l] = view[k * 4 + l];
        }
    }
}

// std.nn.rope::rotate_half
// fn rotate_half<*S: Shape, D: Dim, T: Float>(x: Tensor[*S, D; T]) -> Tensor[*S, D; T] where D % 2
// == 0
// out (1, 1, S, 4), x (1, 1, S, 4)
static void rotate_half3(int64_t S, float *restrict out, const float *x) {
    // return concat(-x[..., D / 2:D], x[..., 0:D / 2], axis = -1)
    for (int64_t k = 0; k < S; k++) {
        for (int64_t l = 0; l < 4; l++) {
            out[k * 4 + l] = l < 2 ? -x[k * 4 + l + 2] : x[k * 4 + (l - 2)];
        }
    }
}

// std.nn.rope::rope
// op rope<B: Dim, H: Dim, S: Dim, D: Dim, T: Float>(x: Tensor[B, H, S, D; T], cos_table: Tensor[S,
// D; T], sin_table: Tensor[S, D; T]) -> Tensor[B, H, S, D; T] where D % 2 == 0
// out (1, 1, S, 4), x (1, 1, S, 4), cos_table (S, 4), sin_table (S, 4)
static void rope3(Work work, int64_t S, float *restrict out, const float *x, const float *cos_table,
                  const float *sin_table) {
    float *rotate_half_out = take(&work, S * 16); // (1, 1, S, 4)
    rotate_half3(S, rotate_half_out, x);

    // return x * cos_table + rotate_half(x) * sin_table
    for (int64_t k = 0; k < S; k++) {
        for (int64_t l = 0; l < 4; l++) {
            float scaled = rotate_half_out[k * 4 + l] * sin_table[k * 4 + l];
            out[k * 4 + l] = x[k * 4 + l] * cos_table[k * 4 + l] + scaled;
        }
    }
}

// crate::turned
// fn turned<H: Dim, S: Dim, D: Dim, B: Dim>(x: Tensor[B, S, H * D; f32], at: Tensor[S; i32]) ->
// Tensor[B, H, S, D; f32] where D % 2 == 0
// out (1, 1, S, 4), x (1, S, 4), at (S)
static void turned3(Work work, int64_t S, float *restrict out, const float *x, const int32_t *at) {
    // let a = angles<S, D>(at)
    float *a = take(&work, S * 16); // (S, 4)
    angles2(work, S, a, at);
    float *split_heads_out = take(&work, S * 16); // (1, 1, S, 4)
    split_heads3(S, split_heads_out, x);

    float *cosine = take(&work, S * 16); // (S, 4)
    for (int64_t i = 0; i < S; i++) {
        for (int64_t j = 0; j < 4; j++) {
            cosine[i * 4 + j] = a[i * 4 + j];
        }
    }
    rt_cos_n(cosine, cosine, S * 4);

    float *sine = take(&work, S * 16); // (S, 4)
    for (int64_t i = 0; i < S; i++) {
        for (int64_t j = 0; j < 4; j++) {
            sine[i * 4 + j] = a[i * 4 + j];
        }
    }
    rt_sin_n(sine, sine, S * 4);

    // return rope(split_heads<B, S, H, D, f32>(x), cos(a), sin(a))
    rope3(work, S, out, split_heads_out, cosine, sine);
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, S, 8), x (1, S, 8), weight (8, 8)
static void linear7(Work work, int64_t S, float *restrict product, const float *x,
                    const float *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    rt_matmul_nt(work.pool, S, 8, 8, x, 8, rows(weight, 8), product, 8);
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, S, 8), x (1, S, 8)
static void linear_forward7(Work work, int64_t S, float *restrict out, const Linear *self,
                            const float *x) {
    // return linear(x, weight, bias)
    linear7(work, S, out, x, self->weight);
}

// std.nn.attention::split_heads
// op split_heads<B: Dim, S: Dim, N: Dim, D: Dim, T: Float>(x: Tensor[B, S, N * D; T]) -> Tensor[B,
// N, S, D; T]
// out (1, 2, S, 4), x (1, S, 8)
static void split_heads4(int64_t S, float *restrict out, const float *x) {
    const float *view = x; // (1, S, 2, 4)

    // return permute(reshape(x, [B, S, N, D]), [0, 2, 1, 3])
    for (int64_t j = 0; j < 2; j++) {
        for (int64_t k = 0; k < S; k++) {
            for (int64_t l = 0; l < 4; l++) {
                out[(j * S + k) * 4 + l] = view[(k * 2 + j) * 4 + l];
            }
        }
    }
}

// std.nn.rope::rotate_half
// fn rotate_half<*S: Shape, D: Dim, T: Float>(x: Tensor[*S, D; T]) -> Tensor[*S, D; T] where D % 2
// == 0
// out (1, 2, S, 4), x (1, 2, S, 4)
static void rotate_half4(int64_t S, float *restrict out, const float *x) {
    // return concat(-x[..., D / 2:D], x[..., 0:D / 2], axis = -1)
    for (int64_t j = 0; j < 2; j++) {
        for (int64_t k = 0; k < S; k++) {
            for (int64_t l = 0; l < 4; l++) {
                if (l < 2) {
                    out[(j * S + k) * 4 + l] = -x[(j * S + k) * 4 + l + 2];
                } else {
                    out[(j * S + k) * 4 + l] = x[(j * S + k) * 4 + (l - 2)];
                }
            }
        }
    }
}

// std.nn.rope::rope
// op rope<B: Dim, H: Dim, S: Dim, D: Dim, T: Float>(x: Tensor[B, H, S, D; T], cos_table: Tensor[S,
// D; T], sin_table: Tensor[S, D; T]) -> Tensor[B, H, S, D; T] where D % 2 == 0
// out (1, 2, S, 4), x (1, 2, S, 4), cos_table (S, 4), sin_table (S, 4)
static void rope4(Work work, int64_t S, float *restrict out, const float *x, const float *cos_table,
                  const float *sin_table) {
    float *rotate_half_out = take(&work, S * 32); // (1, 2, S, 4)
    rotate_half4(S, rotate_half_out, x);

    // return x * cos_table + rotate_half(x) * sin_table
    for (int64_t j = 0; j < 2; j++) {
        for (int64_t k = 0; k < S; k++) {
            for (int64_t l = 0; l < 4; l++) {
                float scaled = rotate_half_out[(j * S + k) * 4 + l] * sin_table[k * 4 + l];
                out[(j * S + k) * 4 + l] = x[(j * S + k) * 4 + l] * cos_table[k * 4 + l] + scaled;
            }
        }
    }
}

// crate::turned
// fn turned<H: Dim, S: Dim, D: Dim, B: Dim>(x: Tensor[B, S, H * D; f32], at: Tensor[S; i32]) ->
// Tensor[B, H, S, D; f32] where D % 2 == 0
// out (1, 2, S, 4), x (1, S, 8), at (S)
static void turned4(Work work, int64_t S, float *restrict out, const float *x, const int32_t *at) {
    // let a = angles<S, D>(at)
    float *a = take(&work, S * 16); // (S, 4)
    angles2(work, S, a, at);
    float *split_heads_out = take(&work, S * 32); // (1, 2, S, 4)
    split_heads4(S, split_heads_out, x);

    float *cosine = take(&work, S * 16); // (S, 4)
    for (int64_t i = 0; i < S; i++) {
        for (int64_t j = 0; j < 4; j++) {
            cosine[i * 4 + j] = a[i * 4 + j];
        }
    }
    rt_cos_n(cosine, cosine, S * 4);

    float *sine = take(&work, S * 16); // (S, 4)
    for (int64_t i = 0; i < S; i++) {
        for (int64_t j = 0; j < 4; j++) {
            sine[i * 4 + j] = a[i * 4 + j];
        }
    }
    rt_sin_n(sine, sine, S * 4);

    // return rope(split_heads<B, S, H, D, f32>(x), cos(a), sin(a))
    rope4(work, S, out, split_heads_out, cosine, sine);
}

// std.nn.softmax::softmax
// op softmax<*S: Shape, N: Dim, T: Float>(x: Tensor[*S, N; T]) -> Tensor[*S, N; T]
// share (1, 1, 2, S, 16), x (1, 1, 2, S, 16)
static void softmax2(Work work, int64_t S, float *restrict share, const float *x) {
    // let wide = cast<f32>(x)
    const float *wide = x; // (1, 1, 2, S, 16)

    // let peak[*s] = max[n] wide[*s, n]
    float *peak = take(&work, S * 8); // (1, 1, 2, S)
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t l = 0; l < S; l++) {
            float peak2 = -INFINITY;
            for (int64_t n = 0; n < 16; n++) {
                peak2 = rt_max(peak2, wide[(k * S + l) * 16 + n]);
            }
            peak[k * S + l] = peak2;
        }
    }

    // let power[*s, n] = exp(wide[*s, n] - peak[*s])
    float *power = take(&work, S * 128); // (1, 1, 2, S, 16)
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t l = 0; l < S; l++) {
            for (int64_t n = 0; n < 16; n++) {
                power[(k * S + l) * 16 + n] = wide[(k * S + l) * 16 + n] - peak[k * S + l];
            }
        }
    }
    rt_exp_n(power, power, S * 32);

    // let total[*s] = sum<f32>[n] power[*s, n]
    float *total = peak; // (1, 1, 2, S), reuses peak
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t l = 0; l < S; l++) {
            total[k * S + l] = rt_sum(power + (k * S + l) * 16, 16);
        }
    }

    // let share[*s, n] = cast<T>(power[*s, n] / total[*s])
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t l = 0; l < S; l++) {
            for (int64_t n = 0; n < 16; n++) {
                share[(k * S + l) * 16 + n] = power[(k * S + l) * 16 + n] / total[k * S + l];
            }
        }
    }
}

// std.nn.attention::grouped_attention
// op grouped_attention<B: Dim, H: Dim, Hk: Dim, Q: Dim, K: Dim, D: Dim, T: Float>(query: Tensor[B,
// H, Q, D; T], key: Tensor[B, Hk, K, D; T], value: Tensor[B, Hk, K, D; T], scale: f32, mask:
// Tensor[Q, K; bool]? = none) -> Tensor[B, H, Q, D; T] where Hk > 0, H % Hk == 0
// out (1, 2, S, 4), query (1, 2, S, 4), key2 (1, 1, 16, 4), value (1, 1, 16, 4), mask (S, 16)
static void grouped_attention2(Work work, int64_t S, float *restrict out, const float *query,
                               const float *key2, const float *value, float scale,
                               const bool *mask) {
    // let group = reshape(query, [B, Hk, H / Hk, Q, D])
    const float *group = query; // (1, 1, 2, S, 4)

    // let dot[b, h, g, q, k] = sum<f32>[d] cast<f32>(group[b, h, g, q, d]) * cast<f32>(key[b, h, k,
    // d])
    float *dot = take(&work, S * 128); // (1, 1, 2, S, 16)
    rt_matmul_nt(work.pool, S * 2, 16, 4, group, 4, rows(key2, 4), dot, 16);

    // let score = dot * scale
    float *score = take(&work, S * 128); // (1, 1, 2, S, 16)
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t l = 0; l < S; l++) {
            for (int64_t m = 0; m < 16; m++) {
                score[(k * S + l) * 16 + m] = dot[(k * S + l) * 16 + m] * scale;
            }
        }
    }

    float *chosen = dot; // (1, 1, 2, S, 16), reuses dot
    for (int64_t k = 0; k < 2; k++) {
        for (int64_t l = 0; l < S; l++) {
            for (int64_t m = 0; m < 16; m++) {
                if (mask[l * 16 + m]) {
                    chosen[(k * S + l) * 16 + m] = score[(k * S + l) * 16 + m];
                } else {
                    chosen[(k * S + l) * 16 + m] = -1e+30f;
                }
            }
        }
    }

    // let share = softmax( match mask { some(seen) => select(seen, score, HIDDEN) none => score },
    // )
    float *share = score; // (1, 1, 2, S, 16), reuses score
    softmax2(work, S, share, chosen);

    // let mixed[b, h, g, q, d] = sum<f32>[k] share[b, h, g, q, k] * cast<f32>(value[b, h, k, d])
    rt_matmul_nn(work.pool, S * 2, 4, 16, share, 16, value, 4, out, 4);
}

// std.nn.attention::merge_heads
// op merge_heads<B: Dim, S: Dim, N: Dim, D: Dim, T: Float>(x: Tensor[B, N, S, D; T]) -> Tensor[B,
// S, N * D; T]
// out (1, S, 8), x (1, 2, S, 4)
static void merge_heads2(int64_t S, float *restrict out, const float *x) {
    for (int64_t j = 0; j < S; j++) {
        for (int64_t k = 0; k < 2; k++) {
            for (int64_t l = 0; l < 4; l++) {
                out[(j * 2 + k) * 4 + l] = x[(k * S + j) * 4 + l];
            }
        }
    }
}

// crate::Attention.kept
// fn kept<S: Dim>(x: Tensor[1, S, Heads * D; f32], at: Tensor[S; i32]) -> Tensor[1, S, Heads * D;
// f32]
// out (1, S, 8), x (1, S, 8), at (S)
static void attention_kept2(Work work, int64_t S, float *restrict out, const Attention *self,
                            const float *x, const int32_t *at) {
    float *query_out = take(&work, S * 32); // (1, S, 8)
    linear_forward7(work, S, query_out, &self->query, x);

    // let q = turned<Heads, S, D, 1>(query.forward(x), at)
    float *q = take(&work, S * 32); // (1, 2, S, 4)
    turned4(work, S, q, query_out, at);

    // let place = iota<i32>(MaxSeq)
    int32_t *place = take(&work, 64); // (16)
    for (int64_t i = 0; i < 16; i++) {
        place[i] = (int32_t)i;
    }

    // let seen[i, s] = place[s] <= at[i]
    bool *seen = (bool *)query_out; // (S, 16), reuses query_out
    for (int64_t i = 0; i < S; i++) {
        for (int64_t s = 0; s < 16; s++) {
            seen[i * 16 + s] = place[s] <= at[i];
        }
    }

    float scale = rt_rsqrt((float)4);

    // let mixed = grouped_attention(q, keys, values, rsqrt(cast<f32>(D)), some(seen))
    float *mixed = take(&work, S * 32); // (1, 2, S, 4)
    grouped_attention2(work, S, mixed, q, self->keys, self->values, scale, seen);
    float *merge_heads_out = query_out; // (1, S, 8), reuses query_out
    merge_heads2(S, merge_heads_out, mixed);

    // return out.forward(merge_heads<1, S, Heads, D, f32>(mixed))
    linear_forward7(work, S, out, &self->out, merge_heads_out);
}

// crate::Attention.prefill
// fn prefill<S: Dim>(x: Tensor[1, S, Heads * D; f32], pos: i32) -> Tensor[1, S, Heads * D; f32]
// where S > 0
// out (1, S, 8), x (1, S, 8)
static void attention_prefill(Work work, int64_t S, float *restrict out, const Attention *self,
                              const float *x, int32_t pos) {
    // let at = iota<i32>(S) + pos
    int32_t *at = take(&work, S * 4); // (S)
    for (int64_t i = 0; i < S; i++) {
        at[i] = rt_add_i32((int32_t)i, pos);
    }

    float *key_out = take(&work, S * 16); // (1, S, 4)
    linear_forward6(work, S, key_out, &self->key2, x);
    float *turned_out = take(&work, S * 16); // (1, 1, S, 4)
    turned3(work, S, turned_out, key_out, at);
    const float *view = turned_out; // (1, 1, S, 4)

    // keys = write_span(keys, turned<KvHeads, S, D, 1>(key.forward(x), at), pos)
    place_rows(self->keys, 1, 1, 16, 0, pos, view, S, 16);
    float *value_out = key_out; // (1, S, 4), reuses key_out
    linear_forward6(work, S, value_out, &self->value, x);
    float *split_heads_out = turned_out; // (1, 1, S, 4), reuses turned_out
    split_heads3(S, split_heads_out, value_out);

    // values = write_span(values, split_heads<1, S, KvHeads, D, f32>(value.forward(x)), pos)
    place_rows(self->values, 1, 1, 16, 0, pos, split_heads_out, S, 16);

    // return kept(x, at)
    attention_kept2(work, S, out, self, x, at);
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, S, 12), x (1, S, 8), weight (12, 8)
static void linear8(Work work, int64_t S, float *restrict product, const float *x,
                    const float *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    rt_matmul_nt(work.pool, S, 12, 8, x, 8, rows(weight, 8), product, 12);
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, S, 12), x (1, S, 8)
static void linear_forward8(Work work, int64_t S, float *restrict out, const Linear_3 *self,
                            const float *x) {
    // return linear(x, weight, bias)
    linear8(work, S, out, x, self->weight);
}

// std.nn.activations::sigmoid
// op sigmoid<*S: Shape, T: Float>(x: Tensor[*S; T]) -> Tensor[*S; T]
// out (1, S, 12), x (1, S, 12)
static void sigmoid2(int64_t S, float *restrict out, const float *x) {
    // return 1.0 / (1.0 + exp(-x))
    for (int64_t j = 0; j < S; j++) {
        for (int64_t k = 0; k < 12; k++) {
            out[j * 12 + k] = -x[j * 12 + k];
        }
    }
    rt_exp_n(out, out, S * 12);
    for (int64_t j = 0; j < S; j++) {
        for (int64_t k = 0; k < 12; k++) {
            out[j * 12 + k] = 1.0f / (1.0f + out[j * 12 + k]);
        }
    }
}

// std.nn.activations::silu
// op silu<*S: Shape, T: Float>(x: Tensor[*S; T]) -> Tensor[*S; T]
// out (1, S, 12), x (1, S, 12)
static void silu2(Work work, int64_t S, float *restrict out, const float *x) {
    float *sigmoid_out = take(&work, S * 48); // (1, S, 12)
    sigmoid2(S, sigmoid_out, x);

    // return x * sigmoid(x)
    for (int64_t j = 0; j < S; j++) {
        for (int64_t k = 0; k < 12; k++) {
            out[j * 12 + k] = x[j * 12 + k] * sigmoid_out[j * 12 + k];
        }
    }
}

// std.nn.linear::linear
// op linear<*S: Shape, In: Dim, Out: Dim, T: Float>(x: Tensor[*S, In; T], weight: Tensor[Out, In;
// T], bias: Tensor[Out; T]? = none) -> Tensor[*S, Out; T]
// product (1, S, 8), x (1, S, 12), weight (8, 12)
static void linear9(Work work, int64_t S, float *restrict product, const float *x,
                    const float *weight) {
    // let product[*s, o] = sum[i] x[*s, i] * weight[o, i]
    rt_matmul_nt(work.pool, S, 8, 12, x, 12, rows(weight, 12), product, 8);
}

// std.nn.linear::Linear.forward
// fn forward<*S: Shape>(x: Tensor[*S, In; T]) -> Tensor[*S, Out; T]
// out (1, S, 8), x (1, S, 12)
static void linear_forward9(Work work, int64_t S, float *restrict out, const Linear_4 *self,
                            const float *x) {
    // return linear(x, weight, bias)
    linear9(work, S, out, x, self->weight);
}

// std.nn.mlp::SwiGlu.forward
// fn forward<*S: Shape>(x: Tensor[*S, H; T]) -> Tensor[*S, H; T]
// out (1, S, 8), x (1, S, 8)
static void swi_glu_forward2(Work work, int64_t S, float *restrict out, const SwiGlu *self,
                             const float *x) {
    float *gate_out = take(&work, S * 48); // (1, S, 12)
    linear_forward8(work, S, gate_out, &self->gate, x);
    float *silu_out = take(&work, S * 48); // (1, S, 12)
    silu2(work, S, silu_out, gate_out);
    float *up_out = gate_out; // (1, S, 12), reuses gate_out
    linear_forward8(work, S, up_out, &self->up, x);

    float *product = take(&work, S * 48); // (1, S, 12)
    for (int64_t j = 0; j < S; j++) {
        for (int64_t k = 0; k < 12; k++) {
            product[j * 12 + k] = silu_out[j * 12 + k] * up_out[j * 12 + k];
        }
    }

    // return down.forward(silu(gate.forward(x)) * up.forward(x))
    linear_forward9(work, S, out, &self->down, product);
}

// crate::Model.prefill
// entry prefill<S: Dim>(tokens: Tensor[1, S; i32], pos: i32) -> Tensor[1, 11; f32] where S > 0
// out (1, 11), tokens2 (1, S)
static void model_prefill(Work work, int64_t S, float *restrict out, const Model *self,
                          const int32_t *tokens2, int32_t pos) {
    // var x = embedding.forward(tokens)
    float *x = take(&work, S * 32); // (1, S, 8)
    embedding_forward2(S, x, &self->embedding, tokens2);

    // for each item
    float *norm_out = take(&work, S * 32);      // (1, S, 8)
    float *attention_out = take(&work, S * 32); // (1, S, 8)
    float *mlp_out = take(&work, S * 32);       // (1, S, 8)
    for (int64_t i = 0; i < 2; i++) {
        const Layer *layer = &self->layers[i];
        rms_norm_forward3(work, S, norm_out, &layer->norm, x);
        const float *view2 = norm_out; // (1, S, 8)
        attention_prefill(work, S, attention_out, &layer->attention, view2, pos);

        // x = x + layer.attention.prefill(layer.norm.forward(x), pos)
        float *x2 = norm_out; // (1, S, 8), reuses norm_out
        for (int64_t j = 0; j < S; j++) {
            for (int64_t k = 0; k < 8; k++) {
                x2[j * 8 + k] = x[j * 8 + k] + attention_out[j * 8 + k];
            }
        }

        float *mlp_norm_out = attention_out; // (1, S, 8), reuses attention_out
        rms_norm_forward3(work, S, mlp_norm_out, &layer->mlp_norm, x2);
        swi_glu_forward2(work, S, mlp_out, &layer->mlp, mlp_norm_out);

        // x = x + layer.mlp.forward(layer.mlp_norm.forward(x))
        for (int64_t j = 0; j < S; j++) {
            for (int64_t k = 0; k < 8; k++) {
                x[j * 8 + k] = x2[j * 8 + k] + mlp_out[j * 8 + k];
            }
        }
    }

    float *value = take(&work, 32); // (1, 8)
    for (int64_t j = 0; j < 8; j++) {
        value[j] = x[(S - 1) * 8 + j];
    }

    float *norm_out2 = take(&work, 32); // (1, 8)
    rms_norm_forward2(work, norm_out2, &self->norm, value);

    // return head.forward(norm.forward(x[:, S - 1, :]))
    linear_forward5(work, out, &self->head, norm_out2);
}

// Bytes of the arena that each function needs, with what it calls.
static size_t arena_bytes(int64_t S) {
    size_t rms_norm = room(4) + room(32);
    size_t rms_norm_forward = rms_norm;
    size_t angles = room(8) + room(8);
    size_t rope = room(16);
    size_t turned = room(16) + room(16) + room(16) + room(16) + larger(angles, rope);
    size_t rope2 = room(32);
    size_t turned2 = room(16) + room(32) + room(16) + room(16) + larger(angles, rope2);
    size_t softmax = room(8) + room(128);
    size_t grouped_attention = room(128) + room(128) + softmax;
    size_t attention_kept = room(64) + room(32) + room(16) + larger(turned2, grouped_attention);
    size_t attention_decode = room(4) + room(16) + room(16) + larger(turned, attention_kept);
    size_t silu = room(48);
    size_t swi_glu_forward = room(48) + room(48) + room(48) + silu;
    size_t rms_norm2 = room(4) + room(32);
    size_t rms_norm_forward2 = rms_norm2;
    size_t bytes = larger(rms_norm_forward, attention_decode);
    size_t bytes2 = larger(larger(bytes, swi_glu_forward), rms_norm_forward2);
    size_t model_decode = room(32) + room(32) + room(32) + room(32) + bytes2;
    size_t rms_norm3 = room(S * 4) + room(S * 32);
    size_t rms_norm_forward3 = rms_norm3;
    size_t angles2 = room(8) + room(8) + room(S * 8);
    size_t rope3 = room(S * 16);
    size_t bytes3 = room(S * 16) + room(S * 16) + room(S * 16) + room(S * 16);
    size_t turned3 = bytes3 + larger(angles2, rope3);
    size_t rope4 = room(S * 32);
    size_t bytes4 = room(S * 16) + room(S * 32) + room(S * 16) + room(S * 16);
    size_t turned4 = bytes4 + larger(angles2, rope4);
    size_t softmax2 = room(S * 8) + room(S * 128);
    size_t grouped_attention2 = room(S * 128) + room(S * 128) + softmax2;
    size_t bytes5 = room(S * 32) + room(S * 32) + room(64) + room(S * 32);
    size_t attention_kept2 = bytes5 + larger(turned4, grouped_attention2);
    size_t bytes6 = room(S * 4) + room(S * 16) + room(S * 16);
    size_t attention_prefill = bytes6 + larger(turned3, attention_kept2);
    size_t silu2 = room(S * 48);
    size_t swi_glu_forward2 = room(S * 48) + room(S * 48) + room(S * 48) + silu2;
    size_t bytes7 = room(S * 32) + room(S * 32) + room(S * 32) + room(S * 32);
    size_t bytes8 = larger(rms_norm_forward3, attention_prefill);
    size_t bytes9 = larger(larger(bytes8, swi_glu_forward2), rms_norm_forward2);
    size_t model_prefill = bytes7 + room(32) + room(32) + bytes9;
    size_t bytes10 = larger(larger(rms_norm, rms_norm_forward), angles);
    size_t bytes11 = larger(larger(larger(bytes10, rope), turned), rope2);
    size_t bytes12 = larger(larger(bytes11, turned2), softmax);
    size_t bytes13 = larger(larger(bytes12, grouped_attention), attention_kept);
    size_t bytes14 = larger(larger(bytes13, attention_decode), silu);
    size_t bytes15 = larger(larger(bytes14, swi_glu_forward), rms_norm2);
    size_t bytes16 = larger(larger(bytes15, rms_norm_forward2), model_decode);
    size_t bytes17 = larger(larger(bytes16, rms_norm3), rms_norm_forward3);
    size_t bytes18 = larger(larger(larger(bytes17, angles2), rope3), turned3);
    size_t bytes19 = larger(larger(larger(bytes18, rope4), turned4), softmax2);
    size_t bytes20 = larger(larger(bytes19, grouped_attention2), attention_kept2);
    size_t bytes21 = larger(larger(bytes20, attention_prefill), silu2);
    return larger(larger(bytes21, swi_glu_forward2), model_prefill);
}

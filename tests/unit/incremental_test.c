// Tests of the derived step: the bits of whole contexts, in chunks, in batches of rows at positions
// of their own, for attention written in many ways; and what is kept for it.
#include "step_help.h"

// Block M over a vocabulary of 11 and width 8; BODY makes y [B, S, 8] of x [B, S, 8].
#define HEAD                                                                                       \
    "module t\n"                                                                                   \
    "use std.nn.attention::{attention, causal_mask, grouped_attention, merge_heads, "              \
    "split_heads}\n"                                                                               \
    "use std.nn.softmax::{softmax}\n"                                                              \
    "use std.nn.norm::{rms_norm}\n"                                                                \
    "use std.random::{categorical}\n"
#define PARAMS                                                                                     \
    "    param table: Tensor[11, 8; f32]\n"                                                        \
    "    param wq: Tensor[8, 8; f32]\n"                                                            \
    "    param wk: Tensor[8, 8; f32]\n"                                                            \
    "    param wv: Tensor[8, 8; f32]\n"                                                            \
    "    param norm: Tensor[8; f32]\n"
#define BLOCK                                                                                      \
    HEAD "block M {\n" PARAMS                                                                      \
         "    pub entry forward<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> "                    \
         "Tensor[B, S, 11; f32] {\n"                                                               \
         "        let x[b, s, d] = table[tokens[b, s], d]\n"                                       \
         "        let at = iota<i64>(S)\n"
#define QKV                                                                                        \
    "        let q[b, s, o] = sum[d] x[b, s, d] * wq[o, d]\n"                                      \
    "        let k[b, s, o] = sum[d] x[b, s, d] * wk[o, d]\n"                                      \
    "        let v[b, s, o] = sum[d] x[b, s, d] * wv[o, d]\n"
#define DOT "        let dot[b, i, j] = sum[d] q[b, i, d] * k[b, j, d]\n"
#define SOFTMAX                                                                                    \
    "        let peak[b, i] = max[j] score[b, i, j]\n"                                             \
    "        let power[b, i, j] = exp(score[b, i, j] - peak[b, i])\n"                              \
    "        let total[b, i] = sum[j] power[b, i, j]\n"                                            \
    "        let y[b, i, d] = (sum[j] power[b, i, j] * v[b, j, d]) / total[b, i]\n"
#define TAIL                                                                                       \
    "        let z = y + x\n"                                                                      \
    "        let logits[b, s, n] = sum[d] z[b, s, d] * table[n, d]\n"                              \
    "        return logits\n"                                                                      \
    "    }\n"                                                                                      \
    "}\n"

static const struct {
    const char *name;
    const char *text;
    int64_t bytes; // kept for a position of a row
} rows[] = {
    {"masked by select",
     BLOCK QKV DOT
     "        let score[b, i, j] = select(at[j] <= at[i], dot[b, i, j] * 0.35, -1e30)\n" SOFTMAX
         TAIL,
     64},
    {"masked by a sum",
     BLOCK QKV DOT
     "        let score[b, i, j] = dot[b, i, j] + select(at[j] > at[i], -1e9, 0.0)\n" SOFTMAX TAIL,
     64},
    {"multiplied exponentials",
     BLOCK QKV DOT
     "        let seen[i, j] = cast<f32>(select(at[j] <= at[i], 1, 0))\n"
     "        let power[b, i, j] = exp(dot[b, i, j]) * seen[i, j]\n"
     "        let total[b, i] = sum[j] power[b, i, j]\n"
     "        let y[b, i, d] = (sum[j] power[b, i, j] * v[b, j, d]) / total[b, i]\n" TAIL,
     64},
    {"library",
     BLOCK QKV "        let h = attention(split_heads<B, S, 2, 4>(q), split_heads<B, S, 2, 4>(k), "
               "split_heads<B, S, 2, 4>(v), 0.5, some(causal_mask<S, S>()))\n"
               "        let y = merge_heads<B, S, 2, 4>(h)\n" TAIL,
     64},
    {"repeated heads",
     BLOCK QKV
     "        let k2 = k[:, :, 0:4]\n"
     "        let v2 = v[:, :, 0:4]\n"
     "        let part = iota<i64>(8)\n"
     "        let kr[b, s, d] = k2[b, s, part[d] % 4]\n"
     "        let vr[b, s, d] = v2[b, s, part[d] % 4]\n"
     "        let dot[b, i, j] = sum[d] q[b, i, d] * kr[b, j, d]\n"
     "        let score[b, i, j] = select(at[j] <= at[i], dot[b, i, j], -1e30)\n"
     "        let peak[b, i] = max[j] score[b, i, j]\n"
     "        let power[b, i, j] = exp(score[b, i, j] - peak[b, i])\n"
     "        let total[b, i] = sum[j] power[b, i, j]\n"
     "        let y[b, i, d] = (sum[j] power[b, i, j] * vr[b, j, d]) / total[b, i]\n" TAIL,
     32},
    {"window",
     BLOCK QKV DOT
     "        let score[b, i, j] = select(at[j] <= at[i] && at[j] > at[i] - 5, dot[b, i, j], "
     "-1e30)\n" SOFTMAX TAIL,
     64},
    {"slopes",
     BLOCK QKV DOT
     "        let score[b, i, j] = select(at[j] <= at[i], dot[b, i, j] - cast<f32>(at[i] - at[j]) "
     "* 0.25, -1e30)\n" SOFTMAX TAIL,
     64},
    {"only the embedding",
     BLOCK
     "        let dot[b, i, j] = sum[d] x[b, i, d] * x[b, j, d]\n"
     "        let v = x\n"
     "        let score[b, i, j] = select(at[j] <= at[i], dot[b, i, j], -1e30)\n" SOFTMAX TAIL,
     4},
    {"shifted tokens",
     BLOCK "        let before[s] = max(at[s] - 1, 0)\n"
           "        let y[b, s, d] = select(at[s] > 0, x[b, before[s], d] * 0.5, 0.0)\n" TAIL,
     4},
    {"shifted features",
     BLOCK QKV
     "        let before[s] = max(at[s] - 2, 0)\n"
     "        let y[b, s, d] = q[b, s, d] + k[b, before[s], d] - v[b, before[s], d]\n" TAIL,
     64},
    {"mean so far",
     BLOCK QKV "        let sofar[b, i, d] = sum[j] select(at[j] <= at[i], v[b, j, d], 0.0)\n"
               "        let y[b, i, d] = sofar[b, i, d] / cast<f32>(at[i] + 1)\n" TAIL,
     32},
    {"greatest so far",
     BLOCK QKV "        let y[b, i, d] = max[j] select(at[j] <= at[i], v[b, j, d], -1e30)\n" TAIL,
     32},
    {"linear attention",
     BLOCK QKV
     "        let share[b, i, j] = select(at[j] <= at[i], sum[d] q[b, i, d] * k[b, j, d], 0.0)\n"
     "        let y[b, i, d] = sum[j] share[b, i, j] * v[b, j, d]\n" TAIL,
     64},
    {"the first position", BLOCK QKV "        let y[b, s, d] = q[b, s, d] + k[b, 0, d]\n" TAIL, 32},
    {"normed",
     BLOCK
     "        let n = rms_norm(x, norm)\n"
     "        let q[b, s, o] = sum[d] n[b, s, d] * wq[o, d]\n"
     "        let k[b, s, o] = sum[d] n[b, s, d] * wk[o, d]\n"
     "        let v[b, s, o] = sum[d] n[b, s, d] * wv[o, d]\n" DOT
     "        let score[b, i, j] = select(at[j] <= at[i], dot[b, i, j], -1e30)\n" SOFTMAX TAIL,
     64},
    {"flattened",
     BLOCK
     "        let f = reshape(x, [B * S, 8])\n"
     "        let g[r, o] = sum[d] f[r, d] * wk[o, d]\n"
     "        let q = x\n"
     "        let k = reshape(g, [B, S, 8])\n"
     "        let v = k\n" DOT
     "        let score[b, i, j] = select(at[j] <= at[i], dot[b, i, j], -1e30)\n" SOFTMAX TAIL,
     32},
};

static int64_t kept_bytes(const StepPlan *p) {
    int64_t bytes = 0;
    for (int i = 0; i < p->state_count; i++)
        bytes += p->states[i].bytes;
    return bytes;
}

static void test_rows(Test *t) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Model m = {.slides = false};
        if (!model_read(&m, t, rows[i].text, "forward") || !m.plan) {
            printf("%s: no step: %s\n", rows[i].name, m.why.text ? m.why.text : "");
            CHECK(t, m.plan);
            session_free(m.s);
            continue;
        }
        int64_t bytes = kept_bytes(m.plan);
        if (bytes != rows[i].bytes)
            printf("%s: keeps %lld bytes\n", rows[i].name, (long long)bytes);
        CHECK(t, bytes == rows[i].bytes);
        same_bits(&m, rows[i].name, m.entry, 45);
    }
}

// ---- Entries -----------------------------------------------------------------------------------

// Layers in a loop, which read the layer's input a position back; the head of the last position.
#define LAYERS                                                                                     \
    HEAD "use std.nn.decoding::{argmax}\n"                                                         \
         "block Layer {\n"                                                                         \
         "    param wq: Tensor[8, 8; f32]\n"                                                       \
         "    param wk: Tensor[8, 8; f32]\n"                                                       \
         "    param norm: Tensor[8; f32]\n"                                                        \
         "    pub fn forward<B: Dim, S: Dim>(x: Tensor[B, S, 8; f32]) -> Tensor[B, S, 8; f32] {\n" \
         "        let n = rms_norm(x, norm)\n"                                                     \
         "        let q[b, s, o] = sum[d] n[b, s, d] * wq[o, d]\n"                                 \
         "        let k[b, s, o] = sum[d] n[b, s, d] * wk[o, d]\n"                                 \
         "        let at = iota<i64>(S)\n"                                                         \
         "        let before[s] = max(at[s] - 1, 0)\n"                                             \
         "        let v[b, s, d] = x[b, before[s], d]\n" DOT                                       \
         "        let score[b, i, j] = select(at[j] <= at[i], dot[b, i, j], -1e30)\n" SOFTMAX      \
         "        return x + y\n"                                                                  \
         "    }\n"                                                                                 \
         "}\n"                                                                                     \
         "block M {\n"                                                                             \
         "    sub layers: [Layer; 3]\n"                                                            \
         "    param table: Tensor[11, 8; f32]\n"                                                   \
         "    fn hidden<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, S, 8; f32] {\n"    \
         "        let e[b, s, d] = table[tokens[b, s], d]\n"                                       \
         "        var x = e\n"                                                                     \
         "        static for layer in layers {\n"                                                  \
         "            x = layer.forward(x)\n"                                                      \
         "        }\n"                                                                             \
         "        return x\n"                                                                      \
         "    }\n"                                                                                 \
         "    fn head<B: Dim>(h: Tensor[B, 8; f32]) -> Tensor[B, 11; f32] {\n"                     \
         "        let logits[b, n] = sum[d] h[b, d] * table[n, d]\n"                               \
         "        return logits\n"                                                                 \
         "    }\n"                                                                                 \
         "    pub entry last<B: Dim, S: Dim>(tokens: Tensor[B, S; i32]) -> Tensor[B, 11; f32]\n"   \
         "    where S > 0 {\n"                                                                     \
         "        return head(hidden(tokens)[:, S - 1, :])\n"                                      \
         "    }\n"
#define NEXT                                                                                       \
    "    pub entry next<B: Dim, S: Dim>(key: Tensor[2; i64], tokens: Tensor[B, S; i32], "          \
    "temperature: f32 = 1.0) -> Tensor[B; i32]\n"                                                  \
    "    where S > 0 {\n"                                                                          \
    "        let logits = head(hidden(tokens)[:, S - 1, :])\n"
#define END "    }\n}\n"

static const struct {
    const char *text;
    const char *words; // of the refusal; NULL: it has a step, of the logits of `last`
} entries[] = {
    {LAYERS NEXT "        return categorical(key, logits / temperature)\n" END, NULL},
    {LAYERS NEXT "        return categorical(key, logits)\n" END, NULL},
    {LAYERS NEXT "        return argmax(logits / temperature)\n" END, NULL},
    {LAYERS NEXT "        let warm = temperature\n"
                 "        return categorical(key, cast<f32>(logits) / warm)\n" END,
     NULL},
    {LAYERS "    fn draw<B: Dim>(key: Tensor[2; i64], x: Tensor[B, 11; f32], t: f32) -> "
            "Tensor[B; i32] {\n"
            "        return categorical(key, x / t)\n"
            "    }\n" NEXT "        return draw(key, logits, temperature)\n" END,
     NULL},
    {LAYERS NEXT "        return categorical(key, logits * temperature)\n" END, "x / temperature"},
    {LAYERS NEXT "        return categorical(key, logits / exp(temperature))\n" END,
     "x / temperature"},
    {LAYERS NEXT "        return categorical(key, logits / temperature) + 1\n" END, "not the last"},
    {LAYERS NEXT
     "        return argmax(logits + cast<f32>(sum[b] categorical(key, logits)[b]))\n" END,
     "not the last"},
    {LAYERS NEXT "        return argmax(logits + cast<f32>(key[0]))\n" END, "besides the tokens"},
    {LAYERS NEXT "        return cast<i32>(logits[:, 3] * temperature)\n" END, "neither drawn"},
    {LAYERS NEXT "        return argmax(logits * cast<f32>(S))\n" END, NULL},
};

static void test_entries(Test *t) {
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        Model m = {.slides = false};
        bool good = model_read(&m, t, entries[i].text, "next");
        bool scaled = i + 1 == sizeof entries / sizeof entries[0];
        CHECK(t, good);
        if (good && entries[i].words) {
            bool refused = !m.plan && strstr(m.why.text, entries[i].words);
            if (!refused)
                printf("entry %d: %s\n", (int)i, m.plan ? "has a step" : m.why.text);
            CHECK(t, refused);
        } else if (good) {
            if (!m.plan)
                printf("entry %d: no step: %s\n", (int)i, m.why.text);
            CHECK(t, m.plan);
        }
        CoreFn *last = good && m.plan && !entries[i].words && !scaled
                           ? model_entry(&m, find_item(m.block, "last"))
                           : NULL;
        if (last) {
            CHECK(t, kept_bytes(m.plan) == 3 * (32 + 32));
            same_bits(&m, arena_printf(m.s->arena, "entry %d", (int)i), last, 33);
        } else {
            model_end(&m);
        }
    }
}

// ---- Windows -----------------------------------------------------------------------------------

static const struct {
    const char *name;
    const char *text;
    int64_t window; // -1: none
} windows[] = {
    {"window",
     BLOCK QKV DOT
     "        let score[b, i, j] = select(at[j] <= at[i] && at[j] > at[i] - 5, dot[b, i, j], "
     "-1e30)\n" SOFTMAX TAIL,
     4},
    {"window with slopes",
     BLOCK QKV DOT
     "        let far[i, j] = cast<f32>(at[i] - at[j]) * 0.25\n"
     "        let score[b, i, j] = select(at[j] <= at[i] && at[j] > at[i] - 9, dot[b, i, j] - "
     "far[i, j], -1e30)\n" SOFTMAX TAIL,
     8},
    {"rotated by position",
     BLOCK QKV "        let turn[s, d] = sin(cast<f32>(at[s]) * 0.37 + table[0, d])\n"
               "        let kt[b, s, d] = k[b, s, d] * turn[s, d]\n"
               "        let dot[b, i, j] = sum[d] q[b, i, d] * kt[b, j, d]\n"
               "        let score[b, i, j] = select(at[j] <= at[i] && at[j] > at[i] - 5, "
               "dot[b, i, j] * turn[j, 0], -1e30)\n" SOFTMAX TAIL,
     4},
    {"in pairs", // large terms that cancel tell which two make a pair
     BLOCK QKV
     "        let seen[i, j] = cast<bf16>(select(at[j] <= at[i] && at[j] > at[i] - 4, "
     "cast<f32>(1.0), 0.0))\n"
     "        let sign[j] = select(at[j] % 4 == 0, cast<f32>(16777216.0), -16777216.0)\n"
     "        let half[b, j, d] = cast<bf16>(select(at[j] % 2 == 0, sign[j], v[b, j, d] * 9.0))\n"
     "        let sums[b, i, d] = sum[j] seen[i, j] * half[b, j, d]\n"
     "        let y[b, i, d] = cast<f32>(sums[b, i, d]) + q[b, i, d] - k[b, i, d]\n" TAIL,
     3},
    {"shift",
     BLOCK QKV
     "        let before[s] = max(at[s] - 2, 0)\n"
     "        let y[b, s, d] = q[b, s, d] + k[b, before[s], d] - v[b, before[s], d]\n" TAIL,
     2},
    {"all",
     BLOCK QKV DOT
     "        let score[b, i, j] = select(at[j] <= at[i], dot[b, i, j], -1e30)\n" SOFTMAX TAIL,
     -1},
};

static void test_windows(Test *t) {
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++) {
        Model m = {.slides = true};
        bool good = model_read(&m, t, windows[i].text, "forward") && m.plan;
        CHECK(t, good);
        if (!good) {
            printf("%s: no step: %s\n", windows[i].name, m.why.text ? m.why.text : "");
            continue;
        }
        if (m.plan->window != windows[i].window)
            printf("%s: window %lld\n", windows[i].name, (long long)m.plan->window);
        CHECK(t, m.plan->window == windows[i].window && !m.plan->origin == (m.plan->window < 0));
        CHECK(t, m.plan->origin_step == (strcmp(windows[i].name, "in pairs") == 0 ? 2 : 1));
        same_bits(&m, windows[i].name, m.entry, 45);
    }
}

int main(void) {
    Test t = {.state = 3};
    test_rows(&t);
    test_entries(&t);
    test_windows(&t);
    t.s = session_new();
    return finish(&t);
}

// The entries of a decoder's package agree with each other, bit for bit: a prompt at once and token
// by token, alone and in a batch, packed, over pages, inside of loops. The package is the project's
// own; SERIN_TEST_PACKAGE names another one with the same entries.
#include "package_help.h"
#include "runtime/weights.h"
#include <cjson/cJSON.h>

enum { VOCAB = 13, H = 16, BATCH = 2, LONG = 12, PAGE = 4, STEPS = 6 };

#define MODEL(batch, length)                                                                       \
    BOUNDS({"Vocab", VOCAB}, {"H", H}, {"Heads", 4}, {"KvHeads", 2}, {"Inner", 12}, {"Layers", 2}, \
           {"Batch", batch}, {"MaxSeq", length}, {"PageSize", PAGE})

static const int32_t text[BATCH][STEPS] = {{3, 1, 4, 1, 5, 9}, {2, 7, 1, 8, 12, 0}};

static bool same(const float *a, const float *b, int rows) {
    return memcmp(a, b, sizeof(float) * VOCAB * (size_t)rows) == 0;
}

// Logits [BATCH, STEPS, VOCAB] of the whole texts.
static void whole(Test *t, float *out) {
    Tensor logits = {0}, tokens = I32(text, BATCH, STEPS);
    if (call(t, "forward", BOUNDS({"B", BATCH}, {"S", STEPS}), 1, &tokens, &logits))
        memcpy(out, logits.data, sizeof(float) * BATCH * STEPS * VOCAB);
}

// Token i of every text, as decoding takes it.
static void column(int i, int32_t *out) {
    for (int b = 0; b < BATCH; b++)
        out[b] = text[b][i];
}

static void test_decode(Test *t, float (*want)[STEPS][VOCAB]) {
    Tensor got = {0};
    int32_t now[BATCH], pos;
    Tensor all = I32(text, BATCH, STEPS);
    if (call(t, "next_token", BOUNDS({"B", BATCH}, {"S", STEPS}), 1, &all, &got)) {
        for (int b = 0; b < BATCH; b++)
            CHECK(t, same((const float *)got.data + b * VOCAB, want[b][STEPS - 1], 1));
    }
    interp_reset_state(t->self);
    for (pos = 0; pos < STEPS; pos++) {
        column(pos, now);
        Tensor args[] = {I32(now, BATCH, 1), SCALAR(DT_I32, &pos)};
        if (!call(t, "decode", NULL, 0, 2, args, &got))
            return;
        for (int b = 0; b < BATCH; b++)
            CHECK(t, same((const float *)got.data + b * VOCAB, want[b][pos], 1));
    }
}

// A prompt of all tokens but the last at once, in two pieces, then a step.
static void test_prefill(Test *t, float (*want)[STEPS][VOCAB], int cut) {
    int32_t first[BATCH * STEPS], second[BATCH * STEPS], now[BATCH], zero = 0, pos = STEPS - 1;
    Tensor got = {0};
    for (int b = 0; b < BATCH; b++) {
        memcpy(first + b * cut, text[b], sizeof(int32_t) * (size_t)cut);
        memcpy(second + b * (pos - cut), text[b] + cut, sizeof(int32_t) * (size_t)(pos - cut));
    }
    interp_reset_state(t->self);
    Tensor one[] = {I32(first, BATCH, cut), SCALAR(DT_I32, &zero)};
    Tensor two[] = {I32(second, BATCH, pos - cut), SCALAR(DT_I32, &cut)};
    if (!call(t, "prefill", BOUNDS({"S", cut}), 2, one, &got))
        return;
    for (int b = 0; b < BATCH; b++)
        CHECK(t, same((const float *)got.data + b * VOCAB, want[b][cut - 1], 1));
    if (cut < pos && call(t, "prefill", BOUNDS({"S", pos - cut}), 2, two, &got)) {
        for (int b = 0; b < BATCH; b++)
            CHECK(t, same((const float *)got.data + b * VOCAB, want[b][pos - 1], 1));
    }
    column(pos, now);
    Tensor step[] = {I32(now, BATCH, 1), SCALAR(DT_I32, &pos)};
    if (!call(t, "decode", NULL, 0, 2, step, &got))
        return;
    for (int b = 0; b < BATCH; b++)
        CHECK(t, same((const float *)got.data + b * VOCAB, want[b][pos], 1));
}

// Text b goes on in row b at position at[b].
static void step_rows(Test *t, float (*want)[STEPS][VOCAB], const int32_t *at) {
    int32_t now[BATCH];
    Tensor got = {0};
    for (int b = 0; b < BATCH; b++)
        now[b] = text[b][at[b]];
    Tensor args[] = {I32(now, BATCH, 1), I32(at, BATCH)};
    if (!call(t, "decode_rows", NULL, 0, 2, args, &got))
        return;
    for (int b = 0; b < BATCH; b++)
        CHECK(t, same((const float *)got.data + b * VOCAB, want[b][at[b]], 1));
}

static void test_slots(Test *t, float (*want)[STEPS][VOCAB]) {
    const int32_t lengths[] = {3, 5}, slots[] = {1, 0};
    int32_t tokens[BATCH * 5], at[BATCH];
    Tensor got = {0};
    for (int m = 0; m < BATCH; m++) // request m is text slots[m]
        memcpy(tokens + m * 5, text[slots[m]], sizeof(int32_t) * 5);
    Tensor args[] = {I32(tokens, BATCH, 5), I32(slots, BATCH), I32(lengths, BATCH)};
    interp_reset_state(t->self);
    if (!call(t, "prefill_slots", BOUNDS({"M", BATCH}, {"S", 5}), 3, args, &got))
        return;
    for (int m = 0; m < BATCH; m++) {
        CHECK(t, same((const float *)got.data + m * VOCAB, want[slots[m]][lengths[m] - 1], 1));
        at[slots[m]] = lengths[m];
    }
    for (; at[0] < STEPS; at[0]++) {
        step_rows(t, want, at);
        at[1] += at[1] < STEPS - 1;
    }
}

// Two prompts packed end to end with one token of padding.
typedef struct {
    int32_t tokens[8], rows[8], positions[8], segments[8], last[BATCH];
    int count;
} Pack;

static Pack pack_prompts(const int *lengths) {
    Pack p = {0};
    for (int b = 0; b < BATCH; b++) {
        for (int i = 0; i < lengths[b]; i++) {
            p.tokens[p.count] = text[b][i];
            p.rows[p.count] = p.segments[p.count] = b;
            p.positions[p.count++] = i;
        }
        p.last[b] = p.count - 1;
    }
    p.positions[p.count] = LONG - 1;
    p.segments[p.count++] = -1;
    return p;
}

static void test_packed(Test *t, float (*want)[STEPS][VOCAB]) {
    const int lengths[] = {4, 2};
    const int32_t at[] = {4, 2}, first[] = {0, 0};
    Pack p = pack_prompts(lengths);
    Tensor got = {0};
    Tensor args[] = {I32(p.tokens, p.count),
                     I32(p.rows, p.count),
                     I32(p.positions, p.count),
                     I32(p.segments, p.count),
                     I32(p.last, BATCH),
                     {0},
                     {0}};
    interp_reset_state(t->self);
    if (!call(t, "prefill_packed", BOUNDS({"P", p.count}), 5, args, &got))
        return;
    for (int b = 0; b < BATCH; b++)
        CHECK(t, same((const float *)got.data + b * VOCAB, want[b][lengths[b] - 1], 1));
    step_rows(t, want, at);
    interp_reset_state(t->self); // prompts into both rows, and a first step that they overwrite
    int32_t now[] = {text[0][0], text[1][0]};
    args[5] = I32(now, BATCH, 1);
    args[6] = I32(first, BATCH);
    if (!call(t, "step_packed", BOUNDS({"P", p.count}), 7, args, &got))
        return;
    for (int b = 0; b < BATCH; b++) {
        CHECK(t, same((const float *)got.data + b * VOCAB, want[b][lengths[b] - 1], 1));
        CHECK(t, same((const float *)got.data + (BATCH + b) * VOCAB, want[b][0], 1));
    }
    step_rows(t, want, at);
}

static int best(const float *row) {
    int at = 0;
    for (int i = 1; i < VOCAB; i++)
        at = row[i] > row[at] ? i : at;
    return at;
}

// Greedy tokens after the first of each text, by steps of decode.
static void greedy(Test *t, int32_t (*out)[STEPS]) {
    int32_t now[BATCH], pos;
    Tensor got = {0};
    interp_reset_state(t->self);
    column(0, now);
    for (pos = 0; pos < STEPS; pos++) {
        Tensor args[] = {I32(now, BATCH, 1), SCALAR(DT_I32, &pos)};
        if (!call(t, "decode", NULL, 0, 2, args, &got))
            return;
        for (int b = 0; b < BATCH; b++)
            now[b] = out[b][pos] = best((const float *)got.data + b * VOCAB);
    }
}

static void test_generate(Test *t) {
    int32_t want[BATCH][STEPS] = {0}, first[BATCH], zero = 0, never = -1;
    int64_t key[] = {1, 2};
    float cold = 1e-6f;
    Tensor got[2] = {0};
    greedy(t, want);
    column(0, first);
    Tensor args[] = {I32(first, BATCH, 1), SCALAR(DT_I32, &zero), I64(key, 2),
                     SCALAR(DT_F32, &cold)};
    interp_reset_state(t->self);
    if (call(t, "generate", BOUNDS({"Steps", STEPS}), 2, args, got))
        CHECK(t, memcmp(got[0].data, want, sizeof want) == 0);
    interp_reset_state(t->self); // the noise of a draw is nothing beside such logits
    if (call(t, "sample", BOUNDS({"Steps", STEPS}), 4, args, got))
        CHECK(t, memcmp(got[0].data, want, sizeof want) == 0);
    args[2] = SCALAR(DT_I32, &never);
    interp_reset_state(t->self);
    if (call(t, "generate_until", BOUNDS({"MaxNew", STEPS}), 3, args, got)) {
        CHECK(t, memcmp(got[0].data, want, sizeof want) == 0);
        CHECK(t, *(const int32_t *)got[1].data == STEPS);
    }
}

// A single row ends where its token is met for the first time; zeros follow.
static void test_end(Test *t) {
    int32_t first = text[0][0], zero = 0, want[STEPS], stop = 2;
    Tensor got[2] = {0};
    Tensor args[] = {I32(&first, 1, 1), SCALAR(DT_I32, &zero), {0}};
    interp_reset_state(t->self);
    if (!call(t, "generate", BOUNDS({"Steps", STEPS}), 2, args, got))
        return;
    memcpy(want, got[0].data, sizeof want);
    int32_t eos = want[stop], count = 0;
    while (want[count] != eos)
        count++;
    count++;
    memset(want + count, 0, sizeof(int32_t) * (size_t)(STEPS - count));
    args[2] = SCALAR(DT_I32, &eos);
    interp_reset_state(t->self);
    if (call(t, "generate_until", BOUNDS({"MaxNew", STEPS}), 3, args, got)) {
        CHECK(t, memcmp(got[0].data, want, sizeof want) == 0);
        CHECK(t, *(const int32_t *)got[1].data == count);
    }
}

static double log_prob(const float *row, int64_t target) {
    double most = row[best(row)], total = 0;
    for (int i = 0; i < VOCAB; i++)
        total += exp(row[i] - most);
    return row[target] - most - log(total);
}

static void test_training(Test *t, float (*want)[STEPS][VOCAB]) {
    const int lengths[] = {4, 2};
    Pack p = pack_prompts(lengths);
    int n = p.count - 1; // without padding
    int64_t targets[8];
    float weights[8];
    double loss = 0, scale = 0;
    Tensor got = {0};
    for (int i = 0; i < n; i++) {
        targets[i] = (i * 5 + 2) % VOCAB;
        weights[i] = 0.25f * (float)(i % 3);
        double lp = log_prob(want[p.rows[i]][p.positions[i]], targets[i]);
        loss -= (double)weights[i] * lp;
        scale = fmax(scale, fabs(lp));
    }
    Tensor args[] = {I32(p.tokens, n), I32(p.positions, n), I32(p.segments, n), I64(targets, n),
                     F32(weights, n)};
    if (call(t, "log_probs_packed", BOUNDS({"P", n}), 4, args, &got)) {
        for (int i = 0; i < n; i++) {
            double lp = log_prob(want[p.rows[i]][p.positions[i]], targets[i]);
            CHECK(t, fabs((double)((const float *)got.data)[i] - lp) <= 1e-5 * scale);
        }
    }
    if (call(t, "loss_packed", BOUNDS({"P", n}), 5, args, &got))
        CHECK(t, fabs((double)*(const float *)got.data - loss) <= 1e-5 * fabs(loss));
    if (call(t, "hidden_packed", BOUNDS({"P", n}), 3, args, &got))
        CHECK(t, got.rank == 2 && got.dims[0] == n && got.dims[1] == H);
}

// ---- Pages -------------------------------------------------------------------------------------

// Text b lies in pages 2 + b and 4 + b of a pool of one row; page 0 is nobody's.
static const int32_t table[BATCH][2] = {{2, 4}, {3, 5}};

static int32_t place(int b, int position) {
    return table[b][position / PAGE] * PAGE + position % PAGE;
}

static void step_pages(Test *t, float (*want)[STEPS][VOCAB], const int32_t *at) {
    int32_t now[BATCH];
    Tensor got = {0};
    for (int b = 0; b < BATCH; b++)
        now[b] = text[b][at[b]];
    Tensor args[] = {I32(now, BATCH, 1), I32(at, BATCH), I32(table, BATCH, 2)};
    if (!call(t, "decode_paged", BOUNDS({"Rows", BATCH}, {"Pages", 2}), 3, args, &got))
        return;
    for (int b = 0; b < BATCH; b++)
        CHECK(t, same((const float *)got.data + b * VOCAB, want[b][at[b]], 1));
}

static void test_pages(Test *t, float (*want)[STEPS][VOCAB]) {
    const int lengths[] = {4, 2};
    const int32_t at[] = {4, 2}, first[] = {0, 0}, later[] = {5, 3};
    int32_t slots[8] = {0}, now[] = {text[0][0], text[1][0]};
    Pack p = pack_prompts(lengths);
    Tensor got = {0};
    p.positions[p.count - 1] = 0; // padding goes to page 0
    for (int i = 0; i < p.count - 1; i++)
        slots[i] = place(p.rows[i], p.positions[i]);
    Tensor args[] = {I32(p.tokens, p.count), I32(p.positions, p.count), I32(p.rows, p.count),
                     I32(slots, p.count),    I32(p.last, BATCH),        I32(table, BATCH, 2)};
    interp_reset_state(t->self);
    if (!call(t, "prefill_paged", BOUNDS({"P", p.count}, {"Rows", BATCH}, {"Pages", 2}), 6, args,
              &got))
        return;
    for (int b = 0; b < BATCH; b++)
        CHECK(t, same((const float *)got.data + b * VOCAB, want[b][lengths[b] - 1], 1));
    step_pages(t, want, at);
    step_pages(t, want, later);
    interp_reset_state(t->self);
    Tensor both[] = {args[0],           args[1], args[2], args[3], args[4], I32(now, BATCH, 1),
                     I32(first, BATCH), args[5]};
    if (!call(t, "step_paged", BOUNDS({"P", p.count}, {"Rows", BATCH}, {"Pages", 2}), 8, both,
              &got))
        return;
    for (int b = 0; b < BATCH; b++) {
        CHECK(t, same((const float *)got.data + b * VOCAB, want[b][lengths[b] - 1], 1));
        CHECK(t, same((const float *)got.data + (BATCH + b) * VOCAB, want[b][0], 1));
    }
    step_pages(t, want, at);
}

// ---- A checkpoint ------------------------------------------------------------------------------

// The tensor's name in a checkpoint: "layers.0.attention.query.weight" and so on, piece by piece.
static const char *checkpoint_name(Arena *a, const char *path) {
    static const char *const pieces[][2] = {
        {"embedding.", "model.embed_tokens."},   {"attention.query.", "self_attn.q_proj."},
        {"attention.key.", "self_attn.k_proj."}, {"attention.value.", "self_attn.v_proj."},
        {"attention.out.", "self_attn.o_proj."}, {"mlp_norm.", "post_attention_layernorm."},
        {"mlp.gate.", "mlp.gate_proj."},         {"mlp.up.", "mlp.up_proj."},
        {"mlp.down.", "mlp.down_proj."},         {"head.", "lm_head."},
    };
    int layer = 0, length = 0;
    const char *rest = path, *prefix = "";
    if (sscanf(path, "layers.%d.%n", &layer, &length) == 1) {
        rest = path + length;
        prefix = arena_printf(a, "model.layers.%d.", layer);
    }
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t n = strlen(pieces[i][0]);
        if (strncmp(rest, pieces[i][0], n) == 0)
            return arena_printf(a, "%s%s%s", prefix, pieces[i][1], rest + n);
    }
    return *prefix ? arena_printf(a, "%sinput_layernorm.weight", prefix) : "model.norm.weight";
}

typedef struct {
    Test *t;
    RtWeights *weights;
} File;

static bool file_weight(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    File *f = ctx;
    const RtTensor *x = rt_weights_find(f->weights, checkpoint_name(f->t->s->arena, path));
    if (!x)
        return false;
    *out = tensor(type->dtype, x->data, x->rank, x->dims);
    out->format = x->format;
    return true;
}

static void check_case(Test *t, const cJSON *c) {
    const cJSON *ids = cJSON_GetObjectItem(c, "prompt");
    int count = 0, n = cJSON_GetArraySize(ids);
    int32_t *data = NEW_N(t->s->arena, int32_t, n);
    Tensor logits = {0};
    for (const cJSON *id = ids->child; id; id = id->next)
        data[count++] = id->valueint;
    Tensor tokens = I32(data, 1, n);
    if (!call(t, "forward", BOUNDS({"B", 1}, {"S", n}), 1, &tokens, &logits))
        return;
    for (const cJSON *row = cJSON_GetObjectItem(c, "logits")->child; row; row = row->next) {
        const float *ours = (const float *)logits.data + atoi(row->string) * logits.dims[2];
        double scale = 0, worst = 0;
        for (const cJSON *x = row->child; x; x = x->next, ours++) {
            scale = fmax(scale, fabs(x->valuedouble));
            worst = fmax(worst, fabs(x->valuedouble - (double)*ours));
        }
        CHECK(t, scale > 0 && worst <= 1e-5 * scale);
    }
}

// The scaled frequencies, in double. `swapped` blends the wrong way around.
static double frequency(int i, bool swapped, bool *blended) {
    const double pi = 3.14159265358979323846;
    double plain = pow(500000.0, -i * 2.0 / 128), wave = 2 * pi / plain;
    double s = (8192 / wave - 1) / 3;
    *blended = wave <= 8192 && wave >= 2048;
    if (!*blended)
        return wave > 8192 ? plain / 8 : plain;
    s = swapped ? 1 - s : s;
    return (1 - s) * plain / 8 + s * plain;
}

// The same by the package's own steps: each rounded to f32 once, exp and log by the C library in
// double.
static float stepwise(int i) {
    float theta = (float)log(500000.0), exponent = (float)i * 2.0f / 128.0f;
    float plain = (float)exp((double)(-exponent * theta)), wave = 6.2831853f / plain;
    float near = (8192.0f / wave - 1.0f) / 3.0f;
    float slow = plain / 8.0f, kept = 1.0f - near;
    float a = kept * slow, b = near * plain;
    return wave > 8192.0f ? slow : wave < 2048.0f ? plain : a + b;
}

static bool within_ulp(float a, float b) {
    return a == b || nextafterf(a, b) == b;
}

// In f32 the exponent of up to 13 is rounded before exp, by as much as 2^-21; the blend adds to it.
static void check_angles(Test *t, const cJSON *golden) {
    const double most = 0x1p-20;
    Tensor got = {0};
    if (!call(t, "angles", NULL, 0, 0, NULL, &got))
        return;
    CHECK(t, got.dims[0] == 64 && cJSON_GetArraySize(golden) == 64);
    for (int i = 0; i < 64; i++) {
        bool blended;
        double ours = (double)((const float *)got.data)[i];
        double want = frequency(i, false, &blended), wrong = frequency(i, true, &blended);
        CHECK(t, blended == (i >= 29 && i <= 34));
        CHECK(t, within_ulp(((const float *)got.data)[i], stepwise(i)));
        CHECK(t, fabs(ours - want) <= most * want);
        CHECK(t, fabs(cJSON_GetArrayItem(golden, i)->valuedouble - want) <= 1e-12 * want);
        CHECK(t, blended == (fabs(ours - wrong) > most * want));
    }
}

static void test_checkpoint(Test *t) {
    RtError err;
    const char *why = NULL;
    File f = {t, rt_weights_open("tests/data/tiny/llama31/model.safetensors", &err)};
    CHECK(t, f.weights != NULL);
    if (f.weights &&
        open_package(t, "tests/packages/decoder",
                     BOUNDS({"Vocab", 64}, {"H", 256}, {"Heads", 2}, {"KvHeads", 1}, {"Inner", 64},
                            {"Layers", 2}, {"Batch", 1}, {"MaxSeq", 128}),
                     file_weight, &f)) {
        Source *s = source_load(t->s->arena, "tests/data/tiny/llama31/golden.json", &why);
        cJSON *golden = s ? cJSON_Parse(s->text.ptr) : NULL;
        CHECK(t, golden != NULL);
        const cJSON *cases = cJSON_GetObjectItem(golden, "cases");
        for (const cJSON *c = cases ? cases->child : NULL; c; c = c->next)
            check_case(t, c);
        check_angles(t, cJSON_GetObjectItem(golden, "inv_freq"));
        cJSON_Delete(golden);
    }
    close_package(t);
    rt_weights_close(f.weights);
}

static void test_package(Test *t, const char *path) {
    static float want[BATCH][STEPS][VOCAB];
    if (open_package(t, path, MODEL(BATCH, LONG), NULL, NULL)) {
        CHECK(t, t->count >= 17);
        CHECK(t, !t->inplace || t->places == 18); // keys and values, in nine methods
        whole(t, want[0][0]);
        test_decode(t, want);
        for (int cut = 1; cut < STEPS; cut++)
            test_prefill(t, want, cut);
        test_slots(t, want);
        test_packed(t, want);
        test_generate(t);
        test_training(t, want);
    }
    if (open_package(t, path, MODEL(1, 6 * PAGE), NULL, NULL)) {
        whole(t, want[0][0]);
        test_pages(t, want);
        test_end(t);
    }
    close_package(t);
}

int main(void) {
    Test t = {0};
    const char *other = getenv("SERIN_TEST_PACKAGE");
    for (int i = 0; i < 2; i++) {
        t.inplace = i;
        test_package(&t, "tests/packages/decoder");
        if (other)
            test_package(&t, other);
        else
            t.skipped++;
    }
    test_checkpoint(&t);
    printf("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped);
    return t.failed != 0;
}

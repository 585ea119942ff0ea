// What the tests of the derived step share: a block M of a program text with an entry over tokens
// [B, S], its weights at random, the entry over whole contexts, and its step over chunks.
#pragma once
#include "opt/incremental.h"
#include "runtime/numerics.h"
#include "stdlib_help.h"

enum { STEP_CAP = 64, STEP_ROWS = 4, STEP_MOST = 48 };

typedef struct {
    Test *t;
    Session *s;
    Core *core;
    CoreFn *entry;
    StepPlan *plan;
    StepRefusal why;
    Causal *causal; // NULL: it did not come so far
    Interp *it;
    InterpBlock *self;  // of the step
    InterpBlock *other; // of another entry
    const Dim *B, *S;   // of what model_whole runs
    Program *program;
    Item *block;
    int64_t vocab;
    void *states[8]; // memory of each
    bool draws;      // the entry takes a key and a temperature
    int64_t batch;   // that they are for
    int64_t cap;     // positions of a state
    bool slides;     // derive with states that slide
    int32_t origin[STEP_ROWS];
} Model;

static inline bool random_weight(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    Model *m = ctx;
    Test seed = {.state = 7};
    int64_t count = 1, last = 1;
    for (const char *p = path; *p; p++)
        seed.state = seed.state * 31 + (unsigned char)*p;
    *out = (Tensor){.dtype = type->dtype, .rank = type->rank};
    for (int i = 0; i < type->rank; i++) {
        if (!dim_is_const(type->dims[i], &out->dims[i]))
            return false;
        count *= out->dims[i];
        last = out->dims[i];
    }
    float *x = NEW_N(m->s->arena, float, count);
    random_fill(&seed, x, (int)count, 2.0f / sqrtf((float)(last > 4 ? last : 4)));
    if (type->dtype == DT_BF16) {
        uint16_t *h = NEW_N(m->s->arena, uint16_t, count);
        for (int64_t i = 0; i < count; i++) {
            uint32_t bits;
            memcpy(&bits, &x[i], sizeof bits);
            h[i] = (uint16_t)(bits >> 16);
        }
        out->data = h;
        return true;
    }
    out->data = x;
    return type->dtype == DT_F32;
}

static inline Item *find_item(const Item *in, const char *name) {
    for (int i = 0; i < in->items.len; i++) {
        if (strcmp(in->items.data[i]->name, name) == 0)
            return in->items.data[i];
    }
    return NULL;
}

static inline bool verified(Model *m, const char *what) {
    StrBuf faults = strbuf_new(m->s->arena);
    if (core_verify(m->core, &faults))
        return true;
    printf("%s does not verify:\n%s", what, faults.data);
    return false;
}

// An entry of the block, lowered with symbols B and S; NULL after a message.
static inline CoreFn *model_entry(Model *m, Item *entry) {
    GenericArg args[16] = {{0}}, outer[16] = {{0}};
    for (int i = 0; m->block && i < m->block->generics.len && i < 16; i++)
        outer[i] = m->block->generics.data[i].value;
    LowerOptions o = {.program = m->program, .core = m->core, .block_args = outer, .serving = true};
    CoreFn *fn = entry && !m->s->errors ? lower_entry(&o, m->block, entry, args) : NULL;
    if (!fn || !verified(m, "the entry")) {
        diags_print(m->s, stdout, false);
        return NULL;
    }
    m->B = entry->generics.data[0].generic->dim;
    m->S = entry->generics.data[1].generic->dim;
    return fn;
}

// Lowers an entry with symbols B and S and derives its step. False where the program does not
// check; the step may still be missing (m->why).
static inline bool model_lower(Model *m, Program *p, Item *block, Item *entry) {
    m->core = core_new(m->s, p->dims);
    m->program = p;
    m->block = block;
    m->entry = model_entry(m, entry);
    if (!m->entry)
        return false;
    m->draws = m->entry->params.len == 4; // self, key, tokens, temperature
    m->plan = (m->slides ? opt_step_sliding : opt_step)(m->core, m->entry, m->B, m->S, m->draws,
                                                        m->draws ? 2 : -1, &m->why, &m->causal);
    return true;
}

// Block M of a text.
static inline bool model_read(Model *m, Test *t, const char *text, const char *entry) {
    *m = (Model){.t = t, .s = session_new(), .slides = m->slides};
    Source *source = source_new(m->s->arena, "test.serin", str_of(text));
    Program *p = check_program(m->s, session_add(m->s, source), NULL);
    Item *block = m->s->errors ? NULL : find_entry(p, "M");
    return model_lower(m, p, block, block ? find_item(block, entry) : NULL);
}

// The model of a file with a serve block.
static inline bool model_open(Model *m, Test *t, const char *path, const char *entry) {
    Serve serve = {0};
    *m = (Model){.t = t, .s = session_new(), .slides = m->slides};
    Program *p = check_path(m->s, path, NULL);
    bool good = p && !m->s->errors && check_serve(p, entry, &serve) && serve.entry;
    if (!good)
        diags_print(m->s, stdout, false);
    return good && model_lower(m, p, serve.model, serve.entry);
}

// Weights, and memory for the states of `batch` rows.
static inline bool model_start(Model *m, int64_t batch) {
    char error[256] = "";
    if (!verified(m, "the step"))
        return false;
    m->it = interp_new(m->core, NULL);
    m->self = interp_block(m->it, m->plan->fn->self, random_weight, m, error, sizeof error);
    m->other = NULL;
    m->batch = batch;
    for (int i = 0; i < m->plan->state_count && i < 8; i++)
        m->states[i] =
            arena_alloc(m->s->arena, (size_t)(m->plan->states[i].bytes * batch * 2 * STEP_CAP));
    const CoreType *logits = core_value(m->plan->fn, m->plan->fn->region.yields.data[0])->type;
    if (!m->self || !dim_is_const(logits->dims[1], &m->vocab)) {
        printf("%s\n", error);
        return false;
    }
    return true;
}

static inline void model_end(Model *m) {
    interp_free(m->it);
    session_free(m->s);
}

// The entry, or another function over whole contexts, on one row of n tokens: [n, V] or [V].
static inline const void *model_whole(Model *m, const CoreFn *fn, const int32_t *tokens, int n) {
    char error[256];
    Tensor arg = I32(tokens, 1, n), out;
    interp_bind(m->it, m->B, 1);
    interp_bind(m->it, m->S, n);
    bool own = fn->self == m->plan->fn->self;
    if (!own && !m->other)
        m->other = interp_block(m->it, fn->self, random_weight, m, error, sizeof error);
    if (interp_call(m->it, fn, own ? m->self : m->other, 1, &arg, &out, error, sizeof error))
        return out.data;
    printf("whole context of %d: %s\n", n, error);
    return NULL;
}

// Empty states, for chunks of at most c tokens: a window's worth of them, if they slide.
static inline void model_clear(Model *m, int c) {
    m->cap = m->plan->origin ? m->plan->window + c + m->plan->origin_step - 1 : STEP_CAP;
    for (int i = 0; i < m->plan->state_count; i++)
        memset(m->states[i], 0, (size_t)(m->plan->states[i].bytes * m->batch * m->cap));
    memset(m->origin, 0, sizeof m->origin);
}

// Moves the states of row b so that they begin at position `origin`.
static inline void model_slide(Model *m, int b, int32_t origin) {
    int64_t by = origin - m->origin[b];
    for (int i = 0; i < m->plan->state_count && by > 0; i++) {
        const CoreType *type = m->plan->states[i].type;
        int64_t outer = 1, row = dtype_size(type->dtype), n;
        bool after = false;
        for (int k = 0; k < type->rank; k++) {
            after = after || type->dims[k] == m->plan->B;
            if (dim_is_const(type->dims[k], &n))
                *(after ? &row : &outer) *= n;
        }
        for (int64_t o = 0; o < outer; o++) {
            char *at = (char *)m->states[i] + (o * m->batch + b) * m->cap * row;
            memmove(at, at + by * row, (size_t)((m->cap - by) * row));
        }
    }
    m->origin[b] = by > 0 ? origin : m->origin[b];
}

// Where states slide: makes room for every row's chunk. How many positions of them are in use.
static inline int model_room(Model *m, const int32_t *pos, const int32_t *count) {
    int length = 0;
    for (int b = 0; b < m->batch; b++) {
        int64_t origin = pos[b] - m->plan->window, step = m->plan->origin_step;
        if (pos[b] + count[b] - m->origin[b] > m->cap)
            model_slide(m, b, (int32_t)(origin - origin % step));
        int used = pos[b] + count[b] - m->origin[b];
        length = used > length ? used : length;
    }
    return length;
}

// One call of the step: logits [batch, V], or NULL.
static inline const float *model_step(Model *m, const int32_t *tokens, int c, const int32_t *pos,
                                      const int32_t *count, int length) {
    char error[256];
    const StepPlan *p = m->plan;
    Tensor args[16] = {I32(tokens, m->batch, c), I32(pos, m->batch), I32(count, m->batch)}, out;
    int n = 3;
    if (p->origin) {
        length = model_room(m, pos, count);
        args[n++] = I32(m->origin, m->batch);
    }
    interp_bind(m->it, p->B, m->batch);
    interp_bind(m->it, p->C, c);
    interp_bind(m->it, p->Cap, m->cap);
    interp_bind(m->it, p->L, length);
    for (int i = 0; i < p->state_count; i++) {
        const CoreType *type = p->states[i].type;
        Tensor *t = &args[n++];
        *t = (Tensor){.dtype = type->dtype, .rank = type->rank, .data = m->states[i]};
        for (int k = 0; k < type->rank; k++) {
            if (!dim_is_const(type->dims[k], &t->dims[k]))
                t->dims[k] = type->dims[k] == p->B ? m->batch : m->cap;
        }
    }
    if (interp_call(m->it, p->fn, m->self, n, args, &out, error, sizeof error))
        return out.data;
    printf("step: %s\n", error);
    return NULL;
}

// ---- Comparisons -------------------------------------------------------------------------------

static inline int32_t *random_tokens(Test *t, int32_t *out, int n, uint32_t vocab) {
    for (int i = 0; i < n; i++)
        out[i] = random_below(t, vocab);
    return out;
}

// Logits [n, V] of one row: all at once, or of every prefix if the entry gives its last position.
static inline float *model_want(Model *m, const CoreFn *fn, const int32_t *tokens, int n) {
    const CoreType *type = core_value(fn, fn->region.yields.data[0])->type;
    bool all = type->rank == 3, half = type->dtype == DT_BF16;
    float *want = NEW_N(m->s->arena, float, n * m->vocab);
    for (int i = all ? n : 1; i <= n; i++) {
        const void *got = model_whole(m, fn, tokens, i);
        if (!got)
            return NULL;
        int64_t count = (all ? i : 1) * m->vocab, first = all ? 0 : (i - 1) * m->vocab;
        for (int64_t k = 0; k < count; k++)
            want[first + k] =
                half ? rt_bf16_to_f32(((const uint16_t *)got)[k]) : ((const float *)got)[k];
    }
    return want;
}

// The same bits; of a NaN any will do.
static inline bool same_row(const Model *m, const float *got, const float *want) {
    for (int64_t i = 0; i < m->vocab; i++) {
        bool nan = got[i] != got[i] && want[i] != want[i];
        if (!nan && memcmp(&got[i], &want[i], sizeof(float)) != 0)
            return false;
    }
    return true;
}

// One row in chunks of c: the logits of each chunk's last token.
static inline void same_rows(Model *m, const char *name, int c, int n, const int32_t *tokens,
                             const float *want) {
    bool good = true;
    model_clear(m, c);
    for (int at = 0; at < n && good; at += c) {
        int32_t pos = at, count = n - at < c ? n - at : c;
        int32_t chunk[STEP_MOST] = {0};
        memcpy(chunk, tokens + at, sizeof(int32_t) * (size_t)count);
        const float *got = model_step(m, chunk, c, &pos, &count, c == 3 ? STEP_CAP : at + count);
        good = got && same_row(m, got, want + (at + count - 1) * m->vocab);
        if (!good)
            printf("%s: chunks of %d: another row %d\n", name, c, at + count - 1);
    }
    CHECK(m->t, good);
}

// Rows of different lengths, each in chunks of random sizes.
static inline void same_batch(Model *m, const char *name, int n, int32_t tokens[][STEP_MOST],
                              float *const *want) {
    int32_t pos[STEP_ROWS] = {0}, count[STEP_ROWS], chunk[STEP_ROWS * 8];
    model_clear(m, 8);
    int lengths[STEP_ROWS] = {n, n / 2, n - 3, 1}, left = STEP_ROWS;
    bool good = true;
    for (int round = 0; left > 0 && round < 200 && good; round++) {
        int c = 1 + random_below(m->t, 8), longest = 0;
        memset(chunk, 0, sizeof chunk);
        left = 0;
        for (int b = 0; b < STEP_ROWS; b++) {
            int rest = lengths[b] - pos[b];
            left += rest > 0;
            count[b] = rest > 0 ? 1 + random_below(m->t, (uint32_t)(rest < c ? rest : c)) : 1;
            for (int i = 0; i < count[b] && rest > 0; i++)
                chunk[b * c + i] = tokens[b][pos[b] + i];
            longest = pos[b] + count[b] > longest ? pos[b] + count[b] : longest;
        }
        const float *got = model_step(m, chunk, c, pos, count, longest);
        for (int b = 0; b < STEP_ROWS && got; b++) {
            if (pos[b] >= lengths[b])
                continue;
            pos[b] += count[b];
            good = good && same_row(m, got + b * m->vocab, want[b] + (pos[b] - 1) * m->vocab);
        }
        good = good && got;
    }
    if (!good)
        printf("%s: another row in a batch\n", name);
    CHECK(m->t, good && left == 0);
}

// The step of m against `fn` over whole contexts of n random tokens: alone in chunks, and in a
// batch. Ends m.
static inline void same_bits(Model *m, const char *name, const CoreFn *fn, int n) {
    static const int chunks[] = {1, 3, 32, STEP_MOST};
    int32_t tokens[STEP_ROWS][STEP_MOST];
    float *want[STEP_ROWS] = {0};
    bool good = model_start(m, 1);
    CHECK(m->t, good);
    for (int b = 0; b < STEP_ROWS && good; b++) {
        random_tokens(m->t, tokens[b], n, (uint32_t)m->vocab);
        want[b] = model_want(m, fn, tokens[b], n);
        good = want[b] != NULL;
    }
    CHECK(m->t, good);
    for (size_t c = 0; good && c < sizeof chunks / sizeof chunks[0]; c++)
        same_rows(m, name, chunks[c], n, tokens[0], want[0]);
    interp_free(m->it);
    m->it = NULL;
    if (good && model_start(m, STEP_ROWS))
        same_batch(m, name, n, tokens, want);
    model_end(m);
}

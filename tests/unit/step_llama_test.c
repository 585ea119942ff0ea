// Tests of the derived step on Llama models: the logits of `forward` over the whole context, to the
// bit, in chunks and in a batch; and the tokens that `next_token` draws.
#include "runtime/numerics.h"

#include "cli/model.h"
#include "lower/lower.h"
#include "runtime/sampler.h"
#include <stdio.h>
#include <string.h>

enum { CAP = 40, N = 37, ROWS = 3 };

typedef struct {
    int passed, failed;
    Arena *arena;
    Model m;
    Core *whole_core; // of forward
    CoreFn *forward;
    Interp *whole, *drawn, *steps; // forward, next_token, step
    InterpBlock *whole_self, *drawn_self, *steps_self;
    void *states[4];
} Test;

static void check(Test *t, bool ok, const char *what, int line) {
    if (ok)
        t->passed++;
    else
        t->failed++, printf("%s:%d: failed: %s: %s\n", __FILE__, line, t->m.path, what);
}

#define CHECK(t, ok) check((t), (ok), #ok, __LINE__)

static CoreFn *lower_forward(Test *t) {
    Model *m = &t->m;
    Item *entry = NULL;
    for (int i = 0; i < m->serve.model->items.len; i++) {
        if (strcmp(m->serve.model->items.data[i]->name, "forward") == 0)
            entry = m->serve.model->items.data[i];
    }
    GenericArg args[2] = {{.dim = dim_const(m->program->dims, 1), .bound = true}, {0}};
    t->whole_core = core_new(m->s, m->program->dims);
    LowerOptions o = {.program = m->program,
                      .core = t->whole_core,
                      .block_args = m->block_args,
                      .present = checkpoint_present,
                      .ctx = m->checkpoint,
                      .serving = true};
    return entry ? lower_entry(&o, m->serve.model, entry, args) : NULL;
}

static InterpBlock *load(Test *t, Interp *it, const CoreFn *fn) {
    char error[512] = "";
    InterpBlock *b = interp_block(it, fn->self, model_weight, &t->m, error, sizeof error);
    printf("%s", error);
    return b;
}

static bool open_model(Test *t, const char *path) {
    Args none = {0};
    Model *m = &t->m;
    *m = (Model){0};
    if (model_open(t->arena, path, &none, m) || model_lower(m, &none, 0) || model_derive(m) ||
        !m->step)
        return false;
    t->forward = lower_forward(t);
    if (!t->forward)
        return false;
    t->whole = interp_new(t->whole_core, NULL);
    t->drawn = interp_new(m->core, NULL);
    t->steps = interp_new(m->step_core, NULL);
    t->whole_self = load(t, t->whole, t->forward);
    t->drawn_self = load(t, t->drawn, m->entry);
    t->steps_self = load(t, t->steps, m->step->fn);
    return t->whole_self && t->drawn_self && t->steps_self;
}

static void close_model(Test *t) {
    if (t->m.s && t->m.s->errors)
        diags_print(t->m.s, stdout, false);
    interp_free(t->whole);
    interp_free(t->drawn);
    interp_free(t->steps);
    t->whole = t->drawn = t->steps = NULL;
    model_close(&t->m);
}

static Tensor ints(const int32_t *data, int rank, int64_t a, int64_t b) {
    return (Tensor){.dtype = DT_I32, .rank = rank, .dims = {a, b}, .data = data};
}

static const float *step(Test *t, int rows, int c, const int32_t *tokens, const int32_t *pos,
                         const int32_t *count, int length) {
    char error[512];
    const StepPlan *p = t->m.step;
    Tensor args[8] = {ints(tokens, 2, rows, c), ints(pos, 1, rows, 0), ints(count, 1, rows, 0)};
    Tensor out;
    interp_bind(t->steps, p->B, rows);
    interp_bind(t->steps, p->C, c);
    interp_bind(t->steps, p->Cap, CAP);
    interp_bind(t->steps, p->L, length);
    for (int i = 0; i < p->state_count && i < 4; i++) {
        const CoreType *type = p->states[i].type;
        Tensor *s = &args[3 + i];
        *s = (Tensor){.dtype = type->dtype, .rank = type->rank, .data = t->states[i]};
        for (int k = 0; k < type->rank; k++) {
            if (!dim_is_const(type->dims[k], &s->dims[k]))
                s->dims[k] = type->dims[k] == p->B ? rows : CAP;
        }
    }
    if (interp_call(t->steps, p->fn, t->steps_self, 3 + p->state_count, args, &out, error,
                    sizeof error))
        return out.data;
    printf("%s\n", error);
    return NULL;
}

static void clear(Test *t, int rows) {
    for (int i = 0; i < t->m.step->state_count && i < 4; i++)
        t->states[i] = arena_alloc(t->arena, (size_t)(t->m.step->states[i].bytes * rows * CAP));
}

static float *whole_logits(Test *t, const int32_t *tokens) {
    char error[512];
    Tensor arg = ints(tokens, 2, 1, N), out;
    for (int i = 0; i < t->whole_core->symbols.len; i++)
        interp_bind(t->whole, t->whole_core->symbols.data[i], N);
    if (!interp_call(t->whole, t->forward, t->whole_self, 1, &arg, &out, error, sizeof error)) {
        printf("%s\n", error);
        return NULL;
    }
    return arena_copy(t->arena, out.data, sizeof(float) * (size_t)(N * t->m.vocab));
}

static void check_alone(Test *t, const int32_t *tokens, const float *want) {
    static const int chunks[] = {1, 3, 32, N};
    size_t row = sizeof(float) * (size_t)t->m.vocab;
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        clear(t, 1);
        for (int at = 0; at < N; at += chunks[i]) {
            int32_t pos = at, count = N - at < chunks[i] ? N - at : chunks[i], chunk[N] = {0};
            memcpy(chunk, tokens + at, sizeof(int32_t) * (size_t)count);
            const float *got = step(t, 1, chunks[i], chunk, &pos, &count, at + count);
            CHECK(t, got && memcmp(got, want + (at + count - 1) * t->m.vocab, row) == 0);
        }
    }
}

// Row b goes in chunks of b + 1 tokens.
static void check_batch(Test *t, int32_t tokens[][N], float *const *want) {
    size_t row = sizeof(float) * (size_t)t->m.vocab;
    int32_t pos[ROWS] = {0}, count[ROWS], chunk[ROWS * ROWS];
    clear(t, ROWS);
    while (pos[ROWS - 1] < N) {
        int longest = 0;
        for (int b = 0; b < ROWS; b++) {
            count[b] = N - pos[b] < b + 1 ? N - pos[b] : b + 1;
            for (int i = 0; i < ROWS; i++)
                chunk[b * ROWS + i] = i < count[b] ? tokens[b][pos[b] + i] : 1;
            longest = pos[b] + count[b] > longest ? pos[b] + count[b] : longest;
        }
        const float *got = step(t, ROWS, ROWS, chunk, pos, count, longest);
        for (int b = 0; b < ROWS; b++) {
            pos[b] += count[b];
            CHECK(t, got && memcmp(got + b * t->m.vocab, want[b] + (pos[b] - 1) * t->m.vocab,
                                   row) == 0);
        }
    }
}

// What next_token draws is what the sampler draws from the logits of the last position.
static void check_draws(Test *t, const int32_t *tokens, const float *want) {
    char error[512];
    for (int i = 0; i < 6; i++) {
        RtKey key = rt_child(rt_key(5), (uint32_t)i);
        int64_t words[2] = {key.word[0], key.word[1]};
        float temperature = 0.4f + 0.3f * (float)i;
        int n = N - i;
        Tensor args[] = {{.dtype = DT_I64, .rank = 1, .dims = {2}, .data = words},
                         ints(tokens, 2, 1, n),
                         {.dtype = DT_F32, .data = &temperature}};
        Tensor out;
        interp_bind(t->drawn, t->m.length, n);
        bool good =
            interp_call(t->drawn, t->m.entry, t->drawn_self, 3, args, &out, error, sizeof error);
        const float *logits = want + (n - 1) * t->m.vocab;
        CHECK(t, good &&
                     *(const int32_t *)out.data == rt_sample(logits, t->m.vocab, temperature, key));
    }
}

static void test_model(Test *t, const char *path) {
    int32_t tokens[ROWS][N];
    float *want[ROWS];
    bool good = open_model(t, path);
    CHECK(t, good);
    for (int b = 0; b < ROWS && good; b++) {
        for (int i = 0; i < N; i++)
            tokens[b][i] = (int32_t)((7 * i * i + 5 * b + 3 * i * b) % t->m.vocab);
        want[b] = whole_logits(t, tokens[b]);
        good = want[b] != NULL;
    }
    CHECK(t, good);
    if (good) {
        CHECK(t, t->m.step->state_count == 2);
        check_alone(t, tokens[0], want[0]);
        check_batch(t, tokens, want);
        check_draws(t, tokens[0], want[0]);
    }
    close_model(t);
}

int main(void) {
    Test t = {.arena = arena_new()};
    static const char *const tiny[] = {"gqa", "llama3", "llama31", "single", "tied"};
    for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; i++)
        test_model(&t, arena_printf(t.arena, "tests/data/tiny/%s", tiny[i]));
    arena_free(t.arena);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

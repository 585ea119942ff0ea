// A hand-written cache (`prefill =`, `decode =`) against the derived one and against the whole
// context: the same tokens, greedy and drawn, and as many bytes a token.
#include "cli/generate.h"
#include "runtime/safetensors.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOKENS = 20 };

typedef struct {
    int passed, failed;
    Arena *a;
    const char *dir;
} Test;

static void check(Test *t, bool ok, const char *what) {
    if (ok)
        t->passed++;
    else
        t->failed++, printf("failed: %s\n", what);
}

// A copy of the package with a serve block, in dir/NAME.
static const char *package(Test *t, const char *name, const char *fields) {
    const char *path = arena_printf(t->a, "%s/%s", t->dir, name);
    const char *copy = arena_printf(t->a, "cp -r tests/packages/decoder %s", path);
    check(t, system(copy) == 0, copy);
    FILE *f = fopen(arena_printf(t->a, "%s/src/lib.serin", path), "a");
    if (f) {
        fprintf(f, "\ninference serve {\n    model = Model\n    generate = next_token\n%s}\n",
                fields);
        fclose(f);
    }
    return path;
}

static const char *const sizes[] = {"Vocab=13", "H=16",    "Heads=4",   "KvHeads=2", "Inner=12",
                                    "Layers=2", "Batch=1", "MaxSeq=40", "T=f32"};
enum { SIZES = sizeof sizes / sizeof *sizes };

static Args args_for(Test *t, const char *weights) {
    static const Flag flags[] = {MODEL_FLAGS};
    char *argv[2 + 2 * SIZES];
    Args args;
    int n = 0;
    if (weights) {
        argv[n++] = "--weights";
        argv[n++] = (char *)weights;
    }
    for (int i = 0; i < SIZES; i++) {
        argv[n++] = "--set";
        argv[n++] = (char *)sizes[i];
    }
    check(t, args_parse(t->a, flags, sizeof flags / sizeof *flags, n, argv, &args), "flags");
    return args;
}

// ---- Random weights ----------------------------------------------------------------------------

typedef struct {
    Test *t;
    VEC(RtTensor) tensors;
    unsigned state;
} Random;

static void add_weight(void *ctx, const char *path, const CoreType *type) {
    Random *r = ctx;
    RtTensor w = {.name = arena_printf(r->t->a, "%s", path), .format = RT_F32, .rank = type->rank};
    uint64_t n = 1;
    for (int i = 0; i < type->rank; i++) {
        dim_is_const(type->dims[i], &w.dims[i]);
        n *= (uint64_t)w.dims[i];
    }
    float *data = NEW_N(r->t->a, float, n);
    for (uint64_t i = 0; i < n; i++) {
        r->state = r->state * 1664525u + 1013904223u;
        data[i] = (float)(r->state >> 8) / (float)(1 << 23) - 1;
    }
    w.data = data;
    w.bytes = n * sizeof *data;
    vec_push(r->t->a, &r->tensors, w);
}

static void write_weights(Test *t, const char *path, const char *program) {
    Model m;
    Args args = args_for(t, NULL); // the file is not there yet
    Random r = {.t = t, .state = 7};
    RtError err = {0};
    bool good = model_open(t->a, program, &args, &m) == 0 && model_lower(&m, &args, 0) == 0;
    check(t, good, "the package lowers");
    if (good) {
        core_weights(m.core, m.entry->self, add_weight, &r);
        good = rt_safetensors_write(path, r.tensors.data, (size_t)r.tensors.len, &err);
        check(t, good, err.text);
    }
    diags_print(m.s, stdout, false);
    model_close(&m);
}

// ---- Running -----------------------------------------------------------------------------------

// Bytes of the states of a block and of what is in it.
static int64_t state_bytes(const CoreBlock *block) {
    int64_t sum = 0, n;
    for (int i = 0; i < block->members.len; i++) {
        const CoreMember *m = &block->members.data[i];
        int64_t count = m->kind == MEMBER_ARRAY && dim_is_const(m->type->count, &n) ? n : 1;
        if (m->kind == MEMBER_SUB || m->kind == MEMBER_ARRAY)
            sum += count * state_bytes(m->type->block);
        if (m->kind != MEMBER_STATE)
            continue;
        int64_t size = dtype_size(m->type->dtype);
        for (int k = 0; k < m->type->rank; k++)
            size *= dim_is_const(m->type->dims[k], &n) ? n : 0;
        sum += size;
    }
    return sum;
}

static bool run(Test *t, const char *program, const char *weights, bool whole, float temperature,
                int32_t *out, int64_t *bytes) {
    static const int32_t prompts[2][5] = {{3, 1, 4, 1, 5}, {9, 2, 0, 0, 0}};
    Model m;
    Args args = args_for(t, weights);
    Sequence rows[2];
    GenerateOptions o = {.chunk = 3, .threads = 1, .whole = whole};
    bool good = model_open(t->a, program, &args, &m) == 0 && model_lower(&m, &args, 0) == 0 &&
                model_match_weights(&m) == 0 && (whole || model_derive(&m) == 0);
    for (int b = 0; b < 2; b++)
        rows[b] = sequence_new(t->a, prompts[b], b ? 2 : 5, TOKENS, 11, temperature);
    good = good && generate(&m, rows, 2, &o, NULL, NULL);
    for (int b = 0; good && b < 2; b++)
        memcpy(out + b * TOKENS, rows[b].tokens + rows[b].prompt, TOKENS * sizeof *out);
    *bytes = 0;
    for (int i = 0; m.step && i < m.step->state_count; i++)
        *bytes += m.step->states[i].bytes;
    if (m.decode)
        *bytes = state_bytes(m.decode->self) / 40; // MaxSeq positions
    check(t, whole || (m.decode != NULL) != (m.step != NULL), "one kind of cache");
    diags_print(m.s, stdout, false);
    model_close(&m);
    return good;
}

static void compare(Test *t, const char *weights, const char *written, const char *derived,
                    float temperature) {
    int32_t a[2 * TOKENS] = {0}, b[2 * TOKENS] = {1}, c[2 * TOKENS] = {2};
    int64_t own, bytes, none;
    check(t, run(t, written, weights, false, temperature, a, &own), "the hand-written cache runs");
    check(t, run(t, derived, weights, false, temperature, b, &bytes), "the derived cache runs");
    check(t, run(t, derived, weights, true, temperature, c, &none), "the whole context runs");
    check(t, memcmp(a, b, sizeof a) == 0, "hand-written and derived: the same tokens");
    check(t, memcmp(b, c, sizeof b) == 0, "derived and whole: the same tokens");
    check(t, bytes == 2 * 2 * 2 * 4 * 4, "keys and values of two layers, two heads of width 4");
    check(t, own == bytes, "the hand-written cache and the derived one take the same bytes");
}

int main(void) {
    char dir[] = "/tmp/serin-written-XXXXXX";
    Test t = {.a = arena_new(), .dir = mkdtemp(dir)};
    const char *weights = arena_printf(t.a, "%s/w.safetensors", dir);
    const char *written = package(&t, "written",
                                  "    prefill = prefill\n    decode = decode\n"
                                  "    cache = kv_cache(MaxSeq)\n");
    const char *stepwise = package(&t, "stepwise", "    decode = decode\n");
    const char *derived = package(&t, "derived", "    cache = kv_cache(S)\n");
    write_weights(&t, weights, derived);
    compare(&t, weights, written, derived, 0);
    compare(&t, weights, written, derived, 0.9f);
    compare(&t, weights, stepwise, derived, 0.9f);
    check(&t, system(arena_printf(t.a, "rm -r %s", dir)) == 0, "tidies up");
    arena_free(t.a);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed != 0;
}

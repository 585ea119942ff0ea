// What the tests of hand-written caches share: the package tests/packages/decoder with serve blocks
// of its own, and weights for it.
#pragma once
#include "cli/generate.h"
#include "runtime/safetensors.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    int passed, failed;
    Arena *a;
    const char *dir;
} Test;

static inline void check(Test *t, bool ok, const char *what) {
    if (ok)
        t->passed++;
    else
        t->failed++, printf("failed: %s\n", what);
}

// A copy of the package with a serve block, in dir/NAME.
static inline const char *package(Test *t, const char *name, const char *fields) {
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

// The sizes of the package, of f32.
static const char *const decoder_sizes[] = {"Vocab=13", "H=16",     "Heads=4", "KvHeads=2",
                                            "Inner=12", "Layers=2", "Batch=1", "MaxSeq=40",
                                            "T=f32",    NULL};

// What a command is given: --weights FILE (or NULL) and --set of each of `sizes`.
static inline Args args_for(Test *t, const char *weights, const char *const *sizes) {
    static const Flag flags[] = {MODEL_FLAGS};
    VEC(char *) argv = {0};
    Args args;
    if (weights) {
        vec_push(t->a, &argv, "--weights");
        vec_push(t->a, &argv, (char *)weights);
    }
    for (int i = 0; sizes[i]; i++) {
        vec_push(t->a, &argv, "--set");
        vec_push(t->a, &argv, (char *)sizes[i]);
    }
    check(t, args_parse(t->a, flags, sizeof flags / sizeof *flags, argv.len, argv.data, &args),
          "flags");
    return args;
}

// ---- Random weights ----------------------------------------------------------------------------

typedef struct {
    Test *t;
    VEC(RtTensor) tensors;
    unsigned state;
} Random;

static inline void add_weight(void *ctx, const char *path, const CoreType *type) {
    Random *r = ctx;
    bool half = type->dtype == DT_BF16;
    RtTensor w = {.name = arena_printf(r->t->a, "%s", path),
                  .format = half ? RT_BF16 : RT_F32,
                  .rank = type->rank};
    uint64_t n = 1;
    for (int i = 0; i < type->rank; i++) {
        dim_is_const(type->dims[i], &w.dims[i]);
        n *= (uint64_t)w.dims[i];
    }
    float *wide = NEW_N(r->t->a, float, n);
    uint16_t *data = NEW_N(r->t->a, uint16_t, n);
    for (uint64_t i = 0; i < n; i++) {
        r->state = r->state * 1664525u + 1013904223u;
        wide[i] = (float)(r->state >> 8) / (float)(1 << 23) - 1;
        uint32_t bits;
        memcpy(&bits, &wide[i], sizeof bits);
        data[i] = (uint16_t)(bits >> 16);
    }
    w.data = half ? (const void *)data : wide;
    w.bytes = n * (half ? sizeof *data : sizeof *wide);
    vec_push(r->t->a, &r->tensors, w);
}

// Random weights for the program, with those sizes.
static inline void write_weights(Test *t, const char *path, const char *program,
                                 const char *const *sizes) {
    Model m;
    Args args = args_for(t, NULL, sizes); // the file is not there yet
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

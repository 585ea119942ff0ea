// What the tests of the standard library share: a program text whose entries are checked, lowered
// and run on tensors, and random numbers for them.
#pragma once
#include "check/check.h"
#include "core/core.h"
#include "interp/interp.h"
#include "lower/lower.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int passed, failed;
    Session *s;
    Program *program;
    Interp *interp; // of the last call: owns its results
    uint64_t state; // of the random numbers
} Test;

static inline void check_at(Test *t, bool ok, const char *what, const char *file, int line) {
    if (ok) {
        t->passed++;
        return;
    }
    t->failed++;
    printf("%s:%d: failed: %s\n", file, line, what);
}

#define CHECK(t, ok) check_at((t), (ok), #ok, __FILE__, __LINE__)

static inline int finish(Test *t) {
    interp_free(t->interp);
    session_free(t->s);
    printf("%d passed, %d failed\n", t->passed, t->failed);
    return t->failed != 0;
}

// Checks the program; prints what is wrong with it.
static inline void open_program(Test *t, const char *text) {
    t->s = session_new();
    t->state = 1;
    Source *source = source_new(t->s->arena, "test.serin", str_of(text));
    t->program = check_program(t->s, session_add(t->s, source), NULL);
    diags_print(t->s, stdout, false);
    CHECK(t, t->s->errors == 0 && t->s->warnings == 0);
}

static inline Item *find_entry(const Program *p, const char *name) {
    for (int i = 0; i < p->root->items.len; i++) {
        if (strcmp(p->root->items.data[i]->name, name) == 0)
            return p->root->items.data[i];
    }
    return NULL;
}

// Runs an entry of the program; false, with a message, if that fails.
static inline bool run(Test *t, const char *name, int nargs, const Tensor *args, Tensor *results) {
    char error[256] = "";
    interp_free(t->interp);
    t->interp = NULL;
    Item *entry = t->s->errors ? NULL : find_entry(t->program, name);
    Core *core = core_new(t->s, t->program->dims);
    LowerOptions o = {.program = t->program, .core = core};
    CoreFn *fn = entry ? lower_entry(&o, NULL, entry, NULL) : NULL;
    StrBuf faults = strbuf_new(t->s->arena);
    bool good = fn && core_verify(core, &faults);
    if (good) {
        t->interp = interp_new(core, NULL);
        good = interp_call(t->interp, fn, NULL, nargs, args, results, error, sizeof error);
    }
    if (!good) {
        diags_print(t->s, stdout, false);
        printf("%s: %s%s\n", name, faults.len ? faults.data : "", error);
    }
    CHECK(t, good);
    return good;
}

// ---- Tensors -----------------------------------------------------------------------------------

static inline Tensor tensor(Dtype dtype, const void *data, int rank, const int64_t *dims) {
    Tensor x = {.dtype = dtype, .rank = rank, .data = data};
    for (int i = 0; i < rank; i++)
        x.dims[i] = dims[i];
    return x;
}

#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define F32(data, ...) tensor(DT_F32, data, DIMS(__VA_ARGS__))
#define I32(data, ...) tensor(DT_I32, data, DIMS(__VA_ARGS__))
#define I64(data, ...) tensor(DT_I64, data, DIMS(__VA_ARGS__))
#define BOOL(data, ...) tensor(DT_BOOL, data, DIMS(__VA_ARGS__))

static inline Tensor scalar(Dtype dtype, const void *data) { return tensor(dtype, data, 0, NULL); }

static inline uint32_t random_bits(Test *t) {
    t->state = t->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(t->state >> 33);
}

static inline int32_t random_below(Test *t, uint32_t n) { return (int32_t)(random_bits(t) % n); }

// Uniform between -scale and scale.
static inline void random_fill(Test *t, float *x, int n, float scale) {
    for (int i = 0; i < n; i++)
        x[i] = scale * ((float)(random_bits(t) >> 7) * 0x1p-23f - 1);
}

// Is the result within `most` of the expected values, relative to the greatest of them?
static inline void near(Test *t, const char *name, const Tensor *got, const double *want, int n,
                        double most) {
    double scale = 1e-30, worst = 0;
    for (int i = 0; i < n; i++)
        scale = fmax(scale, fabs(want[i]));
    for (int i = 0; i < n; i++) {
        double d = fabs((double)((const float *)got->data)[i] - want[i]) / scale;
        worst = d <= worst ? worst : d; // a NaN stays
    }
    if (!(worst <= most))
        printf("%s: off by %g of the scale, %g allowed\n", name, worst, most);
    CHECK(t, worst <= most);
}

// Modules from text, and calls of their functions, for the tests of the interpreter.
#pragma once
#include "interp_help.h"

typedef struct {
    Test *test;
    Session *session;
    Core *core;
    Interp *interp;
    char error[600];
    Tensor results[4];
} Run;

static inline Run start(Test *t, const char *text, RtPool *pool) {
    Run r = {.test = t, .session = session_new()};
    r.core = read_core(r.session, text);
    CHECK(t, r.core != NULL);
    if (!r.core) {
        diags_print(r.session, stdout, false);
        exit(1);
    }
    const char *faults = faults_of(r.core);
    if (faults[0])
        printf("%s", faults);
    CHECK(t, faults[0] == 0);
    r.interp = interp_new(r.core, pool);
    return r;
}

static inline void stop(Run *r) {
    interp_free(r->interp);
    session_free(r->session);
}

static inline void bind(Run *r, const char *name, int64_t value) {
    for (int i = 0; i < r->core->symbols.len; i++) {
        if (strcmp(dim_name(r->core->symbols.data[i]), name) == 0)
            interp_bind(r->interp, r->core->symbols.data[i], value);
    }
}

static inline bool call(Run *r, const char *label, const InterpBlock *self, int nargs,
                        const Tensor *args) {
    const CoreFn *fn = core_find(r->core, label);
    r->error[0] = 0;
    if (!fn)
        return false;
    return interp_call(r->interp, fn, self, nargs, args, r->results, r->error, sizeof r->error);
}

// A call that must work.
static inline void must(Run *r, const char *label, const InterpBlock *self, int nargs,
                        const Tensor *args) {
    bool ok = call(r, label, self, nargs, args);
    if (!ok)
        printf("%s: %s\n", label, r->error);
    CHECK(r->test, ok);
    if (!ok)
        exit(1);
}

static inline Tensor f32(const float *data, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
    Tensor t = {.dtype = DT_F32, .rank = rank, .dims = {a, b, c, d}, .data = data};
    return t;
}

static inline void fill(Random *r, float *x, int n) {
    for (int i = 0; i < n; i++)
        x[i] = (float)random_bits(r) * 0x1p-31f - 1.0f;
}

static inline const float *floats(const Run *r, int result) {
    return r->results[result].data;
}

static inline bool same(const Run *r, int result, const void *want, size_t bytes) {
    return memcmp(r->results[result].data, want, bytes) == 0;
}

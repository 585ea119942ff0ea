// Fuzzes the interpreter: any text of Core that reads and verifies is run, with dimensions and
// arguments made from the text's hash, in every mode; all modes must agree to the bit. Small limits
// keep programs from running long; beyond them the modes may part (they take different memory).
#include "interp/interp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 4 << 20, POINTS = 20000, MOST = 1 << 16, ARGS = 16 };

typedef struct {
    Core *core;
    Interp *interp;
    uint64_t state;
    char *data; // MOST bytes that arguments lie in
} Fuzz;

static uint32_t next(Fuzz *f) {
    f->state = f->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(f->state >> 33);
}

static bool bound(void *ctx, const Dim *symbol, int64_t *value) {
    (void)ctx;
    // What interp_bind was given: by the name, so that all modes have the same.
    *value = (int64_t)(strlen(dim_name(symbol)) % 3 + 2);
    return true;
}

// A tensor of the type, if its extents are small.
static bool make_tensor(Fuzz *f, const CoreType *type, Tensor *t) {
    int64_t n = dtype_size(type->dtype);
    memset(t, 0, sizeof *t);
    t->dtype = type->dtype;
    t->rank = type->rank;
    t->data = f->data;
    for (int i = 0; i < type->rank; i++) {
        if (!dim_eval(type->dims[i], bound, NULL, &t->dims[i]) || t->dims[i] < 0 ||
            t->dims[i] > MOST)
            return false;
        n *= t->dims[i];
        if (n > MOST)
            return false;
    }
    if (type->rank && t->dims[0] && next(f) % 4 == 0 && type->dtype == DT_F32)
        t->format = RT_BF16;
    return true;
}

static bool weight(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    (void)path;
    return make_tensor(ctx, type, out);
}

static bool make_args(Fuzz *f, const CoreFn *fn, Tensor *args, int *count) {
    *count = fn->params.len - (fn->self ? 1 : 0);
    for (int i = 0; i < *count; i++) {
        const CoreType *type = core_value(fn, fn->params.data[i + (fn->self ? 1 : 0)])->type;
        if (i >= ARGS || type->kind != CORE_TENSOR || !make_tensor(f, type, &args[i]))
            return false;
    }
    return fn->states.len == 0; // a state would make the next mode's call another one
}

static uint64_t hash_of(const Tensor *t) {
    uint64_t h = 14695981039346656037u;
    int64_t n = dtype_size(t->dtype);
    for (int i = 0; i < t->rank; i++)
        n *= t->dims[i];
    for (int64_t i = 0; i < n; i++)
        h = (h ^ ((const unsigned char *)t->data)[i]) * 1099511628211u;
    return h;
}

// Payloads of NaNs may differ.
static bool comparable(const Tensor *t) {
    return !dtype_is_float(t->dtype);
}

static void run_fn(Fuzz *f, const CoreFn *fn, const InterpBlock *self) {
    Tensor args[ARGS], results[ARGS];
    uint64_t want = 0;
    int count;
    if (!make_args(f, fn, args, &count) || fn->region.yields.len > ARGS)
        return;
    for (int mode = 0; mode < 4; mode++) {
        char error[400];
        interp_mode(f->interp, (InterpMode)mode);
        if (!interp_call(f->interp, fn, self, count, args, results, error, sizeof error))
            return;
        uint64_t got = 0;
        for (int i = 0; i < fn->region.yields.len; i++)
            got ^= comparable(&results[i]) ? hash_of(&results[i]) : 0;
        if (mode && got != want) {
            fprintf(stderr, "mode %d differs: %s\n", mode, fn->label);
            abort();
        }
        want = got;
    }
}

static void run_module(Fuzz *f) {
    char error[400];
    f->interp = interp_new(f->core, NULL);
    interp_limit(f->interp, BYTES, POINTS);
    for (int i = 0; i < f->core->symbols.len; i++) {
        int64_t value;
        bound(NULL, f->core->symbols.data[i], &value);
        interp_bind(f->interp, f->core->symbols.data[i], value);
    }
    for (int i = 0; i < f->core->fns.len && i < 16; i++) {
        const CoreFn *fn = f->core->fns.data[i];
        InterpBlock *self = NULL;
        if (fn->self)
            self = interp_block(f->interp, fn->self, weight, f, error, sizeof error);
        if (self || !fn->self)
            run_fn(f, fn, self);
    }
    interp_free(f->interp);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 14)
        return 0;
    Session *s = session_new();
    Str text = {arena_copy(s->arena, data, size), (int)size};
    Fuzz f = {.core = core_parse(s, dims_new(s->arena),
                                 session_add(s, source_new(s->arena, "fuzz", text)))};
    StrBuf faults = strbuf_new(s->arena);
    for (size_t i = 0; i < size; i++)
        f.state = (f.state ^ data[i]) * 1099511628211u;
    if (f.core && core_verify(f.core, &faults)) {
        f.data = malloc(MOST);
        if (!f.data)
            abort();
        for (int i = 0; i < MOST; i++)
            f.data[i] = (char)(next(&f) % 7 ? next(&f) % 5 : next(&f));
        run_module(&f);
        free(f.data);
    }
    session_free(s);
    return 0;
}

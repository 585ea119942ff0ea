// What tests of packages share: the block Model of a package, all of its entries lowered for one
// instance, random weights, calls by name.
#pragma once
#include "check/check.h"
#include "core/core.h"
#include "interp/interp.h"
#include "lower/lower.h"
#include "opt/inplace.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ENTRIES = 32 };

typedef struct {
    const char *name;
    int64_t value;
} Bound;

typedef struct {
    int passed, failed, skipped;
    Session *s;
    Program *program;
    Item *block;
    Core *core;
    Item *entries[MOST_ENTRIES];
    CoreFn *fns[MOST_ENTRIES];
    int count;
    bool inplace; // caches are written in place
    int places;   // how many of such writes there are
    Interp *it;
    InterpBlock *self;
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

static inline void close_package(Test *t) {
    interp_free(t->it);
    if (t->s)
        session_free(t->s);
    t->it = NULL;
    t->s = NULL;
    t->count = 0;
}

static inline GenericArg *bind_args(Test *t, const Item *decl, const Bound *bounds, int n) {
    GenericArg *args = NEW_N(t->s->arena, GenericArg, decl->generics.len + 1);
    for (int i = 0; i < decl->generics.len; i++) {
        const GenericDecl *g = &decl->generics.data[i];
        args[i] = g->value;
        if (g->generic->kind != GENERIC_DIM)
            args[i] = (GenericArg){.elem = elem_of(DT_F32), .bound = true};
        for (int k = 0; k < n; k++) {
            if (strcmp(g->name, bounds[k].name) == 0)
                args[i] = (GenericArg){.dim = dim_const(t->program->dims, bounds[k].value),
                                       .bound = true};
        }
    }
    return args;
}

// Uniform between -1 and 1, the same for the same path.
static inline bool random_weight(void *ctx, const char *path, const CoreType *type, Tensor *out) {
    Test *t = ctx;
    uint64_t state = 14695981039346656037u, n = 1;
    for (const char *p = path; *p; p++)
        state = (state ^ (unsigned char)*p) * 1099511628211u;
    *out = (Tensor){.dtype = type->dtype, .rank = type->rank};
    for (int i = 0; i < type->rank; i++) {
        dim_is_const(type->dims[i], &out->dims[i]);
        n *= (uint64_t)out->dims[i];
    }
    float *data = NEW_N(t->s->arena, float, n);
    for (uint64_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        data[i] = (float)(state >> 40) * 0x1p-23f - 1;
    }
    out->data = data;
    return type->dtype == DT_F32;
}

static inline void start(Test *t) {
    close_package(t);
    t->s = session_new();
}

// Lowers every entry of the program's block `Model`, makes an instance with the weights. T is f32.
// False after a message.
static inline bool open_block(Test *t, const char *path, const Bound *bounds, int n,
                              InterpWeight *weight, void *ctx) {
    char error[512] = "";
    const GenericArg *args[MOST_ENTRIES];
    t->block = NULL;
    for (int i = 0; t->program && i < t->program->root->items.len; i++) {
        if (t->program->root->items.data[i]->kind == ITEM_BLOCK &&
            strcmp(t->program->root->items.data[i]->name, "Model") == 0)
            t->block = t->program->root->items.data[i];
    }
    bool good = t->block && !t->s->errors && !t->s->warnings;
    for (int i = 0; good && i < t->block->items.len; i++) {
        Item *item = t->block->items.data[i];
        if (item->kind != ITEM_ENTRY || t->count == MOST_ENTRIES)
            continue;
        args[t->count] = bind_args(t, item, NULL, 0);
        t->entries[t->count++] = item;
    }
    if (good) {
        t->core = core_new(t->s, t->program->dims);
        LowerOptions o = {.program = t->program, .core = t->core};
        o.block_args = bind_args(t, t->block, bounds, n);
        good = lower_entries(&o, t->block, t->count, t->entries, args, t->fns);
    }
    StrBuf faults = strbuf_new(t->s->arena);
    good = good && core_verify(t->core, &faults);
    t->places = good && t->inplace ? opt_inplace(t->core) : 0;
    good = good && core_verify(t->core, &faults);
    if (good) {
        t->it = interp_new(t->core, NULL);
        t->self = interp_block(t->it, t->fns[0]->self, weight ? weight : random_weight,
                               weight ? ctx : t, error, sizeof error);
        good = t->self != NULL;
    }
    diags_print(t->s, stdout, false);
    if (!good)
        printf("%s: %s%s\n", path, faults.len ? faults.data : "", error);
    CHECK(t, good);
    return good;
}

// A package or a file.
static inline bool open_package(Test *t, const char *path, const Bound *bounds, int n,
                                InterpWeight *weight, void *ctx) {
    start(t);
    t->program = check_path(t->s, path, NULL);
    return open_block(t, path, bounds, n, weight, ctx);
}

static inline bool open_text(Test *t, const char *text, const Bound *bounds, int n) {
    start(t);
    Source *source = source_new(t->s->arena, "test.serin", str_of(text));
    t->program = check_program(t->s, session_add(t->s, source), NULL);
    return open_block(t, "test.serin", bounds, n, NULL, NULL);
}

// Calls an entry with its generics bound; false with a message after a failure.
static inline bool call(Test *t, const char *name, const Bound *bounds, int n, int nargs,
                        const Tensor *args, Tensor *results) {
    char error[512] = "";
    int k = 0;
    while (k < t->count && strcmp(t->entries[k]->name, name) != 0)
        k++;
    bool good = k < t->count;
    for (int i = 0; good && i < t->entries[k]->generics.len; i++) {
        const GenericDecl *g = &t->entries[k]->generics.data[i];
        for (int j = 0; j < n; j++) {
            if (strcmp(g->name, bounds[j].name) == 0)
                interp_bind(t->it, g->generic->dim, bounds[j].value);
        }
    }
    good =
        good && interp_call(t->it, t->fns[k], t->self, nargs, args, results, error, sizeof error);
    if (!good)
        printf("%s: %s\n", name, error);
    CHECK(t, good);
    return good;
}

static inline Tensor tensor(Dtype dtype, const void *data, int rank, const int64_t *dims) {
    Tensor x = {.dtype = dtype, .rank = rank, .data = data};
    for (int i = 0; i < rank; i++)
        x.dims[i] = dims[i];
    return x;
}

#define DIMS(...)                                                                                  \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) {                       \
        __VA_ARGS__                                                                                \
    }
#define I32(data, ...) tensor(DT_I32, data, DIMS(__VA_ARGS__))
#define I64(data, ...) tensor(DT_I64, data, DIMS(__VA_ARGS__))
#define F32(data, ...) tensor(DT_F32, data, DIMS(__VA_ARGS__))
#define SCALAR(dtype, data) tensor(dtype, data, 0, NULL)
#define BOUNDS(...)                                                                                \
    (const Bound[]){__VA_ARGS__}, (int)(sizeof((Bound[]){__VA_ARGS__}) / sizeof(Bound))

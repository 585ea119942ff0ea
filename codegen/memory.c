// What a session of an exported program allocates: the sizes of c_module.c's arena_bytes and of the
// states, as numbers.
#include "codegen/export.h"
#include "codegen/loop_build.h"
#include <stdio.h>
#include <string.h>

typedef struct {
    const LoopModule *m;
    int64_t *needs; // by LoopFn: bytes of the arena
    int64_t values[4];
    const Dim *symbols[4];
    bool good;
} Sizes;

static int64_t rounded_up(int64_t bytes) {
    return (int64_t)(((uint64_t)bytes + 63) & ~(uint64_t)63);
}

static bool symbol_value(void *ctx, const Dim *symbol, int64_t *value) {
    const Sizes *s = ctx;
    for (int i = 0; i < 4; i++) {
        if (s->symbols[i] == symbol) {
            *value = s->values[i];
            return true;
        }
    }
    return false;
}

// The buffers of a function, and the largest need of those it calls.
static void find_need(Sizes *s, int number) {
    const LoopFn *f = s->m->fns.data[number];
    int64_t own = 0, called = 0, bytes;
    for (int i = 0; i < f->buffer_dims.len; i++) {
        s->good &= dim_eval(f->buffer_dims.data[i], symbol_value, s, &bytes) && bytes >= 0 &&
                   !__builtin_add_overflow(own, rounded_up(bytes), &own);
    }
    for (int i = 0; i < f->callees.len; i++) {
        int64_t need = s->needs[f->callees.data[i]];
        called = need > called ? need : called;
    }
    s->good &= !__builtin_add_overflow(own, called, &s->needs[number]);
}

static int64_t states(Sizes *s, const LoopFn *step) {
    int64_t all = 0;
    const CoreFn *fn = step->source;
    for (int i = fn->params.len - fn->states.len; i < fn->params.len; i++) {
        const CoreType *t = core_value(fn, fn->params.data[i])->type;
        if (!step->param_used[i])
            continue;
        int64_t bytes = dtype_size(t->dtype), extent;
        for (int k = 0; k < t->rank; k++)
            s->good &= dim_eval(t->dims[k], symbol_value, s, &extent) && extent >= 0 &&
                       !__builtin_mul_overflow(bytes, extent, &bytes);
        s->good &= !__builtin_add_overflow(all, bytes, &all);
    }
    return all;
}

bool codegen_memory(Core *c, const CodegenOptions *o, int64_t rows, int64_t capacity, int64_t chunk,
                    CodegenMemory *memory, char *error, size_t n) {
    Export x;
    if (!export_build(c, o, &x, error, n))
        return false;
    Arena *a = c->session->arena;
    Sizes s = {.m = x.m, .good = true, .needs = NEW_N(a, int64_t, x.m->fns.len + 1)};
    int64_t values[] = {rows, chunk < capacity ? chunk : capacity, capacity, capacity};
    const CodegenStep *p = o->step;
    const Dim *length = o->written ? o->written->length : o->length;
    const Dim *symbols[] = {p ? p->rows : length, p ? p->width : NULL, p ? p->capacity : NULL,
                            p ? p->length : NULL};
    memcpy(s.values, values, sizeof values);
    memcpy(s.symbols, symbols, sizeof symbols);
    if (!p)
        s.values[0] = o->written ? values[1] : capacity;
    *memory = (CodegenMemory){.arena = 64};
    int64_t arena = 0;
    for (int i = 0; i < x.m->fns.len; i++) {
        const LoopFn *f = x.m->fns.data[i];
        find_need(&s, i);
        if (f->root && s.needs[i] > arena)
            arena = s.needs[i];
    }
    memory->arena += arena;
    memory->cache = p ? states(&s, x.step) : 0;
    s.good &= !o->written || written_bytes(&x, &memory->cache);
    if (!s.good)
        snprintf(error, n, "the memory of a session is beyond 63 bits");
    return s.good;
}

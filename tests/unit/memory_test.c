// The memory of a step: what a dry run finds is what the same step takes, to the byte; steps with
// lesser extents find room in the places of a greater one, and need no more scratch memory; the
// arena changes no bit.
#include "cli/model.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAP = 48, ROWS = 3, STATES = 8 };

typedef struct {
    int passed, failed;
    Arena *arena;
    Model m;
    RtPool *pool;
} Test;

static void check(Test *t, bool ok, const char *what, int line) {
    if (ok)
        t->passed++;
    else
        t->failed++, printf("%s:%d: failed: %s: %s\n", __FILE__, line, t->m.path, what);
}

#define CHECK(t, ok) check((t), (ok), #ok, __LINE__)

// A step of `c` tokens that ends at position `length`; its states are all zero.
typedef struct {
    int64_t rows, c, length;
} Shape;

static Tensor ints(Test *t, int rank, int64_t a, int64_t b, int64_t value) {
    int64_t count = rank > 1 ? a * b : a;
    int32_t *data = NEW_N(t->arena, int32_t, count);
    for (int64_t i = 0; i < count; i++)
        data[i] = (int32_t)(value < 0 ? i % 11 + 1 : value);
    return (Tensor){.dtype = DT_I32, .rank = rank, .dims = {a, b}, .data = data};
}

static bool step(Test *t, Interp *it, const InterpBlock *self, Shape s, Tensor *logits) {
    const StepPlan *p = t->m.step;
    Tensor args[3 + STATES] = {ints(t, 2, s.rows, s.c, -1), ints(t, 1, s.rows, 0, s.length - s.c),
                               ints(t, 1, s.rows, 0, s.c)};
    char error[512] = "";
    interp_bind(it, p->B, s.rows);
    interp_bind(it, p->C, s.c);
    interp_bind(it, p->Cap, CAP);
    interp_bind(it, p->L, s.length);
    for (int i = 0; i < p->state_count && i < STATES; i++) {
        const CoreType *type = p->states[i].type;
        Tensor *x = &args[3 + i];
        *x = (Tensor){.dtype = type->dtype, .rank = type->rank};
        for (int k = 0; k < type->rank; k++) {
            if (!dim_is_const(type->dims[k], &x->dims[k]))
                x->dims[k] = type->dims[k] == p->B ? s.rows : CAP;
        }
        x->data = arena_alloc(t->arena, (size_t)(p->states[i].bytes * s.rows * CAP));
    }
    bool ok = interp_call(it, p->fn, self, 3 + p->state_count, args, logits, error, sizeof error);
    printf("%s", error);
    return ok;
}

typedef struct {
    Interp *it;
    InterpBlock *self;
} Runner;

static Runner start(Test *t, bool dry, uint64_t arena, uint64_t scratch) {
    char error[512] = "";
    Runner r = {.it = interp_new(t->m.step_core, t->pool)};
    if (dry)
        interp_dry(r.it);
    else
        CHECK(t, interp_reserve(r.it, arena, scratch));
    r.self = interp_block(r.it, t->m.step->fn->self, dry ? model_weight_type : model_weight, &t->m,
                          error, sizeof error);
    CHECK(t, r.self != NULL);
    return r;
}

static bool same(const Tensor *a, const Tensor *b, int64_t rows, int64_t vocab) {
    return memcmp(a->data, b->data, (size_t)(rows * vocab) * sizeof(float)) == 0;
}

// The same step dry, in an arena of just so many bytes, and in memory of the system.
static void test_shape(Test *t, Shape s) {
    Tensor none, logits, other;
    Runner dry = start(t, true, 0, 0);
    CHECK(t, step(t, dry.it, dry.self, s, &none));
    InterpMemory plan = interp_memory(dry.it);
    Runner run = start(t, false, plan.arena, plan.scratch), plain = start(t, false, 0, 0);
    CHECK(t, step(t, run.it, run.self, s, &logits));
    InterpMemory used = interp_memory(run.it);
    CHECK(t, plan.outside == 0 && used.outside == 0);
    CHECK(t, plan.arena > 0 && used.arena == plan.arena);
    CHECK(t, used.scratch <= plan.scratch);
    CHECK(t, step(t, plain.it, plain.self, s, &other));
    CHECK(t, interp_memory(plain.it).arena == 0 && interp_memory(plain.it).outside > 0);
    CHECK(t, same(&logits, &other, s.rows, t->m.vocab));
    interp_free(dry.it);
    interp_free(run.it);
    interp_free(plain.it);
}

// 64 bytes less than are needed: what has no room comes from the system, with the same bits.
static void test_overflow(Test *t, Shape s) {
    Tensor none, logits, other;
    Runner dry = start(t, true, 0, 0);
    CHECK(t, step(t, dry.it, dry.self, s, &none));
    Runner run = start(t, false, interp_memory(dry.it).arena - 64, 0);
    Runner plain = start(t, false, 0, 0);
    CHECK(t, step(t, run.it, run.self, s, &logits) && interp_memory(run.it).outside > 0);
    CHECK(t, step(t, plain.it, plain.self, s, &other));
    CHECK(t, same(&logits, &other, s.rows, t->m.vocab));
    interp_free(dry.it);
    interp_free(run.it);
    interp_free(plain.it);
}

// Every lesser length, and some lesser widths, in the places of the step that fills the cache.
static void test_layout(Test *t, int64_t rows, int64_t c) {
    Tensor none, logits, other;
    Runner dry = start(t, true, 0, 0);
    CHECK(t, step(t, dry.it, dry.self, (Shape){rows, c, CAP}, &none));
    InterpMemory plan = interp_memory(dry.it);
    Runner run = start(t, false, plan.arena, plan.scratch), plain = start(t, false, 0, 0);
    interp_lay_out(run.it, interp_layout(dry.it));
    for (int64_t length = c; length <= CAP; length++) {
        int64_t width = c - (c > 2 && length % 4 == 3 ? length % (c - 1) : 0);
        CHECK(t, step(t, run.it, run.self, (Shape){rows, width, length}, &logits));
        CHECK(t, step(t, plain.it, plain.self, (Shape){rows, width, length}, &other));
        CHECK(t, same(&logits, &other, rows, t->m.vocab));
    }
    CHECK(t, interp_memory(run.it).outside == 0);
    CHECK(t, interp_memory(run.it).scratch <= plan.scratch);
    interp_free(dry.it);
    interp_free(run.it);
    interp_free(plain.it);
}

// Every lesser width, at several positions, on one thread: other extents let other indices be those
// that blocks lie along, and small products be sweeps.
static void test_scratch(Test *t, int64_t rows, int64_t c) {
    Tensor none, logits;
    RtPool *pool = t->pool;
    t->pool = rt_pool_new(1);
    Runner dry = start(t, true, 0, 0);
    CHECK(t, step(t, dry.it, dry.self, (Shape){rows, c, CAP}, &none));
    InterpMemory plan = interp_memory(dry.it);
    Runner run = start(t, false, plan.arena, plan.scratch);
    for (int64_t width = 1; width <= c; width++) {
        for (int64_t length = width; length <= CAP; length += length % 4 ? 4 : 3)
            CHECK(t, step(t, run.it, run.self, (Shape){rows, width, length}, &logits));
    }
    CHECK(t, interp_memory(run.it).scratch > 0);
    CHECK(t, interp_memory(run.it).scratch <= plan.scratch);
    interp_free(dry.it);
    interp_free(run.it);
    rt_pool_free(t->pool);
    t->pool = pool;
}

static void test_model(Test *t, const char *path) {
    static const int64_t widths[] = {1, 2, 7, 32};
    Args none = {0};
    Model *m = &t->m;
    *m = (Model){0};
    t->arena = arena_new();
    bool open = !model_open(t->arena, path, &none, m) && !model_lower(m, &none, 0) &&
                !model_derive(m) && m->step && m->step->state_count <= STATES;
    CHECK(t, open);
    for (int i = 0; open && i < 4; i++) {
        for (int64_t rows = 1; rows <= ROWS; rows += 2) {
            test_shape(t, (Shape){rows, widths[i], widths[i]});
            test_shape(t, (Shape){rows, widths[i], CAP - 5});
            test_shape(t, (Shape){rows, widths[i], CAP});
            test_overflow(t, (Shape){rows, widths[i], CAP});
            test_layout(t, rows, widths[i]);
            test_scratch(t, rows, widths[i]);
        }
    }
    if (m->s && m->s->errors)
        diags_print(m->s, stdout, false);
    model_close(m);
    arena_free(t->arena);
}

int main(void) {
    static const char *const models[] = {"examples/verses", "tests/data/tiny/gqa",
                                         "tests/data/tiny/single", "tests/data/tiny/tied"};
    Test t = {.pool = rt_pool_new(2)};
    for (int i = 0; i < 4; i++)
        test_model(&t, models[i]);
    rt_pool_free(t.pool);
    printf("%d passed, %d failed\n", t.passed, t.failed);
    return t.failed > 0;
}

// Weights and states of a block; see plan_block.h.
//
// Which generics the states grow with, and by how many bytes, is found by trying: all sizes are
// computed again with one value greater by one.
#include "cli/plan_block.h"
#include "cli/cli.h"

typedef struct {
    Target *t;
    int64_t tensors, weights; // parameters and buffers: how many, bytes
    int64_t states, state;    // states: how many, bytes
    bool good;                // no size left 63 bits
} Sizes;

static void add(Sizes *z, int64_t *count, int64_t *sum, int64_t repeats, int64_t bytes) {
    z->good &= bytes >= 0 && !__builtin_add_overflow(*sum, bytes, sum) &&
               !__builtin_add_overflow(*count, repeats, count);
}

static void add_member(void *ctx, const char *path, const Type *type, MemberRole role,
                       bool optional, const Dim *repeats) {
    Sizes *z = ctx;
    int64_t n = 1;
    (void)path;
    if (repeats && !dim_is_const(repeats, &n))
        z->good = false;
    else if (!optional && role == AST_STATE)
        add(z, &z->states, &z->state, n, type_bytes(type, repeats));
    else if (!optional)
        add(z, &z->tensors, &z->weights, n, type_bytes(type, repeats));
}

// An optional parameter is there if its tensor is.
static void add_optional(void *ctx, const char *path, const Type *type, MemberRole role,
                         bool optional, const Dim *repeats) {
    Sizes *z = ctx;
    (void)repeats;
    if (optional && role != AST_STATE && model_tensor(&z->t->m, path))
        add(z, &z->tensors, &z->weights, 1, type_bytes(type, NULL));
}

static Sizes measure(Target *t) {
    Sizes z = {.t = t, .good = true};
    block_members(t, false, add_member, &z);
    return z;
}

// How many bytes of states each unit of a generic takes, if they are proportional to it and the
// weights do not depend on it; else 0.
static int64_t bytes_per(Target *t, int generic, const Sizes *now) {
    DimTable *dims = t->m.program->dims;
    GenericArg *arg = &t->block_args[generic], saved = *arg;
    int64_t value;
    if (!arg->dim || !dim_is_const(arg->dim, &value) || value < 1 || value == INT64_MAX ||
        now->state % value != 0)
        return 0;
    arg->dim = dim_const(dims, value + 1);
    Sizes next = measure(t);
    *arg = saved;
    int64_t unit = now->state / value;
    bool grows = next.good && next.weights == now->weights && next.state - now->state == unit;
    return grows ? unit : 0;
}

static void print_json(Target *t, const Sizes *z) {
    const char *separator = "";
    fputs("{\"model\": ", stdout);
    json_string(stdout, t->block->name);
    printf(", \"tensors\": %lld, \"weights_bytes\": %lld, \"states\": %lld, "
           "\"state_bytes\": %lld, \"state_bytes_per\": {",
           (long long)z->tensors, (long long)z->weights, (long long)z->states, (long long)z->state);
    for (int i = 0; i < t->block->generics.len; i++) {
        int64_t unit = bytes_per(t, i, z);
        if (!unit)
            continue;
        fputs(separator, stdout);
        json_string(stdout, t->block->generics.data[i].name);
        printf(": %lld", (long long)unit);
        separator = ", ";
    }
    printf("}, \"total_bytes\": %lld}\n", (long long)(z->weights + z->state));
}

static void print_text(Target *t, const Sizes *z) {
    Arena *a = t->m.a;
    StrBuf note = strbuf_new(a);
    plan_line(a, "weights", z->weights,
              arena_printf(a, "%lld tensor%s, mapped", (long long)z->tensors,
                           z->tensors == 1 ? "" : "s"));
    strbuf_printf(&note, z->states ? "%lld tensor%s, all zero at first" : "none",
                  (long long)z->states, z->states == 1 ? "" : "s");
    for (int i = 0; i < t->block->generics.len; i++) {
        int64_t unit = bytes_per(t, i, z), value = 0;
        if (!unit || (dim_is_const(t->block_args[i].dim, &value) && value == 1))
            continue;
        strbuf_printf(&note, "; %s bytes for each of %s = %s", plan_grouped(a, unit),
                      t->block->generics.data[i].name, plan_grouped(a, value));
    }
    plan_line(a, "states", z->state, note.data);
    plan_line(a, "total", z->weights + z->state, "without the temporaries of an entry");
}

int plan_block(Target *t, bool json) {
    Sizes z = measure(t);
    int64_t total;
    if (model_weights(&t->m) || t->m.checkpoint)
        block_members(t, true, add_optional, &z);
    z.good &= !__builtin_add_overflow(z.weights, z.state, &total);
    if (!z.good) {
        report(t->m.s, t->block->name_span, E8001, "the memory of `%s` is beyond 63 bits",
               t->block->name);
        return EXIT_WRONG;
    }
    (json ? print_json : print_text)(t, &z);
    return EXIT_FINE;
}

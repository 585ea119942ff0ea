// What the tests of causality share: a program from a file, lowered with one row and a symbolic
// length, and run by the interpreter.
#pragma once
#include "core_help.h"
#include "lower/lower.h"
#include "opt/causality.h"
#include "opt/inline.h"

typedef struct {
    Session *s;
    Program *program;
    Serve serve;
    Core *core;
    CoreFn *fn;
    const Dim *S;
    Val tokens;
} Lowered;

static bool causal_absent(void *ctx, const char *path) {
    (void)ctx;
    (void)path;
    return false;
}

// Generics take their defaults, or those of `given` (name, value, name, value, .., NULL).
static inline void causal_generics(Lowered *l, const Item *item, GenericArg *out, int64_t batch,
                                   const char *const *given) {
    DimTable *dims = l->program->dims;
    for (int i = 0; i < item->generics.len; i++) {
        const GenericDecl *g = &item->generics.data[i];
        out[i] = g->value;
        if (g->generic == l->serve.batch && batch)
            out[i] = (GenericArg){.dim = dim_const(dims, batch), .bound = true};
        for (int j = 0; given && given[j]; j += 2) {
            if (strcmp(g->name, given[j]) == 0)
                out[i] = (GenericArg){.dim = dim_const(dims, atoi(given[j + 1])), .bound = true};
        }
    }
}

// False after printing what is wrong with the program. batch 0: it stays a symbol.
static inline bool causal_load(Lowered *l, const char *path, int64_t batch,
                               const char *const *given) {
    *l = (Lowered){.s = session_new()};
    l->program = check_path(l->s, path, NULL);
    bool fine =
        l->program && !l->s->errors && check_serve(l->program, NULL, &l->serve) && l->serve.entry;
    if (fine) {
        Arena *a = l->s->arena;
        GenericArg *block = NEW_N(a, GenericArg, l->serve.model->generics.len + 1);
        GenericArg *entry = NEW_N(a, GenericArg, l->serve.entry->generics.len + 1);
        causal_generics(l, l->serve.model, block, batch, given);
        causal_generics(l, l->serve.entry, entry, batch, given);
        l->core = core_new(l->s, l->program->dims);
        LowerOptions o = {.program = l->program,
                          .core = l->core,
                          .block_args = block,
                          .present = causal_absent,
                          .serving = true};
        l->fn = lower_entry(&o, l->serve.model, l->serve.entry, entry);
    }
    if (!l->fn) {
        diags_print(l->s, stdout, false);
        printf("%s: does not check\n", path);
        return false;
    }
    l->S = l->serve.length->dim;
    l->tokens = l->fn->params.data[1 + (l->serve.key >= 0 ? 1 : 0)];
    return true;
}

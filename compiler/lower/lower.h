// Lowering: the typed tree to Core, instantiated for one model and one entry.
//
// Every function is lowered once for each set of generic arguments, block instance and present
// optional arguments that it is called with; what stays unbound (the batch, the length) are the
// module's symbols.
#pragma once
#include "check/check.h"
#include "core/core.h"

typedef struct {
    Program *program;
    Core *core;
    const GenericArg *block_args; // per generic of the block; unbound dimensions become symbols
    // Is the optional tensor at this dotted path in the weights? NULL: every optional one is
    // absent.
    bool (*present)(void *ctx, const char *path);
    void *ctx;
    // Is this parameter of an entry given? NULL: all but optional ones are. One that is not takes
    // its default.
    bool (*given)(void *ctx, const Param *p);
    bool serving; // defaulted parameters but `temperature` are replaced by their defaults
} LowerOptions;

// The entry as a Core function, its callees before it. `block` is NULL for an entry of the module.
// NULL after diagnostics: E2190 for what the language has and this version does not lower.
CoreFn *lower_entry(const LowerOptions *o, Item *block, Item *entry, const GenericArg *entry_args);

// Several entries of one block, which share its instance: a state that one changes is seen by the
// others. args[i] is per generic of entries[i]; the functions go to out. False after diagnostics.
bool lower_entries(const LowerOptions *o, Item *block, int n, Item *const *entries,
                   const GenericArg *const *args, CoreFn **out);

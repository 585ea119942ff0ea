// Rewriting whole functions: calls put in place, a dimension replaced by another.
#pragma once
#include "core/core.h"

// Says whether a call of `f` (with mapped callee, arguments of f) is to be put in place.
typedef bool InlineChoice(void *ctx, const CoreFn *f, const Value *call);

// A copy of f, labelled after it, in which the chosen calls are replaced by their callee's values,
// also those that come in with them. What the call was named and commented goes to its results.
// NULL where the copy would have more than REWRITE_MOST values, and where something in it changes
// states or is a `while` or a loop with stacks.
#define REWRITE_MOST 100000
CoreFn *opt_inline(Core *c, const CoreFn *f, InlineChoice *choice, void *ctx);

// Copies of functions with one dimension replaced by another in all types, bodies and counts.
typedef struct {
    Core *core;
    const Dim *from, *to;
    Map copies; // CoreFn * -> its copy
} Resize;

// The copy of f, made at the first call; f itself if nothing in it or its callees mentions `from`.
CoreFn *opt_resized(Resize *r, CoreFn *f);

// Does a type, or anything in a function or its callees, mention the symbol?
bool opt_type_mentions(const CoreType *t, const Dim *symbol);
bool opt_fn_mentions(const CoreFn *f, const Dim *symbol);

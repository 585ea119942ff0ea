// Dead values: what no result needs. Every op of Core but `write` is pure, so they can go.
#pragma once
#include "core/core.h"

// live[v - 1]: the results of f, or its writes of states, need value v. In the arena; not the
// parameters that nothing reads.
bool *opt_live(Arena *a, const CoreFn *f);

// Takes the values that are not live out of f's regions. The others keep their numbers.
void opt_dce(Core *c, CoreFn *f);

// Flattening: an entry with its calls put in place, but for those that work row by row.
#pragma once
#include "core/core.h"

// A copy of `entry`, labelled "LABEL.flat", in which calls are inlined recursively. These stay
// calls, so that the output keeps them as functions:
//   - functions that do not touch S: no dimension in them or their callees mentions it;
//   - row-wise functions: every element is computed from elements at the same index of the axis of
//     extent S, and nothing in them reduces over it or uses a position or S as a value;
//   - draws (`std.random::categorical`);
//   - functions with states, `while` and the like, which are not copied.
// NULL where the entry itself is one of the last. Loops keep their region. Names and comments are
// kept. The copy goes to the end of c->fns.
CoreFn *opt_flatten(Core *c, CoreFn *entry, const Dim *S);

// The first value that keeps f from being copied, or 0.
Val opt_unflat(const CoreFn *f);

// Is f row-wise along S, or free of it? (What opt_flatten keeps.)
bool opt_row_wise(Core *c, const CoreFn *f, const Dim *S);

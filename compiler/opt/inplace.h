// Writes of caches in place: where a state is assigned the result of a std.nn.cache function of
// itself, `place` stores the written rows and leaves the rest as it is.
#pragma once
#include "core/core.h"

// Rewrites every function of the module; returns how many assignments became `place`. What such a
// call computed is dropped.
int opt_inplace(Core *c);

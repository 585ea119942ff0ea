// Merged axes: rows of a batch and positions laid end to end, [.., B * S, ..], taken apart again.
#pragma once
#include "core/core.h"

// In f, comprehensions with one axis of extent outer * inner get two axes instead, and their
// readers read those. Values that a call, a loop or a result takes as they are stay as they are.
void opt_unflatten(Core *c, CoreFn *f, const Dim *outer, const Dim *inner);

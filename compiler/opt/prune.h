// Functions that nothing calls any more.
#pragma once
#include "core/core.h"

// Takes every function out of the module that none of the n entries (NULL is allowed) leads to.
// Those taken out stay valid.
void opt_prune(Core *c, int n, CoreFn *const *entries);

// What constants decide: comparisons of integer constants, logic, and the selects they choose;
// casts of constants, and divisions by exactly 1.
#pragma once
#include "core/core.h"

// Folds the bodies of f, across scalars too: a `bool[]` that is a constant decides where it is
// read. Sums keep their root and so their order. Values that nothing reads then are left to
// opt_dce.
void opt_fold(Core *c, CoreFn *f);

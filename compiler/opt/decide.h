// Comparisons that are always true, or always false.
#pragma once
#include "opt/causality.h"

// In f's comprehensions, comparisons with S or with elements of other values that are decided
// wherever they are evaluated become constants, and selects that these decide take one branch. k is
// the analysis of f, which is out of date after true.
bool opt_decide(CoreFn *f, Causal *k);

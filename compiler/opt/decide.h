// Comparisons with the length that are always true, or always false.
#pragma once
#include "opt/causality.h"

// In f's comprehensions, comparisons that mention S and are decided wherever they are evaluated
// become constants, and selects that S decides take one branch. k is the analysis of f, which is
// out of date after true.
bool opt_decide_length(CoreFn *f, Causal *k);

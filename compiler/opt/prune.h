// Functions that nothing calls any more.
#pragma once
#include "core/core.h"

// Takes every function out of the module that `entry` does not lead to. Those taken out stay valid.
void opt_prune(Core *c, const CoreFn *entry);

// The memory of a block with states of its own, to the byte.
#pragma once
#include "cli/target.h"

// Prints weights and states of t->block, whose generics are bound in t->block_args; as JSON or
// text. The exit code, after E8001 where a size leaves 63 bits.
int plan_block(Target *t, bool json);

const char *plan_grouped(Arena *a, int64_t n); // "1,234,567"
void plan_line(Arena *a, const char *what, int64_t bytes, const char *note);

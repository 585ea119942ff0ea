// Composition: readers of a comprehension look through it.
#pragma once
#include "core/core.h"

// Is value u of f (a comprehension without reduction) to be looked through by v?
typedef bool ComposeChoice(void *ctx, const CoreFn *f, Val v, Val u);

// In all comprehensions of f, reads of the chosen values are replaced by those values' bodies at
// the positions read. How sums step stays. The values that nothing reads any more stay too. False
// where a body would grow beyond COMPOSE_MOST nodes (f is then as it was, or partly composed).
#define COMPOSE_MOST 20000
bool opt_compose(Core *c, CoreFn *f, ComposeChoice *choice, void *ctx);

// Rules between settings; parts of settle().
#pragma once
#include "cli/settle.h"

// [needs.NAME], [needs.architecture]: what must be set by keys, and what has no effect (E5002,
// E5006).
void settle_needs(Settle *x);

// [multiple] and [less] (E5006).
void settle_relations(Settle *x);

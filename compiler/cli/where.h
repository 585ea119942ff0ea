// The where clauses of a declaration whose generics are bound.
#pragma once
#include "cli/model.h"

// Do they hold, in numbers? E2206 for each that does not, with the values and where they come
// from. Clauses that are open are not looked at, but with `all` they fail.
bool where_holds(Model *m, const Item *decl, const Subst *s, bool all);

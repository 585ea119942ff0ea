// The bindings of a package against the block whose weights they name.
#pragma once
#include "cli/model.h"

// Is every path of bindings.json a parameter or buffer of the block? E5013 for each that is none.
// Bindings of items that an array does not have, since a setting of the command line made it
// shorter, are only counted in *outside. `args` may leave generics open.
bool bindings_check(Model *m, const Item *block, const GenericArg *args, int *outside);

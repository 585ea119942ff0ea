// What `serin check` says of a package: its card, its bindings, its weights' headers.
#pragma once
#include "cli/target.h"

// For a target that model_open has opened, which is no checkpoint. Binds what settings and the card
// give to the blocks that have entries, or to the card's root; compares card, bindings and weights
// with that. The exit code. Unless `quiet`, a line on stderr says what could not be compared.
int check_package(Target *t, bool quiet);

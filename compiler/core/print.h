// Inside of the printer: what core_print.c and comp_print.c share.
#pragma once
#include "core/core.h"

typedef struct {
    const Core *core;
    Arena *arena;     // scratch, freed after printing
    StrBuf *out;      // where the text goes
    Interner *names;  // over the scratch arena: unique names
    Map symbols;      // Dim * -> its unique name in the module
    const CoreFn *fn; // being printed
    const char **of;  // of[v - 1]: the unique name of a value, once it is printed
    Map counts;       // interned base name -> how often it was given in this function
    int unnamed;      // how many numbers were given to values without a name
} Printer;

// `text` with everything but letters, digits and `_` made `_`; never empty, never starting with a
// digit.
const char *print_identifier(Arena *a, const char *text);

// The first use of a base name gets it as it is, the n-th gets `base.n`.
const char *print_unique(Printer *p, Map *counts, const char *text);

void print_dim(Printer *p, StrBuf *out, const Dim *d);

// `[i, j] sum.fma [h < 576] { ... }`; `indent` is that of the line it goes on.
void print_comp(Printer *p, const Comp *k, int indent);

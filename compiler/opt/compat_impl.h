// Inside the checks for engines: compat.c looks at head and embedding, compat_attention.c at
// attention.
#pragma once
#include "opt/compat.h"

typedef struct {
    Core *core;
    const Dim *S;          // positions
    const CoreFn *entry;   // as it is
    CoreFn *f;             // the entry, calls in place
    const bool *live;      // by value - 1
    Val tokens;            // of f
    const char *name;      // the entry's
    const char *table;     // path of the embedding table, or NULL
    const char *head;      // of the output layer's weight, or NULL
    Val table_user;        // the lookup
    Val head_user;         // the product
    const Dim *vocabulary; // of the logits, or NULL
    CompatFaults *out;     // what was found
} Compat;

// Reports a fault of a value; symbol NULL: the value's own name, or the entry's.
void compat_fault(Compat *x, DiagCode code, const Value *v, const char *symbol, const char *cause,
                  const char *fix);
bool compat_attends(const Value *v); // a call of the library's attention
void compat_attention(Compat *x);    // E3304, E3305

// Inside of the verifier: what core_verify.c and comp_verify.c share.
#pragma once
#include "core/core.h"

typedef struct {
    const Core *core;
    Arena *arena;         // scratch
    StrBuf *faults;       // one line each
    int count;            // faults so far; the lines end at MOST_FAULTS
    Map symbols;          // the module's symbols
    Map blocks;           // CoreBlock * -> its index + 1
    Map fns;              // CoreFn * -> its index + 1
    const CoreFn *fn;     // being verified, or NULL
    int fn_index;         // its index
    Val value;            // being verified, or 0
    unsigned char *state; // of the function's values: ValueState
    Val *root;            // of each value: the state whose memory it shares, or 0
    bool *states;         // of each value: it is a state, and may be written
    int *home;            // of each value: the number of its region; 0 for parameters
    bool *gives;          // of each function before this: a result may share a block's state
    int region;           // the number of the region being verified
    int regions;          // how many were begun in this function
} Verifier;

typedef enum {
    VALUE_NEW,     // in no region so far
    VALUE_HERE,    // defined before, in this region or one around it
    VALUE_GONE,    // defined in a region that has ended
    VALUE_WRITTEN, // a state, or a view of it, that was written in place
} ValueState;

enum { MOST_FAULTS = 50 };

void verify_fault(Verifier *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A dimension is there, valid, and of the module's symbols; `what` names it.
void verify_dim(Verifier *v, const Dim *d, const char *what);

// The tensor case of `pick`; `write`; what a value shares with a state; the states of a function
// are parameters, tensors, listed once (false if not).
void verify_pick_tensor(Verifier *v, const Value *value);
void verify_write(Verifier *v, const Value *value);
void verify_memory(Verifier *v, const Value *value);
void verify_assign(Verifier *v, const Value *value);      // also `place`
void verify_loop_memory(Verifier *v, const Value *value); // before its regions
void verify_yields_memory(Verifier *v, const Region *r);
void verify_effects(Verifier *v, int index); // of the function, at its end
bool verify_states(Verifier *v);

// The comprehension of a value whose arguments are in range.
void verify_comp(Verifier *v, const Value *value);

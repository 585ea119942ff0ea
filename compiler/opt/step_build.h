// Inside the derivation: from roles to the step's function. step_build.c makes regions, calls and
// states, step_comp.c comprehensions.
#pragma once
#include "opt/incremental.h"
#include "opt/rewrite.h"
#include "opt/roles.h"

// What a value of the flat function became.
typedef struct {
    Val here;  // in the mode of its role; of blocks and tuples too
    Val rows;  // its rows, where that is another one
    Val last;  // its last rows, likewise
    Val state; // what it is kept in, after its rows were written
} Made;

typedef struct {
    Core *core;
    Arena *arena;
    Roles *roles;
    const CoreFn *from; // flat
    CoreFn *to;         // the step
    StepPlan *plan;
    const Dim *one; // 1
    Made *made;     // by value of the flat function - 1
    Resize rows;    // functions with S replaced by C
    Resize last;    // by 1
    VEC(StepState) states;
    VEC(Val) state_of; // the kept value of each state
    bool slides;       // states begin at an origin
    Val slots;         // of rows written: pos, less the origin
    StepRefusal why;   // its text is NULL unless refused
} StepBuild;

static inline Made *made_of(const StepBuild *b, Val v) {
    return &b->made[v - 1];
}

bool step_refuse(StepBuild *b, Val v, const char *why);

// The type of v in a mode: rows [.., C, ..], last [.., 1, ..], all [.., L, ..]; other position axes
// are L. A value without tokens and batch gets a batch axis first, except in ROLE_ALL.
const CoreType *step_type(const StepBuild *b, Val v, RoleMode mode);

// i32[B]: where the rows of a chunk go in the states that slide.
Val step_slots(StepBuild *b, Region *r);

// The comprehension of v in its mode.
Val step_comp(StepBuild *b, Region *r, Val v);

// Copies of rows: [B, C, rest..] of what is kept, in the order of its state; the rows of what is
// there for all positions; the last rows of either.
Val step_state_rows(StepBuild *b, Region *r, Val v);
Val step_take_rows(StepBuild *b, Region *r, Val v);
Val step_take_last(StepBuild *b, Region *r, Val v);

// Fills b->to with the step; false: why says.
bool step_build(StepBuild *b);

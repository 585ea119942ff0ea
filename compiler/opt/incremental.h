// The derived step: an entry over whole contexts as a function of one chunk and kept states.
//
//     step(self, tokens i32[B, C], pos i32[B], count i32[B], states..) -> logits f32[B, V]
//
// Row b of the batch stands at position pos[b]: its chunk is tokens[b, 0 .. count[b]-1], at
// positions pos[b] on, 1 <= count[b] <= C (what is beyond is computed and not looked at). The
// logits are those at its last token, of the bits of the entry over all its tokens. A run binds the
// symbols B, C, Cap (positions that a state holds) and L (positions in use): pos[b] + count[b] <= L
// <= Cap for every b; the less L is, the less is computed. States are zero at the start, finite
// later on, and zeroed again for a row that starts anew.
#pragma once
#include "opt/causality.h"

typedef struct {
    Val param;            // of the step, [.., B, Cap, ..]: loops around the value first
    Name name;            // of the value that is kept
    const CoreType *type; // of the parameter
    int64_t bytes;        // of one position of one row of the batch; -1 where not constant
} StepState;

typedef struct {
    CoreFn *fn;                 // the last function of the module; an entry
    const Dim *B, *C, *Cap, *L; // symbols; B is the entry's
    Val tokens, pos, count;     // parameters
    Val origin;                 // likewise, or 0
    int64_t window;             // how far back a row looks; -1: to the start
    int64_t origin_step;        // an origin is a multiple of it: 2 where bf16 is summed in pairs
    int state_count;            // how many
    StepState *states;          // in the order of the parameters
    Causal *causal;             // the proof; NULL once it is freed
    const CoreFn *flat;         // what was proved: the entry, flat, giving logits
} StepPlan;

// Why there is no step.
typedef struct {
    const char *text; // a sentence without a full stop; NULL: there is one
    Span span;        // the expression it speaks of; no file: the entry as a whole
    Span site;        // the call in the entry's own file that leads there; or no file
} StepRefusal;

// Keeps the first refusal: of value v of f (0: of none) and its name before `text`, if it is
// `named`. False.
bool opt_step_refuse(Core *c, StepRefusal *out, const CoreFn *f, Val v, bool named,
                     const char *text);

// Bytes of all states for one position of one row; -1 where that is no constant of 63 bits.
int64_t opt_step_bytes(const StepPlan *p);

// Derives the step of `entry`, a function of c (verified), and adds it and what it calls to c.
// tokens and temperature are numbers of parameters after self; temperature is -1 if there is none.
// B and S are the symbols of the axes of the tokens. What is drawn from is exposed: the operand of
// the single `std.random::categorical` (or argmax), without its division by the temperature; an
// entry that returns logits gives those of its last position. NULL where it can't be derived: *why
// says so. *causal is the analysis if it came so far (it may hold the cause), or
// NULL.
StepPlan *opt_step(Core *c, CoreFn *entry, const Dim *B, const Dim *S, int tokens, int temperature,
                   StepRefusal *why, Causal **causal);

// The same for an entry whose rows look no further back than a window (p->window positions before
// their own): states that slide. The step has one more parameter, origin i32[B] after count, a
// multiple of p->origin_step: the states of row b hold positions origin[b] .. origin[b] + Cap - 1,
// of which L are looked at. It may be raised between calls to at most pos[b] - window, by moving
// what is kept to the front; 0 will always do. pos[b] + count[b] - origin[b] <= L <= Cap. Without a
// window it is opt_step's.
StepPlan *opt_step_sliding(Core *c, CoreFn *entry, const Dim *B, const Dim *S, int tokens,
                           int temperature, StepRefusal *why, Causal **causal);

// Positions that states need for texts of up to `length` tokens in chunks of up to `chunk`: all of
// them, or where states slide the window and a chunk, rounded up to 32.
int64_t opt_step_capacity(const StepPlan *p, int64_t length, int64_t chunk);

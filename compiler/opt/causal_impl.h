// The analysis' insides: causal_build.c makes values of a function, causality.c finds their facts,
// causal_bound.c bounds reductions, causal_blame.c finds what is wrong with those that are not
// bounded, causal_demand.c asks backwards, causal_use.c serves the derivation and prints.
#pragma once
#include "opt/causality.h"
#include "opt/values.h"

enum { CAUSAL_LIMITS = 12, CAUSAL_MAX_VALUES = 60000, CAUSAL_ROUNDS = 5 };

typedef enum { EVENT_VALUE, EVENT_BEGIN, EVENT_END } EventKind;

typedef struct {
    int slots;             // carried values
    CausalValue **init;    // before the loop
    CausalValue **carried; // at the start of a turn
    CausalValue **yields;  // at its end
    CausalValue **results; // after the loop
    int begin, end;        // events
} CausalLoop;

// The function in order of execution; a loop's body lies between BEGIN and END.
typedef struct {
    EventKind kind;
    CausalValue *value; // EVENT_VALUE
    CausalLoop *loop;   // the others
} Event;

struct Causal {
    Core *core;
    Arena *arena;
    const CoreFn *f;
    const Dim *S; // positions
    const Dim *B; // batch: a symbol, or NULL
    Affine *affine;
    Terms *terms;
    Values *bases[CAUSAL_LIMITS]; // of whole values, by limit
    VEC(Event) events;
    VEC(CausalValue *) outputs;
    int value_count;
    CausalValue **by_val; // by Val of f; NULL for blocks and tuples
    VEC(CausalStep) steps;
    double limit; // the least of the bounds'
    const CausalCause *refusal;
    bool changed; // demand: something new is asked for
};

extern const double causal_limits[CAUSAL_LIMITS];

bool causal_build(Causal *k, Val tokens); // false after a refusal

// v's body fails at its part e (NULL: as a whole): its span and text, no label.
CausalCause *causal_cause(Causal *k, const CausalValue *v, const Term *e, const char *why);
// The node of v's body that e is, as it stands there or as `read` (of v) reads it; -1: not found.
int causal_node(const Causal *k, const CausalValue *v, const Term *e, const Term *read);
// A node's span if it lies in v's file or in the analysed function's; else, and for -1, v's own.
Span causal_span(const Causal *k, const CausalValue *v, int node);
void causal_refuse(Causal *k, const CausalCause *cause); // keeps the first

// Calls fn for the reads and dimensions of e that can matter, with the facts of the selects around.
typedef void CausalLive(void *ctx, const Term *e, const Cons *c);
void causal_each_live(Causal *k, const Term *e, const Cons *c, CausalLive *fn, void *ctx);
const Term *causal_fold_term(Causal *k, const Term *e, const Cons *c);

// The body of an elementwise value at a read's positions, or NULL; raw: as lowered, not folded.
const Term *causal_inline(Causal *k, const Term *e, bool raw);
// All subterms of e, through elementwise values; `read` is the innermost that was looked through,
// NULL in e itself. Ends when fn says true.
typedef bool CausalInlined(void *ctx, const Term *e, const Term *read);
void causal_each_inlined(Causal *k, const Term *e, bool raw, CausalInlined *fn, void *ctx);
const Term *causal_condition(const Term *e); // that e goes one way or the other by, or NULL

// Would t's reduction be neutral where `where` holds if its elements there were `body`'s? Ordinary
// values are within the least limit; the elements at k = 0 and, of output axis `axis`, at k = q are
// t's own.
bool causal_neutral(Causal *k, CausalValue *t, const Term *body, const Cons *where, int axis);
// Why t's reduction over red is not neutral for positions after the row's.
const CausalCause *causal_blame(Causal *k, CausalValue *t, const Var *red);

void causal_bound_reduction(Causal *k, CausalValue *t, int j); // fills t->bounds[j], or t->length
void causal_demand(Causal *k);                                 // modes; may refuse

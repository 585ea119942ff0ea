// The solver behind Facts: what dim_solve.c builds of them, dim_normal.c rewrites with, and
// dim_prove.c searches in.
//
// From the facts of a scope come, in this order: substitutions that solve equalities and
// divisibilities for a symbol (H % N == 0 with N >= 1 becomes H = N*q for a fresh q >= 0),
// rewriting rules for the equalities left, ranges of variables, and polynomials known to be >= 0. A
// relation is proved of its normal form. Everything here is sound at every integer point with
// symbols >= 0 that meets the facts; work is bounded by fuel, and what runs out is not proved.
#pragma once
#include "base/map.h"
#include "base/vec.h"
#include "type/dim_impl.h"

enum {
    FACT_LIMIT = 256,   // facts looked at; more are ignored
    FACT_TERMS = 32,    // terms of a fact and of a question; larger ones match only verbatim
    FUEL_BUILD = 4000,  // steps of the search while facts are solved
    FUEL_QUERY = 1500,  // steps of the search for one question
    SEARCH_DEPTH = 5,   // facts combined in one proof
    PASS_LIMIT = 6,     // rewriting passes
    NEST_LIMIT = 64,    // normal forms asked for by normal forms
    REDUCE_LIMIT = 64,  // rules applied in one pass
    HEAVY = 32,         // variables in a dimension that cost another unit of fuel to rewrite
    TIGHTEN_ROUNDS = 4, // rounds of interval propagation
};

// The symbol `from` is `to` wherever the facts hold.
typedef struct {
    const Var *from;
    const Dim *to;
    const Var *quotient; // if divisibility was solved: the fresh a/b in `to`, else NULL
} Solved;

// p == 0, used from its term `lead` to the others.
typedef struct {
    const Dim *p;
    int lead;
} Rule;

// by >= 1 divides of.
typedef struct {
    const Dim *of;
    const Dim *by;
} Multiple;

// From lo to hi, both included.
typedef struct {
    int64_t lo;
    int64_t hi;
} Range;

#define NO_LOW INT64_MIN  // no lower bound is known
#define NO_HIGH INT64_MAX // no upper bound is known

typedef VEC(const Dim *) DimVec;

typedef struct Solver {
    DimTable *t;
    int stamp;               // how many facts it was built from
    VEC(Solved) solved;      // applied in order
    VEC(Rule) rules;         // applied until none fits
    VEC(Multiple) multiples; // divisibilities that could not be solved for a symbol
    DimVec ge;               // each >= 0
    DimVec ge_normal;        // the same in normal form, where that differs
    DimVec ne;               // each != 0
    DimVec eq;               // each == 0, not solved for a symbol
    Map ranges;              // Range of a variable
    VEC(const Var *) ranged; // the variables in ranges, in order
    int narrowed;            // how often a range was
    Map normal;              // dimension to its normal form
    Map simple;              // dimension to its simplified form
    Map proved;              // dimension to PROVED or FAILED: is it >= 0?
    int fuel;                // steps left
    int nest;                // normal forms in the making
    int cut;                 // how often a limit was met, so that the maps learn only what is final
    int assumed;             // hypotheses on top of ge, which the maps must not learn from
    Arena *scratch;          // polynomials of the running question, NULL outside of one
} Solver;

// Whether rewriting may turn x % b into x - b*(x/b): shorter proofs, longer text.
typedef enum { TO_PROVE, TO_SHOW } Purpose;

// Drops the forms and proofs that came from fewer facts. Ranges stay: they only get narrower.
void solver_forget(Solver *s);

typedef enum { IS_ZERO, NOT_ZERO, AT_LEAST_ZERO } FactKind;

// A solver starts from what an outer scope's solved, takes facts, and solves them once.
void solver_inherit(Solver *s, const Solver *outer);
void solver_add(Solver *s, const Dim *p, FactKind kind);
void solver_solve(Solver *s);

const Dim *dim_difference(DimTable *t, const Dim *a, const Dim *b, int gap); // a - b - gap

// Opens and closes a question: fuel and scratch memory. A question inside another shares them.
bool solver_begin(Solver *s, int fuel); // whether it is the outermost
void solver_end(Solver *s, bool outermost);

// Applies the substitutions only.
const Dim *solver_substitute(Solver *s, const Dim *d);
const Dim *solver_normal(Solver *s, const Dim *d, Purpose purpose);
// Rewrites with the rules; each step takes fuel.
const Dim *solver_reduce(DimTable *t, const Dim *d, const Rule *rules, int count, int *fuel);

// Ranges of values where the facts hold.
Range solver_var_range(Solver *s, const Var *v);
int64_t solver_low(Solver *s, Poly p); // the lower end alone
void solver_tighten(Solver *s);        // derives s->ranges from s->ge

// d in normal form; is it >= 0, is it >= 1?
bool solver_ge(Solver *s, const Dim *d);
bool solver_positive(Solver *s, const Dim *d);

// Divides p >= 0 by the coefficients' common divisor; the constant rounds down, which integers
// allow.
const Dim *solver_primitive(DimTable *t, const Dim *p);

// The common divisor of the coefficients but the constant's.
uint64_t solver_content(Poly p);

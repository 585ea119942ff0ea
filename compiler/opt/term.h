// Terms: scalar expressions over index variables, for proofs. Equal terms are one pointer.
//
// A comprehension's body becomes a term whose indices are variables of their own, so that reading
// another comprehension's element is substitution. Operators, dtypes and meaning are those of the
// nodes of Core (core/nodes.def). Immutable; owned by the arena of their table.
#pragma once
#include "core/core.h"

typedef struct CausalValue CausalValue; // what a term may read: opt/causality.h
typedef struct Term Term;
typedef struct Terms Terms; // the table of all terms of an analysis
typedef struct Var Var;

typedef enum {
    VAR_INDEX, // an output or reduction index: 0 .. extent - 1
    VAR_DIM,   // a dimension that is no sum of others: a symbol, or an atom such as S / 2
    VAR_TERM,  // an integer that nothing is known of, but its sign perhaps
    VAR_DIV,   // floor(of / by)
    VAR_GOAL,  // stands for the form whose bound is asked for
} VarKind;

struct Term {
    NodeOp op;
    Dtype dtype;
    int n;              // how many args; of a read: the positions
    const Term **args;  // operands
    const Var *var;     // N_INDEX
    CausalValue *value; // N_READ: whose element
    const Dim *dim;     // N_DIM
    int64_t i;          // N_CONST of bool and integers
    double f;           // N_CONST of floats
    uint32_t id;        // in order of making
    uint32_t hash;      // of all of the above
    uint64_t vars;      // a bit for each variable in it, by id modulo 64
    int depth;          // 1 for a leaf
};

// Substitution goes no deeper, and no table grows beyond this; then results are NULL, and what was
// to be proved is not.
#define TERM_MAX_DEPTH 400
#define TERM_MAX 400000

Terms *terms_new(Arena *a);

// The one term equal to t (args are copied if it is new). NULL where the limits are met or an
// argument is NULL.
const Term *term_make(Terms *t, Term like);
const Term *term_int(Terms *t, int64_t value);                              // of i64
const Term *term_index(Terms *t, const Var *var);                           // an index as an i64
const Term *term_binary(Terms *t, NodeOp op, const Term *a, const Term *b); // as comp_binary
const Term *term_with(Terms *t, const Term *e, const Term *const *args);    // e with other operands

// e with variables replaced: from[i] by to[i], simultaneously, also inside reads.
const Term *term_substitute(Terms *t, const Term *e, int n, const Var *const *from,
                            const Term *const *to);

bool term_mentions(Terms *t, const Term *e, const Var *v);

// As text: "k <= q + 2", "score[b, h, q, k]"; long ones are cut.
const char *term_text(Arena *a, const Term *e);

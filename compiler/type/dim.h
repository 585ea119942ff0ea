// Symbolic dimensions: integer polynomials over symbols and opaque atoms, in one canonical form.
//
// Equal text of the canonical form is an equal pointer, so `a == b` proves equality by identity.
// `/` and `%` are floor division and modulo. What can't be folded exactly (H / Heads, max(P, 1)) is
// an interned atom: a symbol of its own whose definition is remembered. Arithmetic that leaves
// int64 makes the dimension *invalid*; nothing is ever proved of an invalid one.
#pragma once
#include "base/str.h"

typedef struct Dim Dim;           // immutable, interned, owned by its DimTable
typedef struct DimTable DimTable; // all dimensions of a session

typedef enum { REL_EQ, REL_NE, REL_LT, REL_LE, REL_GT, REL_GE } Relation;

DimTable *dims_new(Arena *a);

// A fresh symbol: a non-negative integer. The name is for printing and need not be unique.
const Dim *dim_symbol(DimTable *t, Name name);
const Dim *dim_const(DimTable *t, int64_t value);
const Dim *dim_add(DimTable *t, const Dim *a, const Dim *b);
const Dim *dim_sub(DimTable *t, const Dim *a, const Dim *b);
const Dim *dim_mul(DimTable *t, const Dim *a, const Dim *b);
const Dim *dim_div(DimTable *t, const Dim *a, const Dim *b); // floor; by constant 0: invalid
const Dim *dim_mod(DimTable *t, const Dim *a, const Dim *b); // floor
const Dim *dim_min(DimTable *t, const Dim *a, const Dim *b);
const Dim *dim_max(DimTable *t, const Dim *a, const Dim *b);

bool dim_valid(const Dim *d);
bool dim_is_const(const Dim *d, int64_t *value);    // value may be NULL
bool dim_is_symbol(const Dim *d);                   // a plain symbol, not an atom
bool dim_mentions(const Dim *d, const Dim *symbol); // also inside atoms
Name dim_name(const Dim *symbol);                   // of a plain symbol

// Calls fn for each plain symbol in d (each once), also inside atoms.
void dim_symbols(const Dim *d, void (*fn)(void *ctx, const Dim *symbol), void *ctx);

// Structure, for passes and printers: a sum of `dim_terms` terms; term i is its coefficient times
// `dim_factors` factors, each a symbol or an atom.
int dim_terms(const Dim *d);
int64_t dim_coefficient(const Dim *d, int term);
int dim_factors(const Dim *d, int term);
const Dim *dim_factor(const Dim *d, int term, int factor); // repeated factors are listed repeatedly

typedef enum { ATOM_NONE, ATOM_DIV, ATOM_MOD, ATOM_MIN, ATOM_MAX } AtomKind;
AtomKind dim_atom(const Dim *d, const Dim **a, const Dim **b); // ATOM_NONE if d is no single atom

// Replaces symbols simultaneously; atoms are folded again. `lookup` gives NULL to keep a symbol.
const Dim *dim_substitute(DimTable *t, const Dim *d,
                          const Dim *(*lookup)(void *ctx, const Dim *symbol), void *ctx);

// The value at a point; `lookup` gives a symbol's value. False on overflow, division by zero,
// invalid.
bool dim_eval(const Dim *d, bool (*lookup)(void *ctx, const Dim *symbol, int64_t *value), void *ctx,
              int64_t *value);

// Prints as source text: "2*H + 1", "(S + 3)/4", "max(P, 1)".
void dim_print(StrBuf *b, const Dim *d);
const char *dim_text(Arena *a, const Dim *d);

// What is known in a scope: the `where` clauses of the enclosing declarations.
typedef struct Facts Facts;
Facts *facts_new(DimTable *t, const Facts *outer); // outer may be NULL; its facts hold here too
void facts_add(Facts *f, const Dim *a, Relation rel, const Dim *b);

// True only if the relation holds at every integer point (symbols >= 0) that meets the facts.
// Sound, not complete: false means "not proved".
bool facts_prove(const Facts *f, const Dim *a, Relation rel, const Dim *b);

// The simplest equal form under the facts: min, max resolved, equalities substituted, N*(H/N)
// folded.
const Dim *facts_simplify(const Facts *f, const Dim *d);

const char *relation_text(Relation rel); // "==", "!=", ...

// What the files of type/dim_*.c share: polynomials, their interning, and the maps over them.
//
// A dimension is a sum of terms; a term is a coefficient and a monomial; a monomial is a sorted
// list of variables; a variable is a symbol or an atom. Every one of them is interned, so they
// compare by identity. Terms are in graded lexicographic order, the older variable first: the order
// is the same in every run, and multiplying by a monomial keeps it, which polynomial division
// needs.
#pragma once
#include "type/dim.h"

enum {
    TERM_LIMIT = 256,    // terms of a polynomial
    PAIR_LIMIT = 4096,   // products of terms in one multiplication
    DEGREE_LIMIT = 32,   // factors of a monomial
    DEPTH_LIMIT = 32,    // atoms inside atoms
    WEIGHT_LIMIT = 8192, // variables in a dimension written out
};

typedef enum {
    VAR_SYMBOL,
    VAR_DIV,
    VAR_MOD,
    VAR_MIN,
    VAR_MAX,
    VAR_QUOTIENT, // the solver's: a / b where b is known to divide a; opaque, non-negative
} VarKind;

typedef struct Node Node;
struct Node {
    Node *next;    // in its bucket
    uint32_t hash; // of the structure, the same in every run
};

typedef struct Var {
    Node node;
    VarKind kind;
    int id;          // order of creation
    Name name;       // of a symbol
    const Dim *a;    // first operand of an atom
    const Dim *b;    // second operand
    const Dim *self; // the variable as a dimension
} Var;

typedef struct Mono {
    Node node;
    int degree;           // how many factors
    const Var *factors[]; // by id, repeated ones side by side
} Mono;

typedef struct {
    int64_t c; // never 0
    const Mono *m;
} Term;

typedef struct {
    const Term *terms; // in order
    int n;             // -1 if invalid
} Poly;

struct Dim {
    Node node;
    Poly p;
    int weight;         // variables, written out
    int depth;          // 0 without atoms
    int leaf_count;     // of leaves
    const Var **leaves; // symbols (and quotients) in it, also inside atoms, by id
    const Var *var;     // if the dimension is just this variable
};

typedef struct {
    Node **buckets;
    int size;  // a power of two, or 0
    int count; // nodes in it
} Table;

struct DimTable {
    Arena *arena;
    Table vars;
    Table monos;
    Table dims;
    int next_id;     // of the next variable
    const Mono *one; // the empty monomial
};

// Checked arithmetic: false on overflow.
bool add_i64(int64_t a, int64_t b, int64_t *r);
bool mul_i64(int64_t a, int64_t b, int64_t *r);
bool floor_div_i64(int64_t a, int64_t b, int64_t *r);
bool floor_mod_i64(int64_t a, int64_t b, int64_t *r);
uint64_t gcd_i64(int64_t a, int64_t b); // of magnitudes

// Negative if a comes before b in the order of terms.
int poly_compare(Poly a, Poly b); // 0 comes last, as other constants do
const Mono *mono_div(DimTable *t, const Mono *a, const Mono *b); // NULL if b does not divide a
const Mono *mono_gcd(DimTable *t, const Mono *a, const Mono *b);
const Mono *mono_of(DimTable *t, const Var *v);
bool mono_has(const Mono *m, const Var *v);

// out = x + k*y and out = x*y; the number of terms, -1 if invalid. `out` has room for TERM_LIMIT
// terms, and may not be x or y.
int terms_add(DimTable *t, Term *out, Poly x, Term k, Poly y);
int terms_mul(DimTable *t, Term *out, Poly x, Poly y);

// The same, with the result in an arena.
Poly poly_add(DimTable *t, Arena *a, Poly x, Term k, Poly y);
Poly poly_mul(DimTable *t, Arena *a, Poly x, Poly y);
int64_t poly_constant(Poly p); // the constant term, or 0
bool poly_has(Poly p, const Var *v);

const Var *var_intern(DimTable *t, VarKind kind, const Dim *a, const Dim *b);
const Dim *dim_intern(DimTable *t, const Term *terms, int n); // n < 0: invalid
const Dim *dim_invalid(DimTable *t);
const Dim *dim_term(DimTable *t, int64_t c, const Mono *m);
const Dim *dim_add_scaled(DimTable *t, const Dim *a, Term k, const Dim *b); // a + k*b
bool dim_is_zero(const Dim *d);
bool dim_has_leaf(const Dim *d, const Var *leaf); // also inside atoms

// Polynomial division with respect to the leading terms: a = q*b + r. Stops at a coefficient that
// does not divide; a remainder of 0 is a proof that b divides a.
void dim_divide(DimTable *t, const Dim *a, const Dim *b, const Dim **q, const Dim **r);

// Replaces by what fn gives the variables at the top of d (not those inside atoms); NULL keeps one.
typedef const Dim *VarMap(void *ctx, const Var *v);
const Dim *dim_map(DimTable *t, const Dim *d, VarMap *fn, void *ctx);

// As dim_map on the leaves, through atoms, which are folded again.
const Dim *dim_map_leaves(DimTable *t, const Dim *d, VarMap *fn, void *ctx);

// a / b, a % b, min, max by kind.
const Dim *dim_fold(DimTable *t, VarKind kind, const Dim *a, const Dim *b);

// Affine: linear forms over indices, dimensions and opaque integers, and a small prover of bounds.
//
// A form is a sum of coefficient times variable, plus a constant. An integer term may be one of
// several forms, each under conditions of its own: min, max and select make alternatives. Floor
// division and modulo by a constant bring a variable t with 0 <= f - c t <= c - 1. Casts of
// positions to f32 and f64, their sums and whole constants below 2^24 are exact and count as
// integers. Bounds are found by Fourier-Motzkin elimination with integer tightening. All of it
// fails closed: what grows too large or overflows is not proved.
//
// Assumed: dimensions are at least 0, S at least 1, positions and dimensions below 2^20, tokens
// from 0 to 2^24. What might leave the exact range of its dtype under these is opaque.
#pragma once
#include "opt/term.h"

#define FORM_MAX 8                    // variables in a form
#define ALT_MAX 16                    // alternatives of a term
#define AFFINE_INF ((int64_t)1 << 62) // unbounded; -AFFINE_INF: below everything, or infeasible

struct Var {
    int id;           // position in the table of variables
    VarKind kind;     // what it stands for
    const char *name; // in the source, for messages; or NULL
    const Dim *dim;   // VAR_INDEX: the extent; VAR_DIM: the dimension
    const Term *term; // VAR_TERM
    bool natural;     // VAR_TERM, VAR_DIV: not negative
    double most;      // the greatest absolute value
    bool length;      // its value depends on S (dimensions and what is computed from them)
    struct Form *of;  // VAR_DIV: the dividend
    int64_t by;       // VAR_DIV: the divisor, > 0
};

typedef struct {
    const Var *var;
    int64_t c; // not 0
} FormTerm;

typedef struct Form Form;
struct Form {
    int n;                // how many variables
    FormTerm t[FORM_MAX]; // by increasing id
    int64_t k;            // the constant
};

// A set of constraints "form >= 0", each normal, sorted; equal sets are one pointer.
typedef struct Cons Cons;
struct Cons {
    int n;
    const Form *forms;
    uint32_t id;          // in order of making; 0 is the empty set
    signed char feasible; // -1 unknown
};

typedef struct {
    Form form;
    const Cons *when; // holds if the alternative is the one taken
} Alt;

typedef struct {
    int n; // 0: not affine
    const Alt *alts;
} Alts;

typedef struct Affine Affine;

// A prover over terms of `t`; S is the symbol of positions (not NULL).
Affine *affine_new(Arena *a, Terms *t, const Dim *S);
const Var *affine_index(Affine *p, const char *name, const Dim *extent); // a new index variable
Terms *affine_terms(Affine *p);
const Var *affine_length(Affine *p); // the variable of S

Form form_const(int64_t k);
Form form_var(const Var *v);
bool form_add(Form *out, const Form *a, const Form *b, int64_t times); // a + times * b
bool form_dim(Affine *p, const Dim *d, Form *out);                     // d as a form
bool form_length(const Form *f);                                       // does it depend on S?
bool form_equal(const Form *a, const Form *b);

const Cons *cons_none(Affine *p);
const Cons *cons_with(Affine *p, const Cons *c, const Form *f); // and f >= 0
const Cons *cons_less(Affine *p, const Cons *c, const Form *a, const Form *b,
                      int64_t gap); // a + gap <= b
const Cons *cons_join(Affine *p, const Cons *a, const Cons *b);

// The alternatives of an integer term (or of a float that is exact); n = 0 if it is none.
const Alts *affine_forms(Affine *p, const Term *e);

// What follows from a condition being true or false, added to c.
const Cons *affine_facts(Affine *p, const Cons *c, const Term *cond, bool truth);

bool affine_feasible(Affine *p, const Cons *c);

// The least upper bound that can be proved; -AFFINE_INF when c is infeasible.
int64_t affine_sup(Affine *p, const Form *f, const Cons *c);

// Bounds of a term less a form (NULL: 0) under c. Unknown: -AFFINE_INF .. AFFINE_INF; never taken:
// lo = AFFINE_INF, hi = -AFFINE_INF.
void affine_interval(Affine *p, const Alts *e, const Form *minus, const Cons *c, int64_t *lo,
                     int64_t *hi);

// 1 true, 0 false, -1 not decided.
int affine_decide(Affine *p, const Term *cond, const Cons *c);

// The branches of a select that can be taken (1 or 2), each with what is then known.
int affine_branches(Affine *p, const Term *select, const Cons *c, const Term *branch[2],
                    const Cons *known[2]);

// The body of an elementwise value at a read's positions; NULL if e is no such read.
const Term *affine_inline(Affine *p, const Term *e);

// How much work is left (branches, eliminations); at 0 nothing more is proved.
int64_t affine_fuel(const Affine *p);

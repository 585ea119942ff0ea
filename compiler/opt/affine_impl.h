// The prover's insides, shared by affine.c (terms) and fourier.c (constraints).
#pragma once
#include "opt/affine.h"

enum { CONS_MAX = 40, SUP_CACHE = 4096, AFFINE_DEPTH = 300 };

typedef struct {
    bool used;
    uint32_t cons; // id of the constraints
    Form form;
    int64_t sup;
} SupMemo;

typedef struct System System; // of inequalities that is being solved

struct Affine {
    Arena *arena;
    Terms *terms;
    const Dim *S;
    const Var *length; // the variable of S
    const Var *goal;   // of affine_sup
    VEC(Var *) vars;
    const Cons **slots; // all sets of constraints: open addressing
    int slot_count;
    int cons_count;
    const Cons *none;
    SupMemo *sups;  // direct-mapped
    Map forms;      // Term -> Alts
    Map dims;       // Dim -> Var
    Map terms_of;   // Term -> Var
    Map inlined;    // Term -> Term
    System *system; // memory of the system being solved, and of its last step
    Form *old;
    int64_t fuel; // work left
    int depth;    // of recursion through values
};

double form_bound(const Form *f); // the greatest absolute value

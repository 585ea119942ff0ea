// Values: the interval that a scalar lies in wherever some constraints hold, or anything.
//
// The assumption: ordinary values (inputs, weights, contractions, positions as floats, and what is
// computed from such alone) are finite and within +-limit, and are clamped to it. The constant of a
// mask lies outside, and that tells hidden from visible. Every interval is rounded to the dtype of
// its term: rounding is monotone, so what is proved holds for the bits. exp is exactly 0 below
// -87.34.
#pragma once
#include "opt/causality.h"

typedef struct {
    bool any;      // anything, NaN included; else
    double lo, hi; // lo <= x <= hi; may be infinite
} Interval;

typedef struct Values Values;

// `whole` keeps what was found of whole values (all elements of one), for the proofs to come; NULL
// for the one that keeps it. It has the same limit.
Values *values_new(Arena *a, Affine *affine, double limit, Values *whole);

Interval values_of(Values *v, const Term *e, const Cons *c);

// The element of a max (or min) over positions that every row has: at k = q or, if `first`, at
// k = 0; q is output axis `own` (-1: any). `at` replaces the output variables of u (NULL: they
// stand for themselves); c may be NULL: no constraints.
Interval values_witness(Values *v, const CausalValue *u, const Term *const *at, const Cons *c,
                        bool first, int own);

bool values_ordinary(const Values *v, Interval x); // finite and within the limit

// Conditions that proofs so far rest on, apart from the limit: "x is finite", "y is not 0".
int values_conditions(const Values *v, const char ***texts);

// Frees what was remembered of intervals; they can be asked for again.
void values_forget(Values *v);

// Reductions in blocks of elements, in the order that the language fixes (spec/numerics.md).
#pragma once
#include "interp/vec.h"

typedef struct {
    Reduction reduction;
    Step step;
    bool inner;        // blocks lie along the reduction: one result; else each element is a result
    VecClass class;    // of the elements
    bool lanes;        // a float sum
    VecFn *fn;         // combines two values, where there are no lanes
    VecFn *fit;        // rounds a product to the elements' dtype, or NULL
    int64_t count;     // elements reduced
    int width;         // greatest block
    uint64_t identity; // the bits of the value of an empty reduction
} Reducer;

// A reducer of elements of a dtype. False if the operation does not exist.
bool reduce_init(Reducer *r, Reduction reduction, Step step, Dtype dtype, bool inner, int64_t count,
                 int width, bool wide);

// Bytes of the state that one task needs, 64-byte aligned.
size_t reduce_bytes(const Reducer *r);

// For each point: begin; step for each block in order; end. `number` is that of the block's first
// element within the reduction. With STEP_FMA and STEP_PAIRS, a and b are the factors, else b is
// NULL. a_one: a holds one element that stands for all (not inner).
void reduce_begin(const Reducer *r, void *state, int n);
void reduce_step(const Reducer *r, void *state, const void *a, const void *b, bool a_one, int n,
                 int64_t number);
void reduce_end(const Reducer *r, void *state, int n, void *result);

// One evaluation of a comprehension: its extents in numbers, and what is known of its nodes.
#pragma once
#include "interp/run.h"
#include "interp/vec.h"

#define JOB_INDICES 31 // output and reduction indices; number JOB_INDICES stands for none

// base + sum of step[k] * index k.
typedef struct {
    int64_t base;
    int64_t step[JOB_INDICES + 1];
} Form;

typedef struct {
    Interp *it;
    Arena *arena; // lives as long as the job
    const Comp *comp;
    const Tensor **args;             // the arguments
    int out, red, count;             // indices: output, reduction, both
    int64_t extent[JOB_INDICES + 1]; // of each; 1 for "none"
    Form **forms;                    // of each i64 node that is affine, else NULL
    uint32_t *masks;                 // for each node: the indices of extent > 1 that it depends on
    bool wide;                       // AVX2
    bool dry;                        // nothing is computed
} Job;

// The positions of a read as one affine form of the element's offset. False if a position is not
// affine or may leave its axis, or if rows are mapped.
bool job_linear(const Job *j, const Node *read, Form *offset);

// Is the form within 0..extent-1 wherever the indices are?
bool job_in_range(const Job *j, const Form *f, int64_t extent);

// Row-major strides of a tensor, in elements.
void job_strides(const Tensor *t, int64_t *strides);

static inline const Node *job_node(const Job *j, int node) {
    return &j->comp->nodes.data[node];
}

// What a sweep computes: for each point of some indices (`outs`), the value of a node, or its
// reduction over others (`reds`).
typedef struct {
    int root;              // the element or the summand
    int outs[JOB_INDICES]; // indices of the result
    int out_count;
    int64_t out_step[JOB_INDICES]; // from one to the next in the result, in elements
    int reds[JOB_INDICES];         // indices reduced over, in row-major order
    int red_count;
    Reduction reduction; // RED_NONE if there are none
    Step step;
    Dtype dtype; // of the result's elements
    void *data;  // the result
} Sweep;

// Evaluates in blocks of elements along one index. False with a message.
bool sweep_run(Job *j, const Sweep *s);

// Takes the scratch memory, bytes, that the sweep or the copy of a factor of it may need with these
// or any lesser extents, whichever index their blocks lie along. False with a message.
bool sweep_plan(Job *j, const Sweep *s);

// Computes the comprehension by matrix kernels if it is a contraction that they fit. Sets *done;
// false with a message.
bool contract_run(Job *j, const Slot *out, bool *done);

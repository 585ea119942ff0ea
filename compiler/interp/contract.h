// A contraction: sum over k of a[batch, m, k] * b[batch, n, k], its indices sorted by where they
// occur.
#pragma once
#include "interp/job.h"

#define CONTRACT_TABLES 4 // positions of one operand that are looked up per batch point

// Positions on an axis that are no affine form but depend on batch indices alone.
typedef struct {
    const int64_t *values; // positions, clamped, times the axis' stride
    Form at;               // which value
} Table;

// A factor of the summand: an argument where it lies, or a copy.
typedef struct {
    const Tensor *tensor;
    RtFormat format;  // of the stored elements
    Form off;         // offset of the element; with mapped rows, within the row
    bool mapped;      // rows go through tensor->rows
    Form row;         // then: the row
    int64_t row_step; // then: elements from one stored row to the next
    Table tables[CONTRACT_TABLES];
    int table_count;
} Operand;

typedef struct {
    Job *job;
    int factors[2];   // nodes, casts that change no value taken off
    bool pairs;       // STEP_PAIRS
    uint32_t only[2]; // mask of output indices that occur in one factor only
    uint32_t both;    // in both
    int64_t size[2];  // points of `only`
    int64_t batches;  // points of `both`
    int64_t k;        // points of the reduction
    Operand ops[2];   // the factors
    bool direct[2];   // the operand is usable
    Slot copies[2];   // memory of copied operands
} Contract;

// Finds where a factor lies, if it is an argument read at usable positions; sets direct[which].
// False with a message on failure.
bool operand_find(Contract *c, int which);

// Copies a factor, whatever it is, so that its reduction runs contiguously; sets direct[which].
bool operand_copy(Contract *c, int which);

// Stride of the reduction, taken as one row-major index; false if it is not one.
bool operand_stride(const Contract *c, const Operand *op, int64_t *stride);

// Is the operand plain memory of the kernel's element type?
bool operand_is_plain(const Contract *c, const Operand *op);

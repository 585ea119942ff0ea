// A body as a tape: vector operations in the order of the loops around them.
//
// Loops are numbered by depth, outermost first; one of them, the vector loop, runs in blocks. An
// operation that depends on no index of depth d or deeper is done before loop d starts: the tape is
// cut into levels, and level d + 1 runs when the index at depth d has changed. A value that does
// not depend on the vector index is computed once and spread over the register if others need it
// there.
#pragma once
#include "interp/job.h"

typedef struct {
    bool affine;    // then the position is this form; else it is in a register
    Form form;      // of the position
    int reg;        // the register (i64)
    bool vector;    // the register's elements differ
    int64_t extent; // of the axis
    int64_t stride; // elements from one position to the next
} Axis;

typedef struct {
    const Tensor *tensor;
    bool empty;  // the tensor has no elements: reads give 0
    bool linear; // the offset is a form, and always inside
    Form offset; // then: of the element
    bool alias;  // blocks need no copying: the tensor's memory looks like a register
    int rank;    // axes, else
    Axis *axes;  // else
} Load;

typedef enum { INSTR_OP, INSTR_LOAD, INSTR_INDEX, INSTR_CONST } InstrKind;

typedef struct {
    InstrKind kind;
    VecFn *fn;   // INSTR_OP
    int dst;     // register
    int args[3]; // registers, -1: none
    int level;   // when it runs
    bool vector; // over the block; else one element
    bool spread; // one element, copied over the register
    int size;    // bytes of an element of dst
    int64_t
        imm[2]; // of the operation; INSTR_CONST: the bits of the element; INSTR_INDEX: the index
    Load *load; // INSTR_LOAD
} Instr;

typedef struct {
    Instr *code;                 // by level
    int starts[JOB_INDICES + 3]; // code of level l: starts[l] .. starts[l + 1]
    int registers;               // how many
    size_t register_size;        // bytes of each
    int width;                   // elements in a block
    int roots[2];                // registers of the roots
    bool root_vector[2];         // else they were not spread: one element
} Tape;

typedef struct {
    int order[JOB_INDICES + 1]; // the index that each depth runs over
    int depths;                 // loops
    int vector;                 // depth of the vector loop
} Nest;

// The tape that computes some nodes. `spread` says for each root whether a value that does not
// depend on the vector index is wanted in every element. False with a message if an operation does
// not exist for its dtype.
bool tape_compile(const Job *j, const Nest *nest, const int *roots, const bool *spread,
                  int root_count, Tape *out);

// Marks the nodes that are evaluated for a root: positions that are affine are not.
void tape_needed(const Job *j, int root, bool *needed);

// What a task computes with.
typedef struct {
    const Job *job;
    const Tape *tape;
    const Nest *nest;
    char *registers;                // memory of tape->registers of them
    const void **values;            // where each register's value is: there, or in an argument
    int64_t index[JOB_INDICES + 1]; // values; of the vector loop's: the block's first
    int n;                          // elements of the current block
    int64_t *offsets;               // VEC_BLOCK, for gathers
} Frame;

// Runs levels from..to of the tape.
void tape_run(Frame *f, int from, int to);

// The value that a register holds now.
static inline const void *frame_value(const Frame *f, int reg) {
    return reg < 0 ? NULL : f->values[reg];
}

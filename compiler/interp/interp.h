// The interpreter of Core: the reference that every other back end is compared with, bit for bit.
//
// An Interp runs the functions of one verified module. Symbols are bound to numbers, blocks of
// weights are made once from mapped data (nothing is copied), and functions are called with
// tensors. Whatever depends on input (shapes, sizes, weights) is checked and ends in a message,
// never in a crash. Results do not depend on the number of threads or on the path that computed
// them.
#pragma once
#include "core/core.h"
#include "runtime/quant.h"
#include "runtime/threads.h"
#include <stddef.h>

typedef struct Interp Interp; // one run of one module; used by one thread at a time
typedef struct InterpBlock
    InterpBlock; // the weights of one instance of a block; owned by its Interp

// A row-major, dense tensor. Elements are stored as the dtype's C type (bool: a byte 0 or 1).
typedef struct {
    Dtype dtype;                 // what the elements are
    int rank;                    // 0..CORE_MAX_RANK; 0 is a scalar
    int64_t dims[CORE_MAX_RANK]; // extents, outermost first
    const void *data;            // borrowed; may be NULL if there are no elements
    RtFormat format;     // of an f32 tensor: how it is stored (RT_F32, RT_F16, RT_BF16, blocks);
                         // it means its exact f32 values. Other dtypes: not looked at
    const int32_t *rows; // NULL, or for each row (axis 0) the number of the stored row
} Tensor;

// An interpreter of `c`, which must outlive it and be verified (core_verify). The pool is borrowed;
// NULL runs on the calling thread alone.
Interp *interp_new(const Core *c, RtPool *pool);
void interp_free(Interp *it); // NULL is allowed

// Gives a free symbol its value for the calls that follow. Values below 0 are refused by the call.
void interp_bind(Interp *it, const Dim *symbol, int64_t value);

// Finds the data of one weight by its dotted path ("layers.0.norm.weight"). False: there is none.
// The tensor's dtype and dims are compared with the type afterwards.
typedef bool InterpWeight(void *ctx, const char *path, const CoreType *type, Tensor *out);

// The tree of weights of `block`, asked for in the order of core_weights. Data is borrowed and must
// outlive the interpreter. NULL: the message is in error (size bytes).
InterpBlock *interp_block(Interp *it, const CoreBlock *block, InterpWeight *weight, void *ctx,
                          char *error, size_t size);

// The states of a block: zero when it is made, changed by calls, kept between them. interp_states
// calls fn for every one, depth first in member order, with its dotted path; the memory of `t` may
// be written between calls (in spite of its const), after the results of the last were read.
typedef void InterpState(void *ctx, const char *path, const CoreType *type, const Tensor *t);
void interp_states(InterpBlock *block, InterpState *fn, void *ctx);
void interp_reset_state(InterpBlock *block); // all zero again

// Calls a function. `self` is the block of a method, NULL for others; `args` are its other
// parameters, nargs of them. `results` has room for one tensor per value the function yields; they
// are owned by the interpreter and live until its next call or interp_release; one that is an
// argument, a weight or a state is a view of its memory. Dims of arguments must be those of the
// parameters. The argument for a state is memory that the call changes, in spite of its const.
// False: the message is in error (size bytes).
bool interp_call(Interp *it, const CoreFn *fn, const InterpBlock *self, int nargs,
                 const Tensor *args, Tensor *results, char *error, size_t size);
void interp_release(Interp *it); // frees the results of the last call and all scratch memory

// Bounds of every call that follows: bytes of tensors alive at a time (64 GiB if this is not
// called) and points of all comprehensions together (as good as none). A call that needs more is
// refused where it gets there.
void interp_limit(Interp *it, uint64_t bytes, uint64_t points);

// Bytes of tensors computed by a call that lived at the same time, at most, since interp_new.
uint64_t interp_peak(const Interp *it);

// ---- Planned memory ----------------------------------------------------------------------------

typedef struct InterpLayout InterpLayout; // where the tensors of a call lie

typedef struct {
    uint64_t arena;   // bytes up to the end of the highest tensor in the reserved memory, at most
    uint64_t outside; // bytes of tensors that found no room there, at most at a time
    uint64_t scratch; // working memory of one comprehension, at most; grows with the threads
} InterpMemory;

// Takes memory for tensors and for scratch at once, before anything is called. What it has no room
// for still comes from the system. False if there is not so much.
bool interp_reserve(Interp *it, uint64_t arena, uint64_t scratch);

// From now on calls compute nothing: they go through everything that takes memory, which does not
// depend on data, and interp_memory tells how much another run of the same calls has to reserve. Of
// a loop that ends on a condition three rounds are looked at. Data of arguments and weights is not
// read and may be missing (but row maps are read). Results have no data. To be called first of all.
void interp_dry(Interp *it);

// Of a dry run: where the tensors of the last call lie. It goes with the interpreter.
const InterpLayout *interp_layout(const Interp *it);

// The calls that follow are of the same function, with extents that are no greater than those of
// the layout's: their tensors go to its places. NULL: of any function. The layout is borrowed.
void interp_lay_out(Interp *it, const InterpLayout *layout);

// Memory since interp_new.
InterpMemory interp_memory(const Interp *it);

// How comprehensions are evaluated. The bits are the same in all of them: for tests.
typedef enum {
    INTERP_AUTO,    // contractions by matrix kernels, the rest vectorised along the better index
    INTERP_GENERIC, // no matrix kernels
    INTERP_OUTER,   // no matrix kernels; vectorised along an output index
    INTERP_INNER,   // no matrix kernels; vectorised along the last reduction index
} InterpMode;
void interp_mode(Interp *it, InterpMode mode);

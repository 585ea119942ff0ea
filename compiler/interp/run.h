// Inside the interpreter: the run's state, its values, and what its files offer each other.
//
//   interp.c    calls, loops, frames            blocks.c    the trees of weights
//   tensor.c    shapes, errors, slots           job.c       one comprehension: shapes, forms, views
//   state.c     items of tensors, states        buffer.c    memory
//   contract.c  contractions by matrix kernels  sweep.c     everything else, in blocks of elements
#pragma once
#include "base/map.h"
#include "interp/interp.h"
#include <stddef.h>

// Memory of a computed tensor, shared by the values that view it.
typedef struct Buffer Buffer;
struct Buffer {
    Buffer *next;          // in the free list; in the arena: the next one up
    Buffer *before;        // in the arena: the next one down
    void *data;            // 64-byte aligned; of a dry run an address that nothing reads
    size_t size;           // bytes, rounded up to a size class, in the arena to 64
    uint64_t offset;       // in the arena
    bool inside;           // it lies in the arena
    bool state;            // it is a state's: what holds it sees the state change
    int uses;              // slots that hold it
    max_align_t scalar[1]; // in a dry run: memory of a tensor that fits, as scalars do
};

// The tensors of a call by the order in which its values are computed. Which values that are does
// not depend on the extents; how many tensors each takes may.
typedef struct {
    uint64_t offset, size; // in the arena
} TensorPlace;

struct InterpLayout {
    VEC(int) first;          // number of a value's first place
    VEC(TensorPlace) places; // of all values
};

// Memory asked for at once, which tensors are laid out in; see interp_reserve.
typedef struct {
    char *data;
    uint64_t size; // bytes
    uint64_t used; // bytes up to the end of the highest tensor, at most
    Buffer *first; // tensors by address
} TensorArena;

typedef struct {
    Tensor tensor;        // MEMBER_PARAM, MEMBER_BUFFER, MEMBER_STATE
    Buffer *buffer;       // MEMBER_STATE: its memory; a placement may move it
    InterpBlock **blocks; // MEMBER_SUB: one, MEMBER_ARRAY: count
    int64_t count;        // of blocks; 0 for tensors
} Member;

// Members that hold memory of the interpreter.
typedef struct StateMember StateMember;
struct StateMember {
    Member *member;
    StateMember *next;
};

struct InterpBlock {
    const CoreBlock *type;
    Member *members; // as type->members
};

// What a Val is at run time; which fields count follows from its type's kind.
typedef struct Slot Slot;
struct Slot {
    Tensor t;             // tensor
    Buffer *buffer;       // tensor: its memory, NULL if borrowed or not set
    bool writable;        // tensor: memory of a state, which a later write may change
    Member *member;       // tensor: the state of a block that it is, or NULL
    InterpBlock **blocks; // array; block: NULL
    InterpBlock *block;   // block
    int64_t count;        // array: blocks; tuple: items
    Slot *items;          // tuple, owned
};

// Which values die after each value of a function has been executed.
typedef struct {
    int *first; // kills[first[v - 1] .. first[v] - 1] die after value v
    Val *kills;
} Plan;

struct Interp {
    const Core *core;
    RtPool *pool;
    Arena *arena;               // plans, blocks, bindings
    Map plans;                  // CoreFn -> Plan
    Map symbols;                // Dim -> int64_t
    TensorArena tensors;        // where they are laid out, if that was reserved
    bool dry;                   // nothing is computed; see interp_dry
    int step;                   // values computed so far in this call
    int nth;                    // tensors of the one being computed
    InterpLayout *made;         // of a dry run: of the last call
    const InterpLayout *layout; // of the calls that follow, or NULL
    Buffer *spare;              // of the arena, to describe other tensors
    Buffer *free;               // buffers outside the arena, to use again
    uint64_t free_bytes;        // in the free list
    StateMember *states;        // of all blocks
    uint64_t live;              // bytes in use by values
    uint64_t peak;              // greatest `live`
    uint64_t outside;           // bytes in use outside the arena
    uint64_t overflow;          // greatest `outside`
    uint64_t limit;             // of `live`, and of scratch memory
    uint64_t points;            // of all comprehensions of a call, at most
    uint64_t left;              // points that this call may still evaluate
    void *scratch;              // working memory of the comprehension that runs
    size_t scratch_size;        // bytes
    size_t scratch_used;        // bytes of it that were asked for, at most
    Slot *results;              // of the last call
    int result_count;           // how many
    int depth;                  // nested calls and loops
    InterpMode mode;            // how to evaluate
    char error[640];            // the message of a failure
};

#define TENSOR_LIMIT ((uint64_t)64 << 30) // bytes of all live tensors, if no other limit is set

// Writes the message and returns false.
bool run_fail(Interp *it, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Takes points off what a call may evaluate; false with a message when they are used up.
bool run_spend(Interp *it, uint64_t points);

// The value of a dimension under the bindings; false with a message if there is none.
bool run_dim(Interp *it, const Dim *d, int64_t *value);
bool run_dims(Interp *it, const CoreType *type, int64_t *dims); // also refuses negative extents

// Working memory of at least `size` bytes, 64-byte aligned, contents undefined; valid until the
// next call. NULL with a message.
void *run_scratch(Interp *it, size_t size);

// Is there memory to read in a dry run? Of a loop's round and of scalars made of it, it holds what
// a run would have; of other small tensors anything, which sizes do not depend on.
static inline bool slot_is_known(const Slot *s) {
    return s->buffer && s->t.data == s->buffer->scalar;
}

// Elements of a tensor (checked products: tensors are checked where they are made).
int64_t tensor_count(const Tensor *t);

// Is the storage the plain layout of the dtype, rows in order?
bool tensor_is_plain(const Tensor *t);

// A new tensor of the dtype and dims; false with a message when it is too large.
bool tensor_new(Interp *it, Dtype dtype, int rank, const int64_t *dims, Slot *out);

// Checks a tensor from outside against a type; `what` names it in the message.
bool tensor_check(Interp *it, const char *what, const CoreType *type, const Tensor *t);

// Slots: out becomes another holder of `from`; dropping gives memory back. A dropped slot is zero.
bool slot_copy(Interp *it, Slot *out, const Slot *from);
void slot_drop(Interp *it, Slot *s);

// Gives the free list and the scratch memory back to the system.
void run_trim(Interp *it);

// Evaluates a comprehension over arguments that match their types. `out` is zero before.
bool job_run(Interp *it, const CoreFn *fn, const Value *value, int nargs, const Slot *const *args,
             Slot *out);

// Makes a plain tensor of one in any storage (dequantises, undoes row maps).
bool job_plain(Interp *it, Slot *s);

// `out` becomes a view of item i along the first axis.
bool tensor_pick(Interp *it, const Slot *from, int64_t i, Slot *out);

// The next value of the call is computed.
void buffer_step(Interp *it);

// Memory for `bytes` bytes with one holder, contents undefined. NULL with a message.
Buffer *buffer_new(Interp *it, uint64_t bytes);

// Gives a buffer's memory back, if nobody else holds it.
void buffer_drop(Interp *it, Buffer *b);

// The state of a block takes a value, whose memory becomes its own. `out` holds the state.
bool state_assign(Interp *it, Member *m, const Slot *value, Slot *out);

// Stores rows [M, H, N, ..] in a state [B, H, S, ..] of a block: row n of m at row rows[m] and
// position pos[m] + n, if that is inside. In place, unless somebody else holds the contents.
bool state_place(Interp *it, Member *m, const Slot *const *args, Slot *out);

// The running sum along an axis.
bool cumsum_run(Interp *it, const Slot *x, int axis, Slot *out);

// Stores rows [B, C, ..] in the state [B, Cap, ..], row c of b at pos[b] + c; `out` holds the
// state.
bool state_write(Interp *it, const Slot *state, const Slot *rows, const Slot *pos, Slot *out);

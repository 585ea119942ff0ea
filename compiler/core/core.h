// Core: the compiler's middle form. SSA functions over tensors with symbolic shapes.
//
// A module holds functions and the blocks (trees of weights) they are called with. A function is a
// list of values; a value is named by its number in the function (Val, 1-based), so dumps,
// debuggers and passes speak of the same thing. The one op that computes is the comprehension: for
// every point of the output indices (and, inside, of the reduction indices) a scalar body is
// evaluated that reads elements of the arguments. Elementwise maths, contractions, masks, gathers,
// slices, reshapes, rope: all are this op.
//
// Dimensions are symbolic (type/dim.h). The free symbols of a module are listed in it and bound by
// a run; everything else was made concrete when lowering instantiated a function for its generic
// arguments.
#pragma once
#include "base/session.h"
#include "type/dim.h"
#include "type/dtype.h"

typedef uint32_t Val; // number of a value in its function; 0 is none

typedef struct Core Core;
typedef struct CoreFn CoreFn;
typedef struct CoreBlock CoreBlock;

typedef enum {
#define OP(id, text, args, doc) id,
#include "core/ops.def"
#undef OP
    OP_COUNT
} Op;

typedef enum {
#define NODE(id, text, args, class, doc) id,
#include "core/nodes.def"
#undef NODE
    NODE_COUNT
} NodeOp;

// ---- Types -------------------------------------------------------------------------------------

typedef enum {
    CORE_TENSOR, // dtype and dims; a scalar has rank 0
    CORE_BLOCK,  // the weights of one instance of a block
    CORE_ARRAY,  // `count` instances of a block
    CORE_TUPLE,  // several results of a call or a loop; taken apart by `result`
} CoreKind;

#define CORE_MAX_RANK 12

typedef struct CoreType CoreType;
struct CoreType {
    CoreKind kind;
    Dtype dtype;            // tensor
    int rank;               // tensor
    const Dim **dims;       // tensor: `rank` extents, outermost first
    CoreBlock *block;       // block, array
    const Dim *count;       // array
    int item_count;         // tuple
    const CoreType **items; // tuple
};

typedef enum { MEMBER_PARAM, MEMBER_BUFFER, MEMBER_STATE, MEMBER_SUB, MEMBER_ARRAY } MemberKind;

typedef struct {
    Name name; // as in the source: "q_proj", "weight"
    MemberKind kind;
    const CoreType *type; // tensor, block or array
} CoreMember;

// An instance of a block declaration with its generics bound; absent optional members are left out.
struct CoreBlock {
    Name name;  // as in the source: "Linear"
    Name label; // unique in the module: "Linear", "Linear.2"
    VEC(CoreMember) members;
};

// ---- Comprehensions ----------------------------------------------------------------------------

typedef enum { RED_NONE, RED_SUM, RED_PROD, RED_MAX, RED_MIN, RED_ANY, RED_ALL } Reduction;

// How a float sum steps, fixed at lowering and changed by no pass (spec/numerics.md).
typedef enum {
    STEP_PLAIN, // no float sum: steps in any order, or in row-major order (prod)
    STEP_ADD,   // lane n mod 32: acc + e
    STEP_FMA,   // the body's root is a product a * b: fma(a, b, acc)
    STEP_PAIRS, // a product of two bf16 values: pairs order; the root is mul of casts bf16 -> f32
} Step;

typedef struct {
    NodeOp op;
    Dtype dtype;
    int args[3];    // numbers of earlier nodes
    int index;      // N_INDEX: 0..out-1 outputs, then reductions. N_READ: which argument
    int read_count; // N_READ: rank of the argument
    int *reads;     // N_READ: nodes (i64) with the position on each axis
    const Dim *dim; // N_DIM
    int64_t i;      // N_CONST of bool and integers
    double f;       // N_CONST of floats, already rounded to the dtype
    Span span;      // the expression it came from, for messages; file 0: none in particular
} Node;

// Reads in range: an affine position is in range by proof; a gathered one is clamped to the axis.
typedef struct {
    int out;              // output indices = rank of the result
    int red;              // reduction indices, in row-major order (the last runs fastest)
    const Dim **red_dims; // their extents
    Name *names;          // out + red source names of the indices, or NULL entries
    Reduction reduction;  // RED_NONE if red == 0
    Step step;
    VEC(Node) nodes; // operands before users
    int root;        // the element's value (or the summand)
    bool reshape;    // element n in row-major order is element n of argument 0: a view
} Comp;
// The result's dtype is the root's, but for sums of bf16 and f16: they accumulate in f32 and round
// once at the end to the value's dtype; and for any/all: bool. A sum of STEP_PAIRS has an f32 root.

// ---- Values, regions, functions ----------------------------------------------------------------

typedef struct {
    VEC(Val) body;   // in order of execution
    VEC(Val) yields; // what the region gives: a function's results, the next values of a loop
} Region;

typedef struct {
    const Dim *count; // how often; OP_WHILE: NULL
    Val index;        // OP_PARAM of the region: i64 scalar, 0..count-1; OP_WHILE: 0
    VEC(Val) carried; // OP_PARAMs of the regions, one for each argument
    Region test;      // OP_WHILE: before each round, yields one bool scalar
    Region region;    // yields as many; OP_LOOP: then the values that each round adds to a stack
} Loop;
// The results are the values carried, as they are at the end, then the stacks: along a new first
// axis of `count`. One result is not in a tuple; none is an empty tuple.

typedef struct {
    Op op;
    const CoreType *type;
    Name name;           // from the source, or NULL
    Span span;           // the expression it came from
    Span site;           // put in place of a call: the call in the entry's file; or no file
    const char *comment; // the source line or a sentence, for the emitters; or NULL
    VEC(Val) args;
    Comp *comp;     // OP_COMP
    CoreFn *callee; // OP_CALL
    Loop *loop;     // OP_LOOP, OP_WHILE
    Name member;    // OP_MEMBER
    int index;      // OP_RESULT: which; OP_CUMSUM: the axis
} Value;

// A state is a parameter whose memory the caller keeps from call to call and `write` changes in
// place. A state, a pick of one and the result of a write are states; only these can be written.
// What was written may not be used again, nor what views it: its contents are the result's. A state
// is written in the region that it comes from (so once), carried by no loop, and a function that
// has states is not called by others.
//
// The states of a block live in its instance, zero at load, and are kept from call to call. A
// `member` gives one as it is there and then; `assign` and `place` change it. What was read before,
// or views it, may not be used after that, nor after a call that may change states (`effects`);
// loops carry no states, and what changes one is given none as a value. core_copy_states makes
// copies to that end.
struct CoreFn {
    Name name;  // qualified source name: "std.nn.norm::rms_norm", "std.models.llama::Llama.forward"
    Name label; // unique in the module, derived from the name: "rms_norm", "rms_norm.2"
    Span span;
    const char *doc; // the source signature on one line, for comments in the output
    bool entry;
    bool effects;      // it or a function that it calls assigns states of blocks
    CoreBlock *self;   // for methods: the first parameter is the block's weights
    VEC(Value) values; // values.data[v - 1]
    VEC(Val) params;   // OP_PARAM values; params.data[0] is self for methods
    VEC(Val) states;   // the params that are states
    Region region;     // body and results
};

struct Core {
    Session *session;
    DimTable *dims;
    VEC(const Dim *) symbols; // free symbols: bound by a run
    VEC(const Dim *) bounds;  // greatest value of each symbol where a `where` gives one, else NULL
    VEC(CoreBlock *) blocks;
    VEC(CoreFn *) fns; // callees before callers
};

// ---- Building ----------------------------------------------------------------------------------

Core *core_new(Session *s, DimTable *dims);
const CoreType *core_tensor(Core *c, Dtype dtype, int rank, const Dim *const *dims);
const CoreType *core_block_type(Core *c, CoreBlock *block);
const CoreType *core_array_type(Core *c, CoreBlock *block, const Dim *count);
const CoreType *core_tuple(Core *c, int n, const CoreType *const *items);
bool core_type_equal(const CoreType *a, const CoreType *b);

CoreBlock *core_block(Core *c, Name name); // makes the label unique and appends it
CoreFn *core_fn(Core *c, Name name, const char *short_name); // label from short_name; appended
CoreFn *core_find(const Core *c, const char *label);
const CoreType *core_result_type(Core *c, const CoreFn *f); // of a call: the result, or a tuple
const CoreMember *core_find_member(const CoreBlock *block, Name member); // NULL if there is none

static inline Value *core_value(const CoreFn *f, Val v) {
    return &f->values.data[v - 1];
}

// New values. core_add and core_param put nothing into a region; core_emit does, and the others
// call it. Adding may move the values: a Value * does not outlive it. result, member and pick give
// 0 where the argument's type has no such thing.
Val core_add(Core *c, CoreFn *f, Op op, const CoreType *type, Name name, Span span);
void core_emit(Core *c, Region *r, Val v);
void core_arg(Core *c, CoreFn *f, Val v, Val arg);
Val core_param(Core *c, CoreFn *f, const CoreType *type, Name name, Span span); // of the function
Val core_state(Core *c, CoreFn *f, const CoreType *type, Name name, Span span); // and a state
Val core_call(Core *c, CoreFn *f, Region *r, CoreFn *callee, int n, const Val *args, Span span);
Val core_result(Core *c, CoreFn *f, Region *r, Val tuple, int index, Span span);
Val core_member(Core *c, CoreFn *f, Region *r, Val block, Name member, Span span);
Val core_pick(Core *c, CoreFn *f, Region *r, Val array, Val index, Span span);
Val core_write(Core *c, CoreFn *f, Region *r, Val state, Val rows, Val pos, Span span);
Val core_assign(Core *c, CoreFn *f, Region *r, Val state, Val value, Span span);
Val core_cumsum(Core *c, CoreFn *f, Region *r, Val x, int axis, Span span);
bool core_is_block_state(const CoreFn *f, Val v); // a `member` that is a state
// May writing the state `written` (0: any) change contents that come from the `member`, the
// `assign` or the call `root`?
bool core_state_overlaps(const CoreFn *f, Val root, Val written);

// Where contents of a block's state are used after they may have changed: a copy is made when they
// are read, and used instead. For a function whose callees are finished.
void core_copy_states(Core *c, CoreFn *f);

// A view of tensor x with the dims of `to` (x's dtype, as many elements), in row-major order.
// `facts` may be NULL; it helps to find groups of axes that match, and with them simpler positions.
Val core_reshape(Core *c, CoreFn *f, Region *r, Val x, const CoreType *to, const Facts *facts,
                 Name name, Span span);
Comp *comp_reshape(Core *c, const CoreType *from, const CoreType *to, const Facts *facts);

// Body nodes; equal leaves and equal pure nodes are shared. Each returns the node's number.
int comp_index(Core *c, Comp *k, int index);
int comp_const_int(Core *c, Comp *k, Dtype t, int64_t value);
int comp_const_float(Core *c, Comp *k, Dtype t, double value); // rounds to t
int comp_dim(Core *c, Comp *k, const Dim *d);                  // i64; a constant becomes N_CONST
int comp_read(Core *c, Comp *k, int arg, Dtype t, int n, const int *positions);
int comp_unary(Core *c, Comp *k, NodeOp op, int a);
int comp_binary(Core *c, Comp *k, NodeOp op, int a,
                int b); // dtype by the class; folds constant i64
int comp_select(Core *c, Comp *k, int cond, int a, int b);
int comp_cast(Core *c, Comp *k, Dtype t, int a); // a itself if it is of dtype t already
int comp_append(Core *c, Comp *k, Node n);       // as it is: neither shared nor folded
Comp *comp_copy(Core *c, const Comp *k);
void comp_mark(Comp *k, int n, Span span); // node n came from there, unless it has a span already

double core_round(Dtype t, double v);  // to the nearest value of a float dtype, ties to even
int64_t core_wrap(Dtype t, int64_t v); // to an integer dtype or bool; u64 keeps its bits

// Calls fn for every weight of a block instance, depth first in member order, with its dotted path
// ("layers.0.attention.q_proj.weight"; arrays of constant count are expanded). This is the one
// order of weights: binding, packing and the emitters use it. States are not weights and are left
// out. False where it stopped early: a count that is not constant, or more than CORE_MAX_WEIGHTS of
// them.
#define CORE_MAX_WEIGHTS (1 << 20)
bool core_weights(Core *c, const CoreBlock *block,
                  void (*fn)(void *ctx, const char *path, const CoreType *type), void *ctx);

// A copy of a function (and nothing it calls), for rewriting; label from short_name.
CoreFn *core_copy(Core *c, const CoreFn *f, Name name, const char *short_name);

// ---- Text, verifier ----------------------------------------------------------------------------

void core_print(const Core *c, StrBuf *out);
void core_print_fn(const Core *c, const CoreFn *f, StrBuf *out);

// Reads what core_print wrote. NULL after reporting E1101 and the like into c's session.
Core *core_parse(Session *s, DimTable *dims, int file);

// Checks types, shapes, order, arguments, bodies, steps. Appends one line per fault; true if none.
// A fault is the compiler's, not the user's: callers print it and exit with 3.
bool core_verify(const Core *c, StrBuf *faults);

const char *op_text(Op op);
const char *node_text(NodeOp op);
int node_args(NodeOp op);   // how many operands: 0..3; -1 for a read
char node_class(NodeOp op); // of nodes.def: L A F I C X
const char *reduction_text(Reduction r);
const char *step_text(Step s);

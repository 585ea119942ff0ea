// Inside Core -> Loop IR: what its files share.
#pragma once
#include "codegen/loop.h"
#include "codegen/names.h"

// Memory or a variable that holds a value. Views and results share the one of what they view.
typedef struct {
    const CoreType *type; // of the value that made it
    const Expr *expr;     // its name; NULL before it is built
    int depth;            // loops around its definition
    int last;             // position of the last use
    Name hint;            // what to call it; or NULL
    int slot;             // of the arena, or -1: a variable, a parameter, a weight
    bool external;        // a parameter's or a weight's: not to be written
    bool out;             // the caller's memory for a result
    Val state;            // the member whose memory it is, to be assigned; or 0
} Storage;

// A piece of the arena, for one storage after another.
typedef struct {
    const Dim *bytes;  // enough for each of them
    const Expr *expr;  // the pointer it was first called by
    const char *owner; // name of that
    Stmt *stmt;        // S_BUFFER
    bool busy;         // holds a live storage
} Slot;

typedef struct {
    int *storages;    // one, or one for each item of a tuple; NULL for blocks
    const Expr *expr; // of a block or an array; of a view
    int position;     // in order of execution
    int end;          // of a loop: the position after its body
    bool used;        // by something that is built
    bool needed;      // by more than being a result
} Place;

typedef struct {
    LoopModule *module;
    Arena *arena;
    Core *core;
    const CoreFn *fn;
    LoopFn *out;
    Names *names;
    Place *places; // by Val
    VEC(Storage) storages;
    VEC(Slot) slots;
    VEC(int) live;       // storages that hold slots
    Stmts *top;          // the function's statements
    Stmts *list;         // where statements go now
    int depth;           // of loops
    const char *comment; // the last one printed
} FnBuild;

// Dimensions (loop_dims.c). `loop_dim` takes the batch as 1; the others take its result.
const Dim *loop_dim(LoopModule *m, const Dim *d);
const Expr *dim_expr(FnBuild *b, const Dim *d);
const Expr *dim_expr_in(LoopModule *m, const Dim *d);
const Dim *elements(LoopModule *m, const CoreType *t);
bool dim_range(const LoopModule *m, const Dim *d, int64_t *lo, int64_t *hi);
bool dim_at_least(LoopModule *m, const Dim *a, const Dim *b); // a >= b, from coefficients alone
bool dim_is_one(const Dim *d);
const char *shape_text(LoopModule *m, const CoreType *t); // "(S, 576)"

// The body of a comprehension at one point (loop_body.c).
typedef struct {
    FnBuild *b;
    const Comp *comp;
    const Value *value;
    const Dim **extents; // of all indices
    const Expr **index;  // what each index is: a variable, or 0
    const Expr **nodes;  // results of body_build
    int *uses;           // of each node
    bool *always;        // evaluated wherever the element is
    bool *hoisted;       // evaluated earlier than where it stands
    bool *gathered;      // a position that depends on what is read
    int64_t *lo, *hi;    // ranges of integer nodes
    int *depth;          // of expressions
    Stmts *list;         // where the values used more than once go
    int work;            // done on finding products
} Body;

Body *body_new(FnBuild *b, const Value *v);

// Fills nodes[] for what the roots need.
bool body_build(Body *k, int count, const int *roots);
bool body_exact(const Body *k, int n, int64_t *lo, int64_t *hi); // +, -, *: can't wrap
const Expr *node_expr(Body *k, int n);   // one node from its operands (loop_node.c)
const Expr *read_offset(Body *k, int n); // element number of an N_READ, from nodes[]
const Expr *argument(FnBuild *b, Val v); // a scalar or a pointer

// A name after what the node computes: "sum", "product".
const char *node_noun(NodeOp op);

// The loops over indices [from, to) of a body, open.
typedef struct {
    Stmts *bodies; // by index
    Stmts **outer; // NULL for an index with no loop
    int from, to;
} Nest;

Nest open_nest(Body *k, int from, int to);
void close_nest(Body *k, const Nest *nest);

// Statements (loop_comp.c, loop_contract.c, loop_split.c).
void build_comp(FnBuild *b, Val v, const Expr *target);
bool build_contraction(FnBuild *b, const Value *v, const Expr *target);
bool build_split(FnBuild *b, Val v, const Expr *target);
void build_cumsum(FnBuild *b, Val v);       // a running sum (loop_comp.c)
void build_tensor_pick(FnBuild *b, Val v);  // a pick of a tensor (loop_state.c)
void build_block_member(FnBuild *b, Val v); // a weight or a state (loop_state.c)
void build_write(FnBuild *b, Val v);        // rows of a state, a loop over its sequences
void build_place(FnBuild *b, Val v);        // rows of a state of a block
void build_assign(FnBuild *b, Val v);       // a whole state of a block
const Expr *member_field(FnBuild *b, Val v);
void plan_assigns(FnBuild *b, const Region *r); // which values are made in states
const Expr *build_dot(Body *k); // a reduction that is one call of the runtime; or NULL
Stmt *emit(FnBuild *b, StmtOp op);
void begin_value(FnBuild *b, const Value *v, bool loops); // its comment, a blank line
const Expr *take_item(FnBuild *b, Val v, int item);       // memory, or a new variable
const Expr *open_index(FnBuild *b, const Comp *comp, int index);
Stmt *close_loop(FnBuild *b, Stmts *outer, const Expr *index, const Dim *extent);
// A value's memory, or that of item `item` of a tuple (loop_fn.c).
Storage *storage_of(FnBuild *b, Val v, int item);
void build_region(FnBuild *b, const Region *r);
void build_carrying(FnBuild *b, Val v); // also while (loop_carry.c)
void copy_value(FnBuild *b, const CoreType *t, const Expr *to, const Expr *from);
const Expr *flat_index(FnBuild *b, const CoreType *t, const Expr *const *at);
const Expr *stored(LoopModule *m, Dtype t, const Expr *x); // as an element of memory
const Expr *loaded(LoopModule *m, Dtype t, const Expr *x); // the value of such an element

// Memory (loop_plan.c).
void plan_fn(FnBuild *b);
const Expr *plan_take(FnBuild *b, int storage, const char *name, const char *note);
void plan_release(FnBuild *b, int position);
bool plan_steal(FnBuild *b, int from, int to);
Val viewed(const FnBuild *b, Val v);       // the argument whose memory a view shares; or 0
bool is_state(const FnBuild *b, Val v);    // a state, a pick of one, or one after a write
bool shows_state(const FnBuild *b, Val v); // a state, or a view of one

// The rows or positions that a `place` is given, where they need no memory: 0, 1, .. (*scalar is
// 0), or one scalar in every place.
bool is_plain_place(const FnBuild *b, Val v, Val *scalar);

// Functions (loop_fn.c).
LoopFn *loop_build_fn(LoopModule *m, const CoreFn *fn);

// Removes variables and parameters that nothing mentions; the first params are results.
void loop_sweep(LoopModule *m, LoopFn *f, int results);

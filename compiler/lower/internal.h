// What the lowering's files share.
#pragma once
#include "check/builtins.h"
#include "lower/lower.h"

typedef struct BlockInst BlockInst;
typedef struct FnInst FnInst;

// What an expression lowers to.
typedef enum {
    LOW_ERROR,  // reported
    LOW_ABSENT, // an optional value that is not there
    LOW_TENSOR, // val
    LOW_BLOCK,  // val of the block type, inst
    LOW_ARRAY,  // val of the array type, inst of one item
    LOW_TUPLE,  // items
    LOW_ENUM,   // variant
    LOW_NODE,   // a scalar of the body being built (a parameter of an inlined function)
} LowKind;

typedef struct Body Body;
typedef struct Low Low;
struct Low {
    LowKind kind;
    Val val;
    const BlockInst *inst;
    const Low *items;
    int count;
    int variant;
    int node;
    const Body *body; // of node
};

// A block with its generics bound and its optional members decided.
struct BlockInst {
    Item *decl;
    const GenericArg *args;
    bool *present;    // per member
    BlockInst **subs; // per member that is a block or an array
    CoreBlock *core;
};

// A function instance and its key.
struct FnInst {
    Item *item;
    const BlockInst *self;
    const GenericArg *args; // per generic of the item
    Low *params;            // per parameter, what the key needs: TENSOR, ABSENT, ENUM or TUPLE
    Low result;             // its parts are the results of `core`
    CoreFn *core;
    bool running;
};

typedef struct {
    const LowerOptions *o;
    Program *p;
    Core *core;
    Session *s;
    Arena *a;
    DimTable *dims;
    VEC(BlockInst *) blocks;
    VEC(FnInst *) fns;
    int block_count; // instances of blocks walked through, against programs that name 2^40
    int block_depth; // blocks inside each other on the way
    int inlined;     // calls of functions of elements, likewise
    int depth;       // functions being lowered, one called by the other
    bool failed;
} Lower;

// An index variable and the nodes it stands for in a body (several for a pack).
typedef struct {
    const IndexVar *var;
    const int *nodes;
    int count;
} IndexNodes;

// A comprehension being built.
struct Body {
    Comp *comp;
    VEC(Val) args;
    VEC(IndexNodes) indices;
};

// A function being lowered.
typedef struct {
    Lower *l;
    Item *item;
    const BlockInst *self;
    const Subst *subst;
    CoreFn *fn;
    Region *region;
    Val self_val;
    Low *locals;  // by Local.number
    Low *params;  // by position
    bool inlined; // a function of elements, whose parameters are nodes
    Low result;   // of the function
    Low yield;    // of the round of the innermost loop with a value
} Fx;

typedef VEC(Val) ValVec;

// instance.c
// False, after E2190, if `count` of something is beyond what any model needs.
bool within(Lower *l, int count, int most, Span span, const char *what);
bool sound_dim(Lower *l, const Dim *d, Span span); // else E2208, E2105
bool deeper(Lower *l, const Item *item); // one more on the path of calls; the caller takes it back
FnInst *fn_instance(Lower *l, Item *item, const BlockInst *self, const GenericArg *args,
                    const Low *params);
const GenericArg *subst_args(Lower *l, const GenericArg *args, int n, const Subst *s);
Binding binding_args(Lower *l, const Item *item, const GenericArg *args);
const Subst *instance_subst(Lower *l, Item *item, const GenericArg *args, const BlockInst *self);

// fn.c
void lower_body(Fx *x);
void lower_stmts(Fx *x, const StmtVec *body);
void bind_value(Fx *x, const Pattern *p, Low low, Span span);
const CoreType *low_type(Fx *x, const Type *t); // of a tensor
Dtype low_dtype(Fx *x, Elem elem);
void refuse(Fx *x, Span span, const char *what); // E2190

// loop.c
void lower_for(Fx *x, const Stmt *st);      // static for and for over a range
void lower_for_each(Fx *x, const Stmt *st); // static for over blocks
void lower_while(Fx *x, const Stmt *st);
Low lower_scan(Fx *x, const Expr *e); // for ... yield

// parts.c: a value and the tensors in it
bool same_parts(const Low *a, const Low *b);
Val fit(Fx *x, Val v, const CoreType *want, Span span); // v with the extents written as in want
Low fit_parts(Fx *x, Low low, Low model, Span span);    // part by part, as those of model
bool plain_parts(Low low);                              // no block in it
void parts_of(Fx *x, Low low, ValVec *out);             // in order
void yield_parts(Fx *x, Low low, Region *r);            // appends them
Low with_parts(Fx *x, Low shape, const Val *vals, int *next); // the same with other tensors
Low param_parts(Fx *x, Low key, const Type *t, Name name, Span span);
Low entry_parts(Fx *x, const Type *t, bool *fits);
Low lower_struct(Fx *x, const Expr *e);
Low lower_field(Fx *x, const Expr *e);
Low lower_if_parts(Fx *x, const Expr *e);
void refuse_effects(Fx *x, int from, Span span);

// value.c
Low lower_value(Fx *x, const Expr *e);
Val lower_tensor(Fx *x, const Expr *e); // 0 after a report
Val finish_comp(Fx *x, Body *b, const CoreType *type, int root, Span span);
Low match_arm(Fx *x, const Expr *e, const Expr **value);

// body.c
int body_node(Fx *x, Body *b, const Expr *e, const int *pos, int n);
int body_operand(Fx *x, Body *b, const Expr *whole, const Expr *e, const int *pos, int n);
int body_read(Fx *x, Body *b, Val v, const int *pos, int n);
int cast_to(Fx *x, Body *b, int node, Dtype t);
bool is_elementwise(const Expr *e);

// notation.c
Low lower_notation(Fx *x, const Stmt *st);
Val lower_reduce(Fx *x, Body *outer, const Expr *e);
int body_element(Fx *x, Body *b, const Expr *e);
int body_reduce(Fx *x, Body *b, const Expr *e);
int body_slice(Fx *x, Body *b, const Expr *e, const int *pos, int n);

// call.c
Low lower_call(Fx *x, const Expr *e);
int body_call(Fx *x, Body *b, const Expr *e, const int *pos, int n);
int concrete_axis(Fx *x, const Expr *e, int axis);
int body_builtin(Fx *x, Body *b, const Expr *e, const int *pos, int n);

// Loop IR: what stands between Core and a program's text. Loops, scalars and planned buffers.
//
// Statements nest; expressions are trees over scalars and pointers to elements. Comments and blank
// lines are statements, because what a reader sees is part of the output. Elements of f16 and bf16
// are stored in 16 bits and are floats in expressions, rounded after every operation.
#pragma once
#include "core/core.h"

// Operators in order of precedence, loosest first (ORDER LOOP OPS: loop_ops in loop.c).
typedef enum {
    X_COND,    // c ? a : b; only the taken side is evaluated
    X_LOR,     // a || b
    X_LAND,    // a && b
    X_OR,      // a | b
    X_XOR,     // a ^ b
    X_AND,     // a & b
    X_EQ,      // a == b
    X_NE,      // a != b
    X_LT,      // a < b
    X_LE,      // a <= b
    X_GT,      // a > b
    X_GE,      // a >= b
    X_SHL,     // a << b
    X_SHR,     // a >> b
    X_ADD,     // a + b; also of a pointer and a number of elements
    X_SUB,     // a - b
    X_MUL,     // a * b
    X_DIV,     // a / b
    X_MOD,     // a % b
    X_NEG,     // -a
    X_NOT,     // !a
    X_ADDRESS, // &a
    X_CAST,    // (dtype)a
    X_INDEX,   // a[b]
    X_FIELD,   // a.name
    X_ARROW,   // a->name
    X_CALL,    // name(args)
    X_INT,     // an integer or bool literal of `dtype`
    X_REAL,    // a floating literal of `dtype`
    X_NAME,    // a variable
    X_OP_COUNT
} ExprOp;

// What an expression is, and what a variable is declared as.
typedef struct {
    Dtype dtype;            // of the value, or of the elements
    bool pointer;           // to elements
    bool constant;          // the elements, or the variable, are not written
    bool bits;              // 16-bit floats as they are stored
    bool size;              // a size_t: bytes
    const CoreBlock *block; // not NULL: a pointer to the weights of a block
} LoopType;

typedef struct Expr Expr;
struct Expr {
    ExprOp op;
    LoopType type;
    const char *name; // X_NAME, X_CALL, fields
    int64_t i;        // X_INT; the bits of a u64
    double f;         // X_REAL
    int count;        // arguments
    const Expr **args;
};

typedef enum {
    S_COMMENT, // text
    S_BLANK,   // an empty line
    S_LET,     // type name = value; value may be NULL: set later, in branches
    S_ARRAY,   // type name[count] = {0}; count in `i`
    S_BUFFER,  // type *name: `value` bytes of the arena
    S_SET,     // target = value
    S_ADD,     // target += value
    S_DO,      // value, a call
    S_FOR,     // for name from 0 below value: body
    S_WHILE,   // while value: body
    S_LEAVE,   // leaves the loop around it if the value is true
    S_RETURN,  // value
} StmtOp;

typedef struct Stmt Stmt;
typedef VEC(Stmt *) Stmts;
struct Stmt {
    StmtOp op;
    LoopType type;       // of the variable declared
    const char *name;    // of it
    const Expr *target;  // of an assignment
    const Expr *value;   // see above
    int64_t i;           // S_ARRAY
    const char *comment; // S_COMMENT, or what stands behind the statement; or NULL
    Stmts body;          // S_FOR, S_WHILE
    bool effects;        // S_LET: a call that changes states, made though nothing uses its value
};

typedef struct {
    const char *name;
    LoopType type;
    const char *comment; // its shape, or NULL
} LoopParam;

typedef struct {
    const CoreFn *source;     // what it was made of
    const char *name;         // C identifier
    bool uses_work;           // takes the threads and the arena first
    bool takes;               // memory of the arena, itself or in what it calls
    VEC(const Dim *) symbols; // the free symbols it takes next
    VEC(LoopParam) params;    // then results written through pointers, then the parameters
    bool *param_used;         // which of the Core parameters are among them
    bool returns;             // the one result is a scalar of type `result`
    LoopType result;
    Stmts body;                   // S_FOR
    VEC(const Expr *) buffers;    // bytes of each buffer
    VEC(const Dim *) buffer_dims; // likewise
    VEC(int) callees;             // numbers of LoopFns
    struct Names *names;          // its scope
    bool root;                    // asked for, not only called
    bool live;                    // a root, or called by a live one
} LoopFn;

// A symbol's name in C and its range.
typedef struct {
    const Dim *dim;
    const char *name;
    int64_t least;    // 0 or 1
    int64_t greatest; // bound of its values; at least 1
} LoopSymbol;

// A struct of weights, and of the states of a block where functions use them.
typedef struct {
    const CoreBlock *block;
    const char *name;     // of the C type
    const char **members; // C names, one a member; NULL for what is left out
} LoopBlock;

typedef struct {
    Core *core;
    struct Names *names; // the global scope
    VEC(LoopSymbol) symbols;
    const Dim *one;        // a symbol taken as 1 (the batch); or NULL
    VEC(LoopBlock) blocks; // members before owners
    VEC(LoopFn *) fns;     // callees before callers
    bool keeps;            // rows of states are stored
    bool places;           // rows of states of blocks are
    bool states;           // functions use states of blocks: the structs have them
    Map units;             // names of the runtime's functions in use, as interned Names
    char *error;           // first fault, or NULL
} LoopModule;

// ---- Building expressions: small foldings of integers, none of floats --------------------------

const Expr *x_name(Arena *a, const char *name, LoopType type);
const Expr *x_int(Arena *a, Dtype t, int64_t value);
const Expr *x_real(Arena *a, Dtype t, double value);
const Expr *x_unary(Arena *a, ExprOp op, LoopType type, const Expr *x);
const Expr *x_binary(Arena *a, ExprOp op, LoopType type, const Expr *x, const Expr *y);
const Expr *x_cond(Arena *a, const Expr *c, const Expr *x, const Expr *y);
const Expr *x_cast(Arena *a, Dtype t, const Expr *x);
const Expr *x_call(LoopModule *m, const char *name, LoopType type, int n, const Expr *const *args);
const Expr *x_index(Arena *a, const Expr *base, const Expr *at);
const Expr *x_field(Arena *a, const Expr *block, const char *name, LoopType type);

// Integers known not to wrap: index arithmetic. Folds constants, x + 0, x * 1, x * 0.
const Expr *x_add(Arena *a, const Expr *x, const Expr *y);
const Expr *x_sub(Arena *a, const Expr *x, const Expr *y);
const Expr *x_mul(Arena *a, const Expr *x, const Expr *y);
bool x_is_int(const Expr *x, int64_t *value); // value may be NULL

LoopType loop_scalar(Dtype t);
LoopType loop_pointer(Dtype t, bool constant);
const char *loop_op_text(ExprOp op); // "+", "?"
int loop_op_level(ExprOp op);        // precedence, looser is less

Stmt *loop_stmt(Arena *a, Stmts *list, StmtOp op);

// Notes the first fault of a module; later ones are dropped.
void loop_fail(LoopModule *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- The stages --------------------------------------------------------------------------------

// A symbol that an exported program binds when it runs: 1 to `most`.
typedef struct {
    const Dim *symbol;
    int64_t most;
} LoopBound;

// What to make loops of: the functions and what they call; the symbol `one` is taken as 1.
typedef struct {
    const CoreFn *const *roots;
    int root_count;
    const Dim *one;          // or NULL
    const LoopBound *bounds; // of some symbols; the others may be 0 and have their own bounds
    int bound_count;
} LoopOptions;

// Core -> Loop IR. On a fault the module's error is set.
LoopModule *loop_build(Core *c, const LoopOptions *o);

// The dump: one line a statement, shapes as they are.
void loop_print(const LoopModule *m, StrBuf *out);

const char *loop_symbol(const LoopModule *m, const Dim *symbol);
const LoopBlock *loop_block(const LoopModule *m, const CoreBlock *block);

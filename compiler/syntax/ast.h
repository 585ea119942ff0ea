// The syntax tree, typed in place: the parser fills what stands above "checked:", the checker the
// rest.
//
// Every node has the span of its text. Lists are Vecs in source order. Nothing is ever freed: nodes
// live in the session's arena.
#pragma once
#include "base/session.h"
#include "type/type.h"

typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct Item Item;
typedef struct AstType AstType;
typedef struct Module Module;
typedef struct Package Package; // of the checker
typedef struct Local Local;
typedef struct IndexVar IndexVar;
typedef struct Member Member;
typedef struct Param Param;

typedef VEC(Name) NameVec;
typedef VEC(Expr *) ExprVec;
typedef VEC(Stmt *) StmtVec;

// One entry of a shape: an additive expression, or a pack.
typedef struct {
    Expr *expr; // or NULL
    Name pack;  // `*S`, or NULL
    Span span;
} ShapeItem;
typedef VEC(ShapeItem) ShapeVec;

// ---- Types as written --------------------------------------------------------------------------

typedef enum {
    AST_TYPE_NAMED,  // path and generic arguments: f32, T, Linear<H, H>, m.Layer
    AST_TYPE_TENSOR, // Tensor[shape; elem]
    AST_TYPE_TUPLE,  // (A, B)
    AST_TYPE_ARRAY,  // [Block<..>; N]
} AstTypeKind;

// A generic argument as written; a lone name or path is given as `type` and may turn out a
// dimension.
typedef struct {
    AstType *type;   // or NULL
    Expr *expr;      // or NULL
    bool is_shape;   // a shape literal in `shape`
    ShapeVec shape;
    Span span;
} AstGenericArg;
typedef VEC(AstGenericArg) AstGenericArgVec;

typedef VEC(AstType *) AstTypeVec;
struct AstType {
    AstTypeKind kind;
    Span span;
    bool optional;         // written with `?`
    int depth;             // height of the tree below, for the parser's limit
    NameVec path;          // NAMED
    AstGenericArgVec args; // NAMED
    ShapeVec shape;        // TENSOR
    AstType *elem;         // TENSOR: element type; ARRAY: the block
    AstTypeVec items;      // TUPLE
    Expr *count;           // ARRAY
};

// ---- Expressions -------------------------------------------------------------------------------

typedef enum {
    EXPR_INT,    // integer literal
    EXPR_FLOAT,  // float literal
    EXPR_BOOL,   // true, false
    EXPR_STRING, // only where the grammar says so (serve block)
    EXPR_NONE,   // none
    EXPR_SOME,   // some(a)
    EXPR_NAME,   // a name
    EXPR_MEMBER, // a.name
    EXPR_CALL,   // a<generics>(args)
    EXPR_INDEX,  // a[components]
    EXPR_UNARY,  // op a
    EXPR_BINARY, // a op b
    EXPR_IF,     // if c { a } else { b }
    EXPR_MATCH,  // match a { arms }
    EXPR_FOR,    // for i in a..b { body ... yield v }: a scan, as a whole right side
    EXPR_REDUCE, // kind<elem>[indices] a
    EXPR_TUPLE,  // (a, b)
    EXPR_SHAPE,  // [B, S, *R]
    EXPR_ERROR,  // left by error recovery
} ExprKind;

typedef enum { UNARY_NEG, UNARY_NOT, UNARY_PLUS } UnaryOp;

typedef enum { // loosest first; ORDER BINARY (names and precedences in ast.c)
    BINARY_OROR, BINARY_ANDAND,
    BINARY_EQ, BINARY_NE,
    BINARY_LT, BINARY_LE, BINARY_GT, BINARY_GE,
    BINARY_OR, BINARY_XOR, BINARY_AND,
    BINARY_ADD, BINARY_SUB,
    BINARY_MUL, BINARY_DIV, BINARY_MOD,
} BinaryOp;

typedef enum { REDUCE_SUM, REDUCE_PROD, REDUCE_MAX, REDUCE_MIN, REDUCE_ANY, REDUCE_ALL } ReduceKind;

// A call's argument.
typedef struct {
    Name keyword; // or NULL
    Expr *value;
    Span span;
} Arg;
typedef VEC(Arg) ArgVec;

typedef enum {
    INDEX_EXPR,     // expr
    INDEX_ELLIPSIS, // ...
    INDEX_PACK,     // *s
    INDEX_SLICE,    // [start]:[stop][:step]
} IndexKind;

typedef struct {
    IndexKind kind;
    Span span;
    Name pack;                  // PACK
    Expr *expr;                 // EXPR
    Expr *start, *stop, *step;  // SLICE: or NULL each
    // checked:
    IndexVar *var;        // the position is this index of the enclosing notation (EXPR or PACK)
    const Dim *at;        // EXPR: a compile-time position (symbolic)
    const Dim *from, *extent; // SLICE: first position and number of elements
    int64_t stride;       // SLICE
    int axis_count;       // ELLIPSIS, PACK: how many entries of the base type's axes it covers
} IndexPart;
typedef VEC(IndexPart) IndexPartVec;

// An index of index notation: on the left of a let, or of a reduction.
struct IndexVar {
    Name name;
    Span span;
    bool pack; // *s
    // checked:
    const Dim *extent;   // plain: its domain
    const Axis *axes;    // pack: the axes it runs over (a single pack axis, or several)
    int axis_count;
    Span first;          // where it first stands on an axis
    bool used;
};
typedef VEC(IndexVar *) IndexVarVec;

typedef enum { PATTERN_NAME, PATTERN_WILD, PATTERN_TUPLE, PATTERN_SOME, PATTERN_NONE } PatternKind;

typedef struct Pattern Pattern;
typedef VEC(Pattern *) PatternVec;
struct Pattern {
    PatternKind kind;
    Span span;
    Name name;        // NAME
    PatternVec items; // TUPLE; SOME: items.data[0]
    // checked:
    Local *local;      // NAME: the variable it declares
    int variant;       // NAME in an arm over an enum: number of the variant, else -1
    const Type *type;  // of what it matches
};

typedef struct {
    Pattern *pattern;
    Expr *value;
    Span span;
    // checked:
    bool dead; // never chosen: the match is over a constant of an enum
} Arm;
typedef VEC(Arm) ArmVec;

// What a name or a member path turned out to be.
typedef enum {
    REF_NONE,
    REF_LOCAL,   // local
    REF_PARAM,   // param
    REF_GENERIC, // a Dim generic as a value: `dim` is set
    REF_CONST,   // item
    REF_MEMBER,  // member: of the enclosing block (EXPR_NAME), or of a's block (EXPR_MEMBER)
    REF_FN,      // item: fn, op, entry, kernel, struct (only called)
    REF_BUILTIN, // builtin (only called)
    REF_MODULE,  // module (only before a dot)
    REF_ENUM,    // item (only before a dot)
    REF_VARIANT, // item, variant
    REF_INDEX,   // an index variable: only in an index position
    REF_FIELD,   // field: of a struct value
} RefKind;

struct Expr {
    ExprKind kind;
    Span span;
    bool parens;           // written in parentheses
    int depth;             // height of the tree below, for the parser's limit
    int64_t int_value;     // INT; BOOL as 0/1
    double float_value;    // FLOAT
    Str text;              // INT, FLOAT as written; STRING: its value
    Name name;             // NAME, MEMBER
    Span name_span;        // MEMBER: the name alone
    UnaryOp unary;         // UNARY
    BinaryOp binary;       // BINARY
    Span op_span;          // BINARY
    Expr *a, *b, *c;       // operands as the kinds say (IF: c is the condition; FOR: from a to b)
    bool has_generics;     // CALL: written with <...>
    AstGenericArgVec generics; // CALL
    ArgVec args;           // CALL
    IndexPartVec parts;    // INDEX
    ArmVec arms;           // MATCH
    ReduceKind reduce;     // REDUCE
    AstType *elem;         // REDUCE: accumulator, or NULL
    IndexVarVec indices;   // REDUCE
    Pattern *pattern;      // FOR
    StmtVec body;          // FOR
    ExprVec items;         // TUPLE
    ShapeVec shape;        // SHAPE

    // checked:
    const Type *type;
    const Dim *dim;        // value, if it is a compile-time integer (also after it got a dtype)
    bool has_real;         // a compile-time float (literals and arithmetic of them)
    double real;
    RefKind ref;
    Local *local;
    Param *param;
    Item *item;            // CONST, FN, ENUM, VARIANT; a call's callee
    Member *member;
    int field;             // FIELD: number of the field; VARIANT: of the variant
    int builtin;           // ORDER BUILTIN (check/builtins.def)
    Module *module;
    bool element;          // INDEX in index notation: a scalar element
    // a checked CALL of a fn, op, entry or struct (item set):
    Expr *receiver;        // the sub-block whose method it is, or NULL (own block, or no method)
    const GenericArg *bound; // per generic of the callee
    int bound_count;
    Expr **values;         // per parameter: the argument, or NULL for the parameter's default
    int value_count;
    // a checked CALL of a built-in: args as written; bound[0].elem for cast<T>, iota<T>, fill<T>
    const Axis *axes;      // checked SHAPE, and the shape argument of reshape, broadcast_to, fill
    int axis_count;
    const Dim *from, *to;  // checked FOR range
};

// ---- Statements --------------------------------------------------------------------------------

typedef enum {
    STMT_LET,        // let pattern [: type] = value
    STMT_LET_INDEX,  // let name[i, j, *s] = value
    STMT_VAR,        // var name [: type] = value
    STMT_ASSIGN,     // name = value
    STMT_RETURN,     // return [value]
    STMT_STATIC_FOR, // static for pattern in over { body }, or in from..to
    STMT_WHILE,      // while cond { body }
    STMT_FOR,        // for i in a..b { body } without a value
    STMT_YIELD,      // yield value
    STMT_STORE,      // store / atomic_* forms of kernels: op in name, arguments in args
    STMT_ERROR,      // left by error recovery
} StmtKind;

// A variable.
struct Local {
    Name name;
    Span span;
    bool mutable; // var
    // checked:
    const Type *type; // for a block (static for, match): TYPE_BLOCK
    const Dim *dim;   // a let of a symbolic dimension stays usable in shapes
    bool used;
    int number;       // unique within its function, in order of declaration
    Local *shadowed;  // the local of the same name outside, or NULL
};

struct Stmt {
    StmtKind kind;
    Span span;
    int depth;           // height of the tree below, for the parser's limit
    Pattern *pattern;    // LET, STATIC_FOR, FOR
    Name name;           // LET_INDEX, VAR, ASSIGN, STORE
    Span name_span;
    AstType *type;       // LET, VAR: or NULL
    IndexVarVec indices; // LET_INDEX
    Expr *value;         // or NULL (RETURN); WHILE: the condition; STATIC_FOR: the array, or NULL
    Expr *from, *to;     // ranges of STATIC_FOR, FOR
    StmtVec body;        // loops
    ExprVec args;        // STORE
    // checked:
    Local *local;        // LET_INDEX, VAR: declared; ASSIGN: the var assigned
    Member *member;      // ASSIGN: the state assigned
    const Dim *first, *last; // ranges: from, to
};

// ---- Items -------------------------------------------------------------------------------------

typedef enum {
    ITEM_CONST, ITEM_TYPE, ITEM_STRUCT, ITEM_ENUM,
    ITEM_FN, ITEM_OP, ITEM_KERNEL, ITEM_ENTRY, ITEM_BLOCK, ITEM_SERVE,
} ItemKind;

typedef struct {
    Name name;
    Span span;
    bool pack;             // written `*S`
    GenericKind kind;      // from the bound's name
    AstGenericArg *fallback; // default, or NULL
    // checked:
    Generic *generic;
    GenericArg value;      // the default, if bound
} GenericDecl;
typedef VEC(GenericDecl) GenericDeclVec;

struct Param {
    Name name;
    Span span;
    AstType *type_ast;
    Expr *fallback; // default, or NULL
    // checked:
    const Type *type;
    bool used;
};
typedef VEC(Param *) ParamVec;

typedef struct {
    Expr *a, *b;
    BinaryOp rel; // a relation
    Span span;
    // checked:
    const Dim *left, *right;
} Where;
typedef VEC(Where) WhereVec;

typedef struct {
    Name name;
    Span span;
    AstType *type_ast;
    // checked:
    const Type *type;
} Field; // of a struct
typedef VEC(Field) FieldVec;

typedef struct {
    Name name;
    Span span;
} Variant;
typedef VEC(Variant) VariantVec;

typedef enum { AST_PARAM, AST_BUFFER, AST_STATE, AST_SUB } MemberRole;

struct Member { // of a block
    MemberRole role;
    Name name;
    Span span;
    AstType *type_ast;
    Expr *fallback; // only `none` is allowed
    // checked:
    const Type *type;  // TENSOR, OPTIONAL of it; BLOCK, ARRAY, OPTIONAL of BLOCK
    Item *owner;
    bool used;
};
typedef VEC(Member *) MemberVec;
typedef VEC(Item *) ItemVec;

typedef struct {
    Name name;
    Span span;
    Expr *value; // a name, string, call, number
} ServeField;
typedef VEC(ServeField) ServeFieldVec;

typedef enum { CHECK_NOT, CHECK_RUNNING, CHECK_DONE } CheckState;

struct Item {
    ItemKind kind;
    Name name;
    Span span;      // the whole item
    Span name_span;
    bool pub;
    Module *module;
    Item *block;    // the block it is a method of, or NULL
    GenericDeclVec generics;
    ParamVec params;      // fn, op, entry, kernel
    AstType *result_ast;  // fn, op, entry, or NULL; type alias: the type; const: its annotation
    WhereVec where;
    StmtVec body;         // fn, op, entry, kernel
    Expr *value;          // const
    FieldVec fields;      // struct
    VariantVec variants;  // enum
    MemberVec members;    // block
    ItemVec items;        // block: methods
    ServeFieldVec serve;  // serve
    Name kernel;          // op: bound kernel, or NULL
    AstGenericArgVec kernel_args;
    NameVec grad_params;  // op with a grad clause: names of its parameters
    StmtVec grad_body;
    ParamVec results;     // kernel: named results
    ExprVec grid;         // kernel: the calls grid(..), then warps(..), stages(..) as written

    // checked:
    CheckState signature;  // of generics, where, parameters, result
    CheckState checked;    // of the body
    const Type *type;      // result; alias: the type; const: its type
    Facts *facts;          // what holds inside
    const Dim *dim;        // const: value if a compile-time integer
    bool has_real;         // const: value if a float
    double real;
    const Expr *setting;   // const: value given from outside instead of `value`, or NULL
    int variant_or_bool;   // const of an enum or bool
    int local_count;
    bool used;             // named by something in the program
};

// An import: `use path::{x, y as z}` gives one of these for each name; `use path` one with name
// NULL.
typedef struct {
    NameVec path;
    Name name;  // item of that module, or NULL: the module itself
    Name alias; // what it is called here
    Span span;
    // checked:
    Module *module;
    Item *item;
    bool used;
} Import;
typedef VEC(Import *) ImportVec;

struct Module {
    NameVec path;    // as declared
    Span path_span;
    int file;        // Session source number
    ImportVec imports;
    ItemVec items;
    // checked:
    Name key;        // "std.nn.linear", "crate.rope": how it was found
    bool is_std;
    Package *package; // that it is part of; NULL for std
    Map scope;       // Name -> Item
    CheckState state;
    bool broken; // has syntax errors
};

// ---- Functions ---------------------------------------------------------------------------------

Expr *expr_new(Session *s, ExprKind kind, Span span);
Stmt *stmt_new(Session *s, StmtKind kind, Span span);
Item *item_new(Session *s, ItemKind kind, Span span);
const char *binary_text(BinaryOp op);
int binary_precedence(BinaryOp op); // greater binds tighter
const char *unary_text(UnaryOp op);
const char *reduce_text(ReduceKind k);
const char *item_kind_text(ItemKind k); // "fn", "block", ...

// The tree as an indented dump (`serin dump --stage=ast`; with types after checking,
// `--stage=typed`).
void ast_dump(Session *s, const Module *m, bool typed, StrBuf *out);
// A signature on one line, as written: "fn forward<B: Dim>(x: Tensor[B, H; T]) -> Tensor[B, H; T]".
void ast_signature(const Item *item, StrBuf *out);
// Source text of an expression or a type, in the one style.
void ast_expr_text(const Expr *e, StrBuf *out);
void ast_type_text(const AstType *t, StrBuf *out);

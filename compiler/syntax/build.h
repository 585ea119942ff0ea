// What the grammar's actions build with. Internal to this folder.
//
// Every action is one call: it makes a node with its span, checks what the grammar is too wide to
// check (E1101, E1103), and never fails.
#pragma once
#include "syntax/parse.h"
#include "syntax/token.h"

// The state of one parse; Lemon's %extra_context.
typedef struct {
    Session *s;
    int file;
    const char *text; // of the source
    Module *module;   // being filled
    Expr *expr;       // result of parse_expr_text
    bool stopped;     // Lemon gave up
    bool too_deep;    // reported once
} Parser;

// Values of the grammar's symbols that are no nodes of the tree.
typedef struct {
    NameVec names;
    Span span;
} Path;

typedef struct {
    MemberVec members;
    ItemVec items;
} Body; // of a block

typedef struct {
    Token name;
    AstGenericArgVec args;
    bool present;
} Bind; // of an op to a kernel

typedef struct {
    NameVec params;
    StmtVec body;
    Span span;
} Grad;

typedef struct {
    ReduceKind kind;
    AstType *elem;
    IndexVarVec indices;
    Span span;
} ReduceHead;

typedef struct {
    Pattern *pattern; // or NULL (while)
    Expr *over;       // the array, or a while's condition; else NULL
    Expr *from, *to;  // the range, or NULL
    StmtVec body;
    Span span;
} Loop;

// A signature: what fn, op, entry and kernel have between their name and their body.
typedef struct {
    Token keyword, name;
    GenericDeclVec generics;
    ParamVec params;
} Head;

Span token_span(const Parser *p, Token t);
Span between(const Parser *p, Token a, Token b);
Name token_as_name(const Parser *p, Token t);

// Module and imports
void build_module(Parser *p, Path path);
void add_item(Parser *p, Item *item);
Path path_of(Parser *p, Token first);
Path path_add(Parser *p, Path path, Token name);
Import *build_import(Parser *p, Token name, Token *alias);
void add_imports(Parser *p, Token use, Path path, ImportVec imports);
void add_module_import(Parser *p, Path path, Token *alias);

// Items
Item *build_item(Parser *p, ItemKind kind, Token first, Token name, Span end);
Item *item_pub(Parser *p, Item *item, Token pub);
Item *build_fn(Parser *p, Head head, AstType *result, Bind bind, WhereVec where, StmtVec body,
               Span end);
Item *build_kernel(Parser *p, Head head, ParamVec results, ExprVec grid, WhereVec where,
                   StmtVec body, Token end);
Item *build_serve(Parser *p, Token inference, Token serve, ServeFieldVec fields, Token end);
GenericDecl build_generic(Parser *p, Token *star, Token name, Token bound, AstGenericArg *fallback);
Param *build_param(Parser *p, Token name, AstType *type, Expr *fallback);
Where build_where(Parser *p, Expr *e);
Member *build_member(Parser *p, MemberRole role, Token first, Token name, AstType *type,
                     Expr *fallback);
Expr *build_tune(Parser *p, Token word, ExprVec args, Token end);

// Types
AstType *build_tensor(Parser *p, Token first, ShapeVec shape, AstType *elem, Token end);
AstType *build_named(Parser *p, Path path, AstGenericArgVec args, Span end);
AstType *build_tuple_type(Parser *p, Token first, AstTypeVec items, bool comma, Token end);
AstType *build_array_type(Parser *p, Token first, AstType *elem, Expr *count, Token end);
AstType *type_optional_ast(Parser *p, AstType *type, Token mark);
ShapeItem shape_expr(Parser *p, Expr *e);
ShapeItem shape_pack(Parser *p, Token star, Token name);
AstGenericArg generic_expr(Parser *p, Expr *e, Token *optional);
AstGenericArg generic_named(Parser *p, Expr *path, AstGenericArgVec args, Token end);
AstGenericArg generic_type(AstType *type);
AstGenericArg generic_shape(Expr *shape);

// Patterns and statements
Pattern *build_pattern(Parser *p, PatternKind kind, Token first, Token last, PatternVec items);
Pattern *pattern_name(Parser *p, Token name);
Pattern *pattern_group(Parser *p, Token first, PatternVec items, bool comma, Token last);
Stmt *build_stmt(Parser *p, StmtKind kind, Token first, Expr *value);
Stmt *build_named_stmt(Parser *p, StmtKind kind, Token first, Token name, AstType *type,
                       Expr *value);
Stmt *build_let(Parser *p, Token first, Pattern *pattern, AstType *type, Expr *value);
Stmt *build_store(Parser *p, Token name, ExprVec args, Token end);
Stmt *build_loop(Parser *p, StmtKind kind, Span span, Loop loop);
IndexVar *build_index_var(Parser *p, Token *star, Token name);

// Expressions
Expr *build_leaf(Parser *p, ExprKind kind, Token t);
Expr *build_unary(Parser *p, UnaryOp op, Token t, Expr *a);
Expr *build_binary(Parser *p, BinaryOp op, Token t, Expr *a, Expr *b);
Expr *build_member_expr(Parser *p, Expr *a, Token name);
Expr *build_call(Parser *p, Expr *a, AstGenericArgVec *generics, ArgVec args, Token end);
Expr *build_index(Parser *p, Expr *a, IndexPartVec parts, Token end);
Expr *build_parens(Parser *p, Token first, Expr *a, Token end);
Expr *build_some(Parser *p, Token first, Expr *a, Token end);
Expr *build_tuple(Parser *p, Token first, ExprVec items, Token end);
Expr *build_if(Parser *p, Token first, Expr *c, Expr *a, Expr *b, Token end);
Expr *build_match(Parser *p, Token first, Expr *a, ArmVec arms, Token end);
Expr *build_for(Parser *p, Loop loop);
Expr *build_reduce(Parser *p, ReduceHead head, Expr *a);
Expr *build_shape(Parser *p, Token first, ShapeVec shape, Token end);
ReduceHead reduce_head(Parser *p, Token name, AstType *elem, IndexVarVec indices);
Arg build_arg(Parser *p, Token *keyword, Expr *value);
IndexPart index_part(Parser *p, IndexKind kind, Token first, Token last, Expr *e);
IndexPart index_slice(Parser *p, Token colon, Expr *start, Expr *stop, Token *second, Expr *step);

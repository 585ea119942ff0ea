// The grammar. Every action is one call of the builder (build.h); the driver (parse.c) decides what
// depends on more than the next token: which `<` opens generics, words that are keywords only in
// one place, `::` in a slice, and where to go on after an error, which it announces with SYNC.
//
// No statement begins with `(`, `[` or an operator, so none needs a terminator: an expression
// reaches as far as it can.
%name Syntax
%token_prefix TK_
%token_type {Token}
%extra_context {Parser *p}
%stack_size 0
%start_symbol file
%include {
#include "syntax/build.h"
#include "syntax/drive.h"
#include <stdlib.h>
}
%syntax_error { (void)TOKEN; }
%parse_failure { p->stopped = true; }
%stack_overflow { p->stopped = true; }

// In this order: keywords lie between MODULE and RESERVED (token_is_word).
%token NAME INT FLOAT STRING.
%token MODULE USE PUB CRATE SELF SUPER AS CONST TYPE STRUCT ENUM FN OP KERNEL BLOCK ENTRY PARAM.
%token BUFFER STATE SUB LET VAR RETURN IF ELSE MATCH STATIC FOR IN WHILE YIELD WHERE TRUE FALSE.
%token NONE SOME EXTERN RESERVED.
%token COLONCOLON ARROW FATARROW DOTDOT ELLIPSIS.
%token LPAREN RPAREN LBRACKET RBRACKET LBRACE RBRACE COMMA SEMI COLON DOT EQ BANG QUESTION.
// Made of others by the marks and the driver.
%token GENERIC GENERIC_END TENSOR GRAD GRID WARPS STAGES STORE INFERENCE RETURN_VOID.
// Announcements of the driver; ILLEGAL (a byte that begins no token) stands nowhere.
%token SYNC NO_MODULE START_EXPR ILLEGAL.

// Loosest first. A reduction's body takes all it can get.
%nonassoc REDUCE.
%left OROR.
%left ANDAND.
%left EQEQ NE.
%left LT LE GT GE.
%left OR.
%left XOR.
%left AND.
%left PLUS MINUS.
%left STAR SLASH PERCENT.

// ---- A file ------------------------------------------------------------------------------------

file ::= header tops.
file ::= START_EXPR expr(E).             { p->expr = E; }

header ::= NO_MODULE.
header ::= MODULE path(P).               { build_module(p, P); }
header ::= MODULE error SYNC.

tops ::= .
tops ::= tops use.
tops ::= tops item(I).                   { add_item(p, I); }
tops ::= tops error SYNC.

%type path {Path}
path(A) ::= NAME(N).                     { A = path_of(p, N); }
path(A) ::= path(B) DOT NAME(N).         { A = path_add(p, B, N); }

%type use_path {Path}
use_path(A) ::= path(P).                 { A = P; }
use_path(A) ::= CRATE(N).                { A = path_of(p, N); }
use_path(A) ::= crate_path(P).           { A = P; }
%type crate_path {Path}
crate_path(A) ::= CRATE(C) DOT NAME(N).  { A = path_add(p, path_of(p, C), N); }
crate_path(A) ::= crate_path(B) DOT NAME(N). { A = path_add(p, B, N); }

use ::= USE use_path(P).                 { add_module_import(p, P, NULL); }
use ::= USE use_path(P) AS NAME(N).      { add_module_import(p, P, &N); }
use ::= USE(U) use_path(P) COLONCOLON import(I). {
    ImportVec one = {0};
    vec_push(p->s->arena, &one, I);
    add_imports(p, U, P, one);
}
use ::= USE(U) use_path(P) COLONCOLON LBRACE imports(L) RBRACE.       { add_imports(p, U, P, L); }
use ::= USE(U) use_path(P) COLONCOLON LBRACE imports(L) COMMA RBRACE. { add_imports(p, U, P, L); }

%type import {Import *}
import(A) ::= NAME(N).                   { A = build_import(p, N, NULL); }
import(A) ::= NAME(N) AS NAME(M).        { A = build_import(p, N, &M); }
%type imports {ImportVec}
imports(A) ::= import(I).                { A = (ImportVec){0}; vec_push(p->s->arena, &A, I); }
imports(A) ::= imports(A) COMMA import(I). { vec_push(p->s->arena, &A, I); }

// ---- Items -------------------------------------------------------------------------------------

%type item {Item *}
%type def {Item *}
item(A) ::= def(D).                      { A = D; }
item(A) ::= PUB(P) def(D).               { A = item_pub(p, D, P); }
item(A) ::= INFERENCE(I) NAME(N) LBRACE serve_fields(F) RBRACE(E). {
    A = build_serve(p, I, N, F, E);
}

def(A) ::= CONST(C) NAME(N) type_opt(T) EQ expr(E). {
    A = build_item(p, ITEM_CONST, C, N, E->span);
    A->result_ast = T;
    A->value = E;
}
def(A) ::= TYPE(C) NAME(N) generics(G) EQ type(T). {
    A = build_item(p, ITEM_TYPE, C, N, T->span);
    A->generics = G;
    A->result_ast = T;
}
def(A) ::= STRUCT(C) NAME(N) generics(G) LBRACE fields(F) RBRACE(E). {
    A = build_item(p, ITEM_STRUCT, C, N, token_span(p, E));
    A->generics = G;
    A->fields = F;
}
def(A) ::= ENUM(C) NAME(N) LBRACE variants(V) RBRACE(E). {
    A = build_item(p, ITEM_ENUM, C, N, token_span(p, E));
    A->variants = V;
}
def(A) ::= BLOCK(C) NAME(N) generics(G) where(W) LBRACE body(B) RBRACE(E). {
    A = build_item(p, ITEM_BLOCK, C, N, token_span(p, E));
    A->generics = G;
    A->where = W;
    A->members = B.members;
    A->items = B.items;
    for (int i = 0; i < B.items.len; i++)
        B.items.data[i]->block = A;
}
def(A) ::= fn_head(H) result(T) bind(K) where(W) LBRACE stmts(S) RBRACE(E). {
    A = build_fn(p, H, T, K, W, S, token_span(p, E));
}
def(A) ::= fn_head(H) result(T) bind(K) where(W) LBRACE stmts(S) RBRACE grad(G). {
    A = build_fn(p, H, T, K, W, S, G.span);
    A->grad_params = G.params;
    A->grad_body = G.body;
}
def(A) ::= kernel_head(H) ARROW results(R) grid(G) where(W) LBRACE stmts(S) RBRACE(E). {
    A = build_kernel(p, H, R, G, W, S, E);
}

%type fn_head {Head}
%type kernel_head {Head}
%type fn_word {Token}
fn_word(A) ::= FN(T).                    { A = T; }
fn_word(A) ::= OP(T).                    { A = T; }
fn_word(A) ::= ENTRY(T).                 { A = T; }
fn_head(A) ::= fn_word(K) NAME(N) generics(G) LPAREN params(P) RPAREN. {
    A = (Head){K, N, G, P};
}
kernel_head(A) ::= KERNEL(K) NAME(N) generics(G) LPAREN params(P) RPAREN. {
    A = (Head){K, N, G, P};
}

%type result {AstType *}
result(A) ::= .                          { A = NULL; }
result(A) ::= ARROW type(T).             { A = T; }

%type bind {Bind}
bind(A) ::= .                            { A = (Bind){0}; }
bind(A) ::= KERNEL NAME(N).              { A = (Bind){.name = N, .present = true}; }
bind(A) ::= KERNEL NAME(N) GENERIC gargs(G) GENERIC_END. { A = (Bind){N, G, true}; }

%type grad {Grad}
grad(A) ::= GRAD(F) LPAREN names(N) RPAREN LBRACE stmts(S) RBRACE(E). {
    A = (Grad){N, S, between(p, F, E)};
}

%type names {NameVec}
names(A) ::= NAME(N).                    { A = path_of(p, N).names; }
names(A) ::= names(A) COMMA NAME(N).     { vec_push(p->s->arena, &A, token_as_name(p, N)); }

%type results {ParamVec}
results(A) ::= result_param(R).          { A = (ParamVec){0}; vec_push(p->s->arena, &A, R); }
results(A) ::= results(A) COMMA result_param(R). { vec_push(p->s->arena, &A, R); }
%type result_param {Param *}
result_param(A) ::= NAME(N) COLON type(T). { A = build_param(p, N, T, NULL); }

%type grid {ExprVec}
grid(A) ::= GRID(G) LPAREN exprs(L) RPAREN(E). {
    A = (ExprVec){0};
    vec_push(p->s->arena, &A, build_tune(p, G, L, E));
}
grid(A) ::= grid(A) tune(T) LPAREN exprs(L) RPAREN(E). {
    vec_push(p->s->arena, &A, build_tune(p, T, L, E));
}
%type tune {Token}
tune(A) ::= WARPS(T).                    { A = T; }
tune(A) ::= STAGES(T).                   { A = T; }

%type generics {GenericDeclVec}
%type generic_list {GenericDeclVec}
%type generic {GenericDecl}
generics(A) ::= .                        { A = (GenericDeclVec){0}; }
generics(A) ::= GENERIC generic_list(L) GENERIC_END. { A = L; }
generics(A) ::= GENERIC generic_list(L) COMMA GENERIC_END. { A = L; }
generic_list(A) ::= generic(G).          { A = (GenericDeclVec){0}; vec_push(p->s->arena, &A, G); }
generic_list(A) ::= generic_list(A) COMMA generic(G). { vec_push(p->s->arena, &A, G); }
generic(A) ::= NAME(N) COLON NAME(B).    { A = build_generic(p, NULL, N, B, NULL); }
generic(A) ::= NAME(N) COLON NAME(B) EQ garg(D). { A = build_generic(p, NULL, N, B, &D); }
generic(A) ::= STAR(S) NAME(N) COLON NAME(B). { A = build_generic(p, &S, N, B, NULL); }
generic(A) ::= STAR(S) NAME(N) COLON NAME(B) EQ garg(D). { A = build_generic(p, &S, N, B, &D); }

%type params {ParamVec}
%type param_list {ParamVec}
%type one_param {Param *}
params(A) ::= .                          { A = (ParamVec){0}; }
params(A) ::= param_list(L).             { A = L; }
params(A) ::= param_list(L) COMMA.       { A = L; }
param_list(A) ::= one_param(P).          { A = (ParamVec){0}; vec_push(p->s->arena, &A, P); }
param_list(A) ::= param_list(A) COMMA one_param(P). { vec_push(p->s->arena, &A, P); }
one_param(A) ::= NAME(N) COLON type(T) value_opt(E). { A = build_param(p, N, T, E); }

%type value_opt {Expr *}
value_opt(A) ::= .                       { A = NULL; }
value_opt(A) ::= EQ expr(E).             { A = E; }

%type where {WhereVec}
%type where_list {WhereVec}
where(A) ::= .                           { A = (WhereVec){0}; }
where(A) ::= WHERE where_list(L).        { A = L; }
where(A) ::= WHERE where_list(L) COMMA.  { A = L; }
where_list(A) ::= expr(E). {
    A = (WhereVec){0};
    vec_push(p->s->arena, &A, build_where(p, E));
}
where_list(A) ::= where_list(A) COMMA expr(E). { vec_push(p->s->arena, &A, build_where(p, E)); }

%type fields {FieldVec}
fields(A) ::= .                          { A = (FieldVec){0}; }
fields(A) ::= fields(A) NAME(N) COLON type(T). {
    Field f = {.name = token_as_name(p, N), .span = token_span(p, N), .type_ast = T};
    vec_push(p->s->arena, &A, f);
}
fields(A) ::= fields(A) error SYNC.

%type variants {VariantVec}
%type variant_list {VariantVec}
variants(A) ::= .                        { A = (VariantVec){0}; }
variants(A) ::= variant_list(L).         { A = L; }
variants(A) ::= variant_list(L) COMMA.   { A = L; }
variant_list(A) ::= NAME(N). {
    A = (VariantVec){0};
    vec_push(p->s->arena, &A, ((Variant){token_as_name(p, N), token_span(p, N)}));
}
variant_list(A) ::= variant_list(A) COMMA NAME(N). {
    vec_push(p->s->arena, &A, ((Variant){token_as_name(p, N), token_span(p, N)}));
}

%type body {Body}
body(A) ::= .                            { A = (Body){0}; }
body(A) ::= body(A) member(M).           { vec_push(p->s->arena, &A.members, M); }
body(A) ::= body(A) item(I).             { vec_push(p->s->arena, &A.items, I); }
body(A) ::= body(A) error SYNC.

%type member {Member *}
member(A) ::= PARAM(F) NAME(N) COLON type(T) value_opt(E). {
    A = build_member(p, AST_PARAM, F, N, T, E);
}
member(A) ::= BUFFER(F) NAME(N) COLON type(T) value_opt(E). {
    A = build_member(p, AST_BUFFER, F, N, T, E);
}
member(A) ::= STATE(F) NAME(N) COLON type(T) value_opt(E). {
    A = build_member(p, AST_STATE, F, N, T, E);
}
member(A) ::= SUB(F) NAME(N) COLON type(T) value_opt(E). {
    A = build_member(p, AST_SUB, F, N, T, E);
}

%type serve_fields {ServeFieldVec}
serve_fields(A) ::= .                    { A = (ServeFieldVec){0}; }
serve_fields(A) ::= serve_fields(A) NAME(N) EQ expr(E). {
    ServeField f = {token_as_name(p, N), token_span(p, N), E};
    vec_push(p->s->arena, &A, f);
}
serve_fields(A) ::= serve_fields(A) error SYNC.

// ---- Types -------------------------------------------------------------------------------------

%type type_opt {AstType *}
type_opt(A) ::= .                        { A = NULL; }
type_opt(A) ::= COLON type(T).           { A = T; }

%type type {AstType *}
%type base_type {AstType *}
%type tensor {AstType *}
type(A) ::= base_type(T).                { A = T; }
type(A) ::= base_type(T) QUESTION(Q).    { A = type_optional_ast(p, T, Q); }
base_type(A) ::= path(P).                { A = build_named(p, P, (AstGenericArgVec){0}, P.span); }
base_type(A) ::= path(P) GENERIC gargs(G) GENERIC_END(E). {
    A = build_named(p, P, G, token_span(p, E));
}
base_type(A) ::= tensor(T).              { A = T; }
base_type(A) ::= LPAREN(F) types(L) RPAREN(E). { A = build_tuple_type(p, F, L, false, E); }
base_type(A) ::= LPAREN(F) types(L) COMMA RPAREN(E). { A = build_tuple_type(p, F, L, true, E); }
base_type(A) ::= LBRACKET(F) type(T) SEMI expr(N) RBRACKET(E). {
    A = build_array_type(p, F, T, N, E);
}
tensor(A) ::= TENSOR(F) LBRACKET shape_items(L) SEMI type(T) RBRACKET(E). {
    A = build_tensor(p, F, L, T, E);
}
%type types {AstTypeVec}
types(A) ::= type(T).                    { A = (AstTypeVec){0}; vec_push(p->s->arena, &A, T); }
types(A) ::= types(A) COMMA type(T).     { vec_push(p->s->arena, &A, T); }

%type shape_items {ShapeVec}
%type shape_list {ShapeVec}
%type shape_item {ShapeItem}
shape_items(A) ::= .                     { A = (ShapeVec){0}; }
shape_items(A) ::= shape_list(L).        { A = L; }
shape_items(A) ::= shape_list(L) COMMA.  { A = L; }
shape_list(A) ::= shape_item(I).         { A = (ShapeVec){0}; vec_push(p->s->arena, &A, I); }
shape_list(A) ::= shape_list(A) COMMA shape_item(I). { vec_push(p->s->arena, &A, I); }
shape_item(A) ::= expr(E).               { A = shape_expr(p, E); }
shape_item(A) ::= STAR(S) NAME(N).       { A = shape_pack(p, S, N); }

%type gargs {AstGenericArgVec}
%type garg_list {AstGenericArgVec}
%type garg {AstGenericArg}
gargs(A) ::= garg_list(L).               { A = L; }
gargs(A) ::= garg_list(L) COMMA.         { A = L; }
garg_list(A) ::= garg(G). {
    A = (AstGenericArgVec){0};
    vec_push(p->s->arena, &A, G);
}
garg_list(A) ::= garg_list(A) COMMA garg(G). { vec_push(p->s->arena, &A, G); }
garg(A) ::= expr(E).                     { A = generic_expr(p, E, NULL); }
garg(A) ::= expr(E) QUESTION(Q).         { A = generic_expr(p, E, &Q); }
garg(A) ::= postfix(E) GENERIC gargs(G) GENERIC_END(T). { A = generic_named(p, E, G, T); }
garg(A) ::= postfix(E) GENERIC gargs(G) GENERIC_END(T) QUESTION(Q). {
    A = generic_named(p, E, G, T);
    A.type = type_optional_ast(p, A.type, Q);
}
garg(A) ::= tensor(T).                   { A = generic_type(T); }
garg(A) ::= tensor(T) QUESTION(Q).       { A = generic_type(type_optional_ast(p, T, Q)); }
garg(A) ::= shape(S).                    { A = generic_shape(S); }

// ---- Patterns and statements -------------------------------------------------------------------

%type pattern {Pattern *}
%type arm_pattern {Pattern *}
%type patterns {PatternVec}
pattern(A) ::= arm_pattern(P).           { A = P; }
pattern(A) ::= LPAREN(F) patterns(L) RPAREN(E). { A = pattern_group(p, F, L, false, E); }
pattern(A) ::= LPAREN(F) patterns(L) COMMA RPAREN(E). { A = pattern_group(p, F, L, true, E); }
arm_pattern(A) ::= NAME(N).              { A = pattern_name(p, N); }
arm_pattern(A) ::= NONE(T). { A = build_pattern(p, PATTERN_NONE, T, T, (PatternVec){0}); }
arm_pattern(A) ::= SOME(F) LPAREN pattern(P) RPAREN(E). {
    PatternVec one = {0};
    vec_push(p->s->arena, &one, P);
    A = build_pattern(p, PATTERN_SOME, F, E, one);
}
patterns(A) ::= pattern(P).              { A = (PatternVec){0}; vec_push(p->s->arena, &A, P); }
patterns(A) ::= patterns(A) COMMA pattern(P). { vec_push(p->s->arena, &A, P); }

%type stmts {StmtVec}
stmts(A) ::= .                           { A = (StmtVec){0}; }
stmts(A) ::= stmts(A) stmt(S).           { vec_push(p->s->arena, &A, S); }
stmts(A) ::= stmts(A) error SYNC(T). {
    vec_push(p->s->arena, &A, build_stmt(p, STMT_ERROR, T, NULL));
}

%type stmt {Stmt *}
stmt(A) ::= LET(F) pattern(P) type_opt(T) EQ expr(E). { A = build_let(p, F, P, T, E); }
stmt(A) ::= LET(F) NAME(N) LBRACKET indices(I) RBRACKET EQ expr(E). {
    A = build_named_stmt(p, STMT_LET_INDEX, F, N, NULL, E);
    A->indices = I;
}
stmt(A) ::= VAR(F) NAME(N) type_opt(T) EQ expr(E). {
    A = build_named_stmt(p, STMT_VAR, F, N, T, E);
}
stmt(A) ::= NAME(N) EQ expr(E).          { A = build_named_stmt(p, STMT_ASSIGN, N, N, NULL, E); }
stmt(A) ::= RETURN(F) expr(E).           { A = build_stmt(p, STMT_RETURN, F, E); }
stmt(A) ::= RETURN_VOID(F).              { A = build_stmt(p, STMT_RETURN, F, NULL); }
stmt(A) ::= YIELD(F) expr(E).            { A = build_stmt(p, STMT_YIELD, F, E); }
stmt(A) ::= WHILE(F) expr(C) LBRACE stmts(S) RBRACE(E). {
    A = build_loop(p, STMT_WHILE, between(p, F, E), (Loop){.over = C, .body = S});
}
stmt(A) ::= STATIC(F) FOR pattern(P) IN expr(C) LBRACE stmts(S) RBRACE(E). {
    Loop loop = {.pattern = P, .over = C, .body = S};
    A = build_loop(p, STMT_STATIC_FOR, between(p, F, E), loop);
}
stmt(A) ::= STATIC(F) loop(L).           {
    A = build_loop(p, STMT_STATIC_FOR, span_join(token_span(p, F), L.span), L);
}
stmt(A) ::= loop(L).                     { A = build_loop(p, STMT_FOR, L.span, L); }
stmt(A) ::= STORE(F) LPAREN exprs(L) RPAREN(E). { A = build_store(p, F, L, E); }

%type loop {Loop}
loop(A) ::= FOR(F) pattern(P) IN expr(B) DOTDOT expr(C) LBRACE stmts(S) RBRACE(E). {
    A = (Loop){P, NULL, B, C, S, between(p, F, E)};
}

%type indices {IndexVarVec}
%type index_list {IndexVarVec}
%type index_var {IndexVar *}
indices(A) ::= index_list(L).            { A = L; }
indices(A) ::= index_list(L) COMMA.      { A = L; }
index_list(A) ::= index_var(I).          { A = (IndexVarVec){0}; vec_push(p->s->arena, &A, I); }
index_list(A) ::= index_list(A) COMMA index_var(I). { vec_push(p->s->arena, &A, I); }
index_var(A) ::= NAME(N).                { A = build_index_var(p, NULL, N); }
index_var(A) ::= STAR(S) NAME(N).        { A = build_index_var(p, &S, N); }

// ---- Expressions -------------------------------------------------------------------------------

%type expr {Expr *}
expr(A) ::= expr(B) OROR(T) expr(C).     { A = build_binary(p, BINARY_OROR, T, B, C); }
expr(A) ::= expr(B) ANDAND(T) expr(C).   { A = build_binary(p, BINARY_ANDAND, T, B, C); }
expr(A) ::= expr(B) EQEQ(T) expr(C).     { A = build_binary(p, BINARY_EQ, T, B, C); }
expr(A) ::= expr(B) NE(T) expr(C).       { A = build_binary(p, BINARY_NE, T, B, C); }
expr(A) ::= expr(B) LT(T) expr(C).       { A = build_binary(p, BINARY_LT, T, B, C); }
expr(A) ::= expr(B) LE(T) expr(C).       { A = build_binary(p, BINARY_LE, T, B, C); }
expr(A) ::= expr(B) GT(T) expr(C).       { A = build_binary(p, BINARY_GT, T, B, C); }
expr(A) ::= expr(B) GE(T) expr(C).       { A = build_binary(p, BINARY_GE, T, B, C); }
expr(A) ::= expr(B) OR(T) expr(C).       { A = build_binary(p, BINARY_OR, T, B, C); }
expr(A) ::= expr(B) XOR(T) expr(C).      { A = build_binary(p, BINARY_XOR, T, B, C); }
expr(A) ::= expr(B) AND(T) expr(C).      { A = build_binary(p, BINARY_AND, T, B, C); }
expr(A) ::= expr(B) PLUS(T) expr(C).     { A = build_binary(p, BINARY_ADD, T, B, C); }
expr(A) ::= expr(B) MINUS(T) expr(C).    { A = build_binary(p, BINARY_SUB, T, B, C); }
expr(A) ::= expr(B) STAR(T) expr(C).     { A = build_binary(p, BINARY_MUL, T, B, C); }
expr(A) ::= expr(B) SLASH(T) expr(C).    { A = build_binary(p, BINARY_DIV, T, B, C); }
expr(A) ::= expr(B) PERCENT(T) expr(C).  { A = build_binary(p, BINARY_MOD, T, B, C); }
expr(A) ::= postfix(B).                  { A = B; }
expr(A) ::= unary_op(T) postfix(B).      { A = build_unary(p, T.flags, T, B); }
expr(A) ::= reduce(H) expr(B). [REDUCE]  { A = build_reduce(p, H, B); }
expr(A) ::= unary_op(T) reduce(H) expr(B). [REDUCE] {
    A = build_unary(p, T.flags, T, build_reduce(p, H, B));
}

// The operator travels as the token's flags.
%type unary_op {Token}
unary_op(A) ::= MINUS(T).                { A = T; A.flags = UNARY_NEG; }
unary_op(A) ::= PLUS(T).                 { A = T; A.flags = UNARY_PLUS; }
unary_op(A) ::= BANG(T).                 { A = T; A.flags = UNARY_NOT; }

%type reduce {ReduceHead}
reduce(A) ::= REDUCE(N) LBRACKET indices(I) RBRACKET. { A = reduce_head(p, N, NULL, I); }
reduce(A) ::= REDUCE(N) GENERIC type(T) GENERIC_END LBRACKET indices(I) RBRACKET. {
    A = reduce_head(p, N, T, I);
}

%type postfix {Expr *}
postfix(A) ::= primary(B).               { A = B; }
postfix(A) ::= postfix(B) DOT NAME(N).   { A = build_member_expr(p, B, N); }
postfix(A) ::= postfix(B) LPAREN args(L) RPAREN(E). { A = build_call(p, B, NULL, L, E); }
postfix(A) ::= postfix(B) GENERIC gargs(G) GENERIC_END LPAREN args(L) RPAREN(E). {
    A = build_call(p, B, &G, L, E);
}
postfix(A) ::= postfix(B) LBRACKET parts(L) RBRACKET(E). { A = build_index(p, B, L, E); }

%type args {ArgVec}
%type arg_list {ArgVec}
%type arg {Arg}
args(A) ::= .                            { A = (ArgVec){0}; }
args(A) ::= arg_list(L).                 { A = L; }
args(A) ::= arg_list(L) COMMA.           { A = L; }
arg_list(A) ::= arg(B).                  { A = (ArgVec){0}; vec_push(p->s->arena, &A, B); }
arg_list(A) ::= arg_list(A) COMMA arg(B). { vec_push(p->s->arena, &A, B); }
arg(A) ::= arg_value(E).                 { A = build_arg(p, NULL, E); }
arg(A) ::= NAME(N) EQ arg_value(E).      { A = build_arg(p, &N, E); }
%type arg_value {Expr *}
arg_value(A) ::= expr(E).                { A = E; }
arg_value(A) ::= shape(S).               { A = S; }

%type shape {Expr *}
shape(A) ::= LBRACKET(F) shape_items(L) RBRACKET(E). { A = build_shape(p, F, L, E); }

%type parts {IndexPartVec}
%type part_list {IndexPartVec}
%type part {IndexPart}
parts(A) ::= part_list(L).               { A = L; }
parts(A) ::= part_list(L) COMMA.         { A = L; }
part_list(A) ::= part(B).                { A = (IndexPartVec){0}; vec_push(p->s->arena, &A, B); }
part_list(A) ::= part_list(A) COMMA part(B). { vec_push(p->s->arena, &A, B); }
part(A) ::= expr(E). { A = index_part(p, INDEX_EXPR, (Token){0}, (Token){0}, E); }
part(A) ::= ELLIPSIS(T).                 { A = index_part(p, INDEX_ELLIPSIS, T, T, NULL); }
part(A) ::= STAR(S) NAME(N).             { A = index_part(p, INDEX_PACK, S, N, NULL); }
part(A) ::= bound(B) COLON(T) bound(C).  { A = index_slice(p, T, B, C, NULL, NULL); }
part(A) ::= bound(B) COLON(T) bound(C) COLON(U) bound(D). {
    A = index_slice(p, T, B, C, &U, D);
}
%type bound {Expr *}
bound(A) ::= .                           { A = NULL; }
bound(A) ::= expr(E).                    { A = E; }

%type primary {Expr *}
primary(A) ::= INT(T).                   { A = build_leaf(p, EXPR_INT, T); }
primary(A) ::= FLOAT(T).                 { A = build_leaf(p, EXPR_FLOAT, T); }
primary(A) ::= STRING(T).                { A = build_leaf(p, EXPR_STRING, T); }
primary(A) ::= TRUE(T).                  { A = build_leaf(p, EXPR_BOOL, T); A->int_value = 1; }
primary(A) ::= FALSE(T).                 { A = build_leaf(p, EXPR_BOOL, T); }
primary(A) ::= NONE(T).                  { A = build_leaf(p, EXPR_NONE, T); }
primary(A) ::= NAME(T).                  { A = build_leaf(p, EXPR_NAME, T); }
primary(A) ::= SOME(F) LPAREN expr(B) RPAREN(E). { A = build_some(p, F, B, E); }
primary(A) ::= LPAREN(F) expr(B) RPAREN(E). { A = build_parens(p, F, B, E); }
primary(A) ::= LPAREN(F) exprs(L) COMMA RPAREN(E). { A = build_tuple(p, F, L, E); }
primary(A) ::= LPAREN(F) exprs(L) COMMA expr(B) RPAREN(E). {
    vec_push(p->s->arena, &L, B);
    A = build_tuple(p, F, L, E);
}
primary(A) ::= IF(F) expr(C) LBRACE expr(B) RBRACE ELSE LBRACE expr(D) RBRACE(E). {
    A = build_if(p, F, C, B, D, E);
}
primary(A) ::= MATCH(F) expr(B) LBRACE arms(L) RBRACE(E). { A = build_match(p, F, B, L, E); }
primary(A) ::= loop(L).                  { A = build_for(p, L); }

%type exprs {ExprVec}
exprs(A) ::= expr(E).                    { A = (ExprVec){0}; vec_push(p->s->arena, &A, E); }
exprs(A) ::= exprs(A) COMMA expr(E).     { vec_push(p->s->arena, &A, E); }

%type arms {ArmVec}
arms(A) ::= .                            { A = (ArmVec){0}; }
arms(A) ::= arms(A) arm_pattern(P) FATARROW expr(E). {
    Arm arm = {.pattern = P, .value = E, .span = span_join(P->span, E->span)};
    vec_push(p->s->arena, &A, arm);
}

%code {
#include "syntax/ask.h"
}

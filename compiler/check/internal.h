// What the checker's files share. Nothing outside of compiler/check includes this.
#pragma once
#include "check/builtins.h"
#include "check/check.h"

typedef struct Scope Scope; // the locals of one brace pair, innermost first
struct Scope {
    Scope *outer;
    VEC(Local *) locals;
};

typedef struct Notation Notation; // the indices that one let or reduction lists, innermost first
struct Notation {
    Notation *outer;
    IndexVarVec *vars;
};

typedef struct KernelWrite KernelWrite; // kernel.c: how a result is written

// Where the checker stands. Copied when it turns to another declaration.
typedef struct {
    Program *p;
    Session *s;
    Arena *a;
    DimTable *dims;
    Module *module;
    Item *block;  // enclosing block, or NULL
    Item *fn;     // enclosing fn, op, entry, or NULL
    Facts *facts; // what is known here
    Scope *scope;
    Map *visible;        // Name -> the innermost Local of that name
    Notation *notation;  // or NULL outside of index notation
    int loop_depth;      // static for, while, for
    bool in_scan;        // directly inside a `for` that yields
    const Type *yield;   // type of the scan's yields so far
    bool in_where;       // no E2205 inside where clauses
    ItemVec *callees;    // of fn
    KernelWrite *writes; // in a kernel: the results written so far
} Checker;

// What a name means.
typedef struct {
    RefKind kind;
    Local *local;
    Param *param;
    const Generic *generic;
    Item *item;
    Member *member;
    int builtin;
    Module *module;
} Ref;

// module.c: loading, imports, scopes
Module *load_parsed(Program *p, int file); // parses; notes syntax errors in p->broken
void load_imports(Program *p, Module *m);
Item *module_item(Module *m, Name name);
Import *module_import(Module *m, Name name);

// scope.c: names
Ref lookup(Checker *c, Name name);
bool is_prelude_name(const char *name);
void unknown_name(Checker *c, Name name, Span span); // E1201 with a suggestion
Local *declare(Checker *c, Name name, Span span, const Type *type, bool is_mutable);
void scope_push(Checker *c, Scope *scope);
void scope_pop(Checker *c);
IndexVar *find_index(Checker *c, Name name, bool pack);

// decl.c: declarations
Checker checker_for(Program *p, Item *item);
void check_signature(Program *p, Item *item);
void check_body(Program *p, Item *item);
void check_const(Program *p, Item *item, Span use);
Item *block_item(Item *block, Name name);
Member *block_member(Item *block, Name name);
void check_sources(Checker *c, Item *item, Span span, const GenericArg *args, const char *what);

// types.c: types and dimensions as written
const Type *resolve_type(Checker *c, AstType *t);
Elem resolve_elem(Checker *c, AstType *t);
const Axis *resolve_shape(Checker *c, const ShapeVec *shape, int *count);
const Dim *resolve_dim(Checker *c, Expr *e); // a compile-time integer, else E2123 and NULL
bool sound_shape(Checker *c, const Type *t, Span span);
enum { MOST_PARTS = 1024 };
bool too_large(Checker *c, const Type *t, Span span); // a value of too many parts: E2190
bool too_many_axes(Checker *c, int axes, Span span);  // more than a tensor can have: E2190
bool is_negative(Checker *c, const Dim *d);           // provably
bool resolve_generic_args(Checker *c, Item *decl, AstGenericArgVec *args, Span span,
                          GenericArg *out);
bool finish_generics(Checker *c, Item *decl, GenericArg *args, Span span);
void check_bounds(Checker *c, Item *decl, const GenericArg *args, Span span);
bool prove_clause(Checker *c, Item *decl, const Where *w, const Subst *s, Span span);
bool prove_where(Checker *c, Item *decl, const Subst *s, Span span);
Binding binding_of(Checker *c, Item *decl, const GenericArg *args);
const Subst *subst_block(Checker *c, const Type *block);

// expr.c: expressions
void check_expr(Checker *c, Expr *e, const Type *want);
bool coerce(Checker *c, Expr *e,
            const Type *want);                  // a constant gets its dtype; false after a report
void default_literal(Checker *c, Expr *e);      // i64 or f64 for a constant without context
const Type *expect_tensor(Checker *c, Expr *e); // NULL (reported) if it is none
bool expect_type(Checker *c, Expr *e, const Type *want, Span span, const char *what);
const Type *broadcast(Checker *c, const Type *a, const Type *b, Elem elem, Span span);
void mismatch(Checker *c, Span span, const Type *want, const Type *have, const char *what);
const char *item_article(ItemKind k); // "a", "an"
void make_error(Expr *e);
bool is_error(const Expr *e);

// index.c, call.c, builtin.c, stmt.c, pattern.c, binary.c
void check_index(Checker *c, Expr *e);
void check_reduce(Checker *c, Expr *e);
void check_notation(Checker *c, Stmt *st);
void check_call(Checker *c, Expr *e, const Type *want);
void check_builtin(Checker *c, Expr *e, const Type *want);
void check_binary(Checker *c, Expr *e, const Type *want);
void check_stmts(Checker *c, StmtVec *body, bool is_fn_body);
void check_grad(Checker *c, Item *item); // the grad clause of an op, if it has one

// kernel.c: kernels, and ops bound to them
bool in_kernel(const Checker *c);
bool is_memory(const Checker *c, const Param *p);    // a parameter or result of the kernel c is in
void check_kernel_signature(Checker *c, Item *item); // results and grid, after the parameters
void check_kernel_body(Checker *c, Item *item);
void check_kernel_call(Checker *c, Expr *e); // load, program_id
void check_store(Checker *c, Stmt *st);
void check_binding(Checker *c, Item *op); // the kernel of an op, if it has one

// Is it a literal's type, which takes its dtype from what stands around?
static inline bool contextual(const Type *t) {
    return t->kind == TYPE_INT || t->kind == TYPE_REAL;
}

// stmt.c: patterns
enum { ARM_ALL = -2 }; // the pattern of an arm matches everything
int check_arm_pattern(Checker *c, Pattern *p, const Type *type);

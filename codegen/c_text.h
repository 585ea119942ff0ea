// Loop IR -> C: what the emitter's files share.
#pragma once
#include "codegen/codegen.h"
#include "codegen/loop.h"
#include "codegen/names.h"
#include "codegen/writer.h"

// An expression, with parentheses where C or a careful reader needs them (c_expr.c).
const char *c_expr(const LoopModule *m, const Expr *x);

// A declaration without its semicolon: "const float *x", "int64_t n".
const char *c_declare(const LoopModule *m, LoopType t, const char *name, bool restricted);
const char *c_type(const LoopModule *m, LoopType t); // "const float *", "float"

// Statements (c_stmt.c). Long ones are taken apart: parts get names, branches become ifs.
void c_stmts(const LoopModule *m, Names *names, Writer *w, int indent, const Stmts *list);

// Functions, callees first, and what they need of helpers (c_module.c).
void c_functions(LoopModule *m, Writer *w);

// Structs of weights, members first (c_header.c).
void c_structs(const LoopModule *m, Writer *w);

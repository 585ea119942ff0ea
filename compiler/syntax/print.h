// Pieces of source text that signatures share with expressions. Internal to this folder.
#pragma once
#include "syntax/ast.h"

void print_generic(const AstGenericArg *arg, StrBuf *b);
void print_generics(const AstGenericArgVec *args, StrBuf *b); // with its angle brackets
// Does the text end in a reduction's body, which would take in what follows?
bool print_is_open(const Expr *e);

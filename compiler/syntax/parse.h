// Source text to syntax tree.
#pragma once
#include "syntax/ast.h"

// Parses the session's source number `file` into a module. Reports E1001..E1005, E1101..E1103 and
// goes on after an error at the next statement or item; the module holds what could be read. Never
// NULL.
Module *parse_module(Session *s, int file);

// One expression from text (settings, tests). NULL after reporting.
Expr *parse_expr_text(Session *s, int file);

// The tokens of a source, one a line: "12:5 NAME forward" (`serin dump --stage=tokens`).
void dump_tokens(Session *s, int file, StrBuf *out);

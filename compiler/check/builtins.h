// Numbers of the prelude's functions (Expr.builtin), for the checker and the lowering.
#pragma once

typedef enum {
#define BUILTIN(id, name, least, most, generics) id,
#include "check/builtins.def"
#undef BUILTIN
    BI_COUNT
} Builtin;

const char *builtin_name(Builtin b);

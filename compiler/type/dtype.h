// Element types: a table of names, sizes and classes.
#pragma once
#include <stdbool.h>

typedef enum {
#define DTYPE(id, name, bytes, class, c) id,
#include "type/dtype.def"
#undef DTYPE
    DT_COUNT
} Dtype;

const char *dtype_name(Dtype t);
bool dtype_find(const char *name, Dtype *t); // false if there is none of that name
int dtype_size(Dtype t);                     // bytes
bool dtype_is_float(Dtype t);
bool dtype_is_integer(Dtype t); // signed or unsigned, not bool
bool dtype_is_signed(Dtype t);  // signed integer
const char *dtype_c(Dtype t);   // C spelling of the stored element

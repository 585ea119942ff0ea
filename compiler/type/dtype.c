// The table of element types.
#include "type/dtype.h"
#include <string.h>

static const struct {
    const char *name;
    int bytes;
    char class;
    const char *c;
} table[] = {
#define DTYPE(id, name, bytes, class, c) {name, bytes, class, c},
#include "type/dtype.def"
#undef DTYPE
};

const char *dtype_name(Dtype t) {
    return table[t].name;
}

bool dtype_find(const char *name, Dtype *t) {
    for (int i = 0; i < DT_COUNT; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *t = (Dtype)i;
            return true;
        }
    }
    return false;
}

int dtype_size(Dtype t) {
    return table[t].bytes;
}

bool dtype_is_float(Dtype t) {
    return table[t].class == 'F';
}

bool dtype_is_integer(Dtype t) {
    return table[t].class == 'S' || table[t].class == 'U';
}

bool dtype_is_signed(Dtype t) {
    return table[t].class == 'S';
}

const char *dtype_c(Dtype t) {
    return table[t].c;
}

// Growing by doubling; see vec.h.
#include "base/vec.h"
#include <limits.h>
#include <string.h>

void *vec_grow(Arena *a, void *data, int len, int *cap, size_t size) {
    int wider = *cap < 4 ? 4 : *cap > INT_MAX / 2 ? INT_MAX : *cap * 2;
    void *moved = arena_array(a, (size_t)wider, size);
    if (len)
        memcpy(moved, data, (size_t)len * size);
    *cap = wider;
    return moved;
}

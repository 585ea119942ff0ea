// Growable arrays over an arena: a struct of {data, len, cap} per element type.
//
//     VEC(Token) tokens = {0};
//     vec_push(arena, &tokens, token);
//     for (int i = 0; i < tokens.len; i++) use(tokens.data[i]);
#pragma once
#include "base/arena.h"

#define VEC(T)                                                                                     \
    struct {                                                                                       \
        T *data;                                                                                   \
        int len;                                                                                   \
        int cap;                                                                                   \
    }

// The grown data of a vector that is full; moves the elements (the old ones stay in the arena).
void *vec_grow(Arena *a, void *data, int len, int *cap, size_t size);

#define vec_push(a, v, x)                                                                          \
    do {                                                                                           \
        if ((v)->len == (v)->cap)                                                                  \
            (v)->data = vec_grow((a), (v)->data, (v)->len, &(v)->cap, sizeof *(v)->data);          \
        (v)->data[(v)->len++] = (x);                                                               \
    } while (0)

#define vec_last(v) ((v)->data[(v)->len - 1])

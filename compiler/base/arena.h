// Arena: memory that lives as long as a compilation, a pass or a request, freed in one call.
//
// Nothing allocated from an arena is freed alone. Every allocation is zeroed. Out of memory ends
// the program with a message and exit code 3: no caller has to check.
#pragma once
#include <stddef.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *a); // NULL is allowed

// An arena that goes with its parent, unless it is freed before.
Arena *arena_child(Arena *parent);

// Zeroed memory, aligned for any type. Owned by the arena.
void *arena_alloc(Arena *a, size_t size);

// A copy of `size` bytes, with a NUL after them.
void *arena_copy(Arena *a, const void *bytes, size_t size);

// Array of n elements, with the multiplication checked.
void *arena_array(Arena *a, size_t n, size_t size);

#define NEW(a, T) ((T *)arena_alloc((a), sizeof(T)))
#define NEW_N(a, T, n) ((T *)arena_array((a), (size_t)(n), sizeof(T)))

// Arena: a chain of blocks that grow by doubling up to 256 KiB; large requests get a block of their
// own.
#include "base/arena.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST_BLOCK ((size_t)16 << 10)
#define LARGEST_BLOCK ((size_t)256 << 10)
#define FIRST_POPULATED ((size_t)128 << 10)
#define ALIGNMENT sizeof(max_align_t)

typedef struct Block Block;
struct Block {
    Block *next; // older block
    size_t size; // bytes of data
    size_t used; // bytes handed out
    max_align_t data[];
};

struct Arena {
    Block *top;             // block that allocations come from
    size_t next;            // size of the next block
    Arena *child;           // the youngest
    Arena *parent;          // or NULL
    Arena *older, *younger; // its parent's other children
};

static void *need(void *p) {
    if (!p) {
        fputs("serin: out of memory\n", stderr);
        exit(3);
    }
    return p;
}

Arena *arena_new(void) {
    Arena *a = need(calloc(1, sizeof *a));
    a->next = FIRST_BLOCK;
    return a;
}

Arena *arena_child(Arena *parent) {
    Arena *a = arena_new();
    a->parent = parent;
    a->older = parent->child;
    if (a->older)
        a->older->younger = a;
    parent->child = a;
    return a;
}

static void leave_parent(Arena *a) {
    if (a->older)
        a->older->younger = a->younger;
    *(a->younger ? &a->younger->older : &a->parent->child) = a->older;
}

void arena_free(Arena *a) {
    if (!a)
        return;
    while (a->child)
        arena_free(a->child);
    if (a->parent)
        leave_parent(a);
    for (Block *b = a->top; b;) {
        Block *next = b->next;
        free(b);
        b = next;
    }
    free(a);
}

// Asks for the pages of a large block at once: faults one by one cost a short run half its time.
static void populate(Block *b, size_t size) {
#ifdef MADV_POPULATE_WRITE
    enum { PAGE = 4096 };
    uintptr_t start = ((uintptr_t)b + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)b + sizeof *b + size) & ~(uintptr_t)(PAGE - 1);
    if (end > start)
        (void)madvise((void *)start, end - start, MADV_POPULATE_WRITE);
#else
    (void)b, (void)size;
#endif
}

static Block *block_new(Arena *a, size_t size) {
    Block *b = need(calloc(1, sizeof *b + size));
    if (size >= FIRST_POPULATED && size <= LARGEST_BLOCK)
        populate(b, size);
    b->size = size;
    b->next = a->top;
    a->top = b;
    return b;
}

void *arena_alloc(Arena *a, size_t size) {
    if (size > SIZE_MAX / 4)
        need(NULL);
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!a->top || a->top->size - a->top->used < size) {
        block_new(a, size > a->next ? size : a->next);
        if (a->next < LARGEST_BLOCK)
            a->next *= 2;
    }
    Block *b = a->top;
    void *p = (char *)b->data + b->used;
    b->used += size;
    return p;
}

void *arena_array(Arena *a, size_t n, size_t size) {
    if (size && n > SIZE_MAX / 4 / size)
        need(NULL);
    return arena_alloc(a, n * size);
}

void *arena_copy(Arena *a, const void *bytes, size_t size) {
    char *p = arena_alloc(a, size + 1);
    if (size)
        memcpy(p, bytes, size);
    return p;
}

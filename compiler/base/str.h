// Text: slices, interned names, and a builder.
#pragma once
#include "base/arena.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

// A slice of bytes; not NUL-terminated in general.
typedef struct {
    const char *ptr;
    int len;
} Str;

#define STR(literal) ((Str){(literal), (int)sizeof(literal) - 1})
#define STR_ARG(s) (s).len, (s).ptr // for "%.*s"

bool str_eq(Str a, Str b);
Str str_of(const char *nul_terminated);

// Interned names: equal text is an equal pointer, NUL-terminated, owned by the interner's arena.
typedef const char *Name;
typedef struct Interner Interner;
Interner *interner_new(Arena *a);
Name intern(Interner *in, Str s);

// Text built piece by piece, always NUL-terminated.
typedef struct {
    Arena *arena;
    char *data;
    int len;
    int cap;
} StrBuf;

StrBuf strbuf_new(Arena *a);
void strbuf_add(StrBuf *b, Str s);
void strbuf_char(StrBuf *b, char c);
void strbuf_printf(StrBuf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void strbuf_vprintf(StrBuf *b, const char *format, va_list args);

// Formatted text in the arena, NUL-terminated.
char *arena_printf(Arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Edit distance (insert, delete, replace, swap neighbours), for "did you mean"; at most `limit`
// + 1.
int str_distance(const char *a, const char *b, int limit);

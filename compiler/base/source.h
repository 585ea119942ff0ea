// Sources and spans: where a piece of text came from.
#pragma once
#include "base/str.h"

// A range of bytes of one source. file 0 means "nowhere" (generated code, the command line).
typedef struct {
    int file;  // 1-based number of the source in its Session
    int start; // first byte
    int end;   // one past the last byte
} Span;

typedef struct {
    const char *path; // as shown to the user
    Str text;         // NUL-terminated contents
    int *lines;       // offset of each line's first byte
    int line_count;
    int *points; // code points before every so many bytes; see source.c
} Source;

#define SOURCE_LIMIT (64 << 20) // bytes; offsets must fit an int with room to spare

// A source over text the arena owns; computes the line table.
Source *source_new(Arena *a, const char *path, Str text);

// Reads a whole file. NULL if it can't be read or is too large; *why then says which.
Source *source_load(Arena *a, const char *path, const char **why);

// The same of a program: a file that is no text is refused.
Source *source_load_program(Arena *a, const char *path, const char **why);

// 1-based line and column (in code points) of a byte offset.
void source_place(const Source *s, int offset, int *line, int *column);

// The text of a 1-based line, without its newline.
Str source_line(const Source *s, int line);

// The span from the start of a to the end of b.
Span span_join(Span a, Span b);

// Writer: lines of C that clang-format (LLVM style, 4 spaces, 100 columns) leaves as they are.
//
// A line has an indent, a text and perhaps a trailing comment. Trailing comments of neighbouring
// lines are aligned as the formatter does; where one would pass the last column, the comments of
// that group go above their lines.
#pragma once
#include "base/str.h"
#include "base/vec.h"

enum { WRITER_COLUMNS = 100, WRITER_INDENT = 4 };

typedef struct {
    int indent;          // levels
    const char *text;    // "" for an empty line; may hold newlines if it was wrapped
    const char *comment; // behind it, without "//"; or NULL
} Line;

typedef struct {
    Arena *arena;
    VEC(Line) lines;
} Writer;

void write_line(Writer *w, int indent, const char *comment, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void write_blank(Writer *w);
void write_lines(Writer *w, const char *const *text); // up to NULL; "" is an empty line

// A comment of its own lines, wrapped between words. Control characters, line splices and
// trigraphs in it are made harmless.
void write_comment(Writer *w, int indent, const char *text);

// head(arg, arg, ...)tail, on one line if it fits, else filled and aligned under the parenthesis.
// False if that does not fit either; nothing is written then.
bool write_call(Writer *w, int indent, const char *head, int n, const char *const *args,
                const char *tail);

// Would the text fit on a line?
bool writer_fits(int indent, const char *text);

void writer_text(const Writer *w, StrBuf *out);

// The formatter's state, and what items, statements, types and expressions ask of each other.
// Internal to this folder.
#pragma once
#include "syntax/gaps.h"
#include "syntax/layout.h"

typedef struct {
    Session *s;
    Arena *a;
    const char *text; // of the source
    TokenVec t;       // as the grammar saw them; the end of the file last
    Gaps g;
    int at;      // the next token
    int written; // the gap before this token gave up its comments, or -1
} Formatter;

typedef Doc *(*Part)(Formatter *f);

typedef struct {
    bool padded; // `{ a }` rather than `(a)`
    bool stiff;  // see Doc
    bool fixed;  // takes no comma at its end
    bool tuple;  // a comma after a lone part has a meaning
} ListStyle;

// ---- format_tokens.c ----
int ahead(const Formatter *f, int n); // kind of the n-th token from here; 0 is the next
Doc *seq(Formatter *f);
Doc *take(Formatter *f);         // the next token with its comments
void word(Formatter *f, Doc *d); // it and a space
void space(Formatter *f, Doc *d);
void drop(Formatter *f);                           // the next token, which has no comments
bool bare(const Formatter *f, int token);          // no comment before or after it?
bool forced_before(const Formatter *f, int token); // does a comment break the line before it?
// Ends a group that began with token `first`: comments inside break it.
void close_group(const Formatter *f, Doc *group, int first);
// Comments of their own before the closing bracket that is next.
void closing_comments(Formatter *f, Doc *inner);
// A bracketed list. A comma at its end gives each part a line of its own.
Doc *list(Formatter *f, ListStyle style, int close, Part part);

// ---- format_types.c ----
Doc *put_path(Formatter *f);
Doc *put_type(Formatter *f);
Doc *put_garg(Formatter *f);
Doc *put_shape_item(Formatter *f);
Doc *put_pattern(Formatter *f);
Doc *put_index_var(Formatter *f);

// ---- format_expr.c ----
Doc *put_operand(Formatter *f); // an operand, its continued lines indented
// `= value`, with the space before it.
Doc *put_value(Formatter *f);

// ---- format_stmt.c ----
Doc *put_body(Formatter *f); // { statements }
Doc *put_loop(Formatter *f);
// { parts } with a part on each line; `blank` says whether an empty line must go before the next.
Doc *put_braces(Formatter *f, Part part, bool (*blank)(const Formatter *f, int from));

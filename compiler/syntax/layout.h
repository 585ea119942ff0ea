// Laying out text: pieces with places where a line may be broken, in nested groups.
//
// A group is written on one line if it fits; else each of its own breaks becomes a new line, and
// its inner groups are tried on their own (Wadler, "A prettier printer"; Oppen's groups). Internal
// to this folder.
#pragma once
#include "base/str.h"

typedef enum {
    DOC_TEXT,    // text on one line
    DOC_SPACE,   // a space, or a new line in a broken group
    DOC_SOFT,    // nothing, or a new line in a broken group
    DOC_HARD,    // always a new line
    DOC_BLANK,   // always an empty line
    DOC_COMMA,   // a comma in a broken group only
    DOC_COMMENT, // a comment on lines of its own
    DOC_SUFFIX,  // a comment that waits for the end of the line
    DOC_SEQ,     // children in order
    DOC_GROUP,   // children on one line, or broken
    DOC_INDENT,  // children, further right
} DocKind;

typedef struct Doc Doc;
struct Doc {
    DocKind kind;
    Str text;         // TEXT, COMMENT, SUFFIX
    Doc *first, *end; // children
    Doc *next;        // sibling
    bool broken;      // GROUP: must be broken; others: holds something that breaks what is around
    bool stiff;       // GROUP: breaks only if what stands before it can't
    bool blank;       // COMMENT: an empty line follows
};

enum { LAYOUT_WIDTH = 100, LAYOUT_INDENT = 4 };

Doc *doc_new(Arena *a, DocKind kind);
Doc *doc_text(Arena *a, Str text);
void doc_add(Doc *parent, Doc *child); // NULL is nothing
void doc_put(Arena *a, Doc *parent, DocKind kind);
void doc_str(Arena *a, Doc *parent, const char *text);

// Writes it, ending in one newline if there is anything.
void layout(Arena *a, Doc *doc, StrBuf *out);

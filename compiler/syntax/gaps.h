// What lies between tokens: comments and empty lines. Internal to this folder.
#pragma once
#include "syntax/token.h"

typedef enum {
    COMMENT_TRAILING, // ends the line of the token before it
    COMMENT_OWN,      // has lines of its own
    COMMENT_INLINE,   // a token follows on its line
} CommentPlace;

typedef struct {
    CommentPlace place;
    Str text;   // without spaces at its end
    bool blank; // an empty line follows
} Comment;

// What lies before one token.
typedef struct {
    int first, count; // of its comments
    bool blank;       // an empty line before the first comment of its own, or before the token
    bool forced;      // some comment needs a new line here
} Gap;

typedef struct {
    VEC(Comment) comments;
    VEC(Gap) gaps; // per token
    int *forced;   // how many of the gaps before token i are forced
} Gaps;

// The gaps before each of the tokens, which are in order and the end of the file is last.
Gaps gaps_find(Session *s, const char *text, const TokenVec *tokens);

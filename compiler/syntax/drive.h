// The driver of the generated parser: what it keeps, and what it asks of the tables. Internal to
// this folder.
//
// A token is fed only if the parser will accept it, so Lemon's own error handling never starts by
// itself: an error finds the parser as it was before the wrong token, with an exact list of what
// could have stood there. SYNC then makes Lemon unwind to the innermost list that can go on.
#pragma once
#include "syntax/build.h"

// An open bracket.
typedef struct {
    int token; // its index
    int kind;  // as it was fed: GENERIC for a `<`
} Open;

typedef struct {
    Parser p;       // what the actions see
    void *lemon;    // the generated parser
    TokenVec t;     // all tokens, marked
    Arena *scratch; // their memory, freed when the tree is there
    int at;         // the next one
    VEC(Open) open; // brackets open now
    int errors;     // of the session before the first syntax error
    int failed_at;  // token at which the last one was, or -1
    int separated;  // list (its opener's token + 1, or 0) whose needless separators were reported
    bool cut;       // the tokens end before the file
    bool lone;      // parsing one expression: nothing to recover to
    bool done;      // the end was accepted, or nothing more can be
    TokenVec *fed;  // what was fed, as it was fed; or NULL
} Driver;

// The list that SYNC would unwind to.
typedef struct {
    bool found;
    int brackets;    // how many open brackets it leaves behind
    bool items;      // it holds items,
    bool members;    // members of a block,
    bool statements; // statements,
    bool named;      // or something that begins with a name (statements do, too)
} Recovery;

// ---- The generated parser (end of grammar.y) ----
void *SyntaxAlloc(void *(*allocate)(size_t), Parser *p);
void SyntaxFree(void *parser, void (*release)(void *));
void Syntax(void *parser, int kind, Token token);
bool grammar_accepts(void *parser, int kind); // would it take a token of this kind now?
Recovery grammar_recovery(void *parser);
int grammar_depth(void *parser);             // symbols on its stack
void grammar_unwind(void *parser, Token at); // announces an error; the parser is as ready as before

// ---- parse.c ----
void feed(Driver *d, int kind, Token t); // must be acceptable
// parse_module, which also keeps the tokens with the kinds that the grammar saw, the end last.
Module *parse_recorded(Session *s, int file, TokenVec *fed);

// ---- recover.c ----
// The token at d->at is not acceptable as `kind`: reports it, and mends or unwinds so that parsing
// can go on at d->at.
void handle_error(Driver *d, int kind);

// ---- hint.c ----
// A help for the error at d->at, from habits of other languages; NULL if nothing is known.
const char *hint(Driver *d, int kind);

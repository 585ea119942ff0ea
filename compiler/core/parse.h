// Inside of the reader: tokens and state that core_lex.c, dim_parse.c, comp_parse.c, core_parse.c
// share.
#pragma once
#include "core/core.h"

typedef enum {
    T_END,    // of the text, or after the first error
    T_WORD,   // letters, digits, `_`, and a number after a point: `x`, `x.2`
    T_LABEL,  // @rms_norm.2
    T_VALUE,  // %x.2, %7
    T_INT,    // 30
    T_FLOAT,  // 1.5, 1e-05
    T_STRING, // "std.nn.norm::rms_norm"
    T_PUNCT,  // one of ( ) [ ] { } , : ; . = < + - * / % and `->`, `<=` as '>' and 'L'
} TokenKind;

typedef struct {
    TokenKind kind;
    Str text;    // of words, labels, values: without the sigil
    int punct;   // T_PUNCT
    Span span;   // in the source
    Str comment; // the `//` line right before it, or empty
} Token;

typedef struct {
    Core *core;
    Arena *scratch;         // maps and lists, freed at the end
    Str text;               // the whole source
    int file;               // its number in the session
    int at;                 // offset after the token
    Token tok;              // the token to be looked at
    bool failed;            // the first error is reported and the rest is skipped
    int depth;              // of nested expressions, types and regions
    Map symbols;            // Name as printed -> const Dim *
    Map blocks;             // label -> CoreBlock *, also those that are only referred to so far
    VEC(CoreBlock *) named; // the same, in order of mention
    Map fns;                // label -> CoreFn *
    Map values;             // Name as printed -> its Val, of the function being read
    CoreFn *fn;             // being read
} Parser;

enum {
    DEEPEST = 64,        // nesting of anything
    MOST_SYMBOLS = 1024, // in a module
    MOST_ITEMS = 10000,  // blocks and functions in a module
    MOST_NODES = 65536,  // in a body
};

// Reports E1101 at the token, once; the reader then sees the end everywhere.
void parse_fail(Parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void parse_fail_at(Parser *p, Span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void parse_next(Parser *p);                // to the next token
bool parse_is(const Parser *p, int punct); // is it this sign?
bool parse_is_word(const Parser *p, const char *word);
bool parse_take(Parser *p, int punct); // goes on if it is
bool parse_take_word(Parser *p, const char *word);
void parse_need(Parser *p, int punct);        // or fails
Name parse_name(Parser *p, const char *what); // a word as printed, with its number
Name parse_base(Parser *p, Name printed);     // without the number; NULL for a bare number
bool parse_enter(Parser *p);                  // one level deeper; fails beyond DEEPEST
uint64_t parse_magnitude(Parser *p, uint64_t most, const char *what); // T_INT

const Dim *parse_dim(Parser *p); // never NULL; the constant 0 after an error

// `[i, j] sum.fma [h < 576] { ... }` of a value with these arguments; NULL after an error.
Comp *parse_comp(Parser *p, int n, const Val *args);

// Tokens, and the interface between the lexer, the marks and the parser. Internal to this folder.
//
// A token's kind is Lemon's own number (TK_* of the generated grammar.h), so there is no second
// table. The text of a token is never copied: it is the source's bytes from start to end.
#pragma once
#include "base/session.h"

typedef enum {
    TOKEN_FIRST = 1,     // first on its line
    TOKEN_GENERIC = 2,   // a `<` that opens the generics of a call or of a reduction
    TOKEN_AFTER_BAD = 4, // a lexical error was reported just before it
    TOKEN_BAD = 8,       // stands for a malformed number or string, already reported
} TokenFlag;

typedef struct {
    int kind;       // TK_*; 0 is the end of the file
    int start, end; // bytes of the source
    int match;      // a bracket's partner (index of its token), or -1
    int flags;      // of TokenFlag
} Token;
typedef VEC(Token) TokenVec;

enum {
    MAX_TOKENS = 4 << 20, // of a file
    MAX_ERRORS = 100,     // lexical errors, and again syntax errors, reported of one file
    MAX_BRACKETS = 256,   // brackets open at once
    MAX_STACK = 10000,    // symbols on the parser's stack where a reduction begins
    MAX_DEPTH = 1000, // height of an expression's tree: chains of operators or members count too
};

// All tokens of a source, the end of the file last, in memory of `a`. Reports E1001..E1003, E1005
// (and E1101 for a file with too many tokens); *stopped says that the tokens end before the file
// does.
TokenVec lex(Session *s, Arena *a, int file, bool *stopped);

// Finds the partners of brackets, the `<` that open generics of calls, and reductions: changes
// `match`, TOKEN_GENERIC and the kind of reduction names. One pass, linear.
void mark_tokens(Session *s, const char *text, TokenVec *tokens);

const char *token_text(int kind); // for messages: "`(`", "a name"
bool token_is(const char *text, Token t, const char *word);
bool token_starts_statement(int kind);    // keywords that only begin a statement
bool token_starts_item(int kind);         // keywords that only begin an item or a member
bool token_is_word(int kind);             // a keyword or a reserved word
bool token_is_reserved(int kind);         // a reserved word without a meaning
bool is_store(const char *text, Token t); // store and the atomics of kernels

// The value of a well-formed literal (of a malformed one: zero, or what can be read).
int64_t int_value(const char *text, Token t);
double float_value(Arena *a, const char *text, Token t);
Str string_value(Arena *a, const char *text, Token t);

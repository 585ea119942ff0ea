// Bytes to tokens. re2c matches words, numbers and punctuation; comments and strings, which need
// counting or decoding, are plain loops beside it.
//
// The text ends in a NUL that no rule crosses; a NUL before the end is an illegal byte like others.
#include "grammar.h"
#include "syntax/token.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char Byte;

typedef struct {
    Session *s;
    int file;
    const Byte *text;  // the whole source
    const Byte *end;   // its NUL
    const Byte *at;    // what is not read yet
    const Byte *start; // of the token being read
    const Byte *bad;   // end of the last illegal byte reported, to report a run once
    int errors;        // reported so far
    int flags;         // TokenFlags for the next token
    bool stopped;      // too many errors or tokens
} Lexer;

static Span span_of(const Lexer *lx, const Byte *from, const Byte *to) {
    return (Span){lx->file, (int)(from - lx->text), (int)(to - lx->text)};
}

// Reports at [from, to); NULL once the file has had its share of errors.
static Diag *complain(Lexer *lx, DiagCode code, const Byte *from, const Byte *to,
                      const char *what) {
    lx->flags |= TOKEN_AFTER_BAD;
    if (++lx->errors > MAX_ERRORS) {
        lx->stopped = true;
        return NULL;
    }
    return report(lx->s, span_of(lx, from, to), code, "%s", what);
}

static void advise(Lexer *lx, Diag *d, const char *help) {
    if (d)
        diag_help(lx->s, d, "%s", help);
}

// ---- UTF-8 -------------------------------------------------------------------------------------

// Bytes of the well-formed UTF-8 sequence at p, or 0. The NUL at the end stops every look ahead.
static int sequence(const Byte *p) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    int n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (n < 2)
        return n;
    unsigned c = p[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3F);
    }
    bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    return c < least[n] || c > 0x10FFFF || surrogate ? 0 : n;
}

// Reports every run of bytes that are not UTF-8, wherever it is.
static void check_utf8(Lexer *lx) {
    const Byte *p = lx->text;
    while (p < lx->end && !lx->stopped) {
        int n = sequence(p);
        if (n) {
            p += n;
            continue;
        }
        const Byte *from = p;
        while (p < lx->end && !sequence(p))
            p++;
        complain(lx, E1001, from, p, "bytes that are not UTF-8");
    }
    lx->flags = 0;
}

// A character that begins no token. Runs are reported once; malformed bytes were reported already.
static int illegal(Lexer *lx) {
    const Byte *p = lx->start;
    int n = sequence(p);
    lx->at = p + (n ? n : 1);
    lx->flags |= TOKEN_AFTER_BAD;
    bool repeated = lx->bad == p;
    lx->bad = lx->at;
    if (repeated || !n)
        return TK_ILLEGAL;
    if (*p < 32 || *p == 127) {
        complain(lx, E1001, p, lx->at, arena_printf(lx->s->arena, "illegal byte 0x%02X", *p));
        return TK_ILLEGAL;
    }
    const char *what = arena_printf(lx->s->arena, "illegal character `%.*s`", n, (const char *)p);
    Diag *d = complain(lx, E1001, p, lx->at, what);
    if (*p == '@')
        advise(lx, d, "a matrix product is `sum[k] a[i, k] * b[k, j]`");
    if (n > 1)
        advise(lx, d, "outside of strings and comments the source is ASCII");
    return TK_ILLEGAL;
}

// ---- Comments and strings ----------------------------------------------------------------------

static void skip_line(Lexer *lx) {
    while (lx->at < lx->end && *lx->at != '\n')
        lx->at++;
}

static void skip_comment(Lexer *lx) {
    int depth = 1;
    const Byte *p = lx->at;
    while (p < lx->end && depth) {
        if (*p == '\n')
            lx->flags |= TOKEN_FIRST;
        bool opens = p[0] == '/' && p[1] == '*', closes = p[0] == '*' && p[1] == '/';
        depth += opens - closes;
        p += opens || closes ? 2 : 1;
    }
    lx->at = p;
    if (depth) {
        Diag *d = complain(lx, E1002, lx->start, lx->start + 2, "this `/*` is never closed");
        advise(lx, d, depth > 1 ? "comments nest: every `/*` needs its own `*/`" : "add `*/`");
    }
}

static int hex_digit(Byte c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// Bytes of the escape at p (after its backslash), with its code point; 0 if it is none.
static int escape(const Byte *p, unsigned *value) {
    static const char letters[] = "nrt0\\\"", values[] = "\n\r\t\0\\\"";
    const char *found = *p ? strchr(letters, *p) : NULL;
    if (found) {
        *value = (Byte)values[found - letters];
        return 1;
    }
    if (p[0] != 'u' || p[1] != '{')
        return 0;
    int n = 2;
    for (*value = 0; n < 8 && hex_digit(p[n]) >= 0; n++)
        *value = *value * 16 + (unsigned)hex_digit(p[n]);
    bool surrogate = *value >= 0xD800 && *value <= 0xDFFF;
    return n == 2 || p[n] != '}' || surrogate || *value > 0x10FFFF ? 0 : n + 1;
}

static int read_string(Lexer *lx) {
    const Byte *p = lx->at;
    while (p < lx->end && *p != '"' && *p != '\n') {
        unsigned value;
        if (*p++ != '\\')
            continue;
        int n = escape(p, &value);
        if (n) {
            p += n;
            continue;
        }
        const Byte *to = p < lx->end && *p != '\n' ? p + 1 : p;
        while (to < lx->end && (*to & 0xC0) == 0x80)
            to++;
        Diag *d = complain(lx, E1003, p - 1, to, "unknown escape in a string");
        advise(lx, d, "the escapes are \\n \\r \\t \\0 \\\\ \\\" and \\u{1 to 6 hex digits}");
        lx->flags |= TOKEN_BAD;
        p = to;
    }
    if (p < lx->end && *p == '"') {
        lx->at = p + 1;
        return TK_STRING;
    }
    Diag *d = complain(lx, E1003, lx->start, p, "this string is not closed on its line");
    advise(lx, d, "add `\"`; a line break in a string is written \\n");
    lx->flags |= TOKEN_BAD;
    lx->at = p;
    return TK_STRING;
}

// 'text': a habit from elsewhere. Reads up to the closing quote if the line has one.
static int read_quoted(Lexer *lx) {
    const Byte *p = lx->at;
    while (p < lx->end && *p != '\'' && *p != '\n')
        p++;
    lx->at = p < lx->end && *p == '\'' ? p + 1 : p;
    Diag *d = complain(lx, E1003, lx->start, lx->at, "strings are written in double quotes");
    advise(lx, d, "write \"...\"");
    lx->flags |= TOKEN_BAD;
    return TK_STRING;
}

Str string_value(Arena *a, const char *text, Token t) {
    const Byte *p = (const Byte *)text + t.start + 1, *end = (const Byte *)text + t.end - 1;
    char *out = arena_alloc(a, (size_t)(t.end - t.start) + 1);
    int len = 0;
    while (p < end && !(t.flags & TOKEN_BAD)) {
        unsigned c = *p++;
        if (c == '\\') {
            p += escape(p, &c);
        } else {
            out[len++] = (char)c;
            continue;
        }
        int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        static const Byte lead[] = {0, 0xC0, 0xE0, 0xF0};
        out[len++] = (char)(lead[more] | c >> (6 * more));
        while (more--)
            out[len++] = (char)(0x80 | (c >> (6 * more) & 0x3F));
    }
    return (Str){out, len};
}

// ---- Numbers -----------------------------------------------------------------------------------

// Reads a well-formed integer literal; false if it is beyond i64.
static bool read_int(const char *p, const char *end, int64_t *value) {
    int64_t base = 10, v = 0;
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'b')) {
        base = p[1] == 'x' ? 16 : 2;
        p += 2;
    }
    for (; p < end; p++) {
        if (*p == '_')
            continue;
        int digit = hex_digit((Byte)*p);
        if (v > (INT64_MAX - digit) / base)
            return false;
        v = v * base + digit;
    }
    *value = v;
    return true;
}

int64_t int_value(const char *text, Token t) {
    int64_t value = 0;
    if (!(t.flags & TOKEN_BAD))
        read_int(text + t.start, text + t.end, &value);
    return value;
}

double float_value(Arena *a, const char *text, Token t) {
    char *digits = arena_alloc(a, (size_t)(t.end - t.start) + 1);
    int n = 0;
    for (int i = t.start; i < t.end; i++) {
        if (text[i] != '_')
            digits[n++] = text[i];
    }
    return t.flags & TOKEN_BAD ? 0.0 : strtod(digits, NULL);
}

static int bad_number(Lexer *lx, int kind, const char *what, const char *help) {
    Diag *d = complain(lx, E1005, lx->start, lx->at, what);
    advise(lx, d, help);
    lx->flags |= TOKEN_BAD;
    return kind;
}

static int check_int(Lexer *lx) {
    int64_t value;
    if (read_int((const char *)lx->start, (const char *)lx->at, &value))
        return TK_INT;
    return bad_number(lx, TK_INT, "this integer does not fit 64 bits",
                      "the largest is 9223372036854775807");
}

static int check_float(Lexer *lx) {
    Token t = {TK_FLOAT, (int)(lx->start - lx->text), (int)(lx->at - lx->text), -1, 0};
    double value = float_value(lx->s->arena, (const char *)lx->text, t);
    if (value <= 1.7976931348623157e308)
        return TK_FLOAT;
    return bad_number(lx, TK_FLOAT, "this number does not fit 64 bits",
                      "the largest is 1.7976931348623157e308");
}

// Why the digits and letters read are no number.
static int wrong_number(Lexer *lx) {
    const Byte *p = lx->start;
    bool digits = true, based = p[0] == '0' && (p[1] == 'x' || p[1] == 'b');
    bool cut = (lx->at[-1] | 32) == 'e' || lx->at[-1] == '_';
    for (const Byte *q = p; q < lx->at; q++)
        digits = digits && ((*q >= '0' && *q <= '9') || *q == '_');
    if (digits && p[0] == '0' && p[1] != '_')
        return bad_number(lx, TK_INT, "an integer has no leading zero", "remove the zeros");
    if (digits)
        return bad_number(lx, TK_INT, "`_` stands between two digits only", "remove it");
    if (!based && !cut)
        return bad_number(lx, TK_INT, "a number has no suffix",
                          "its place gives it a type; `cast<T>(x)` converts");
    return bad_number(lx, TK_INT, "malformed number",
                      "integers are 12, 0xFF, 0b101; floats are 1.5, 1e-5, 2.5e10");
}

// ---- Tokens ------------------------------------------------------------------------------------

// The kind of the next token, with lx->start and lx->at around it.
static int scan(Lexer *lx) {
    const Byte *YYMARKER, *YYCTXMARKER;
again:
    lx->start = lx->at;
    // clang-format off
    /*!re2c
    re2c:define:YYCTYPE = "unsigned char";
    re2c:define:YYCURSOR = "lx->at";
    re2c:yyfill:enable = 0;

    dec   = "0" | [1-9] ("_"? [0-9])*;
    frac  = [0-9] ("_"? [0-9])*;
    exp   = [eE] [+-]? frac;
    float = dec "." frac exp? | dec exp;
    hex   = "0x" [0-9a-fA-F] ("_"? [0-9a-fA-F])*;
    bin   = "0b" [01] ("_"? [01])*;
    word  = [A-Za-z_] [A-Za-z0-9_]*;

    "\x00" {
        if (lx->start == lx->end) { lx->at = lx->end; return 0; }
        return illegal(lx);
    }
    [ \t\r]+ { goto again; }
    "\n"     { lx->flags |= TOKEN_FIRST; goto again; }
    "//"     { skip_line(lx); goto again; }
    "/" "*"  { skip_comment(lx); goto again; }
    "#" {
        skip_line(lx);
        advise(lx, complain(lx, E1001, lx->start, lx->start + 1, "illegal character `#`"),
               "a comment begins with `//`");
        goto again;
    }
    "\"" { return read_string(lx); }
    "'"  { return read_quoted(lx); }

    dec | hex | bin { return check_int(lx); }
    float           { return check_float(lx); }
    [0-9] [0-9A-Za-z_]* | float [0-9A-Za-z_]+ | dec "." frac "_" { return wrong_number(lx); }
    dec "." / [^.0-9A-Za-z_] {
        return bad_number(lx, TK_FLOAT, "a float has digits on both sides of its point",
                          "write `1.0` for `1.`");
    }
    "." frac {
        return bad_number(lx, TK_FLOAT, "a float has digits on both sides of its point",
                          "write `0.5` for `.5`");
    }

    "module" { return TK_MODULE; }   "use"    { return TK_USE; }     "pub"    { return TK_PUB; }
    "crate"  { return TK_CRATE; }    "self"   { return TK_SELF; }    "super"  { return TK_SUPER; }
    "as"     { return TK_AS; }       "const"  { return TK_CONST; }   "type"   { return TK_TYPE; }
    "struct" { return TK_STRUCT; }   "enum"   { return TK_ENUM; }    "fn"     { return TK_FN; }
    "op"     { return TK_OP; }       "kernel" { return TK_KERNEL; }  "block"  { return TK_BLOCK; }
    "entry"  { return TK_ENTRY; }    "param"  { return TK_PARAM; }   "buffer" { return TK_BUFFER; }
    "state"  { return TK_STATE; }    "sub"    { return TK_SUB; }     "let"    { return TK_LET; }
    "var"    { return TK_VAR; }      "return" { return TK_RETURN; }  "if"     { return TK_IF; }
    "else"   { return TK_ELSE; }     "match"  { return TK_MATCH; }   "static" { return TK_STATIC; }
    "for"    { return TK_FOR; }      "in"     { return TK_IN; }      "while"  { return TK_WHILE; }
    "yield"  { return TK_YIELD; }    "where"  { return TK_WHERE; }   "true"   { return TK_TRUE; }
    "false"  { return TK_FALSE; }    "none"   { return TK_NONE; }    "some"   { return TK_SOME; }
    "extern" { return TK_EXTERN; }
    "async" | "await" | "effect" | "unsafe" | "macro" | "trait" | "impl" | "derive" | "rng" |
    "mut" | "ref" | "device" { return TK_RESERVED; }
    word     { return TK_NAME; }

    "::" { return TK_COLONCOLON; }   "->" { return TK_ARROW; }       "=>" { return TK_FATARROW; }
    ".." { return TK_DOTDOT; }       "..." { return TK_ELLIPSIS; }   "==" { return TK_EQEQ; }
    "!=" { return TK_NE; }           "<=" { return TK_LE; }          ">=" { return TK_GE; }
    "&&" { return TK_ANDAND; }       "||" { return TK_OROR; }        "("  { return TK_LPAREN; }
    ")"  { return TK_RPAREN; }       "["  { return TK_LBRACKET; }    "]"  { return TK_RBRACKET; }
    "{"  { return TK_LBRACE; }       "}"  { return TK_RBRACE; }      ","  { return TK_COMMA; }
    ";"  { return TK_SEMI; }         ":"  { return TK_COLON; }       "."  { return TK_DOT; }
    "="  { return TK_EQ; }           "<"  { return TK_LT; }          ">"  { return TK_GT; }
    "+"  { return TK_PLUS; }         "-"  { return TK_MINUS; }       "*"  { return TK_STAR; }
    "/"  { return TK_SLASH; }        "%"  { return TK_PERCENT; }     "&"  { return TK_AND; }
    "|"  { return TK_OR; }           "^"  { return TK_XOR; }         "!"  { return TK_BANG; }
    "?"  { return TK_QUESTION; }
    *    { return illegal(lx); }
    */
    // clang-format on
}

TokenVec lex(Session *s, Arena *a, int file, bool *stopped) {
    Str text = session_source(s, (Span){file, 0, 0})->text;
    const Byte *start = (const Byte *)text.ptr;
    Lexer lx = {.s = s, .file = file, .text = start, .end = start + text.len, .at = start};
    TokenVec tokens = {0};
    check_utf8(&lx);
    if (text.len >= 3 && memcmp(start, "\xEF\xBB\xBF", 3) == 0)
        lx.at += 3;
    lx.flags = TOKEN_FIRST;
    for (;;) {
        int kind = lx.stopped ? 0 : scan(&lx);
        if (tokens.len >= MAX_TOKENS && kind) {
            Span at = span_of(&lx, lx.start, lx.at);
            report(s, at, E1101, "the file has more than %d tokens", MAX_TOKENS);
            lx.stopped = true;
            kind = 0;
        }
        int from = (int)((kind ? lx.start : lx.at) - start);
        Token t = {kind, from, (int)(lx.at - start), -1, lx.flags};
        vec_push(a, &tokens, t);
        lx.flags = 0;
        if (!kind)
            break;
    }
    *stopped = lx.stopped;
    return tokens;
}

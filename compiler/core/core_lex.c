// Tokens of Core's text, one at a time.
#include "core/parse.h"
#include <ctype.h>
#include <string.h>

void parse_fail_at(Parser *p, Span span, const char *format, ...) {
    if (!p->failed) {
        StrBuf b = strbuf_new(p->core->session->arena);
        va_list args;
        va_start(args, format);
        strbuf_vprintf(&b, format, args);
        va_end(args);
        report(p->core->session, span, E1101, "%s", b.data);
    }
    p->failed = true;
    p->tok.kind = T_END;
    p->at = p->text.len;
}

void parse_fail(Parser *p, const char *format, ...) {
    StrBuf b = strbuf_new(p->core->session->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&b, format, args);
    va_end(args);
    parse_fail_at(p, p->tok.span, "%s", b.data);
}

static int peek(const Parser *p, int ahead) {
    return p->at + ahead < p->text.len ? (unsigned char)p->text.ptr[p->at + ahead] : 0;
}

static bool word_char(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool digit(int c) {
    return c >= '0' && c <= '9';
}

static Str trim(Str s) {
    while (s.len && isspace((unsigned char)s.ptr[0]))
        s.ptr++, s.len--;
    while (s.len && isspace((unsigned char)s.ptr[s.len - 1]))
        s.len--;
    return s;
}

// Skips spaces and comments. A comment on a line of its own, right before the token, is kept.
static Str skip_space(Parser *p) {
    Str comment = {0};
    bool own = p->at == 0;
    for (;;) {
        int c = peek(p, 0);
        if (c == '/' && peek(p, 1) == '/') {
            int start = p->at + 2;
            while (p->at < p->text.len && p->text.ptr[p->at] != '\n')
                p->at++;
            if (own)
                comment = trim((Str){p->text.ptr + start, p->at - start});
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            own = own || c == '\n';
            p->at++;
        } else {
            return comment;
        }
    }
}

// Words, and values and labels after their sigil. A point belongs to it if a digit follows; in a
// label always.
static void lex_word(Parser *p, TokenKind kind) {
    int start = p->at;
    while (word_char(peek(p, 0)) || (peek(p, 0) == '.' && digit(peek(p, 1))) ||
           (kind == T_LABEL && peek(p, 0) == '.'))
        p->at++;
    p->tok.kind = kind;
    p->tok.text = (Str){p->text.ptr + start, p->at - start};
    if (p->at == start)
        parse_fail(p, "expected a name after the sigil");
}

static void lex_number(Parser *p) {
    int start = p->at;
    p->tok.kind = T_INT;
    while (digit(peek(p, 0)))
        p->at++;
    if (peek(p, 0) == '.' && digit(peek(p, 1))) {
        p->tok.kind = T_FLOAT;
        p->at++;
        while (digit(peek(p, 0)))
            p->at++;
    }
    bool sign = peek(p, 1) == '+' || peek(p, 1) == '-';
    if (peek(p, 0) == 'e' && digit(peek(p, 1 + sign))) {
        p->tok.kind = T_FLOAT;
        p->at += 1 + sign;
        while (digit(peek(p, 0)))
            p->at++;
    }
    p->tok.text = (Str){p->text.ptr + start, p->at - start};
}

static int hex(int c) {
    return digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void lex_string(Parser *p) {
    StrBuf b = strbuf_new(p->scratch);
    p->tok.kind = T_STRING;
    for (p->at++; peek(p, 0) != '"'; p->at++) {
        int c = peek(p, 0);
        if (c == '\\' && peek(p, 1) == 'x' && hex(peek(p, 2)) >= 0 && hex(peek(p, 3)) >= 0) {
            c = hex(peek(p, 2)) * 16 + hex(peek(p, 3));
            p->at += 3;
        } else if (c == '\\') {
            c = peek(p, 1);
            p->at++;
            if (c != '"' && c != '\\')
                c = 0;
        } else if (c < 32 || c == 127) {
            c = 0;
        }
        if (!c) {
            parse_fail(p, "the string does not end, or holds something that is not text");
            return;
        }
        strbuf_char(&b, (char)c);
    }
    p->at++;
    p->tok.text = (Str){b.data, b.len};
}

static void lex_punct(Parser *p, int c) {
    p->tok.kind = T_PUNCT;
    p->tok.punct = c;
    if (c == '-' && peek(p, 1) == '>')
        p->tok.punct = '>';
    if (c == '<' && peek(p, 1) == '=')
        p->tok.punct = 'L';
    p->at += p->tok.punct == c ? 1 : 2;
    if (c == '>' || !strchr("()[]{},:;.=<>L+-*/%", p->tok.punct))
        parse_fail(p, "this character has no meaning here");
}

void parse_next(Parser *p) {
    if (p->failed)
        return;
    p->tok = (Token){.comment = skip_space(p)};
    int start = p->at, c = peek(p, 0);
    p->tok.span = (Span){p->file, start, start < p->text.len ? start + 1 : start};
    if (p->at >= p->text.len)
        return;
    if (c == '@' || (c == '%' && word_char(peek(p, 1)))) {
        p->at++;
        lex_word(p, c == '@' ? T_LABEL : T_VALUE);
    } else if (digit(c)) {
        lex_number(p);
    } else if (word_char(c)) {
        lex_word(p, T_WORD);
    } else if (c == '"') {
        lex_string(p);
    } else if (c) {
        lex_punct(p, c);
    } else {
        parse_fail(p, "this character has no meaning here");
    }
    if (!p->failed)
        p->tok.span.end = p->at;
}

bool parse_is(const Parser *p, int punct) {
    return p->tok.kind == T_PUNCT && p->tok.punct == punct;
}

bool parse_is_word(const Parser *p, const char *word) {
    return p->tok.kind == T_WORD && str_eq(p->tok.text, str_of(word));
}

bool parse_take(Parser *p, int punct) {
    if (!parse_is(p, punct))
        return false;
    parse_next(p);
    return true;
}

bool parse_take_word(Parser *p, const char *word) {
    if (!parse_is_word(p, word))
        return false;
    parse_next(p);
    return true;
}

void parse_need(Parser *p, int punct) {
    if (parse_take(p, punct))
        return;
    if (punct == '>' || punct == 'L')
        parse_fail(p, "expected `%s`", punct == '>' ? "->" : "<=");
    else
        parse_fail(p, "expected `%c`", punct);
}

Name parse_name(Parser *p, const char *what) {
    if (p->tok.kind != T_WORD) {
        parse_fail(p, "expected %s", what);
        return session_name(p->core->session, "_");
    }
    Name name = intern(p->core->session->names, p->tok.text);
    parse_next(p);
    return name;
}

Name parse_base(Parser *p, Name printed) {
    const char *point = strchr(printed, '.');
    if (digit((unsigned char)printed[0]))
        return NULL;
    if (!point)
        return printed;
    return intern(p->core->session->names, (Str){printed, (int)(point - printed)});
}

bool parse_enter(Parser *p) {
    if (++p->depth <= DEEPEST)
        return true;
    parse_fail(p, "nested too deep");
    return false;
}

uint64_t parse_magnitude(Parser *p, uint64_t most, const char *what) {
    uint64_t n = 0;
    if (p->tok.kind != T_INT) {
        parse_fail(p, "expected %s", what);
        return 0;
    }
    for (int i = 0; i < p->tok.text.len; i++) {
        unsigned d = (unsigned)(p->tok.text.ptr[i] - '0');
        if (d > most || n > (most - d) / 10) {
            parse_fail(p, "the number is too large");
            return 0;
        }
        n = n * 10 + d;
    }
    parse_next(p);
    return n;
}

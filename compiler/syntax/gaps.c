// The text between tokens is read again for its comments: the lexer drops them, and only the
// formatter wants them.
#include "syntax/gaps.h"
#include <string.h>

typedef struct {
    Session *s;
    const char *at, *end; // what is not read yet of this gap
    bool any;             // something stands before the gap
    Gaps gaps;
} Reader;

// Skips spaces; counts the new lines.
static int skip_space(Reader *r) {
    int lines = 0;
    for (; r->at < r->end && strchr(" \t\r\n", *r->at); r->at++)
        lines += *r->at == '\n';
    return lines;
}

static const char *comment_end(const char *p, const char *end) {
    if (p[1] == '/') {
        while (p < end && *p != '\n')
            p++;
        return p;
    }
    int depth = 0;
    do {
        bool opens = p[0] == '/' && p[1] == '*', closes = p[0] == '*' && p[1] == '/';
        depth += opens - closes;
        p += opens || closes ? 2 : 1;
    } while (p < end && depth);
    return p;
}

// The comment's text without carriage returns and without spaces at the ends of its lines.
static Str clean(Arena *a, const char *p, const char *end) {
    StrBuf b = strbuf_new(a);
    for (; p < end; p++) {
        if (*p == '\n' || p + 1 == end) {
            if (*p != '\n' && *p != '\r')
                strbuf_char(&b, *p);
            while (b.len && (b.data[b.len - 1] == ' ' || b.data[b.len - 1] == '\t'))
                b.len--;
            if (*p == '\n')
                strbuf_char(&b, '\n');
        } else if (*p != '\r') {
            strbuf_char(&b, *p);
        }
    }
    return (Str){b.data, b.len};
}

static Gap read_gap(Reader *r) {
    Gap gap = {.first = r->gaps.comments.len};
    int lines = skip_space(r);
    bool fresh = lines > 0 || !r->any;
    gap.blank = lines > 1;
    while (r->at + 1 < r->end && r->at[0] == '/') {
        const char *from = r->at;
        r->at = comment_end(from, r->end);
        Comment c = {.text = clean(r->s->arena, from, r->at)};
        lines = skip_space(r);
        c.blank = lines > 1;
        c.place = !lines ? COMMENT_INLINE : fresh ? COMMENT_OWN : COMMENT_TRAILING;
        if (!lines && (from[1] == '/' || !*r->at)) // at the end of the file
            c.place = fresh ? COMMENT_OWN : COMMENT_TRAILING;
        bool long_one = memchr(c.text.ptr, '\n', (size_t)c.text.len) != NULL;
        gap.forced |= c.place != COMMENT_INLINE || long_one;
        if (c.place == COMMENT_TRAILING) {
            gap.blank = c.blank;
            for (int i = gap.first; i < r->gaps.comments.len; i++) // they stay in order
                r->gaps.comments.data[i].place = COMMENT_TRAILING;
        }
        fresh |= lines > 0;
        vec_push(r->s->arena, &r->gaps.comments, c);
        gap.count++;
    }
    return gap;
}

Gaps gaps_find(Session *s, const char *text, const TokenVec *tokens) {
    Reader r = {.s = s, .at = text};
    if (strncmp(text, "\xEF\xBB\xBF", 3) == 0)
        r.at += 3;
    r.gaps.forced = NEW_N(s->arena, int, tokens->len + 1);
    int forced = 0;
    for (int i = 0; i < tokens->len; i++) {
        Token t = tokens->data[i];
        r.end = text + t.start;
        Gap gap = read_gap(&r);
        forced += gap.forced;
        r.gaps.forced[i] = forced;
        vec_push(s->arena, &r.gaps.gaps, gap);
        r.at = text + t.end;
        r.any = true;
    }
    return r.gaps;
}

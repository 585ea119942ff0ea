// Diagnostics: the table, reporting, rendering as text and as JSON.
#include "base/diag.h"
#include "base/session.h"
#include <ctype.h>
#include <string.h>

static const DiagInfo table[] = {
#define DIAG(code, severity, clause, title, why) {#code, severity, clause, title, why},
#include "base/diag.def"
#undef DIAG
};

const DiagInfo *diag_info(DiagCode code) {
    return &table[code];
}

bool diag_find(const char *name, DiagCode *code) {
    for (int i = 0; i < DIAG_COUNT; i++) {
        const char *a = table[i].name, *b = name;
        while (*a && *a == toupper((unsigned char)*b))
            a++, b++;
        if (!*a && !*b) {
            *code = (DiagCode)i;
            return true;
        }
    }
    return false;
}

static const char *format_text(Session *s, const char *format, va_list args) {
    StrBuf b = strbuf_new(s->arena);
    strbuf_vprintf(&b, format, args);
    return b.data;
}

Diag *report(Session *s, Span span, DiagCode code, const char *format, ...) {
    Diag *d = NEW(s->arena, Diag);
    va_list args;
    va_start(args, format);
    d->message = format_text(s, format, args);
    va_end(args);
    d->code = code;
    d->span = span;
    vec_push(s->arena, &s->diags, d);
    if (table[code].severity == SEVERITY_ERROR)
        s->errors++;
    else
        s->warnings++;
    return d;
}

void diag_note(Session *s, Diag *d, Span span, const char *format, ...) {
    Note *n = NEW(s->arena, Note), **end = &d->notes;
    va_list args;
    va_start(args, format);
    n->text = format_text(s, format, args);
    va_end(args);
    n->span = span;
    while (*end)
        end = &(*end)->next;
    *end = n;
}

void diag_help(Session *s, Diag *d, const char *format, ...) {
    va_list args;
    va_start(args, format);
    d->help = format_text(s, format, args);
    va_end(args);
}

void diag_label(Session *s, Diag *d, const char *format, ...) {
    va_list args;
    va_start(args, format);
    d->label = format_text(s, format, args);
    va_end(args);
}

typedef struct {
    FILE *out;
    const char *strong, *red, *blue, *plain; // escapes, or empty
} Style;

// Columns of the first `bytes` bytes of a line, a tab counting as four; prints them if `out`.
static int put_columns(FILE *out, Str line, int bytes, const char *as) {
    int columns = 0;
    for (int i = 0; i < bytes && i < line.len; i++) {
        unsigned char c = (unsigned char)line.ptr[i];
        if ((c & 0xC0) == 0x80) {
            if (out && !as)
                fputc(c, out);
            continue;
        }
        int width = c == '\t' ? 4 : 1;
        columns += width;
        for (int k = 0; out && k < width; k++) {
            if (as)
                fputs(as, out);
            else
                fputc(c == '\t' || c < 32 || c == 127 ? ' ' : c, out);
        }
    }
    return columns;
}

// A long line is cut to what stands around the marked bytes; *from and *to move along.
static Str clip_line(Str line, int *from, int *to) {
    enum { BEFORE = 60, LONGEST = 180 };
    if (line.len <= LONGEST)
        return line;
    int start = *from > BEFORE ? *from - BEFORE : 0;
    while (start > 0 && ((unsigned char)line.ptr[start] & 0xC0) == 0x80)
        start--;
    int len = line.len - start < LONGEST ? line.len - start : LONGEST;
    *from -= start;
    *to = *to - start < len ? *to - start : len;
    return (Str){line.ptr + start, len};
}

static void print_place(const Session *s, const Style *st, Span span, const char *label) {
    const Source *src = session_source(s, span);
    if (!src)
        return;
    int line, column;
    source_place(src, span.start, &line, &column);
    Str text = source_line(src, line);
    int from = span.start - src->lines[line - 1];
    int to = span.end - src->lines[line - 1];
    to = to > text.len ? text.len : to;
    text = clip_line(text, &from, &to);
    int gutter = snprintf(NULL, 0, "%d", line);
    fprintf(st->out, "  %s-->%s %s:%d:%d\n", st->blue, st->plain, src->path, line, column);
    fprintf(st->out, "%*s %s|%s\n", gutter, "", st->blue, st->plain);
    fprintf(st->out, "%s%d |%s ", st->blue, line, st->plain);
    put_columns(st->out, text, text.len, NULL);
    fprintf(st->out, "\n%*s %s|%s ", gutter, "", st->blue, st->plain);
    put_columns(st->out, text, from, " ");
    fputs(st->red, st->out);
    if (to > from)
        put_columns(st->out, (Str){text.ptr + from, to - from}, to - from, "^");
    else
        fputc('^', st->out);
    fprintf(st->out, "%s%s%s\n", label ? " " : "", label ? label : "", st->plain);
}

static void print_one(const Session *s, const Style *st, const Diag *d) {
    const DiagInfo *info = &table[d->code];
    const char *word = info->severity == SEVERITY_ERROR ? "error" : "warning";
    fprintf(st->out, "%s%s %s:%s %s%s%s\n", st->red, word, info->name, st->plain, st->strong,
            d->message, st->plain);
    print_place(s, st, d->span, d->label);
    for (const Note *n = d->notes; n; n = n->next) {
        fprintf(st->out, "  %s=%s note: %s\n", st->blue, st->plain, n->text);
        print_place(s, st, n->span, NULL);
    }
    if (d->help)
        fprintf(st->out, "  %s=%s help: %s\n", st->blue, st->plain, d->help);
    fputc('\n', st->out);
}

static bool shown(const Session *s, const Diag *d) {
    return table[d->code].severity == SEVERITY_ERROR || !s->errors;
}

void diags_print(const Session *s, FILE *out, bool color) {
    enum { MOST = 200 }; // a person reads the first ones
    Style st = {out, "", "", "", ""};
    if (color)
        st = (Style){out, "\033[1m", "\033[1;31m", "\033[1;34m", "\033[0m"};
    int count = 0;
    for (int i = 0; i < s->diags.len; i++) {
        if (shown(s, s->diags.data[i]) && count++ < MOST)
            print_one(s, &st, s->diags.data[i]);
    }
    if (count > MOST)
        fprintf(out, "%d more are not shown (--json shows all)\n", count - MOST);
}

// Length of the UTF-8 sequence at p (NUL-terminated), or 0 if it is not one: overlong forms,
// surrogates and what lies beyond U+10FFFF are none.
static int utf8_length(const unsigned char *p) {
    int n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    uint32_t code = n < 2 ? p[0] : p[0] & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((p[i] & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3Fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool surrogate = code >= 0xD800 && code < 0xE000;
    return code < least[n] || surrogate || code > 0x10FFFF ? 0 : n;
}

void json_string(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p;) {
        int n = utf8_length(p);
        if (*p == '"' || *p == '\\')
            fprintf(out, "\\%c", *p);
        else if (*p == '\n')
            fputs("\\n", out);
        else if (*p < 32)
            fprintf(out, "\\u%04x", *p);
        else if (n)
            fwrite(p, 1, (size_t)n, out);
        else
            fputs("\\ufffd", out);
        p += n ? n : 1;
    }
    fputc('"', out);
}

static void json_place(FILE *out, const Source *src, const char *name, int offset) {
    int line, column;
    source_place(src, offset, &line, &column);
    fprintf(out, "\"%s\":{\"line\":%d,\"column\":%d,\"offset\":%d}", name, line, column, offset);
}

static void json_location(const Session *s, FILE *out, Span span) {
    const Source *src = session_source(s, span);
    if (!src) {
        fputs("null", out);
        return;
    }
    fputs("{\"file\":", out);
    json_string(out, src->path);
    fputc(',', out);
    json_place(out, src, "start", span.start);
    fputc(',', out);
    json_place(out, src, "end", span.end);
    fputc('}', out);
}

static void json_one(const Session *s, FILE *out, const Diag *d) {
    const DiagInfo *info = &table[d->code];
    fprintf(out, "{\"code\":\"%s\",\"severity\":\"%s\",\"message\":", info->name,
            info->severity == SEVERITY_ERROR ? "error" : "warning");
    json_string(out, d->message);
    fputs(",\"label\":", out);
    if (d->label)
        json_string(out, d->label);
    else
        fputs("null", out);
    fputs(",\"location\":", out);
    json_location(s, out, d->span);
    fputs(",\"notes\":[", out);
    for (const Note *n = d->notes; n; n = n->next) {
        fputs("{\"text\":", out);
        json_string(out, n->text);
        fputs(",\"location\":", out);
        json_location(s, out, n->span);
        fputs(n->next ? "}," : "}", out);
    }
    fputs("],\"help\":", out);
    if (d->help)
        json_string(out, d->help);
    else
        fputs("null", out);
    fputc('}', out);
}

void diags_json(const Session *s, FILE *out) {
    bool first = true;
    fputs("{\"version\":1,\"diagnostics\":[", out);
    for (int i = 0; i < s->diags.len; i++) {
        if (!shown(s, s->diags.data[i]))
            continue;
        fputs(first ? "" : ",", out);
        json_one(s, out, s->diags.data[i]);
        first = false;
    }
    fprintf(out, "],\"summary\":{\"errors\":%d,\"warnings\":%d}}\n", s->errors,
            s->errors ? 0 : s->warnings);
}

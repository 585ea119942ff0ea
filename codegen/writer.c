// Writer: see writer.h.
#include "codegen/writer.h"
#include <string.h>

static void add(Writer *w, int indent, const char *text, const char *comment) {
    vec_push(w->arena, &w->lines, ((Line){indent, text, comment}));
}

// A comment's text as it can stand behind "//".
static const char *harmless(Arena *a, const char *text) {
    StrBuf b = strbuf_new(a);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '?' && b.len && b.data[b.len - 1] == '?')
            strbuf_char(&b, ' '); // a trigraph could end in a line splice
        strbuf_char(&b, c < 32 || c == 127 ? ' ' : (char)c);
    }
    while (b.len && (b.data[b.len - 1] == ' ' || b.data[b.len - 1] == '\\'))
        b.data[--b.len] = 0;
    return b.data;
}

void write_line(Writer *w, int indent, const char *comment, const char *format, ...) {
    StrBuf b = strbuf_new(w->arena);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&b, format, args);
    va_end(args);
    add(w, indent, b.data, comment ? harmless(w->arena, comment) : NULL);
}

void write_blank(Writer *w) {
    if (w->lines.len && *vec_last(&w->lines).text)
        add(w, 0, "", NULL);
}

void write_lines(Writer *w, const char *const *text) {
    for (; *text; text++) {
        if (**text)
            write_line(w, 0, NULL, "%s", *text);
        else
            write_blank(w);
    }
}

// Columns of UTF-8 text: one a character.
static int columns(const char *text, int bytes) {
    int n = 0;
    for (int i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

// The longest start of the text, whole words if possible, that takes at most `room` columns.
static int wrap_at(const char *text, int room) {
    int at = 0, space = 0, used = 0;
    while (text[at]) {
        if (text[at] == ' ')
            space = at;
        if (used == room)
            return space ? space : at;
        for (at++, used++; ((unsigned char)text[at] & 0xc0) == 0x80;)
            at++;
    }
    return at;
}

void write_comment(Writer *w, int indent, const char *text) {
    int room = WRITER_COLUMNS - indent * WRITER_INDENT - 3;
    text = harmless(w->arena, text);
    while (*text == ' ')
        text++;
    while (*text) {
        int n = wrap_at(text, room);
        int end = n;
        while (end && (text[end - 1] == ' ' || text[end - 1] == '\\'))
            end--;
        if (end)
            add(w, indent, arena_printf(w->arena, "// %.*s", end, text), NULL);
        for (text += n; *text == ' ';)
            text++;
    }
}

bool writer_fits(int indent, const char *text) {
    return indent * WRITER_INDENT + columns(text, (int)strlen(text)) <= WRITER_COLUMNS;
}

bool write_call(Writer *w, int indent, const char *head, int n, const char *const *args,
                const char *tail) {
    StrBuf b = strbuf_new(w->arena);
    int start = indent * WRITER_INDENT, under = start + (int)strlen(head) + 1;
    int column = under;
    strbuf_printf(&b, "%s(", head);
    for (int i = 0; i < n; i++) {
        const char *after = i + 1 < n ? "," : tail;
        int size = (int)strlen(args[i]) + (int)strlen(after) + (i + 1 == n); // the parenthesis
        if (i && column + 1 + size > WRITER_COLUMNS) {
            strbuf_printf(&b, "\n%*s", under, "");
            column = under;
        } else if (i) {
            strbuf_char(&b, ' ');
            column++;
        }
        if (column + size > WRITER_COLUMNS)
            return false;
        strbuf_printf(&b, "%s%s%s", args[i], i + 1 < n ? "" : ")", after);
        column += size;
    }
    if (n == 0)
        strbuf_printf(&b, ")%s", tail);
    add(w, indent, b.data, NULL);
    return true;
}

// ---- Text --------------------------------------------------------------------------------------

static int line_end(const Line *line) {
    const char *last = strrchr(line->text, '\n');
    if (last)
        return columns(last + 1, (int)strlen(last + 1));
    return line->indent * WRITER_INDENT + columns(line->text, (int)strlen(line->text));
}

static void put(StrBuf *out, int indent, const char *text) {
    if (*text)
        strbuf_printf(out, "%*s%s", indent * WRITER_INDENT, "", text);
}

// Writes lines [from, to), all with trailing comments.
static void put_group(const Writer *w, int from, int to, StrBuf *out) {
    int column = 0;
    bool fits = true;
    for (int i = from; i < to; i++) {
        int end = line_end(&w->lines.data[i]) + 1;
        column = end > column ? end : column;
    }
    for (int i = from; i < to; i++) {
        const char *c = w->lines.data[i].comment;
        fits = fits && column + 3 + columns(c, (int)strlen(c)) <= WRITER_COLUMNS;
    }
    for (int i = from; i < to; i++) {
        const Line *line = &w->lines.data[i];
        if (!fits) {
            Writer above = {.arena = w->arena};
            write_comment(&above, line->indent, line->comment);
            writer_text(&above, out);
        }
        put(out, line->indent, line->text);
        if (fits)
            strbuf_printf(out, "%*s// %s", column - line_end(line), "", line->comment);
        strbuf_char(out, '\n');
    }
}

void writer_text(const Writer *w, StrBuf *out) {
    for (int i = 0; i < w->lines.len; i++) {
        int to = i;
        while (to < w->lines.len && w->lines.data[to].comment)
            to++;
        if (to > i) {
            put_group(w, i, to, out);
            i = to - 1;
            continue;
        }
        put(out, w->lines.data[i].indent, w->lines.data[i].text);
        strbuf_char(out, '\n');
    }
}

// The TOML reader: re2c matches tokens, plain functions put them together.
//
// A path such as a.b.c is one interned name; a map from these names to what they are (a table by
// header, by dotted key or by implication, or a value) is all it takes to refuse redefinition.
// The text ends in a NUL that no rule crosses; the first error ends the reading.
#include "check/toml.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned char Byte;

typedef enum { // what a path is
    PATH_NONE,
    PATH_IMPLIED, // [a.b] makes a
    PATH_HEADER,  // [a]
    PATH_DOTTED,  // a.b = 1 makes a
    PATH_VALUE,
} PathKind;

typedef struct {
    PathKind kind;    // what it is
    TomlTable *table; // its entries, or NULL
    TomlTable *owner; // dotted: the table under whose header it was made
} Path;

typedef struct {
    Name name;  // its text
    Span span;  // where
    bool bare;  // no quotes needed
} Part;

typedef struct {
    Part parts[TOML_MAX_DEPTH]; // of a key or header
    int count;                  // of parts
} Key;

typedef struct {
    Session *s;
    Toml *toml;         // the result
    const Byte *text;   // the whole source
    const Byte *end;    // its NUL
    const Byte *at;     // what is not read yet
    TomlTable *header;  // the table of the last header
    Map paths;          // Name -> Path *
    bool failed;        // an error was reported
} Reader;

static Span span_from(const Reader *r, const Byte *from) {
    return (Span){r->toml->file, (int)(from - r->text), (int)(r->at - r->text)};
}

// Reports the first error and stops. The span covers at least one byte unless the text is over.
static bool fail(Reader *r, Span span, const char *what) {
    if (!r->failed) {
        if (span.end <= span.start && span.start < r->end - r->text)
            span.end = span.start + 1;
        report(r->s, span, E5001, "%s", what);
    }
    r->failed = true;
    return false;
}

static bool fail_here(Reader *r, const char *what) {
    return fail(r, span_from(r, r->at), what);
}

/*!re2c
    re2c:api:style = free-form;
    re2c:define:YYCTYPE = Byte;
    re2c:define:YYCURSOR = p;
    re2c:define:YYMARKER = mark;
    re2c:yyfill:enable = 0;

    comment = "#" [^\n\r\x00-\x08\x0b-\x1f\x7f]*;
    newline = "\n" | "\r\n";
    bare = [A-Za-z0-9_-]+;
    digits = [0-9] ("_"? [0-9])*;
    decimal = [+-]? ("0" | [1-9] ("_"? [0-9])*);
    hex = "0x" [0-9A-Fa-f] ("_"? [0-9A-Fa-f])*;
    radix = hex | "0o" [0-7] ("_"? [0-7])* | "0b" [01] ("_"? [01])*;
    exponent = [eE] [+-]? digits;
    real = decimal ("." digits exponent? | exponent);
    special = [+-]? ("inf" | "nan");
    date = [0-9]{4} "-" [0-9]{2} "-" [0-9]{2} | [0-9]{2} ":" [0-9]{2};
    word = [A-Za-z0-9_+.:-]+;
*/

// ---- Blank space -------------------------------------------------------------------------------

// Spaces and tabs; with `lines`, newlines and comments too.
static void skip(Reader *r, bool lines) {
    for (;;) {
        const Byte *p = r->at;
        /*!re2c
            [ \t]+           { r->at = p; continue; }
            newline          { if (!lines) return; r->at = p; continue; }
            comment          { if (!lines) return; r->at = p; continue; }
            *                { return; }
        */
    }
}

// After a header or a value: a comment, then the end of the line or of the text.
static bool end_line(Reader *r) {
    const Byte *p;
    skip(r, false);
    p = r->at;
    /*!re2c
        comment          { r->at = p; goto newline; }
        *                { goto newline; }
    */
newline:
    p = r->at;
    if (p == r->end)
        return true;
    /*!re2c
        newline          { r->at = p; return true; }
        *                { return fail_here(r, "the line must end here"); }
    */
}

// ---- Strings -----------------------------------------------------------------------------------

static void put_utf8(StrBuf *b, unsigned c) {
    if (c < 0x80) {
        strbuf_char(b, (char)c);
        return;
    }
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    strbuf_char(b, (char)(lead[n] | c >> 6 * (n - 1)));
    for (int i = n - 2; i >= 0; i--)
        strbuf_char(b, (char)(0x80 | (c >> 6 * i & 0x3F)));
}

// The number of `n` hexadecimal digits after the escape's two bytes; never 0.
static bool unicode_escape(Reader *r, int n, StrBuf *out) {
    const Byte *from = r->at;
    unsigned c = 0;
    r->at += 2;
    for (int i = 0; i < n; i++, r->at++) {
        const char *place = *r->at ? strchr("0123456789abcdef", *r->at | 0x20) : NULL;
        if (!place || *r->at < '0')
            return fail(r, span_from(r, from), "this escape needs more hexadecimal digits");
        c = c * 16 + (unsigned)(place - "0123456789abcdef");
    }
    if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return fail(r, span_from(r, from), "this escape is no character that a text may hold");
    put_utf8(out, c);
    return true;
}

static bool escape(Reader *r, StrBuf *out) {
    const Byte *p = r->at;
    /*!re2c
        "\\" ["\\]    { strbuf_char(out, (char)p[-1]); r->at = p; return true; }
        "\\b"         { strbuf_char(out, '\b'); r->at = p; return true; }
        "\\t"         { strbuf_char(out, '\t'); r->at = p; return true; }
        "\\n"         { strbuf_char(out, '\n'); r->at = p; return true; }
        "\\f"         { strbuf_char(out, '\f'); r->at = p; return true; }
        "\\r"         { strbuf_char(out, '\r'); r->at = p; return true; }
        "\\u"         { return unicode_escape(r, 4, out); }
        "\\U"         { return unicode_escape(r, 8, out); }
        *             { return fail_here(r, "there is no such escape"); }
    */
}

// A string in " or ' quotes at r->at. NULL after an error.
static const char *read_string(Reader *r) {
    const Byte *from = r->at;
    Byte quote = *from;
    if (from[1] == quote && from[2] == quote) {
        fail_here(r, "strings over several lines are not read here");
        return NULL;
    }
    StrBuf out = strbuf_new(r->s->arena);
    r->at++;
    while (*r->at != quote) {
        if (*r->at == '\n' || *r->at == '\r' || r->at == r->end) {
            fail(r, span_from(r, from), "this string is not closed on its line");
            return NULL;
        }
        if ((*r->at < ' ' && *r->at != '\t') || *r->at == 0x7F) {
            fail_here(r, "a control character in a string");
            return NULL;
        }
        if (*r->at == '\\' && quote == '"') {
            if (!escape(r, &out))
                return NULL;
        } else {
            strbuf_char(&out, (char)*r->at++);
        }
    }
    r->at++;
    return out.data ? out.data : "";
}

// ---- Keys --------------------------------------------------------------------------------------

static bool is_bare(const char *text) {
    const Byte *p = (const Byte *)text, *mark;
    /*!re2c
        bare "\x00"   { return true; }
        *             { return false; }
    */
}

static bool read_part(Reader *r, Part *out) {
    const Byte *from = r->at, *p = from;
    const char *text = NULL;
    /*!re2c
        bare          { goto bare; }
        ["']          { text = read_string(r); goto done; }
        *             { return fail_here(r, "a key is needed here"); }
    */
bare:
    text = arena_copy(r->s->arena, from, (size_t)(p - from));
    r->at = p;
done:
    if (!text)
        return false;
    if (strlen(text) > TOML_MAX_KEY)
        return fail(r, span_from(r, from), "this key is too long");
    *out = (Part){session_name(r->s, text), span_from(r, from), is_bare(text)};
    return true;
}

static bool read_key(Reader *r, Key *key) {
    key->count = 0;
    for (;;) {
        if (key->count == TOML_MAX_DEPTH)
            return fail_here(r, "this key has too many parts");
        if (!read_part(r, &key->parts[key->count++]))
            return false;
        skip(r, false);
        if (*r->at != '.')
            return true;
        r->at++;
        skip(r, false);
    }
}

// The name of base's member; NULL after an error.
static Name join(Reader *r, Name base, const Part *part) {
    StrBuf b = strbuf_new(r->s->arena);
    strbuf_printf(&b, "%s%s", base, *base ? "." : "");
    if (!part->bare)
        strbuf_char(&b, '"');
    for (const char *c = part->name; *c; c++) {
        if (!part->bare && (*c == '"' || *c == '\\'))
            strbuf_char(&b, '\\');
        strbuf_char(&b, *c);
    }
    if (!part->bare)
        strbuf_char(&b, '"');
    if (b.len > TOML_MAX_PATH) {
        fail(r, part->span, "the path of this key is too long");
        return NULL;
    }
    return session_name(r->s, b.data ? b.data : "");
}

static Path *path_at(Reader *r, Name name) {
    Path *path = map_get(&r->paths, name);
    if (!path) {
        path = NEW(r->s->arena, Path);
        map_put(r->s->arena, &r->paths, name, path);
    }
    return path;
}

static TomlTable *add_table(Reader *r, Path *path, Name name, Span span) {
    if (!path->table) {
        path->table = NEW(r->s->arena, TomlTable);
        path->table->name = name;
        path->table->span = span;
        vec_push(r->s->arena, &r->toml->tables, path->table);
    }
    return path->table;
}

// [a.b.c], at its bracket.
static bool read_header(Reader *r) {
    Key key;
    if (r->at[1] == '[')
        return fail_here(r, "arrays of tables are not read here");
    r->at++;
    skip(r, false);
    if (!read_key(r, &key))
        return false;
    if (*r->at != ']')
        return fail_here(r, "`]` is needed here");
    r->at++;
    Name name = "";
    for (int i = 0; i < key.count; i++) {
        if (!(name = join(r, name, &key.parts[i])))
            return false;
        Path *path = path_at(r, name);
        bool last = i == key.count - 1;
        if (path->kind == PATH_VALUE)
            return fail(r, key.parts[i].span, "this is a value already");
        if (last && path->kind != PATH_NONE && path->kind != PATH_IMPLIED)
            return fail(r, key.parts[i].span, "this table is defined already");
        if (last || path->kind == PATH_NONE)
            path->kind = last ? PATH_HEADER : PATH_IMPLIED;
        if (last)
            r->header = add_table(r, path, name, key.parts[i].span);
    }
    return end_line(r);
}

// ---- Values ------------------------------------------------------------------------------------

// A number's spelling without its underscores.
static const char *plain(Reader *r, const Byte *from, const Byte *to) {
    char *text = arena_copy(r->s->arena, from, (size_t)(to - from)), *out = text;
    for (const char *c = text; *c; c++) {
        if (*c != '_')
            *out++ = *c;
    }
    *out = '\0';
    return text;
}

static bool integer(Reader *r, const Byte *from, int base, TomlValue *out) {
    const char *text = plain(r, from, r->at);
    errno = 0;
    out->kind = TOML_INT;
    out->text = text;
    out->integer = strtoll(base == 10 ? text : text + 2, NULL, base);
    out->real = (double)out->integer;
    return errno ? fail(r, out->span, "this number does not fit 64 bits") : true;
}

static bool floating(Reader *r, const Byte *from, TomlValue *out) {
    out->kind = TOML_FLOAT;
    out->text = plain(r, from, r->at);
    out->real = strtod(out->text, NULL);
    bool spelt = strpbrk(out->text, "in") != NULL;
    return isinf(out->real) && !spelt ? fail(r, out->span, "this number is too large") : true;
}

static bool word(Reader *r, const Byte *from, TomlValue *out) {
    const Byte *p = from, *mark;
    int base = from[1] == 'x' ? 16 : from[1] == 'o' ? 8 : 2;
    out->span = span_from(r, from);
    /*!re2c
        decimal / [^A-Za-z0-9_+.:-]  { return integer(r, from, 10, out); }
        radix / [^A-Za-z0-9_+.:-]    { return integer(r, from, base, out); }
        real / [^A-Za-z0-9_+.:-]     { return floating(r, from, out); }
        special / [^A-Za-z0-9_+.:-]  { return floating(r, from, out); }
        "true" / [^A-Za-z0-9_+.:-]   { goto boolean; }
        "false" / [^A-Za-z0-9_+.:-]  { goto boolean; }
        date             { return fail(r, out->span, "dates and times are not read here"); }
        *                { return fail(r, out->span, "this is no value"); }
    */
boolean:
    out->kind = TOML_BOOL;
    out->text = plain(r, from, r->at);
    out->integer = *from == 't';
    return true;
}

static bool read_scalar(Reader *r, TomlValue *out) {
    const Byte *from = r->at, *p = from;
    memset(out, 0, sizeof *out);
    /*!re2c
        ["']          { goto string; }
        word          { r->at = p; return word(r, from, out); }
        "{"           { return fail_here(r, "a table inside of a value is not read here"); }
        "["           { return fail_here(r, "arrays in arrays are not read here"); }
        *             { return fail_here(r, "a value is needed here"); }
    */
string:
    out->kind = TOML_STRING;
    out->text = read_string(r);
    out->span = span_from(r, from);
    return out->text != NULL;
}

static bool read_array(Reader *r, TomlValue *out) {
    VEC(TomlValue) items = {0};
    const Byte *from = r->at++;
    memset(out, 0, sizeof *out);
    for (;;) {
        TomlValue item;
        skip(r, true);
        if (*r->at == ']')
            break;
        if (!read_scalar(r, &item))
            return false;
        vec_push(r->s->arena, &items, item);
        skip(r, true);
        if (*r->at != ',' && *r->at != ']')
            return fail_here(r, "`,` or `]` is needed here");
        if (*r->at == ',')
            r->at++;
    }
    r->at++;
    *out = (TomlValue){TOML_ARRAY, span_from(r, from), NULL, 0, 0, items.data, items.len};
    return true;
}

// The table that a dotted key's front names, under the current header.
static TomlTable *dotted_table(Reader *r, const Key *key) {
    TomlTable *table = r->header;
    Name name = table->name;
    for (int i = 0; i < key->count - 1; i++) {
        if (!(name = join(r, name, &key->parts[i])))
            return NULL;
        Path *path = path_at(r, name);
        if (path->kind != PATH_NONE && (path->kind != PATH_DOTTED || path->owner != r->header)) {
            fail(r, key->parts[i].span, "this is defined already");
            return NULL;
        }
        path->kind = PATH_DOTTED;
        path->owner = r->header;
        table = add_table(r, path, name, key->parts[i].span);
    }
    return table;
}

// `{ a = 1, b = "x" }` as the table `name`, which nothing can extend.
static bool read_inline(Reader *r, Path *path, Name name, Span span) {
    TomlTable *table = add_table(r, path, name, span);
    r->at++;
    skip(r, false);
    while (*r->at != '}') {
        Part key;
        if (table->entries.len && *r->at++ != ',') {
            r->at--;
            return fail_here(r, "`,` or `}` is needed here");
        }
        skip(r, false);
        if (!read_part(r, &key))
            return false;
        skip(r, false);
        if (*r->at != '=')
            return fail_here(r, "`=` is needed here");
        r->at++;
        skip(r, false);
        TomlEntry entry = {key.name, key.span, {0}};
        Name inner = join(r, name, &key);
        if (!inner)
            return false;
        if (path_at(r, inner)->kind != PATH_NONE)
            return fail(r, key.span, "this key is defined already");
        path_at(r, inner)->kind = PATH_VALUE;
        if (!read_scalar(r, &entry.value))
            return false;
        vec_push(r->s->arena, &table->entries, entry);
        skip(r, false);
    }
    r->at++;
    return end_line(r);
}

static bool read_entry(Reader *r) {
    Key key;
    if (!read_key(r, &key))
        return false;
    if (*r->at != '=')
        return fail_here(r, "`=` is needed here");
    r->at++;
    skip(r, false);
    const Part *last = &key.parts[key.count - 1];
    TomlTable *table = dotted_table(r, &key);
    Name name = table ? join(r, table->name, last) : NULL;
    if (!name)
        return false;
    Path *path = path_at(r, name);
    if (path->kind != PATH_NONE)
        return fail(r, last->span, "this key is defined already");
    path->kind = PATH_VALUE;
    if (*r->at == '{')
        return read_inline(r, path, name, last->span);
    TomlEntry entry = {last->name, last->span, {0}};
    if (!(*r->at == '[' ? read_array(r, &entry.value) : read_scalar(r, &entry.value)))
        return false;
    vec_push(r->s->arena, &table->entries, entry);
    return end_line(r);
}

// ---- The file ----------------------------------------------------------------------------------

// Bytes of the well-formed UTF-8 sequence at p, or 0; the NUL at the end stops every look ahead.
static int sequence(const Byte *p) {
    const Byte *mark;
    /*!re2c
        [\x00-\x7f]                                 { return 1; }
        [\xc2-\xdf] [\x80-\xbf]                     { return 2; }
        "\xe0" [\xa0-\xbf] [\x80-\xbf]              { return 3; }
        [\xe1-\xec\xee\xef] [\x80-\xbf] [\x80-\xbf] { return 3; }
        "\xed" [\x80-\x9f] [\x80-\xbf]              { return 3; }
        "\xf0" [\x90-\xbf] [\x80-\xbf] [\x80-\xbf]  { return 4; }
        [\xf1-\xf3] [\x80-\xbf]{3}                  { return 4; }
        "\xf4" [\x80-\x8f] [\x80-\xbf] [\x80-\xbf]  { return 4; }
        *                                           { return 0; }
    */
}

static bool check_utf8(Reader *r) {
    for (const Byte *p = r->text; p < r->end;) {
        int n = sequence(p);
        r->at = p;
        if (n == 0)
            return fail_here(r, "bytes that are not UTF-8");
        p += n;
    }
    r->at = r->text;
    return true;
}

Toml *toml_parse(Session *s, int file) {
    const Source *source = s->sources.data[file - 1];
    Toml *toml = NEW(s->arena, Toml);
    toml->file = file;
    Reader r = {.s = s, .toml = toml, .text = (const Byte *)source->text.ptr};
    r.at = r.text;
    r.end = r.text + source->text.len;
    if (source->text.len > TOML_MAX_BYTES) {
        fail(&r, (Span){file, 0, 0}, "the file is too large for a manifest");
        return NULL;
    }
    if (!check_utf8(&r))
        return NULL;
    Name root = session_name(s, "");
    Path *path = path_at(&r, root);
    path->kind = PATH_HEADER;
    r.header = add_table(&r, path, root, (Span){file, 0, 0});
    for (;;) {
        skip(&r, true);
        if (r.at == r.end)
            return toml;
        if (!(*r.at == '[' ? read_header(&r) : read_entry(&r)))
            return NULL;
    }
}

const TomlTable *toml_table(const Toml *toml, const char *name) {
    for (int i = 0; i < toml->tables.len; i++) {
        if (strcmp(toml->tables.data[i]->name, name) == 0)
            return toml->tables.data[i];
    }
    return NULL;
}

const TomlEntry *toml_find(const TomlTable *table, const char *key) {
    for (int i = 0; table && i < table->entries.len; i++) {
        if (strcmp(table->entries.data[i].key, key) == 0)
            return &table->entries.data[i];
    }
    return NULL;
}

const char *toml_text(const TomlTable *table, const char *key) {
    const TomlEntry *entry = toml_find(table, key);
    return entry && entry->value.kind == TOML_STRING ? entry->value.text : NULL;
}

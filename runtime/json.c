// The JSON parser: one copy of the text, one flat array of values.
//
// Strings are unescaped in place in the copy (they only shrink) and end in a NUL where the closing
// quote was. Values are appended in text order; a container's span is known when it closes. The
// recursion is as deep as the text, which the depth limit bounds.

#include "runtime/json.h"
#include "runtime/file.h"
#include "runtime/json_tree.h"
#include "runtime/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_KEYS = 8 }; // objects up to this size are searched for repeated keys pairwise

typedef struct {
    const char *source;   // the text as given, for error positions
    char *text;           // the copy, size + 1 bytes, unescaped as the parse goes
    size_t size;          // bytes of text
    size_t at;            // next byte to read
    RtJsonLimits limits;  //
    RtJsonValue *values;  // parsed so far
    uint32_t count;       // values in use
    uint32_t capacity;    // values allocated
    uint32_t *slots;      // scratch hash table of the repeated key check
    size_t slot_capacity; // slots allocated
    const char *where;    // the text's name
    RtError *err;         //
} Parser;

static const RtJsonLimits default_limits = {(size_t)256 << 20, 64, 1u << 23};

// Reports at byte `at`. Lines and columns (in bytes) count from 1.
static bool fail_at(Parser *p, size_t at, const char *what) {
    unsigned long line = 1, column = 1;
    for (size_t i = 0; i < at && i < p->size; i++) {
        column = p->source[i] == '\n' ? 1 : column + 1;
        line += p->source[i] == '\n';
    }
    return rt_fail(p->err, "%s:%lu:%lu: %s", p->where, line, column, what);
}

static void skip_space(Parser *p) {
    while (p->at < p->size) {
        char c = p->text[p->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            break;
        p->at++;
    }
}

// The next byte, or NUL at the end (a NUL inside the text fits no rule of the grammar either).
static char peek(const Parser *p) {
    return p->at < p->size ? p->text[p->at] : '\0';
}

static bool push(Parser *p, RtJsonKind kind, uint32_t *index) {
    if (p->count >= p->limits.values)
        return fail_at(p, p->at, "too many values in this text");
    if (p->count == p->capacity) {
        uint32_t room = p->capacity ? p->capacity * 2 : 16;
        if (room > p->limits.values || room < p->capacity)
            room = p->limits.values;
        RtJsonValue *grown = realloc(p->values, (size_t)room * sizeof *grown);
        if (!grown)
            return fail_at(p, p->at, "out of memory");
        p->values = grown;
        p->capacity = room;
    }
    *index = p->count++;
    p->values[*index] = (RtJsonValue){.kind = (uint8_t)kind, .span = 1, .last = true};
    return true;
}

// ---- strings ----

static bool hex4(const Parser *p, size_t at, uint32_t *out) {
    uint32_t value = 0;
    if (p->size - at < 4)
        return false;
    for (size_t i = at; i < at + 4; i++) {
        char c = p->text[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return false;
        value = value << 4 | digit;
    }
    *out = value;
    return true;
}

static size_t encode(uint32_t c, char *out) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00u >> length & 0xFF) | c);
    return length;
}

// Reads the escape whose backslash is at p->at; writes its character at out.
static bool escape(Parser *p, char *out, size_t *length) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    size_t start = p->at;
    char c = start + 1 < p->size ? p->text[start + 1] : '\0';
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        *out = to[simple - from];
        *length = 1;
        p->at += 2;
        return true;
    }
    uint32_t code, low;
    if (c != 'u')
        return fail_at(p, start, "unknown escape in a string");
    if (!hex4(p, start + 2, &code))
        return fail_at(p, start, "\\u needs four hexadecimal digits");
    p->at += 6;
    if (code >= 0xDC00 && code <= 0xDFFF)
        return fail_at(p, start, "half of a surrogate pair alone");
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (p->size - p->at < 6 || p->text[p->at] != '\\' || p->text[p->at + 1] != 'u' ||
            !hex4(p, p->at + 2, &low) || low < 0xDC00 || low > 0xDFFF)
            return fail_at(p, start, "half of a surrogate pair alone");
        code = 0x10000 + ((code - 0xD800) << 10 | (low - 0xDC00));
        p->at += 6;
    }
    *length = encode(code, out);
    return true;
}

// Reads a string whose opening quote is at p->at.
static bool string(Parser *p, const char **text, uint32_t *length) {
    size_t open = p->at++;
    char *start = p->text + p->at, *put = start;
    for (;;) {
        if (p->at >= p->size)
            return fail_at(p, open, "this string does not end");
        unsigned char c = (unsigned char)p->text[p->at];
        if (c == '"')
            break;
        if (c < 0x20)
            return fail_at(p, p->at, "control character in a string (write it as an escape)");
        if (c != '\\') {
            *put++ = (char)c;
            p->at++;
            continue;
        }
        size_t wrote = 0;
        if (!escape(p, put, &wrote))
            return false;
        put += wrote;
    }
    p->at++;
    *put = '\0';
    *text = start;
    *length = (uint32_t)(put - start);
    return true;
}

// ---- numbers and words ----

static bool digits(Parser *p) {
    size_t start = p->at;
    while (peek(p) >= '0' && peek(p) <= '9')
        p->at++;
    return p->at > start;
}

static bool number(Parser *p, RtJsonValue *value) {
    size_t start = p->at;
    if (peek(p) == '-')
        p->at++;
    if (peek(p) == '0') {
        p->at++;
        if (peek(p) >= '0' && peek(p) <= '9')
            return fail_at(p, start, "a number may not begin with 0 and more digits");
    } else if (!digits(p)) {
        return fail_at(p, start, "a digit was expected after -");
    }
    if (peek(p) == '.') {
        p->at++;
        if (!digits(p))
            return fail_at(p, p->at, "a digit was expected after the point");
    }
    if (peek(p) == 'e' || peek(p) == 'E') {
        p->at++;
        if (peek(p) == '+' || peek(p) == '-')
            p->at++;
        if (!digits(p))
            return fail_at(p, p->at, "a digit was expected in the exponent");
    }
    value->text = p->text + start;
    value->length = (uint32_t)(p->at - start);
    return true;
}

static bool word(Parser *p, const char *name, bool truth, RtJsonValue *value) {
    size_t length = strlen(name);
    if (p->size - p->at < length || memcmp(p->text + p->at, name, length) != 0)
        return fail_at(p, p->at, "a value was expected (NaN, Infinity and None are not JSON)");
    p->at += length;
    value->length = truth;
    return true;
}

// ---- repeated keys ----

static bool same_key(const RtJsonValue *a, const RtJsonValue *b) {
    return a->key_length == b->key_length && memcmp(a->key, b->key, a->key_length) == 0;
}

static bool repeated(Parser *p, const RtJsonValue *value) {
    char name[80], text[160] = "the key \"";
    rt_printable(name, sizeof name, value->key, value->key_length);
    strcat(strcat(text, name), "\" occurs twice in an object");
    return fail_at(p, (size_t)(value->key - p->text), text);
}

static int by_key(const void *left, const void *right) {
    const RtJsonValue *a = *(const RtJsonValue *const *)left;
    const RtJsonValue *b = *(const RtJsonValue *const *)right;
    if (a->key_length != b->key_length)
        return a->key_length < b->key_length ? -1 : 1;
    return memcmp(a->key, b->key, a->key_length);
}

// By sorting: slower on ordinary files, but no choice of keys can make it quadratic.
static bool unique_sorted(Parser *p, const RtJsonValue *object) {
    size_t n = 0;
    const RtJsonValue **list = malloc(object->length * sizeof *list);
    if (!list)
        return fail_at(p, p->at, "out of memory");
    for (const RtJsonValue *v = rt_json_first(object); v; v = rt_json_next(v))
        list[n++] = v;
    qsort(list, n, sizeof *list, by_key);
    const RtJsonValue *twice = NULL;
    for (size_t i = 1; i < n && !twice; i++)
        twice = same_key(list[i - 1], list[i]) ? list[i] : NULL;
    free(list);
    return twice ? repeated(p, twice) : true;
}

static uint64_t hash_key(const RtJsonValue *value) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325); // FNV-1a
    for (uint32_t i = 0; i < value->key_length; i++)
        hash = (hash ^ (unsigned char)value->key[i]) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 32;
}

static bool slots_for(Parser *p, uint32_t members, size_t *room) {
    *room = 16;
    while (*room < (size_t)members * 2)
        *room *= 2;
    if (*room > p->slot_capacity) {
        free(p->slots);
        p->slots = malloc(*room * sizeof *p->slots);
        p->slot_capacity = p->slots ? *room : 0;
    }
    if (!p->slots)
        return fail_at(p, p->at, "out of memory");
    memset(p->slots, 0, *room * sizeof *p->slots);
    return true;
}

static bool unique_keys(Parser *p, const RtJsonValue *object) {
    if (object->length <= FEW_KEYS) {
        for (const RtJsonValue *v = rt_json_first(object); v; v = rt_json_next(v))
            for (const RtJsonValue *w = rt_json_first(object); w != v; w = rt_json_next(w))
                if (same_key(v, w))
                    return repeated(p, v);
        return true;
    }
    size_t room, probes = 0, budget = (size_t)object->length * 16;
    if (!slots_for(p, object->length, &room))
        return false;
    for (const RtJsonValue *v = rt_json_first(object); v; v = rt_json_next(v)) {
        size_t slot = (size_t)hash_key(v) & (room - 1);
        for (; p->slots[slot]; slot = (slot + 1) & (room - 1)) {
            if (same_key(v, object + p->slots[slot]))
                return repeated(p, v);
            if (++probes > budget)
                return unique_sorted(p, object);
        }
        p->slots[slot] = (uint32_t)(v - object);
    }
    return true;
}

// ---- values ----

static bool value_at(Parser *p, uint32_t depth, uint32_t *index);

// One member of a container; for an object with its key before it.
static bool member(Parser *p, bool keyed, uint32_t depth, uint32_t *index) {
    const char *key = NULL;
    uint32_t length = 0;
    if (keyed) {
        if (peek(p) != '"')
            return fail_at(p, p->at, "a key in double quotes was expected");
        if (!string(p, &key, &length))
            return false;
        skip_space(p);
        if (peek(p) != ':')
            return fail_at(p, p->at, "':' was expected after the key");
        p->at++;
        skip_space(p);
    }
    if (!value_at(p, depth + 1, index))
        return false;
    p->values[*index].key = key;
    p->values[*index].key_length = length;
    return true;
}

static bool container(Parser *p, uint32_t self, char close, uint32_t depth) {
    uint32_t members = 0, index = 0;
    size_t open = p->at++;
    if (depth >= p->limits.depth)
        return fail_at(p, open, "nested too deeply");
    skip_space(p);
    bool more = peek(p) != close;
    while (more) {
        if (!member(p, close == '}', depth, &index))
            return false;
        members++;
        skip_space(p);
        more = peek(p) == ',';
        if (!more && p->at >= p->size)
            return fail_at(p, open, "this bracket is not closed");
        if (!more && peek(p) != close)
            return fail_at(p, p->at, "',' or the closing bracket was expected");
        p->values[index].last = !more;
        if (more)
            p->at++;
        skip_space(p);
    }
    p->at++;
    p->values[self].length = members;
    p->values[self].span = p->count - self;
    return close == '}' ? unique_keys(p, &p->values[self]) : true;
}

static bool value_at(Parser *p, uint32_t depth, uint32_t *index) {
    char c = peek(p);
    RtJsonKind kind = c == '{'                             ? RT_JSON_OBJECT
                      : c == '['                           ? RT_JSON_ARRAY
                      : c == '"'                           ? RT_JSON_STRING
                      : c == '-' || (c >= '0' && c <= '9') ? RT_JSON_NUMBER
                      : c == 't' || c == 'f'               ? RT_JSON_BOOL
                                                           : RT_JSON_NULL;
    if (!push(p, kind, index))
        return false;
    RtJsonValue *value = &p->values[*index];
    switch (kind) {
    case RT_JSON_OBJECT:
        return container(p, *index, '}', depth);
    case RT_JSON_ARRAY:
        return container(p, *index, ']', depth);
    case RT_JSON_STRING:
        return string(p, &value->text, &value->length);
    case RT_JSON_NUMBER:
        return number(p, value);
    case RT_JSON_BOOL:
        return c == 't' ? word(p, "true", true, value) : word(p, "false", false, value);
    case RT_JSON_NULL:
        break;
    }
    return word(p, "null", false, value);
}

static bool check_bytes(Parser *p) {
    if (p->size > p->limits.bytes || p->size >= UINT32_MAX)
        return rt_fail(p->err, "%s: %zu bytes of JSON, at most %zu are read", p->where, p->size,
                       p->limits.bytes);
    if (p->size >= 3 && memcmp(p->source, "\xEF\xBB\xBF", 3) == 0)
        return fail_at(p, 0, "a byte order mark; save the file as UTF-8 without it");
    if (rt_utf8_valid(p->source, p->size))
        return true;
    size_t at = 0, length;
    while ((length = rt_utf8_length(p->source + at, p->size - at)) > 0)
        at += length;
    return fail_at(p, at, "not UTF-8");
}

static bool document(Parser *p) {
    uint32_t root;
    if (!check_bytes(p))
        return false;
    p->text = malloc(p->size + 1);
    if (!p->text)
        return fail_at(p, 0, "out of memory");
    memcpy(p->text, p->source, p->size);
    p->text[p->size] = '\0';
    skip_space(p);
    if (p->at == p->size)
        return fail_at(p, p->at, "no JSON value in this text");
    if (!value_at(p, 0, &root))
        return false;
    skip_space(p);
    return p->at == p->size ? true : fail_at(p, p->at, "text after the JSON value");
}

RtJson *rt_json_parse(const char *text, size_t size, const char *where, const RtJsonLimits *limits,
                      RtError *err) {
    Parser p = {.source = text ? text : "", .size = text ? size : 0, .where = where, .err = err};
    p.limits = limits ? *limits : default_limits;
    RtJson *json = NULL;
    size_t name = strlen(where) + 1;
    if (document(&p)) {
        json = malloc(sizeof *json + name);
        if (!json)
            rt_fail(err, "%s: out of memory", where);
    }
    free(p.slots);
    if (!json) {
        free(p.text);
        free(p.values);
        return NULL;
    }
    json->text = p.text;
    json->values = p.values;
    memcpy(json->where, where, name);
    return json;
}

RtJson *rt_json_read(const char *path, const RtJsonLimits *limits, RtError *err) {
    RtFile file;
    if (!rt_file_map(&file, path, err))
        return NULL;
    RtJson *json = rt_json_parse((const char *)file.data, file.size, path, limits, err);
    rt_file_unmap(&file);
    return json;
}

void rt_json_free(RtJson *json) {
    if (!json)
        return;
    free(json->text);
    free(json->values);
    free(json);
}

// Translation of patterns: a walk over the characters that lets through what both engines read
// alike. An unknown construct is an error: guessing would cut text at other places, silently.

#include "runtime/split_pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *in; // the pattern
    size_t size;    // its bytes
    size_t at;      // next byte to read
    char *out;      // the translation; room for 8 bytes a byte and 16 more
    size_t used;    // bytes written
    bool in_set;    // between [ and ]
    RtError *err;   // where the reason of a failure goes
} Walk;

static int peek(const Walk *w, size_t ahead) {
    return w->at + ahead < w->size ? (unsigned char)w->in[w->at + ahead] : -1;
}

static void copy(Walk *w, size_t count) {
    memcpy(w->out + w->used, w->in + w->at, count);
    w->used += count;
    w->at += count;
}

static void replace(Walk *w, size_t count, const char *text) {
    size_t size = strlen(text);
    memcpy(w->out + w->used, text, size);
    w->used += size;
    w->at += count;
}

// Refuses the construct of `count` bytes at the walk's place.
static bool refuse(Walk *w, size_t count, const char *why) {
    char shown[64];
    size_t left = w->size - w->at;
    rt_printable(shown, sizeof shown, w->in + w->at, count < left ? count : left);
    return rt_fail(w->err, "the splitting rule has \"%s\" at byte %zu, %s", shown, w->at, why);
}

// \p{Name} and \P{Name}.
static bool property(Walk *w) {
    size_t end = 3;
    if (peek(w, 2) != '{')
        return refuse(w, 3, "where \\p{NAME} is known alone");
    while (isalnum(peek(w, end)) || peek(w, end) == '_' || peek(w, end) == '^')
        end++;
    if (peek(w, end) != '}' || end > 40)
        return refuse(w, end + 1, "which is no property's name");
    copy(w, end + 1);
    return true;
}

// \uHHHH as \x{HHHH}; \x{H...} as it is.
static bool code_point(Walk *w) {
    char text[12] = "\\x{HHHH}";
    size_t end = 3;
    if (peek(w, 1) == 'u') {
        for (size_t i = 0; i < 4; i++) {
            if (!isxdigit(peek(w, 2 + i)))
                return refuse(w, 6, "where \\u takes four hexadecimal digits");
            text[3 + i] = w->in[w->at + 2 + i];
        }
        replace(w, 6, text);
        return true;
    }
    while (isxdigit(peek(w, end)))
        end++;
    if (peek(w, 2) != '{' || peek(w, end) != '}' || end < 4 || end > 11)
        return refuse(w, 4, "where \\x{HHHH} is known alone");
    copy(w, end + 1);
    return true;
}

static bool escape(Walk *w) {
    int next = peek(w, 1);
    switch (next) {
    case 's':
        replace(w, 2, "\\p{White_Space}");
        return true;
    case 'S':
        replace(w, 2, "\\P{White_Space}");
        return true;
    case 'p':
    case 'P':
        return property(w);
    case 'x':
    case 'u':
        return code_point(w);
    case 'v':
        replace(w, 2, "\\x{0B}");
        return true;
    case 'r':
    case 'n':
    case 't':
    case 'f':
    case 'd':
    case 'D':
        copy(w, 2);
        return true;
    default:
        if (next < 128 && ispunct(next)) {
            copy(w, 2);
            return true;
        }
        return refuse(w, 2, "an escape that is not carried");
    }
}

// A group: plain, or one of the kinds that mean the same to both engines.
static bool group(Walk *w) {
    static const char *const kinds[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:"};
    if (peek(w, 1) == '*')
        return refuse(w, 2, "a directive to the engine, which is not carried");
    if (peek(w, 1) != '?') {
        copy(w, 1);
        return true;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t size = strlen(kinds[i]);
        if (size <= w->size - w->at && memcmp(w->in + w->at, kinds[i], size) == 0) {
            copy(w, size);
            return true;
        }
    }
    return refuse(w, 4, "a kind of group that is not carried");
}

static bool in_set(Walk *w) {
    switch (peek(w, 0)) {
    case '\\':
        return escape(w);
    case '[':
        return refuse(w, 2, "a set inside a set, which is not carried");
    case '&':
        if (peek(w, 1) == '&')
            return refuse(w, 2, "an intersection of sets, which is not carried");
        break;
    case ']':
        w->in_set = false;
        break;
    default:
        break;
    }
    copy(w, 1);
    return true;
}

static bool outside_set(Walk *w) {
    switch (peek(w, 0)) {
    case '\\':
        return escape(w);
    case '(':
        return group(w);
    case '[':
        w->in_set = true;
        copy(w, peek(w, 1) == '^' ? 2 : 1);
        return peek(w, 0) == ']' ? refuse(w, 1, "first in its set: write \\]") : true;
    case '{':
        if (peek(w, 1) == ',')
            return refuse(w, 2, "a count without its least: write {0,");
        break;
    case '}':
        if (peek(w, 1) == '+')
            return refuse(w, 2, "which engines read differently: write a group");
        break;
    default:
        break;
    }
    copy(w, 1);
    return true;
}

char *rt_split_translate(const char *pattern, size_t size, size_t *out_size, RtError *err) {
    Walk w = {.in = pattern, .size = size, .err = err, .out = malloc(8 * size + 16)};
    if (!w.out) {
        rt_fail(err, "out of memory for the splitting rule");
        return NULL;
    }
    while (w.at < w.size) {
        if (!(w.in_set ? in_set(&w) : outside_set(&w))) {
            free(w.out);
            return NULL;
        }
    }
    w.out[w.used] = '\0';
    *out_size = w.used;
    return w.out;
}

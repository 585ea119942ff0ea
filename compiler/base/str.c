// Text: slices, interner (open hashing over an arena), builder, edit distance.
#include "base/str.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool str_eq(Str a, Str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, (size_t)a.len) == 0);
}

Str str_of(const char *text) {
    return (Str){text, (int)strlen(text)};
}

typedef struct Entry Entry;
struct Entry {
    Entry *next;
    uint32_t hash;
    int len;
    const char *text;
};

struct Interner {
    Arena *arena;
    Entry **buckets;
    int count;
    int size; // number of buckets, a power of two
};

static uint32_t hash_bytes(const char *p, int n) {
    uint32_t h = 2166136261u;
    for (int i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 16777619u;
    return h;
}

Interner *interner_new(Arena *a) {
    Interner *in = NEW(a, Interner);
    in->arena = a;
    in->size = 256;
    in->buckets = NEW_N(a, Entry *, in->size);
    return in;
}

static void interner_grow(Interner *in) {
    int size = in->size * 2;
    Entry **buckets = NEW_N(in->arena, Entry *, size);
    for (int i = 0; i < in->size; i++) {
        for (Entry *e = in->buckets[i]; e;) {
            Entry *next = e->next;
            e->next = buckets[e->hash & (uint32_t)(size - 1)];
            buckets[e->hash & (uint32_t)(size - 1)] = e;
            e = next;
        }
    }
    in->buckets = buckets;
    in->size = size;
}

Name intern(Interner *in, Str s) {
    uint32_t h = hash_bytes(s.ptr, s.len);
    for (Entry *e = in->buckets[h & (uint32_t)(in->size - 1)]; e; e = e->next) {
        if (e->hash == h && e->len == s.len && memcmp(e->text, s.ptr, (size_t)s.len) == 0)
            return e->text;
    }
    if (in->count++ >= in->size)
        interner_grow(in);
    Entry *e = NEW(in->arena, Entry);
    e->hash = h;
    e->len = s.len;
    e->text = arena_copy(in->arena, s.ptr, (size_t)s.len);
    e->next = in->buckets[h & (uint32_t)(in->size - 1)];
    in->buckets[h & (uint32_t)(in->size - 1)] = e;
    return e->text;
}

StrBuf strbuf_new(Arena *a) {
    StrBuf b = {.arena = a, .cap = 64};
    b.data = arena_alloc(a, (size_t)b.cap);
    return b;
}

static void reserve(StrBuf *b, int more) {
    if (b->cap - b->len > more)
        return;
    int cap = b->cap * 2 > b->len + more ? b->cap * 2 : b->len + more + 1;
    char *data = arena_alloc(b->arena, (size_t)cap);
    memcpy(data, b->data, (size_t)b->len + 1);
    b->data = data;
    b->cap = cap;
}

void strbuf_add(StrBuf *b, Str s) {
    reserve(b, s.len + 1);
    if (s.len)
        memcpy(b->data + b->len, s.ptr, (size_t)s.len);
    b->len += s.len;
    b->data[b->len] = 0;
}

void strbuf_char(StrBuf *b, char c) {
    strbuf_add(b, (Str){&c, 1});
}

void strbuf_vprintf(StrBuf *b, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n > 0) {
        reserve(b, n + 1);
        vsnprintf(b->data + b->len, (size_t)n + 1, format, again);
        b->len += n;
    }
    va_end(again);
}

void strbuf_printf(StrBuf *b, const char *format, ...) {
    va_list args;
    va_start(args, format);
    strbuf_vprintf(b, format, args);
    va_end(args);
}

char *arena_printf(Arena *a, const char *format, ...) {
    StrBuf b = strbuf_new(a);
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&b, format, args);
    va_end(args);
    return b.data;
}

int str_distance(const char *a, const char *b, int limit) {
    enum { LONGEST = 48 };
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > LONGEST || m > LONGEST || abs(n - m) > limit)
        return limit + 1;
    int d[LONGEST + 1][LONGEST + 1];
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++) {
        for (int j = 1; j <= m; j++) {
            int best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (d[i - 1][j] + 1 < best)
                best = d[i - 1][j] + 1;
            if (d[i][j - 1] + 1 < best)
                best = d[i][j - 1] + 1;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && d[i - 2][j - 2] + 1 < best)
                best = d[i - 2][j - 2] + 1;
            d[i][j] = best;
        }
    }
    return d[n][m];
}

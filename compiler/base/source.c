// Sources, their line tables, and places in them.
#include "base/source.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SAMPLE = 256 }; // bytes between counts of code points

// Does a code point begin here?
static bool is_point(char c) {
    return ((unsigned char)c & 0xC0) != 0x80;
}

Source *source_new(Arena *a, const char *path, Str text) {
    Source *s = NEW(a, Source);
    s->path = arena_copy(a, path, strlen(path));
    s->text = text;
    s->line_count = 1;
    for (int i = 0; i < text.len; i++)
        s->line_count += text.ptr[i] == '\n';
    s->lines = NEW_N(a, int, s->line_count);
    int n = 1;
    for (int i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n')
            s->lines[n++] = i + 1;
    }
    s->points = NEW_N(a, int, text.len / SAMPLE + 1);
    for (int i = 0, points = 0; i < text.len; i++) {
        if (i % SAMPLE == 0)
            s->points[i / SAMPLE] = points;
        points += is_point(text.ptr[i]);
    }
    return s;
}

static const char *read_all(Arena *a, FILE *f, size_t size, Str *text) {
    char *bytes = arena_alloc(a, size + 1);
    size_t n = fread(bytes, 1, size, f);
    if (ferror(f))
        return strerror(errno);
    *text = (Str){bytes, (int)n};
    return NULL;
}

Source *source_load(Arena *a, const char *path, const char **why) {
    struct stat st;
    if (stat(path, &st) != 0) {
        *why = strerror(errno);
        return NULL;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > SOURCE_LIMIT) {
        *why = S_ISREG(st.st_mode) ? "larger than 64 MiB" : "not a regular file";
        return NULL;
    }
    FILE *f = fopen(path, "rb");
    if (!f) {
        *why = strerror(errno);
        return NULL;
    }
    Str text = {0};
    *why = read_all(a, f, (size_t)st.st_size, &text);
    fclose(f);
    return *why ? NULL : source_new(a, path, text);
}

// Has the file a byte 0 near its start? Text has none, and the formats of weights do.
static bool is_binary(const char *path) {
    char head[512];
    struct stat st;
    FILE *f = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
    size_t n = f ? fread(head, 1, sizeof head, f) : 0;
    if (f)
        fclose(f);
    return memchr(head, '\0', n) != NULL;
}

Source *source_load_program(Arena *a, const char *path, const char **why) {
    if (!is_binary(path))
        return source_load(a, path, why);
    *why = "it is binary, no program: give a program, or the folder that has a checkpoint's "
           "weights and its config.json";
    return NULL;
}

// Code points before an offset. Places of many things on one long line cost little each.
static int points_before(const Source *s, int offset) {
    int end = offset < s->text.len ? offset : s->text.len;
    int start = (end ? end - 1 : 0) / SAMPLE;
    int n = s->text.len ? s->points[start] : 0;
    for (int i = start * SAMPLE; i < end; i++)
        n += is_point(s->text.ptr[i]);
    return n;
}

void source_place(const Source *s, int offset, int *line, int *column) {
    int lo = 0, hi = s->line_count - 1;
    while (lo < hi) {
        int mid = (lo + hi + 1) / 2;
        if (s->lines[mid] <= offset)
            lo = mid;
        else
            hi = mid - 1;
    }
    *line = lo + 1;
    *column = points_before(s, offset) - points_before(s, s->lines[lo]) + 1;
}

Str source_line(const Source *s, int line) {
    int start = s->lines[line - 1];
    int end = line < s->line_count ? s->lines[line] - 1 : s->text.len;
    if (end > start && s->text.ptr[end - 1] == '\r')
        end--;
    return (Str){s->text.ptr + start, end - start};
}

Span span_join(Span a, Span b) {
    if (!a.file)
        return b;
    if (!b.file || a.file != b.file)
        return a;
    return (Span){a.file, a.start < b.start ? a.start : b.start, a.end > b.end ? a.end : b.end};
}

// What the tests of weight files share: counting checks, byte buffers, a temporary folder.

#ifndef TESTS_WEIGHTS_HELP_H
#define TESTS_WEIGHTS_HELP_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    int passed;      // checks that held
    int failed;      // and those that did not
    char folder[64]; // temporary, removed at the end
    char path[400];  // the last path made in it
} Test;

static inline void check_at(Test *t, bool ok, const char *what, const char *file, int line) {
    t->passed += ok;
    t->failed += !ok;
    if (!ok)
        printf("%s:%d: %s\n", file, line, what);
}

#define CHECK(t, condition) check_at((t), (condition), #condition, __FILE__, __LINE__)

// A refusal: the call failed and its message holds `part`.
static inline void refused_at(Test *t, bool failed, const char *text, const char *part,
                              const char *file, int line) {
    bool ok = failed && strstr(text, part) != NULL;
    t->passed += ok;
    t->failed += !ok;
    if (!ok)
        printf("%s:%d: wanted a refusal with \"%s\", got %s \"%s\"\n", file, line, part,
               failed ? "the message" : "acceptance; last message", text);
}

#define REFUSED(t, failed, text, part) refused_at((t), (failed), (text), (part), __FILE__, __LINE__)

typedef struct {
    unsigned char bytes[1 << 14]; // contents
    size_t size;                  // bytes in use
} Bytes;

static inline void put(Bytes *b, const void *data, size_t size) {
    if (size > sizeof b->bytes - b->size)
        abort();
    memcpy(b->bytes + b->size, data, size);
    b->size += size;
}

static inline void put_number(Bytes *b, uint64_t value, int size) {
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put(b, bytes, (size_t)size);
}

static inline void put_zeros(Bytes *b, size_t count) {
    while (count-- > 0)
        put(b, "", 1);
}

static inline void test_begin(Test *t) {
    memset(t, 0, sizeof *t);
    snprintf(t->folder, sizeof t->folder, "/tmp/serin-test-XXXXXX");
    if (!mkdtemp(t->folder))
        abort();
}

// The path of a file in the temporary folder; good until the next call.
static inline const char *path_of(Test *t, const char *name) {
    snprintf(t->path, sizeof t->path, "%s/%s", t->folder, name);
    return t->path;
}

static inline const char *save(Test *t, const char *name, const void *data, size_t size) {
    FILE *file = fopen(path_of(t, name), "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
    return t->path;
}

static inline int test_end(Test *t) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", t->folder);
    if (system(command) != 0)
        printf("%s was not removed\n", t->folder);
    printf("%d passed, %d failed\n", t->passed, t->failed);
    return t->failed != 0;
}

#endif

// What the tests of generated C share: a folder for it, compilers, running commands.
#pragma once
#include "base/embedded.h"
#include "codegen/codegen.h"
#include "base/source.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/wait.h>
#include <unistd.h>

static inline bool have(const char *command) {
    char line[200];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", command);
    return system(line) == 0;
}

// Exit code of a shell command; 200 if it did not end by itself.
static inline int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline int shell(const char *format, ...) {
    char line[2000];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    int status = system(line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200;
}

static inline bool write_bytes(const char *dir, const char *name, const void *bytes, size_t size) {
    char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(bytes, 1, size, f) == size;
    return f && fclose(f) == 0 && ok;
}

// A file as text in the arena; NULL if it can't be read.
static inline const char *read_text(Arena *a, const char *dir, const char *name) {
    const char *why;
    Source *s = source_load(a, arena_printf(a, "%s/%s", dir, name), &why);
    return s ? s->text.ptr : NULL;
}

// The runtime's files as the export wants them.
static inline GenFile *runtime_texts(Arena *a, int *count) {
    VEC(GenFile) out = {0};
    for (const EmbeddedFile *f = embedded_files(); f->path; f++) {
        if (strncmp(f->path, "runtime/", 8) == 0)
            vec_push(a, &out, ((GenFile){f->path, {f->text, f->size}}));
    }
    *count = out.len;
    return out.data;
}

// A fresh folder with the project's format file.
static inline char *test_folder(char *path) {
    strcpy(path, "/tmp/serin-codegen-XXXXXX");
    if (!mkdtemp(path)) {
        perror(path);
        exit(1);
    }
    shell("cp .clang-format %s/ 2>/dev/null", path);
    return path;
}

static const char *const c_warnings = "-std=c11 -D_GNU_SOURCE -ffp-contract=off -Wall -Wextra "
                                      "-Wpedantic -Wshadow -Werror";

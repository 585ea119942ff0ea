// serin fmt [--check] PATH...|-: sources in the one style.
#include "base/vec.h"
#include "cli/cli.h"
#include "syntax/format.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const Flag flags[] = {
    {"--check", FLAG_BOOL, NULL, "change nothing; exit code 1 if a file is not formatted"},
};

enum { DEEPEST = 32 }; // folders in folders

typedef VEC(const char *) PathVec;

static bool is_source(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && dot != name && (strcmp(dot, ".serin") == 0 || strcmp(dot, ".linnet") == 0);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool can_not_read(const char *path) {
    fprintf(stderr, "serin: %s can't be read: %s\n", path, strerror(errno));
    return false;
}

// Adds the sources under a folder, in the order of their names; hidden ones, links to folders and
// other file systems than `device` are left out. False after a message.
static bool add_folder(Arena *a, PathVec *out, const char *path, dev_t device, int depth) {
    PathVec names = {0};
    DIR *folder = depth < DEEPEST ? opendir(path) : NULL;
    if (!folder)
        return can_not_read(path);
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] != '.')
            vec_push(a, &names, arena_printf(a, "%s/%s", path, entry->d_name));
    }
    closedir(folder);
    if (names.len)
        qsort(names.data, (size_t)names.len, sizeof *names.data, by_name);
    bool good = true;
    for (int i = 0; i < names.len; i++) {
        struct stat st;
        if (lstat(names.data[i], &st) != 0)
            good = can_not_read(names.data[i]);
        else if (S_ISDIR(st.st_mode))
            good &= st.st_dev != device || add_folder(a, out, names.data[i], device, depth + 1);
        else if (S_ISREG(st.st_mode) && is_source(names.data[i]))
            vec_push(a, out, names.data[i]);
    }
    return good;
}

// Sources are changed in place, so a slip of the hand must not reach a whole machine.
static bool is_root(const struct stat *st) {
    struct stat root;
    return stat("/", &root) == 0 && root.st_dev == st->st_dev && root.st_ino == st->st_ino;
}

static bool add_path(Arena *a, PathVec *out, const char *path) {
    struct stat st;
    if (strcmp(path, "-") != 0 && stat(path, &st) != 0)
        return can_not_read(path);
    if (strcmp(path, "-") != 0 && S_ISDIR(st.st_mode) && is_root(&st)) {
        fprintf(stderr, "serin: %s is the whole file system: name the folders to format\n", path);
        return false;
    }
    if (strcmp(path, "-") != 0 && S_ISDIR(st.st_mode))
        return add_folder(a, out, path, st.st_dev, 0);
    vec_push(a, out, path);
    return true;
}

// ---- One file ----------------------------------------------------------------------------------

static Source *read_stdin(Arena *a) {
    StrBuf b = strbuf_new(a);
    char piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, stdin)) > 0 && b.len <= SOURCE_LIMIT)
        strbuf_add(&b, (Str){piece, (int)n});
    return b.len > SOURCE_LIMIT ? NULL : source_new(a, "stdin", (Str){b.data, b.len});
}

static bool write_all(int fd, const StrBuf *text) {
    for (int done = 0; done < text->len;) {
        ssize_t n = write(fd, text->data + done, (size_t)(text->len - done));
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (int)n : 0;
    }
    return true;
}

// Replaces a file as a whole: whoever reads it sees the old text or the new one. A link stays one.
static bool replace(Arena *a, const char *path, const StrBuf *text) {
    struct stat st;
    char *real = realpath(path, NULL);
    if (!real)
        return false;
    char *temporary = arena_printf(a, "%s.XXXXXX", real);
    int fd = stat(real, &st) == 0 ? mkstemp(temporary) : -1;
    bool good = fd >= 0 && write_all(fd, text) && fchmod(fd, st.st_mode & 07777) == 0;
    good = (fd < 0 || close(fd) == 0) && good;
    good = good && rename(temporary, real) == 0;
    int why = errno;
    if (fd >= 0 && !good)
        unlink(temporary);
    free(real);
    errno = why;
    return good;
}

static int deliver(Arena *a, const char *path, const Str *old, const StrBuf *text, bool check) {
    bool same = str_eq(*old, (Str){text->data, text->len});
    if (check) {
        if (!same)
            printf("%s\n", path);
        return same ? EXIT_FINE : EXIT_WRONG;
    }
    if (strcmp(path, "-") == 0) {
        fwrite(text->data, 1, (size_t)text->len, stdout);
        return EXIT_FINE;
    }
    if (same || replace(a, path, text))
        return EXIT_FINE;
    fprintf(stderr, "serin: %s can't be written: %s\n", path, strerror(errno));
    return EXIT_USAGE;
}

static int format_one(const char *path, bool check) {
    Session *s = session_new();
    const char *why = "it is too large";
    bool standard = strcmp(path, "-") == 0;
    Source *source = standard ? read_stdin(s->arena) : source_load_program(s->arena, path, &why);
    int code = EXIT_USAGE;
    StrBuf text = strbuf_new(s->arena);
    if (!source) {
        fprintf(stderr, "serin: %s can't be read: %s\n", path, why);
    } else {
        FormatResult result = format_source(s, session_add(s, source), &text);
        if (result == FORMAT_FINE)
            code = deliver(s->arena, path, &source->text, &text, check);
        else if (result == FORMAT_ERRORS)
            code = finish_text(s);
        else
            code = internal_error("the formatted program would be another one", path);
    }
    session_free(s);
    return code;
}

static int run(Arena *a, const Args *args) {
    PathVec paths = {0};
    int worst = EXIT_FINE;
    if (!args->paths.len)
        return usage_error("fmt takes at least one PATH, or - for stdin");
    for (int i = 0; i < args->paths.len; i++) {
        if (!add_path(a, &paths, args->paths.data[i]))
            worst = EXIT_USAGE;
    }
    for (int i = 0; i < paths.len; i++) {
        int code = format_one(paths.data[i], args_has(args, "--check"));
        worst = code > worst ? code : worst;
    }
    return worst;
}

const Command command_fmt = {"fmt",
                             "[--check] PATH...|-",
                             "Formats sources in the one style, in place.",
                             "serin fmt examples/minigpt",
                             COMMAND_FLAGS(flags),
                             run};

// The folder of an export; see export_folder.h. The file `.exported` in it has a line for each file
// that was written: its hash, 16 hexadecimal digits, and its name.
#include "cli/export_folder.h"
#include "runtime/file.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char record[] = ".exported";

// FNV-1a, 64 bits: enough to tell an edited file.
static uint64_t hash(const void *data, size_t size) {
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

static const char *record_line(Arena *a, const char *name, const void *data, size_t size) {
    return arena_printf(a, "%016" PRIx64 " %s\n", hash(data, size), name);
}

// Is the file in the folder absent, or as the record has it?
static bool untouched(Arena *a, const char *dir, const char *name, Str lines) {
    RtFile file;
    RtError err;
    const char *path = arena_printf(a, "%s/%s", dir, name);
    if (access(path, F_OK) != 0)
        return true;
    if (!rt_file_map(&file, path, &err))
        return false;
    const char *line = record_line(a, name, file.data, file.size);
    rt_file_unmap(&file);
    return memmem(lines.ptr, (size_t)lines.len, line, strlen(line)) != NULL;
}

// The record's lines, in the arena; empty where there is none.
static Str read_record(Arena *a, const char *dir) {
    RtFile file;
    RtError err;
    Str lines = {"", 0};
    if (!rt_file_map(&file, arena_printf(a, "%s/%s", dir, record), &err))
        return lines;
    if (file.size <= INT_MAX) {
        char *text = arena_alloc(a, file.size);
        lines = (Str){memcpy(text, file.data, file.size), (int)file.size};
    }
    rt_file_unmap(&file);
    return lines;
}

static bool may_overwrite(Model *m, const char *dir, const GenFile *files, int count) {
    Str lines = read_record(m->a, dir);
    const char *edited = NULL;
    for (int i = 0; i < count && !edited; i++) {
        if (!untouched(m->a, dir, files[i].name, lines))
            edited = files[i].name;
    }
    if (!edited)
        return true;
    Diag *d = report(m->s, (Span){0}, E8001, "%s/%s is not as it was exported", dir, edited);
    diag_help(m->s, d, "give another folder, or --force to overwrite what was edited there");
    return false;
}

bool export_folder(Model *m, const char *dir, bool force, const GenFile *files, int count) {
    const char *marker = arena_printf(m->a, "%s/model.h", dir);
    int made = mkdir(dir, 0777), error = errno;
    if (made == 0)
        return true;
    if (error == EEXIST && access(marker, F_OK) == 0)
        return force || may_overwrite(m, dir, files, count);
    if (error == EEXIST && rmdir(dir) == 0 && mkdir(dir, 0777) == 0)
        return true; // it was empty
    report(m->s, (Span){0}, E8001, "the folder %s can't be written to: %s", dir,
           error == EEXIST ? "it exists and is no earlier export" : strerror(error));
    return false;
}

bool export_write(Model *m, const char *dir, const GenFile *f) {
    RtError err;
    const char *path = arena_printf(m->a, "%s/%s", dir, f->name);
    RtWriter *w = rt_writer_open(path, &err);
    bool good = w && rt_writer_put(w, f->text.ptr, (size_t)f->text.len);
    if (w) // a failed write is reported by the commit
        good = rt_writer_commit(w, &err) && good;
    if (!good)
        report(m->s, (Span){0}, E8001, "%s", err.text);
    return good;
}

static bool is_written(Str line, const GenFile *files, int count) {
    for (int i = 0; i < count; i++) {
        if (line.len > 17 && str_eq((Str){line.ptr + 17, line.len - 17}, str_of(files[i].name)))
            return true;
    }
    return false;
}

bool export_record(Model *m, const char *dir, const GenFile *files, int count) {
    Str old = read_record(m->a, dir);
    StrBuf b = strbuf_new(m->a);
    for (int i = 0; i < count; i++) {
        const Str text = files[i].text;
        strbuf_add(&b, str_of(record_line(m->a, files[i].name, text.ptr, (size_t)text.len)));
    }
    while (old.len) { // what an earlier export wrote and this one does not, as with --fixed
        const char *end = memchr(old.ptr, '\n', (size_t)old.len);
        Str line = {old.ptr, end ? (int)(end - old.ptr) : old.len};
        if (!is_written(line, files, count))
            strbuf_printf(&b, "%.*s\n", STR_ARG(line));
        old = (Str){line.ptr + line.len + (end != NULL), old.len - line.len - (end != NULL)};
    }
    return export_write(m, dir, &(GenFile){record, {b.data, b.len}});
}

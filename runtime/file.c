// Files: mapping to read, and writing whole or not at all.

#include "runtime/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- reading ----

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode)    ? "is a directory, not a file"
           : S_ISFIFO(mode) ? "is a pipe, not a regular file"
           : S_ISSOCK(mode) ? "is a socket, not a regular file"
                            : "is a device, not a regular file";
}

static bool map_open(RtFile *file, const char *path, int fd, RtError *err) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return rt_fail(err, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return rt_fail(err, "%s: %s", path, kind_of(info.st_mode));
    if (info.st_size <= 0)
        return rt_fail(err, "%s: the file is empty", path);
    if ((uintmax_t)info.st_size > SIZE_MAX / 2)
        return rt_fail(err, "%s: the file is too large for this machine", path);
    size_t size = (size_t)info.st_size;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return rt_fail(err, "%s: cannot be mapped: %s", path, strerror(errno));
    file->data = data;
    file->size = size;
    return true;
}

bool rt_file_map(RtFile *file, const char *path, RtError *err) {
    *file = (RtFile){0};
    // O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return rt_fail(err, "%s: %s", path, strerror(errno));
    bool ok = map_open(file, path, fd, err);
    close(fd);
    return ok;
}

void rt_file_unmap(RtFile *file) {
    if (file->data)
        munmap((void *)(uintptr_t)file->data, file->size);
    *file = (RtFile){0};
}

// ---- writing ----

enum { BUFFER = 1 << 16, NAME_TRIES = 1000 };

struct RtWriter {
    int fd;                       // the temporary file
    bool nameless;                // it has no name yet: nothing is left behind if we are killed
    int error;                    // errno of the first failure, else 0
    uint64_t flushed;             // bytes in the file
    size_t held;                  // bytes in the buffer
    unsigned char buffer[BUFFER]; // bytes not yet written
    char *temporary;              // its path, in names
    size_t room;                  // for that
    char names[];                 // the final path, NUL, the temporary one, NUL
};

// A file without a name in the folder of `path`, where the system has such.
static bool open_nameless(RtWriter *w, const char *path, size_t room) {
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    snprintf(w->temporary, room, "%.*s", (int)(folder ? folder : 1), folder ? path : ".");
    bool can = folder < INT_MAX && access("/proc/self/fd", X_OK) == 0;
    w->fd = can ? open(w->temporary, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
    return w->fd >= 0;
}

// A temporary name for the file beside `path`: a new file, or the nameless one.
static bool take_name(RtWriter *w, const char *path, size_t room) {
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", w->fd);
    for (int i = 0; i < NAME_TRIES; i++) {
        snprintf(w->temporary, room, "%s.tmp-%ld-%d", path, (long)getpid(), i);
        bool took;
        if (w->nameless) {
            took = linkat(AT_FDCWD, self, AT_FDCWD, w->temporary, AT_SYMLINK_FOLLOW) == 0;
        } else {
            w->fd = open(w->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            took = w->fd >= 0;
        }
        if (took || errno != EEXIST)
            return took;
    }
    return false;
}

RtWriter *rt_writer_open(const char *path, RtError *err) {
    size_t length = strlen(path), room = length + 48;
    RtWriter *w = malloc(sizeof *w + length + 1 + room);
    if (!w) {
        rt_fail(err, "%s: out of memory", path);
        return NULL;
    }
    memcpy(w->names, path, length + 1);
    w->temporary = w->names + length + 1;
    w->room = room;
    w->error = 0;
    w->flushed = 0;
    w->held = 0;
    w->fd = -1;
    w->nameless = open_nameless(w, path, room);
    if (w->nameless || take_name(w, path, room))
        return w;
    rt_fail(err, "%s: cannot be created: %s", w->temporary, strerror(errno));
    free(w);
    return NULL;
}

static bool write_all(RtWriter *w, const unsigned char *data, size_t size, uint64_t offset) {
    while (size > 0 && !w->error) {
        ssize_t wrote = pwrite(w->fd, data, size, (off_t)offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            w->error = wrote < 0 ? errno : EIO;
            break;
        }
        data += wrote;
        size -= (size_t)wrote;
        offset += (uint64_t)wrote;
    }
    return !w->error;
}

static bool flush(RtWriter *w) {
    bool ok = write_all(w, w->buffer, w->held, w->flushed);
    w->flushed += w->held;
    w->held = 0;
    return ok;
}

bool rt_writer_put(RtWriter *w, const void *data, size_t size) {
    if (w->error || size == 0)
        return !w->error;
    if (size > BUFFER - w->held && !flush(w))
        return false;
    if (size > BUFFER) {
        bool ok = write_all(w, data, size, w->flushed);
        w->flushed += size;
        return ok;
    }
    memcpy(w->buffer + w->held, data, size);
    w->held += size;
    return true;
}

bool rt_writer_pad(RtWriter *w, uint64_t alignment) {
    static const unsigned char zeros[64];
    uint64_t left = (alignment - rt_writer_offset(w) % alignment) % alignment;
    for (; left > 0 && !w->error; left -= left < sizeof zeros ? left : sizeof zeros)
        rt_writer_put(w, zeros, left < sizeof zeros ? (size_t)left : sizeof zeros);
    return !w->error;
}

uint64_t rt_writer_offset(const RtWriter *w) {
    return w->flushed + w->held;
}

bool rt_writer_patch(RtWriter *w, uint64_t offset, const void *data, size_t size) {
    return flush(w) && write_all(w, data, size, offset);
}

bool rt_writer_commit(RtWriter *w, RtError *err) {
    flush(w);
    if (!w->error && fsync(w->fd) != 0 && errno != EINVAL && errno != EROFS)
        w->error = errno;
    if (!w->error && w->nameless) {
        w->nameless = !take_name(w, w->names, w->room);
        w->error = w->nameless ? errno : 0;
    }
    if (close(w->fd) != 0 && !w->error)
        w->error = errno;
    w->fd = -1;
    if (!w->error && rename(w->temporary, w->names) != 0)
        w->error = errno;
    bool ok = !w->error;
    if (!ok) {
        rt_fail(err, "%s: cannot be written: %s", w->names, strerror(w->error));
        if (!w->nameless)
            unlink(w->temporary);
    }
    free(w);
    return ok;
}

void rt_writer_abort(RtWriter *w) {
    if (!w)
        return;
    close(w->fd);
    if (!w->nameless)
        unlink(w->temporary);
    free(w);
}

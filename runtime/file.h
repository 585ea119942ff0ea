// Files: mapping to read, and writing whole or not at all.

#ifndef RUNTIME_FILE_H
#define RUNTIME_FILE_H

#include "runtime/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const unsigned char *data; // the mapping, page-aligned
    size_t size;               // bytes, at least 1
} RtFile;

// Maps a regular file to read. Refuses what is not there or not readable, directories, FIFOs,
// devices, and empty files; symbolic links are followed. The file may be renamed or unlinked while
// it is mapped; one that is cut short under us ends the program with SIGBUS, as with any mapping.
bool rt_file_map(RtFile *file, const char *path, RtError *err);
void rt_file_unmap(RtFile *file); // leaves an empty RtFile; an empty one is allowed

// A file being written under a temporary name beside its own. Nothing is at `path` before
// rt_writer_commit, and then the whole of it.
typedef struct RtWriter RtWriter;

RtWriter *rt_writer_open(const char *path, RtError *err); // NULL with *err set

// Appends bytes (buffered), or zeros up to the next multiple of `alignment`. Errors are kept and
// reported by rt_writer_commit; after one, further writes do nothing and return false.
bool rt_writer_put(RtWriter *writer, const void *data, size_t size);
bool rt_writer_pad(RtWriter *writer, uint64_t alignment);

// Bytes written so far: the offset of the next one.
uint64_t rt_writer_offset(const RtWriter *writer);

// Overwrites bytes written before (a header whose contents are known at the end).
bool rt_writer_patch(RtWriter *writer, uint64_t offset, const void *data, size_t size);

// Flushes, syncs and renames to `path`; on failure removes the temporary file. Frees the writer
// either way. rt_writer_abort removes the temporary file and frees (NULL is allowed).
bool rt_writer_commit(RtWriter *writer, RtError *err);
void rt_writer_abort(RtWriter *writer);

#endif

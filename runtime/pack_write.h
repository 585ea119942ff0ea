// Writing packed weights (pack.h), streaming.

#ifndef RUNTIME_PACK_WRITE_H
#define RUNTIME_PACK_WRITE_H

#include "runtime/error.h"
#include "runtime/pack.h"

typedef struct {
    const char *name;            // NUL-terminated, at most 4096 bytes, unique
    uint32_t format;             // the reader's number for what the bytes mean
    uint32_t rank;               // 0 .. RT_PACK_RANK
    uint64_t dims[RT_PACK_RANK]; // outermost first
    uint64_t bytes;              // of the tensor in the file
    size_t unit;                 // bytes asked of the provider at a time: a row, a panel of rows
} RtPackSource;

// Gives bytes unit_index * unit .. + size - 1 of a tensor (size = unit, less in the last one if
// unit does not divide bytes). Returns false with *err set to stop.
typedef bool RtPackFill(void *user, size_t tensor, uint64_t unit_index, size_t size, void *out,
                        RtError *err);

// Writes `path` under a temporary name, asking `fill` for each unit of each tensor in order, then
// renames. Memory: one unit and a small buffer. The same input gives the same bytes.
bool rt_pack_write(const char *path, const RtPackSource *tensors, size_t count, RtPackFill *fill,
                   void *user, RtError *err);

#endif

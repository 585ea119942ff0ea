// A table of named tensors lying in a byte buffer: what both weight file readers produce.

#ifndef RUNTIME_TENSORS_H
#define RUNTIME_TENSORS_H

#include "runtime/error.h"
#include "runtime/quant.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RT_MAX_RANK = 8 };

typedef struct {
    const char *name;          // NUL-terminated UTF-8 without control characters, not empty
    RtFormat format;           // storage format of the elements
    int rank;                  // 0 .. RT_MAX_RANK
    int64_t dims[RT_MAX_RANK]; // extents, row-major, outermost first; each >= 0
    const void *data;          // into the mapping, aligned to rt_format_align(format)
    uint64_t bytes;            // size of data; rt_format_bytes of the element count
} RtTensor;

// The element count: the product of dims (checked when the tensor was read). 1 for rank 0.
uint64_t rt_tensor_elements(const RtTensor *tensor);

// Writes "[2, 3]" or "[]" into out (room bytes, cut if too small) and returns out.
char *rt_tensor_shape(const RtTensor *tensor, char *out, size_t room);

typedef struct {
    RtTensor *items; // in file order
    size_t count;    // tensors
    size_t capacity; // allocated items
    size_t *sorted;  // item numbers in order of name, after rt_tensors_index; else NULL
} RtTensors;

void rt_tensors_free(RtTensors *tensors); // frees the names too; leaves an empty table

// Adds a tensor, copying its name (`length` bytes). Refuses an empty name, one over 4096 bytes, one
// that is not UTF-8 or holds control characters. `where` names the file in messages.
bool rt_tensors_add(RtTensors *tensors, const RtTensor *tensor, const char *name, size_t length,
                    const char *where, RtError *err);

// Sorts the names for rt_tensors_find and refuses a name that occurs twice.
bool rt_tensors_index(RtTensors *tensors, const char *where, RtError *err);
const RtTensor *rt_tensors_find(const RtTensors *tensors, const char *name); // NULL: none

// Product of `rank` dims into *elements and the bytes they take into *bytes; false if a dim is
// negative, either does not fit 63 bits, or the innermost dim is no multiple of the block.
bool rt_tensor_size(const RtTensor *tensor, uint64_t *elements, uint64_t *bytes);

// Checks that the tensors fill [data, data + size) in some order: aligned, no overlap, and no gap
// beyond rounding up to `padding` (1: none), at the end too.
bool rt_tensors_cover(const RtTensors *tensors, const void *data, uint64_t size, uint64_t padding,
                      const char *where, RtError *err);

#endif

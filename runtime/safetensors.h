// safetensors files: an 8-byte length, a JSON table, the data.

#ifndef RUNTIME_SAFETENSORS_H
#define RUNTIME_SAFETENSORS_H

#include "runtime/error.h"
#include "runtime/tensors.h"

#include <stdbool.h>
#include <stddef.h>

// Reads the table of a safetensors file lying in memory (8-byte aligned; it must outlive the
// tensors). Adds its tensors to *tensors in the table's order; the caller calls rt_tensors_index
// and rt_tensors_free, the latter after a failure too. `where` names the file in messages.
bool rt_safetensors_parse(const void *data, size_t size, const char *where, RtTensors *tensors,
                          RtError *err);

// Writes tensors (plain formats only) to a file, under a temporary name and then renamed. The same
// tensors give the same bytes: widest elements first, else in the order given. Names as in
// RtTensor.
bool rt_safetensors_write(const char *path, const RtTensor *tensors, size_t count, RtError *err);

#endif

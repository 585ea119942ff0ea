// Weight files under one face: safetensors (one file or shards) and GGUF.
//
// Opening maps the files and checks every name, shape, format and offset before anything is read;
// tensor data is never copied. A file that is wrong anywhere is refused as a whole, with a message
// that names the file, the tensor and the place.

#ifndef RUNTIME_WEIGHTS_H
#define RUNTIME_WEIGHTS_H

#include "runtime/error.h"
#include "runtime/gguf.h"
#include "runtime/tensors.h"

#include <stddef.h>

typedef struct RtWeights RtWeights; // owns the mappings and every name and tensor row

// Opens weights. `path` is a safetensors file, a GGUF file (told apart by content), a
// *.index.json of shards, or a folder: there model.safetensors.index.json comes first, then
// model.safetensors, then the only *.gguf. Returns NULL with *err set. The result belongs to the
// caller (rt_weights_close); tensors and strings obtained from it live as long as it does.
RtWeights *rt_weights_open(const char *path, RtError *err);
// The same of several safetensors files together; a tensor may be in one of them only. `label`
// stands for all of them in messages.
RtWeights *rt_weights_open_files(const char *const *paths, size_t count, const char *label,
                                 RtError *err);
void rt_weights_close(RtWeights *weights); // NULL is allowed

// Tensors in file order (shards in order of their names).
size_t rt_weights_count(const RtWeights *weights);
const RtTensor *rt_weights_at(const RtWeights *weights, size_t index);
const RtTensor *rt_weights_find(const RtWeights *weights, const char *name); // NULL: none

// The GGUF metadata, or NULL where the weights are safetensors.
const RtGguf *rt_weights_gguf(const RtWeights *weights);

// How many files are mapped, and their bytes.
size_t rt_weights_files(const RtWeights *weights);
uint64_t rt_weights_bytes(const RtWeights *weights);

#endif

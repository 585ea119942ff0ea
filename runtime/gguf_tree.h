// The inside of a GGUF file, shared by the parser (gguf.c) and the getters (gguf_get.c).

#ifndef RUNTIME_GGUF_TREE_H
#define RUNTIME_GGUF_TREE_H

#include "runtime/gguf.h"

struct RtGguf {
    uint32_t version;    // 2 or 3
    RtGgufValue *values; // keys and values in file order; keys and texts are owned
    size_t count;        // of values
    RtTensors tensors;   // in file order
    char where[];        // the file's name, for messages
};

// `size` (1..8) little-endian bytes.
uint64_t rt_gguf_load(const unsigned char *at, unsigned size);

// Bytes of a scalar of this type; 0 for texts and arrays.
unsigned rt_gguf_size(RtGgufType type);

#endif

// Packed weights: the one file an exported program maps.
//
// All numbers are little-endian. The header holds the whole table, so opening reads only it:
//   0   "SERINW1\n"
//   8   u64 bytes of the header (names included, padded to 64)   16  u64 bytes of the file
//   24  u64 tensors                                              32  u64 checksum of the header,
//                                                                    computed with this field zero
//   64  per tensor 112 bytes:
//       0 u32 name's offset in the file   4 u32 name's bytes     8 u32 format   12 u32 rank
//       16 u64 x 8 dims (outermost first, unused ones 0)         80 u64 offset  88 u64 bytes
//       96 u64 checksum of the bytes      104 u64 zero
//   then the names, each followed by a NUL, zeros up to a multiple of 64, and the tensors in the
//   table's order, each at the next multiple of 64, with zeros between and to the end.
//
// This part reads. It needs C11, POSIX and nothing else of the project. Writing is in pack_write.h.

#ifndef RUNTIME_PACK_H
#define RUNTIME_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RT_PACK_RANK = 8, RT_PACK_ALIGN = 64, RT_PACK_HEAD = 64, RT_PACK_ROW = 112 };

typedef struct {
    const char *name;            // NUL-terminated, in the mapping
    uint32_t format;             // what the bytes mean: the writer's and reader's agreement
    uint32_t rank;               // 0 .. RT_PACK_RANK
    uint64_t dims[RT_PACK_RANK]; // outermost first
    const void *data;            // in the mapping, 64-byte aligned
    uint64_t bytes;              // of data
    uint64_t sum;                // checksum of the data
} RtPackTensor;

typedef struct {
    const unsigned char *map; // the whole file
    size_t size;              // its bytes
    uint32_t count;           // tensors
} RtPack;

// A running 64-bit checksum: of 8-byte little-endian words, each added with h = (h ^ word) * prime,
// h ^= h >> 32; the last word is filled with zeros and the length added as one more word.
typedef struct {
    uint64_t hash;  // so far
    uint64_t word;  // bytes not yet made into a word
    uint64_t bytes; // all bytes so far
} RtPackSum;

void rt_pack_sum_start(RtPackSum *sum);
void rt_pack_sum_add(RtPackSum *sum, const void *data, size_t size);
uint64_t rt_pack_sum_end(const RtPackSum *sum);

// Maps a packed file and checks the header: magic, checksum, sizes, and that every tensor and name
// lies where it must. The data is not read. On failure writes a sentence to why[room].
bool rt_pack_open(RtPack *pack, const char *path, char *why, size_t room);

// The same for a file lying in memory (64-byte aligned; it must outlive *pack; do not close it).
bool rt_pack_read(RtPack *pack, const void *data, size_t size, const char *path, char *why,
                  size_t room);
void rt_pack_close(RtPack *pack);

// Tensor `index` < pack->count.
RtPackTensor rt_pack_tensor(const RtPack *pack, uint32_t index);

// Reads all data and compares every tensor's checksum.
bool rt_pack_verify(const RtPack *pack, const char *path, char *why, size_t room);

#endif

// Packed weights, the reader. C11 and POSIX only: this text is also part of exported programs.

#include "runtime/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- checksum ----

static uint64_t sum_step(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 32;
}

static uint64_t load(const unsigned char *at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

// Eight bytes at once: spelled out, so that compilers make one load of it.
static uint64_t load8(const unsigned char *at) {
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 |
           (uint64_t)at[4] << 32 | (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

void rt_pack_sum_start(RtPackSum *sum) {
    *sum = (RtPackSum){.hash = UINT64_C(0xCBF29CE484222325)};
}

void rt_pack_sum_add(RtPackSum *sum, const void *data, size_t size) {
    const unsigned char *at = data;
    for (; size > 0 && sum->bytes % 8 != 0; size--) { // finish a word begun before
        sum->word |= (uint64_t)*at++ << 8 * (sum->bytes++ % 8);
        if (sum->bytes % 8 == 0) {
            sum->hash = sum_step(sum->hash, sum->word);
            sum->word = 0;
        }
    }
    uint64_t hash = sum->hash;
    for (; size >= 8; size -= 8, at += 8, sum->bytes += 8)
        hash = sum_step(hash, load8(at));
    sum->hash = hash;
    for (; size > 0; size--)
        sum->word |= (uint64_t)*at++ << 8 * (sum->bytes++ % 8);
}

uint64_t rt_pack_sum_end(const RtPackSum *sum) {
    uint64_t hash = sum->bytes % 8 ? sum_step(sum->hash, sum->word) : sum->hash;
    return sum_step(hash, sum->bytes);
}

// ---- opening ----

enum { MAX_TENSORS = 1 << 20 };

static const unsigned char *row_at(const RtPack *pack, uint32_t index) {
    return pack->map + RT_PACK_HEAD + (size_t)index * RT_PACK_ROW;
}

RtPackTensor rt_pack_tensor(const RtPack *pack, uint32_t index) {
    const unsigned char *row = row_at(pack, index);
    RtPackTensor tensor = {.name = (const char *)pack->map + load(row, 4),
                           .format = (uint32_t)load(row + 8, 4),
                           .rank = (uint32_t)load(row + 12, 4),
                           .data = pack->map + load(row + 80, 8),
                           .bytes = load(row + 88, 8),
                           .sum = load(row + 96, 8)};
    for (int i = 0; i < RT_PACK_RANK; i++)
        tensor.dims[i] = load(row + 16 + 8 * i, 8);
    return tensor;
}

static bool refuse(char *why, size_t room, const char *path, const char *what) {
    snprintf(why, room, "%s: %s", path, what);
    return false;
}

// The checksum of the header, its own field taken as zero.
static uint64_t header_sum(const unsigned char *map, size_t header) {
    static const unsigned char zero[8];
    RtPackSum sum;
    rt_pack_sum_start(&sum);
    rt_pack_sum_add(&sum, map, 32);
    rt_pack_sum_add(&sum, zero, 8);
    rt_pack_sum_add(&sum, map + 40, header - 40);
    return rt_pack_sum_end(&sum);
}

// Checks one row: its name inside the header, its data at `*at` or the next multiple of 64.
static bool row_ok(const RtPack *pack, uint32_t index, uint64_t header, uint64_t *at) {
    const unsigned char *row = row_at(pack, index);
    uint64_t name = load(row, 4), length = load(row + 4, 4);
    uint64_t offset = load(row + 80, 8), bytes = load(row + 88, 8);
    if (name < RT_PACK_HEAD + (uint64_t)pack->count * RT_PACK_ROW || name >= header ||
        length >= header - name || pack->map[name + length] != '\0')
        return false;
    if (load(row + 12, 4) > RT_PACK_RANK || offset != *at || bytes > pack->size - offset)
        return false;
    *at = offset + bytes;
    *at += (RT_PACK_ALIGN - *at % RT_PACK_ALIGN) % RT_PACK_ALIGN;
    return *at <= pack->size;
}

static bool head_ok(RtPack *pack, uint64_t *header) {
    uint64_t count = load(pack->map + 24, 8);
    *header = load(pack->map + 8, 8);
    if (count > MAX_TENSORS || *header % RT_PACK_ALIGN != 0 || *header > pack->size ||
        *header < RT_PACK_HEAD + count * RT_PACK_ROW)
        return false;
    pack->count = (uint32_t)count;
    return true;
}

bool rt_pack_read(RtPack *pack, const void *data, size_t size, const char *path, char *why,
                  size_t room) {
    *pack = (RtPack){.map = data, .size = size};
    uint64_t header;
    if (size < RT_PACK_HEAD || memcmp(data, "SERINW1\n", 8) != 0)
        return refuse(why, room, path, "not a packed weights file (or of another version)");
    if (load(pack->map + 16, 8) != size) {
        snprintf(why, room,
                 "%s: the file has %zu bytes, its header says %" PRIu64 "; copy it again", path,
                 size, load(pack->map + 16, 8));
        return false;
    }
    if (!head_ok(pack, &header) || load(pack->map + 32, 8) != header_sum(pack->map, (size_t)header))
        return refuse(why, room, path, "the header is damaged; copy the file again");
    uint64_t at = header;
    for (uint32_t i = 0; i < pack->count; i++)
        if (!row_ok(pack, i, header, &at))
            return refuse(why, room, path, "the table of tensors is wrong; export it again");
    return at == size ? true : refuse(why, room, path, "bytes after the last tensor");
}

static bool map_file(RtPack *pack, int fd, const char *path, char *why, size_t room) {
    struct stat info;
    if (fstat(fd, &info) != 0)
        return refuse(why, room, path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return refuse(why, room, path, "not a regular file");
    if (info.st_size < RT_PACK_HEAD || (uintmax_t)info.st_size > SIZE_MAX / 2)
        return refuse(why, room, path, "not a packed weights file: its size is wrong");
    size_t size = (size_t)info.st_size;
    void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return refuse(why, room, path, strerror(errno));
    if (rt_pack_read(pack, data, size, path, why, room))
        return true;
    munmap(data, size);
    return false;
}

bool rt_pack_open(RtPack *pack, const char *path, char *why, size_t room) {
    // O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool ok =
        fd >= 0 ? map_file(pack, fd, path, why, room) : refuse(why, room, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (!ok)
        *pack = (RtPack){0};
    return ok;
}

void rt_pack_close(RtPack *pack) {
    if (pack->map)
        munmap((void *)(uintptr_t)pack->map, pack->size);
    *pack = (RtPack){0};
}

bool rt_pack_verify(const RtPack *pack, const char *path, char *why, size_t room) {
    for (uint32_t i = 0; i < pack->count; i++) {
        RtPackTensor tensor = rt_pack_tensor(pack, i);
        RtPackSum sum;
        rt_pack_sum_start(&sum);
        rt_pack_sum_add(&sum, tensor.data, (size_t)tensor.bytes);
        if (rt_pack_sum_end(&sum) != tensor.sum) {
            snprintf(why, room, "%s: the data of %.200s is damaged; copy the file again", path,
                     tensor.name);
            return false;
        }
    }
    return true;
}

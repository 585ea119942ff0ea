// Packed weights, the writer: the header is laid out first, the data streams behind it, and the
// checksums are filled in at the end, before the file gets its name.

#include "runtime/pack_write.h"
#include "runtime/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 4096, MAX_TENSORS = 1 << 20, MAX_NAMES = 1 << 30 };

typedef struct {
    const char *path;            // the file
    const RtPackSource *tensors; // what to write
    size_t count;                //
    RtPackFill *fill;            // gives the bytes
    void *user;                  // its argument
    unsigned char *header;       // built in memory
    size_t header_bytes;         // multiple of RT_PACK_ALIGN
    RtWriter *writer;            //
    RtError *err;                //
} Packer;

static void store(unsigned char *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t aligned(uint64_t offset) {
    return (offset + RT_PACK_ALIGN - 1) / RT_PACK_ALIGN * RT_PACK_ALIGN;
}

static bool check_sources(Packer *p, size_t *names) {
    *names = 0;
    if (p->count > MAX_TENSORS)
        return rt_fail(p->err, "%s: too many tensors (%zu)", p->path, p->count);
    for (size_t i = 0; i < p->count; i++) {
        const RtPackSource *t = &p->tensors[i];
        size_t length = strlen(t->name);
        if (length > MAX_NAME || t->rank > RT_PACK_RANK || t->unit == 0 || t->bytes > INT64_MAX / 2)
            return rt_fail(p->err, "%s: tensor \"%.200s\" cannot be packed: name, rank or size",
                           p->path, t->name);
        *names += length + 1;
        if (*names > MAX_NAMES)
            return rt_fail(p->err, "%s: the tensors' names are too long", p->path);
    }
    return true;
}

static bool build_header(Packer *p) {
    size_t names, table = RT_PACK_HEAD + p->count * RT_PACK_ROW;
    if (!check_sources(p, &names))
        return false;
    p->header_bytes = (size_t)aligned(table + names);
    p->header = calloc(1, p->header_bytes);
    if (!p->header)
        return rt_fail(p->err, "%s: out of memory", p->path);
    uint64_t offset = p->header_bytes;
    size_t name = table;
    for (size_t i = 0; i < p->count; i++) {
        const RtPackSource *t = &p->tensors[i];
        unsigned char *row = p->header + RT_PACK_HEAD + i * RT_PACK_ROW;
        size_t length = strlen(t->name);
        memcpy(p->header + name, t->name, length);
        store(row, name, 4);
        store(row + 4, length, 4);
        store(row + 8, t->format, 4);
        store(row + 12, t->rank, 4);
        for (uint32_t d = 0; d < t->rank; d++)
            store(row + 16 + 8 * d, t->dims[d], 8);
        store(row + 80, offset, 8);
        store(row + 88, t->bytes, 8);
        name += length + 1;
        offset = aligned(offset + t->bytes);
        if (offset > INT64_MAX / 2)
            return rt_fail(p->err, "%s: the packed file would be too large", p->path);
    }
    memcpy(p->header, "SERINW1\n", 8);
    store(p->header + 8, p->header_bytes, 8);
    store(p->header + 16, offset, 8);
    store(p->header + 24, p->count, 8);
    return true;
}

static bool write_tensor(Packer *p, size_t index) {
    const RtPackSource *t = &p->tensors[index];
    RtPackSum sum;
    rt_pack_sum_start(&sum);
    unsigned char *unit = malloc(t->unit);
    if (!unit)
        return rt_fail(p->err, "%s: out of memory", p->path);
    bool ok = true;
    uint64_t left = t->bytes;
    for (uint64_t i = 0; ok && left > 0; i++) {
        size_t size = left < t->unit ? (size_t)left : t->unit;
        ok = p->fill(p->user, index, i, size, unit, p->err);
        if (ok)
            rt_pack_sum_add(&sum, unit, size);
        // A failed write is kept by the writer and told by commit; do not go on for it.
        if (!ok || !rt_writer_put(p->writer, unit, size))
            break;
        left -= size;
    }
    free(unit);
    store(p->header + RT_PACK_HEAD + index * RT_PACK_ROW + 96, rt_pack_sum_end(&sum), 8);
    if (ok)
        rt_writer_pad(p->writer, RT_PACK_ALIGN);
    return ok;
}

static bool write_all(Packer *p) {
    rt_writer_put(p->writer, p->header, p->header_bytes);
    for (size_t i = 0; i < p->count; i++)
        if (!write_tensor(p, i))
            return false;
    RtPackSum sum;
    rt_pack_sum_start(&sum);
    rt_pack_sum_add(&sum, p->header, p->header_bytes); // its own field is still zero
    store(p->header + 32, rt_pack_sum_end(&sum), 8);
    rt_writer_patch(p->writer, 0, p->header, p->header_bytes);
    return true;
}

bool rt_pack_write(const char *path, const RtPackSource *tensors, size_t count, RtPackFill *fill,
                   void *user, RtError *err) {
    Packer p = {
        .path = path, .tensors = tensors, .count = count, .fill = fill, .user = user, .err = err};
    bool ok = build_header(&p) && (p.writer = rt_writer_open(path, err)) != NULL;
    if (ok && !write_all(&p)) {
        rt_writer_abort(p.writer);
        ok = false;
    } else if (ok) {
        ok = rt_writer_commit(p.writer, err);
    }
    free(p.header);
    return ok;
}

// A table of named tensors in a byte buffer, and the checks both file formats share.

#include "runtime/tensors.h"
#include "runtime/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 4096 };

uint64_t rt_tensor_elements(const RtTensor *tensor) {
    uint64_t product = 1;
    for (int i = 0; i < tensor->rank; i++)
        product *= (uint64_t)tensor->dims[i];
    return product;
}

char *rt_tensor_shape(const RtTensor *tensor, char *out, size_t room) {
    size_t at = 0;
    for (int i = 0; i < tensor->rank && at < room; i++) {
        int wrote = snprintf(out + at, room - at, "%s%" PRId64, i ? ", " : "[", tensor->dims[i]);
        at += wrote > 0 ? (size_t)wrote : 0;
    }
    if (at < room)
        snprintf(out + at, room - at, "%s", tensor->rank ? "]" : "[]");
    return out;
}

void rt_tensors_free(RtTensors *tensors) {
    for (size_t i = 0; i < tensors->count; i++)
        free((void *)(uintptr_t)tensors->items[i].name);
    free(tensors->items);
    free(tensors->sorted);
    *tensors = (RtTensors){0};
}

static bool name_ok(const char *name, size_t length, const char *where, RtError *err) {
    char text[96];
    rt_printable(text, sizeof text, name, length);
    if (length == 0)
        return rt_fail(err, "%s: a tensor's name is empty", where);
    if (length > MAX_NAME)
        return rt_fail(err, "%s: the tensor name \"%s\" has %zu bytes, at most %d are allowed",
                       where, text, length, MAX_NAME);
    bool plain = rt_utf8_valid(name, length);
    for (size_t i = 0; i < length && plain; i++)
        plain = (unsigned char)name[i] >= 0x20 && name[i] != 0x7F;
    return plain ? true
                 : rt_fail(err, "%s: the tensor name \"%s\" is not plain UTF-8 text", where, text);
}

bool rt_tensors_add(RtTensors *tensors, const RtTensor *tensor, const char *name, size_t length,
                    const char *where, RtError *err) {
    if (!name_ok(name, length, where, err))
        return false;
    if (tensors->count == tensors->capacity) {
        size_t room = tensors->capacity ? tensors->capacity * 2 : 64;
        RtTensor *grown = realloc(tensors->items, room * sizeof *grown);
        if (!grown)
            return rt_fail(err, "%s: out of memory", where);
        tensors->items = grown;
        tensors->capacity = room;
    }
    char *copy = malloc(length + 1);
    if (!copy)
        return rt_fail(err, "%s: out of memory", where);
    memcpy(copy, name, length);
    copy[length] = '\0';
    tensors->items[tensors->count] = *tensor;
    tensors->items[tensors->count++].name = copy;
    return true;
}

// qsort has no context argument, so it sorts pointers to the items.
static int by_name(const void *left, const void *right) {
    const RtTensor *a = *(const RtTensor *const *)left, *b = *(const RtTensor *const *)right;
    return strcmp(a->name, b->name);
}

static int by_place(const void *left, const void *right) {
    const RtTensor *a = *(const RtTensor *const *)left, *b = *(const RtTensor *const *)right;
    uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    if (x != y)
        return x < y ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes; // empty ones first
}

static const RtTensor **sorted_by(const RtTensors *tensors,
                                  int (*order)(const void *, const void *)) {
    const RtTensor **list = malloc((tensors->count + 1) * sizeof *list);
    if (!list)
        return NULL;
    for (size_t i = 0; i < tensors->count; i++)
        list[i] = &tensors->items[i];
    qsort(list, tensors->count, sizeof *list, order);
    return list;
}

bool rt_tensors_index(RtTensors *tensors, const char *where, RtError *err) {
    const RtTensor **list = sorted_by(tensors, by_name);
    size_t *sorted = malloc((tensors->count + 1) * sizeof *sorted);
    bool ok = list && sorted;
    if (!ok)
        rt_fail(err, "%s: out of memory", where);
    for (size_t i = 0; i < tensors->count && ok; i++) {
        sorted[i] = (size_t)(list[i] - tensors->items);
        if (i > 0 && strcmp(list[i - 1]->name, list[i]->name) == 0) {
            char text[160];
            rt_printable(text, sizeof text, list[i]->name, strlen(list[i]->name));
            ok = rt_fail(err, "%s: the tensor \"%s\" occurs twice", where, text);
        }
    }
    free((void *)list);
    free(ok ? tensors->sorted : sorted);
    if (ok)
        tensors->sorted = sorted;
    return ok;
}

const RtTensor *rt_tensors_find(const RtTensors *tensors, const char *name) {
    size_t low = 0, high = tensors->sorted ? tensors->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const RtTensor *tensor = &tensors->items[tensors->sorted[middle]];
        int order = strcmp(tensor->name, name);
        if (order == 0)
            return tensor;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool rt_tensor_size(const RtTensor *tensor, uint64_t *elements, uint64_t *bytes) {
    uint64_t product = 1;
    bool zero = false;
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] < 0)
            return false;
        if (tensor->dims[i] == 0)
            zero = true;
        else if (product > INT64_MAX / (uint64_t)tensor->dims[i])
            return false; // even beside a zero: no wrapping product, whatever the order
        else
            product *= (uint64_t)tensor->dims[i];
    }
    int64_t row = tensor->rank ? tensor->dims[tensor->rank - 1] : 1;
    if (row % rt_format_block(tensor->format) != 0)
        return false;
    bool ok;
    *elements = zero ? 0 : product;
    *bytes = rt_format_bytes(tensor->format, *elements, &ok);
    return ok;
}

// ---- layout ----

// One step of the walk over tensors in order of place: the tensor must begin at `end` rounded up.
static bool fits(const RtTensor *tensor, uint64_t at, uint64_t end, uint64_t padding,
                 const char *where, RtError *err) {
    char name[160];
    rt_printable(name, sizeof name, tensor->name, strlen(tensor->name));
    if ((uintptr_t)tensor->data % rt_format_align(tensor->format) != 0)
        return rt_fail(err,
                       "%s: the data of \"%s\" (%s) begins at an address that is no multiple of "
                       "%u; write the file again with a current version of its library",
                       where, name, rt_format_name(tensor->format),
                       rt_format_align(tensor->format));
    if (at < end)
        return rt_fail(err, "%s: the data of \"%s\" (offset %" PRIu64 ") overlaps another tensor's",
                       where, name, at);
    if (at - end >= padding)
        return rt_fail(
            err, "%s: %" PRIu64 " unused bytes before the data of \"%s\" (offset %" PRIu64 ")",
            where, at - end, name, at);
    return true;
}

bool rt_tensors_cover(const RtTensors *tensors, const void *data, uint64_t size, uint64_t padding,
                      const char *where, RtError *err) {
    const RtTensor **list = sorted_by(tensors, by_place);
    if (!list)
        return rt_fail(err, "%s: out of memory", where);
    uint64_t end = 0;
    bool ok = true;
    for (size_t i = 0; i < tensors->count && ok; i++) {
        uint64_t at =
            (uint64_t)((const unsigned char *)list[i]->data - (const unsigned char *)data);
        ok = fits(list[i], at, end, padding, where, err);
        end = at + list[i]->bytes;
    }
    free((void *)list);
    if (ok && size - end >= padding)
        return rt_fail(err, "%s: %" PRIu64 " unused bytes after the last tensor's data", where,
                       size - end);
    return ok;
}

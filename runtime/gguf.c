// The GGUF parser.
//
// The file is: "GGUF", u32 version, u64 tensors, u64 keys; the keys with typed values; for each
// tensor its name, dimensions (innermost first), type and offset; zeros up to the alignment; the
// data. A text is a u64 length and its bytes. Every count is checked against the bytes that are
// left before anything is reserved for it.

#include "runtime/gguf_tree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_KEY = 65535,                 // bytes of a key, the format's own limit
    MAX_DIMS = 4,                    // of a tensor, the format's own limit
    MAX_ALIGNMENT = 1 << 20,         // bytes; files use 32
    DEFAULT_ALIGNMENT = 32,          //
    SMALLEST_KEY = 8 + 4 + 1,        // bytes of a key's row at least
    SMALLEST_ROW = 8 + 4 + 8 + 4 + 8 // bytes of a tensor's row at least
};

typedef struct {
    const unsigned char *data; // the file
    size_t size;               // its bytes
    size_t at;                 // next byte to read
    RtGguf *gguf;              // result
    uint64_t alignment;        // of the tensors' data
    uint64_t *offsets;         // of each tensor, from the data's start
    RtError *err;              //
} Reader;

typedef struct {
    char name[12]; // as in the format's documentation
    uint8_t known; // 1 + RtFormat; 0: refused by its name
} TypeRow;

// The ids of tensor types; holes are types that files no longer use.
static const TypeRow types[] = {
    [0] = {"F32", 1 + RT_F32},
    [1] = {"F16", 1 + RT_F16},
    [2] = {"Q4_0", 1 + RT_Q4_0},
    [3] = {"Q4_1", 1 + RT_Q4_1},
    [4] = {"Q4_2", 0},
    [5] = {"Q4_3", 0},
    [6] = {"Q5_0", 0},
    [7] = {"Q5_1", 0},
    [8] = {"Q8_0", 1 + RT_Q8_0},
    [9] = {"Q8_1", 0},
    [10] = {"Q2_K", 0},
    [11] = {"Q3_K", 0},
    [12] = {"Q4_K", 0},
    [13] = {"Q5_K", 0},
    [14] = {"Q6_K", 0},
    [15] = {"Q8_K", 0},
    [16] = {"IQ2_XXS", 0},
    [17] = {"IQ2_XS", 0},
    [18] = {"IQ3_XXS", 0},
    [19] = {"IQ1_S", 0},
    [20] = {"IQ4_NL", 0},
    [21] = {"IQ3_S", 0},
    [22] = {"IQ2_S", 0},
    [23] = {"IQ4_XS", 0},
    [24] = {"I8", 1 + RT_I8},
    [25] = {"I16", 1 + RT_I16},
    [26] = {"I32", 1 + RT_I32},
    [27] = {"I64", 1 + RT_I64},
    [28] = {"F64", 1 + RT_F64},
    [29] = {"IQ1_M", 0},
    [30] = {"BF16", 1 + RT_BF16},
    [31] = {"Q4_0_4_4", 0},
    [32] = {"Q4_0_4_8", 0},
    [33] = {"Q4_0_8_8", 0},
    [34] = {"TQ1_0", 0},
    [35] = {"TQ2_0", 0},
    [36] = {"IQ4_NL_4_4", 0},
    [37] = {"IQ4_NL_4_8", 0},
    [38] = {"IQ4_NL_8_8", 0},
    [39] = {"MXFP4", 0},
    [40] = {"NVFP4", 0},
    [41] = {"Q1_0", 0},
    [42] = {"Q2_0", 0},
};

static bool fail(Reader *r, const char *format, ...) RT_PRINTF(2, 3);

static bool fail(Reader *r, const char *format, ...) {
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return rt_fail(r->err, "%s: %s", r->gguf->where, text);
}

static size_t left(const Reader *r) {
    return r->size - r->at;
}

// Reads `size` (1..8) bytes as an unsigned number, 0 on failure; `what` names it for the message.
static bool number(Reader *r, unsigned size, const char *what, uint64_t *out) {
    *out = 0;
    if (left(r) < size)
        return fail(r, "the file is cut short at byte %zu, in %s", r->at, what);
    *out = rt_gguf_load(r->data + r->at, size);
    r->at += size;
    return true;
}

// Reads a text in place.
static bool text(Reader *r, const char *what, const unsigned char **bytes, size_t *length) {
    uint64_t size;
    if (!number(r, 8, what, &size))
        return false;
    if (size > left(r))
        return fail(r, "%s at byte %zu would have %" PRIu64 " bytes, the file has %zu left", what,
                    r->at - 8, size, left(r));
    *bytes = r->data + r->at;
    *length = (size_t)size;
    r->at += (size_t)size;
    return true;
}

static bool copy_text(Reader *r, const unsigned char *bytes, size_t length, char **out) {
    *out = malloc(length + 1);
    if (!*out)
        return fail(r, "out of memory");
    memcpy(*out, bytes, length);
    (*out)[length] = '\0';
    return true;
}

// ---- metadata ----

static bool check_bools(Reader *r, const RtGgufValue *value) {
    for (uint64_t i = 0; i < value->count; i++)
        if (value->data[i] > 1)
            return fail(r, "key \"%.200s\": a bool is %u, not 0 or 1", value->key, value->data[i]);
    return true;
}

// Reads `value->count` elements of `value->element` type, in place.
static bool elements(Reader *r, RtGgufValue *value) {
    unsigned size = rt_gguf_size(value->element);
    size_t start = r->at;
    value->data = r->data + start;
    if (value->count > left(r) / (size ? size : 8))
        return fail(r, "key \"%.200s\" would have %" PRIu64 " elements, more than the file holds",
                    value->key, value->count);
    if (size) {
        r->at += (size_t)value->count * size;
    } else {
        const unsigned char *bytes;
        size_t length;
        for (uint64_t i = 0; i < value->count; i++)
            if (!text(r, "a text of an array", &bytes, &length))
                return false;
    }
    value->bytes = r->at - start;
    return value->element == RT_GGUF_BOOL ? check_bools(r, value) : true;
}

static bool array(Reader *r, RtGgufValue *value) {
    uint64_t element, count;
    if (!number(r, 4, "an array's type", &element) || !number(r, 8, "an array's length", &count))
        return false;
    if (element == RT_GGUF_ARRAY)
        return fail(r, "key \"%.200s\": arrays inside arrays are not supported", value->key);
    if (element > RT_GGUF_F64)
        return fail(r, "key \"%.200s\": unknown element type %" PRIu64, value->key, element);
    value->element = (RtGgufType)element;
    value->count = count;
    return elements(r, value);
}

static bool text_value(Reader *r, RtGgufValue *value) {
    const unsigned char *bytes;
    size_t length;
    char *copy;
    if (!text(r, "a text value", &bytes, &length) || !copy_text(r, bytes, length, &copy))
        return false;
    value->data = (unsigned char *)copy;
    value->count = value->bytes = length;
    return true;
}

static bool read_value(Reader *r, RtGgufValue *value) {
    uint64_t type;
    if (!number(r, 4, "a value's type", &type))
        return false;
    if (type > RT_GGUF_F64)
        return fail(r, "key \"%.200s\": unknown value type %" PRIu64, value->key, type);
    value->type = value->element = (RtGgufType)type;
    value->count = 1;
    if (type == RT_GGUF_ARRAY)
        return array(r, value);
    return type == RT_GGUF_TEXT ? text_value(r, value) : elements(r, value);
}

static bool read_key(Reader *r, RtGgufValue *value) {
    const unsigned char *bytes;
    size_t length;
    char *key;
    if (!text(r, "a key", &bytes, &length))
        return false;
    if (length == 0 || length > MAX_KEY)
        return fail(r, "a key of %zu bytes (1 to %d are allowed)", length, MAX_KEY);
    for (size_t i = 0; i < length; i++)
        if (bytes[i] <= 0x20 || bytes[i] >= 0x7F)
            return fail(r, "the key at byte %zu is not plain ASCII text", r->at - length);
    if (!copy_text(r, bytes, length, &key))
        return false;
    value->key = key;
    return true;
}

static int by_key(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool unique_keys(Reader *r) {
    size_t count = r->gguf->count;
    const char **keys = malloc((count + 1) * sizeof *keys);
    if (!keys)
        return fail(r, "out of memory");
    for (size_t i = 0; i < count; i++)
        keys[i] = r->gguf->values[i].key;
    qsort(keys, count, sizeof *keys, by_key);
    bool ok = true;
    for (size_t i = 1; i < count && ok; i++)
        if (strcmp(keys[i - 1], keys[i]) == 0)
            ok = fail(r, "the key \"%.200s\" occurs twice", keys[i]);
    free((void *)keys);
    return ok;
}

static bool read_keys(Reader *r, uint64_t count) {
    RtGguf *g = r->gguf;
    size_t capacity = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (g->count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            RtGgufValue *grown = realloc(g->values, capacity * sizeof *grown);
            if (!grown)
                return fail(r, "out of memory");
            g->values = grown;
        }
        RtGgufValue *value = &g->values[g->count++]; // counted first, so that it is freed
        *value = (RtGgufValue){0};
        if (!read_key(r, value) || !read_value(r, value))
            return false;
    }
    return unique_keys(r);
}

static bool read_alignment(Reader *r) {
    const RtGgufValue *value = rt_gguf_find(r->gguf, "general.alignment");
    r->alignment = DEFAULT_ALIGNMENT;
    if (!value)
        return true;
    if (value->type != RT_GGUF_U32)
        return fail(r, "general.alignment must be a u32");
    uint64_t n = rt_gguf_load(value->data, 4);
    if (n < 8 || n > MAX_ALIGNMENT || (n & (n - 1)) != 0)
        return fail(r, "general.alignment is %" PRIu64 ", not a power of two from 8 to %d", n,
                    MAX_ALIGNMENT);
    r->alignment = n;
    return true;
}

// ---- tensors ----

static bool read_type(Reader *r, const char *name, RtTensor *tensor) {
    uint64_t id;
    if (!number(r, 4, "a tensor's type", &id))
        return false;
    if (id >= sizeof types / sizeof *types)
        return fail(r, "tensor \"%s\": unknown type %" PRIu64, name, id);
    if (!types[id].known)
        return fail(r,
                    "tensor \"%s\" is stored as %s, which is not supported; use a file of F32, "
                    "F16, BF16, Q8_0, Q4_0 or Q4_1",
                    name, types[id].name);
    tensor->format = (RtFormat)(types[id].known - 1);
    return true;
}

static bool read_dims(Reader *r, const char *name, RtTensor *tensor) {
    uint64_t rank, dim;
    if (!number(r, 4, "a tensor's rank", &rank))
        return false;
    if (rank < 1 || rank > MAX_DIMS)
        return fail(r, "tensor \"%s\" has %" PRIu64 " dimensions (1 to %d are allowed)", name, rank,
                    MAX_DIMS);
    tensor->rank = (int)rank;
    for (int i = tensor->rank - 1; i >= 0; i--) { // the file has the innermost first
        if (!number(r, 8, "a tensor's dimensions", &dim))
            return false;
        if (dim == 0 || dim > INT64_MAX)
            return fail(r, "tensor \"%s\" has a dimension of %" PRIu64, name, dim);
        tensor->dims[i] = (int64_t)dim;
    }
    return true;
}

static bool check_size(Reader *r, const char *name, RtTensor *tensor) {
    uint64_t count;
    uint32_t block = rt_format_block(tensor->format);
    if (tensor->dims[tensor->rank - 1] % block != 0)
        return fail(r, "tensor \"%s\" has rows of %" PRId64 " elements, no multiple of %s's %u",
                    name, tensor->dims[tensor->rank - 1], rt_format_name(tensor->format), block);
    if (!rt_tensor_size(tensor, &count, &tensor->bytes))
        return fail(r, "the size of tensor \"%s\" does not fit 63 bits", name);
    return true;
}

static bool read_tensor(Reader *r, uint64_t *offset) {
    RtTensor tensor = {0};
    const unsigned char *bytes;
    size_t length;
    char name[160];
    if (!text(r, "a tensor's name", &bytes, &length))
        return false;
    rt_printable(name, sizeof name, bytes, length);
    if (!read_dims(r, name, &tensor) || !read_type(r, name, &tensor) ||
        !check_size(r, name, &tensor) || !number(r, 8, "a tensor's offset", offset))
        return false;
    if (*offset % r->alignment != 0)
        return fail(r, "tensor \"%s\": offset %" PRIu64 " is no multiple of the alignment %" PRIu64,
                    name, *offset, r->alignment);
    return rt_tensors_add(&r->gguf->tensors, &tensor, (const char *)bytes, length, r->gguf->where,
                          r->err);
}

// Now that the data's start is known: where each tensor's data lies.
static bool place_tensors(Reader *r) {
    RtTensors *tensors = &r->gguf->tensors;
    size_t start = r->at + (size_t)((r->alignment - r->at % r->alignment) % r->alignment);
    if (start > r->size)
        start = r->size; // a file of keys alone need not be padded; tensors will not fit
    uint64_t room = r->size - start;
    for (size_t i = 0; i < tensors->count; i++) {
        RtTensor *tensor = &tensors->items[i];
        if (r->offsets[i] > room || tensor->bytes > room - r->offsets[i]) {
            char name[160];
            rt_printable(name, sizeof name, tensor->name, strlen(tensor->name));
            return fail(r,
                        "tensor \"%s\" (%" PRIu64 " bytes at offset %" PRIu64
                        ") ends after the file's data (%" PRIu64 " bytes); the file is cut short",
                        name, tensor->bytes, r->offsets[i], room);
        }
        tensor->data = r->data + start + r->offsets[i];
    }
    return rt_tensors_cover(tensors, r->data + start, room, r->alignment, r->gguf->where, r->err) &&
           rt_tensors_index(tensors, r->gguf->where, r->err);
}

static bool read_tensors(Reader *r, uint64_t count) {
    if (count > left(r) / SMALLEST_ROW)
        return fail(r, "%" PRIu64 " tensors are more than the file holds", count);
    r->offsets = malloc(((size_t)count + 1) * sizeof *r->offsets);
    if (!r->offsets)
        return fail(r, "out of memory");
    for (uint64_t i = 0; i < count; i++)
        if (!read_tensor(r, &r->offsets[i]))
            return false;
    return place_tensors(r);
}

static bool read_file(Reader *r) {
    uint64_t version, tensors, keys;
    if (r->size < 4 || memcmp(r->data, "GGUF", 4) != 0)
        return fail(r, "not a GGUF file");
    r->at = 4;
    if (!number(r, 4, "the header", &version))
        return false;
    if (version != 0 && (version & 0xFFFF) == 0)
        return fail(r, "a big-endian GGUF file; use a little-endian one");
    if (version != 2 && version != 3)
        return fail(r, "GGUF version %" PRIu64 " (2 and 3 are read)", version);
    r->gguf->version = (uint32_t)version;
    if (!number(r, 8, "the header", &tensors) || !number(r, 8, "the header", &keys))
        return false;
    if (keys > left(r) / SMALLEST_KEY)
        return fail(r, "%" PRIu64 " keys are more than the file holds", keys);
    return read_keys(r, keys) && read_alignment(r) && read_tensors(r, tensors);
}

RtGguf *rt_gguf_parse(const void *data, size_t size, const char *where, RtError *err) {
    size_t name = strlen(where) + 1;
    RtGguf *gguf = calloc(1, sizeof *gguf + name);
    if (!gguf) {
        rt_fail(err, "%s: out of memory", where);
        return NULL;
    }
    memcpy(gguf->where, where, name);
    Reader r = {.data = data, .size = size, .gguf = gguf, .err = err};
    bool ok = read_file(&r);
    free(r.offsets);
    if (ok)
        return gguf;
    rt_gguf_free(gguf);
    return NULL;
}

void rt_gguf_free(RtGguf *gguf) {
    if (!gguf)
        return;
    for (size_t i = 0; i < gguf->count; i++) {
        free((void *)(uintptr_t)gguf->values[i].key);
        if (gguf->values[i].type == RT_GGUF_TEXT)
            free((void *)(uintptr_t)gguf->values[i].data);
    }
    free(gguf->values);
    rt_tensors_free(&gguf->tensors);
    free(gguf);
}

// The safetensors reader and writer.
//
// The file is: N (u64, little-endian), N bytes of JSON, the data. The JSON maps each tensor's name
// to {"dtype", "shape", "data_offsets": [begin, end]}, offsets counting from the data's start, and
// may hold "__metadata__", an object of strings. The tensors must fill the data exactly.

#include "runtime/safetensors.h"
#include "runtime/file.h"
#include "runtime/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100000000 }; // bytes, the format's own limit

// A flat table of tensors: three levels deep, about 8 values a tensor.
static const RtJsonLimits header_limits = {MAX_HEADER, 4, 1u << 22};

typedef struct {
    char name[10]; // in the file
    uint8_t known; // 1 + RtFormat; 0: a dtype of the format that this reader does not take
} DtypeRow;

static const DtypeRow dtypes[] = {
    {"F32", 1 + RT_F32},
    {"F16", 1 + RT_F16},
    {"BF16", 1 + RT_BF16},
    {"F64", 1 + RT_F64},
    {"I8", 1 + RT_I8},
    {"U8", 1 + RT_U8},
    {"I16", 1 + RT_I16},
    {"U16", 1 + RT_U16},
    {"I32", 1 + RT_I32},
    {"U32", 1 + RT_U32},
    {"I64", 1 + RT_I64},
    {"U64", 1 + RT_U64},
    {"BOOL", 1 + RT_BOOL},
    {"F8_E4M3", 1 + RT_F8_E4M3},
    {"F8_E5M2", 1 + RT_F8_E5M2},
    {"F4", 0},
    {"F6_E2M3", 0},
    {"F6_E3M2", 0},
    {"F8_E8M0", 0},
    {"C64", 0},
};

typedef struct {
    const unsigned char *data; // after the header
    uint64_t size;             // bytes of it
    const char *where;         // the file's name
    RtTensors *tensors;        // result
    RtError *err;              //
} Reader;

// Reports a mistake in a tensor's row.
static bool bad(const Reader *r, const RtJsonValue *row, const char *what) {
    char name[160];
    rt_printable(name, sizeof name, row->key, row->key_length);
    return rt_fail(r->err, "%s: tensor \"%s\": %s", r->where, name, what);
}

static bool read_dtype(const Reader *r, const RtJsonValue *row, RtTensor *tensor) {
    const RtJsonValue *value = rt_json_find(row, "dtype");
    if (!rt_json_is(value, RT_JSON_STRING))
        return bad(r, row, "\"dtype\" must be a string");
    char name[40], text[120];
    rt_printable(name, sizeof name, value->text, value->length);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (!rt_json_equals(value, dtypes[i].name))
            continue;
        if (dtypes[i].known) {
            tensor->format = (RtFormat)(dtypes[i].known - 1);
            return true;
        }
        snprintf(text, sizeof text, "dtype %s is not supported; convert the checkpoint", name);
        return bad(r, row, text);
    }
    snprintf(text, sizeof text, "unknown dtype \"%s\"", name);
    return bad(r, row, text);
}

static bool read_shape(const Reader *r, const RtJsonValue *row, RtTensor *tensor) {
    const RtJsonValue *list = rt_json_find(row, "shape");
    if (!rt_json_is(list, RT_JSON_ARRAY))
        return bad(r, row, "\"shape\" must be a list of integers");
    if (list->length > RT_MAX_RANK)
        return bad(r, row, "more than 8 dimensions");
    tensor->rank = 0;
    for (const RtJsonValue *v = rt_json_first(list); v; v = rt_json_next(v)) {
        int64_t dim;
        if (!rt_json_i64(v, &dim) || dim < 0)
            return bad(r, row, "a dimension of \"shape\" is no integer from 0 to 2^63 - 1");
        tensor->dims[tensor->rank++] = dim;
    }
    return true;
}

static bool read_offsets(const Reader *r, const RtJsonValue *row, uint64_t *begin, uint64_t *end) {
    const RtJsonValue *list = rt_json_find(row, "data_offsets");
    const RtJsonValue *first = rt_json_first(list);
    if (!rt_json_is(list, RT_JSON_ARRAY) || list->length != 2 || !rt_json_u64(first, begin) ||
        !rt_json_u64(rt_json_next(first), end))
        return bad(r, row, "\"data_offsets\" must be two integers, begin and end");
    char text[160];
    if (*begin > *end) {
        snprintf(text, sizeof text, "its data ends (%" PRIu64 ") before it begins (%" PRIu64 ")",
                 *end, *begin);
        return bad(r, row, text);
    }
    if (*end > r->size) {
        snprintf(text, sizeof text,
                 "its data ends at %" PRIu64 ", the file's at %" PRIu64 "; the file is cut short",
                 *end, r->size);
        return bad(r, row, text);
    }
    return true;
}

static bool read_tensor(const Reader *r, const RtJsonValue *row) {
    RtTensor tensor = {0};
    uint64_t begin, end, elements;
    char shape[200], text[320];
    if (!rt_json_is(row, RT_JSON_OBJECT))
        return bad(r, row, "its entry must be an object");
    if (row->length > 3) {
        for (const RtJsonValue *v = rt_json_first(row); v; v = rt_json_next(v))
            if (strcmp(v->key, "dtype") != 0 && strcmp(v->key, "shape") != 0 &&
                strcmp(v->key, "data_offsets") != 0)
                return bad(r, row, "a key other than dtype, shape and data_offsets");
    }
    if (!read_dtype(r, row, &tensor) || !read_shape(r, row, &tensor) ||
        !read_offsets(r, row, &begin, &end))
        return false;
    rt_tensor_shape(&tensor, shape, sizeof shape);
    if (!rt_tensor_size(&tensor, &elements, &tensor.bytes)) {
        snprintf(text, sizeof text, "the size of shape %s does not fit 63 bits", shape);
        return bad(r, row, text);
    }
    if (tensor.bytes != end - begin) {
        snprintf(text, sizeof text,
                 "shape %s of %s takes %" PRIu64 " bytes, \"data_offsets\" give it %" PRIu64, shape,
                 rt_format_name(tensor.format), tensor.bytes, end - begin);
        return bad(r, row, text);
    }
    tensor.data = r->data + begin;
    return rt_tensors_add(r->tensors, &tensor, row->key, row->key_length, r->where, r->err);
}

static bool read_metadata(const Reader *r, const RtJsonValue *row) {
    if (!rt_json_is(row, RT_JSON_OBJECT))
        return rt_fail(r->err, "%s: \"__metadata__\" must be an object of strings", r->where);
    for (const RtJsonValue *v = rt_json_first(row); v; v = rt_json_next(v))
        if (!rt_json_is(v, RT_JSON_STRING))
            return rt_fail(r->err, "%s: a value of \"__metadata__\" is not a string", r->where);
    return true;
}

static bool read_table(Reader *r, const RtJson *json) {
    size_t before = r->tensors->count;
    const RtJsonValue *root = rt_json_root(json);
    for (const RtJsonValue *row = rt_json_first(root); row; row = rt_json_next(row)) {
        bool meta = row->key_length == 12 && memcmp(row->key, "__metadata__", 12) == 0;
        if (!(meta ? read_metadata(r, row) : read_tensor(r, row)))
            return false;
    }
    // Only this file's own tensors: the table may hold other shards' already.
    RtTensors own = {.items = r->tensors->items ? r->tensors->items + before : NULL,
                     .count = r->tensors->count - before};
    return rt_tensors_cover(&own, r->data, r->size, 1, r->where, r->err);
}

bool rt_safetensors_parse(const void *data, size_t size, const char *where, RtTensors *tensors,
                          RtError *err) {
    const unsigned char *bytes = data;
    uint64_t length = 0;
    if (size < 8)
        return rt_fail(err, "%s: %zu bytes are too few for a safetensors file", where, size);
    for (int i = 7; i >= 0; i--)
        length = length << 8 | bytes[i];
    if (length < 2 || length > MAX_HEADER)
        return rt_fail(err,
                       "%s: not a safetensors file: its header would have %" PRIu64
                       " bytes (2 to %d are allowed)",
                       where, length, MAX_HEADER);
    if (length > size - 8)
        return rt_fail(err,
                       "%s: the header has %" PRIu64 " bytes, the file only %zu after the length; "
                       "it is cut short",
                       where, length, size - 8);
    if (bytes[8] != '{')
        return rt_fail(err, "%s: not a safetensors file: its header does not begin with '{'",
                       where);
    RtJson *json =
        rt_json_parse((const char *)bytes + 8, (size_t)length, where, &header_limits, err);
    if (!json)
        return false;
    Reader r = {bytes + 8 + length, size - 8 - length, where, tensors, err};
    bool ok = read_table(&r, json);
    rt_json_free(json);
    return ok;
}

// ---- writing ----

typedef struct {
    char *text;      // the header so far
    size_t size;     // its bytes
    size_t capacity; // allocated
    bool failed;     // out of memory
} Text;

static void put(Text *t, const char *bytes, size_t size) {
    if (t->failed)
        return;
    if (size > t->capacity - t->size) {
        size_t room = (t->size + size) * 2 + 256;
        char *grown = realloc(t->text, room);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->text = grown;
        t->capacity = room;
    }
    memcpy(t->text + t->size, bytes, size);
    t->size += size;
}

static void put_text(Text *t, const char *text) {
    put(t, text, strlen(text));
}

static void put_quoted(Text *t, const char *text) {
    put_text(t, "\"");
    for (const char *c = text; *c; c++) {
        if (*c == '"' || *c == '\\')
            put_text(t, "\\");
        put(t, c, 1);
    }
    put_text(t, "\"");
}

static const char *dtype_name(RtFormat format) {
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].known == 1 + (int)format)
            return dtypes[i].name;
    return NULL;
}

static bool put_row(Text *t, const char *path, const RtTensor *tensor, uint64_t begin,
                    RtError *err) {
    const char *dtype = dtype_name(tensor->format);
    char shape[200], line[400];
    uint64_t elements, bytes;
    if (!dtype)
        return rt_fail(err, "%s: tensor \"%.200s\": safetensors cannot hold %s", path, tensor->name,
                       rt_format_name(tensor->format));
    if (!rt_tensor_size(tensor, &elements, &bytes) || bytes != tensor->bytes)
        return rt_fail(err, "%s: tensor \"%.200s\": shape and bytes disagree", path, tensor->name);
    rt_tensor_shape(tensor, shape, sizeof shape);
    put_quoted(t, tensor->name);
    snprintf(line, sizeof line,
             ":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", dtype,
             shape, begin, begin + tensor->bytes);
    put_text(t, line);
    return true;
}

// The header's text, padded with spaces to 8 bytes. Tensors must already be in an order in which
// each one's data is aligned.
static bool make_header(Text *t, const char *path, const RtTensor *const *list, size_t count,
                        RtError *err) {
    uint64_t at = 0;
    put_text(t, "{");
    for (size_t i = 0; i < count; i++) {
        put_text(t, i ? "," : "");
        if (!put_row(t, path, list[i], at, err))
            return false;
        at += list[i]->bytes;
    }
    put_text(t, "}");
    while (t->size % 8 != 0 && !t->failed)
        put_text(t, " ");
    return t->failed ? rt_fail(err, "%s: out of memory", path) : true;
}

bool rt_safetensors_write(const char *path, const RtTensor *tensors, size_t count, RtError *err) {
    Text t = {0};
    size_t n = 0;
    const RtTensor **list = malloc((count + 1) * sizeof *list);
    if (!list)
        return rt_fail(err, "%s: out of memory", path);
    for (uint32_t align = 8; align > 0; align /= 2) // widest first, so that no gaps are needed
        for (size_t i = 0; i < count; i++)
            if (rt_format_align(tensors[i].format) == align)
                list[n++] = &tensors[i];
    RtWriter *w = NULL;
    bool ok = make_header(&t, path, list, n, err) && (w = rt_writer_open(path, err)) != NULL;
    if (ok) {
        unsigned char length[8];
        for (int i = 0; i < 8; i++)
            length[i] = (unsigned char)((uint64_t)t.size >> 8 * i);
        rt_writer_put(w, length, sizeof length);
        rt_writer_put(w, t.text, t.size);
        for (size_t i = 0; i < n; i++)
            rt_writer_put(w, list[i]->data, (size_t)list[i]->bytes);
        ok = rt_writer_commit(w, err);
    }
    free((void *)list);
    free(t.text);
    return ok;
}

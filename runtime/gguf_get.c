// Reading GGUF metadata.

#include "runtime/gguf_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    char name[8];  // of a scalar
    char list[10]; // of an array of them
    uint8_t size;  // bytes, 0 for text and array
    bool negative; // two's complement
    bool real;     // a float
} TypeRow;

static const TypeRow types[] = {
    [RT_GGUF_U8] = {"u8", "u8[]", 1, false, false},
    [RT_GGUF_I8] = {"i8", "i8[]", 1, true, false},
    [RT_GGUF_U16] = {"u16", "u16[]", 2, false, false},
    [RT_GGUF_I16] = {"i16", "i16[]", 2, true, false},
    [RT_GGUF_U32] = {"u32", "u32[]", 4, false, false},
    [RT_GGUF_I32] = {"i32", "i32[]", 4, true, false},
    [RT_GGUF_F32] = {"f32", "f32[]", 4, false, true},
    [RT_GGUF_BOOL] = {"bool", "bool[]", 1, false, false},
    [RT_GGUF_TEXT] = {"text", "text[]", 0, false, false},
    [RT_GGUF_ARRAY] = {"array", "array[]", 0, false, false},
    [RT_GGUF_U64] = {"u64", "u64[]", 8, false, false},
    [RT_GGUF_I64] = {"i64", "i64[]", 8, true, false},
    [RT_GGUF_F64] = {"f64", "f64[]", 8, false, true},
};

uint64_t rt_gguf_load(const unsigned char *at, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

unsigned rt_gguf_size(RtGgufType type) {
    return types[type].size;
}

const RtTensors *rt_gguf_tensors(const RtGguf *gguf) {
    return &gguf->tensors;
}

uint32_t rt_gguf_version(const RtGguf *gguf) {
    return gguf->version;
}

size_t rt_gguf_count(const RtGguf *gguf) {
    return gguf->count;
}

const RtGgufValue *rt_gguf_at(const RtGguf *gguf, size_t index) {
    return index < gguf->count ? &gguf->values[index] : NULL;
}

const RtGgufValue *rt_gguf_find(const RtGguf *gguf, const char *key) {
    for (size_t i = 0; i < gguf->count; i++)
        if (strcmp(gguf->values[i].key, key) == 0)
            return &gguf->values[i];
    return NULL;
}

static const RtGgufValue *scalar(const RtGguf *gguf, const char *key) {
    const RtGgufValue *value = rt_gguf_find(gguf, key);
    return value && value->type != RT_GGUF_ARRAY ? value : NULL;
}

// ---- numbers ----

static bool is_integer(const RtGgufValue *value) {
    const TypeRow *row = &types[value->element];
    return row->size && !row->real && value->element != RT_GGUF_BOOL;
}

// The element's bytes, widened; negative numbers sign-extended.
static uint64_t widen(const RtGgufValue *value, uint64_t index) {
    unsigned size = types[value->element].size;
    uint64_t raw = rt_gguf_load(value->data + index * size, size);
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    return types[value->element].negative ? (raw ^ sign) - sign : raw;
}

bool rt_gguf_element_i64(const RtGgufValue *value, uint64_t index, int64_t *out) {
    if (!value || !is_integer(value) || index >= value->count)
        return false;
    uint64_t wide = widen(value, index);
    if (!types[value->element].negative && wide > INT64_MAX)
        return false;
    memcpy(out, &wide, sizeof *out);
    return true;
}

bool rt_gguf_element_f64(const RtGgufValue *value, uint64_t index, double *out) {
    if (!value || !types[value->element].size || value->element == RT_GGUF_BOOL ||
        index >= value->count)
        return false;
    uint64_t wide = widen(value, index);
    if (value->element == RT_GGUF_F32) {
        uint32_t bits = (uint32_t)wide;
        float single;
        memcpy(&single, &bits, sizeof single);
        *out = (double)single;
    } else if (value->element == RT_GGUF_F64) {
        memcpy(out, &wide, sizeof *out);
    } else if (types[value->element].negative) {
        int64_t number;
        memcpy(&number, &wide, sizeof number);
        *out = (double)number;
    } else {
        *out = (double)wide;
    }
    return true;
}

bool rt_gguf_i64(const RtGguf *gguf, const char *key, int64_t *out) {
    return rt_gguf_element_i64(scalar(gguf, key), 0, out);
}

bool rt_gguf_u64(const RtGguf *gguf, const char *key, uint64_t *out) {
    const RtGgufValue *value = scalar(gguf, key);
    if (!value || !is_integer(value))
        return false;
    uint64_t wide = widen(value, 0);
    if (types[value->element].negative && wide > INT64_MAX)
        return false;
    *out = wide;
    return true;
}

bool rt_gguf_f64(const RtGguf *gguf, const char *key, double *out) {
    return rt_gguf_element_f64(scalar(gguf, key), 0, out);
}

bool rt_gguf_bool(const RtGguf *gguf, const char *key, bool *out) {
    const RtGgufValue *value = scalar(gguf, key);
    if (!value || value->type != RT_GGUF_BOOL)
        return false;
    *out = value->data[0] != 0;
    return true;
}

// ---- texts and arrays ----

const char *rt_gguf_text(const RtGguf *gguf, const char *key, size_t *bytes) {
    const RtGgufValue *value = scalar(gguf, key);
    if (!value || value->type != RT_GGUF_TEXT)
        return NULL;
    if (bytes)
        *bytes = (size_t)value->bytes;
    return (const char *)value->data;
}

const RtGgufValue *rt_gguf_array(const RtGguf *gguf, const char *key, RtGgufType element) {
    const RtGgufValue *value = rt_gguf_find(gguf, key);
    return value && value->type == RT_GGUF_ARRAY && value->element == element ? value : NULL;
}

bool rt_gguf_next_text(const RtGgufValue *array, uint64_t *cursor, const char **text,
                       size_t *bytes) {
    if (!array || array->type != RT_GGUF_ARRAY || array->element != RT_GGUF_TEXT ||
        *cursor >= array->bytes)
        return false;
    // The parser has checked every length in this run of bytes.
    uint64_t length = rt_gguf_load(array->data + *cursor, 8);
    *text = (const char *)array->data + *cursor + 8;
    *bytes = (size_t)length;
    *cursor += 8 + length;
    return true;
}

const char *rt_gguf_type_name(const RtGgufValue *value) {
    return value->type == RT_GGUF_ARRAY ? types[value->element].list : types[value->type].name;
}

static void print_number(const RtGgufValue *value, uint64_t index, char *out, size_t room) {
    double real = 0;
    int64_t whole = 0;
    if (value->element == RT_GGUF_BOOL)
        snprintf(out, room, "%s", value->data[index] ? "true" : "false");
    else if (types[value->element].real && rt_gguf_element_f64(value, index, &real))
        snprintf(out, room, value->element == RT_GGUF_F32 ? "%.9g" : "%.17g", real);
    else if (rt_gguf_element_i64(value, index, &whole))
        snprintf(out, room, "%" PRId64, whole);
    else
        snprintf(out, room, "%" PRIu64, widen(value, index));
}

static void print_text(const void *text, size_t bytes, char *out, size_t room) {
    out[0] = '"';
    rt_printable(out + 1, room - 2, text, bytes);
    strcat(out, "\"");
}

// As many elements as fit, then how many there are.
static void print_array(const RtGgufValue *value, char *out, size_t room) {
    char item[48], tail[40];
    uint64_t cursor = 0, index = 0;
    size_t at = 1;
    snprintf(tail, sizeof tail, ", ...] (%" PRIu64 ")", value->count);
    out[0] = '[';
    for (; index < value->count; index++) {
        const char *text;
        size_t bytes;
        if (rt_gguf_next_text(value, &cursor, &text, &bytes))
            print_text(text, bytes, item, sizeof item);
        else
            print_number(value, index, item, sizeof item);
        size_t length = strlen(item) + (index ? 2 : 0);
        if (at + length + strlen(tail) + 1 > room)
            break;
        snprintf(out + at, room - at, "%s%s", index ? ", " : "", item);
        at += length;
    }
    snprintf(out + at, room - at, "%s", index < value->count ? tail : "]");
}

char *rt_gguf_print(const RtGgufValue *value, char *out, size_t room) {
    if (room < 64) { // no room for the shortest forms below
        if (room)
            out[0] = '\0';
    } else if (value->type == RT_GGUF_ARRAY) {
        print_array(value, out, room);
    } else if (value->type == RT_GGUF_TEXT) {
        print_text(value->data, (size_t)value->bytes, out, room);
    } else {
        print_number(value, 0, out, room);
    }
    return out;
}

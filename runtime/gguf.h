// GGUF files, version 2 and 3: typed metadata and tensors.
//
// The file is checked whole before anything is returned. Values are read in place; the numbers of
// the file are little-endian and unaligned, so they are read through the getters only.

#ifndef RUNTIME_GGUF_H
#define RUNTIME_GGUF_H

#include "runtime/error.h"
#include "runtime/tensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { // the ids of the file format
    RT_GGUF_U8 = 0,
    RT_GGUF_I8 = 1,
    RT_GGUF_U16 = 2,
    RT_GGUF_I16 = 3,
    RT_GGUF_U32 = 4,
    RT_GGUF_I32 = 5,
    RT_GGUF_F32 = 6,
    RT_GGUF_BOOL = 7, // one byte, 0 or 1
    RT_GGUF_TEXT = 8,
    RT_GGUF_ARRAY = 9,
    RT_GGUF_U64 = 10,
    RT_GGUF_I64 = 11,
    RT_GGUF_F64 = 12
} RtGgufType;

typedef struct {
    const char *key;           // NUL-terminated
    RtGgufType type;           // of the value
    RtGgufType element;        // of an array's elements (never RT_GGUF_ARRAY); else = type
    uint64_t count;            // elements of an array; bytes of a text; else 1
    const unsigned char *data; // the value's bytes; a text (not an array's) is NUL-terminated
    uint64_t bytes;            // size of data
} RtGgufValue;

typedef struct RtGguf RtGguf;

// Reads a GGUF file lying in memory (which must outlive the result). `where` names it in messages
// and is copied. Returns NULL with *err set; free with rt_gguf_free.
RtGguf *rt_gguf_parse(const void *data, size_t size, const char *where, RtError *err);
void rt_gguf_free(RtGguf *gguf); // NULL is allowed
const RtTensors *rt_gguf_tensors(const RtGguf *gguf);
uint32_t rt_gguf_version(const RtGguf *gguf);

// Iteration over all keys, in file order, and look-up (NULL: no such key).
size_t rt_gguf_count(const RtGguf *gguf);
const RtGgufValue *rt_gguf_at(const RtGguf *gguf, size_t index);
const RtGgufValue *rt_gguf_find(const RtGguf *gguf, const char *key);

// Scalars by key. False (or NULL) if the key is absent or has another type: u64 takes any integer
// type that is not negative, i64 any integer that fits, f64 any number, text a text.
bool rt_gguf_u64(const RtGguf *gguf, const char *key, uint64_t *out);
bool rt_gguf_i64(const RtGguf *gguf, const char *key, int64_t *out);
bool rt_gguf_f64(const RtGguf *gguf, const char *key, double *out);
bool rt_gguf_bool(const RtGguf *gguf, const char *key, bool *out);
const char *rt_gguf_text(const RtGguf *gguf, const char *key, size_t *bytes); // bytes may be NULL

// An array by key, if its elements are of `element` type; else NULL.
const RtGgufValue *rt_gguf_array(const RtGguf *gguf, const char *key, RtGgufType element);

// Element `index` of an array of numbers (or a scalar, index 0). False: out of range, not a
// number, or it does not fit.
bool rt_gguf_element_i64(const RtGgufValue *value, uint64_t index, int64_t *out);
bool rt_gguf_element_f64(const RtGgufValue *value, uint64_t index, double *out);

// The texts of an array of texts, one after the other: start with *cursor = 0; false at the end.
// *text is not NUL-terminated.
bool rt_gguf_next_text(const RtGgufValue *array, uint64_t *cursor, const char **text,
                       size_t *bytes);

// The type's name ("u32", "text", "text[]"), and the value as one printable line, cut to `room`
// bytes (at least 64).
const char *rt_gguf_type_name(const RtGgufValue *value);
char *rt_gguf_print(const RtGgufValue *value, char *out, size_t room);

#endif

// Strict JSON reading for hostile input (RFC 8259 and nothing more).
//
// The text must be UTF-8 without a byte order mark; keys may not repeat; depth, size and the number
// of values are limited before memory is asked for. Numbers keep their spelling, so integers are
// exact to 64 bits and `4.0` is not taken for a 4. A document is one flat array of values in
// text order: an array's or object's members follow it.

#ifndef RUNTIME_JSON_H
#define RUNTIME_JSON_H

#include "runtime/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    RT_JSON_NULL,
    RT_JSON_BOOL,
    RT_JSON_NUMBER,
    RT_JSON_STRING,
    RT_JSON_ARRAY,
    RT_JSON_OBJECT
} RtJsonKind;

typedef struct {
    const char *key;     // member's key, unescaped, NUL-terminated; NULL outside objects
    const char *text;    // string: unescaped UTF-8, NUL-terminated; number: its spelling
    uint32_t key_length; // bytes of key (a key may hold \u0000)
    uint32_t length;     // bytes of text; members of an array or object; 1 or 0 for true, false
    uint32_t span;       // values of this one with all inside it: the next sibling is value + span
    uint8_t kind;        // RtJsonKind
    bool last;           // no sibling follows
} RtJsonValue;

typedef struct {
    size_t bytes;    // longest text
    uint32_t depth;  // deepest nesting
    uint32_t values; // most values in all (a value takes 32 bytes)
} RtJsonLimits;

typedef struct RtJson RtJson; // owns its text and values

// Parses `size` bytes (copied). `where` names the text in messages. limits NULL: 256 MiB, depth 64,
// 2^23 values. Returns NULL with *err = "WHERE:LINE:COLUMN: what". Free with rt_json_free.
RtJson *rt_json_parse(const char *text, size_t size, const char *where, const RtJsonLimits *limits,
                      RtError *err);

// The same from a regular file.
RtJson *rt_json_read(const char *path, const RtJsonLimits *limits, RtError *err);
void rt_json_free(RtJson *json); // NULL is allowed
const RtJsonValue *rt_json_root(const RtJson *json);

// Members: first (NULL if empty or no container) and the next sibling (NULL at the end):
//   for (const RtJsonValue *v = rt_json_first(list); v; v = rt_json_next(v)) ...
const RtJsonValue *rt_json_first(const RtJsonValue *value);
const RtJsonValue *rt_json_next(const RtJsonValue *value);

// Member of an object by key, NULL if absent (or not an object, or value is NULL). Linear.
const RtJsonValue *rt_json_find(const RtJsonValue *object, const char *key);

// What a value is; false (NULL) if it is something else, is out of range, or value is NULL.
// i64 and u64 take integers without fraction or exponent; number takes any finite number.
bool rt_json_i64(const RtJsonValue *value, int64_t *out);
bool rt_json_u64(const RtJsonValue *value, uint64_t *out);
bool rt_json_number(const RtJsonValue *value, double *out);
bool rt_json_bool(const RtJsonValue *value, bool *out);
const char *rt_json_text(const RtJsonValue *value); // a string without \u0000
bool rt_json_is_null(const RtJsonValue *value);
bool rt_json_is(const RtJsonValue *value, RtJsonKind kind);
bool rt_json_equals(const RtJsonValue *value, const char *text); // a string equal to text

// Required members, with messages ("config.json: "hidden_size" must be an integer from 1 to ...,
// it is "big""). `json` gives the file's name.
bool rt_json_need_i64(const RtJson *json, const RtJsonValue *object, const char *key, int64_t low,
                      int64_t high, int64_t *out, RtError *err);
bool rt_json_need_number(const RtJson *json, const RtJsonValue *object, const char *key,
                         double *out, RtError *err);
bool rt_json_need_bool(const RtJson *json, const RtJsonValue *object, const char *key, bool *out,
                       RtError *err);
const char *rt_json_need_text(const RtJson *json, const RtJsonValue *object, const char *key,
                              RtError *err);
const RtJsonValue *rt_json_need(const RtJson *json, const RtJsonValue *object, const char *key,
                                RtJsonKind kind, RtError *err);

#endif

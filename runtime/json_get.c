// Reading values out of a JSON document.

#include "runtime/json_tree.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const RtJsonValue *rt_json_root(const RtJson *json) {
    return json->values;
}

const RtJsonValue *rt_json_first(const RtJsonValue *value) {
    if (!rt_json_is(value, RT_JSON_ARRAY) && !rt_json_is(value, RT_JSON_OBJECT))
        return NULL;
    return value->length ? value + 1 : NULL;
}

const RtJsonValue *rt_json_next(const RtJsonValue *value) {
    return value->last ? NULL : value + value->span;
}

const RtJsonValue *rt_json_find(const RtJsonValue *object, const char *key) {
    if (!rt_json_is(object, RT_JSON_OBJECT))
        return NULL;
    size_t length = strlen(key);
    for (const RtJsonValue *v = rt_json_first(object); v; v = rt_json_next(v))
        if (v->key_length == length && memcmp(v->key, key, length) == 0)
            return v;
    return NULL;
}

bool rt_json_is(const RtJsonValue *value, RtJsonKind kind) {
    return value && value->kind == kind;
}

bool rt_json_is_null(const RtJsonValue *value) {
    return rt_json_is(value, RT_JSON_NULL);
}

// The magnitude of an integer spelling; false if it has a fraction or exponent or overflows.
static bool magnitude(const RtJsonValue *value, uint64_t *out, bool *negative) {
    if (!rt_json_is(value, RT_JSON_NUMBER))
        return false;
    uint32_t at = 0;
    uint64_t sum = 0;
    *negative = value->text[0] == '-';
    for (at = *negative; at < value->length; at++) {
        if (value->text[at] < '0' || value->text[at] > '9')
            return false;
        unsigned digit = (unsigned)(value->text[at] - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    *out = sum;
    return true;
}

bool rt_json_i64(const RtJsonValue *value, int64_t *out) {
    uint64_t size;
    bool negative;
    if (!magnitude(value, &size, &negative) || size > (uint64_t)INT64_MAX + negative)
        return false;
    *out = !negative ? (int64_t)size : size == 0 ? 0 : -(int64_t)(size - 1) - 1;
    return true;
}

bool rt_json_u64(const RtJsonValue *value, uint64_t *out) {
    uint64_t size;
    bool negative;
    if (!magnitude(value, &size, &negative) || (negative && size != 0))
        return false;
    *out = size;
    return true;
}

bool rt_json_number(const RtJsonValue *value, double *out) {
    char text[512];
    if (!rt_json_is(value, RT_JSON_NUMBER) || value->length >= sizeof text)
        return false;
    memcpy(text, value->text, value->length);
    text[value->length] = '\0';
    char *point = strchr(text, '.'), *end;
    if (point) // strtod wants the locale's point, which a program around us may have set
        *point = localeconv()->decimal_point[0];
    double number = strtod(text, &end);
    if (*end != '\0' || !isfinite(number))
        return false;
    *out = number;
    return true;
}

bool rt_json_bool(const RtJsonValue *value, bool *out) {
    if (!rt_json_is(value, RT_JSON_BOOL))
        return false;
    *out = value->length != 0;
    return true;
}

const char *rt_json_text(const RtJsonValue *value) {
    if (!rt_json_is(value, RT_JSON_STRING) || memchr(value->text, '\0', value->length))
        return NULL;
    return value->text;
}

bool rt_json_equals(const RtJsonValue *value, const char *text) {
    return rt_json_is(value, RT_JSON_STRING) && value->length == strlen(text) &&
           memcmp(value->text, text, value->length) == 0;
}

// ---- required members ----

// The value as a few words for a message.
static const char *describe(const RtJsonValue *value, char *out, size_t room) {
    static const char *const names[] = {"null", "a bool", "", "", "a list", "an object"};
    if (value->kind == RT_JSON_BOOL)
        return value->length ? "true" : "false";
    if (value->kind == RT_JSON_NUMBER)
        return rt_printable(out, room, value->text, value->length);
    if (value->kind != RT_JSON_STRING)
        return names[value->kind];
    out[0] = '"';
    rt_printable(out + 1, room - 2, value->text, value->length);
    return strcat(out, "\"");
}

static const RtJsonValue *present(const RtJson *json, const RtJsonValue *object, const char *key,
                                  RtError *err) {
    const RtJsonValue *value = rt_json_find(object, key);
    if (!rt_json_is(object, RT_JSON_OBJECT))
        rt_fail(err, "%s: an object with the key \"%s\" was expected", json->where, key);
    else if (!value)
        rt_fail(err, "%s: the key \"%s\" is missing", json->where, key);
    return value;
}

static bool wrong(const RtJson *json, const RtJsonValue *value, const char *must, RtError *err) {
    char text[64];
    return rt_fail(err, "%s: \"%s\" must be %s, it is %s", json->where, value->key, must,
                   describe(value, text, sizeof text));
}

bool rt_json_need_i64(const RtJson *json, const RtJsonValue *object, const char *key, int64_t low,
                      int64_t high, int64_t *out, RtError *err) {
    const RtJsonValue *value = present(json, object, key, err);
    int64_t number;
    if (!value)
        return false;
    if (!rt_json_i64(value, &number) || number < low || number > high) {
        char must[80];
        snprintf(must, sizeof must, "an integer from %" PRId64 " to %" PRId64, low, high);
        return wrong(json, value, must, err);
    }
    *out = number;
    return true;
}

bool rt_json_need_number(const RtJson *json, const RtJsonValue *object, const char *key,
                         double *out, RtError *err) {
    const RtJsonValue *value = present(json, object, key, err);
    if (!value)
        return false;
    return rt_json_number(value, out) ? true : wrong(json, value, "a finite number", err);
}

bool rt_json_need_bool(const RtJson *json, const RtJsonValue *object, const char *key, bool *out,
                       RtError *err) {
    const RtJsonValue *value = present(json, object, key, err);
    if (!value)
        return false;
    return rt_json_bool(value, out) ? true : wrong(json, value, "true or false", err);
}

const char *rt_json_need_text(const RtJson *json, const RtJsonValue *object, const char *key,
                              RtError *err) {
    const RtJsonValue *value = present(json, object, key, err);
    if (!value)
        return NULL;
    const char *text = rt_json_text(value);
    if (!text)
        wrong(json, value, "a string without NUL", err);
    return text;
}

const RtJsonValue *rt_json_need(const RtJson *json, const RtJsonValue *object, const char *key,
                                RtJsonKind kind, RtError *err) {
    static const char *const names[] = {"null",     "true or false", "a number",
                                        "a string", "a list",        "an object"};
    const RtJsonValue *value = present(json, object, key, err);
    if (!value)
        return NULL;
    if (value->kind != kind) {
        wrong(json, value, names[kind], err);
        return NULL;
    }
    return value;
}

// Fuzz target: a JSON text is read or refused; the tree is consistent.

#include "runtime/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Walks the tree and returns the values in it.
static uint32_t walk(const RtJsonValue *value) {
    uint32_t sum = 1, members = 0;
    int64_t number;
    double real;
    rt_json_i64(value, &number);
    rt_json_number(value, &real);
    if (value->kind == RT_JSON_STRING && value->text[value->length] != '\0')
        abort();
    for (const RtJsonValue *v = rt_json_first(value); v; v = rt_json_next(v), members++)
        sum += walk(v);
    if (sum != value->span || (value->kind >= RT_JSON_ARRAY && members != value->length))
        abort();
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    RtError err = {{0}};
    char *copy = malloc(size ? size : 1); // its end is the end
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    RtJson *json = rt_json_parse(copy, size, "fuzz", NULL, &err);
    free(copy);
    if (json)
        walk(rt_json_root(json));
    else if (err.text[0] == '\0')
        abort(); // refused without a word
    rt_json_free(json);
    return 0;
}

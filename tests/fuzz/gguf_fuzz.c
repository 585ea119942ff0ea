// Fuzz target: a GGUF file in memory is read or refused; every value and tensor read can be used.

#include "runtime/gguf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_values(const RtGguf *gguf) {
    char line[128];
    for (size_t i = 0; i < rt_gguf_count(gguf); i++) {
        const RtGgufValue *value = rt_gguf_at(gguf, i);
        uint64_t cursor = 0, texts = 0, unsigned_number;
        int64_t number;
        double real;
        bool truth;
        const char *text;
        size_t bytes;
        rt_gguf_print(value, line, sizeof line);
        while (rt_gguf_next_text(value, &cursor, &text, &bytes))
            texts++;
        if (value->type == RT_GGUF_ARRAY && value->element == RT_GGUF_TEXT && texts != value->count)
            abort();
        for (uint64_t k = 0; value->element != RT_GGUF_TEXT && k < value->count; k++) {
            rt_gguf_element_i64(value, k, &number);
            rt_gguf_element_f64(value, k, &real);
        }
        rt_gguf_u64(gguf, value->key, &unsigned_number);
        rt_gguf_bool(gguf, value->key, &truth);
        rt_gguf_text(gguf, value->key, &bytes);
    }
}

static void use_tensors(const RtTensors *tensors) {
    float row[48];
    for (size_t i = 0; i < tensors->count; i++) {
        const RtTensor *t = &tensors->items[i];
        uint64_t count = rt_tensor_elements(t);
        if (rt_tensors_find(tensors, t->name) != t)
            abort();
        for (uint64_t at = 0; at < count; at += 48)
            rt_format_row(t->format, t->data, at, count - at < 48 ? count - at : 48, row);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    RtError err = {{0}};
    void *copy = aligned_alloc(64, (size + 64) / 64 * 64);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    RtGguf *gguf = rt_gguf_parse(copy, size, "fuzz", &err);
    if (gguf) {
        use_values(gguf);
        use_tensors(rt_gguf_tensors(gguf));
    } else if (err.text[0] == '\0') {
        abort(); // refused without a word
    }
    rt_gguf_free(gguf);
    free(copy);
    return 0;
}

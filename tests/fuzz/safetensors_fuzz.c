// Fuzz target: a safetensors file in memory is read or refused; what is read can be used.

#include "runtime/safetensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const RtTensors *tensors) {
    float row[64];
    for (size_t i = 0; i < tensors->count; i++) {
        const RtTensor *t = &tensors->items[i];
        uint64_t count = rt_tensor_elements(t);
        if (rt_tensors_find(tensors, t->name) != t)
            abort();
        for (uint64_t at = 0; at < count; at += 64)
            rt_format_row(t->format, t->data, at, count - at < 64 ? count - at : 64, row);
        if (count > 0)
            row[0] = rt_format_at(t->format, t->data, count - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    RtTensors tensors = {0};
    RtError err = {{0}};
    void *copy = malloc(size ? size : 1); // aligned, and its end is the end
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    bool ok = rt_safetensors_parse(copy, size, "fuzz", &tensors, &err) &&
              rt_tensors_index(&tensors, "fuzz", &err);
    if (ok)
        use(&tensors);
    else if (err.text[0] == '\0')
        abort(); // refused without a word
    rt_tensors_free(&tensors);
    free(copy);
    return 0;
}

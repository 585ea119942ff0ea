// Fuzz target: what parses can be formatted, to a text that parses to the same tree, has the same
// comments, and is changed by no second formatting (format_source compares them itself).

#include "syntax/format.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16)
        return 0;
    Session *s = session_new();
    const char *copy = arena_copy(s->arena, data, size);
    StrBuf out = strbuf_new(s->arena);
    int file = session_add(s, source_new(s->arena, "fuzz", (Str){copy, (int)size}));
    if (format_source(s, file, &out) == FORMAT_BROKEN) {
        fprintf(stderr, "%.*s", (int)size, copy);
        abort();
    }
    session_free(s);
    return 0;
}

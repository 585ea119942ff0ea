// Fuzz target: Core text that reads and verifies, to Loop IR and C.
#include "codegen/codegen.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Session *s = session_new();
    char *text = arena_copy(s->arena, data, size);
    Source *source = source_new(s->arena, "fuzz.core", (Str){text, (int)size});
    Core *c = core_parse(s, dims_new(s->arena), session_add(s, source));
    StrBuf faults = strbuf_new(s->arena), loop = faults, out = faults;
    char error[300];
    if (c && core_verify(c, &faults)) {
        codegen_dump_loop(c, &loop, error, sizeof error);
        codegen_dump_c(c, &out, error, sizeof error);
    }
    session_free(s);
    return 0;
}

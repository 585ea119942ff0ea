// Fuzzes the reader and the verifier of Core, the printer, and greedy copies: what is read prints,
// the print reads back to the same bytes, and copies of what is sound are sound.
#include "core/core.h"
#include "opt/greedy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Core *read_text(Session *s, Str text) {
    return core_parse(s, dims_new(s->arena), session_add(s, source_new(s->arena, "fuzz", text)));
}

static void need(bool ok, const char *what, const char *text) {
    if (ok)
        return;
    fprintf(stderr, "%s\n%s\n", what, text);
    abort();
}

static void check_greedy(Core *c) {
    StrBuf faults = strbuf_new(c->session->arena);
    for (int i = 0, n = c->fns.len; i < n && i < 8; i++) {
        if (c->fns.data[i]->entry)
            opt_greedy(c, c->fns.data[i], NULL);
    }
    need(core_verify(c, &faults), "a greedy copy is not sound", faults.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16)
        return 0;
    Session *s = session_new();
    Core *c = read_text(s, (Str){arena_copy(s->arena, data, size), (int)size});
    if (c) {
        StrBuf first = strbuf_new(s->arena), second = strbuf_new(s->arena);
        StrBuf faults = strbuf_new(s->arena);
        core_print(c, &first);
        Core *again = read_text(s, (Str){first.data, first.len});
        need(again != NULL, "what was printed does not read", first.data);
        core_print(again, &second);
        need(strcmp(first.data, second.data) == 0, first.data, second.data);
        if (core_verify(c, &faults))
            check_greedy(c);
    } else {
        need(s->errors == 1, "refused without an error", "");
    }
    session_free(s);
    return 0;
}

// Any text through the checker and, if it is a program, the lowering, the writes in
// place and the verifier.
#include "check/check.h"
#include "lower/lower.h"
#include "opt/inplace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void lower_all(Program *p, Item *block, ItemVec *items) {
    Arena *a = p->session->arena;
    for (int i = 0; i < items->len; i++) {
        Item *entry = items->data[i];
        if (entry->kind == ITEM_BLOCK)
            lower_all(p, entry, &entry->items);
        if (entry->kind != ITEM_ENTRY)
            continue;
        int n = entry->generics.len, k = block ? block->generics.len : 0;
        GenericArg *args = NEW_N(a, GenericArg, n + 1), *outer = NEW_N(a, GenericArg, k + 1);
        for (int g = 0; g < n; g++)
            args[g] = entry->generics.data[g].value;
        for (int g = 0; g < k; g++)
            outer[g] = block->generics.data[g].value;
        Core *core = core_new(p->session, p->dims);
        LowerOptions o = {.program = p, .core = core, .block_args = outer};
        StrBuf faults = strbuf_new(a);
        if (!lower_entry(&o, block, entry, args))
            continue;
        bool good = core_verify(core, &faults);
        opt_inplace(core);
        if (!good || !core_verify(core, &faults)) {
            fprintf(stderr, "%s", faults.data);
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size > 1 << 14)
        return 0;
    Session *s = session_new();
    char *text = arena_copy(s->arena, data, size);
    Source *source = source_new(s->arena, "fuzz.serin", (Str){text, (int)size});
    Program *p = check_program(s, session_add(s, source), NULL);
    Serve serve;
    if (!s->errors && check_serve(p, NULL, &serve) && !s->errors)
        lower_all(p, NULL, &p->root->items);
    session_free(s);
    return 0;
}

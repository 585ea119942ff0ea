// Dumps for people: the Loop IR and the C of every function, without an export around them.
#include "codegen/c_text.h"
#include <stdio.h>

static LoopModule *build_all(Core *c, char *error, size_t n) {
    LoopOptions o = {.roots = (const CoreFn *const *)c->fns.data, .root_count = c->fns.len};
    LoopModule *m = loop_build(c, &o);
    if (!m->error)
        return m;
    snprintf(error, n, "%s", m->error);
    return NULL;
}

bool codegen_dump_loop(Core *c, StrBuf *out, char *error, size_t n) {
    LoopModule *m = build_all(c, error, n);
    if (!m)
        return false;
    loop_print(m, out);
    return true;
}

bool codegen_dump_c(Core *c, StrBuf *out, char *error, size_t n) {
    LoopModule *m = build_all(c, error, n);
    if (!m)
        return false;
    static const char *const includes[] = {"<stdbool.h>",  "<stddef.h>",    "<stdint.h>",
                                           "<string.h>",   "\"kernels.h\"", "\"numerics.h\"",
                                           "\"scalars.h\""};
    Writer w = {.arena = c->session->arena};
    for (size_t i = 0; i < sizeof includes / sizeof *includes; i++)
        write_line(&w, 0, NULL, "#include %s", includes[i]);
    write_blank(&w);
    c_structs(m, &w);
    c_functions(m, &w);
    writer_text(&w, out);
    return true;
}

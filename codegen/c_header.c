// Structs of weights: one for each instance of a block, nested as in the source.
#include "codegen/c_text.h"

static const char *shape(const LoopModule *m, const CoreType *t) {
    StrBuf b = strbuf_new(m->core->session->arena);
    strbuf_char(&b, '(');
    for (int i = 0; i < t->rank; i++) {
        strbuf_printf(&b, "%s", i ? ", " : "");
        dim_print(&b, t->dims[i]);
    }
    strbuf_char(&b, ')');
    return b.data;
}

static void write_member(const LoopModule *m, Writer *w, const CoreMember *member,
                         const char *name) {
    const CoreType *t = member->type;
    int64_t count = 0;
    if (t->kind == CORE_TENSOR) {
        bool kept = member->kind == MEMBER_STATE;
        const char *text = c_declare(m, loop_pointer(t->dtype, !kept), name, false);
        const char *note =
            kept ? arena_printf(m->core->session->arena, "%s, kept", shape(m, t)) : shape(m, t);
        write_line(w, 1, note, "%s;", text);
        return;
    }
    const char *type = loop_block(m, t->block)->name;
    if (t->kind == CORE_ARRAY && dim_is_const(t->count, &count))
        write_line(w, 1, NULL, "%s %s[%lld];", type, name, (long long)(count > 0 ? count : 1));
    else
        write_line(w, 1, NULL, "%s %s;", type, name);
}

void c_structs(const LoopModule *m, Writer *w) {
    for (int i = 0; i < m->blocks.len; i++) {
        const LoopBlock *b = &m->blocks.data[i];
        int members = 0;
        write_line(w, 0, NULL, "typedef struct {");
        for (int k = 0; k < b->block->members.len; k++) {
            if (!b->members[k])
                continue;
            write_member(m, w, &b->block->members.data[k], b->members[k]);
            members++;
        }
        if (members == 0)
            write_line(w, 1, "it has no weights", "char unused;");
        write_line(w, 0, NULL, "} %s;", b->name);
        write_blank(w);
    }
}

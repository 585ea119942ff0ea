// Sessions of an exported program without a derived step: the whole context for every token.
#include "codegen/export.h"
#include <string.h>

static const char *const header[] = {
    "// Memory and threads (0: one for each processor) to compute with. NULL: there is no "
    "memory.",
    "Session *session_new(const ModelFile *file, int threads);",
    "",
    "// Frees the session. NULL is allowed.",
    "void session_free(Session *session);",
    "",
    "// Bytes of the memory for temporaries.",
    "size_t session_arena_bytes(const Session *session);",
    "",
    "// The token after tokens[0 .. count): the likeliest one where the temperature is 0, else "
    "one",
    "// drawn with the key. -1 if the count is not 1 .. MODEL_CONTEXT (or not MODEL_WINDOW) or "
    "if a",
    "// token is outside the vocabulary.",
    "int32_t session_next(Session *session, const int64_t key[2], const int32_t *tokens, "
    "int64_t count,",
    "                     float temperature);",
    "",
    NULL,
};

void write_whole_h(Writer *w) {
    write_lines(w, header);
}

static const char *const session_head[] = {
    "// ---- Sessions",
    "",
    "struct Session {",
    "    const ModelFile *file;",
    "    RtPool *pool;         // threads",
    "    unsigned char *arena; // memory for the temporaries of one token",
    "    size_t bytes;         // of the arena",
    NULL,
};

static const char *const session_open[] = {
    "};",
    "",
    "Session *session_new(const ModelFile *file, int threads) {",
    "    Session *session = calloc(1, sizeof *session);",
    "    if (session == NULL)",
    "        return NULL;",
    "    session->file = file;",
    NULL,
};

static const char *const session_tail[] = {
    "    session->arena = aligned_alloc(64, session->bytes);",
    "    session->pool = rt_pool_new(threads);",
    "    if (session->arena == NULL || session->pool == NULL) {",
    "        session_free(session);",
    "        return NULL;",
    "    }",
    "    return session;",
    "}",
    "",
    "void session_free(Session *session) {",
    "    if (session == NULL)",
    "        return;",
    "    rt_pool_free(session->pool);",
    "    free(session->arena);",
    "    free(session);",
    "}",
    "",
    "size_t session_arena_bytes(const Session *session) {",
    "    return session->bytes;",
    "}",
    "",
    "static bool is_valid(const int32_t *tokens, int64_t count) {",
    "    if (MODEL_WINDOW > 0 ? count != MODEL_WINDOW : count < 1 || count > MODEL_CONTEXT)",
    "        return false;",
    "    for (int64_t i = 0; i < count; i++) {",
    "        if (tokens[i] < 0 || tokens[i] >= MODEL_VOCAB)",
    "            return false;",
    "    }",
    "    return true;",
    "}",
    "",
    NULL,
};

static void write_whole_sessions(const Export *x, Writer *w) {
    bool sized = x->m->symbols.len > 0;
    write_lines(w, session_head);
    if (x->o->fixed)
        write_line(w, 1, "the text, then its last token again", "int32_t padded[MODEL_CONTEXT];");
    if (gives_logits(x->o))
        write_line(w, 1, "of the next token", "float logits[MODEL_VOCAB];");
    write_lines(w, session_open);
    write_line(w, 1, NULL, "session->bytes = arena_bytes(%s) + 64;", sized ? "MODEL_CONTEXT" : "");
    write_lines(w, session_tail);
}

static void write_entry_call(const Export *x, Writer *w, int indent, const LoopFn *f, bool greedy) {
    const CodegenOptions *o = x->o;
    const char *args[8];
    int n = 0, first = o->entry->self ? 1 : 0;
    if (f->uses_work)
        args[n++] = "work";
    if (f->symbols.len)
        args[n++] = "count";
    args[n++] = gives_logits(o) ? "session->logits" : "next";
    for (int i = 0; i < f->source->params.len && n < 8; i++) {
        int p = i - first;
        if (!f->param_used[i])
            continue;
        if (i < first)
            args[n++] = "model";
        else if (p == o->key)
            args[n++] = "key";
        else if (p == o->tokens)
            args[n++] = o->fixed ? "session->padded" : "tokens";
        else if (o->fixed && i == f->source->params.len - 1)
            args[n++] = "at";
        else if (p == o->temperature)
            args[n++] = greedy || gives_logits(o) ? "1.0f" : "temperature";
        else
            loop_fail(x->m, "the entry's parameter %s can't be given to an exported program",
                      core_value(f->source, f->source->params.data[i])->name);
    }
    write_call(w, indent, f->name, n, args, ";");
}

static bool passes(const LoopFn *f, int param) {
    return param >= 0 && f && f->param_used[param];
}

// The entry chooses the token: with the key, or the greedy one.
static void write_chosen(const Export *x, Writer *w) {
    write_line(w, 1, NULL, "int32_t next[1];");
    write_line(w, 1, NULL, "if (temperature == 0) {");
    write_entry_call(x, w, 2, x->greedy ? x->greedy : x->entry, true);
    write_line(w, 1, NULL, "} else {");
    write_entry_call(x, w, 2, x->entry, false);
    write_line(w, 1, NULL, "}");
    write_line(w, 1, NULL, "return next[0];");
}

static const char *const pick[] = {
    "    if (temperature == 0)",
    "        return rt_argmax(session->logits, MODEL_VOCAB);",
    "    RtKey draw = {{(uint32_t)key[0], (uint32_t)key[1]}};",
    "    int32_t id = rt_sample(session->logits, MODEL_VOCAB, temperature, draw);",
    "    return id < MODEL_VOCAB ? id : MODEL_VOCAB - 1;",
    NULL,
};

// The entry gives logits: the token is chosen here.
static void write_pick(const Export *x, Writer *w) {
    write_entry_call(x, w, 1, x->entry, false);
    write_lines(w, pick);
}

static void write_next(const Export *x, Writer *w) {
    const LoopFn *f = x->entry, *g = x->greedy ? x->greedy : x->entry;
    static const char *const args[] = {"Session *session", "const int64_t key[2]",
                                       "const int32_t *tokens", "int64_t count",
                                       "float temperature"};
    int first = x->o->entry->self ? 1 : 0;
    bool weights = passes(f, first - 1) || passes(g, first - 1);
    int n = x->o->key < 0 ? -1 : first + x->o->key;
    bool key = passes(f, n) || passes(g, n) || gives_logits(x->o);
    write_call(w, 0, "int32_t session_next", 5, args, " {");
    write_line(w, 1, NULL, "if (!is_valid(tokens, count))");
    write_line(w, 2, NULL, "return -1;");
    if (!key)
        write_line(w, 1, NULL, "(void)key; // nothing is drawn");
    if (f->uses_work || g->uses_work) {
        if (x->m->symbols.len) {
            write_line(w, 1, NULL, "if (arena_bytes(count) > session->bytes)");
            write_line(w, 2, NULL, "return -1;");
        }
        write_line(w, 1, NULL, "Work work = {session->pool, session->arena};");
    }
    if (weights)
        write_line(w, 1, NULL, "const %s *model = &session->file->weights;", root_type(x));
    if (x->o->fixed) {
        write_line(w, 1, NULL, "int64_t at = count - 1;");
        write_line(w, 1, NULL, "for (int64_t i = 0; i < MODEL_CONTEXT; i++)");
        write_line(w, 2, NULL, "session->padded[i] = tokens[i < count ? i : at];");
    }
    if (gives_logits(x->o))
        write_pick(x, w);
    else
        write_chosen(x, w);
    write_line(w, 0, NULL, "}");
}

void write_whole_c(const Export *x, Writer *w) {
    write_whole_sessions(x, w);
    write_next(x, w);
}

// Sessions of an exported program with a hand-written cache: the model's own `prefill` and
// `decode`, and states of its blocks that belong to the session.
#include "codegen/export.h"
#include "codegen/loop_build.h"

static Arena *arena_of(const Export *x) {
    return x->m->core->session->arena;
}

// ---- States ------------------------------------------------------------------------------------

static int block_number(const Export *x, const CoreBlock *block) {
    return (int)(loop_block(x->m, block) - x->m->blocks.data);
}

// Bytes of a state, rounded up to 8 so that the next one is aligned to its elements.
static bool state_bytes(const CoreType *t, int64_t *bytes) {
    int64_t d;
    *bytes = dtype_size(t->dtype);
    for (int i = 0; i < t->rank; i++) {
        if (!dim_is_const(t->dims[i], &d) || d < 0 || __builtin_mul_overflow(*bytes, d, bytes))
            return false;
    }
    if (__builtin_add_overflow(*bytes, 7, bytes))
        return false;
    *bytes -= *bytes % 8;
    return true;
}

// Bytes that a member adds to its block, given those of the blocks before.
static bool member_bytes(const Export *x, const CoreMember *member, const int64_t *blocks,
                         int64_t *bytes) {
    const CoreType *t = member->type;
    int64_t count = 1;
    *bytes = 0;
    if (member->kind == MEMBER_STATE)
        return state_bytes(t, bytes);
    if (!t->block)
        return true;
    return (t->kind != CORE_ARRAY || dim_is_const(t->count, &count)) &&
           !__builtin_mul_overflow(blocks[block_number(x, t->block)], count, bytes);
}

// By LoopBlock: bytes of its states and of those of the blocks in it. NULL after a fault.
static int64_t *block_bytes(const Export *x) {
    int64_t *all = NEW_N(arena_of(x), int64_t, x->m->blocks.len + 1), bytes;
    for (int i = 0; i < x->m->blocks.len; i++) {
        const LoopBlock *b = &x->m->blocks.data[i];
        for (int k = 0; k < b->block->members.len; k++) {
            const CoreMember *member = &b->block->members.data[k];
            if (!b->members[k])
                continue;
            if (!member_bytes(x, member, all, &bytes) ||
                __builtin_add_overflow(all[i], bytes, &all[i])) {
                loop_fail(x->m, "%s.%s: the size of a state is not fixed, or too large",
                          b->block->name, member->name);
                return NULL;
            }
        }
    }
    return all;
}

bool written_bytes(const Export *x, int64_t *bytes) {
    const int64_t *all = block_bytes(x);
    *bytes = all ? all[block_number(x, x->root->self)] : 0;
    return all != NULL;
}

static const char *const states_text[] = {
    "// Memory of states, handed out from its beginning.",
    "typedef struct {",
    "    unsigned char *next;",
    "} States;",
    "",
    "static void *next_state(States *states, int64_t bytes) {",
    "    unsigned char *start = states->next;",
    "    states->next += bytes;",
    "    return start;",
    "}",
    "",
    NULL,
};

// A function that gives the states of a block their memory.
static void write_block_states(const Export *x, Writer *w, const LoopBlock *b,
                               const int64_t *blocks, const char *const *names) {
    write_line(w, 0, NULL, "static void %s(States *states, %s *w) {", names[b - x->m->blocks.data],
               b->name);
    for (int k = 0; k < b->block->members.len; k++) {
        const CoreMember *member = &b->block->members.data[k];
        const CoreType *t = member->type;
        int64_t bytes, count = 0;
        if (!b->members[k] || !member_bytes(x, member, blocks, &bytes) || !bytes)
            continue;
        if (member->kind == MEMBER_STATE) {
            write_line(w, 1, NULL, "w->%s = next_state(states, %lld);", b->members[k],
                       (long long)bytes);
            continue;
        }
        bool array = t->kind == CORE_ARRAY && dim_is_const(t->count, &count);
        if (array)
            write_line(w, 1, NULL, "for (int i = 0; i < %lld; i++) {", (long long)count);
        write_line(w, 1 + array, NULL, "%s(states, &w->%s%s);", names[block_number(x, t->block)],
                   b->members[k], array ? "[i]" : "");
        if (array)
            write_line(w, 1, NULL, "}");
    }
    write_line(w, 0, NULL, "}");
    write_blank(w);
}

// The blocks of the model, with their members.
static void mark_blocks(const Export *x, const CoreBlock *block, bool *used) {
    int at = block_number(x, block);
    if (used[at])
        return;
    used[at] = true;
    for (int i = 0; i < block->members.len; i++) {
        if (x->m->blocks.data[at].members[i] && block->members.data[i].type->block)
            mark_blocks(x, block->members.data[i].type->block, used);
    }
}

// Returns the function for the model; NULL if it has no states.
static const char *write_states(const Export *x, Writer *w, const int64_t *blocks) {
    int n = x->m->blocks.len, root = block_number(x, x->root->self);
    const char **names = NEW_N(arena_of(x), const char *, n);
    bool *used = NEW_N(arena_of(x), bool, n);
    if (!blocks[root])
        return NULL;
    mark_blocks(x, x->root->self, used);
    write_line(w, 0, NULL, "// ---- States");
    write_blank(w);
    write_lines(w, states_text);
    for (int i = 0; i < n; i++) {
        const LoopBlock *b = &x->m->blocks.data[i];
        if (!used[i] || !blocks[i])
            continue;
        names[i] = names_pick(
            x->m->names, arena_printf(arena_of(x), "%s_states", names_snake(arena_of(x), b->name)));
        write_block_states(x, w, b, blocks, names);
    }
    return names[root];
}

// ---- model.h -----------------------------------------------------------------------------------

static const char *const header_new[] = {
    "// Memory and threads (0: one for each processor) for one text of at most `capacity` tokens, "
    "of",
    "// which at most `chunk` are read at a time. `rows` is 1: one text for each session. "
    "Everything",
    "// is allocated here. NULL: there is no memory, or a number is not 1, 1 .. MODEL_CONTEXT, at",
    "// least 1.",
    "Session *session_new(const ModelFile *file, int64_t rows, int64_t capacity, int64_t chunk,",
    "                     int threads);",
    "",
    "// Frees the session. NULL is allowed.",
    "void session_free(Session *session);",
    "",
    "// The weights, with the states of this session.",
    NULL,
};

static const char *const header_rest[] = {
    "",
    "// Bytes of the states, and of the memory for temporaries.",
    "size_t session_cache_bytes(const Session *session);",
    "size_t session_arena_bytes(const Session *session);",
    "",
    "// Zeroes the states, before the text (`row` is 0) begins anew at position 0.",
    "void session_clear(Session *session, int64_t row);",
    "",
    NULL,
};

static const char *const header_prefill[] = {
    "// Reads the next count[0] tokens at positions pos[0], pos[0] + 1 and so on, by `prefill` "
    "where",
    "// they are the first ones or several, else by `decode`. Writes the logits after the last of",
    "// them. False if width is not 1 .. chunk, the count not 1 .. width, pos[0] + count[0] beyond",
    "// the capacity, or a token outside the vocabulary.",
    NULL,
};

static const char *const header_decode[] = {
    "// Reads the next count[0] tokens at positions pos[0], pos[0] + 1 and so on, one by one, by",
    "// `decode`. Writes the logits after the last of them. False if width is not 1 .. chunk, the",
    "// count not 1 .. width, pos[0] + count[0] beyond the capacity, or a token outside the",
    "// vocabulary.",
    NULL,
};

static const char *const header_step[] = {
    "bool session_step(Session *session, int64_t width, const int32_t *tokens, const int32_t *pos,",
    "                  const int32_t *count, float *logits);",
    "",
    NULL,
};

void write_written_h(const Export *x, Writer *w) {
    write_lines(w, header_new);
    write_line(w, 0, NULL, "const %s *session_model(const Session *session);", root_type(x));
    write_lines(w, header_rest);
    write_lines(w, x->prefill ? header_prefill : header_decode);
    write_lines(w, header_step);
    write_prefill_h(w);
}

// ---- Sessions ----------------------------------------------------------------------------------

static void write_struct(const Export *x, Writer *w) {
    write_line(w, 0, NULL, "// ---- Sessions");
    write_blank(w);
    write_line(w, 0, NULL, "struct Session {");
    write_line(w, 1, "the file's weights, and states of its own", "%s model;", root_type(x));
    write_line(w, 1, "threads", "RtPool *pool;");
    write_line(w, 1, "positions of the text", "int64_t capacity;");
    write_line(w, 1, "tokens read at a time, at most", "int64_t chunk;");
    write_line(w, 1, "memory of the states", "unsigned char *states;");
    write_line(w, 1, "of all of them", "size_t cache_bytes;");
    write_line(w, 1, "memory for the temporaries of one step", "unsigned char *arena;");
    write_line(w, 1, "of the arena", "size_t arena_bytes;");
    write_line(w, 0, NULL, "};");
    write_blank(w);
}

static const char *const new_head[] = {
    "Session *session_new(const ModelFile *file, int64_t rows, int64_t capacity, int64_t chunk,",
    "                     int threads) {",
    "    bool valid = rows == 1 && capacity >= 1 && capacity <= MODEL_CONTEXT;",
    "    Session *session = valid && chunk >= 1 ? calloc(1, sizeof *session) : NULL;",
    "    if (session == NULL)",
    "        return NULL;",
    "    session->model = file->weights;",
    "    session->capacity = capacity;",
    "    session->chunk = chunk < capacity ? chunk : capacity;",
    NULL,
};

static const char *const new_tail[] = {
    "    session->arena = aligned_alloc(64, session->arena_bytes);",
    "    session->pool = rt_pool_new(threads);",
    "    if (session->states == NULL || session->arena == NULL || session->pool == NULL) {",
    "        session_free(session);",
    "        return NULL;",
    "    }",
    NULL,
};

static void write_new(const Export *x, Writer *w, int64_t bytes, const char *states) {
    write_lines(w, new_head);
    write_line(w, 1, NULL, "session->cache_bytes = %lld;", (long long)bytes);
    write_line(w, 1, NULL, "session->states = calloc(session->cache_bytes + 64, 1);");
    write_line(w, 1, NULL, "session->arena_bytes = arena_bytes(%s) + 64;",
               x->m->symbols.len ? "session->chunk" : "");
    write_lines(w, new_tail);
    if (states)
        write_line(w, 1, NULL, "%s(&(States){session->states}, &session->model);", states);
    write_line(w, 1, NULL, "return session;");
    write_line(w, 0, NULL, "}");
    write_blank(w);
}

static const char *const accessors[] = {
    "void session_free(Session *session) {",
    "    if (session == NULL)",
    "        return;",
    "    rt_pool_free(session->pool);",
    "    free(session->states);",
    "    free(session->arena);",
    "    free(session);",
    "}",
    "",
    NULL,
};

static const char *const clearing[] = {
    "void session_clear(Session *session, int64_t row) {",
    "    if (row == 0)",
    "        memset(session->states, 0, session->cache_bytes);",
    "}",
    "",
    "// Are these tokens as session_step wants them?",
    "static bool is_chunk(const Session *session, int64_t width, const int32_t *tokens, int64_t "
    "pos,",
    "                     int64_t count) {",
    "    if (width < 1 || width > session->chunk || count < 1 || count > width || pos < 0 ||",
    "        pos + count > session->capacity)",
    "        return false;",
    "    for (int64_t i = 0; i < count; i++) {",
    "        if (tokens[i] < 0 || tokens[i] >= MODEL_VOCAB)",
    "            return false;",
    "    }",
    "    return true;",
    "}",
    "",
    "bool session_step(Session *session, int64_t width, const int32_t *tokens, const int32_t *pos,",
    "                  const int32_t *count, float *logits) {",
    NULL,
};

// A call of decode or prefill; `given` are the model, the tokens, their position.
static void write_entry_call(Writer *w, int indent, const LoopFn *f, const char *const given[3]) {
    const char *args[8];
    int n = 0;
    if (f->uses_work)
        args[n++] = "work";
    if (f->symbols.len)
        args[n++] = "count[0]";
    args[n++] = "logits";
    for (int i = 0; i < 3; i++) {
        if (f->param_used[i])
            args[n++] = given[i];
    }
    write_call(w, indent, f->name, n, args, ";");
}

static bool passes(const Export *x, int param) {
    return x->decode->param_used[param] || (x->prefill && x->prefill->param_used[param]);
}

static void write_step(const Export *x, Writer *w) {
    static const char *const first[] = {"model", "tokens", "pos[0]"};
    static const char *const each[] = {"model", "tokens + i", "pos[0] + i"};
    write_line(w, 1, NULL, "if (!is_chunk(session, width, tokens, pos[0], count[0]))");
    write_line(w, 2, NULL, "return false;");
    if (x->m->symbols.len) {
        write_line(w, 1, NULL, "if (arena_bytes(count[0]) > session->arena_bytes)");
        write_line(w, 2, NULL, "return false;");
    }
    if (x->decode->uses_work || (x->prefill && x->prefill->uses_work))
        write_line(w, 1, NULL, "Work work = {session->pool, session->arena};");
    if (passes(x, 0))
        write_line(w, 1, NULL, "const %s *model = &session->model;", root_type(x));
    if (x->prefill) {
        write_line(w, 1, NULL, "if (pos[0] == 0 || count[0] > 1) {");
        write_entry_call(w, 2, x->prefill, first);
        write_line(w, 1, NULL, "} else {");
        write_entry_call(w, 2, x->decode, first);
    } else {
        write_line(w, 1, NULL, "for (int32_t i = 0; i < count[0]; i++) {");
        write_entry_call(w, 2, x->decode, each);
    }
    write_line(w, 1, NULL, "}");
    write_line(w, 1, NULL, "return true;");
    write_line(w, 0, NULL, "}");
    write_blank(w);
    write_prefill_c(x, w);
}

void write_written_c(const Export *x, Writer *w) {
    const int64_t *blocks = block_bytes(x);
    if (!blocks)
        return;
    const char *states = write_states(x, w, blocks);
    write_struct(x, w);
    write_new(x, w, blocks[block_number(x, x->root->self)], states);
    write_line(w, 0, NULL, "const %s *session_model(const Session *session) {", root_type(x));
    write_line(w, 1, NULL, "return &session->model;");
    write_line(w, 0, NULL, "}");
    write_blank(w);
    write_lines(w, accessors);
    write_byte_accessors(w);
    write_lines(w, clearing);
    write_step(x, w);
}

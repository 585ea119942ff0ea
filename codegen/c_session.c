// Sessions of an exported program with a derived step: states that are kept for some sequences, and
// chunks of a batch computed with them.
#include "codegen/export.h"
#include "codegen/loop_build.h"
#include <string.h>

static Arena *arena_of(const Export *x) {
    return x->m->core->session->arena;
}

// ---- States ------------------------------------------------------------------------------------

static int state_count(const Export *x) {
    return x->step->source->states.len;
}

static const CoreType *state_type(const Export *x, int i) {
    return core_value(x->step->source, x->step->source->states.data[i])->type;
}

// A state's name in C: that of the parameter.
const char *state_name(const Export *x, Val v) {
    const LoopFn *f = x->step;
    int at = f->params.len - 1;
    for (int k = f->source->params.len - 1; k >= 0; k--) {
        if (f->source->params.data[k] == v && f->param_used[k])
            return f->params.data[at].name;
        at -= f->param_used[k];
    }
    return NULL; // not used
}

static bool is_kept(const Export *x, int i) {
    return state_name(x, x->step->source->states.data[i]) != NULL;
}

StateAxes state_axes(const Export *x, const CoreType *t) {
    DimTable *dims = x->m->core->dims;
    const Dim *size = dim_const(dims, dtype_size(t->dtype));
    StateAxes a = {dim_const(dims, 1), size, size};
    bool found = false;
    for (int i = 0; i < t->rank; i++) {
        const Dim **d = found ? &a.row : &a.outer;
        if (found && t->dims[i] != x->o->step->capacity)
            a.place = dim_mul(dims, a.place, t->dims[i]);
        if (!found && t->dims[i] == x->o->step->rows)
            found = true;
        else
            *d = dim_mul(dims, *d, t->dims[i]);
    }
    if (!found)
        loop_fail(x->m, "a state has no axis of sequences");
    return a;
}

static const char *dim_c(const Export *x, const Dim *d) {
    return c_expr(x->m, dim_expr_in(x->m, d));
}

static void write_cache(const Export *x, Writer *w) {
    write_line(w, 0, NULL, "// What a session keeps of B sequences at %s.",
               slides(x) ? "Cap positions, from an origin on" : "positions 0 .. Cap - 1");
    write_line(w, 0, NULL, "typedef struct {");
    int members = 0;
    for (int i = 0; i < state_count(x); i++) {
        if (!is_kept(x, i))
            continue;
        const CoreType *t = state_type(x, i);
        const char *name = state_name(x, x->step->source->states.data[i]);
        write_line(w, 1, shape_text(x->m, t), "%s;",
                   c_declare(x->m, loop_pointer(t->dtype, false), name, false));
        members++;
    }
    if (!members)
        write_line(w, 1, "it keeps nothing", "char unused;");
    write_line(w, 0, NULL, "} Cache;");
    write_blank(w);
}

// ---- model.h -----------------------------------------------------------------------------------

static const char *const header[] = {
    "// Memory and threads (0: one for each processor) for `rows` sequences of at most `capacity`",
    "// tokens that are read at most `chunk` at a time. Everything is allocated here. NULL: there "
    "is",
    "// no memory, or a number is not 1 .. MODEL_ROWS, 1 .. MODEL_CONTEXT, at least 1.",
    "Session *session_new(const ModelFile *file, int64_t rows, int64_t capacity, int64_t chunk,",
    "                     int threads);",
    "",
    "// Frees the session. NULL is allowed.",
    "void session_free(Session *session);",
    "",
    "// What is kept: B is the session's rows.",
    "const Cache *session_cache(const Session *session);",
    "",
    "// Bytes of the cache, and of the memory for temporaries.",
    "size_t session_cache_bytes(const Session *session);",
    "size_t session_arena_bytes(const Session *session);",
    "",
    "// Forgets what row `row` was, before it begins anew at position 0. No such row: nothing.",
    "void session_clear(Session *session, int64_t row);",
    "",
    NULL,
};

static const char *const header_step[] = {
    "// Computes one chunk of every row b: the first count[b] of tokens[b * width ..], at "
    "positions",
    "// pos[b], pos[b] + 1 and so on; what a row has before must have been computed. A row with "
    "the",
    "// count 0 is left as it is. Writes the logits after the last token of row b to",
    "// logits[b * MODEL_VOCAB ..]. False if width is not 1 .. chunk, all counts are 0, one is not",
    "// 0 .. width, pos[b] + count[b] beyond the capacity, or one of the tokens (of any row) "
    "outside",
    "// the vocabulary.",
    NULL,
};

static const char *const header_slides[] = {
    "// False too if pos[b] is so far behind what row b has had that what it looks at is gone, or "
    "so",
    "// far ahead of it that there is nothing to look at.",
    NULL,
};

static const char *const header_tail[] = {
    "bool session_step(Session *session, int64_t width, const int32_t *tokens, const int32_t *pos,",
    "                  const int32_t *count, float *logits);",
    "",
    NULL,
};

void write_session_h(const Export *x, Writer *w) {
    write_cache(x, w);
    write_lines(w, header);
    write_lines(w, header_step);
    if (slides(x))
        write_lines(w, header_slides);
    write_lines(w, header_tail);
    write_prefill_h(w);
}

// ---- Making and freeing ------------------------------------------------------------------------

static const char *const session_struct[] = {
    "// ---- Sessions",
    "",
    "// What a step reads; the memory is that of `tokens`.",
    "typedef struct {",
    "    int32_t *tokens; // (rows, width)",
    "    int32_t *pos;    // (rows)",
    "    int32_t *count;  // (rows)",
    "} Chunk;",
    "",
    "struct Session {",
    "    const ModelFile *file;",
    "    RtPool *pool;         // threads",
    "    int64_t rows;         // sequences",
    "    int64_t capacity;     // positions of each",
    "    int64_t chunk;        // tokens of each in one step, at most",
    "    Cache cache;          // what is kept of them",
    "    size_t cache_bytes;   // of all states",
    "    unsigned char *arena; // memory for the temporaries of one step",
    "    size_t arena_bytes;   // of the arena",
    "    Chunk own;            // scratch, of the largest chunk",
    NULL,
};

static const char *const session_slides[] = {
    "    int64_t held;         // positions of each that the cache holds",
    "    int32_t *origin;      // (rows): the first of them",
    NULL,
};

static const char *const state_helpers[] = {
    "static void *new_state(Session *session, int64_t bytes) {",
    "    session->cache_bytes += (size_t)bytes;",
    "    return calloc((size_t)bytes, 1);",
    "}",
    "",
    "// Zeroes a row of each of `count` parts of a state.",
    "static void clear_row(void *state, int64_t count, int64_t rows, int64_t row, int64_t bytes) {",
    "    for (int64_t i = 0; i < count; i++) {",
    "        memset((unsigned char *)state + (i * rows + row) * bytes, 0, (size_t)bytes);",
    "    }",
    "}",
    "",
    NULL,
};

static const char *const new_head[] = {
    "static bool new_chunk(Session *session) {",
    "    Chunk *chunk = &session->own;",
    "    size_t size = (size_t)(session->rows * (session->chunk + 2)) * sizeof *chunk->tokens;",
    "    chunk->tokens = malloc(size);",
    "    if (chunk->tokens == NULL)",
    "        return false;",
    "    chunk->pos = chunk->tokens + session->rows * session->chunk;",
    "    chunk->count = chunk->pos + session->rows;",
    "    return true;",
    "}",
    "",
    "Session *session_new(const ModelFile *file, int64_t rows, int64_t capacity, int64_t chunk,",
    "                     int threads) {",
    "    bool valid = rows >= 1 && rows <= MODEL_ROWS && capacity >= 1 && capacity <= "
    "MODEL_CONTEXT;",
    "    Session *session = valid && chunk >= 1 ? calloc(1, sizeof *session) : NULL;",
    "    if (session == NULL)",
    "        return NULL;",
    "    session->file = file;",
    "    session->rows = rows;",
    "    session->capacity = capacity;",
    "    session->chunk = chunk < capacity ? chunk : capacity;",
    NULL,
};

static const char *const new_tail[] = {
    "    session->arena = aligned_alloc(64, session->arena_bytes);",
    "    session->pool = rt_pool_new(threads);",
    "    if (!new_chunk(session) || !kept || session->arena == NULL || session->pool == NULL) {",
    "        session_free(session);",
    "        return NULL;",
    "    }",
    "    return session;",
    "}",
    "",
    NULL,
};

// Is the state's size known to fit whatever the session's numbers are?
static void check_size(const Export *x, const CoreType *t) {
    int64_t lo, hi;
    const Dim *n = dim_mul(x->m->core->dims, elements(x->m, t),
                           dim_const(x->m->core->dims, dtype_size(t->dtype)));
    if (!dim_valid(n) || !dim_range(x->m, n, &lo, &hi))
        loop_fail(x->m, "a state of the largest batch and context is too large");
}

static bool mentions_symbol(const Export *x, const Dim *symbol) {
    for (int i = 0; i < state_count(x); i++) {
        const CoreType *t = state_type(x, i);
        for (int k = 0; is_kept(x, i) && k < t->rank; k++) {
            if (t->dims[k] == symbol)
                return true;
        }
    }
    return false;
}

static bool has_states(const Export *x) {
    return mentions_symbol(x, x->o->step->rows);
}

static const char *capacity_field(const Export *x) {
    return slides(x) ? "held" : "capacity";
}

// B and Cap as the shapes have them.
static void write_sizes(const Export *x, Writer *w) {
    const CodegenStep *s = x->o->step;
    if (has_states(x))
        write_line(w, 1, NULL, "int64_t %s = session->rows;", loop_symbol(x->m, s->rows));
    if (mentions_symbol(x, s->capacity))
        write_line(w, 1, NULL, "int64_t %s = session->%s;", loop_symbol(x->m, s->capacity),
                   capacity_field(x));
}

static void write_arena_call(const Export *x, StrBuf *b, const char *width, const char *length) {
    const CodegenStep *s = x->o->step;
    const char *capacity = arena_printf(arena_of(x), "session->%s", capacity_field(x));
    strbuf_printf(b, "arena_bytes(");
    for (int i = 0; i < x->m->symbols.len; i++) {
        const Dim *d = x->m->symbols.data[i].dim;
        const char *value = d == s->rows       ? "session->rows"
                            : d == s->width    ? width
                            : d == s->capacity ? capacity
                                               : length;
        strbuf_printf(b, "%s%s", i ? ", " : "", value);
    }
    strbuf_char(b, ')');
}

static void write_new_cache(const Export *x, Writer *w) {
    write_line(w, 0, NULL, "static bool new_cache(Session *session) {");
    if (!has_states(x))
        write_line(w, 1, NULL, "(void)session; // nothing is kept");
    else
        write_line(w, 1, NULL, "Cache *cache = &session->cache;");
    write_sizes(x, w);
    StrBuf all = strbuf_new(arena_of(x));
    if (slides(x)) {
        write_line(w, 1, NULL, "session->origin = calloc((size_t)B, sizeof *session->origin);");
        strbuf_printf(&all, "session->origin != NULL");
    }
    for (int i = 0; i < state_count(x); i++) {
        const CoreType *t = state_type(x, i);
        const char *name = state_name(x, x->step->source->states.data[i]);
        check_size(x, t);
        if (!name)
            continue;
        const Dim *size = dim_const(x->m->core->dims, dtype_size(t->dtype));
        const Dim *bytes = dim_mul(x->m->core->dims, elements(x->m, t), size);
        write_line(w, 1, NULL, "cache->%s = new_state(session, %s);", name, dim_c(x, bytes));
        strbuf_printf(&all, "%scache->%s != NULL", all.len ? " && " : "", name);
    }
    write_line(w, 1, NULL, "return %s;", all.len ? all.data : "true");
    write_line(w, 0, NULL, "}");
    write_blank(w);
}

static void write_new(const Export *x, Writer *w) {
    StrBuf bytes = strbuf_new(arena_of(x));
    write_arena_call(x, &bytes, "session->chunk", slides(x) ? "session->held" : "capacity");
    write_new_cache(x, w);
    write_lines(w, new_head);
    if (slides(x))
        write_slide_sizes(x, w);
    write_line(w, 1, NULL, "bool kept = new_cache(session);");
    const char *set = arena_printf(arena_of(x), "session->arena_bytes = %s + 64;", bytes.data);
    if (!writer_fits(1, set)) {
        write_line(w, 1, NULL, "session->arena_bytes =");
        set = arena_printf(arena_of(x), "    %s + 64;", bytes.data);
    }
    write_line(w, 1, NULL, "%s", set);
    write_lines(w, new_tail);
}

static void write_free(const Export *x, Writer *w) {
    write_line(w, 0, NULL, "void session_free(Session *session) {");
    write_line(w, 1, NULL, "if (session == NULL)");
    write_line(w, 2, NULL, "return;");
    for (int i = 0; i < state_count(x); i++) {
        if (is_kept(x, i))
            write_line(w, 1, NULL, "free(session->cache.%s);",
                       state_name(x, x->step->source->states.data[i]));
    }
    if (slides(x))
        write_line(w, 1, NULL, "free(session->origin);");
    write_line(w, 1, NULL, "free(session->own.tokens);");
    write_line(w, 1, NULL, "rt_pool_free(session->pool);");
    write_line(w, 1, NULL, "free(session->arena);");
    write_line(w, 1, NULL, "free(session);");
    write_line(w, 0, NULL, "}");
    write_blank(w);
}

static void write_clear(const Export *x, Writer *w) {
    write_line(w, 0, NULL, "void session_clear(Session *session, int64_t row) {");
    if (!has_states(x)) {
        write_line(w, 1, NULL, "(void)session; // nothing is kept");
        write_line(w, 1, NULL, "(void)row;");
    } else {
        write_line(w, 1, NULL, "if (row < 0 || row >= session->rows)");
        write_line(w, 2, NULL, "return;");
    }
    write_sizes(x, w);
    for (int i = 0; i < state_count(x); i++) {
        const char *name = state_name(x, x->step->source->states.data[i]);
        if (!name)
            continue;
        StateAxes axes = state_axes(x, state_type(x, i));
        const char *args[] = {arena_printf(arena_of(x), "session->cache.%s", name),
                              dim_c(x, axes.outer), dim_c(x, x->o->step->rows), "row",
                              dim_c(x, axes.row)};
        write_call(w, 1, "clear_row", 5, args, ";");
    }
    if (slides(x))
        write_line(w, 1, NULL, "session->origin[row] = 0;");
    write_line(w, 0, NULL, "}");
    write_blank(w);
}

// ---- The step ----------------------------------------------------------------------------------

static const char *const accessors[] = {
    "const Cache *session_cache(const Session *session) {",
    "    return &session->cache;",
    "}",
    "",
    NULL,
};

static const char *const byte_accessors[] = {
    "size_t session_cache_bytes(const Session *session) {",
    "    return session->cache_bytes;",
    "}",
    "",
    "size_t session_arena_bytes(const Session *session) {",
    "    return session->arena_bytes;",
    "}",
    "",
    NULL,
};

void write_byte_accessors(Writer *w) {
    write_lines(w, byte_accessors);
}

static const char *const chunk_head[] = {
    "// Positions in use after a chunk; 0 if it is not as session_step wants it.",
    "static int64_t chunk_end(const Session *session, int64_t width, const int32_t *tokens,",
    "                         const int32_t *pos, const int32_t *count) {",
    "    int64_t end = 0;",
    "    if (width < 1 || width > session->chunk)",
    "        return 0;",
    "    for (int64_t b = 0; b < session->rows; b++) {",
    "        if (count[b] == 0)",
    "            continue;",
    "        int64_t last = (int64_t)pos[b] + count[b];",
    "        if (pos[b] < 0 || count[b] < 0 || count[b] > width || last > session->capacity)",
    "            return 0;",
    NULL,
};

static const char *const chunk_tail[] = {
    "        end = last > end ? last : end;",
    "    }",
    "    for (int64_t i = 0; i < session->rows * width; i++) {",
    "        if (tokens[i] < 0 || tokens[i] >= MODEL_VOCAB)",
    "            return 0;",
    "    }",
    "    return end;",
    "}",
    "",
    NULL,
};

static const char *const run_head[] = {
    "static bool run_step(Session *session, int64_t width, int64_t length, const int32_t *tokens,",
    "                     const int32_t *pos, const int32_t *count, float *logits) {",
    NULL,
};

static const char *const step_head[] = {
    "bool session_step(Session *session, int64_t width, const int32_t *tokens, const int32_t *pos,",
    "                  const int32_t *count, float *logits) {",
    "    int64_t length = chunk_end(session, width, tokens, pos, count);",
    "    if (length == 0)",
    "        return false;",
    NULL,
};

static const char *const step_tail[] = {
    "    const Chunk *chunk = place_chunk(session, pos, count);",
    "    return run_step(session, width, length, tokens, chunk->pos, chunk->count, logits);",
    "}",
    "",
    NULL,
};

static const char *argument_text(const Export *x, int param) {
    static const char *const names[] = {"model", "tokens", "pos", "count", "session->origin"};
    if (param < (slides(x) ? 5 : 4))
        return names[param];
    return arena_printf(arena_of(x), "session->cache.%s",
                        state_name(x, x->step->source->params.data[param]));
}

static void write_step_call(const Export *x, Writer *w) {
    const LoopFn *f = x->step;
    const CodegenStep *s = x->o->step;
    int n = 0;
    const char **args = NEW_N(arena_of(x), const char *, f->source->params.len + 8);
    if (f->uses_work)
        args[n++] = "work";
    for (int i = 0; i < f->symbols.len; i++) {
        const Dim *d = f->symbols.data[i];
        args[n++] = d == s->rows       ? "session->rows"
                    : d == s->width    ? "width"
                    : d == s->capacity ? arena_printf(arena_of(x), "session->%s", capacity_field(x))
                                       : "length";
    }
    args[n++] = "logits";
    for (int i = 0; i < f->source->params.len; i++) {
        if (f->param_used[i])
            args[n++] = argument_text(x, i);
    }
    write_call(w, 1, f->name, n, args, ";");
}

static bool has_symbol(const Export *x, const Dim *symbol) {
    bool found = false;
    for (int i = 0; i < x->m->symbols.len; i++)
        found |= x->m->symbols.data[i].dim == symbol;
    for (int i = 0; i < x->step->symbols.len; i++)
        found |= x->step->symbols.data[i] == symbol;
    return found;
}

// What a step does not look at.
static void write_unused(const Export *x, Writer *w) {
    const CodegenStep *s = x->o->step;
    if (!has_symbol(x, s->width))
        write_line(w, 1, NULL, "(void)width;");
    if (!has_symbol(x, s->length))
        write_line(w, 1, NULL, "(void)length;");
    for (int i = 1; i < 4; i++) {
        if (!x->step->param_used[i])
            write_line(w, 1, NULL, "(void)%s;", argument_text(x, i));
    }
}

static void write_run(const Export *x, Writer *w) {
    StrBuf bytes = strbuf_new(arena_of(x));
    write_arena_call(x, &bytes, "width", "length");
    write_lines(w, run_head);
    write_unused(x, w);
    const char *test = arena_printf(arena_of(x), "if (%s > session->arena_bytes)", bytes.data);
    if (writer_fits(1, test)) {
        write_line(w, 1, NULL, "%s", test);
    } else {
        write_line(w, 1, NULL, "if (%s >", bytes.data);
        write_line(w, 1, NULL, "    session->arena_bytes)");
    }
    write_line(w, 2, NULL, "return false;");
    if (x->step->uses_work)
        write_line(w, 1, NULL, "Work work = {session->pool, session->arena};");
    if (x->step->param_used[0])
        write_line(w, 1, NULL, "const %s *model = &session->file->weights;", root_type(x));
    write_step_call(x, w);
    write_line(w, 1, NULL, "return true;");
    write_line(w, 0, NULL, "}");
    write_blank(w);
}

static void write_step(const Export *x, Writer *w) {
    write_lines(w, accessors);
    write_byte_accessors(w);
    write_lines(w, chunk_head);
    if (slides(x)) {
        write_line(w, 2, NULL, "int64_t back = session->origin[b] > 0 ? MODEL_LOOKBACK - 1 : 0;");
        write_line(w, 2, NULL, "int64_t place = pos[b] - session->origin[b];");
        write_line(w, 2, NULL, "if (place < back || place > session->held)");
        write_line(w, 3, NULL, "return 0; // what it looks at is gone, or was never there");
    }
    write_lines(w, chunk_tail);
    if (slides(x))
        write_slide(x, w);
    write_run(x, w);
    write_places(x, w);
    write_lines(w, step_head);
    if (slides(x))
        write_line(w, 1, NULL, "length = make_room(session, pos, count);");
    write_lines(w, step_tail);
    write_prefill_c(x, w);
}

void write_session_c(const Export *x, Writer *w) {
    write_lines(w, session_struct);
    if (slides(x))
        write_lines(w, session_slides);
    write_line(w, 0, NULL, "};");
    write_blank(w);
    if (has_states(x))
        write_lines(w, state_helpers);
    write_new(x, w);
    write_free(x, w);
    write_clear(x, w);
    write_step(x, w);
}

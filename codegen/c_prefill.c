// Sessions of an exported program: reading a whole text into a row.
#include "codegen/export.h"

static const char *const header[] = {
    "// Reads a text of `count` tokens into row `row`, which begins anew, a chunk at a time; the "
    "other",
    "// rows stay as they are. Writes the logits after it to logits[row * MODEL_VOCAB ..]; what "
    "comes",
    "// to those of the other rows means nothing. False, and nothing is read, if there is no such "
    "row,",
    "// the count is not 1 .. the capacity, or a token is outside the vocabulary.",
    "bool session_prefill(Session *session, int64_t row, const int32_t *tokens, int64_t count,",
    "                     float *logits);",
    "",
    NULL,
};

// Checks, and what follows them.
static const char *const head[] = {
    "bool session_prefill(Session *session, int64_t row, const int32_t *tokens, int64_t count,",
    "                     float *logits) {",
    NULL,
};

static const char *const checks[] = {
    "    for (int64_t i = 0; i < count; i++) {",
    "        if (tokens[i] < 0 || tokens[i] >= MODEL_VOCAB)",
    "            return false;",
    "    }",
    "    session_clear(session, row);",
    "    bool good = true;",
    "    for (int64_t pos = 0, n; good && pos < count; pos += n) {",
    "        n = count - pos < session->chunk ? count - pos : session->chunk;",
    NULL,
};

static const char *const tail[] = {
    "    }",
    "    return good;",
    "}",
    NULL,
};

static const char *const place_head[] = {
    "// Positions and counts of a chunk. A row that is left alone is placed behind all that is "
    "kept,",
    "// where nothing is written.",
    "static const Chunk *place_rows(Session *session, const int32_t *pos, const int32_t *count) {",
    "    const Chunk *chunk = &session->own;",
    "    for (int64_t b = 0; b < session->rows; b++) {",
    NULL,
};

static const char *const place_tail[] = {
    "        chunk->pos[b] = count[b] > 0 ? pos[b] : behind;",
    "        chunk->count[b] = count[b] > 0 ? count[b] : 1;",
    "    }",
    "    return chunk;",
    "}",
    "",
    NULL,
};

static const char *const fill_head[] = {
    "// A chunk of row `row` only: `count` of the tokens, from `pos` on.",
    "static const Chunk *fill_chunk(Session *session, int64_t row, const int32_t *tokens, int64_t "
    "pos,",
    "                               int64_t count) {",
    "    const Chunk *chunk = &session->own;",
    "    size_t size = (size_t)count * sizeof *tokens;",
    "    memset(chunk->tokens, 0, (size_t)session->rows * size);",
    "    memcpy(chunk->tokens + row * count, tokens + pos, size);",
    "    for (int64_t b = 0; b < session->rows; b++) {",
    NULL,
};

static const char *const fill_tail[] = {
    "        chunk->pos[b] = b == row ? (int32_t)pos : behind;",
    "        chunk->count[b] = b == row ? (int32_t)count : 1;",
    "    }",
    "    return chunk;",
    "}",
    "",
    NULL,
};

static void write_behind(const Export *x, Writer *w) {
    write_line(w, 2, NULL, "int32_t behind = (int32_t)%s;",
               slides(x) ? "(session->origin[b] + session->held)" : "session->capacity");
}

void write_prefill_h(Writer *w) {
    write_lines(w, header);
}

void write_places(const Export *x, Writer *w) {
    write_lines(w, place_head);
    write_behind(x, w);
    write_lines(w, place_tail);
}

void write_prefill_c(const Export *x, Writer *w) {
    write_lines(w, fill_head);
    write_behind(x, w);
    write_lines(w, fill_tail);
    write_lines(w, head);
    write_line(w, 1, NULL,
               "if (row < 0 || row >= session->rows || count < 1 || count > session->capacity)");
    write_line(w, 2, NULL, "return false;");
    write_lines(w, checks);
    write_line(w, 2, NULL, "const Chunk *chunk = fill_chunk(session, row, tokens, pos, n);");
    const char *length = slides(x) ? "room_for(session, row, pos, n)" : "pos + n";
    const char *args[] = {"session",      "n",     length, "chunk->tokens", "chunk->pos",
                          "chunk->count", "logits"};
    write_call(w, 2, "good = run_step", 7, args, ";");
    write_lines(w, tail);
}

void write_written_prefill(Writer *w) {
    write_blank(w);
    write_lines(w, head);
    write_line(w, 1, NULL, "if (row != 0 || count < 1 || count > session->capacity)");
    write_line(w, 2, NULL, "return false;");
    write_lines(w, checks);
    write_line(w, 2, NULL, "int32_t at = (int32_t)pos, length = (int32_t)n;");
    write_line(w, 2, NULL, "good = session_step(session, n, tokens + pos, &at, &length, logits);");
    write_lines(w, tail);
}

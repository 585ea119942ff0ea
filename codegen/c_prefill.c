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

static const char *const place_head[] = {
    "// Positions and counts of a chunk. A row that is left alone is placed behind all that is "
    "kept,",
    "// where nothing is written.",
    "static const Chunk *place_chunk(Session *session, const int32_t *pos, const int32_t *count) {",
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

static const char *const fill[] = {
    "// A chunk of row `row` only: `count` of the tokens, from `pos` on.",
    "static const Chunk *fill_chunk(Session *session, int64_t row, const int32_t *tokens, int64_t "
    "pos,",
    "                               int64_t count) {",
    "    const Chunk *chunk = &session->own;",
    "    size_t size = (size_t)count * sizeof *tokens;",
    "    memset(chunk->tokens, 0, (size_t)session->rows * size);",
    "    memcpy(chunk->tokens + row * count, tokens + pos, size);",
    "    for (int64_t b = 0; b < session->rows; b++) {",
    "        chunk->pos[b] = (int32_t)pos;",
    "        chunk->count[b] = b == row ? (int32_t)count : 0;",
    "    }",
    "    return chunk;",
    "}",
    "",
    NULL,
};

static const char *const prefill_head[] = {
    "bool session_prefill(Session *session, int64_t row, const int32_t *tokens, int64_t count,",
    "                     float *logits) {",
    NULL,
};

static const char *const prefill_body[] = {
    "        return false;",
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

static const char *const prefill_tail[] = {
    "    }",
    "    return good;",
    "}",
    NULL,
};

void write_prefill_h(Writer *w) {
    write_lines(w, header);
}

void write_places(const Export *x, Writer *w) {
    write_lines(w, place_head);
    write_line(w, 2, NULL, "int32_t behind = (int32_t)%s;",
               slides(x) ? "(session->origin[b] + session->held)" : "session->capacity");
    write_lines(w, place_tail);
}

void write_prefill_c(const Export *x, Writer *w) {
    static const char *const args[] = {"session",      "n",     "chunk->tokens", "chunk->pos",
                                       "chunk->count", "logits"};
    if (x->step)
        write_lines(w, fill);
    write_lines(w, prefill_head);
    write_line(w, 1, NULL, "if (row < 0 || row >= %s || count < 1 || count > session->capacity)",
               x->step ? "session->rows" : "1");
    write_lines(w, prefill_body);
    if (x->step) {
        write_line(w, 2, NULL, "const Chunk *chunk = fill_chunk(session, row, tokens, pos, n);");
        write_call(w, 2, "good = session_step", 6, args, ";");
    } else {
        write_line(w, 2, NULL, "int32_t at = (int32_t)pos, length = (int32_t)n;");
        write_line(w, 2, NULL,
                   "good = session_step(session, n, tokens + pos, &at, &length, logits);");
    }
    write_lines(w, prefill_tail);
}

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

static const char *const fill_head[] = {
    "// A chunk of row `row`: `count` of the tokens, from `pos` on. The other rows are placed "
    "behind",
    "// all that is kept, where nothing is written.",
    "static void fill_chunk(Session *session, Chunk *chunk, int64_t row, const int32_t *tokens,",
    "                       int64_t pos, int64_t count) {",
    "    size_t size = (size_t)count * sizeof *tokens;",
    "    memset(chunk->tokens, 0, (size_t)session->rows * size);",
    "    memcpy(chunk->tokens + row * count, tokens + pos, size);",
    "    for (int64_t b = 0; b < session->rows; b++) {",
    NULL,
};

static const char *const fill_tail[] = {
    "        chunk->pos[b] = (int32_t)(b == row ? pos : behind);",
    "        chunk->count[b] = b == row ? (int32_t)count : 1;",
    "    }",
    "}",
    "",
    "bool session_prefill(Session *session, int64_t row, const int32_t *tokens, int64_t count,",
    "                     float *logits) {",
    "    Chunk *chunk = &session->prompt;",
    "    if (row < 0 || row >= session->rows || count < 1 || count > session->capacity)",
    "        return false;",
    "    for (int64_t i = 0; i < count; i++) {",
    "        if (tokens[i] < 0 || tokens[i] >= MODEL_VOCAB)",
    "            return false;",
    "    }",
    "    session_clear(session, row);",
    "    bool good = true;",
    "    for (int64_t pos = 0, n; good && pos < count; pos += n) {",
    "        n = count - pos < session->chunk ? count - pos : session->chunk;",
    "        fill_chunk(session, chunk, row, tokens, pos, n);",
    NULL,
};

void write_prefill_h(Writer *w) {
    write_lines(w, header);
}

void write_prefill_c(const Export *x, Writer *w) {
    write_lines(w, fill_head);
    if (slides(x))
        write_line(w, 2, NULL, "int64_t behind = (int64_t)session->origin[b] + session->held;");
    else
        write_line(w, 2, NULL, "int64_t behind = session->capacity;");
    write_lines(w, fill_tail);
    const char *length = slides(x) ? "room_for(session, row, pos, n)" : "pos + n";
    const char *args[] = {"session",      "n",     length, "chunk->tokens", "chunk->pos",
                          "chunk->count", "logits"};
    write_call(w, 2, "good = run_step", 7, args, ";");
    write_line(w, 1, NULL, "}");
    write_line(w, 1, NULL, "return good;");
    write_line(w, 0, NULL, "}");
}

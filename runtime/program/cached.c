// Tokens from a cache: the texts are rows of a batch, each at its own position, fed in chunks.
#include "generate.h"
#include "sampler.h"
#include "threefry.h"

#include <stdlib.h>
#include <string.h>

// A batch and what its steps read and write.
typedef struct {
    Session *session;
    Text *texts;     // one a row
    int64_t rows;    // how many
    int64_t most;    // positions of a row
    int64_t chunk;   // tokens of a row in one step, at most
    int32_t *tokens; // (rows, width)
    int32_t *pos;    // (rows)
    int32_t *count;  // (rows)
    float *logits;   // (rows, MODEL_VOCAB)
    float *last;     // (rows, MODEL_VOCAB): those of each row's last token
} Batch;

static bool is_done(const Options *o, const Text *text) {
    return text->count == text->prompt + o->tokens;
}

// Where a row goes on. One that is done is fed its last token again, at its place.
static int64_t position(const Options *o, const Text *text) {
    return is_done(o, text) ? text->count - 1 : text->fed;
}

// Tokens of each row in the next step: as many as the row with the most to say has, at most a
// chunk.
static int64_t step_width(const Options *o, const Batch *b) {
    int64_t width = 1;
    for (int64_t i = 0; i < b->rows; i++) {
        int64_t left = b->texts[i].count - position(o, &b->texts[i]);
        width = left > width ? left : width;
    }
    return width < b->chunk ? width : b->chunk;
}

// Fills tokens, pos and count; returns the width.
static int64_t fill(const Options *o, Batch *b) {
    int64_t width = step_width(o, b);
    for (int64_t i = 0; i < b->rows; i++) {
        const Text *text = &b->texts[i];
        int64_t from = position(o, text), left = text->count - from;
        b->pos[i] = (int32_t)from;
        b->count[i] = (int32_t)(left < width ? left : width);
        for (int64_t c = 0; c < width; c++)
            b->tokens[i * width + c] = text->ids[from + (c < b->count[i] ? c : 0)];
    }
    return width;
}

// The token that logits give: the likeliest, or draw number `step` (from 1) of the seed.
static int32_t pick(const Options *o, const float *logits, int64_t step) {
    if (o->temperature == 0)
        return rt_argmax(logits, MODEL_VOCAB);
    RtKey key = rt_child(rt_key(o->seed), (uint32_t)step);
    int32_t id = rt_sample(logits, MODEL_VOCAB, o->temperature, key);
    return id < MODEL_VOCAB ? id : MODEL_VOCAB - 1;
}

// One step; a token for each row that has seen all of its own. Returns the rows that are not done.
static int64_t advance(const Options *o, Batch *b) {
    int64_t left = 0, width = fill(o, b);
    if (!session_step(b->session, width, b->tokens, b->pos, b->count, b->logits))
        return -1;
    for (int64_t i = 0; i < b->rows; i++) {
        Text *text = &b->texts[i];
        if (is_done(o, text))
            continue;
        text->fed += b->count[i];
        if (text->fed == text->count) {
            const float *logits = b->logits + i * MODEL_VOCAB;
            text->ids[text->count] = pick(o, logits, text->count - text->prompt + 1);
            text->count++;
            memcpy(b->last + i * MODEL_VOCAB, logits, MODEL_VOCAB * sizeof *logits);
        }
        left += !is_done(o, text);
    }
    return left;
}

static bool allocate(const Options *o, const ModelFile *file, Batch *b) {
    size_t rows = (size_t)b->rows;
    for (int64_t i = 0; i < b->rows; i++) {
        int64_t n = b->texts[i].prompt + o->tokens;
        b->most = n > b->most ? n : b->most;
    }
    b->chunk = o->chunk < b->most ? o->chunk : b->most;
    b->session = session_new(file, b->rows, b->most, b->chunk, o->threads);
    b->tokens = malloc(rows * (size_t)b->chunk * sizeof *b->tokens);
    b->pos = malloc(rows * sizeof *b->pos);
    b->count = malloc(rows * sizeof *b->count);
    b->logits = malloc(rows * MODEL_VOCAB * sizeof *b->logits);
    b->last = calloc(rows * MODEL_VOCAB, sizeof *b->last);
    return b->session && b->tokens && b->pos && b->count && b->logits && b->last;
}

static void release(Batch *b) {
    session_free(b->session);
    free(b->tokens);
    free(b->pos);
    free(b->count);
    free(b->logits);
    free(b->last);
}

static bool run_batch(const Options *o, const ModelFile *file, Batch *b, FILE *logits) {
    if (!allocate(o, file, b)) {
        fprintf(stderr, "error: there is no memory for a session\n");
        return false;
    }
    if (o->memory)
        fprintf(stderr, "cache %zu bytes, arena %zu bytes\n", session_cache_bytes(b->session),
                session_arena_bytes(b->session));
    int64_t left = o->tokens > 0 ? b->rows : 0;
    while (left > 0)
        left = advance(o, b);
    if (left < 0)
        fprintf(stderr, "error: a step failed\n");
    size_t n = (size_t)b->rows * MODEL_VOCAB;
    if (left == 0 && logits && fwrite(b->last, sizeof *b->last, n, logits) != n) {
        fprintf(stderr, "error: can't write %s\n", o->logits);
        left = -1;
    }
    return left == 0;
}

bool generate_texts(const Options *o, const ModelFile *file, Text *texts, int count, FILE *logits) {
    for (int i = 0; i < count; i += MODEL_ROWS) {
        Batch b = {.texts = texts + i, .rows = count - i};
        if (b.rows > MODEL_ROWS)
            b.rows = MODEL_ROWS;
        bool good = run_batch(o, file, &b, logits);
        release(&b);
        if (!good)
            return false;
    }
    return true;
}

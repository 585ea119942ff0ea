// Tokens from a cache: texts are rows of a batch, each at its own position, fed in chunks. A text
// that finds no row free waits until another is done.
#include "generate.h"
#include "sampler.h"
#include "threefry.h"

#include <stdlib.h>
#include <string.h>

// A batch and what its steps read and write.
typedef struct {
    Session *session;
    Text *texts;     // all of them
    int64_t waiting; // the first that has no row yet
    int64_t left;    // texts that are not done
    int64_t rows;    // how many
    Text **row;      // (rows): the text of each; NULL: none
    int64_t most;    // positions of a row
    int64_t chunk;   // tokens of a row in one step, at most
    int32_t *tokens; // (rows, width)
    int32_t *pos;    // (rows)
    int32_t *count;  // (rows)
    float *logits;   // (rows, MODEL_VOCAB)
    float *last;     // (texts, MODEL_VOCAB): those of each text's last token; NULL: not wanted
} Batch;

static bool is_done(const Options *o, const Text *text) {
    return text->count == text->prompt + o->tokens;
}

// Tokens of each row in the next step: as many as the row with the most to say has, at most a
// chunk.
static int64_t step_width(const Batch *b) {
    int64_t width = 1;
    for (int64_t i = 0; i < b->rows; i++) {
        int64_t left = b->row[i] != NULL ? b->row[i]->count - b->row[i]->fed : 1;
        width = left > width ? left : width;
    }
    return width < b->chunk ? width : b->chunk;
}

// Takes texts that are done out of their rows, for others that wait.
static void change_rows(const Options *o, Batch *b, int64_t texts) {
    for (int64_t i = 0; i < b->rows; i++) {
        if (b->row[i] == NULL || !is_done(o, b->row[i]))
            continue;
        b->row[i] = b->waiting < texts ? &b->texts[b->waiting++] : NULL;
        if (b->row[i] != NULL)
            session_clear(b->session, i);
    }
}

// Fills tokens, pos and count; returns the width. A row without a text is left alone.
static int64_t fill(Batch *b) {
    int64_t width = step_width(b);
    for (int64_t i = 0; i < b->rows; i++) {
        const Text *text = b->row[i];
        int64_t from = text != NULL ? text->fed : 0;
        int64_t left = text != NULL ? text->count - from : 0;
        b->pos[i] = (int32_t)from;
        b->count[i] = (int32_t)(left < width ? left : width);
        for (int64_t c = 0; c < width; c++)
            b->tokens[i * width + c] = c < left ? text->ids[from + c] : 0;
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

// One step; a token for each row that has seen all of its own. False if the step failed.
static bool advance(const Options *o, Batch *b, int64_t texts) {
    change_rows(o, b, texts);
    int64_t width = fill(b);
    if (!session_step(b->session, width, b->tokens, b->pos, b->count, b->logits))
        return false;
    for (int64_t i = 0; i < b->rows; i++) {
        Text *text = b->row[i];
        const float *logits = b->logits + i * MODEL_VOCAB;
        if (text == NULL)
            continue;
        text->fed += b->count[i];
        if (text->fed < text->count)
            continue;
        text->ids[text->count] = pick(o, logits, text->count - text->prompt + 1);
        text->count++;
        b->left -= is_done(o, text);
        if (b->last != NULL)
            memcpy(b->last + (text - b->texts) * MODEL_VOCAB, logits, MODEL_VOCAB * sizeof *logits);
    }
    return true;
}

static bool allocate(const Options *o, const ModelFile *file, Batch *b, int64_t texts) {
    size_t rows = (size_t)b->rows;
    for (int64_t i = 0; i < texts; i++) {
        int64_t n = b->texts[i].prompt + o->tokens;
        b->most = n > b->most ? n : b->most;
    }
    b->chunk = o->chunk < b->most ? o->chunk : b->most;
    b->session = session_new(file, b->rows, b->most, b->chunk, o->threads);
    b->row = malloc(rows * sizeof *b->row);
    b->tokens = malloc(rows * (size_t)b->chunk * sizeof *b->tokens);
    b->pos = malloc(rows * sizeof *b->pos);
    b->count = malloc(rows * sizeof *b->count);
    b->logits = malloc(rows * MODEL_VOCAB * sizeof *b->logits);
    return b->session && b->row && b->tokens && b->pos && b->count && b->logits;
}

static void release(Batch *b) {
    session_free(b->session);
    free(b->row);
    free(b->tokens);
    free(b->pos);
    free(b->count);
    free(b->logits);
}

static bool run_batch(const Options *o, const ModelFile *file, Batch *b, int64_t texts) {
    if (!allocate(o, file, b, texts)) {
        fprintf(stderr, "error: there is no memory for a session\n");
        return false;
    }
    if (o->memory)
        fprintf(stderr, "cache %zu bytes, arena %zu bytes\n", session_cache_bytes(b->session),
                session_arena_bytes(b->session));
    b->left = o->tokens > 0 ? texts : 0;
    for (; b->waiting < b->rows; b->waiting++)
        b->row[b->waiting] = &b->texts[b->waiting];
    while (b->left > 0) {
        if (!advance(o, b, texts)) {
            fprintf(stderr, "error: a step failed\n");
            return false;
        }
    }
    return true;
}

bool generate_texts(const Options *o, const ModelFile *file, Text *texts, int count, float *last) {
    Batch b = {.texts = texts, .rows = count < MODEL_ROWS ? count : MODEL_ROWS, .last = last};
    bool good = run_batch(o, file, &b, count);
    release(&b);
    return good;
}

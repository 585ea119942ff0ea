// Serving with the derived step: rows of a batch, each at its own position, fed in chunks.
#pragma once
#include "cli/model.h"
#include "runtime/threefry.h"

// One sequence: a prompt and what is generated after it. Set tokens, prompt, length, most, key and
// temperature; the others begin as 0.
typedef struct {
    int32_t *tokens;   // prompt, then generated; room for `most`
    int64_t prompt;    // how many of them are the prompt
    int64_t length;    // how many there are
    int64_t most;      // prompt + tokens asked for
    int64_t fed;       // how many the model has seen: its position
    RtKey key;         // of the seed; token i draws with rt_child(key, i)
    float temperature; // 0: the likeliest
    int32_t top_k;     // 0: no such filter
    float top_p;       // 0 or 1: no such filter
    bool done;         // nothing more is wanted
    float *logits;     // [vocab] or NULL: takes those of the last token, before the filters
} Sequence;

typedef struct {
    Model *m;
    RtPool *pool;
    Interp *it;
    InterpBlock *self;
    int64_t rows;     // of the batch
    int64_t capacity; // positions that a state holds: where they slide, less than a text's
    int64_t chunk;    // most tokens of a row at a time
    Tensor *args;     // of the step: tokens, pos, count, if they slide origin, then the states
    Tensor *states;   // one for each kept value; the memory is the engine's
    int32_t *batch;   // [rows, chunk]
    int32_t *pos, *count;
    int32_t *origin; // position that a row's states begin at: above 0 where they slide
    bool *used;      // by row: its states were written
    float *logits;   // [vocab], a row widened
    int32_t *order;  // [vocab], scratch of the filters
} Engine;

// Prepares `rows` rows for sequences of up to `length` tokens, read at most `chunk` at a time;
// m->step is there. False after a diagnostic.
bool engine_start(Engine *e, Model *m, int64_t rows, int64_t length, int64_t chunk, int threads);

// Feeds the sequence of each of the engine's rows, unless it is done, its next tokens, at most a
// chunk, and appends a token to those that have been fed all of their own. A row may be given
// another sequence between two steps, one that has been fed nothing: then the row starts anew.
// False after a diagnostic.
bool engine_step(Engine *e, Sequence *const *rows);
void engine_end(Engine *e);

// The next token of a sequence by logits[vocab], which the filters change: the likeliest, or the
// draw that its key and the token's number give. order[vocab] is scratch.
int32_t pick_token(const Sequence *s, float *logits, int64_t vocab, int32_t *order);

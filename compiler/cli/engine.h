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
    const char *from;  // where it was given, for messages: "FILE, line 3"; or NULL
    float *logits;     // [vocab] or NULL: takes those of the last token, before the filters
} Sequence;

// Bytes that are asked for before the first token.
typedef struct {
    int64_t cache;   // states
    int64_t arena;   // values of a step
    int64_t scratch; // working memory of one comprehension on all threads
    int threads;     // how many these are
} EngineMemory;

typedef struct {
    Model *m;
    RtPool *pool;
    Interp *it, *planned; // the second ran dry: `layouts` are its
    InterpBlock *self;
    int64_t rows;     // of the batch
    int64_t capacity; // positions that a state holds: where they slide, less than a text's
    int64_t chunk;    // most tokens of a row at a time
    EngineMemory memory;
    const InterpLayout *layouts[2]; // of a step of `chunk` tokens, and of one token
    Tensor *args;         // of the step: tokens, pos, count, if they slide origin, then the states
    Tensor *states;       // one for each kept value; the memory is the engine's
    int64_t *state_bytes; // of each
    int32_t *batch;       // [rows, chunk]
    int32_t *pos, *count;
    int32_t *origin; // position that a row's states begin at: above 0 where they slide
    bool *used;      // by row: its states were written
    float *logits;   // [vocab], a row widened
    int32_t *order;  // [vocab], scratch of the filters
} Engine;

// The memory of a session for sequences of up to `length` tokens, read at most `chunk` at a time,
// in e->memory: m->step, which is there, is run dry, at its longest and for one token. No weight is
// read, nor need be there. False after a diagnostic. engine_end in any case.
bool engine_plan(Engine *e, Model *m, int64_t rows, int64_t length, int64_t chunk, int threads);

// Prepares the same. False after a diagnostic.
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

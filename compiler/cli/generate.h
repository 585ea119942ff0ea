// Generation: one or several prompts, with the derived step, or with the whole context at each
// token.
#pragma once
#include "cli/engine.h"

typedef struct {
    int64_t chunk; // most tokens of a row at a time while a prompt is read; 0: 128 of them, or by a
                   // hand-written `prefill` the whole prompt
    int threads;   // 0: one for each processor
    int64_t rows;  // sequences at once, with the step; 0: model_max_rows
    bool whole;    // the whole context at each token, though a step is there
    bool logits;   // with `whole`: by the logits that the step was derived from; m->step is there
    bool memory;   // prints to stderr what was planned and what was used
} GenerateOptions;

// Called for each token of a sequence; false ends it.
typedef bool OnToken(void *ctx, int64_t sequence, int32_t id);

// Parses "1 2 3". NULL after a message to stderr (EXIT_USAGE); *count is at least 1.
int32_t *parse_ids(Arena *a, const char *text, int64_t *count);

// A sequence of the prompt with room for `tokens` more.
Sequence sequence_new(Arena *a, const int32_t *prompt, int64_t count, int64_t tokens, uint64_t seed,
                      float temperature);

// Checks prompts and room (E7001, E7002, E7003) and generates all of them. With the step they form
// one batch, each with a position and a key of its own; those that have no row wait until another
// is done. False after a diagnostic.
bool generate(Model *m, Sequence *rows, int64_t count, const GenerateOptions *o, OnToken *on_token,
              void *ctx);

// Positions that the longest row will have.
int64_t longest(const Sequence *rows, int64_t count);

// The same by the model's own `prefill` and `decode` (m->decode is there), row after row.
bool generate_written(Model *m, Sequence *rows, int64_t count, const GenerateOptions *o,
                      OnToken *on_token, void *ctx);

// Prints what was planned, what of it a run has used, and the greatest resident size so far.
// `states` bytes of the interpreter's arena are the planned cache.
void tell_memory(const EngineMemory *planned, const Interp *it, int64_t states);

// The memory that `generate` takes for `rows` rows of `context` positions, whatever their prompts
// are. No weight is read. False after a diagnostic.
bool generate_plan(Model *m, int64_t rows, int64_t context, int64_t chunk, int threads,
                   EngineMemory *memory);

// The same with a hand-written cache.
bool written_plan(Model *m, int64_t context, int64_t chunk, int threads, EngineMemory *memory);

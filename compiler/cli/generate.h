// Generation with the interpreter: token after token from a prompt, the whole context each time.
#pragma once
#include "cli/model.h"
#include "runtime/threefry.h"

typedef struct {
    Model *m;
    RtPool *pool;
    Interp *it;
    InterpBlock *self;
    int32_t *context;  // prompt and what was generated
    int64_t length;    // how many of them
    int64_t step;      // tokens generated
    RtKey key;         // of the seed
    float temperature; // 0: greedy
} Generator;

// Parses "1 2 3". NULL after a message to stderr (EXIT_USAGE); *count is at least 1.
int32_t *parse_ids(Arena *a, const char *text, int64_t *count);

// Checks prompt and room (E7001, E7002, E7003), prepares the weights. False after a diagnostic.
bool generator_start(Generator *g, Model *m, const int32_t *prompt, int64_t count, int64_t tokens,
                     uint64_t seed, float temperature, int threads);

// The next token. False after a diagnostic.
bool generator_next(Generator *g, int32_t *id);
void generator_end(Generator *g);

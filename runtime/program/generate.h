// The program's parts: its command line, its texts, and what makes tokens.
#ifndef GENERATE_H
#define GENERATE_H

#include "model.h"

#include <stdio.h>

typedef struct {
    const char **prompts; // texts of token ids
    int prompt_count;     // how many
    int64_t tokens;       // to generate for each
    float temperature;    // 0: always the likeliest token
    uint64_t seed;        // of the draws
    const char *weights;  // file; NULL: weights.bin beside the program
    const char *logits;   // file for the logits that the last tokens were drawn from; or NULL
    int64_t chunk;        // tokens of a prompt read at a time
    int threads;          // 0: one for each processor
    bool json;            // an object instead of ids
    bool memory;          // sizes to stderr
} Options;

// Reads the command line. -1: go on; else the exit code.
int parse_options(Options *o, int argc, char **argv);

// A decimal integer in a range.
bool parse_int(const char *text, int64_t least, int64_t most, int64_t *value);

typedef struct {
    int32_t *ids;   // prompt, then what was generated
    int64_t prompt; // tokens of the prompt
    int64_t count;  // all
    int64_t fed;    // those that the session has seen
} Text;

// Generates o->tokens tokens after each text. Where last is not NULL, it gets the logits that each
// text's last token was drawn from: (count, MODEL_VOCAB). False after a message.
bool generate_texts(const Options *o, const ModelFile *file, Text *texts, int count, float *last);

#endif

// What a tokenizer is made of, for the readers that build one.

#ifndef RUNTIME_TOKENIZER_PARTS_H
#define RUNTIME_TOKENIZER_PARTS_H

#include "runtime/added.h"
#include "runtime/bpe.h"
#include "runtime/split.h"
#include "runtime/tokenizer.h"

enum { RT_TOKENIZER_AFFIX = 8, RT_TOKENIZER_ENDS = 32 };

struct RtTokenizer {
    RtBpe bpe;                          // vocabulary and merges
    RtAddedSet raw;                     // added tokens searched in the text as it is
    RtAddedSet normal;                  // added tokens searched in the normalised text
    RtSplit split;                      // the splitting rule
    bool nfc;                           // text is brought to normal form C first
    bool space_first;                   // text gets a space before it unless it has one
    int32_t before[RT_TOKENIZER_AFFIX]; // tokens before a prompt
    size_t before_count;                // how many
    int32_t after[RT_TOKENIZER_AFFIX];  // tokens after a prompt
    size_t after_count;                 // how many
    int32_t ends[RT_TOKENIZER_ENDS];    // tokens that end an answer
    size_t end_count;                   // how many
};

// An empty tokenizer; NULL with *err set: out of memory.
RtTokenizer *rt_tokenizer_new(RtError *err);

// Registers a token of the vocabulary as an added token. normalized: it is searched in the
// normalised text.
bool rt_tokenizer_added(RtTokenizer *tokenizer, const char *text, size_t size, bool normalized,
                        RtAdded like, RtError *err);

// Ends the building: checks the vocabulary and sorts the added tokens.
bool rt_tokenizer_seal(RtTokenizer *tokenizer, RtError *err);

// The text in Unicode's normal form C, new (free it), or NULL with *err set: a run of combining
// marks no honest text has, or out of memory.
char *rt_tokenizer_nfc(const char *text, size_t size, size_t *out_size, RtError *err);

#endif

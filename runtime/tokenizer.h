// Text to token ids and back, with the model's own byte-level BPE tokenizer.
//
// The tokenizer is read from a tokenizer.json (Hugging Face) or from a GGUF file's metadata. What
// such a file asks for is done as it says or refused by name; nothing is ignored. Text is UTF-8.
// A tokenizer is not changed by encoding and decoding, so threads may share it.

#ifndef RUNTIME_TOKENIZER_H
#define RUNTIME_TOKENIZER_H

#include "runtime/error.h"
#include "runtime/gguf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RT_TOKENIZER_MAX_TEXT = 1 << 26 }; // bytes of one text to encode

typedef struct RtTokenizer RtTokenizer;

// Reads a tokenizer.json lying in memory (not kept). `where` names it in messages. NULL with *err
// set: wrong, or with something that is not carried. Free with rt_tokenizer_free.
RtTokenizer *rt_tokenizer_from_json(const char *text, size_t size, const char *where, RtError *err);

// The same from the file at `path`.
RtTokenizer *rt_tokenizer_read(const char *path, RtError *err);

// Reads the tokenizer.ggml.* keys (gguf is not kept). End tokens are its eos, eot and eom.
RtTokenizer *rt_tokenizer_from_gguf(const RtGguf *gguf, RtError *err);
void rt_tokenizer_free(RtTokenizer *tokenizer); // NULL is allowed

// How many ids there are: 0 .. vocab - 1. A model's table may have more rows than that.
size_t rt_tokenizer_vocab(const RtTokenizer *tokenizer);

// The id of the token whose name is `name` as the file spells it ("<|im_end|>"), or -1.
int32_t rt_tokenizer_find(const RtTokenizer *tokenizer, const char *name);

// The bytes of a token (they may be part of a UTF-8 character); they live as long as the
// tokenizer. False: no such id.
bool rt_tokenizer_piece(const RtTokenizer *tokenizer, int32_t id, const char **bytes, size_t *size);

// A control token marks structure; it is not part of the text a user sees.
bool rt_tokenizer_control(const RtTokenizer *tokenizer, int32_t id);

// The tokens that end an answer. Adding: false if there is no such id, or more than 32.
bool rt_tokenizer_add_end(RtTokenizer *tokenizer, int32_t id);
bool rt_tokenizer_is_end(const RtTokenizer *tokenizer, int32_t id);

// The tokens the model wants before (after) a text, such as its begin-of-text token; returns how
// many (at most 8), *ids is the tokenizer's own.
size_t rt_tokenizer_before(const RtTokenizer *tokenizer, const int32_t **ids);
size_t rt_tokenizer_after(const RtTokenizer *tokenizer, const int32_t **ids);

// Frees what only encoding needs, more than half of the memory: from now on texts are refused, and
// ids decoded as before.
void rt_tokenizer_end_encoding(RtTokenizer *tokenizer);

// Bytes of the vocabulary that are left then.
uint64_t rt_tokenizer_bytes(const RtTokenizer *tokenizer);

// Encodes text alone. control: the names of control tokens in the text become those tokens; where
// false (text from a user) they are spelt out. *ids is new (free it; NULL where *count is 0).
// False with *err set: not UTF-8, too long, a byte without a token, a splitting rule that gives up.
bool rt_tokenizer_encode(const RtTokenizer *tokenizer, const char *text, size_t size, bool control,
                         int32_t **ids, size_t *count, RtError *err);

// Encodes a whole prompt: the same with the tokens that go before and after it, unless the text
// has them already (a chat template often writes them).
bool rt_tokenizer_prompt(const RtTokenizer *tokenizer, const char *text, size_t size, bool control,
                         int32_t **ids, size_t *count, RtError *err);

// Decodes ids to UTF-8. control: control tokens are written out by name, else left out. Bytes that
// are no UTF-8 become U+FFFD. *text is new and NUL-terminated (free it). False: an id is unknown.
bool rt_tokenizer_decode(const RtTokenizer *tokenizer, const int32_t *ids, size_t count,
                         bool control, char **text, size_t *size, RtError *err);

// Decoding as the ids come: text is handed out as soon as its characters are whole.
typedef struct {
    const RtTokenizer *tokenizer; // whose ids
    bool control;                 // write control tokens out by name
    char held[4];                 // the beginning of a character
    size_t held_size;             // its bytes, 0..3
    char *text;                   // the text last handed out
    size_t room;                  // allocated
} RtStream;

void rt_stream_start(RtStream *stream, const RtTokenizer *tokenizer, bool control);
void rt_stream_free(RtStream *stream);

// Takes one id. *text is well-formed UTF-8 of *size bytes (0: nothing yet), valid until the next
// call. False with *err set: an unknown id, or out of memory.
bool rt_stream_feed(RtStream *stream, int32_t id, const char **text, size_t *size, RtError *err);

// Ends the stream: what is held, as U+FFFD. The stream may be fed again after that.
bool rt_stream_end(RtStream *stream, const char **text, size_t *size, RtError *err);

#endif

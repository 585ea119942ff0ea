// Encoding: added tokens are found first, what lies between is normalised, split and merged.
//
// The order is Hugging Face's: added tokens of the raw text, normal form, added tokens of the
// normalised text, splitting rule, byte pair encoding of each word.

#include "runtime/tokenizer_parts.h"

#include "runtime/utf8.h"

#include <utf8proc.h>

#include <stdlib.h>
#include <string.h>

enum { MAX_MARKS = 1024 }; // combining marks in a row: sorting them takes the square of it

typedef struct {
    const RtTokenizer *tokenizer; // the rules
    bool control;                 // names of control tokens in the text count
    RtSpans words;                // of the stretch being encoded
    RtBpeScratch *scratch;        // of the word being encoded
    RtIds ids;                    // the result
    RtError *err;                 // where the reason of a failure goes
} Encoding;

RtTokenizer *rt_tokenizer_new(RtError *err) {
    RtTokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    if (!tokenizer) {
        rt_fail(err, "out of memory for a tokenizer");
        return NULL;
    }
    rt_bpe_init(&tokenizer->bpe);
    return tokenizer;
}

void rt_tokenizer_free(RtTokenizer *tokenizer) {
    if (!tokenizer)
        return;
    rt_bpe_free(&tokenizer->bpe);
    rt_added_free(&tokenizer->raw);
    rt_added_free(&tokenizer->normal);
    rt_split_free(&tokenizer->split);
    free(tokenizer);
}

void rt_tokenizer_end_encoding(RtTokenizer *tokenizer) {
    rt_bpe_end_encoding(&tokenizer->bpe);
    rt_split_free(&tokenizer->split);
}

uint64_t rt_tokenizer_bytes(const RtTokenizer *tokenizer) {
    const RtBpe *bpe = &tokenizer->bpe;
    return (uint64_t)bpe->room * sizeof *bpe->pieces + bpe->names_size + 1;
}

char *rt_tokenizer_nfc(const char *text, size_t size, size_t *out_size, RtError *err) {
    utf8proc_uint8_t *out = NULL;
    size_t marks = 0;
    for (size_t at = 0; at < size;) {
        utf8proc_int32_t character;
        utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)text + at,
                                                 (utf8proc_ssize_t)(size - at), &character);
        if (used <= 0) {
            rt_fail(err, "the text is not UTF-8 at byte %zu", at);
            return NULL;
        }
        marks = utf8proc_get_property(character)->combining_class ? marks + 1 : 0;
        if (marks > MAX_MARKS) {
            rt_fail(err, "the text has more than %d combining marks in a row at byte %zu",
                    MAX_MARKS, at);
            return NULL;
        }
        at += (size_t)used;
    }
    utf8proc_ssize_t length = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)size,
                                           &out, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (length < 0) {
        free(out);
        rt_fail(err, "the text cannot be normalised: %s", utf8proc_errmsg(length));
        return NULL;
    }
    *out_size = (size_t)length;
    return (char *)out;
}

bool rt_tokenizer_added(RtTokenizer *tokenizer, const char *text, size_t size, bool normalized,
                        RtAdded like, RtError *err) {
    if (!normalized)
        return rt_added_put(&tokenizer->raw, text, size, like, err);
    if (!tokenizer->nfc)
        return rt_added_put(&tokenizer->normal, text, size, like, err);
    size_t normal_size;
    char *normal = rt_tokenizer_nfc(text, size, &normal_size, err);
    bool ok = normal && rt_added_put(&tokenizer->normal, normal, normal_size, like, err);
    free(normal);
    return ok;
}

bool rt_tokenizer_seal(RtTokenizer *tokenizer, RtError *err) {
    return rt_bpe_seal(&tokenizer->bpe, err) && rt_added_seal(&tokenizer->raw, err) &&
           rt_added_seal(&tokenizer->normal, err);
}

static bool encode_words(Encoding *e, const char *text, size_t size) {
    if (!rt_split_run(&e->tokenizer->split, text, size, &e->words, e->err))
        return false;
    for (size_t i = 0; i < e->words.count; i++)
        if (!rt_bpe_word(&e->tokenizer->bpe, text + e->words.items[i].at, e->words.items[i].size,
                         e->scratch, &e->ids, e->err))
            return false;
    return true;
}

// A stretch of normalised text without added tokens.
static bool encode_stretch(Encoding *e, const char *text, size_t size) {
    if (size == 0)
        return true;
    if (!e->tokenizer->space_first || text[0] == ' ')
        return encode_words(e, text, size);
    char *spaced = malloc(size + 1);
    if (!spaced)
        return rt_fail(e->err, "out of memory for a text of %zu bytes", size);
    spaced[0] = ' ';
    memcpy(spaced + 1, text, size);
    bool ok = encode_words(e, spaced, size + 1);
    free(spaced);
    return ok;
}

// Finds the added tokens of one set in the text and gives what lies between to `rest`.
static bool find_added(Encoding *e, const RtAddedSet *set, const char *text, size_t size,
                       bool (*rest)(Encoding *, const char *, size_t)) {
    for (size_t at = 0; at < size;) {
        RtAddedMatch match = rt_added_next(set, text, size, at, e->control);
        if (!rest(e, text + at, match.at - at))
            return false;
        if (match.token && !rt_ids_push(&e->ids, match.token->id, e->err))
            return false;
        at = match.end;
    }
    return true;
}

// A stretch of raw text without the added tokens of raw text.
static bool encode_raw(Encoding *e, const char *text, size_t size) {
    if (size == 0)
        return true;
    if (!e->tokenizer->nfc)
        return find_added(e, &e->tokenizer->normal, text, size, encode_stretch);
    size_t normal_size;
    char *normal = rt_tokenizer_nfc(text, size, &normal_size, e->err);
    bool ok = normal && find_added(e, &e->tokenizer->normal, normal, normal_size, encode_stretch);
    free(normal);
    return ok;
}

static bool check_text(const char *text, size_t size, RtError *err) {
    if (size > RT_TOKENIZER_MAX_TEXT)
        return rt_fail(err, "the text has %zu bytes; at most %d can be encoded at once", size,
                       RT_TOKENIZER_MAX_TEXT);
    for (size_t at = 0; at < size;) {
        size_t used = rt_utf8_length(text + at, size - at);
        if (used == 0)
            return rt_fail(err, "the text is not UTF-8 at byte %zu (0x%02X)", at,
                           (unsigned)(unsigned char)text[at]);
        at += used;
    }
    return true;
}

bool rt_tokenizer_encode(const RtTokenizer *tokenizer, const char *text, size_t size, bool control,
                         int32_t **ids, size_t *count, RtError *err) {
    *ids = NULL;
    *count = 0;
    if (!tokenizer->bpe.by_name)
        return rt_fail(err, "the tokenizer is kept for decoding alone");
    if (!check_text(text, size, err))
        return false;
    Encoding e = {.tokenizer = tokenizer, .control = control, .err = err};
    e.scratch = rt_bpe_scratch_new();
    bool ok = e.scratch ? find_added(&e, &tokenizer->raw, text, size, encode_raw)
                        : rt_fail(err, "out of memory for encoding");
    rt_bpe_scratch_free(e.scratch);
    free(e.words.items);
    if (!ok) {
        free(e.ids.items);
        return false;
    }
    *ids = e.ids.items;
    *count = e.ids.count;
    return true;
}

// How many of `wanted` must still go before the ids: 0 where they begin with them.
static size_t missing(const int32_t *wanted, size_t wanted_count, const int32_t *ids,
                      size_t count) {
    if (wanted_count == 0 || wanted_count > count)
        return wanted_count;
    return memcmp(wanted, ids, wanted_count * sizeof *ids) == 0 ? 0 : wanted_count;
}

bool rt_tokenizer_prompt(const RtTokenizer *tokenizer, const char *text, size_t size, bool control,
                         int32_t **ids, size_t *count, RtError *err) {
    if (!rt_tokenizer_encode(tokenizer, text, size, control, ids, count, err))
        return false;
    size_t n = *count, after = tokenizer->after_count;
    size_t before = missing(tokenizer->before, tokenizer->before_count, *ids, n);
    if (after > 0 && after <= n)
        after = missing(tokenizer->after, after, *ids + (n - after), after);
    if (before + after == 0)
        return true;
    int32_t *all = malloc((before + n + after) * sizeof *all);
    if (!all) {
        free(*ids);
        *ids = NULL;
        *count = 0;
        return rt_fail(err, "out of memory for %zu tokens", n);
    }
    memcpy(all, tokenizer->before, before * sizeof *all);
    if (n > 0)
        memcpy(all + before, *ids, n * sizeof *all);
    memcpy(all + before + n, tokenizer->after, after * sizeof *all);
    free(*ids);
    *ids = all;
    *count = before + n + after;
    return true;
}

size_t rt_tokenizer_vocab(const RtTokenizer *tokenizer) {
    return tokenizer->bpe.count;
}

int32_t rt_tokenizer_find(const RtTokenizer *tokenizer, const char *name) {
    return rt_bpe_find(&tokenizer->bpe, name, strlen(name));
}

bool rt_tokenizer_piece(const RtTokenizer *tokenizer, int32_t id, const char **bytes,
                        size_t *size) {
    if (id < 0 || (size_t)id >= tokenizer->bpe.count)
        return false;
    const RtPiece *piece = &tokenizer->bpe.pieces[id];
    *bytes = tokenizer->bpe.texts + piece->text;
    *size = piece->text_size;
    return true;
}

bool rt_tokenizer_control(const RtTokenizer *tokenizer, int32_t id) {
    return id >= 0 && (size_t)id < tokenizer->bpe.count &&
           tokenizer->bpe.pieces[id].kind == RT_PIECE_CONTROL;
}

bool rt_tokenizer_is_end(const RtTokenizer *tokenizer, int32_t id) {
    for (size_t i = 0; i < tokenizer->end_count; i++)
        if (tokenizer->ends[i] == id)
            return true;
    return false;
}

bool rt_tokenizer_add_end(RtTokenizer *tokenizer, int32_t id) {
    if (rt_tokenizer_is_end(tokenizer, id))
        return true;
    if (id < 0 || (size_t)id >= tokenizer->bpe.count || tokenizer->end_count >= RT_TOKENIZER_ENDS)
        return false;
    tokenizer->ends[tokenizer->end_count++] = id;
    return true;
}

size_t rt_tokenizer_before(const RtTokenizer *tokenizer, const int32_t **ids) {
    *ids = tokenizer->before;
    return tokenizer->before_count;
}

size_t rt_tokenizer_after(const RtTokenizer *tokenizer, const int32_t **ids) {
    *ids = tokenizer->after;
    return tokenizer->after_count;
}

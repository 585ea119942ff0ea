// Decoding: bytes of pieces to whole UTF-8 characters, as they come.
//
// Pieces are bytes, so a character may be spread over several. What could still become a
// character (at most three bytes) is held; bytes that cannot are replaced by U+FFFD, one for each
// longest beginning of a character, as the Unicode standard recommends.

#include "runtime/tokenizer.h"

#include <stdlib.h>
#include <string.h>

typedef enum {
    WHOLE, // a character
    BEGUN, // the beginning of one, to the end of the bytes
    WRONG  // neither: to be replaced
} Part;

// What bytes[0 .. size), size > 0, starts with, and how many bytes that takes.
static Part look(const unsigned char *bytes, size_t size, size_t *used) {
    unsigned first = bytes[0];
    size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    *used = 1;
    if ((first >= 0x80 && first < 0xC2) || first > 0xF4)
        return WRONG;
    for (; *used < length; ++*used) {
        if (*used == size)
            return BEGUN;
        if (bytes[*used] < low || bytes[*used] > high)
            return WRONG;
        low = 0x80;
        high = 0xBF;
    }
    return WHOLE;
}

void rt_stream_start(RtStream *stream, const RtTokenizer *tokenizer, bool control) {
    *stream = (RtStream){.tokenizer = tokenizer, .control = control};
}

void rt_stream_free(RtStream *stream) {
    free(stream->text);
    stream->text = NULL;
    stream->room = 0;
}

static bool make_room(RtStream *stream, size_t need, RtError *err) {
    if (need <= stream->room)
        return true;
    char *text = realloc(stream->text, 2 * need);
    if (!text)
        return rt_fail(err, "out of memory for decoded text");
    stream->text = text;
    stream->room = 2 * need;
    return true;
}

static size_t put(char *out, const void *bytes, size_t size) {
    memcpy(out, bytes, size);
    return size;
}

// Whole characters of what is held and `bytes` go to stream->text; returns their size.
static size_t whole_characters(RtStream *stream, const char *bytes, size_t size) {
    unsigned char joined[8]; // what is held and the bytes that may end it
    size_t written = 0, at = 0, used;
    if (stream->held_size > 0) {
        size_t more = size - at < 3 ? size - at : 3;
        memcpy(joined, stream->held, stream->held_size);
        if (more > 0)
            memcpy(joined + stream->held_size, bytes + at, more);
        Part part = look(joined, stream->held_size + more, &used);
        if (part == BEGUN) { // more < 3, so all of bytes is in it
            memcpy(stream->held, joined, used);
            stream->held_size = used;
            return written;
        }
        written += part == WHOLE ? put(stream->text + written, joined, used)
                                 : put(stream->text + written, "\xEF\xBF\xBD", 3);
        at += used - stream->held_size; // what is held begins a character, so used covers it
        stream->held_size = 0;
    }
    for (; at < size; at += used) {
        Part part = look((const unsigned char *)bytes + at, size - at, &used);
        if (part == BEGUN) {
            stream->held_size = put(stream->held, bytes + at, used);
            break;
        }
        written += part == WHOLE ? put(stream->text + written, bytes + at, used)
                                 : put(stream->text + written, "\xEF\xBF\xBD", 3);
    }
    return written;
}

bool rt_stream_feed(RtStream *stream, int32_t id, const char **text, size_t *size, RtError *err) {
    const char *bytes;
    size_t count;
    *text = "";
    *size = 0;
    if (!rt_tokenizer_piece(stream->tokenizer, id, &bytes, &count))
        return rt_fail(err, "token id %d is outside the tokenizer's vocabulary of %zu", (int)id,
                       rt_tokenizer_vocab(stream->tokenizer));
    if (!stream->control && rt_tokenizer_control(stream->tokenizer, id))
        return true;
    if (!make_room(stream, 3 * (count + 4), err))
        return false;
    *size = whole_characters(stream, bytes, count);
    *text = stream->text;
    return true;
}

bool rt_stream_end(RtStream *stream, const char **text, size_t *size, RtError *err) {
    *text = "";
    *size = 0;
    if (stream->held_size == 0)
        return true;
    if (!make_room(stream, 4, err))
        return false;
    stream->held_size = 0;
    *size = put(stream->text, "\xEF\xBF\xBD", 3);
    *text = stream->text;
    return true;
}

static bool append(char **text, size_t *size, size_t *room, const char *more, size_t count,
                   RtError *err) {
    if (*room - *size <= count) {
        size_t bigger = 2 * (*size + count) + 64;
        char *grown = realloc(*text, bigger);
        if (!grown)
            return rt_fail(err, "out of memory for decoded text");
        *text = grown;
        *room = bigger;
    }
    memcpy(*text + *size, more, count);
    *size += count;
    (*text)[*size] = '\0';
    return true;
}

bool rt_tokenizer_decode(const RtTokenizer *tokenizer, const int32_t *ids, size_t count,
                         bool control, char **text, size_t *size, RtError *err) {
    const char *piece;
    size_t piece_size, room = 0;
    RtStream stream;
    *text = NULL;
    *size = 0;
    rt_stream_start(&stream, tokenizer, control);
    bool ok = append(text, size, &room, "", 0, err);
    for (size_t i = 0; ok && i < count; i++)
        ok = rt_stream_feed(&stream, ids[i], &piece, &piece_size, err) &&
             append(text, size, &room, piece, piece_size, err);
    ok = ok && rt_stream_end(&stream, &piece, &piece_size, err) &&
         append(text, size, &room, piece, piece_size, err);
    rt_stream_free(&stream);
    if (!ok) {
        free(*text);
        *text = NULL;
        *size = 0;
    }
    return ok;
}

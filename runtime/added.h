// Added tokens: texts that are one token wherever they stand, found before anything is split.
//
// At each place the longest one wins. The set is a sorted array, searched a byte at a time like a
// tree, so the time is bounded by the text's length times the longest token's.

#ifndef RUNTIME_ADDED_H
#define RUNTIME_ADDED_H

#include "runtime/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RT_ADDED_MAX_TEXT = 512 }; // bytes of one added token

typedef struct {
    char *text;   // what is searched for; owned
    size_t size;  // its bytes, never 0
    int32_t id;   // the token
    bool control; // matched only where the caller asks for control tokens
    bool lstrip;  // takes the white space before it
    bool rstrip;  // takes the white space after it
} RtAdded;

typedef struct {
    RtAdded *items;      // sorted by text once sealed
    size_t count;        // used
    size_t room;         // allocated
    uint32_t first[257]; // items that start with byte b: first[b] .. first[b + 1]
} RtAddedSet;

typedef struct {
    size_t at;            // first byte taken, white space included
    size_t end;           // one past the last
    const RtAdded *token; // NULL: no further token, at = end = the text's size
} RtAddedMatch;

// Adds one (its text is copied; the flags of `like` are taken). False: empty, too long, no memory.
bool rt_added_put(RtAddedSet *set, const char *text, size_t size, RtAdded like, RtError *err);

// Sorts the set; false: a text is there twice.
bool rt_added_seal(RtAddedSet *set, RtError *err);
void rt_added_free(RtAddedSet *set);

// The first token that starts at or after `from`. A control token's text is passed over as plain
// text unless `control`.
RtAddedMatch rt_added_next(const RtAddedSet *set, const char *text, size_t size, size_t from,
                           bool control);

#endif

// Added tokens: a sorted array searched like a tree.

#include "runtime/added.h"

#include <stdlib.h>
#include <string.h>

bool rt_added_put(RtAddedSet *set, const char *text, size_t size, RtAdded like, RtError *err) {
    if (size == 0 || size > RT_ADDED_MAX_TEXT)
        return rt_fail(err, "the added token of id %d has %zu bytes; 1 to %d are possible",
                       (int)like.id, size, RT_ADDED_MAX_TEXT);
    if (set->count == set->room) {
        size_t room = set->room ? 2 * set->room : 32;
        RtAdded *items = realloc(set->items, room * sizeof *items);
        if (!items)
            return rt_fail(err, "out of memory for added tokens");
        set->items = items;
        set->room = room;
    }
    like.text = malloc(size);
    if (!like.text)
        return rt_fail(err, "out of memory for added tokens");
    memcpy(like.text, text, size);
    like.size = size;
    set->items[set->count++] = like;
    return true;
}

static int compare(const void *a, const void *b) {
    const RtAdded *one = a, *two = b;
    size_t size = one->size < two->size ? one->size : two->size;
    int order = memcmp(one->text, two->text, size);
    if (order != 0)
        return order;
    return (one->size > two->size) - (one->size < two->size);
}

bool rt_added_seal(RtAddedSet *set, RtError *err) {
    char shown[64];
    if (set->count > 1)
        qsort(set->items, set->count, sizeof *set->items, compare);
    for (size_t i = 1; i < set->count; i++)
        if (compare(&set->items[i - 1], &set->items[i]) == 0)
            return rt_fail(
                err, "added token \"%s\" is there twice, as id %d and %d",
                rt_printable(shown, sizeof shown, set->items[i].text, set->items[i].size),
                (int)set->items[i - 1].id, (int)set->items[i].id);
    size_t at = 0;
    for (unsigned byte = 0; byte < 257; byte++) {
        while (at < set->count && (unsigned char)set->items[at].text[0] < byte)
            at++;
        set->first[byte] = (uint32_t)at;
    }
    return true;
}

void rt_added_free(RtAddedSet *set) {
    for (size_t i = 0; i < set->count; i++)
        free(set->items[i].text);
    free(set->items);
    *set = (RtAddedSet){0};
}

// The first item of low .. high whose byte at `depth` is at least `byte`. The items share their
// first `depth` bytes, so those bytes are in order; one that ends there comes before all.
static size_t bound(const RtAddedSet *set, size_t low, size_t high, size_t depth, unsigned byte) {
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const RtAdded *item = &set->items[middle];
        if (item->size <= depth || (unsigned char)item->text[depth] < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The longest token that text[0 .. size) starts with, or NULL.
static const RtAdded *longest(const RtAddedSet *set, const char *text, size_t size) {
    unsigned char first = (unsigned char)text[0];
    size_t low = set->first[first], high = set->first[first + 1u];
    const RtAdded *best = NULL;
    for (size_t depth = 1; low < high; depth++) {
        if (set->items[low].size == depth)
            best = &set->items[low];
        if (depth == size)
            break;
        unsigned byte = (unsigned char)text[depth];
        low = bound(set, low, high, depth, byte);
        high = bound(set, low, high, depth, byte + 1);
    }
    return best;
}

// Bytes of the white space character (Unicode's White_Space) at text[0 .. size), or 0.
static size_t space(const char *text, size_t size) {
    static const char *const wide[] = {"\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80",
                                       "\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF",
                                       "\xE2\x81\x9F", "\xE3\x80\x80"};
    const unsigned char *byte = (const unsigned char *)text;
    if (size == 0)
        return 0;
    if (byte[0] == ' ' || (byte[0] >= '\t' && byte[0] <= '\r'))
        return 1;
    if (size >= 3 && byte[0] == 0xE2 && byte[1] == 0x80 && byte[2] >= 0x80 && byte[2] <= 0x8A)
        return 3;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        size_t length = strlen(wide[i]);
        if (length <= size && memcmp(text, wide[i], length) == 0)
            return length;
    }
    return 0;
}

// The match with the white space around it that the token takes; `least` is where it may begin.
static RtAddedMatch widen(const RtAdded *token, const char *text, size_t size, size_t at,
                          size_t least) {
    RtAddedMatch match = {at, at + token->size, token};
    while (token->rstrip && match.end < size) {
        size_t used = space(text + match.end, size - match.end);
        if (used == 0)
            break;
        match.end += used;
    }
    while (token->lstrip && match.at > least) {
        size_t back = match.at - 1;
        while (back > least && ((unsigned char)text[back] & 0xC0) == 0x80)
            back--;
        if (space(text + back, match.at - back) != match.at - back)
            break;
        match.at = back;
    }
    return match;
}

RtAddedMatch rt_added_next(const RtAddedSet *set, const char *text, size_t size, size_t from,
                           bool control) {
    if (set->count == 0)
        return (RtAddedMatch){size, size, NULL};
    for (size_t at = from; at < size;) {
        const RtAdded *token = longest(set, text + at, size - at);
        if (token && (control || !token->control))
            return widen(token, text, size, at, from);
        at += token ? token->size : 1;
    }
    return (RtAddedMatch){size, size, NULL};
}

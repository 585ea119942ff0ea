// The encoding of one word: merges by rank.
//
// The word starts as one symbol a byte, in a doubly linked list. A heap holds every neighbouring
// pair that has a merge, the lowest rank first and the leftmost of equals. Taking one joins its
// two symbols and offers the two new pairs; entries whose symbols have changed since are skipped.
// A word of n bytes makes at most 3n entries, so the time is O(n log n).

#include "runtime/bpe_parts.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int32_t id;   // piece, -1: joined to the one before
    int32_t prev; // index of the symbol before, -1: none
    int32_t next; // index of the symbol after, -1: none
} Symbol;

typedef struct {
    int32_t rank; // of the merge
    int32_t at;   // index of the left symbol
} Pair;

struct RtBpeScratch {
    Symbol *symbols;    // the word
    size_t symbol_room; // allocated
    Pair *heap;         // pairs to try, a binary heap
    size_t heap_count;  // used
    size_t heap_room;   // allocated
    char *name;         // the word in the byte alphabet
    size_t name_room;   // allocated
};

RtBpeScratch *rt_bpe_scratch_new(void) {
    return calloc(1, sizeof(RtBpeScratch));
}

void rt_bpe_scratch_free(RtBpeScratch *scratch) {
    if (!scratch)
        return;
    free(scratch->symbols);
    free(scratch->heap);
    free(scratch->name);
    free(scratch);
}

// Grows *items (of `each` bytes) to hold `need`; false: out of memory.
static bool grow(void **items, size_t *room, size_t need, size_t each) {
    if (need <= *room)
        return true;
    size_t more = *room < 32 ? 64 : *room;
    while (more < need && more <= SIZE_MAX / 2)
        more *= 2;
    if (more < need || more > SIZE_MAX / each)
        return false;
    void *grown = realloc(*items, more * each);
    if (!grown)
        return false;
    *items = grown;
    *room = more;
    return true;
}

bool rt_ids_push(RtIds *ids, int32_t id, RtError *err) {
    void *items = ids->items;
    bool ok = grow(&items, &ids->room, ids->count + 1, sizeof *ids->items);
    ids->items = items;
    if (!ok)
        return rt_fail(err, "out of memory for %zu tokens", ids->count);
    ids->items[ids->count++] = id;
    return true;
}

static bool before(Pair a, Pair b) {
    return a.rank != b.rank ? a.rank < b.rank : a.at < b.at;
}

static void heap_push(RtBpeScratch *s, Pair pair) {
    size_t at = s->heap_count++;
    while (at > 0 && before(pair, s->heap[(at - 1) / 2])) {
        s->heap[at] = s->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap[at] = pair;
}

static Pair heap_pop(RtBpeScratch *s) {
    Pair top = s->heap[0], last = s->heap[--s->heap_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= s->heap_count)
            break;
        if (child + 1 < s->heap_count && before(s->heap[child + 1], s->heap[child]))
            child++;
        if (!before(s->heap[child], last))
            break;
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return top;
}

// Offers the pair that starts at symbol `at`, if it has a merge.
static void offer(const RtBpe *bpe, RtBpeScratch *s, int32_t at) {
    if (at < 0 || s->symbols[at].next < 0)
        return;
    int32_t rank = rt_bpe_rank(bpe, s->symbols[at].id, s->symbols[s->symbols[at].next].id);
    if (rank >= 0)
        heap_push(s, (Pair){rank, at});
}

static void join(const RtBpe *bpe, RtBpeScratch *s, Pair pair) {
    const RtMerge *merge = &bpe->merges[pair.rank];
    Symbol *left = &s->symbols[pair.at];
    if (left->id != merge->left || left->next < 0)
        return;
    Symbol *right = &s->symbols[left->next];
    if (right->id != merge->right)
        return;
    left->id = merge->made;
    left->next = right->next;
    right->id = -1;
    if (left->next >= 0)
        s->symbols[left->next].prev = pair.at;
    offer(bpe, s, left->prev);
    offer(bpe, s, pair.at);
}

// One symbol a byte. False: a byte has no piece and nothing stands for it.
static bool spread(const RtBpe *bpe, RtBpeScratch *s, const char *word, size_t size, int32_t *count,
                   RtError *err) {
    int32_t n = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)word[i];
        int32_t id = bpe->byte_id[byte];
        if (id < 0 && bpe->unknown < 0)
            return rt_fail(err,
                           "the model's tokenizer has no piece for byte 0x%02X of the text; "
                           "take the character it belongs to out",
                           (unsigned)byte);
        bool unknown = id < 0;
        if (unknown)
            id = bpe->unknown;
        if (unknown && bpe->fuse_unknown && n > 0 && s->symbols[n - 1].id == id)
            continue;
        s->symbols[n] = (Symbol){id, n - 1, n + 1};
        n++;
    }
    s->symbols[n - 1].next = -1;
    *count = n;
    return true;
}

// The normal piece that is the whole word, or -1.
static int32_t whole_word(const RtBpe *bpe, RtBpeScratch *s, const char *word, size_t size) {
    void *name = s->name;
    bool ok = size <= RT_BPE_MAX_PIECE && grow(&name, &s->name_room, 2 * size, 1);
    s->name = name;
    if (!ok)
        return -1;
    size_t used = 0;
    for (size_t i = 0; i < size; i++)
        used += rt_bpe_spell((unsigned char)word[i], s->name + used);
    int32_t id = rt_bpe_find(bpe, s->name, used);
    return id >= 0 && bpe->pieces[id].kind == RT_PIECE_NORMAL ? id : -1;
}

static bool make_room(RtBpeScratch *s, size_t size) {
    void *symbols = s->symbols, *heap = s->heap;
    bool ok = size <= INT32_MAX / 4 && grow(&symbols, &s->symbol_room, size, sizeof(Symbol)) &&
              grow(&heap, &s->heap_room, 3 * size, sizeof(Pair));
    s->symbols = symbols;
    s->heap = heap;
    s->heap_count = 0;
    return ok;
}

bool rt_bpe_word(const RtBpe *bpe, const char *word, size_t size, RtBpeScratch *s, RtIds *ids,
                 RtError *err) {
    int32_t count = 0;
    if (size == 0)
        return true;
    if (bpe->whole_words) {
        int32_t id = whole_word(bpe, s, word, size);
        if (id >= 0)
            return rt_ids_push(ids, id, err);
    }
    if (!make_room(s, size))
        return rt_fail(err, "out of memory for a word of %zu bytes", size);
    if (!spread(bpe, s, word, size, &count, err))
        return false;
    for (int32_t at = 0; at < count; at++)
        offer(bpe, s, at);
    while (s->heap_count > 0)
        join(bpe, s, heap_pop(s));
    for (int32_t at = 0; at >= 0; at = s->symbols[at].next)
        if (!rt_ids_push(ids, s->symbols[at].id, err))
            return false;
    return true;
}

// The vocabulary and the merges of byte-level BPE: building, checks and look-up.
//
// The tables are filled at most by half, and a search that passes MAX_PROBES entries gives up:
// an honest file never comes near, and a file made of colliding names is refused, not endured.

#include "runtime/bpe_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PROBES = 512 };

typedef enum { FOUND, FREE, CROWDED } Probe; // how a search in a table ended

void rt_bpe_init(RtBpe *bpe) {
    memset(bpe, 0, sizeof *bpe);
    bpe->unknown = -1;
    for (int byte = 0; byte < 256; byte++)
        bpe->byte_id[byte] = -1;
}

void rt_bpe_end_encoding(RtBpe *bpe) {
    free(bpe->merges);
    free(bpe->names);
    free(bpe->by_name);
    free(bpe->by_pair);
    bpe->merges = NULL;
    bpe->names = NULL;
    bpe->by_name = bpe->by_pair = NULL;
}

void rt_bpe_free(RtBpe *bpe) {
    rt_bpe_end_encoding(bpe);
    free(bpe->pieces);
    free(bpe->texts);
    rt_bpe_init(bpe);
}

// A table of at least 2 * count entries, all free. NULL: out of memory.
static int32_t *new_table(size_t count, size_t *mask) {
    size_t size = 16;
    while (size < 2 * count)
        size *= 2;
    int32_t *table = malloc(size * sizeof *table);
    if (!table)
        return NULL;
    memset(table, 0xFF, size * sizeof *table);
    *mask = size - 1;
    return table;
}

bool rt_bpe_reserve(RtBpe *bpe, uint64_t vocab, uint64_t merges, RtError *err) {
    if (vocab < 1 || vocab > RT_BPE_MAX_VOCAB)
        return rt_fail(err, "the tokenizer has %llu pieces; 1 to %d are possible",
                       (unsigned long long)vocab, RT_BPE_MAX_VOCAB);
    if (merges > RT_BPE_MAX_MERGES)
        return rt_fail(err, "the tokenizer has %llu merges; at most %d are possible",
                       (unsigned long long)merges, RT_BPE_MAX_MERGES);
    bpe->room = (size_t)vocab;
    bpe->merge_room = (size_t)merges;
    bpe->pieces = calloc(bpe->room, sizeof *bpe->pieces);
    bpe->merges = calloc(bpe->merge_room + 1, sizeof *bpe->merges);
    bpe->by_name = new_table(bpe->room, &bpe->name_mask);
    bpe->by_pair = new_table(bpe->merge_room, &bpe->pair_mask);
    if (!bpe->pieces || !bpe->merges || !bpe->by_name || !bpe->by_pair)
        return rt_fail(err, "out of memory for a tokenizer of %zu pieces", bpe->room);
    return true;
}

static uint64_t hash_more(uint64_t hash, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001B3u;
    return hash;
}

static uint64_t hash_mix(uint64_t hash) {
    hash = (hash ^ (hash >> 32)) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

// Searches the name `a` followed by `b`: where it is, or where it would go.
static Probe probe_name(const RtBpe *bpe, const char *a, size_t a_size, const char *b,
                        size_t b_size, size_t *slot) {
    uint64_t hash = hash_more(hash_more(0xCBF29CE484222325u, a, a_size), b, b_size);
    *slot = (size_t)hash_mix(hash) & bpe->name_mask;
    for (int tries = 0; tries < MAX_PROBES; tries++, *slot = (*slot + 1) & bpe->name_mask) {
        int32_t id = bpe->by_name[*slot];
        if (id < 0)
            return FREE;
        const RtPiece *piece = &bpe->pieces[id];
        const char *name = bpe->names + piece->name;
        if (piece->name_size == a_size + b_size && memcmp(name, a, a_size) == 0 &&
            (b_size == 0 || memcmp(name + a_size, b, b_size) == 0))
            return FOUND;
    }
    return CROWDED;
}

// Searches the merge of a pair of ids likewise.
static Probe probe_pair(const RtBpe *bpe, int32_t left, int32_t right, size_t *slot) {
    uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    *slot = (size_t)hash_mix(pair * 0xD6E8FEB86659FD93u) & bpe->pair_mask;
    for (int tries = 0; tries < MAX_PROBES; tries++, *slot = (*slot + 1) & bpe->pair_mask) {
        int32_t rank = bpe->by_pair[*slot];
        if (rank < 0)
            return FREE;
        if (bpe->merges[rank].left == left && bpe->merges[rank].right == right)
            return FOUND;
    }
    return CROWDED;
}

int32_t rt_bpe_find(const RtBpe *bpe, const char *name, size_t size) {
    size_t slot;
    if (!bpe->by_name || size == 0 || probe_name(bpe, name, size, NULL, 0, &slot) != FOUND)
        return -1;
    return bpe->by_name[slot];
}

int32_t rt_bpe_rank(const RtBpe *bpe, int32_t left, int32_t right) {
    size_t slot;
    return probe_pair(bpe, left, right, &slot) == FOUND ? bpe->by_pair[slot] : -1;
}

static bool keep_name(RtBpe *bpe, const char *name, size_t size, RtError *err) {
    if (bpe->names_room - bpe->names_size < size) {
        size_t room = bpe->names_room ? 2 * bpe->names_room : 1 << 16;
        char *names = room <= ((size_t)1 << 30) ? realloc(bpe->names, room) : NULL;
        if (!names)
            return rt_fail(err, "out of memory for the tokenizer's names");
        bpe->names = names;
        bpe->names_room = room;
    }
    memcpy(bpe->names + bpe->names_size, name, size);
    bpe->names_size += size;
    return true;
}

// Why a piece cannot be added; a function of its own, so that no text is made where all is well.
static bool refuse_piece(const RtBpe *bpe, int64_t id, const char *name, size_t size, Probe probe,
                         size_t slot, RtError *err) {
    char shown[64];
    rt_printable(shown, sizeof shown, name, size);
    if (id < 0 || (uint64_t)id >= bpe->room)
        return rt_fail(err, "id %lld of piece \"%s\" is outside the vocabulary of %zu pieces",
                       (long long)id, shown, bpe->room);
    if (probe == FOUND)
        return rt_fail(err, "piece \"%s\" is there twice, as id %d and %lld", shown,
                       (int)bpe->by_name[slot], (long long)id);
    if (probe == CROWDED)
        return rt_fail(err, "piece \"%s\" collides with too many others", shown);
    return rt_fail(err, "id %lld is given to two pieces, \"%s\" is the second", (long long)id,
                   shown);
}

bool rt_bpe_piece(RtBpe *bpe, int64_t id, const char *name, size_t size, RtPieceKind kind,
                  RtError *err) {
    size_t slot;
    if (size == 0 || size > RT_BPE_MAX_PIECE)
        return rt_fail(err, "the piece of id %lld has %zu bytes; 1 to %d are possible",
                       (long long)id, size, RT_BPE_MAX_PIECE);
    Probe probe = probe_name(bpe, name, size, NULL, 0, &slot);
    if (id < 0 || (uint64_t)id >= bpe->room || probe != FREE ||
        bpe->pieces[id].kind != RT_PIECE_NONE)
        return refuse_piece(bpe, id, name, size, probe, slot, err);
    RtPiece *piece = &bpe->pieces[id];
    piece->name = (uint32_t)bpe->names_size;
    piece->name_size = (uint32_t)size;
    if (!keep_name(bpe, name, size, err))
        return false;
    piece->kind = (uint8_t)kind;
    bpe->by_name[slot] = (int32_t)id;
    bpe->count++;
    return true;
}

// Says what is wrong with a merge.
static bool refuse_merge(const RtBpe *bpe, const char *left, size_t left_size, const char *right,
                         size_t right_size, const char *why, RtError *err) {
    char one[64], two[64];
    return rt_fail(err, "merge %zu of \"%s\" and \"%s\" %s", bpe->merge_count,
                   rt_printable(one, sizeof one, left, left_size),
                   rt_printable(two, sizeof two, right, right_size), why);
}

bool rt_bpe_merge(RtBpe *bpe, const char *left, size_t left_size, const char *right,
                  size_t right_size, RtError *err) {
    size_t made = 0, slot = 0;
    int32_t a = rt_bpe_find(bpe, left, left_size), b = rt_bpe_find(bpe, right, right_size);
    const char *why = NULL;
    Probe probe = a < 0 || b < 0 ? CROWDED : probe_pair(bpe, a, b, &slot);
    if (bpe->merge_count >= bpe->merge_room)
        return rt_fail(err, "more merges than announced");
    if (a < 0 || b < 0)
        why = a < 0 ? "joins a piece that is not there (the first)"
                    : "joins a piece that is not there (the second)";
    else if (probe != FREE)
        why = probe == FOUND ? "is there twice" : "collides with too many others";
    else if (probe_name(bpe, left, left_size, right, right_size, &made) != FOUND)
        why = "makes something that is not a piece";
    if (why)
        return refuse_merge(bpe, left, left_size, right, right_size, why, err);
    bpe->merges[bpe->merge_count] = (RtMerge){a, b, bpe->by_name[made]};
    bpe->by_pair[slot] = (int32_t)bpe->merge_count++;
    return true;
}

// The character that spells a byte, as UTF-8. Returns its size, 1 or 2.
size_t rt_bpe_spell(unsigned char byte, char out[2]) {
    unsigned symbol = byte;
    if (byte <= 32)
        symbol = 256u + byte;
    else if (byte >= 127 && byte <= 160)
        symbol = 289u + (byte - 127u);
    else if (byte == 173)
        symbol = 323;
    if (symbol < 128) {
        out[0] = (char)symbol;
        return 1;
    }
    out[0] = (char)(0xC0 | symbol >> 6);
    out[1] = (char)(0x80 | (symbol & 0x3F));
    return 2;
}

// The byte that the character at name[0 .. size) spells, or -1; *used is the character's size.
static int spelt_byte(const char *name, size_t size, size_t *used) {
    unsigned first = (unsigned char)name[0], symbol = first;
    *used = 1;
    if (first >= 0x80) {
        if (size < 2 || first < 0xC2 || first > 0xC5 || ((unsigned char)name[1] & 0xC0) != 0x80)
            return -1;
        symbol = (first & 0x1F) << 6 | ((unsigned char)name[1] & 0x3F);
        *used = 2;
    }
    if (symbol >= 256 && symbol <= 288)
        return (int)symbol - 256;
    if (symbol >= 289 && symbol <= 322)
        return (int)symbol - 289 + 127;
    if (symbol == 323)
        return 173;
    bool itself = (symbol >= 33 && symbol <= 126) || (symbol >= 161 && symbol <= 172) ||
                  (symbol >= 174 && symbol <= 255);
    return itself ? (int)symbol : -1;
}

// Writes a piece's bytes; returns how many. A normal name with a character outside the alphabet is
// taken literally, whole: no merge can reach it.
static size_t write_text(const char *name, size_t size, RtPieceKind kind, char *out) {
    size_t written = 0, used;
    for (size_t at = 0; kind == RT_PIECE_NORMAL && at < size; at += used) {
        int byte = spelt_byte(name + at, size - at, &used);
        if (byte < 0) {
            kind = RT_PIECE_UNUSED;
            break;
        }
        out[written++] = (char)byte;
    }
    if (kind == RT_PIECE_NORMAL)
        return written;
    memcpy(out, name, size);
    return size;
}

static bool find_bytes(RtBpe *bpe, RtError *err) {
    char symbol[2];
    for (int byte = 0; byte < 256; byte++) {
        bpe->byte_id[byte] = rt_bpe_find(bpe, symbol, rt_bpe_spell((unsigned char)byte, symbol));
        bool plain = byte == '\n' || (byte >= 32 && byte < 127);
        if (plain && bpe->byte_id[byte] < 0 && bpe->unknown < 0)
            return rt_fail(err,
                           "no piece spells byte 0x%02X, so plain text cannot be encoded: this is "
                           "not a byte-level vocabulary, or it is damaged",
                           (unsigned)byte);
    }
    return true;
}

bool rt_bpe_seal(RtBpe *bpe, RtError *err) {
    bpe->texts = malloc(bpe->names_size + 1);
    if (!bpe->texts)
        return rt_fail(err, "out of memory for the tokenizer's pieces");
    size_t used = 0;
    for (size_t id = 0; id < bpe->count; id++) {
        RtPiece *piece = &bpe->pieces[id];
        if (piece->kind == RT_PIECE_NONE)
            return rt_fail(err, "no piece has id %zu, though there are %zu: ids must be 0 to %zu",
                           id, bpe->count, bpe->count - 1);
        piece->text = (uint32_t)used;
        piece->text_size = (uint32_t)write_text(bpe->names + piece->name, piece->name_size,
                                                (RtPieceKind)piece->kind, bpe->texts + used);
        used += piece->text_size;
    }
    return find_bytes(bpe, err);
}

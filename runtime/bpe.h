// Byte-level byte pair encoding: the vocabulary, the merges, and the encoding of one word.
//
// A byte-level vocabulary spells every byte as one printable character (byte 0x20 is U+0120), so a
// piece's name in a file is text, and its bytes follow from the name. Pieces and merges are kept
// in flat arrays; names and pairs are found through open-addressed tables of their indices. Input
// is hostile: ids must be unique and dense, names unique, every merge must make a known piece.

#ifndef RUNTIME_BPE_H
#define RUNTIME_BPE_H

#include "runtime/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RT_BPE_MAX_VOCAB = 1 << 20,  // pieces
    RT_BPE_MAX_MERGES = 1 << 22, // merges
    RT_BPE_MAX_PIECE = 1 << 14   // bytes of a name
};

typedef enum {
    RT_PIECE_NONE,    // no piece has this id yet
    RT_PIECE_NORMAL,  // spelt in the byte alphabet
    RT_PIECE_CONTROL, // marks structure (<|im_end|>): literal, not part of the text shown
    RT_PIECE_USER,    // added by the model's makers: literal text, never split
    RT_PIECE_UNUSED   // fills a hole in the ids
} RtPieceKind;

typedef struct {
    uint32_t name;      // offset of the name in names
    uint32_t name_size; // its bytes
    uint32_t text;      // offset of the piece's bytes in texts
    uint32_t text_size; // how many
    uint8_t kind;       // RtPieceKind
} RtPiece;

typedef struct {
    int32_t left;  // id of the first piece
    int32_t right; // id of the second
    int32_t made;  // id of both joined; the merge's rank is its index
} RtMerge;

typedef struct {
    RtPiece *pieces;      // by id
    size_t room;          // ids that fit
    size_t count;         // pieces added
    RtMerge *merges;      // by rank
    size_t merge_room;    // merges that fit
    size_t merge_count;   // merges added
    char *names;          // every name, end to end
    size_t names_size;    // bytes used
    size_t names_room;    // bytes allocated
    char *texts;          // every piece's bytes, end to end
    int32_t *by_name;     // table of ids, -1: free
    size_t name_mask;     // its size - 1
    int32_t *by_pair;     // table of ranks, -1: free
    size_t pair_mask;     // its size - 1
    int32_t byte_id[256]; // the piece of each byte, -1: none
    int32_t unknown;      // stands for a byte without a piece, -1: such text is refused
    bool fuse_unknown;    // neighbouring unknowns become one
    bool whole_words;     // a word that is a piece is that piece, whatever the merges say
} RtBpe;

typedef struct {
    int32_t *items; // token ids
    size_t count;   // used
    size_t room;    // allocated
} RtIds;

typedef struct RtBpeScratch RtBpeScratch; // buffers of rt_bpe_word, kept between words

// An empty vocabulary, and the release of everything it holds.
void rt_bpe_init(RtBpe *bpe);
void rt_bpe_free(RtBpe *bpe);

// Releases all but the pieces' texts: names and merges are no longer found.
void rt_bpe_end_encoding(RtBpe *bpe);

// Makes room once, before anything is added. False: over a limit, or out of memory.
bool rt_bpe_reserve(RtBpe *bpe, uint64_t vocab, uint64_t merges, RtError *err);

// Adds one piece. False: id outside 0..vocab-1, id taken, name taken, empty or too long.
bool rt_bpe_piece(RtBpe *bpe, int64_t id, const char *name, size_t size, RtPieceKind kind,
                  RtError *err);

// Adds the merge of the next rank. False: one of the three pieces is missing, or the pair repeats.
bool rt_bpe_merge(RtBpe *bpe, const char *left, size_t left_size, const char *right,
                  size_t right_size, RtError *err);

// Ends the building: checks that ids are dense and that text can be spelt, and works out bytes.
bool rt_bpe_seal(RtBpe *bpe, RtError *err);

// The id whose name is `name` as the file spells it, or -1.
int32_t rt_bpe_find(const RtBpe *bpe, const char *name, size_t size);

// Appends the ids of one word (a piece of text that merges do not leave). O(n log n) in its bytes.
// False: a byte without a piece, or out of memory.
bool rt_bpe_word(const RtBpe *bpe, const char *word, size_t size, RtBpeScratch *scratch, RtIds *ids,
                 RtError *err);

RtBpeScratch *rt_bpe_scratch_new(void); // NULL: out of memory
void rt_bpe_scratch_free(RtBpeScratch *scratch);

// Appends one id; false: out of memory.
bool rt_ids_push(RtIds *ids, int32_t id, RtError *err);

#endif

// What the two halves of the byte pair encoding share.

#ifndef RUNTIME_BPE_PARTS_H
#define RUNTIME_BPE_PARTS_H

#include "runtime/bpe.h"

// The rank of the merge of two pieces, or -1.
int32_t rt_bpe_rank(const RtBpe *bpe, int32_t left, int32_t right);

// The character that spells a byte in the byte alphabet, as UTF-8. Returns its size, 1 or 2.
size_t rt_bpe_spell(unsigned char byte, char out[2]);

#endif

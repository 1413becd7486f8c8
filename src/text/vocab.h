/* vocab.h - the inside of struct bpe, shared by its loader (vocab.c) and its encoder (bpe.c).
 * Every distinct string of the vocabulary is a symbol; a merge says which two symbols become
 * which third, the lowest rank first. */
#ifndef TEXT_VOCAB_H
#define TEXT_VOCAB_H

#include "text/bpe.h"

struct merge {
    uint64_t pair; /* left symbol << 32 | right symbol; VOCAB_FREE: an empty slot */
    uint32_t rank, result;
};
#define VOCAB_FREE UINT64_MAX

struct bpe {
    struct merge *slots; /* open addressing, at most half full */
    size_t nslots;       /* a power of two */
    int32_t *ids;        /* [symbols] token id */
    uint32_t inner[256]; /* symbol of a byte inside a word */
    uint32_t last[256];  /* symbol of a byte that ends a word */
    int32_t sot, eot, size;
};

const struct merge *vocab_merge(const struct bpe *b, uint32_t left, uint32_t right); /* or NULL */

#endif

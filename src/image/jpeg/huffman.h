/* huffman.h - a Huffman code as a table of the next few bits.
 * An entry gives, for a code and the value bits behind it that fit together into the lookup, how
 * many bits they take, how far the coefficient index moves, and the value. A second table gives two
 * coefficients at once, or one and the end of the block, where the lookup holds both: short codes
 * are the frequent ones. Ends of blocks and what does not fit move the index past the block, so
 * that one comparison finds both. */
#ifndef IMAGE_JPEG_HUFFMAN_H
#define IMAGE_JPEG_HUFFMAN_H

#include "image/jpeg/frame.h"

enum { LOOK_BITS = 11 };

/* How far the index moves: */
enum {
    MOVE_BAD = 64,   /* a symbol that no encoder writes */
    MOVE_END = 128,  /* end of block */
    MOVE_LONG = 192, /* more bits than the lookup sees: huffman_symbol */
};

/* Two coefficients: bits taken in bits 0-5, then both moves, the first move, the first value and
 * the second. One coefficient has the same moves, and the value as the first one. An end of block
 * has MOVE_END in both moves and how many more blocks end as second value; no first move: alone. */
enum { PAIR_MOVES = 6, PAIR_FIRST = 14, PAIR_VALUE = 19, PAIR_SECOND = 26 };

static inline int pair_value(uint32_t pair)
{
    return (int32_t)(pair << (32 - PAIR_SECOND)) >> (32 - PAIR_SECOND + PAIR_VALUE);
}

static inline int pair_second(uint32_t pair)
{
    return (int32_t)pair >> PAIR_SECOND;
}

/* What the codes of a table stand for; see entry. */
enum huffman_kind { HUFFMAN_DC, HUFFMAN_AC, HUFFMAN_BAND, HUFFMAN_REFINE };

/* Fields of an entry of HUFFMAN_REFINE. */
enum { REFINE_RUN = 16, REFINE_PLACED = 1 << 20, REFINE_NEGATIVE = 1 << 21 };

struct huffman {
    /* bits 0-5: bits taken; 8-15: how far the index moves; 16-31: the value, shifted.
     * HUFFMAN_REFINE moves nothing, and has the number of zeros to pass and what stands behind.
     * MOVE_END: the value is how many more blocks end (in HUFFMAN_REFINE, this one too).
     * MOVE_LONG: 16-23 length of the code, 0 if longer than the lookup; 24-31 symbol. */
    uint32_t entry[1 << LOOK_BITS];
    uint32_t pair[1 << LOOK_BITS]; /* HUFFMAN_AC, HUFFMAN_BAND: values are not shifted */
    uint32_t top[18];              /* codes of up to l bits, widened to 16, are below top[l] */
    int32_t offset[17];            /* index of a code's symbol = code of l bits + offset[l] */
    uint8_t symbols[256];
};

/* shift: how far values are shifted to the left, in first scans of a band. Returns 0, or 1 when
 * libjpeg would refuse the code. */
int huffman_init(struct huffman *t, const struct code *code, enum huffman_kind kind, int shift);

/* The symbol at the top of `bits` and the length of its code, longer than the lookup; or length 0
 * when there is none. */
static inline int huffman_symbol(int *length, const struct huffman *t, uint64_t bits)
{
    uint32_t code = (uint32_t)(bits >> 48);
    int l = LOOK_BITS + 1;
    while (l <= 16 && code >= t->top[l]) l++;
    *length = l <= 16 ? l : 0;
    return l <= 16 ? t->symbols[(int32_t)(code >> (16 - l)) + t->offset[l]] : 0;
}

/* The value of `size` > 0 bits at the top of `bits`: the upper half as it is, the lower negative.
 */
static inline int huffman_value(uint64_t bits, int size)
{
    int v = (int)(bits >> (64 - size));
    return v + (v >> (size - 1) ? 0 : 1 - (1 << size));
}

#endif

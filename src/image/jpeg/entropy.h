/* entropy.h - the decoding loops: Huffman codes to coefficients.
 * A row of MCUs (or of blocks, where a scan holds one component) is read in ranges: those that feed
 * the window are kept, those beside it only stepped over. */
#ifndef IMAGE_JPEG_ENTROPY_H
#define IMAGE_JPEG_ENTROPY_H

#include "image/jpeg/huffman.h"
#include "image/jpeg/segment.h"

enum { ENTROPY_SLOTS = 6 };

/* A block of an MCU. */
struct slot {
    const struct huffman *dc, *ac;
    int part;     /* whose DC is predicted */
    int16_t *out; /* the block of MCU `from` */
    int step;     /* to that of the next MCU */
};

/* What a scan of bits does to a block, as sets of coefficients, 63-k: k. */
struct change {
    uint64_t away;     /* move one bit away from zero */
    uint64_t placed;   /* are new */
    uint64_t negative; /* are negative if new */
};

/* Blocks are in natural order where a scan holds all of their coefficients. Progressive ones stand
 * from the last to the first, 63-k: k, so that sets of coefficients are masks over them. */
struct entropy {
    struct segment segment;
    struct slot slot[ENTROPY_SLOTS];
    int slots;
    int from, to;            /* MCUs that are kept */
    int first, last, low;    /* progressive: band of coefficients, bit sent */
    uint64_t *history;       /* refined later: of each block of this row, bit 63-k: k is not zero */
    int32_t dc[FRAME_PARTS]; /* of the block before */
    uint32_t end_run;        /* blocks to come without another coefficient */
    int interval, to_restart, restarts;
};

/* MCUs [from, to). 0, or 1 when they are not regular. */
typedef int entropy_fn(struct entropy *s, int from, int to);

struct entropy_loop {
    entropy_fn *keep, *step_over;
};

/* What a scan may hold: all of the coefficients; or the DC, a band of the rest, the next bit of
 * either. */
struct entropy_loops {
    struct entropy_loop whole, dc, band, dc_bit, band_bit;
};
extern const struct entropy_loops entropy_plain, entropy_bmi2;

const struct entropy_loops *entropy_loops_best(void);

/* A scan that begins at the segment's src. */
void entropy_start(struct entropy *s, int interval);

/* A row of `wide` MCUs, of which [s->from, s->to) are kept if any. */
int entropy_row(struct entropy *s, const struct entropy_loop *loop, int wide, int any);

#endif

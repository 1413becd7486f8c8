/* segment.h - the entropy-coded bytes between two markers, as bits.
 * Bytes are unstuffed (ff 00 -> ff) in chunks ahead of the reader and end in zeros, so that the
 * reader refills eight bytes at a time without a look at what they are; whether it ran past the
 * end is asked once per MCU. */
#ifndef IMAGE_JPEG_SEGMENT_H
#define IMAGE_JPEG_SEGMENT_H

#include "base/arena.h"
#include "base/platform.h"

#include <string.h>

enum {
    SEGMENT_CHUNK = 16384,
    SEGMENT_NEED = 10 * 264, /* the most an MCU can take: ten blocks of 64 codes of 33 bits */
};

/* What the decoding loops keep in registers. */
struct bits {
    uint64_t top;       /* the next bits, from the highest on; zeros or more of them below */
    int have;           /* how many of them count */
    const uint8_t *p;   /* the next byte to load */
    const uint8_t *low; /* past it, segment_fill is due */
};

struct segment {
    struct bits bits;
    const uint8_t *src, *end; /* not yet unstuffed */
    uint8_t *buffer, *stop;   /* stop: end of the unstuffed bytes */
    int marker;               /* that ends the segment, -1 if nothing does; 0 while not seen */
};

void segment_init(struct segment *s, const uint8_t *src, const uint8_t *end, struct arena *a);

/* Begin to read at src. */
void segment_start(struct segment *s);

/* Make bytes for another MCU. 0, or 1 when the reader is past the end. */
int segment_fill(struct segment *s);

/* The marker behind the segment when the reader is inside its last byte, else -1. src then stands
 * behind the marker. */
int segment_next(struct segment *s);

/* Bits not yet read, as far as bytes were unstuffed; below 0: zeros past the end were read. */
static inline int64_t segment_left(const struct segment *s)
{
    return 8 * (int64_t)(s->stop - s->bits.p) + s->bits.have;
}

static inline int segment_ready(struct segment *s, struct bits *b)
{
    if (likely(b->p <= b->low)) return 1;
    s->bits = *b;
    int rc = segment_fill(s);
    *b = s->bits;
    return !rc;
}

/* At least 56 bits afterwards. */
static inline void bits_refill(struct bits *b)
{
    uint64_t next;
    memcpy(&next, b->p, 8);
    b->top |= __builtin_bswap64(next) >> b->have;
    b->p += (63 - b->have) >> 3;
    b->have |= 56;
}

static inline void bits_drop(struct bits *b, int n)
{
    b->top <<= n;
    b->have -= n;
}

#endif

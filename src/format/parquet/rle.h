/* rle.h - the hybrid of run lengths and bit packing that holds levels and dictionary indices. */
#ifndef FORMAT_PARQUET_RLE_H
#define FORMAT_PARQUET_RLE_H

#include "base/str.h"

enum { RLE_LITERALS = 504 }; /* 63 groups of 8: the longest packed run with a one-byte header */

/* Zeroed plus a width is ready. */
struct rle_out {
    int width; /* bits, 1 to 32 */
    uint32_t value;
    size_t run; /* of value, not yet written */
    size_t held;
    uint32_t literals[RLE_LITERALS]; /* before that run, to be packed */
};
void rle_flush_run(struct rle_out *r, struct str *out);
void rle_end(struct rle_out *r, struct str *out); /* write all; ready for the next page */

static inline void rle_put(struct rle_out *r, struct str *out, uint32_t value, size_t count)
{
    if (value != r->value && r->run) rle_flush_run(r, out);
    r->value = value;
    r->run += count;
}

/* Bits needed for values up to max. */
static inline int rle_width(uint64_t max)
{
    return max ? 64 - __builtin_clzll(max) : 0;
}

struct rle_in {
    const unsigned char *p, *end;
    int width;      /* 0 to 32 */
    size_t run;     /* values left of the current run */
    int packed;     /* whether it is bit-packed, then at bit `bit` of p */
    unsigned bit;   /* 0 to 7 */
    uint32_t value; /* else its value */
};
void rle_init(struct rle_in *r, int width, const void *p, size_t n);

/* The next n values: 0, or -1 when the bytes do not hold so many or one is above max. */
int rle_get(struct rle_in *r, uint32_t *out, size_t n, uint32_t max);
int rle_get_bytes(struct rle_in *r, uint8_t *out, size_t n, uint32_t max); /* max <= 255 */

/* Values that follow and all equal `value`, at most n; 0 when that is not known at once. */
size_t rle_same(struct rle_in *r, uint32_t value, size_t n);
void rle_drop(struct rle_in *r, size_t n); /* n that rle_same gave */

/* n values of `width` bits (1 to 64), least significant bit first, from bit `bit` of p on. The
 * caller has checked that they lie before end. */
void rle_unpack64(uint64_t *out, size_t n, int width, const unsigned char *p,
                  const unsigned char *end, unsigned bit);

#endif

/* delta.h - DELTA_BINARY_PACKED: integers as bit-packed differences, in blocks. */
#ifndef FORMAT_PARQUET_DELTA_H
#define FORMAT_PARQUET_DELTA_H

#include "base/platform.h"

struct delta {
    const unsigned char *p, *end; /* the next miniblock, or the next block */
    const unsigned char *widths;  /* of the miniblocks left in this block */
    size_t left;                  /* values not yet given */
    size_t mini_size, minis, minis_left, in_mini;
    const unsigned char *mini; /* the current miniblock, in_mini values of it left */
    int width;
    uint64_t bit; /* where in it */
    uint64_t least, value;
    int started;
};

/* All return 0, or -1 when the bytes are damaged. */
int delta_init(struct delta *d, const void *p, size_t n);
int delta_get(struct delta *d, int64_t *out, size_t n);
int delta_end(struct delta d, const unsigned char **end); /* first byte after all its values */

#endif

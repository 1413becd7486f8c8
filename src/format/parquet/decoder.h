/* decoder.h - the values of one page, in any encoding, as arrays of our types. */
#ifndef FORMAT_PARQUET_DECODER_H
#define FORMAT_PARQUET_DECODER_H

#include "format/parquet/datapage.h"
#include "format/parquet/delta.h"
#include "format/parquet/rle.h"

/* Bytes of one value as given out: uint8_t, int64_t, double, struct parquet_slice or float. */
size_t decoder_size(const struct leaf *leaf);

struct decoder {
    const struct leaf *leaf;
    enum encoding encoding;
    const unsigned char *p, *end;
    unsigned bit;               /* of *p: plain booleans */
    size_t count, at;           /* byte streams: values in all, values given */
    struct rle_in rle;          /* dictionary indices, booleans */
    struct delta delta, prefix; /* integers or lengths; lengths of shared prefixes */
    struct str last;            /* front-coded strings: the one before */

    const void *dictionary; /* values as given out, */
    size_t entries;         /* so many */

    struct arena built; /* strings that lie whole in no page; until decoder_forget */
    size_t built_bytes;
};

int decoder_start(struct decoder *d, const struct datapage *page);

/* The next n values, none of them null: 0, or ERR_INPUT. */
int decoder_get(struct decoder *d, void *out, size_t n);
void decoder_forget(struct decoder *d); /* what earlier decoder_get built */
void decoder_release(struct decoder *d);

#endif

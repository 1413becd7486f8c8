/* dict.h - the distinct values of a column chunk, found while it is being encoded. */
#ifndef FORMAT_PARQUET_DICT_H
#define FORMAT_PARQUET_DICT_H

#include "base/str.h"

struct dict_slot {
    uint32_t tag;   /* of the hash */
    uint32_t entry; /* 1 + index, 0 = free */
};

/* Zeroed is empty. */
struct dict {
    struct str plain; /* the distinct values, PLAIN, in order of first appearance */
    size_t count;
    uint32_t *indices; /* one for every value of the chunk */
    size_t *at;        /* entry i starts at plain.p + at[i] */
    struct dict_slot *slots;
    size_t nslots, indices_cap, at_cap;
};

/* Look at n values in PLAIN form: `width` bytes each, or 0 for a four-byte length and bytes.
 * 1 when a dictionary makes the chunk clearly smaller, else 0 (given up as early as can be told;
 * what d holds is then meaningless). */
int dict_build(struct dict *d, const char *values, size_t bytes, size_t n, size_t width);
int dict_width(const struct dict *d); /* bits of an index, at least 1 */
void dict_release(struct dict *d);

#endif

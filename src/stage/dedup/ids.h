/* ids.h - what rows are called and, where a column decides which one stays, its value: for every
 * row of the place, on scratch space, by number. */
#ifndef STAGE_DEDUP_IDS_H
#define STAGE_DEDUP_IDS_H

#include "io/scratch.h"
#include "stage/dedup/dedup.h"

/* One text per row, added in order. */
struct texts {
    struct scratch at;    /* int64 [count+1]: where each starts */
    struct scratch bytes; /* all of them */
    int64_t count;
};
int texts_open(struct texts *t, struct place *p, int64_t rows);
void texts_close(struct texts *t); /* zeroed is fine */
int texts_add(struct texts *t, const void *p, size_t n);
struct parquet_slice texts_get(const struct texts *t, int64_t row);

/* The id of a row from its column, c (NULL: there is none): the text itself, a number as text,
 * "part:row" where it is null. It may live in *room. */
struct parquet_slice name_of(struct str *room, const struct column *c, size_t i, int64_t part,
                             int64_t row);

struct ids {
    struct texts name;
    struct scratch keys;  /* uint64 per row, in the order of the column's numbers */
    struct texts words;   /* or its text */
    struct scratch nulls; /* uint8 per row: the word is null */
    int by_words;
};
#define VALUE_NULL UINT64_MAX /* the key of a row without value */

/* Ids of all rows, and the values of d->by where that is given. */
int ids_open(struct ids *n, const struct dedup *d);
void ids_close(struct ids *n); /* zeroed is fine */

#endif

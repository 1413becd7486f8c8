/* batch.h - the columns of a partition, batch by batch, aligned over its sidecar files.
 * A column is found by name in scores, keep, dedup's assign and metadata, in that order: what we
 * computed wins over a field of the same name that came with the data. Types are those of the
 * whole place: where partitions differ, int64 is widened to double, and anything else to string. */
#ifndef DATA_BATCH_H
#define DATA_BATCH_H

#include "data/sidecar.h"
#include "format/parquet/parquet.h"

enum column_type { COLUMN_BOOL, COLUMN_INT, COLUMN_REAL, COLUMN_STRING };
const char *column_type_name(enum column_type type); /* "bool", "int", "real", "string" */

/* What columns a place has: gathered once from all footers. */
struct column_info {
    char *name;
    enum column_type type;
    enum sidecar from;
    int single;               /* float32 wherever it is */
    enum parquet_type stored; /* in the files; where they differ, what holds the values of all */
};
struct columns {
    struct column_info *list;
    size_t count, cap;
};
/* Lists and binary columns are left out. ERR_INPUT for a damaged file. */
int columns_load(struct columns *c, const struct sidecars *s);
/* The same without one kind of sidecar: for the verb that writes it. */
int columns_load_without(struct columns *c, const struct sidecars *s, enum sidecar kind);
/* The same for some of these kinds only, 1 << SIDE_...: names of the others hide nothing. */
int columns_load_from(struct columns *c, const struct sidecars *s, unsigned kinds);
void columns_release(struct columns *c);
const struct column_info *columns_find(const struct columns *c, const char *name); /* or NULL */

/* The column that names samples: first present of key, id, image_id, image_path, url; or NULL. */
const char *columns_id(const struct columns *c);

/* One column of the current batch. Where valid[i] is 0 the value is zero or empty. */
struct column {
    enum column_type type;
    const uint8_t *valid; /* NULL: no row is null */
    const uint8_t *bools;
    const int64_t *ints;
    const double *reals;
    const struct parquet_slice *strings;
};

struct batch;

/* The given columns of partition i; a column that this partition lacks is all null. ERR_INPUT also
 * when a file has not as many rows as the partition (the sentence names both). */
int batch_open(struct batch **out, const struct sidecars *s, int64_t i,
               const struct column_info *const *want, size_t n);
void batch_close(struct batch *b); /* NULL is fine */

/* The next rows, at most max (0: as many as suit): 0, 1 at the end, or ERR_INPUT. What
 * batch_column gave lives until the next call. */
int batch_next(struct batch *b, size_t max, size_t *rows);
/* Step over rows, at most as many as are left. */
int batch_skip(struct batch *b, int64_t rows);
const struct column *batch_column(const struct batch *b, size_t i);
/* Does this partition lack the column, so that all its rows are null? */
int batch_lacks(const struct batch *b, size_t i);

#endif

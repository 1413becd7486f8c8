/* entries.h - the tables of dedup/: removed, kept, quarantined. */
#ifndef STAGE_REPORT_ENTRIES_H
#define STAGE_REPORT_ENTRIES_H

#include "data/sidecar.h"
#include "format/parquet/parquet.h"

enum { ENTRY_ID, ENTRY_PART, ENTRY_ROW, ENTRY_CLUSTER, ENTRY_NEAREST, ENTRY_SCORE, ENTRY_COLUMNS };

/* One row of removed, kept or quarantined. */
struct entry {
    struct parquet_slice id, nearest;
    int64_t part, row, cluster; /* part: index in the sidecars */
    double score;
};
typedef void entry_fn(void *arg, const struct entry *e);

/* Call fn for every row of the file; columns not wanted (1 << ENTRY_...) are empty, -1 or NaN.
 * *rows is the number of rows; rows, or fn, may be NULL. ERR_INPUT with the file's name. */
int entries_each(const struct sidecars *s, const char *name, unsigned want, entry_fn *fn, void *arg,
                 int64_t *rows);

#endif

/* output.h - one output shard: a tar, its table, and their receipt. */
#ifndef STAGE_EXPORT_OUTPUT_H
#define STAGE_EXPORT_OUTPUT_H

#include "format/tar_writer.h"
#include "stage/export/export.h"

struct output {
    int64_t number;
    struct sink *tar_sink, *table_sink;
    struct tar_writer tar;
    struct parquet_writer *table;
    struct receipt receipt;
    struct output *next; /* in the list of those that wait */
};

int output_begin(struct output **out, const struct exporter *x, int64_t number);
int output_end(struct output *o); /* whole and on the disk, not visible */
int output_commit(struct output *o, struct exporter *x);
void output_drop(struct output *o); /* NULL is fine; what is not committed is gone */

/* A sample of this source was taken. */
void output_source(struct output *o, const char *label);
/* These sources have been proven: their hashes go into the receipt. */
void output_note(struct output *o, const struct receipt_files *read);

#endif

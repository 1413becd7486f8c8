/* chunk.h - one column of the row group being written: its values in PLAIN form, its levels
 * already encoded, cut into pages. */
#ifndef FORMAT_PARQUET_CHUNK_H
#define FORMAT_PARQUET_CHUNK_H

#include "format/parquet/bounds.h"
#include "format/parquet/codec.h"
#include "format/parquet/dict.h"
#include "format/parquet/parquet.h"
#include "format/parquet/rle.h"
#include "format/parquet/thrift.h"

struct chunk_page {
    size_t values_end, defs_end, reps_end; /* in the chunk's buffers */
    uint32_t rows, levels, values;         /* values: those that are not null */
};

struct chunk {
    char *name;
    enum parquet_type type;
    int nullable;
    size_t page_bytes;

    struct str values; /* PLAIN; a bool is a whole byte until its page is written */
    struct str defs, reps;
    struct rle_out def, rep;
    struct chunk_page *pages, open;
    size_t npages, pages_cap, page_start; /* page_start: of the open page, in values */
    size_t rows, levels, nulls, count;    /* count: values that are not null */
    struct bounds bounds;
};

/* What the chunks of one file share while they are written. */
struct chunk_output {
    struct sink *sink;
    uint64_t at; /* bytes written so far */
    enum codec codec;
    int level, no_dictionary;
    struct codec_state state;
    struct dict dict;
    struct str levels, body, packed, header;
    struct bounds_text bounds;
};

void chunk_init(struct chunk *c, const struct parquet_column *column, size_t page_bytes);
void chunk_release(struct chunk *c);
int chunk_max_def(const struct chunk *c);
size_t chunk_width(const struct chunk *c); /* bytes of a PLAIN value; 0 when they vary */
enum physical chunk_physical(const struct chunk *c);

void chunk_end_page(struct chunk *c);

/* Write all pages and add the ColumnChunk to the footer; the chunk is empty afterwards. Adds the
 * bytes of its pages, headers included, to *raw and *packed. */
int chunk_write(struct chunk *c, struct chunk_output *o, struct thrift_out *footer, uint64_t *raw,
                uint64_t *packed);
void chunk_output_release(struct chunk_output *o);

#endif

/* chunk.h - one column of the row group being written: its values in PLAIN form, its levels
 * already encoded, cut into pages. */
#ifndef FORMAT_PARQUET_CHUNK_H
#define FORMAT_PARQUET_CHUNK_H

#include "format/parquet/codec.h"
#include "format/parquet/dict.h"
#include "format/parquet/parquet.h"
#include "format/parquet/rle.h"
#include "format/parquet/thrift.h"

/* The smallest and largest value, for the statistics. Zeroed is "no value yet". Strings are
 * remembered by where they lie in the chunk's values. */
struct bounds {
    int any;
    int64_t least, most;
    double low, high;
    size_t low_at, low_size, high_at, high_size;
    uint64_t low_head, high_head; /* their first eight bytes, as one number in string order */
};

static inline void bounds_int(struct bounds *b, int64_t v)
{
    if (!b->any || v < b->least) b->least = v;
    if (!b->any || v > b->most) b->most = v;
    b->any = 1;
}

static inline void bounds_real(struct bounds *b, double v)
{
    if (v != v) return; /* NaN has no place in the order */
    if (!b->any || v < b->low) b->low = v;
    if (!b->any || v > b->high) b->high = v;
    b->any = 1;
}

struct chunk_page {
    size_t values_end, defs_end, reps_end; /* in the chunk's buffers */
    uint32_t levels, values;               /* values: those that are not null */
};

struct chunk {
    char *name;
    enum parquet_type type;
    int nullable;
    size_t page_bytes;

    struct str values; /* PLAIN; a bool is a whole byte until its page is written */
    struct str defs, reps;
    struct chunk_page *pages, open;
    size_t npages, pages_cap, page_start; /* page_start: of the open page, in values */
    size_t rows, levels, nulls, count;    /* count: values that are not null; levels and count
                                             without the open page */
    struct bounds bounds;
    struct rle_out def, rep; /* last: large, and mostly not touched */
};

/* PLAIN forms for the footer, strings cut to a bound; *has_* = 0 when there is none. */
struct bounds_text {
    struct str low, high;
    int has_low, has_high, low_exact, high_exact;
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

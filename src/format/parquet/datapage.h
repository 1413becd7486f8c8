/* datapage.h - one page of a column chunk: header, checksum, decompression, levels apart. */
#ifndef FORMAT_PARQUET_DATAPAGE_H
#define FORMAT_PARQUET_DATAPAGE_H

#include "format/parquet/codec.h"
#include "format/parquet/footer.h"

struct bytes {
    const unsigned char *p;
    size_t n;
};

struct datapage {
    enum page_type type;
    enum encoding encoding;
    uint32_t count; /* levels; entries of a dictionary */
    struct bytes reps, defs, values;
};

/* Decompressed pages that the current batch still points into. Zeroed is empty. */
struct pagestore {
    struct pagebuf {
        unsigned char *p;
        size_t cap;
    } * list;
    size_t used, count, cap;
};
void pagestore_keep_last(struct pagestore *s, size_t n); /* forget all but the last n */
void pagestore_release(struct pagestore *s);

/* The next page at chunk->p, which moves on: 0, 1 at the end of the chunk, or ERR_INPUT. Pages of
 * unknown kind are stepped over. *stored counts the buffers taken from the store: 0 or 1. */
int datapage_next(struct datapage *out, struct footer_chunk *chunk, const struct leaf *leaf,
                  struct codec_state *codec, struct pagestore *store, size_t *stored);

#endif

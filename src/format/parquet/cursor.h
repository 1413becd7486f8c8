/* cursor.h - walks the pages of one column and fills a batch from them. */
#ifndef FORMAT_PARQUET_CURSOR_H
#define FORMAT_PARQUET_CURSOR_H

#include "format/parquet/decoder.h"

enum { CURSOR_BLOCK = 1024 };

struct cursor {
    const struct leaf *leaf;
    struct codec_state *codec;
    struct footer_chunk chunk;
    uint64_t chunk_left; /* levels in pages not yet opened */
    size_t page_left;    /* levels in the open page, not yet taken */
    int opened;          /* whether a page of this chunk was */
    struct rle_in reps, defs;
    struct decoder decoder;
    struct pagestore pages, first; /* first: the dictionary, if any, for the whole chunk */
    size_t stored;                 /* 1 when the open page lies in `pages` */
    char *dictionary;
    size_t dictionary_cap;

    /* lists: levels are taken ahead in blocks, since a row ends only where the next begins */
    uint8_t rep_block[CURSOR_BLOCK], def_block[CURSOR_BLOCK];
    size_t block_at, block_size;

    struct parquet_values values; /* the batch, in these buffers: */
    uint8_t *valid;
    char *data;
    size_t *starts;
    size_t rows_cap, data_cap;
};

struct cursor *cursor_new(const struct leaf *leaf, struct codec_state *codec);
void cursor_free(struct cursor *c); /* NULL is fine */

void cursor_start(struct cursor *c, const struct footer_chunk *chunk);
int cursor_read(struct cursor *c, size_t rows); /* ERR_INPUT */
int cursor_end(const struct cursor *c);         /* ERR_INPUT when the chunk holds more */

#endif

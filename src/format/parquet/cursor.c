/* cursor.c - fill batches from the pages of a column.
 * A flat column takes as many levels as rows, decodes the values that are there and spreads them
 * over the nulls from the back. A list takes levels until enough rows have ended. */
#include "format/parquet/cursor.h"
#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FLOATS = 1 << 26 }; /* of one batch: levels can claim billions in a few bytes */

struct cursor *cursor_new(const struct leaf *leaf, struct codec_state *codec)
{
    struct cursor *c = mem_alloc(sizeof *c);
    c->leaf = c->decoder.leaf = leaf;
    c->codec = codec;
    return c;
}

void cursor_free(struct cursor *c)
{
    if (!c) return;
    decoder_release(&c->decoder);
    pagestore_release(&c->pages);
    pagestore_release(&c->first);
    free(c->dictionary);
    free(c->valid);
    free(c->data);
    free(c->starts);
    free(c);
}

void cursor_start(struct cursor *c, const struct footer_chunk *chunk)
{
    c->chunk = *chunk;
    c->chunk_left = chunk->values;
    c->page_left = c->block_at = c->block_size = 0;
    c->opened = 0;
    c->decoder.dictionary = NULL;
    c->decoder.entries = 0;
    pagestore_keep_last(&c->pages, 0);
    pagestore_keep_last(&c->first, 0);
    c->stored = 0;
}

int cursor_end(const struct cursor *c)
{
    int more = c->chunk_left || c->page_left || c->block_at < c->block_size;
    return more ? err_set(ERR_INPUT, "it holds more rows than its row group") : 0;
}

static void reserve_data(struct cursor *c, size_t bytes)
{
    if (bytes <= c->data_cap) return;
    c->data_cap = bytes < 2 * c->data_cap ? 2 * c->data_cap : bytes;
    c->data = mem_resize(c->data, c->data_cap);
}

static void reserve_rows(struct cursor *c, size_t rows)
{
    if (rows < c->rows_cap) return;
    c->rows_cap = rows + 1;
    c->valid = mem_resize(c->valid, c->rows_cap);
    c->starts = mem_resize(c->starts, mem_mul(c->rows_cap, sizeof *c->starts));
}

/* ---- pages ---- */

static int read_dictionary(struct cursor *c, const struct datapage *page)
{
    struct datapage plain = *page;
    struct decoder *d = &c->decoder;
    size_t size = decoder_size(c->leaf), least = c->leaf->width ? c->leaf->width : 4;
    if (c->opened) return err_set(ERR_INPUT, "a dictionary is not at the front");
    if (page->encoding != ENCODING_PLAIN && page->encoding != ENCODING_PLAIN_DICTIONARY)
        return err_set(ERR_INPUT, "a dictionary in encoding %d", (int)page->encoding);
    if (c->leaf->physical == PHYSICAL_BOOLEAN)
        return err_set(ERR_INPUT, "a dictionary of booleans");
    if (page->count > page->values.n / least)
        return err_set(ERR_INPUT, "a dictionary is cut short");
    if (c->dictionary_cap < page->count * size || !c->dictionary) {
        c->dictionary_cap = page->count * size;
        c->dictionary = mem_resize(c->dictionary, c->dictionary_cap ? c->dictionary_cap : 1);
    }
    plain.encoding = ENCODING_PLAIN;
    int rc = decoder_start(d, &plain);
    if (!rc) rc = decoder_get(d, c->dictionary, page->count);
    if (rc) return rc;
    d->dictionary = c->dictionary;
    d->entries = page->count;
    return 0;
}

/* Open the next page that has levels. The first page of a chunk, dictionary or not, is stored
 * apart, for as long as the chunk. */
static int next_page(struct cursor *c)
{
    struct datapage page;
    do {
        int rc = datapage_next(&page, &c->chunk, c->leaf, c->codec,
                               c->opened ? &c->pages : &c->first, &c->stored);
        if (rc == 1) return err_set(ERR_INPUT, "it ends before its last row");
        if (rc) return rc;
        int dictionary = page.type == PAGE_DICTIONARY;
        rc = dictionary ? read_dictionary(c, &page) : decoder_start(&c->decoder, &page);
        if (rc) return rc;
        if (!c->opened) c->stored = 0;
        c->opened = 1;
        c->page_left = dictionary ? 0 : page.count;
    } while (!c->page_left);
    if (c->page_left > c->chunk_left)
        return err_set(ERR_INPUT, "its pages hold more values than it has");
    c->chunk_left -= c->page_left;
    rle_init(&c->reps, rle_width((uint64_t)c->leaf->max_rep), page.reps.p, page.reps.n);
    rle_init(&c->defs, rle_width((uint64_t)c->leaf->max_def), page.defs.p, page.defs.n);
    return 0;
}

/* ---- flat columns ---- */

/* Levels of m rows as valid[] bytes; how many rows are not null, or -1. May lower *m to a stretch
 * that needs no look at single rows. */
static int64_t take_levels(struct cursor *c, uint8_t *valid, size_t *m)
{
    uint32_t max = (uint32_t)c->leaf->max_def;
    size_t same = max ? rle_same(&c->defs, max, *m) : *m;
    if (same) {
        if (max) rle_drop(&c->defs, same);
        memset(valid, 1, same);
        *m = same;
        return (int64_t)same;
    }
    if (rle_get_bytes(&c->defs, valid, *m, max)) return -1;
    size_t present = 0;
    for (size_t i = 0; i < *m; i++) present += valid[i] = valid[i] == max;
    return (int64_t)present;
}

#define SPREAD(type)                       \
    for (size_t i = m; i-- > 0;) {         \
        type *v = (type *)(void *)data;    \
        if (valid[i])                      \
            v[i] = v[--present];           \
        else                               \
            memset(&v[i], 0, sizeof v[i]); \
    }

static void spread(char *data, const uint8_t *valid, size_t m, size_t present, size_t size)
{
    if (size == 1)
        SPREAD(uint8_t)
    else if (size == 8)
        SPREAD(uint64_t)
    else
        SPREAD(struct parquet_slice)
}

static int read_flat(struct cursor *c, size_t rows)
{
    size_t size = decoder_size(c->leaf), nulls = 0;
    reserve_rows(c, rows);
    reserve_data(c, rows * size);
    for (size_t got = 0, m; got < rows; got += m) {
        int rc = c->page_left ? 0 : next_page(c);
        if (rc) return rc;
        m = rows - got < c->page_left ? rows - got : c->page_left;
        int64_t present = take_levels(c, c->valid + got, &m);
        if (present < 0) return err_set(ERR_INPUT, "definition levels are damaged");
        rc = decoder_get(&c->decoder, c->data + got * size, (size_t)present);
        if (rc) return rc;
        if ((size_t)present < m)
            spread(c->data + got * size, c->valid + got, m, (size_t)present, size);
        nulls += m - (size_t)present;
        c->page_left -= m;
    }
    c->values.rows = rows;
    c->values.valid = nulls ? c->valid : NULL;
    return 0;
}

/* ---- lists ---- */

/* Fill the block of levels: 0, 1 at the end of the chunk, or ERR_INPUT. */
static int fill_block(struct cursor *c)
{
    if (!c->page_left && !c->chunk_left) return 1;
    int rc = c->page_left ? 0 : next_page(c);
    if (rc) return rc;
    size_t m = c->page_left < CURSOR_BLOCK ? c->page_left : CURSOR_BLOCK;
    if (rle_get_bytes(&c->reps, c->rep_block, m, (uint32_t)c->leaf->max_rep) ||
        rle_get_bytes(&c->defs, c->def_block, m, (uint32_t)c->leaf->max_def))
        return err_set(ERR_INPUT, "levels are damaged");
    c->page_left -= m;
    c->block_at = 0;
    c->block_size = m;
    return 0;
}

/* Append the elements of def levels [at, end) to the batch's floats. */
static int add_elements(struct cursor *c, size_t at, size_t end, size_t *floats)
{
    int max = c->leaf->max_def;
    size_t n = end - at, present = 0;
    const uint8_t *def = c->def_block + at;
    for (size_t i = 0; i < n; i++) present += def[i] == max;
    if (n > MAX_FLOATS - *floats)
        return err_set(ERR_INPUT, "the lists of one batch hold more than %d floats", MAX_FLOATS);
    reserve_data(c, (*floats + n) * sizeof(float));
    float *out = (float *)(void *)c->data + *floats;
    int rc = decoder_get(&c->decoder, out, present);
    for (size_t i = n, k = present; i-- > 0 && present < n;)
        out[i] = def[i] == max ? out[--k] : NAN;
    *floats += n;
    return rc;
}

/* The levels of one row, or of its part in this block: [at, end). */
static int add_levels(struct cursor *c, size_t at, size_t end, size_t row, size_t *floats)
{
    int def = c->def_block[at], list = c->leaf->list_def, starts = !c->rep_block[at];
    if (starts) c->valid[row] = def >= list;
    if (def > list) {
        for (size_t i = at; i < end; i++)
            if (c->def_block[i] <= list) return err_set(ERR_INPUT, "levels are damaged");
        return add_elements(c, at, end, floats);
    }
    if (!starts || end > at + 1) return err_set(ERR_INPUT, "levels are damaged");
    return 0;
}

/* Take the rest of the block, or up to the row after the last one wanted: 1 when that came. */
static int take_block(struct cursor *c, size_t rows, size_t *row, size_t *floats)
{
    while (c->block_at < c->block_size) {
        size_t at = c->block_at;
        if (!c->rep_block[at]) {
            if (*row == rows) return 1;
            c->starts[(*row)++] = *floats;
        } else if (!*row) {
            return err_set(ERR_INPUT, "levels are damaged: a row without a start");
        }
        const uint8_t *next = memchr(c->rep_block + at + 1, 0, c->block_size - at - 1);
        size_t end = next ? (size_t)(next - c->rep_block) : c->block_size;
        int rc = add_levels(c, at, end, *row - 1, floats);
        if (rc) return rc;
        c->block_at = end;
    }
    return 0;
}

static int read_lists(struct cursor *c, size_t rows)
{
    size_t row = 0, floats = 0;
    int rc = 0;
    reserve_rows(c, rows);
    reserve_data(c, sizeof(float));
    while (!rc) {
        if (c->block_at == c->block_size) rc = fill_block(c);
        if (!rc) rc = take_block(c, rows, &row, &floats);
    }
    if (rc < 0) return rc;
    if (row < rows) return err_set(ERR_INPUT, "it ends before its last row");
    c->starts[rows] = floats;
    c->values.rows = rows;
    c->values.valid = memchr(c->valid, 0, rows) ? c->valid : NULL;
    return 0;
}

int cursor_read(struct cursor *c, size_t rows)
{
    struct parquet_values *v = &c->values;
    pagestore_keep_last(&c->pages, c->stored);
    decoder_forget(&c->decoder);
    int rc = c->leaf->max_rep ? read_lists(c, rows) : read_flat(c, rows);
    if (rc) return rc;
    switch (c->leaf->field.type) {
    case PARQUET_BOOL: v->bools = (uint8_t *)c->data; break;
    case PARQUET_INT32:
    case PARQUET_INT64: v->ints = (int64_t *)(void *)c->data; break;
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE: v->reals = (double *)(void *)c->data; break;
    case PARQUET_STRING:
    case PARQUET_BINARY: v->slices = (struct parquet_slice *)(void *)c->data; break;
    case PARQUET_FLOATS:
        v->floats = (float *)(void *)c->data;
        v->starts = c->starts;
        break;
    }
    return 0;
}

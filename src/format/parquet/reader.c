/* reader.c - a Parquet file in memory, read in batches.
 * All selected columns advance together; a batch never crosses a row group, so dictionaries and
 * pages live as long as the batch that points into them. */
#include "format/parquet/parquet.h"
#include "base/err.h"
#include "base/mem.h"
#include "format/parquet/cursor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_ROWS = 4096, BATCH_LIMIT = 65536, BATCH_BYTES = 8 << 20 };

struct parquet_reader {
    struct footer footer;
    size_t *leaf_of; /* field -> leaf */
    size_t nfields;
    char **skipped;
    size_t nskipped;
    struct cursor **cursors;     /* of each field, NULL when not selected */
    struct footer_chunk *chunks; /* of the current row group */
    struct codec_state codec;
    size_t group;       /* the next to be opened */
    uint64_t rows_left; /* in the open one */
    size_t suits;       /* rows of a batch there */
    int failed;         /* no column can be trusted to stand at the same row */
};

/* ---- open ---- */

static void add_skipped(struct parquet_reader *r, const struct leaf *leaf)
{
    struct str text = {0};
    str_printf(&text, "%s: %s", leaf->field.name, leaf->why);
    if (r->nskipped && !strcmp(r->skipped[r->nskipped - 1], text.p))
        str_release(&text);
    else
        r->skipped[r->nskipped++] = str_steal(&text);
}

static void list_fields(struct parquet_reader *r)
{
    size_t n = r->footer.schema.count;
    r->leaf_of = mem_alloc(mem_mul(n + 1, sizeof *r->leaf_of));
    r->skipped = mem_alloc(mem_mul(n + 1, sizeof *r->skipped));
    r->cursors = mem_alloc(mem_mul(n + 1, sizeof(struct cursor *)));
    r->chunks = mem_alloc(mem_mul(n + 1, sizeof *r->chunks));
    for (size_t i = 0; i < n; i++) {
        const struct leaf *leaf = &r->footer.schema.leaves[i];
        if (leaf->why)
            add_skipped(r, leaf);
        else
            r->leaf_of[r->nfields++] = i;
    }
}

int parquet_open(struct parquet_reader **out, const void *data, size_t n)
{
    struct parquet_reader *r = mem_alloc(sizeof *r);
    *out = NULL;
    int rc = footer_parse(&r->footer, data, n);
    if (rc) {
        parquet_close(r);
        return rc;
    }
    list_fields(r);
    *out = r;
    return 0;
}

void parquet_close(struct parquet_reader *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->nfields; i++) cursor_free(r->cursors[i]);
    for (size_t i = 0; i < r->nskipped; i++) free(r->skipped[i]);
    free(r->cursors);
    free(r->skipped);
    free(r->leaf_of);
    free(r->chunks);
    codec_release(&r->codec);
    footer_release(&r->footer);
    free(r);
}

/* ---- what is there ---- */

uint64_t parquet_rows(const struct parquet_reader *r)
{
    return r->footer.rows;
}

size_t parquet_fields(const struct parquet_reader *r)
{
    return r->nfields;
}

const struct parquet_field *parquet_field(const struct parquet_reader *r, size_t col)
{
    assert(col < r->nfields);
    return &r->footer.schema.leaves[r->leaf_of[col]].field;
}

int parquet_find(const struct parquet_reader *r, const char *name)
{
    for (size_t i = 0; i < r->nfields; i++)
        if (!strcmp(parquet_field(r, i)->name, name)) return (int)i;
    return -1;
}

const char *parquet_metadata(const struct parquet_reader *r, const char *key)
{
    for (size_t i = 0; i + 1 < r->footer.ntexts; i += 2)
        if (!strcmp(r->footer.texts[i], key)) return r->footer.texts[i + 1];
    return NULL;
}

size_t parquet_skipped(const struct parquet_reader *r)
{
    return r->nskipped;
}

const char *parquet_skipped_text(const struct parquet_reader *r, size_t i)
{
    assert(i < r->nskipped);
    return r->skipped[i];
}

/* ---- batches ---- */

void parquet_select(struct parquet_reader *r, size_t col)
{
    assert(col < r->nfields && !r->group); /* before the first batch */
    if (!r->cursors[col])
        r->cursors[col] = cursor_new(&r->footer.schema.leaves[r->leaf_of[col]], &r->codec);
}

void parquet_rewind(struct parquet_reader *r)
{
    r->group = 0;
    r->rows_left = 0;
    r->failed = 0;
}

/* Start the columns of the next row group; 1 when there is none. */
static int open_group(struct parquet_reader *r)
{
    if (r->group == r->footer.ngroups) return 1;
    int rc = footer_group(&r->footer, r->group, r->chunks);
    if (rc) return rc;
    r->rows_left = r->footer.groups[r->group++].rows;
    uint64_t bytes = 0;
    for (size_t i = 0; i < r->nfields; i++) {
        if (!r->cursors[i]) continue;
        const struct footer_chunk *chunk = &r->chunks[r->leaf_of[i]];
        cursor_start(r->cursors[i], chunk);
        bytes += chunk->raw < (uint64_t)1 << 40 ? chunk->raw : (uint64_t)1 << 40;
    }
    uint64_t each = bytes / (r->rows_left ? r->rows_left : 1) + 1;
    uint64_t suits = BATCH_BYTES / each + 1;
    r->suits = suits < BATCH_ROWS ? (size_t)suits : BATCH_ROWS;
    return 0;
}

static int read_column(struct parquet_reader *r, size_t col, size_t rows)
{
    int rc = cursor_read(r->cursors[col], rows);
    if (!rc && r->rows_left == rows) rc = cursor_end(r->cursors[col]);
    return rc ? err_wrap(rc, "column '%s', row group %zu", parquet_field(r, col)->name,
                         r->group - 1)
              : 0;
}

static int next_batch(struct parquet_reader *r, size_t max_rows, size_t *rows)
{
    while (!r->rows_left) {
        int rc = open_group(r);
        if (rc) return rc;
    }
    size_t n = max_rows ? max_rows : r->suits;
    if (n > BATCH_LIMIT) n = BATCH_LIMIT;
    if (n > r->rows_left) n = (size_t)r->rows_left;
    for (size_t i = 0; i < r->nfields; i++) {
        int rc = r->cursors[i] ? read_column(r, i, n) : 0;
        if (rc) return rc;
    }
    r->rows_left -= n;
    *rows = n;
    return 0;
}

int parquet_next(struct parquet_reader *r, size_t max_rows, size_t *rows)
{
    *rows = 0;
    if (r->failed) return err_set(ERR_INPUT, "reading failed before");
    int rc = next_batch(r, max_rows, rows);
    r->failed = rc < 0;
    return rc;
}

int parquet_skip(struct parquet_reader *r, uint64_t rows)
{
    while (rows) {
        size_t some = rows < BATCH_ROWS ? (size_t)rows : BATCH_ROWS;
        if (!r->failed && !r->rows_left && r->group < r->footer.ngroups &&
            r->footer.groups[r->group].rows <= rows) {
            rows -= r->footer.groups[r->group++].rows;
            continue;
        }
        int rc = parquet_next(r, some, &some);
        if (rc) return rc;
        rows -= some;
    }
    return 0;
}

const struct parquet_values *parquet_values(const struct parquet_reader *r, size_t col)
{
    assert(col < r->nfields && r->cursors[col]);
    return &r->cursors[col]->values;
}

/* writer.c - rows in, a Parquet file out.
 * Each column gathers its values (chunk.c); when the row group is full its columns are written
 * one after another and only their footer entries stay in memory. */
#include "format/parquet/parquet.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "format/parquet/chunk.h"
#include "format/parquet/strings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_LEVELS = 1 << 20 }; /* a page of nulls alone has no bytes to end it */

struct parquet_writer {
    struct chunk *chunks;
    size_t count;
    struct chunk_output out;
    struct str groups; /* their footer entries, encoded */
    size_t ngroups;
    size_t group_bytes, group_rows; /* limits */
    size_t bytes, rows, filled;     /* of this group; values put in this row */
    uint64_t total;
    const char *complaint; /* about a value of this row */
    size_t complaint_col;
    char **metadata;
    int finished;
};

const char *parquet_type_name(enum parquet_type type)
{
    static const char *const names[] = {"bool",   "int32",  "int64",  "float",
                                        "double", "string", "binary", "list<float>"};
    return names[type];
}

static int check_columns(const struct parquet_column *columns, size_t count)
{
    struct map seen = {0};
    int rc = count ? 0 : err_set(ERR_USAGE, "a table needs at least one column");
    for (size_t i = 0; i < count && !rc; i++) {
        const char *name = columns[i].name;
        uint64_t *at = map_at(&seen, name, strlen(name), 1);
        if (!*name)
            rc = err_set(ERR_USAGE, "column %zu has no name", i);
        else if (!strings_valid(name, strlen(name)))
            rc = err_set(ERR_USAGE, "the name of column %zu is not UTF-8", i);
        else if ((*at)++)
            rc = err_set(ERR_USAGE, "two columns are named '%s'", name);
    }
    map_release(&seen);
    return rc;
}

static char **copy_texts(const char *const *list)
{
    size_t n = 0;
    while (list && list[n]) n++;
    assert(n % 2 == 0);
    char **copy = mem_alloc((n + 1) * sizeof *copy);
    for (size_t i = 0; i < n; i++) copy[i] = mem_strdup(list[i]);
    return copy;
}

int parquet_writer_new(struct parquet_writer **out, struct sink *sink,
                       const struct parquet_column *columns, size_t count,
                       const struct parquet_options *options)
{
    static const enum codec codecs[] = {
        [PARQUET_SNAPPY] = CODEC_SNAPPY, [PARQUET_ZSTD] = CODEC_ZSTD, [PARQUET_NONE] = CODEC_NONE};
    struct parquet_options o = options ? *options : (struct parquet_options){0};
    *out = NULL;
    int rc = check_columns(columns, count);
    if (rc) return rc;
    assert(!sink_size(sink));
    struct parquet_writer *w = mem_alloc(sizeof *w);
    w->count = count;
    w->chunks = mem_alloc(mem_mul(count, sizeof *w->chunks));
    for (size_t i = 0; i < count; i++)
        chunk_init(&w->chunks[i], &columns[i], o.page_bytes ? o.page_bytes : 1 << 20);
    w->group_bytes = o.row_group_bytes ? o.row_group_bytes : 32 << 20;
    w->group_rows = o.row_group_rows ? o.row_group_rows : 1 << 20;
    w->out = (struct chunk_output){.sink = sink,
                                   .codec = codecs[o.codec],
                                   .level = o.level ? o.level : 1,
                                   .no_dictionary = o.no_dictionary};
    w->metadata = copy_texts(o.metadata);
    w->out.at = 4;
    rc = sink_write(sink, "PAR1", 4);
    if (rc)
        parquet_writer_free(w);
    else
        *out = w;
    return rc;
}

void parquet_writer_free(struct parquet_writer *w)
{
    if (!w) return;
    for (size_t i = 0; i < w->count; i++) chunk_release(&w->chunks[i]);
    free(w->chunks);
    chunk_output_release(&w->out);
    str_release(&w->groups);
    for (char **m = w->metadata; *m; m++) free(*m);
    free(w->metadata);
    free(w);
}

uint64_t parquet_rows_written(const struct parquet_writer *w)
{
    return w->total;
}

/* ---- values ---- */

static inline struct chunk *begin(struct parquet_writer *w, size_t col)
{
    assert(col < w->count && !w->finished);
    struct chunk *c = &w->chunks[col];
    assert(c->rows == w->rows); /* put twice in one row */
    w->filled++;
    return c;
}

static inline void end(struct parquet_writer *w, struct chunk *c, size_t levels, size_t values,
                       size_t bytes)
{
    w->bytes += bytes + 1;
    c->rows++;
    c->open.levels += (uint32_t)levels;
    c->open.values += (uint32_t)values;
    if (c->values.len - c->page_start >= c->page_bytes || c->open.levels >= PAGE_LEVELS)
        chunk_end_page(c);
}

static inline void end_value(struct parquet_writer *w, struct chunk *c, size_t bytes)
{
    if (c->nullable) rle_put(&c->def, &c->defs, 1, 1);
    end(w, c, 1, 1, bytes);
}

/* Room for n more bytes of values, counted as there. */
static inline char *append(struct chunk *c, size_t n)
{
    if (unlikely(c->values.cap - c->values.len <= n)) str_reserve(&c->values, n);
    char *p = c->values.p + c->values.len;
    c->values.len += n;
    return p;
}

static void complain(struct parquet_writer *w, size_t col, const char *what)
{
    if (!w->complaint) w->complaint = what, w->complaint_col = col;
}

void parquet_put_null(struct parquet_writer *w, size_t col)
{
    struct chunk *c = begin(w, col);
    if (!c->nullable) complain(w, col, "has no value but is not nullable");
    if (c->type == PARQUET_FLOATS) rle_put(&c->rep, &c->reps, 0, 1);
    if (c->def.width) rle_put(&c->def, &c->defs, 0, 1);
    c->nulls++;
    end(w, c, 1, 0, 0);
}

void parquet_put_bool(struct parquet_writer *w, size_t col, int value)
{
    struct chunk *c = begin(w, col);
    assert(c->type == PARQUET_BOOL);
    *append(c, 1) = value != 0;
    bounds_int(&c->bounds, value != 0);
    end_value(w, c, 1);
}

void parquet_put_int(struct parquet_writer *w, size_t col, int64_t value)
{
    struct chunk *c = begin(w, col);
    assert(c->type == PARQUET_INT32 || c->type == PARQUET_INT64);
    bounds_int(&c->bounds, value);
    if (c->type == PARQUET_INT64) {
        memcpy(append(c, 8), &value, 8);
        end_value(w, c, 8);
        return;
    }
    if (value != (int32_t)value) complain(w, col, "has a value beyond 32 bits");
    memcpy(append(c, 4), &value, 4); /* little-endian, as the whole program */
    end_value(w, c, 4);
}

void parquet_put_real(struct parquet_writer *w, size_t col, double value)
{
    struct chunk *c = begin(w, col);
    assert(c->type == PARQUET_FLOAT || c->type == PARQUET_DOUBLE);
    if (c->type == PARQUET_DOUBLE) {
        bounds_real(&c->bounds, value);
        memcpy(append(c, 8), &value, 8);
        end_value(w, c, 8);
        return;
    }
    float narrow = (float)value;
    bounds_real(&c->bounds, narrow);
    memcpy(append(c, 4), &narrow, 4);
    end_value(w, c, 4);
}

static void put_bytes(struct parquet_writer *w, size_t col, const void *p, size_t n)
{
    struct chunk *c = begin(w, col);
    if (n > PARQUET_VALUE_LIMIT) complain(w, col, "has a value above 256 MiB"), n = 0;
    size_t start = c->values.len;
    if (c->type == PARQUET_BINARY || likely(strings_valid(p, n))) {
        char *to = append(c, n + 4);
        if (n) memcpy(to + 4, p, n);
    } else {
        append(c, 4);
        strings_repair(&c->values, p, n);
    }
    uint32_t size = (uint32_t)(c->values.len - start - 4);
    memcpy(c->values.p + start, &size, 4);
    end_value(w, c, size + 4);
}

void parquet_put_string(struct parquet_writer *w, size_t col, const void *p, size_t n)
{
    assert(col < w->count && w->chunks[col].type == PARQUET_STRING);
    put_bytes(w, col, p, n);
}

void parquet_put_binary(struct parquet_writer *w, size_t col, const void *p, size_t n)
{
    assert(col < w->count && w->chunks[col].type == PARQUET_BINARY);
    put_bytes(w, col, p, n);
}

void parquet_put_floats(struct parquet_writer *w, size_t col, const float *p, size_t n)
{
    struct chunk *c = begin(w, col);
    assert(c->type == PARQUET_FLOATS);
    if (n > PARQUET_VALUE_LIMIT / sizeof *p) complain(w, col, "has a list above 256 MiB"), n = 0;
    str_add(&c->values, p, n * sizeof *p);
    rle_put(&c->rep, &c->reps, 0, 1);
    if (n > 1) rle_put(&c->rep, &c->reps, 1, n - 1);
    if (n)
        rle_put(&c->def, &c->defs, (uint32_t)c->nullable + 2, n);
    else
        rle_put(&c->def, &c->defs, (uint32_t)c->nullable, 1);
    end(w, c, n ? n : 1, n, n * sizeof *p);
}

/* ---- row groups and footer ---- */

static int write_group(struct parquet_writer *w)
{
    uint64_t start = w->out.at, raw = 0, packed = 0;
    struct thrift_out t = {.out = &w->groups};
    thrift_begin_element(&t);
    thrift_list(&t, 1, THRIFT_STRUCT, w->count);
    for (size_t i = 0; i < w->count; i++) {
        int rc = chunk_write(&w->chunks[i], &w->out, &t, &raw, &packed);
        if (rc) return rc;
    }
    thrift_int(&t, 2, THRIFT_I64, (int64_t)raw);
    thrift_int(&t, 3, THRIFT_I64, (int64_t)w->rows);
    thrift_int(&t, 5, THRIFT_I64, (int64_t)start);
    thrift_int(&t, 6, THRIFT_I64, (int64_t)packed);
    if (w->ngroups < 32768) thrift_int(&t, 7, THRIFT_I16, (int64_t)w->ngroups);
    thrift_end(&t);
    w->ngroups++;
    w->rows = w->bytes = 0;
    return 0;
}

int parquet_end_row(struct parquet_writer *w)
{
    for (size_t i = 0; i < w->count && w->filled < w->count; i++)
        if (w->chunks[i].rows == w->rows) parquet_put_null(w, i);
    w->filled = 0;
    w->rows++;
    w->total++;
    if (w->complaint)
        return err_set(ERR_USAGE, "column '%s' %s (row %llu)", w->chunks[w->complaint_col].name,
                       w->complaint, (unsigned long long)w->total - 1);
    if (w->bytes < w->group_bytes && w->rows < w->group_rows) return 0;
    return write_group(w);
}

static void add_element(struct thrift_out *t, const char *name, int type, int repetition,
                        int children, int converted, int logical)
{
    thrift_begin_element(t);
    if (type >= 0) thrift_int(t, 1, THRIFT_I32, type);
    if (repetition >= 0) thrift_int(t, 3, THRIFT_I32, repetition);
    thrift_bytes(t, 4, name, strlen(name));
    if (children) thrift_int(t, 5, THRIFT_I32, children);
    if (converted >= 0) thrift_int(t, 6, THRIFT_I32, converted);
    if (logical) {
        thrift_begin(t, 10);
        thrift_begin(t, logical);
        thrift_end(t);
        thrift_end(t);
    }
    thrift_end(t);
}

static void add_schema(struct parquet_writer *w, struct thrift_out *t)
{
    size_t elements = 1;
    for (size_t i = 0; i < w->count; i++) elements += w->chunks[i].type == PARQUET_FLOATS ? 3 : 1;
    thrift_list(t, 2, THRIFT_STRUCT, elements);
    add_element(t, "schema", -1, -1, (int)w->count, -1, 0);
    for (size_t i = 0; i < w->count; i++) {
        const struct chunk *c = &w->chunks[i];
        int repetition = c->nullable ? REPETITION_OPTIONAL : REPETITION_REQUIRED;
        int physical = (int)chunk_physical(c);
        if (c->type == PARQUET_FLOATS) {
            add_element(t, c->name, -1, repetition, 1, CONVERTED_LIST, LOGICAL_LIST);
            add_element(t, "list", -1, REPETITION_REPEATED, 1, -1, 0);
            add_element(t, "element", physical, REPETITION_OPTIONAL, 0, -1, 0);
        } else if (c->type == PARQUET_STRING) {
            add_element(t, c->name, physical, repetition, 0, CONVERTED_UTF8, LOGICAL_STRING);
        } else {
            add_element(t, c->name, physical, repetition, 0, -1, 0);
        }
    }
}

static void add_texts(struct thrift_out *t, char *const *texts)
{
    size_t n = 0;
    while (texts[n]) n++;
    if (!n) return;
    thrift_list(t, 5, THRIFT_STRUCT, n / 2);
    for (size_t i = 0; i < n; i += 2) {
        thrift_begin_element(t);
        thrift_bytes(t, 1, texts[i], strlen(texts[i]));
        thrift_bytes(t, 2, texts[i + 1], strlen(texts[i + 1]));
        thrift_end(t);
    }
}

static void add_footer(struct parquet_writer *w, struct str *out)
{
    struct thrift_out t = {.out = out};
    thrift_int(&t, 1, THRIFT_I32, 2);
    add_schema(w, &t);
    thrift_int(&t, 3, THRIFT_I64, (int64_t)w->total);
    thrift_list(&t, 4, THRIFT_STRUCT, w->ngroups);
    str_add(out, w->groups.p, w->groups.len);
    add_texts(&t, w->metadata);
    thrift_bytes(&t, 6, "darkroom", 8);
    thrift_list(&t, 7, THRIFT_STRUCT, w->count);
    for (size_t i = 0; i < w->count; i++) {
        thrift_begin_element(&t); /* ColumnOrder: each type's own order holds for its bounds */
        thrift_begin(&t, 1);
        thrift_end(&t);
        thrift_end(&t);
    }
    str_putc(out, THRIFT_STOP);
}

int parquet_finish(struct parquet_writer *w)
{
    assert(!w->finished && !w->filled);
    w->finished = 1;
    int rc = w->rows ? write_group(w) : 0;
    if (rc) return rc;
    struct str footer = {0};
    add_footer(w, &footer);
    if (footer.len > INT32_MAX) {
        rc = err_set(ERR_OUTPUT, "the Parquet footer would pass 2 GiB");
    } else {
        uint32_t n = (uint32_t)footer.len;
        str_add(&footer, &n, 4);
        str_add(&footer, "PAR1", 4);
        rc = sink_write(w->out.sink, footer.p, footer.len);
    }
    str_release(&footer);
    return rc;
}

/* chunk.c - encode and write one column of a row group.
 * The values wait in PLAIN form until the group is full, so that both choices are made knowing
 * them all: a dictionary only where it pays, and a codec only where the first page shrinks (random
 * floats do not). */
#include "format/parquet/chunk.h"
#include "base/hash.h"
#include "base/mem.h"
#include "format/parquet/strings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CODEC_LOOK = 256 << 10 }; /* snappy may give up on the first 64 KiB of text that shrinks */

static const struct {
    enum physical physical;
    size_t width;   /* bytes in PLAIN; 0 when they vary */
    int dictionary; /* worth trying: floats hardly ever repeat and hashing them costs 3x */
} types[] = {
    [PARQUET_BOOL] = {PHYSICAL_BOOLEAN, 0, 0},      [PARQUET_INT32] = {PHYSICAL_INT32, 4, 1},
    [PARQUET_INT64] = {PHYSICAL_INT64, 8, 1},       [PARQUET_FLOAT] = {PHYSICAL_FLOAT, 4, 0},
    [PARQUET_DOUBLE] = {PHYSICAL_DOUBLE, 8, 0},     [PARQUET_STRING] = {PHYSICAL_BYTE_ARRAY, 0, 1},
    [PARQUET_BINARY] = {PHYSICAL_BYTE_ARRAY, 0, 1}, [PARQUET_FLOATS] = {PHYSICAL_FLOAT, 4, 0},
};

int chunk_max_def(const struct chunk *c)
{
    return c->nullable + (c->type == PARQUET_FLOATS ? 2 : 0);
}

size_t chunk_width(const struct chunk *c)
{
    return types[c->type].width;
}

enum physical chunk_physical(const struct chunk *c)
{
    return types[c->type].physical;
}

void chunk_init(struct chunk *c, const struct parquet_column *column, size_t page_bytes)
{
    *c = (struct chunk){.name = mem_strdup(column->name),
                        .type = column->type,
                        .nullable = column->nullable != 0,
                        .page_bytes = page_bytes};
    c->def.width = rle_width((uint64_t)chunk_max_def(c));
    c->rep.width = 1;
}

void chunk_release(struct chunk *c)
{
    free(c->name);
    free(c->pages);
    str_release(&c->values);
    str_release(&c->defs);
    str_release(&c->reps);
    memset(c, 0, sizeof *c);
}

void chunk_output_release(struct chunk_output *o)
{
    codec_release(&o->state);
    dict_release(&o->dict);
    str_release(&o->levels);
    str_release(&o->body);
    str_release(&o->packed);
    str_release(&o->header);
    str_release(&o->bounds.low);
    str_release(&o->bounds.high);
}

void chunk_end_page(struct chunk *c)
{
    if (!c->open.levels) return;
    if (c->def.width) rle_end(&c->def, &c->defs);
    if (c->type == PARQUET_FLOATS) rle_end(&c->rep, &c->reps);
    c->open.values_end = c->page_start = c->values.len;
    c->open.defs_end = c->defs.len;
    c->open.reps_end = c->reps.len;
    vec_push(c->pages, c->npages, c->pages_cap);
    c->pages[c->npages++] = c->open;
    c->levels += c->open.levels;
    c->count += c->open.values;
    c->open = (struct chunk_page){0};
}

static void clear(struct chunk *c)
{
    str_clear(&c->values);
    str_clear(&c->defs);
    str_clear(&c->reps);
    c->npages = c->page_start = c->rows = c->levels = c->nulls = c->count = 0;
    c->bounds = (struct bounds){0};
}

/* ---- bounds ----
 * Zeros are written as -0 below and +0 above, since readers compare by either rule; strings are
 * cut to 64 bytes and marked inexact, so that a long caption does not swell the footer. */

enum { TEXT_LIMIT = 64 };

/* Most strings are settled by their first eight bytes; a shorter one counts as padded with zeros,
 * which orders it at worst as equal. */
static uint64_t head_of(const char *p, size_t n)
{
    uint64_t v = 0;
    if (n >= 8)
        memcpy(&v, p, 8);
    else
        memcpy(&v, p, n);
    return __builtin_bswap64(v);
}

static void bounds_string(struct bounds *b, const char *values, size_t at, size_t n)
{
    const char *p = values + at;
    uint64_t head = head_of(p, n);
    if (!b->any ||
        (head <= b->low_head && strings_compare(p, n, values + b->low_at, b->low_size) < 0))
        b->low_at = at, b->low_size = n, b->low_head = head;
    if (!b->any ||
        (head >= b->high_head && strings_compare(p, n, values + b->high_at, b->high_size) > 0))
        b->high_at = at, b->high_size = n, b->high_head = head;
    b->any = 1;
}

static void encode_ints(struct bounds_text *out, const struct bounds *b, size_t size)
{
    str_add(&out->low, &b->least, size); /* little-endian, as the whole program */
    str_add(&out->high, &b->most, size);
}

static void encode_reals(struct bounds_text *out, const struct bounds *b, int narrow)
{
    double low = b->low == 0 ? -0.0 : b->low, high = b->high == 0 ? 0.0 : b->high;
    float l = (float)low, h = (float)high;
    str_add(&out->low, narrow ? (void *)&l : (void *)&low, narrow ? sizeof l : sizeof low);
    str_add(&out->high, narrow ? (void *)&h : (void *)&high, narrow ? sizeof h : sizeof high);
}

static void bounds_encode(struct bounds_text *out, const struct bounds *b, enum parquet_type type,
                          const char *values)
{
    int utf8 = type == PARQUET_STRING;
    str_clear(&out->low);
    str_clear(&out->high);
    out->has_low = out->has_high = b->any;
    out->low_exact = out->high_exact = 1;
    if (!b->any) return;
    switch (type) {
    case PARQUET_BOOL: encode_ints(out, b, 1); break;
    case PARQUET_INT32: encode_ints(out, b, 4); break;
    case PARQUET_INT64: encode_ints(out, b, 8); break;
    case PARQUET_FLOAT: encode_reals(out, b, 1); break;
    case PARQUET_DOUBLE: encode_reals(out, b, 0); break;
    case PARQUET_STRING:
    case PARQUET_BINARY:
        strings_below(&out->low, &out->low_exact, values + b->low_at, b->low_size, TEXT_LIMIT,
                      utf8);
        out->has_high = strings_above(&out->high, &out->high_exact, values + b->high_at,
                                      b->high_size, TEXT_LIMIT, utf8);
        break;
    case PARQUET_FLOATS: out->has_low = out->has_high = 0; break;
    }
}

/* ---- pages ---- */

static void add_levels(struct str *out, const struct str *levels, size_t from, size_t to)
{
    uint32_t n = (uint32_t)(to - from);
    str_add(out, &n, 4);
    str_add(out, levels->p + from, n);
}

static void pack_bools(struct str *out, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i += 8) {
        unsigned b = 0;
        for (size_t k = 0; k < 8 && i + k < n; k++) b |= (unsigned)p[i + k] << k;
        str_putc(out, (char)b);
    }
}

static void add_indices(struct str *out, const uint32_t *indices, size_t n, int width)
{
    struct rle_out rle = {.width = width};
    str_putc(out, (char)width);
    for (size_t i = 0; i < n; i++) rle_put(&rle, out, indices[i], 1);
    rle_end(&rle, out);
}

struct part {
    const void *p;
    size_t n;
};

static void page_header(struct chunk_output *o, enum page_type type, size_t raw, size_t packed,
                        uint32_t crc, uint32_t count, enum encoding encoding)
{
    str_clear(&o->header);
    struct thrift_out t = {.out = &o->header};
    thrift_int(&t, 1, THRIFT_I32, type);
    thrift_int(&t, 2, THRIFT_I32, (int64_t)raw);
    thrift_int(&t, 3, THRIFT_I32, (int64_t)packed);
    thrift_int(&t, 4, THRIFT_I32, (int32_t)crc);
    thrift_begin(&t, type == PAGE_DATA ? 5 : 7);
    thrift_int(&t, 1, THRIFT_I32, count);
    thrift_int(&t, 2, THRIFT_I32, encoding);
    if (type == PAGE_DATA) {
        thrift_int(&t, 3, THRIFT_I32, ENCODING_RLE);
        thrift_int(&t, 4, THRIFT_I32, ENCODING_RLE);
    }
    thrift_end(&t);
    str_putc(&o->header, THRIFT_STOP);
}

static int emit(struct chunk_output *o, const void *p, size_t n)
{
    o->at += n;
    return sink_write(o->sink, p, n);
}

/* One page of levels and values, which are joined only when a codec has to see them as one. */
static int write_page(struct chunk_output *o, enum codec codec, enum page_type type,
                      struct part levels, struct part values, uint32_t count,
                      enum encoding encoding, uint64_t *raw_total)
{
    size_t raw = levels.n + values.n;
    if (codec != CODEC_NONE) {
        if (levels.n) {
            str_add(&o->levels, values.p, values.n);
            values = (struct part){o->levels.p, o->levels.len};
        }
        codec_pack(&o->state, &o->packed, codec, o->level, values.p, values.n);
        levels.n = 0;
        values = (struct part){o->packed.p, o->packed.len};
    }
    uint32_t crc = hash_crc32(hash_crc32(0, levels.p, levels.n), values.p, values.n);
    page_header(o, type, raw, levels.n + values.n, crc, count, encoding);
    *raw_total += o->header.len + raw;
    int rc = emit(o, o->header.p, o->header.len);
    if (!rc && levels.n) rc = emit(o, levels.p, levels.n);
    if (!rc && values.n) rc = emit(o, values.p, values.n);
    return rc;
}

/* The bytes of page i before its codec: levels in o->levels, values in place or in o->body. */
static struct part page_parts(const struct chunk *c, struct chunk_output *o, size_t i,
                              size_t first_value, int dictionary)
{
    const struct chunk_page *page = &c->pages[i];
    struct chunk_page before = i ? c->pages[i - 1] : (struct chunk_page){0};
    str_clear(&o->levels);
    str_clear(&o->body);
    if (c->type == PARQUET_FLOATS)
        add_levels(&o->levels, &c->reps, before.reps_end, page->reps_end);
    if (c->def.width) add_levels(&o->levels, &c->defs, before.defs_end, page->defs_end);
    const char *values = c->values.p + before.values_end;
    if (dictionary)
        add_indices(&o->body, o->dict.indices + first_value, page->values, dict_width(&o->dict));
    else if (c->type == PARQUET_BOOL)
        pack_bools(&o->body, values, page->values);
    else
        return (struct part){values, page->values_end - before.values_end};
    return (struct part){o->body.p, o->body.len};
}

/* The chunk's codec: the file's, unless the beginning of its first page hardly shrinks. */
static enum codec choose_codec(const struct chunk *c, struct chunk_output *o, int dictionary)
{
    if (o->codec == CODEC_NONE || !c->npages) return CODEC_NONE;
    struct part values =
        dictionary ? (struct part){o->dict.plain.p, o->dict.plain.len} : page_parts(c, o, 0, 0, 0);
    if (!values.n) return o->codec;
    if (values.n > CODEC_LOOK) values.n = CODEC_LOOK;
    codec_pack(&o->state, &o->packed, o->codec, o->level, values.p, values.n);
    return o->packed.len < values.n - values.n / 32 ? o->codec : CODEC_NONE;
}

/* ---- the chunk ---- */

struct written {
    enum codec codec;
    int dictionary;
    uint64_t start, data_start, raw;
};

static int write_pages(struct chunk *c, struct chunk_output *o, struct written *w)
{
    struct part none = {NULL, 0}, entries = {o->dict.plain.p, o->dict.plain.len};
    int rc = 0;
    w->start = o->at;
    if (w->dictionary)
        rc = write_page(o, w->codec, PAGE_DICTIONARY, none, entries, (uint32_t)o->dict.count,
                        ENCODING_PLAIN, &w->raw);
    w->data_start = o->at;
    enum encoding encoding = w->dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN;
    for (size_t i = 0, value = 0; i < c->npages && !rc; i++) {
        struct part values = page_parts(c, o, i, value, w->dictionary);
        struct part levels = {o->levels.p, o->levels.len};
        rc = write_page(o, w->codec, PAGE_DATA, levels, values, c->pages[i].levels, encoding,
                        &w->raw);
        value += c->pages[i].values;
    }
    return rc;
}

/* The bounds of strings, over the dictionary's entries where there is one. */
static const char *bound_strings(struct chunk *c, const struct dict *d, int dictionary)
{
    const struct str *all = dictionary ? &d->plain : &c->values;
    uint32_t size;
    for (size_t at = 0; at < all->len; at += 4 + (size_t)size) {
        memcpy(&size, all->p + at, 4);
        bounds_string(&c->bounds, all->p, at + 4, size);
    }
    return all->p;
}

static void add_statistics(struct chunk *c, struct chunk_output *o, struct thrift_out *t,
                           int dictionary)
{
    struct bounds_text *b = &o->bounds;
    const char *values = NULL;
    if (c->type == PARQUET_FLOATS) return;
    if (c->type == PARQUET_STRING || c->type == PARQUET_BINARY)
        values = bound_strings(c, &o->dict, dictionary);
    bounds_encode(b, &c->bounds, c->type, values);
    thrift_begin(t, 12);
    thrift_int(t, 3, THRIFT_I64, (int64_t)c->nulls);
    if (b->has_high) thrift_bytes(t, 5, b->high.p, b->high.len);
    if (b->has_low) thrift_bytes(t, 6, b->low.p, b->low.len);
    if (b->has_high) thrift_bool(t, 7, b->high_exact);
    if (b->has_low) thrift_bool(t, 8, b->low_exact);
    thrift_end(t);
}

static void add_metadata(struct chunk *c, struct chunk_output *o, struct thrift_out *t,
                         const struct written *w)
{
    int list = c->type == PARQUET_FLOATS;
    thrift_begin_element(t);
    thrift_int(t, 2, THRIFT_I64, 0); /* file_offset: deprecated, zero by the format's advice */
    thrift_begin(t, 3);
    thrift_int(t, 1, THRIFT_I32, types[c->type].physical);
    thrift_list(t, 2, THRIFT_I32, w->dictionary ? 3 : 2);
    thrift_int_element(t, ENCODING_PLAIN);
    thrift_int_element(t, ENCODING_RLE);
    if (w->dictionary) thrift_int_element(t, ENCODING_RLE_DICTIONARY);
    thrift_list(t, 3, THRIFT_BINARY, list ? 3 : 1);
    thrift_bytes_element(t, c->name, strlen(c->name));
    if (list) thrift_bytes_element(t, "list", 4), thrift_bytes_element(t, "element", 7);
    thrift_int(t, 4, THRIFT_I32, w->codec);
    thrift_int(t, 5, THRIFT_I64, (int64_t)c->levels);
    thrift_int(t, 6, THRIFT_I64, (int64_t)w->raw);
    thrift_int(t, 7, THRIFT_I64, (int64_t)(o->at - w->start));
    thrift_int(t, 9, THRIFT_I64, (int64_t)w->data_start);
    if (w->dictionary) thrift_int(t, 11, THRIFT_I64, (int64_t)w->start);
    add_statistics(c, o, t, w->dictionary);
    thrift_end(t);
    thrift_end(t);
}

int chunk_write(struct chunk *c, struct chunk_output *o, struct thrift_out *footer, uint64_t *raw,
                uint64_t *packed)
{
    struct written w = {0};
    chunk_end_page(c);
    w.dictionary = types[c->type].dictionary && !o->no_dictionary &&
                   dict_build(&o->dict, c->values.p, c->values.len, c->count, types[c->type].width);
    w.codec = choose_codec(c, o, w.dictionary);
    int rc = write_pages(c, o, &w);
    if (rc) return rc;
    add_metadata(c, o, footer, &w);
    *raw += w.raw;
    *packed += o->at - w.start;
    clear(c);
    return 0;
}

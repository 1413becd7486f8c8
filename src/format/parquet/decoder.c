/* decoder.c - the values of one page.
 * Two steps: stored values come out of their encoding (numbers in blocks, strings as slices into
 * the page), then they are widened to the few types we give out. A dictionary is a PLAIN page
 * that went through the same two steps, so its pages need only be looked up. */
#include "format/parquet/decoder.h"
#include "base/err.h"
#include "format/parquet/number.h"

#include <assert.h>
#include <string.h>

enum { BLOCK = 512, MAX_BUILT = 256 << 20 };

size_t decoder_size(const struct leaf *leaf)
{
    static const size_t sizes[] = {
        [PARQUET_BOOL] = 1,
        [PARQUET_INT32] = sizeof(int64_t),
        [PARQUET_INT64] = sizeof(int64_t),
        [PARQUET_FLOAT] = sizeof(double),
        [PARQUET_DOUBLE] = sizeof(double),
        [PARQUET_STRING] = sizeof(struct parquet_slice),
        [PARQUET_BINARY] = sizeof(struct parquet_slice),
        [PARQUET_FLOATS] = sizeof(float),
    };
    return sizes[leaf->field.type];
}

static int damaged(const char *what)
{
    return err_set(ERR_INPUT, "a page is damaged: %s", what);
}

/* ---- start ---- */

static int start_indices(struct decoder *d)
{
    if (!d->dictionary) return damaged("it needs a dictionary that is not there");
    if (d->p == d->end) { /* a page of nulls alone may hold nothing */
        rle_init(&d->rle, 0, d->p, 0);
        return 0;
    }
    int width = *d->p++;
    if (width > 32) return damaged("dictionary indices of more than 32 bits");
    rle_init(&d->rle, width, d->p, (size_t)(d->end - d->p));
    return 0;
}

static int start_bools(struct decoder *d)
{
    uint32_t n;
    if (d->end - d->p < 4) return damaged("booleans cut short");
    memcpy(&n, d->p, 4);
    d->p += 4;
    if (n > (size_t)(d->end - d->p)) return damaged("booleans cut short");
    rle_init(&d->rle, 1, d->p, n);
    return 0;
}

static int start_lengths(struct decoder *d)
{
    if (d->p == d->end) { /* as above */
        d->delta = d->prefix = (struct delta){0};
        return 0;
    }
    if (d->encoding == ENCODING_DELTA_BYTE_ARRAY) {
        if (delta_init(&d->prefix, d->p, (size_t)(d->end - d->p)) || delta_end(d->prefix, &d->p))
            return damaged("prefix lengths");
        str_clear(&d->last);
    }
    if (delta_init(&d->delta, d->p, (size_t)(d->end - d->p)) || delta_end(d->delta, &d->p))
        return damaged("string lengths");
    return 0;
}

static int start_streams(struct decoder *d)
{
    size_t bytes = (size_t)(d->end - d->p);
    if (bytes % d->leaf->width) return damaged("byte streams of unequal length");
    d->count = bytes / d->leaf->width;
    return 0;
}

static int fits(enum encoding encoding, enum physical p)
{
    int bytes = p == PHYSICAL_BYTE_ARRAY;
    int number = p == PHYSICAL_INT32 || p == PHYSICAL_INT64;
    switch (encoding) {
    case ENCODING_PLAIN: return 1;
    case ENCODING_PLAIN_DICTIONARY:
    case ENCODING_RLE_DICTIONARY: return p != PHYSICAL_BOOLEAN;
    case ENCODING_RLE: return p == PHYSICAL_BOOLEAN;
    case ENCODING_DELTA_BINARY_PACKED: return number;
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY: return bytes;
    case ENCODING_DELTA_BYTE_ARRAY: return bytes || p == PHYSICAL_FIXED;
    case ENCODING_BYTE_STREAM_SPLIT:
        return number || p == PHYSICAL_FLOAT || p == PHYSICAL_DOUBLE || p == PHYSICAL_FIXED;
    default: return 0;
    }
}

int decoder_start(struct decoder *d, const struct datapage *page)
{
    d->encoding = page->encoding;
    d->p = page->values.p;
    d->end = page->values.p + page->values.n;
    d->bit = 0;
    d->at = d->count = 0;
    if (!fits(d->encoding, d->leaf->physical))
        return err_set(ERR_INPUT, "encoding %d is not supported for this type", (int)d->encoding);
    if (d->encoding == ENCODING_PLAIN_DICTIONARY) d->encoding = ENCODING_RLE_DICTIONARY;
    switch (d->encoding) {
    case ENCODING_RLE_DICTIONARY: return start_indices(d);
    case ENCODING_RLE: return start_bools(d);
    case ENCODING_DELTA_BINARY_PACKED:
        if (d->p == d->end) return d->delta = (struct delta){0}, 0;
        return delta_init(&d->delta, d->p, page->values.n) ? damaged("integer differences") : 0;
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY:
    case ENCODING_DELTA_BYTE_ARRAY: return start_lengths(d);
    case ENCODING_BYTE_STREAM_SPLIT: return start_streams(d);
    default: return 0;
    }
}

/* ---- booleans ---- */

static int get_bools(struct decoder *d, uint8_t *out, size_t n)
{
    if (d->encoding == ENCODING_RLE)
        return rle_get_bytes(&d->rle, out, n, 1) ? damaged("booleans cut short") : 0;
    if (n > (size_t)(d->end - d->p) * 8 - d->bit) return damaged("booleans cut short");
    for (size_t i = 0; i < n; i++) {
        out[i] = *d->p >> d->bit & 1;
        if (++d->bit == 8) d->bit = 0, d->p++;
    }
    return 0;
}

/* ---- numbers: at most BLOCK stored values, in the page or in buf ---- */

static void unsplit(struct decoder *d, unsigned char *out, size_t n)
{
    size_t width = d->leaf->width;
    for (size_t k = 0; k < width; k++) {
        const unsigned char *stream = d->p + k * d->count + d->at;
        for (size_t i = 0; i < n; i++) out[i * width + k] = stream[i];
    }
    d->at += n;
}

static const unsigned char *stored(struct decoder *d, unsigned char *buf, size_t n)
{
    size_t width = d->leaf->width;
    if (d->encoding == ENCODING_PLAIN) {
        if (n > (size_t)(d->end - d->p) / width) return NULL;
        const unsigned char *p = d->p;
        d->p += n * width;
        return p;
    }
    if (d->encoding == ENCODING_BYTE_STREAM_SPLIT) {
        if (n > d->count - d->at) return NULL;
        unsplit(d, buf, n);
        return buf;
    }
    int64_t wide[BLOCK];
    if (delta_get(&d->delta, wide, n)) return NULL;
    for (size_t i = 0; i < n; i++) memcpy(buf + i * width, &wide[i], width); /* little-endian */
    return buf;
}

static int get_numbers(struct decoder *d, char *out, size_t n)
{
    unsigned char buf[BLOCK * 12];
    size_t size = decoder_size(d->leaf);
    while (n) {
        size_t m = n < BLOCK ? n : BLOCK;
        const unsigned char *p = stored(d, buf, m);
        if (!p) return damaged("values cut short");
        number_widen(out, p, m, d->leaf);
        out += m * size, n -= m;
    }
    return 0;
}

/* ---- bytes ---- */

static int plain_slices(struct decoder *d, struct parquet_slice *out, size_t n)
{
    const unsigned char *p = d->p;
    for (size_t i = 0; i < n; i++) {
        uint32_t size = (uint32_t)d->leaf->width;
        if (!size) {
            if (d->end - p < 4) return damaged("strings cut short");
            memcpy(&size, p, 4);
            p += 4;
        }
        if (size > (size_t)(d->end - p)) return damaged("strings cut short");
        out[i] = (struct parquet_slice){(const char *)p, size};
        p += size;
    }
    d->p = p;
    return 0;
}

static char *build(struct decoder *d, size_t n)
{
    if (n > MAX_BUILT - d->built_bytes) return NULL;
    d->built_bytes += n;
    return arena_alloc(&d->built, n + 1);
}

static int split_slices(struct decoder *d, struct parquet_slice *out, size_t n)
{
    size_t width = d->leaf->width;
    if (n > d->count - d->at) return damaged("values cut short");
    char *p = n > MAX_BUILT / width ? NULL : build(d, n * width);
    if (!p) return err_set(ERR_INPUT, "a batch of strings is above 256 MiB");
    unsplit(d, (unsigned char *)p, n);
    for (size_t i = 0; i < n; i++) out[i] = (struct parquet_slice){p + i * width, width};
    return 0;
}

static int sized_slices(struct decoder *d, struct parquet_slice *out, size_t n)
{
    int64_t size[BLOCK];
    if (delta_get(&d->delta, size, n)) return damaged("string lengths");
    for (size_t i = 0; i < n; i++) {
        if (size[i] < 0 || size[i] > d->end - d->p) return damaged("strings cut short");
        out[i] = (struct parquet_slice){(const char *)d->p, (size_t)size[i]};
        d->p += size[i];
    }
    return 0;
}

/* Each string shares a prefix with the one before it. */
static int front_coded_slices(struct decoder *d, struct parquet_slice *out, size_t n)
{
    int64_t shared[BLOCK];
    if (delta_get(&d->prefix, shared, n)) return damaged("prefix lengths");
    int rc = sized_slices(d, out, n);
    if (rc) return rc;
    struct parquet_slice last = {d->last.p, d->last.len};
    for (size_t i = 0; i < n; i++) {
        size_t head = (size_t)shared[i], size = head + out[i].n;
        if (shared[i] < 0 || head > last.n) return damaged("prefix lengths");
        if (head) {
            char *p = build(d, size);
            if (!p) return err_set(ERR_INPUT, "a batch of strings is above 256 MiB");
            memcpy(p, last.p, head);
            memcpy(p + head, out[i].p, out[i].n);
            out[i] = (struct parquet_slice){p, size};
        }
        if (d->leaf->width && size != d->leaf->width) return damaged("a value of another length");
        last = out[i];
    }
    str_clear(&d->last);
    str_add(&d->last, last.p, last.n);
    return 0;
}

/* n <= BLOCK */
static int get_slices(struct decoder *d, struct parquet_slice *out, size_t n)
{
    switch (d->encoding) {
    case ENCODING_PLAIN: return plain_slices(d, out, n);
    case ENCODING_BYTE_STREAM_SPLIT: return split_slices(d, out, n);
    case ENCODING_DELTA_LENGTH_BYTE_ARRAY: return sized_slices(d, out, n);
    default: return front_coded_slices(d, out, n);
    }
}

static int get_bytes(struct decoder *d, char *out, size_t n)
{
    struct parquet_slice buf[BLOCK];
    size_t size = decoder_size(d->leaf);
    int direct = d->leaf->convert == CONVERT_BYTES;
    for (size_t m; n; n -= m, out += m * size) {
        m = n < BLOCK ? n : BLOCK;
        struct parquet_slice *slices = direct ? (struct parquet_slice *)(void *)out : buf;
        int rc = get_slices(d, slices, m);
        if (!rc && !direct && number_parse(out, buf, m, d->leaf))
            rc = damaged("a decimal of more than 128 bits");
        if (rc) return rc;
    }
    return 0;
}

/* ---- dictionary ---- */

static void look_up(void *out, const uint32_t *at, size_t n, const void *dictionary, size_t size)
{
    const struct parquet_slice *slices = dictionary;
    const uint64_t *words = dictionary;
    const uint32_t *halves = dictionary;
    if (size == 16)
        for (size_t i = 0; i < n; i++) ((struct parquet_slice *)out)[i] = slices[at[i]];
    else if (size == 8)
        for (size_t i = 0; i < n; i++) ((uint64_t *)out)[i] = words[at[i]];
    else
        for (size_t i = 0; i < n; i++) ((uint32_t *)out)[i] = halves[at[i]];
}

static int get_entries(struct decoder *d, char *out, size_t n)
{
    uint32_t at[BLOCK];
    size_t size = decoder_size(d->leaf);
    if (n && !d->entries) return damaged("its dictionary is empty");
    for (size_t m; n; n -= m, out += m * size) {
        m = n < BLOCK ? n : BLOCK;
        if (rle_get(&d->rle, at, m, (uint32_t)d->entries - 1)) return damaged("dictionary indices");
        look_up(out, at, m, d->dictionary, size);
    }
    return 0;
}

int decoder_get(struct decoder *d, void *out, size_t n)
{
    if (!n) return 0;
    if (d->encoding == ENCODING_RLE_DICTIONARY) return get_entries(d, out, n);
    switch (d->leaf->physical) {
    case PHYSICAL_BOOLEAN: return get_bools(d, out, n);
    case PHYSICAL_BYTE_ARRAY:
    case PHYSICAL_FIXED: return get_bytes(d, out, n);
    default: return get_numbers(d, out, n);
    }
}

void decoder_forget(struct decoder *d)
{
    arena_reset(&d->built);
    d->built_bytes = 0;
}

void decoder_release(struct decoder *d)
{
    str_release(&d->last);
    arena_release(&d->built);
    memset(d, 0, sizeof *d);
}

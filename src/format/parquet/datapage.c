/* datapage.c - read one page.
 * Both page versions end as the same three stretches of bytes: repetition levels, definition
 * levels, values. What is not compressed is used where it lies in the file. */
#include "format/parquet/datapage.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PAGE = 1 << 30 };

void pagestore_keep_last(struct pagestore *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct pagebuf last = s->list[s->used - n + i];
        s->list[s->used - n + i] = s->list[i];
        s->list[i] = last;
    }
    s->used = n;
}

void pagestore_release(struct pagestore *s)
{
    for (size_t i = 0; i < s->count; i++) free(s->list[i].p);
    free(s->list);
    memset(s, 0, sizeof *s);
}

static unsigned char *take(struct pagestore *s, size_t n)
{
    if (s->used == s->count) {
        vec_push(s->list, s->count, s->cap);
        s->list[s->count++] = (struct pagebuf){0};
    }
    struct pagebuf *b = &s->list[s->used++];
    if (b->cap < n || !b->p) {
        free(b->p);
        b->cap = n;
        b->p = mem_resize(NULL, n ? n : 1);
    }
    return b->p;
}

struct header {
    int64_t type, raw, packed, count, encoding, def_encoding, rep_encoding, def_size, rep_size;
    int64_t crc;
    int has_crc, compressed, has_body;
};

static void read_body(struct thrift_in *t, struct header *h, int v2)
{
    thrift_enter(t);
    h->has_body = 1;
    for (struct thrift_field f = {0}; thrift_next(t, &f);) {
        switch (v2 && f.id > 1 ? f.id + 100 : f.id) {
        case 1: h->count = thrift_get_int(t, f); break;
        case 2:
        case 104: h->encoding = thrift_get_int(t, f); break;
        case 3: /* of a dictionary: is_sorted */ h->def_encoding = thrift_get_int(t, f); break;
        case 4: h->rep_encoding = thrift_get_int(t, f); break;
        case 105: h->def_size = thrift_get_int(t, f); break;
        case 106: h->rep_size = thrift_get_int(t, f); break;
        case 107: h->compressed = thrift_get_int(t, f) != 0; break;
        default: thrift_skip(t, f.type);
        }
    }
}

static int read_header(struct header *h, struct footer_chunk *chunk)
{
    struct thrift_in t = {.p = chunk->p, .end = chunk->end};
    *h = (struct header){.type = -1, .raw = -1, .packed = -1, .compressed = 1};
    thrift_enter(&t);
    for (struct thrift_field f = {0}; thrift_next(&t, &f);) {
        int body = f.type == THRIFT_STRUCT && (f.id == 5 || f.id == 7 || f.id == 8);
        if (f.id == 1)
            h->type = thrift_get_int(&t, f);
        else if (f.id == 2)
            h->raw = thrift_get_int(&t, f);
        else if (f.id == 3)
            h->packed = thrift_get_int(&t, f);
        else if (f.id == 4)
            h->crc = thrift_get_int(&t, f), h->has_crc = 1;
        else if (body)
            read_body(&t, h, f.id == 8);
        else
            thrift_skip(&t, f.type);
    }
    if (t.bad) return err_set(ERR_INPUT, "a page header is damaged: %s", t.bad);
    if (h->packed < 0 || h->packed > t.end - t.p)
        return err_set(ERR_INPUT, "a page reaches beyond its column");
    if (h->raw < 0 || h->raw > MAX_PAGE || h->packed > MAX_PAGE)
        return err_set(ERR_INPUT, "a page is above 1 GiB");
    chunk->p = t.p;
    return 0;
}

/* Decompress, or point into the file. */
static int unpack(struct bytes *out, struct bytes in, size_t raw, enum codec codec,
                  struct codec_state *state, struct pagestore *store, size_t *stored)
{
    if (codec == CODEC_NONE) {
        *out = in;
        return in.n == raw ? 0 : err_set(ERR_INPUT, "a page has not the size it claims");
    }
    if (!codec_plausible(codec, raw, in.n))
        return err_set(ERR_INPUT, "a page of %zu bytes cannot unpack to %zu", in.n, raw);
    unsigned char *p = take(store, raw);
    ++*stored;
    *out = (struct bytes){p, raw};
    return codec_unpack(state, p, raw, codec, in.p, in.n);
}

/* Cut n bytes from the front of *from. */
static int cut(struct bytes *out, struct bytes *from, uint64_t n)
{
    if (n > from->n) return err_set(ERR_INPUT, "the levels reach beyond their page");
    *out = (struct bytes){from->p, (size_t)n};
    from->p += n, from->n -= (size_t)n;
    return 0;
}

static int cut_sized(struct bytes *out, struct bytes *from, int64_t encoding)
{
    struct bytes size = {0};
    uint32_t n;
    if (encoding != ENCODING_RLE)
        return err_set(ERR_INPUT, "levels in encoding %lld are not supported", (long long)encoding);
    int rc = cut(&size, from, 4);
    if (rc) return rc;
    memcpy(&n, size.p, 4);
    return cut(out, from, n);
}

static int open_v1(struct datapage *out, const struct header *h, const struct leaf *leaf)
{
    int rc = 0;
    if (leaf->max_rep) rc = cut_sized(&out->reps, &out->values, h->rep_encoding);
    if (!rc && leaf->max_def) rc = cut_sized(&out->defs, &out->values, h->def_encoding);
    return rc;
}

/* Version 2 leaves the levels uncompressed in front. */
static int open_v2(struct datapage *out, const struct header *h, struct bytes *body)
{
    int rc = cut(&out->reps, body, (uint64_t)h->rep_size);
    return rc ? rc : cut(&out->defs, body, (uint64_t)h->def_size);
}

static int check_crc(const struct header *h, struct bytes body)
{
    if (!h->has_crc || hash_crc32(0, body.p, body.n) == (uint32_t)h->crc) return 0;
    return err_set(ERR_INPUT, "a page does not match its checksum");
}

static int open_page(struct datapage *out, const struct header *h, struct bytes body,
                     enum codec codec, const struct leaf *leaf, struct codec_state *state,
                     struct pagestore *store, size_t *stored)
{
    int v2 = h->type == PAGE_DATA_V2;
    if (!h->has_body || h->count < 0 || h->count > INT32_MAX || h->encoding < 0 ||
        h->encoding >= ENCODING_COUNT)
        return err_set(ERR_INPUT, "a page header is damaged: impossible values");
    *out = (struct datapage){.type = (enum page_type)h->type,
                             .encoding = (enum encoding)h->encoding,
                             .count = (uint32_t)h->count};
    int rc = check_crc(h, body);
    if (!rc && v2) rc = open_v2(out, h, &body);
    if (rc) return rc;
    uint64_t levels = out->reps.n + out->defs.n;
    if ((uint64_t)h->raw < levels) return err_set(ERR_INPUT, "a page is smaller than its levels");
    if (v2 && (!h->compressed || !body.n)) codec = CODEC_NONE;
    rc = unpack(&out->values, body, (size_t)((uint64_t)h->raw - levels), codec, state, store,
                stored);
    return rc || h->type != PAGE_DATA ? rc : open_v1(out, h, leaf);
}

int datapage_next(struct datapage *out, struct footer_chunk *chunk, const struct leaf *leaf,
                  struct codec_state *codec, struct pagestore *store, size_t *stored)
{
    *stored = 0;
    while (chunk->p < chunk->end) {
        struct header h;
        int rc = read_header(&h, chunk);
        if (rc) return rc;
        struct bytes body = {chunk->p, (size_t)h.packed};
        chunk->p += body.n;
        if (h.type == PAGE_DATA || h.type == PAGE_DICTIONARY || h.type == PAGE_DATA_V2)
            return open_page(out, &h, body, chunk->codec, leaf, codec, store, stored);
    }
    return 1;
}

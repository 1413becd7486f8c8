/* zip.c - see zip.h. Read from the end: end record, (zip64 locator and record,) central
 * directory, then the local header of each member for the true start of its data. */
#include "format/zip.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LOCAL_SIG = 0x04034b50,
    CENTRAL_SIG = 0x02014b50,
    END_SIG = 0x06054b50,
    END64_SIG = 0x06064b50,
    LOCATOR_SIG = 0x07064b50,
    LOCAL = 30, /* bytes of the fixed part of each record */
    CENTRAL = 46,
    END = 22,
    END64 = 56,
    LOCATOR = 20,
    COMMENT_MAX = 65535,
    FLAG_ENCRYPTED = 1,
    FLAG_DESCRIPTOR = 8, /* sizes and crc may be zero in the local header */
    ZIP64_EXTRA = 1,
    INFLATE_RATIO = 1032, /* deflate cannot do better */
};

struct bytes {
    const unsigned char *p;
    size_t n;
};

struct directory {
    uint64_t start, size, count;
};

static uint32_t u16(const unsigned char *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const unsigned char *p)
{
    return u16(p) | u16(p + 2) << 16;
}

static uint64_t u64(const unsigned char *p)
{
    return u32(p) | (uint64_t)u32(p + 4) << 32;
}

int zip_is(const void *p, size_t n)
{
    return n >= END && (u32(p) == LOCAL_SIG || u32(p) == END_SIG);
}

/* The end record is the last one whose comment reaches exactly to the end of the file. */
static int find_end(size_t *at, struct bytes f)
{
    if (f.n < END) return err_set(ERR_INPUT, "zip: too short");
    for (size_t back = END; back <= f.n && back <= END + COMMENT_MAX; back++) {
        const unsigned char *p = f.p + f.n - back;
        if (u32(p) == END_SIG && u16(p + 20) == back - END) {
            *at = f.n - back;
            return 0;
        }
    }
    return err_set(ERR_INPUT, "zip: no central directory; the file is cut");
}

static int find_end64(struct directory *d, size_t end, struct bytes f)
{
    if (end < LOCATOR + END64 || u32(f.p + end - LOCATOR) != LOCATOR_SIG)
        return err_set(ERR_INPUT, "zip: the zip64 record is missing");
    const unsigned char *locator = f.p + end - LOCATOR;
    uint64_t at = u64(locator + 8);
    if (u32(locator + 4) || u32(locator + 16) > 1)
        return err_set(ERR_INPUT, "zip: split over several files");
    if (at > end - LOCATOR - END64 || u32(f.p + at) != END64_SIG)
        return err_set(ERR_INPUT, "zip: the zip64 record is missing");
    const unsigned char *p = f.p + at;
    if (u64(p + 4) != end - LOCATOR - at - 12 || u32(p + 16) || u32(p + 20) ||
        u64(p + 24) != u64(p + 32))
        return err_set(ERR_INPUT, "zip: the zip64 record is damaged");
    *d = (struct directory){u64(p + 48), u64(p + 40), u64(p + 32)};
    if (d->start > at || d->size != at - d->start)
        return err_set(ERR_INPUT, "zip: the central directory is not where it should be");
    return 0;
}

static int find_directory(struct directory *d, struct bytes f)
{
    size_t end = 0;
    int rc = find_end(&end, f);
    if (rc) return rc;
    const unsigned char *p = f.p + end;
    if (u16(p + 4) || u16(p + 6) || u16(p + 8) != u16(p + 10))
        return err_set(ERR_INPUT, "zip: split over several files");
    *d = (struct directory){u32(p + 16), u32(p + 12), u16(p + 10)};
    /* Writers may add a zip64 record although nothing needs it. */
    int has64 = end >= LOCATOR && u32(f.p + end - LOCATOR) == LOCATOR_SIG;
    if (has64 || d->start == UINT32_MAX || d->size == UINT32_MAX || d->count == UINT16_MAX)
        rc = find_end64(d, end, f);
    else if (d->start > end || d->size != end - d->start)
        rc = err_set(ERR_INPUT, "zip: the central directory is not where it should be");
    if (!rc && (d->count > ZIP_ENTRIES_MAX || d->count > d->size / CENTRAL))
        rc = err_set(ERR_INPUT, "zip: more members than it can hold");
    return rc;
}

/* Values of 0xffffffff stand in the zip64 extra field instead, in this order. */
static int read_zip64(uint64_t **want, int wanted, struct bytes extra)
{
    while (extra.n >= 4) {
        size_t id = u16(extra.p), n = u16(extra.p + 2);
        if (n > extra.n - 4) break;
        const unsigned char *p = extra.p + 4, *stop = p + n;
        for (; id == ZIP64_EXTRA && wanted && stop - p >= 8; p += 8, wanted--) **want++ = u64(p);
        extra = (struct bytes){stop, extra.n - 4 - n};
    }
    return wanted ? err_set(ERR_INPUT, "zip: a zip64 size is missing") : 0;
}

static int read_sizes(struct zip_entry *e, const unsigned char *sizes, uint64_t *start,
                      struct bytes extra)
{
    uint64_t *want[3];
    int wanted = 0;
    e->packed = u32(sizes);
    e->size = u32(sizes + 4);
    if (e->size == UINT32_MAX) want[wanted++] = &e->size;
    if (e->packed == UINT32_MAX) want[wanted++] = &e->packed;
    if (start && *start == UINT32_MAX) want[wanted++] = start;
    return wanted ? read_zip64(want, wanted, extra) : 0;
}

/* Steps *at over one record of the central directory. */
static int read_central(struct zip *z, struct zip_entry *e, uint64_t *at, uint64_t end,
                        struct bytes f)
{
    const unsigned char *p = f.p + *at;
    if (end - *at < CENTRAL || u32(p) != CENTRAL_SIG)
        return err_set(ERR_INPUT, "zip: the central directory is damaged");
    size_t name = u16(p + 28), extra = u16(p + 30), comment = u16(p + 32);
    if (end - *at - CENTRAL < name + extra + comment)
        return err_set(ERR_INPUT, "zip: the central directory is damaged");
    if (!name || memchr(p + CENTRAL, 0, name)) return err_set(ERR_INPUT, "zip: a bad member name");
    *at += CENTRAL + name + extra + comment;
    e->name = arena_strndup(&z->arena, (const char *)p + CENTRAL, name);
    e->method = (int)u16(p + 10);
    e->crc = u32(p + 16);
    e->start = u32(p + 42);
    if (u16(p + 8) & FLAG_ENCRYPTED) return err_set(ERR_INPUT, "zip: %s is encrypted", e->name);
    if (e->method != ZIP_STORED && e->method != ZIP_DEFLATED)
        return err_set(ERR_INPUT, "zip: %s is packed by method %d", e->name, e->method);
    return read_sizes(e, p + 20, &e->start, (struct bytes){p + CENTRAL + name, extra});
}

/* The local header must tell the same story. With a data descriptor its sizes may be left 0. */
static int read_local(struct zip_entry *e, uint64_t limit, struct bytes f)
{
    struct zip_entry local = {0};
    if (limit < LOCAL || e->start > limit - LOCAL || u32(f.p + e->start) != LOCAL_SIG)
        return err_set(ERR_INPUT, "zip: %s is not where the directory says", e->name);
    const unsigned char *p = f.p + e->start;
    size_t name = u16(p + 26), extra = u16(p + 28), room = limit - LOCAL - e->start;
    if (room < name + extra || name != strlen(e->name) || memcmp(p + LOCAL, e->name, name) ||
        (int)u16(p + 8) != e->method || u16(p + 6) & FLAG_ENCRYPTED)
        return err_set(ERR_INPUT, "zip: two different headers for %s", e->name);
    int rc = read_sizes(&local, p + 18, NULL, (struct bytes){p + LOCAL + name, extra});
    if (rc) return rc;
    int blank = u16(p + 6) & FLAG_DESCRIPTOR && !local.packed && !local.size && !u32(p + 14);
    if (!blank && (local.packed != e->packed || local.size != e->size || u32(p + 14) != e->crc))
        return err_set(ERR_INPUT, "zip: two different sizes for %s", e->name);
    if (e->packed > room - name - extra) return err_set(ERR_INPUT, "zip: %s is cut", e->name);
    if (e->method == ZIP_STORED && e->size != e->packed)
        return err_set(ERR_INPUT, "zip: two different sizes for %s", e->name);
    if (e->size / INFLATE_RATIO > e->packed)
        return err_set(ERR_INPUT, "zip: %s claims an impossible size", e->name);
    e->data = p + LOCAL + name + extra;
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct zip_entry *x = *(struct zip_entry *const *)a, *y = *(struct zip_entry *const *)b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static int check_overlap(const struct zip *z, const unsigned char *base)
{
    struct zip_entry **order = mem_alloc(mem_mul(z->count + 1, sizeof *order));
    int rc = 0;
    for (size_t i = 0; i < z->count; i++) order[i] = &z->list[i];
    qsort(order, z->count, sizeof *order, by_start);
    for (size_t i = 1; i < z->count && !rc; i++)
        if (order[i]->start < (uint64_t)(order[i - 1]->data - base) + order[i - 1]->packed)
            rc = err_set(ERR_INPUT, "zip: %s and %s overlap", order[i - 1]->name, order[i]->name);
    free(order);
    return rc;
}

static int read_members(struct zip *z, const struct directory *d, struct bytes f)
{
    uint64_t at = d->start, end = d->start + d->size;
    z->list = mem_alloc(mem_mul(d->count + 1, sizeof *z->list));
    for (; z->count < d->count; z->count++) {
        struct zip_entry *e = &z->list[z->count];
        int rc = read_central(z, e, &at, end, f);
        if (!rc) rc = read_local(e, d->start, f);
        if (rc) return rc;
        uint64_t *slot = map_at(&z->index, e->name, strlen(e->name), 1);
        if (*slot) return err_set(ERR_INPUT, "zip: two members are named %s", e->name);
        *slot = z->count + 1;
    }
    if (at != end) return err_set(ERR_INPUT, "zip: the central directory is damaged");
    return check_overlap(z, f.p);
}

int zip_init(struct zip *z, const void *p, size_t n)
{
    struct directory d = {0};
    struct bytes f = {p, n};
    *z = (struct zip){0};
    int rc = find_directory(&d, f);
    return rc ? rc : read_members(z, &d, f);
}

void zip_release(struct zip *z)
{
    free(z->list);
    map_release(&z->index);
    arena_release(&z->arena);
    memset(z, 0, sizeof *z);
}

const struct zip_entry *zip_find(const struct zip *z, const char *name)
{
    uint64_t at;
    return map_get(&z->index, name, &at) && at ? &z->list[at - 1] : NULL;
}

/* zlib counts in 32 bits, so big members go through in pieces. */
static int inflate_all(unsigned char *dst, const struct zip_entry *e)
{
    z_stream s = {0};
    uint64_t in = 0, out = 0;
    int state = Z_OK;
    if (inflateInit2(&s, -MAX_WBITS) != Z_OK) return err_set(ERR_FAIL, "zlib does not start");
    while (state == Z_OK) {
        uint64_t give = e->packed - in < 1 << 30 ? e->packed - in : 1 << 30;
        uint64_t take = e->size - out < 1 << 30 ? e->size - out : 1 << 30;
        s.next_in = (Bytef *)(uintptr_t)(e->data + in);
        s.avail_in = (uInt)give;
        s.next_out = dst + out;
        s.avail_out = (uInt)take;
        state = inflate(&s, Z_NO_FLUSH);
        in += give - s.avail_in;
        out += take - s.avail_out;
    }
    inflateEnd(&s);
    if (state != Z_STREAM_END || in != e->packed || out != e->size)
        return err_set(ERR_INPUT, "zip: %s does not inflate to its size", e->name);
    return 0;
}

int zip_check(const struct zip_entry *e, const void *bytes)
{
    if (hash_crc32(0, bytes, e->size) == e->crc) return 0;
    return err_set(ERR_INPUT, "zip: %s is damaged (crc)", e->name);
}

int zip_inflate(void *dst, const struct zip_entry *e)
{
    int rc = inflate_all(dst, e);
    return rc ? rc : zip_check(e, dst);
}

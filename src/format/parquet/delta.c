/* delta.c - DELTA_BINARY_PACKED, decoded as far as asked and no further: a few bytes may stand for
 * billions of values, so nothing is ever unfolded in advance. */
#include "format/parquet/delta.h"
#include "format/parquet/rle.h"

enum { MAX_BLOCK = 1 << 20 };

static int varint(struct delta *d, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 64 && d->p < d->end; shift += 7) {
        unsigned b = *d->p++;
        *out |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return 0;
    }
    return -1;
}

static uint64_t unzigzag(uint64_t v)
{
    return v >> 1 ^ (0 - (v & 1));
}

int delta_init(struct delta *d, const void *p, size_t n)
{
    uint64_t block, minis, count, first;
    *d = (struct delta){.p = p, .end = (const unsigned char *)p + n};
    if (varint(d, &block) || varint(d, &minis) || varint(d, &count) || varint(d, &first)) return -1;
    if (!block || block > MAX_BLOCK || !minis || minis > block || block % minis ||
        block / minis % 8 || count > INT32_MAX)
        return -1;
    d->mini_size = (size_t)(block / minis);
    d->minis = (size_t)minis;
    d->left = (size_t)count;
    d->value = unzigzag(first);
    return 0;
}

static int next_mini(struct delta *d)
{
    if (!d->minis_left) {
        if (varint(d, &d->least) || (size_t)(d->end - d->p) < d->minis) return -1;
        d->least = unzigzag(d->least);
        d->widths = d->p;
        d->p += d->minis;
        d->minis_left = d->minis;
    }
    d->width = *d->widths++;
    d->minis_left--;
    size_t bytes = d->mini_size / 8 * (size_t)d->width;
    if (d->width > 64 || bytes > (size_t)(d->end - d->p)) return -1;
    d->mini = d->p;
    d->p += bytes;
    d->in_mini = d->mini_size;
    d->bit = 0;
    return 0;
}

/* Add m differences of the current miniblock. */
static void add_up(struct delta *d, int64_t *out, size_t m)
{
    uint64_t buf[256];
    uint64_t v = d->value, least = d->least;
    if (d->width) {
        rle_unpack64(buf, m, d->width, d->mini + (d->bit >> 3), d->p, d->bit & 7);
        for (size_t i = 0; i < m; i++) out[i] = (int64_t)(v += least + buf[i]);
    } else {
        for (size_t i = 0; i < m; i++) out[i] = (int64_t)(v += least);
    }
    d->value = v;
    d->bit += m * (uint64_t)d->width;
    d->in_mini -= m;
}

int delta_get(struct delta *d, int64_t *out, size_t n)
{
    if (n > d->left) return -1;
    d->left -= n;
    if (n && !d->started) {
        *out++ = (int64_t)d->value;
        d->started = 1;
        n--;
    }
    while (n) {
        if (!d->in_mini && next_mini(d)) return -1;
        size_t m = n < d->in_mini ? n : d->in_mini;
        if (m > 256) m = 256;
        add_up(d, out, m);
        out += m, n -= m;
    }
    return 0;
}

int delta_end(struct delta d, const unsigned char **end)
{
    size_t left = d.left ? d.left - 1 : 0; /* the first stands in the header */
    while (left) {
        if (next_mini(&d)) return -1;
        left -= left < d.mini_size ? left : d.mini_size;
    }
    *end = d.p;
    return 0;
}

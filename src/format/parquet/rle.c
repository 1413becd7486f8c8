/* rle.c - the hybrid of run lengths and bit packing.
 * Runs of eight or more are written as such; what lies between is packed in groups of eight, for
 * which a run lends its first values when the last group is not full. */
#include "format/parquet/rle.h"
#include "format/parquet/thrift.h"

#include <string.h>

/* ---- writing ---- */

static void pack_literals(struct rle_out *r, struct str *out)
{
    size_t groups = (r->held + 7) / 8;
    if (!groups) return;
    memset(r->literals + r->held, 0, (groups * 8 - r->held) * sizeof *r->literals);
    thrift_varint(out, groups << 1 | 1);
    str_reserve(out, groups * (size_t)r->width + 8);
    uint64_t acc = 0;
    int bits = 0;
    char *p = out->p + out->len;
    for (size_t i = 0; i < groups * 8; i++) {
        acc |= (uint64_t)r->literals[i] << bits;
        for (bits += r->width; bits >= 8; bits -= 8, acc >>= 8) *p++ = (char)acc;
    }
    out->len = (size_t)(p - out->p);
    r->held = 0;
}

static void hold(struct rle_out *r, struct str *out, size_t n)
{
    for (; n; n--) {
        if (r->held == RLE_LITERALS) pack_literals(r, out);
        r->literals[r->held++] = r->value;
    }
}

void rle_flush_run(struct rle_out *r, struct str *out)
{
    size_t lent = (0 - r->held) & 7, run = r->run;
    r->run = 0;
    if (run < lent + 8) {
        hold(r, out, run);
        return;
    }
    hold(r, out, lent);
    pack_literals(r, out);
    thrift_varint(out, (uint64_t)(run - lent) << 1);
    unsigned char le[4] = {(unsigned char)r->value, (unsigned char)(r->value >> 8),
                           (unsigned char)(r->value >> 16), (unsigned char)(r->value >> 24)};
    str_add(out, le, (size_t)(r->width + 7) / 8);
}

void rle_end(struct rle_out *r, struct str *out)
{
    if (r->run) rle_flush_run(r, out);
    pack_literals(r, out);
}

/* ---- reading ---- */

void rle_init(struct rle_in *r, int width, const void *p, size_t n)
{
    const unsigned char *from = n ? p : (const unsigned char *)"";
    *r = (struct rle_in){.p = from, .end = from + n, .width = width};
}

/* Start the next run: 0, or -1 when there is none. A packed run may claim more groups than there
 * are bytes (the last one is padded by some writers): it is cut to what is there. */
static int next_run(struct rle_in *r)
{
    uint64_t head = 0;
    if (r->packed) r->p += r->bit ? 1 : 0;
    r->packed = 0, r->bit = 0;
    for (int shift = 0;; shift += 7) {
        if (r->p >= r->end || shift > 35) return -1;
        head |= (uint64_t)(*r->p & 0x7f) << shift;
        if (!(*r->p++ & 0x80)) break;
    }
    uint64_t left = (uint64_t)(r->end - r->p), count = head >> 1;
    if (head & 1) {
        uint64_t most = r->width ? left * 8 / (unsigned)r->width : UINT32_MAX;
        r->packed = 1;
        r->run = (size_t)(count * 8 < most ? count * 8 : most);
        return 0;
    }
    unsigned bytes = (unsigned)(r->width + 7) / 8;
    if (bytes > left) return -1;
    r->value = 0;
    for (unsigned i = 0; i < bytes; i++) r->value |= (uint32_t)r->p[i] << 8 * i;
    r->p += bytes;
    r->run = (size_t)count;
    return 0;
}

static uint64_t load(const unsigned char *p, const unsigned char *end)
{
    uint64_t v = 0;
    size_t n = (size_t)(end - p);
    if (n >= 8)
        memcpy(&v, p, 8);
    else
        for (size_t i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
    return v;
}

void rle_unpack64(uint64_t *out, size_t n, int width, const unsigned char *p,
                  const unsigned char *end, unsigned bit)
{
    uint64_t mask = width == 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1, at = bit;
    for (size_t i = 0; i < n; i++, at += (unsigned)width) {
        const unsigned char *q = p + (at >> 3);
        unsigned shift = at & 7;
        uint64_t v = load(q, end) >> shift;
        if (shift + (unsigned)width > 64) v |= (uint64_t)q[8] << (64 - shift);
        out[i] = v & mask;
    }
}

/* Unpack n values into out; the largest of them. */
static uint32_t unpack(struct rle_in *r, uint32_t *out, size_t n)
{
    uint32_t top = 0, mask = r->width == 32 ? UINT32_MAX : ((uint32_t)1 << r->width) - 1;
    uint64_t at = r->bit;
    size_t bytes = (size_t)(r->end - r->p), i = 0;
    for (; i < n && (at >> 3) + 8 <= bytes; i++, at += (unsigned)r->width) {
        uint64_t v;
        memcpy(&v, r->p + (at >> 3), 8);
        out[i] = (uint32_t)(v >> (at & 7)) & mask;
        top |= out[i];
    }
    for (; i < n; i++, at += (unsigned)r->width) {
        out[i] = (uint32_t)(load(r->p + (at >> 3), r->end) >> (at & 7)) & mask;
        top |= out[i];
    }
    r->p += at >> 3;
    r->bit = at & 7;
    return top;
}

static int any_above(const uint32_t *v, size_t n, uint32_t max)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) bad |= v[i] > max;
    return bad != 0;
}

int rle_get(struct rle_in *r, uint32_t *out, size_t n, uint32_t max)
{
    while (n) {
        while (!r->run)
            if (next_run(r)) return -1;
        size_t m = n < r->run ? n : r->run;
        if (r->packed) {
            if (unpack(r, out, m) > max && any_above(out, m, max)) return -1;
        } else {
            if (r->value > max) return -1;
            for (size_t i = 0; i < m; i++) out[i] = r->value;
        }
        r->run -= m, out += m, n -= m;
    }
    return 0;
}

int rle_get_bytes(struct rle_in *r, uint8_t *out, size_t n, uint32_t max)
{
    uint32_t buf[256];
    while (n) {
        size_t m = n;
        if (r->run && !r->packed) {
            if (m > r->run) m = r->run;
            if (r->value > max) return -1;
            memset(out, (int)r->value, m);
            r->run -= m;
        } else if (!r->run) {
            if (next_run(r)) return -1;
            continue;
        } else {
            if (m > 256) m = 256;
            if (m > r->run) m = r->run;
            if (rle_get(r, buf, m, max)) return -1;
            for (size_t i = 0; i < m; i++) out[i] = (uint8_t)buf[i];
        }
        out += m, n -= m;
    }
    return 0;
}

size_t rle_same(struct rle_in *r, uint32_t value, size_t n)
{
    if (!r->run && next_run(r)) return 0;
    if (r->packed || r->value != value) return 0;
    return n < r->run ? n : r->run;
}

void rle_drop(struct rle_in *r, size_t n)
{
    r->run -= n;
}

/* probe.c - sizes read from the first bytes of each format. Used to admit large pictures one
 * after the other, so it errs on the large side and refuses nothing. */
#include "image/probe.h"

#include <string.h>

static uint32_t be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t le16(const uint8_t *p)
{
    return (uint32_t)p[1] << 8 | p[0];
}

static uint32_t le24(const uint8_t *p)
{
    return le16(p) | (uint32_t)p[2] << 16;
}

static uint32_t be32(const uint8_t *p)
{
    return be16(p) << 16 | be16(p + 2);
}

static uint32_t le32(const uint8_t *p)
{
    return le16(p) | le16(p + 2) << 16;
}

/* Markers up to the frame header. C0 and C1 are decoded as they come; others may not be. */
static int probe_jpeg(struct probe *out, const uint8_t *p, size_t n)
{
    size_t at = 2;
    while (at + 9 < n) {
        if (p[at] != 0xff) return 1;
        uint8_t m = p[at + 1];
        if (m == 0xff) {
            at++;
            continue;
        }
        if (m >= 0xc0 && m <= 0xcf && m != 0xc4 && m != 0xc8 && m != 0xcc) {
            *out = (struct probe){be16(p + at + 7), be16(p + at + 5), m != 0xc0 && m != 0xc1, 0};
            out->streamed = !out->progressive;
            return 0;
        }
        at += m >= 0xd0 && m <= 0xd9 ? 2 : 2 + be16(p + at + 2);
    }
    return 1;
}

static int probe_webp(struct probe *out, const uint8_t *p, size_t n)
{
    if (n < 30) return 1;
    if (!memcmp(p + 12, "VP8X", 4)) {
        *out = (struct probe){le24(p + 24) + 1, le24(p + 27) + 1, 0, 0};
    } else if (!memcmp(p + 12, "VP8L", 4)) {
        uint32_t v = le32(p + 21);
        *out = (struct probe){(v & 0x3fff) + 1, (v >> 14 & 0x3fff) + 1, 0, 0};
    } else {
        *out = (struct probe){le16(p + 26) & 0x3fff, le16(p + 28) & 0x3fff, 0, 0};
    }
    return 0;
}

static int probe_bmp(struct probe *out, const uint8_t *p, size_t n)
{
    if (n < 26) return 1;
    int old = le32(p + 14) == 12;
    int32_t height = old ? (int32_t)le16(p + 20) : (int32_t)le32(p + 22);
    *out = (struct probe){old ? le16(p + 18) : le32(p + 18), 0, 0, 0};
    out->height = height < 0 ? 0u - (uint32_t)height : (uint32_t)height;
    return 0;
}

int image_probe(struct probe *out, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    if (n > 4 && p[0] == 0xff && p[1] == 0xd8) return probe_jpeg(out, p, n);
    if (n > 24 && !memcmp(p, "\x89PNG", 4)) {
        *out = (struct probe){be32(p + 16), be32(p + 20), 0, 0};
        return 0;
    }
    if (n > 12 && !memcmp(p, "RIFF", 4) && !memcmp(p + 8, "WEBP", 4)) return probe_webp(out, p, n);
    if (n > 10 && !memcmp(p, "GIF8", 4)) {
        *out = (struct probe){le16(p + 6), le16(p + 8), 0, 0};
        return 0;
    }
    if (n > 2 && p[0] == 'B' && p[1] == 'M') return probe_bmp(out, p, n);
    return 1;
}

uint64_t image_cost(const void *bytes, size_t n)
{
    struct probe p;
    if (image_probe(&p, bytes, n)) return 0;
    uint64_t row = (uint64_t)p.width * 64;
    return p.streamed ? row : row + (uint64_t)p.width * p.height * (p.progressive ? 6 : 5);
}

/* bmp.c - Windows and OS/2 bitmaps: 1, 4, 8, 16, 24 and 32 bits, RLE, bit fields, either way up.
 * Own code, since no library in use reads them all; modes are those Pillow opens: a palette that
 * is a plain grey ramp makes L, black and white makes 1, any other P. */
#include "image/image.h"

#include <string.h>

enum { FILE_HEADER = 14, RAW = 0, RLE8 = 1, RLE4 = 2, BITFIELDS = 3 };

struct bmp {
    const uint8_t *p;
    size_t n;
    uint32_t width, height, bits, compression, colors, header;
    size_t data;    /* where the pixels start */
    size_t palette; /* where the palette starts */
    size_t entry;   /* bytes of a palette entry */
    int top_down;
    uint32_t mask[4];      /* R G B A */
    int channel[4];        /* 32 bits: byte of R G B A; -1 = none */
    uint8_t to_value[256]; /* 1 and L: index -> value */
};

static uint32_t u16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const uint8_t *p)
{
    return u16(p) | u16(p + 2) << 16;
}

int bmp_probe(const uint8_t *p, size_t n)
{
    return n >= 2 && p[0] == 'B' && p[1] == 'M';
}

static void read_core_header(struct bmp *b, const uint8_t *h)
{
    b->width = u16(h + 4);
    b->height = u16(h + 6);
    b->bits = u16(h + 10);
    b->entry = 3;
}

static void read_info_header(struct bmp *b, const uint8_t *h)
{
    b->width = u32(h + 4);
    b->height = u32(h + 8);
    b->top_down = h[11] == 0xff;
    if (b->top_down) b->height = 0u - b->height;
    b->bits = u16(h + 14);
    b->compression = u32(h + 16);
    b->colors = u32(h + 32);
    b->entry = 4;
}

static int header_known(uint32_t size)
{
    static const uint32_t known[] = {12, 40, 52, 56, 64, 108, 124};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == size) return 1;
    return 0;
}

static int read_header(struct bmp *b)
{
    if (b->n < FILE_HEADER + 4) return err_bad(BAD_TRUNCATED, "the BMP header is cut");
    b->data = u32(b->p + 10);
    b->header = u32(b->p + FILE_HEADER);
    if (!header_known(b->header))
        return err_bad(BAD_UNSUPPORTED, "a BMP header of %u bytes is not known", b->header);
    if (b->n - FILE_HEADER < b->header) return err_bad(BAD_TRUNCATED, "the BMP header is cut");
    if (b->header == 12)
        read_core_header(b, b->p + FILE_HEADER);
    else
        read_info_header(b, b->p + FILE_HEADER);
    return 0;
}

static int read_masks(struct bmp *b)
{
    size_t at = FILE_HEADER + 40; /* in a longer header, or right behind a short one */
    int count = b->header >= 56 ? 4 : 3;
    if (b->n < at + 4 * (size_t)count) return err_bad(BAD_TRUNCATED, "the BMP header is cut");
    for (int i = 0; i < count; i++) b->mask[i] = u32(b->p + at + 4 * (size_t)i);
    if (b->header < 52) b->palette += 12;
    return 0;
}

static int byte_of_mask(uint32_t mask)
{
    for (int i = 0; i < 4; i++)
        if (mask == 0xffu << 8 * i) return i;
    return -1;
}

static int is_mask(const struct bmp *b, uint32_t r, uint32_t g, uint32_t blue)
{
    return b->mask[0] == r && b->mask[1] == g && b->mask[2] == blue;
}

static int check_masks(struct bmp *b)
{
    if (b->bits == 16 && (is_mask(b, 0xf800, 0x7e0, 0x1f) || is_mask(b, 0x7c00, 0x3e0, 0x1f)))
        return 0;
    if (b->bits == 24 && is_mask(b, 0xff0000, 0xff00, 0xff)) return 0;
    if (b->bits == 32 && is_mask(b, 0, 0, 0) && !b->mask[3]) {
        b->channel[3] = 3;
        return 0;
    }
    if (b->bits == 32) {
        for (int i = 0; i < 4; i++) b->channel[i] = byte_of_mask(b->mask[i]);
        int alpha = b->channel[3] >= 0 || !b->mask[3];
        if (b->channel[0] >= 0 && b->channel[1] >= 0 && b->channel[2] >= 0 && alpha) return 0;
    }
    return err_bad(BAD_UNSUPPORTED, "these BMP bit fields are not read");
}

static int check_kind(struct bmp *b)
{
    uint32_t n = b->bits;
    if (n != 1 && n != 4 && n != 8 && n != 16 && n != 24 && n != 32)
        return err_bad(BAD_UNSUPPORTED, "a BMP of %u bits is not read", n);
    b->channel[0] = 2, b->channel[1] = 1, b->channel[2] = 0, b->channel[3] = -1;
    b->palette = FILE_HEADER + b->header;
    switch (b->compression) {
    case RAW: b->mask[0] = 0x7c00, b->mask[1] = 0x3e0, b->mask[2] = 0x1f; return 0;
    case RLE8:
    case RLE4:
        if (n > 8) break;
        return 0;
    case BITFIELDS: {
        int rc = read_masks(b);
        return rc ? rc : check_masks(b);
    }
    }
    return err_bad(BAD_UNSUPPORTED, "a BMP of compression %u is not read", b->compression);
}

/* Read the palette; a grey ramp is dropped for mode L, black and white for mode 1. */
static int read_palette(struct bmp *b, struct image *im, enum image_mode *mode)
{
    uint32_t colors = b->colors ? b->colors : 1u << b->bits;
    if (colors > 65536) return err_bad(BAD_CORRUPT, "a BMP palette of %u colours", colors);
    if (b->data == FILE_HEADER + b->header) b->data += b->entry * colors;
    if (!b->data) b->data = b->palette + b->entry * colors;
    int grey = 1;
    for (uint32_t i = 0; i < colors; i++) {
        size_t at = b->palette + b->entry * i;
        if (at + b->entry > b->n) return err_bad(BAD_TRUNCATED, "the BMP palette is cut");
        const uint8_t *c = b->p + at;
        uint32_t ramp = colors == 2 ? 255 * i : i;
        grey &= c[0] == ramp && c[1] == ramp && c[2] == ramp;
        if (i > 255) continue;
        b->to_value[i] = c[0];
        im->palette[i][0] = c[2], im->palette[i][1] = c[1], im->palette[i][2] = c[0];
    }
    *mode = !grey ? IMAGE_P : colors <= 2 ? IMAGE_1 : IMAGE_L;
    return 0;
}

static void indexed_row(const struct bmp *b, uint8_t *out, const uint8_t *in, enum image_mode mode)
{
    uint32_t mask = (1u << b->bits) - 1;
    for (uint32_t x = 0; x < b->width; x++) {
        uint32_t bit = x * b->bits;
        uint8_t v = (uint8_t)(in[bit / 8] >> (8 - b->bits - bit % 8) & mask);
        out[x] = mode == IMAGE_P ? v : b->to_value[v];
    }
}

static void colour_row(const struct bmp *b, uint8_t *out, const uint8_t *in)
{
    for (uint32_t x = 0; x < b->width; x++, out += 4) {
        out[3] = 255;
        if (b->bits == 16) {
            uint32_t v = u16(in + 2 * (size_t)x), wide = b->mask[0] == 0xf800;
            out[0] = (uint8_t)((v >> (wide ? 11 : 10) & 31) * 255 / 31);
            out[1] = (uint8_t)(wide ? (v >> 5 & 63) * 255 / 63 : (v >> 5 & 31) * 255 / 31);
            out[2] = (uint8_t)((v & 31) * 255 / 31);
        } else {
            const uint8_t *p = in + (size_t)x * (b->bits / 8);
            for (int c = 0; c < 4; c++)
                if (b->channel[c] >= 0) out[c] = p[b->channel[c]];
        }
    }
}

static uint8_t *row_of(const struct bmp *b, struct image *im, uint32_t line)
{
    uint32_t y = b->top_down ? line : b->height - 1 - line;
    return im->pixels + (size_t)y * im->stride;
}

static int raw_rows(const struct bmp *b, struct image *im, int keep)
{
    size_t need = ((size_t)b->width * b->bits + 7) / 8;
    size_t stride = ((size_t)b->width * b->bits + 31) / 32 * 4;
    for (uint32_t line = 0; line < b->height; line++) {
        size_t at = b->data + line * stride;
        if (at > b->n || b->n - at < need)
            return image_damage(im, keep, BAD_TRUNCATED, "the BMP pixels are cut");
        if (b->bits <= 8)
            indexed_row(b, row_of(b, im, line), b->p + at, im->mode);
        else
            colour_row(b, row_of(b, im, line), b->p + at);
    }
    return 0;
}

/* A run-length decode under way: `at` in the file, `pos` in the picture, counted along rows;
 * `x` in the row, which stays at its end until the row is closed. */
struct rle {
    const struct bmp *b;
    struct image *im;
    size_t at;
    uint64_t pos, end, x;
};

static void rle_put(struct rle *r, unsigned v)
{
    if (r->pos >= r->end) return;
    uint8_t *row = row_of(r->b, r->im, (uint32_t)(r->pos / r->b->width));
    row[r->pos++ % r->b->width] = r->im->mode == IMAGE_P ? (uint8_t)v : r->b->to_value[v];
}

static unsigned nibble(unsigned byte, unsigned i)
{
    return i % 2 ? byte & 15 : byte >> 4;
}

static void rle_run(struct rle *r, unsigned count, unsigned v)
{
    uint64_t left = r->x < r->b->width ? r->b->width - r->x : 0;
    if (count > left) count = (unsigned)left;
    for (unsigned i = 0; i < count; i++) rle_put(r, r->b->compression == RLE8 ? v : nibble(v, i));
    r->x += count;
}

/* Pixels as they stand; the file goes on at an even place. 1 if it ends first. */
static int rle_literal(struct rle *r, unsigned count)
{
    int four = r->b->compression == RLE4;
    unsigned bytes = four ? (count + 1) / 2 : count;
    if (r->b->n - r->at < bytes) return 1;
    for (unsigned i = 0; i < count; i++) {
        unsigned v = r->b->p[r->at + (four ? i / 2 : i)];
        rle_put(r, four ? nibble(v, i) : v);
    }
    r->x += count;
    r->at += bytes + (r->at + bytes) % 2;
    return 0;
}

/* Move right and down, leaving colour 0. 1 if the file ends first. */
static int rle_delta(struct rle *r)
{
    if (r->b->n - r->at < 2) return 1;
    r->pos += r->b->p[r->at] + (uint64_t)r->b->p[r->at + 1] * r->b->width;
    if (r->pos > r->end) r->pos = r->end;
    r->x = r->pos % r->b->width;
    r->at += 2;
    return 0;
}

static void rle_end_row(struct rle *r)
{
    uint64_t w = r->b->width;
    r->pos = (r->pos + w - 1) / w * w;
    r->x = 0;
}

static int rle_rows(const struct bmp *b, struct image *im, int keep)
{
    struct rle r = {.b = b, .im = im, .at = b->data, .end = (uint64_t)b->width * b->height};
    int done = 0;
    memset(im->pixels, im->mode == IMAGE_P ? 0 : b->to_value[0], im->stride * b->height);
    while (r.pos < r.end && !done) {
        if (r.at > b->n || b->n - r.at < 2) break;
        unsigned count = b->p[r.at], v = b->p[r.at + 1];
        r.at += 2;
        if (count)
            rle_run(&r, count, v);
        else if (v == 0)
            rle_end_row(&r);
        else if (v == 1)
            done = 1;
        else
            done = v == 2 ? rle_delta(&r) : rle_literal(&r, v);
    }
    if (r.pos >= r.end) return 0;
    return image_damage(im, keep, BAD_TRUNCATED, "the BMP runs end before the picture");
}

int bmp_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a)
{
    struct bmp b = {.p = p, .n = n};
    int rc = read_header(&b);
    if (!rc) rc = check_kind(&b);
    if (!rc) rc = image_check_size(b.width, b.height, 4);
    if (rc) return rc;
    enum image_mode mode = b.channel[3] >= 0 ? IMAGE_RGBA : IMAGE_RGB;
    if (b.bits <= 8)
        rc = read_palette(&b, out, &mode);
    else if (!b.data)
        b.data = b.palette;
    if (!rc) rc = image_reserve(out, b.width, b.height, mode, a);
    if (rc) return rc;
    if (keep) memset(out->pixels, 0, out->stride * b.height);
    int rle = b.compression == RLE8 || b.compression == RLE4;
    return rle ? rle_rows(&b, out, keep) : raw_rows(&b, out, keep);
}

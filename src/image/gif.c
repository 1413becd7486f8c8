/* gif.c - the first frame of a GIF, as Pillow gives it: mode P, or L where the palette is the
 * plain grey ramp; the frame may lie anywhere on its screen and may be larger.
 * Own code: the LZW loop is shorter than a wrapper around a library, allocates nothing, and
 * tells a cut file from a whole one. */
#include "image/image.h"

#include <string.h>

enum { MAX_BITS = 12, TABLE = 1 << MAX_BITS };

struct gif {
    const uint8_t *p;
    size_t n, at;
    const uint8_t *palette; /* colour table in force, or NULL */
    unsigned colors;
    int transparent; /* index, or -1 */
    uint32_t width, height;
    uint32_t x0, y0, frame_width, frame_height;
    int interlaced;
};

static uint32_t u16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

int gif_probe(const uint8_t *p, size_t n)
{
    return n >= 6 && (!memcmp(p, "GIF87a", 6) || !memcmp(p, "GIF89a", 6));
}

static int cut(void)
{
    return err_bad(BAD_TRUNCATED, "the GIF ends too early");
}

/* n bytes at the reading position, or NULL. */
static const uint8_t *take(struct gif *g, size_t n)
{
    if (g->n - g->at < n) return NULL;
    g->at += n;
    return g->p + g->at - n;
}

/* The palette is none if it maps every index to itself. */
static int take_palette(struct gif *g, unsigned flags)
{
    if (!(flags & 128)) return 0;
    unsigned colors = 2u << (flags & 7);
    const uint8_t *p = take(g, 3 * (size_t)colors);
    if (!p) return cut();
    g->palette = NULL;
    g->colors = colors;
    for (unsigned i = 0; i < colors; i++)
        if (p[3 * i] != i || p[3 * i + 1] != i || p[3 * i + 2] != i) g->palette = p;
    return 0;
}

/* Step over the sub-blocks from here; 1 if the file ends in one. */
static int skip_blocks(struct gif *g)
{
    for (;;) {
        const uint8_t *size = take(g, 1);
        if (!size) return 1;
        if (!*size) return 0;
        if (!take(g, *size)) return 1;
    }
}

static int take_extension(struct gif *g)
{
    const uint8_t *label = take(g, 1);
    if (!label) return 1;
    if (*label == 0xf9 && g->n - g->at >= 5 && g->p[g->at] >= 4 && (g->p[g->at + 1] & 1))
        g->transparent = g->p[g->at + 4];
    return skip_blocks(g);
}

static int take_frame_header(struct gif *g)
{
    const uint8_t *h = take(g, 9);
    if (!h) return cut();
    g->x0 = u16(h), g->y0 = u16(h + 2);
    g->frame_width = u16(h + 4), g->frame_height = u16(h + 6);
    g->interlaced = (h[8] & 64) != 0;
    if (!g->frame_width || !g->frame_height)
        return err_bad(BAD_CORRUPT, "the GIF frame has no pixels");
    if (g->x0 + g->frame_width > g->width) g->width = g->x0 + g->frame_width;
    if (g->y0 + g->frame_height > g->height) g->height = g->y0 + g->frame_height;
    return take_palette(g, h[8]);
}

/* Up to the pixels of the first frame. */
static int find_frame(struct gif *g)
{
    const uint8_t *h = take(g, 13);
    if (!h) return cut();
    g->width = u16(h + 6), g->height = u16(h + 8);
    g->transparent = -1;
    int rc = take_palette(g, h[10]);
    if (rc) return rc;
    for (;;) {
        const uint8_t *kind = take(g, 1);
        if (!kind) return cut();
        if (*kind == ',') return take_frame_header(g);
        if (*kind == ';') return err_bad(BAD_CORRUPT, "the GIF has no frame");
        if (*kind == '!' && take_extension(g)) return cut();
    }
}

/* Where the next pixel of the frame goes; interlaced rows come in four passes. */
struct pen {
    struct image *im;
    const struct gif *g;
    uint32_t x, y, step, pass;
    uint64_t left;
};

static void pen_init(struct pen *p, struct image *im, const struct gif *g)
{
    *p = (struct pen){.im = im,
                      .g = g,
                      .step = g->interlaced ? 8 : 1,
                      .left = (uint64_t)g->frame_width * g->frame_height};
}

static void pen_put(struct pen *p, uint8_t v)
{
    if (!p->left) return;
    p->left--;
    p->im->pixels[(size_t)(p->g->y0 + p->y) * p->im->stride + p->g->x0 + p->x] = v;
    if (++p->x < p->g->frame_width) return;
    p->x = 0;
    p->y += p->step;
    while (p->g->interlaced && p->y >= p->g->frame_height && p->pass < 3) {
        p->pass++;
        p->y = 8u >> p->pass;
        p->step = 16u >> p->pass;
    }
}

struct lzw {
    unsigned clear, next, bits, min_bits;
    unsigned last; /* code before this one; TABLE right after a clear */
    uint8_t first; /* first byte of the string of `last` */
    uint16_t link[TABLE];
    uint8_t tail[TABLE], stack[TABLE];
};

static void lzw_reset(struct lzw *z)
{
    z->bits = z->min_bits + 1;
    z->next = z->clear + 2;
    z->last = TABLE;
}

/* The string of one code. 0, or 1 if no encoder can have written it. */
static int lzw_put(struct lzw *z, struct pen *pen, unsigned code)
{
    unsigned depth = 0, c = code;
    if (z->last == TABLE) {
        if (code >= z->clear) return 1;
        z->first = (uint8_t)code;
        z->last = code;
        pen_put(pen, (uint8_t)code);
        return 0;
    }
    if (code > z->next) return 1;
    if (code == z->next) {
        z->stack[depth++] = z->first;
        c = z->last;
    }
    while (c >= z->clear) {
        if (depth >= TABLE || c >= TABLE) return 1;
        z->stack[depth++] = z->tail[c];
        c = z->link[c];
    }
    z->first = (uint8_t)c;
    pen_put(pen, (uint8_t)c);
    while (depth) pen_put(pen, z->stack[--depth]);
    if (z->next < TABLE) {
        z->tail[z->next] = z->first;
        z->link[z->next] = (uint16_t)z->last;
        if (z->next == (1u << z->bits) - 1 && z->bits < MAX_BITS) z->bits++;
        z->next++;
    }
    z->last = code;
    return 0;
}

/* Decode until the frame is full, the data ends, or a code is impossible (then 1). */
static int lzw_run(struct lzw *z, struct pen *pen, struct gif *g)
{
    uint32_t buffer = 0;
    unsigned held = 0, block = 0;
    while (pen->left) {
        for (; held < z->bits; held += 8, block--) {
            if (!block) {
                const uint8_t *size = take(g, 1);
                if (!size || !*size || g->n - g->at < *size) return 0;
                block = *size;
            }
            buffer |= (uint32_t)*take(g, 1) << held;
        }
        unsigned code = buffer & ((1u << z->bits) - 1);
        buffer >>= z->bits;
        held -= z->bits;
        if (code == z->clear)
            lzw_reset(z);
        else if (code == z->clear + 1)
            return 0;
        else if (lzw_put(z, pen, code))
            return 1;
    }
    return 0;
}

/* From the end of the first frame to the trailer; 1 if it never comes. */
static int find_trailer(struct gif *g)
{
    struct gif later = *g;
    if (skip_blocks(&later)) return 1;
    for (;;) {
        const uint8_t *kind = take(&later, 1);
        if (!kind) return 1;
        if (*kind == ';') return 0;
        if (*kind == '!' && (!take(&later, 1) || skip_blocks(&later))) return 1;
        if (*kind != ',') continue;
        const uint8_t *h = take(&later, 9);
        if (!h || ((h[8] & 128) && !take(&later, 3 * (size_t)(2u << (h[8] & 7))))) return 1;
        if (!take(&later, 1) || skip_blocks(&later)) return 1;
    }
}

static int read_pixels(struct gif *g, struct image *out, int keep, struct arena *a)
{
    const uint8_t *bits = take(g, 1);
    if (!bits) return cut();
    if (*bits < 1 || *bits > 8) return err_bad(BAD_CORRUPT, "a GIF code size of %d bits", *bits);
    struct lzw *z = arena_alloc(a, sizeof *z);
    struct pen pen;
    struct gif after = *g;
    z->min_bits = *bits;
    z->clear = 1u << *bits;
    lzw_reset(z);
    pen_init(&pen, out, g);
    if (lzw_run(z, &pen, g))
        return image_damage(out, keep, BAD_CORRUPT, "an impossible code in the GIF data");
    if (pen.left || find_trailer(&after))
        return image_damage(out, keep, BAD_TRUNCATED, "the GIF ends too early");
    return 0;
}

static void set_transparent(struct image *im, int index)
{
    if (im->mode == IMAGE_P) {
        for (int i = 0; i < 256; i++) im->palette[i][3] = i == index ? 0 : 255;
        im->transparency = IMAGE_PALETTE_ALPHA;
    } else {
        memset(im->key, index, 3);
        im->transparency = IMAGE_KEY;
    }
}

int gif_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a)
{
    struct gif g = {.p = p, .n = n};
    int rc = find_frame(&g);
    if (rc) return rc;
    rc = image_reserve(out, g.width, g.height, g.palette ? IMAGE_P : IMAGE_L, a);
    if (rc) return rc;
    memset(out->pixels, g.transparent < 0 ? 0 : g.transparent, out->stride * (size_t)out->height);
    for (unsigned i = 0; g.palette && i < g.colors; i++)
        memcpy(out->palette[i], g.palette + 3 * (size_t)i, 3);
    if (g.transparent >= 0) set_transparent(out, g.transparent);
    return read_pixels(&g, out, keep, a);
}

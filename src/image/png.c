/* png.c - PNG through libspng, in the modes Pillow opens.
 * The chunks are walked here first: sizes, checksums of those we skip, the end. libspng then sees
 * a stream of critical chunks only, so that no text or profile is ever stored or inflated. Rows
 * come raw (packed bits, 16 bits big-endian) and are spread into the mode's pixels. */
#include "image/image.h"

#include <stdlib.h>
#include <string.h>

#include <spng.h>
#include <zlib.h>

enum { SIGNATURE = 8, FRAME = 12, HEADER = 13, EXIF_MAX = 1 << 20 };

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int png_probe(const uint8_t *p, size_t n)
{
    return n >= SIGNATURE && !memcmp(p, "\x89PNG\r\n\x1a\n", SIGNATURE);
}

/* The file as libspng sees it: signature and critical chunks. */
struct stream {
    const uint8_t *p;
    size_t n, at; /* next byte not yet handed over or skipped */
    size_t left;  /* of the part being handed over */
};

/* Bytes of the chunk at `at` with its frame; 0 if it does not fit. */
static size_t chunk_size(const uint8_t *p, size_t n, size_t at)
{
    if (n - at < FRAME) return 0;
    size_t body = u32(p + at);
    return n - at - FRAME < body ? 0 : body + FRAME;
}

static int is_critical(const uint8_t *chunk)
{
    return !(chunk[4] & 32);
}

static int read_stream(spng_ctx *ctx, void *user, void *out, size_t want)
{
    (void)ctx;
    struct stream *s = user;
    uint8_t *to = out;
    while (want) {
        while (!s->left) {
            size_t size = chunk_size(s->p, s->n, s->at);
            if (!size && s->n - s->at < 8) return SPNG_IO_EOF;
            if (!size) size = s->n - s->at; /* cut: hand over what there is */
            if (is_critical(s->p + s->at))
                s->left = size;
            else
                s->at += size;
        }
        size_t some = want < s->left ? want : s->left;
        memcpy(to, s->p + s->at, some);
        to += some, want -= some;
        s->at += some, s->left -= some;
    }
    return 0;
}

/* Pillow compares the low byte of a key with the 8-bit pixel, whatever the depth; that of a
 * one-bit picture is black or white. */
static void take_transparency(struct image *im, int colour, const uint8_t *p, size_t n)
{
    if (colour == SPNG_COLOR_TYPE_INDEXED) {
        for (size_t i = 0; i < 256; i++) im->palette[i][3] = i < n ? p[i] : 255;
        im->transparency = IMAGE_PALETTE_ALPHA;
    } else if (colour == SPNG_COLOR_TYPE_GRAYSCALE && n >= 2) {
        memset(im->key, p[1], 3);
        im->transparency = IMAGE_KEY;
    } else if (colour == SPNG_COLOR_TYPE_TRUECOLOR && n >= 6) {
        for (int c = 0; c < 3; c++) im->key[c] = p[2 * c + 1];
        im->transparency = IMAGE_KEY;
    }
}

/* Walk the chunks: damage in those libspng will not see, orientation, the end. */
static int walk(struct image *out, const uint8_t *p, size_t n, int keep)
{
    if (n < SIGNATURE + FRAME + HEADER) return err_bad(BAD_TRUNCATED, "the PNG ends too early");
    if (memcmp(p + SIGNATURE + 4, "IHDR", 4)) return err_bad(BAD_CORRUPT, "the PNG has no header");
    for (size_t at = SIGNATURE;;) {
        size_t size = chunk_size(p, n, at);
        if (!size) return image_damage(out, keep, BAD_TRUNCATED, "the PNG ends too early");
        const uint8_t *c = p + at;
        int rc = 0;
        if (!is_critical(c) && crc32(0, c + 4, (uInt)(size - 8)) != u32(c + size - 4))
            rc = image_damage(out, keep, BAD_CORRUPT, "a PNG checksum does not match");
        if (rc) return rc;
        if (!memcmp(c + 4, "eXIf", 4) && size - FRAME <= EXIF_MAX)
            out->orientation = exif_orientation(c + 8, size - FRAME);
        if (!memcmp(c + 4, "tRNS", 4))
            take_transparency(out, p[SIGNATURE + 17], c + 8, size - FRAME);
        if (!memcmp(c + 4, "IEND", 4)) return 0;
        at += size;
    }
}

static int spng_failed(int code)
{
    switch (code) {
    case SPNG_IO_EOF:
    case SPNG_EOF:
    case SPNG_EIDAT_TOO_SHORT: return err_bad(BAD_TRUNCATED, "the PNG ends too early");
    case SPNG_ECHUNK_CRC: return err_bad(BAD_CORRUPT, "a PNG checksum does not match");
    case SPNG_EIDAT_STREAM:
    case SPNG_EZLIB: return err_bad(BAD_CORRUPT, "the compressed PNG data is damaged");
    case SPNG_EUSER_WIDTH:
    case SPNG_EUSER_HEIGHT: return err_bad(BAD_TOO_LARGE, "a side of the PNG is over the limit");
    case SPNG_ECHUNK_UNKNOWN_CRITICAL:
        return err_bad(BAD_UNSUPPORTED, "the PNG needs an unknown chunk");
    default: return err_bad(BAD_CORRUPT, "damaged PNG data");
    }
}

static enum image_mode mode_of(const struct spng_ihdr *h)
{
    int deep = h->bit_depth == 16;
    switch (h->color_type) {
    case SPNG_COLOR_TYPE_GRAYSCALE: return deep ? IMAGE_I16 : h->bit_depth == 1 ? IMAGE_1 : IMAGE_L;
    case SPNG_COLOR_TYPE_INDEXED: return IMAGE_P;
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA: return deep ? IMAGE_RGBA : IMAGE_LA;
    case SPNG_COLOR_TYPE_TRUECOLOR_ALPHA: return IMAGE_RGBA;
    default: return IMAGE_RGB;
    }
}

static int channels_of(const struct spng_ihdr *h)
{
    static const int channels[] = {1, 0, 3, 1, 2, 0, 4};
    return channels[h->color_type];
}

/* One or more pixels a byte, from the high bits down; grey is spread over 0..255. */
static void spread_bits(uint8_t *out, const uint8_t *in, int n, int bits, int grey)
{
    int mask = (1 << bits) - 1, step = grey ? 255 / mask : 1;
    for (int x = 0; x < n; x++)
        out[x] = (uint8_t)((in[x * bits / 8] >> (8 - bits - x * bits % 8) & mask) * step);
}

/* Several channels: the high byte of each, grey three times. */
static void spread_channels(uint8_t *out, const uint8_t *in, int n, int channels, int bytes)
{
    for (int x = 0; x < n; x++, out += 4, in += channels * bytes) {
        int colour = channels >= 3;
        out[0] = in[0];
        out[1] = in[colour ? bytes : 0];
        out[2] = in[colour ? 2 * bytes : 0];
        out[3] = channels % 2 ? 255 : in[(channels - 1) * bytes];
    }
}

static void spread_row(const struct image *im, int y, const uint8_t *in, const struct spng_ihdr *h)
{
    uint8_t *out = im->pixels + (size_t)y * im->stride;
    int n = im->width, bytes = h->bit_depth == 16 ? 2 : 1;
    if (im->mode == IMAGE_I16) {
        for (int x = 0; x < n; x++) {
            uint16_t v = (uint16_t)(in[2 * x] << 8 | in[2 * x + 1]);
            memcpy(out + 2 * (size_t)x, &v, 2);
        }
    } else if (channels_of(h) > 1) {
        spread_channels(out, in, n, channels_of(h), bytes);
    } else if (h->bit_depth == 8) {
        memcpy(out, in, (size_t)n);
    } else {
        spread_bits(out, in, n, h->bit_depth, im->mode != IMAGE_P);
    }
}

static void read_palette(struct image *out, spng_ctx *ctx)
{
    struct spng_plte plte;
    if (spng_get_plte(ctx, &plte)) return;
    for (uint32_t i = 0; i < plte.n_entries && i < 256; i++) {
        out->palette[i][0] = plte.entries[i].red;
        out->palette[i][1] = plte.entries[i].green;
        out->palette[i][2] = plte.entries[i].blue;
    }
}

/* Rows in the order of the file; interlaced ones come several times, each time fuller. */
static int read_rows(struct image *out, spng_ctx *ctx, const struct spng_ihdr *h, struct arena *a)
{
    size_t row = ((size_t)h->width * (size_t)channels_of(h) * h->bit_depth + 7) / 8;
    size_t rows = h->interlace_method ? h->height : 1;
    uint8_t *raw = arena_zalloc(a, row * rows);
    int code = spng_decode_image(ctx, NULL, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE);
    while (!code) {
        struct spng_row_info info;
        code = spng_get_row_info(ctx, &info);
        if (code) break;
        uint8_t *to = raw + (rows > 1 ? row * info.row_num : 0);
        code = spng_decode_row(ctx, to, row);
        if (rows == 1 && (!code || code == SPNG_EOI)) spread_row(out, (int)info.row_num, to, h);
    }
    for (uint32_t y = 0; rows > 1 && y < h->height; y++) spread_row(out, (int)y, raw + row * y, h);
    return code == SPNG_EOI ? 0 : code;
}

static int decode(struct image *out, spng_ctx *ctx, int keep, struct arena *a)
{
    struct spng_ihdr h;
    spng_set_image_limits(ctx, IMAGE_MAX_SIDE, IMAGE_MAX_SIDE);
    int code = spng_get_ihdr(ctx, &h);
    if (code) return spng_failed(code);
    uint64_t raw = h.interlace_method ? 8 : 0;
    int rc = image_check_size(h.width, h.height, 4 + raw);
    if (!rc) rc = image_reserve(out, h.width, h.height, mode_of(&h), a);
    if (rc) return rc;
    if (keep) memset(out->pixels, 0, out->stride * (size_t)out->height);
    code = read_rows(out, ctx, &h, a);
    if (out->mode == IMAGE_P) read_palette(out, ctx);
    if (out->mode == IMAGE_1 && out->key[0]) memset(out->key, 255, 3);
    if (!code) return 0;
    out->damaged = keep;
    return keep ? 0 : spng_failed(code);
}

int png_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a)
{
    int rc = walk(out, p, n, keep);
    if (rc) return rc;
    struct stream s = {.p = p, .n = n, .left = SIGNATURE};
    spng_ctx *ctx = spng_ctx_new(0);
    if (!ctx) return err_set(ERR_FAIL, "no memory for a PNG");
    spng_set_png_stream(ctx, read_stream, &s);
    rc = decode(out, ctx, keep, a);
    spng_ctx_free(ctx);
    return rc;
}

void png_encode(struct str *out, const uint8_t *rgb, int width, int height)
{
    spng_ctx *ctx = spng_ctx_new(SPNG_CTX_ENCODER);
    struct spng_ihdr h = {.width = (uint32_t)width,
                          .height = (uint32_t)height,
                          .bit_depth = 8,
                          .color_type = SPNG_COLOR_TYPE_TRUECOLOR};
    size_t n = 3 * (size_t)width * (size_t)height;
    int code = 0;
    spng_set_option(ctx, SPNG_ENCODE_TO_BUFFER, 1);
    spng_set_ihdr(ctx, &h);
    spng_encode_image(ctx, rgb, n, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE);
    void *bytes = spng_get_png_buffer(ctx, &n, &code);
    if (bytes) str_add(out, bytes, n);
    free(bytes);
    spng_ctx_free(ctx);
}

/* image.c - the table of formats, and what all decoders share: limits, memory, damage. */
#include "image/image.h"
#include "image/jpeg.h"

#include <string.h>

static const struct decoder decoders[] = {
    {"jpeg", jpeg_probe, jpeg_decode}, {"png", png_probe, png_decode},
    {"webp", webp_probe, webp_decode}, {"gif", gif_probe, gif_decode},
    {"bmp", bmp_probe, bmp_decode},
};

static const char *const mode_names[] = {"1", "L", "P", "I;16", "LA", "RGB", "RGBA", "CMYK"};
static const int mode_sizes[] = {1, 1, 1, 2, 4, 4, 4, 4};

const char *image_mode_name(enum image_mode mode)
{
    return mode_names[mode];
}

int image_pixel_size(enum image_mode mode)
{
    return mode_sizes[mode];
}

static const struct decoder *decoder_of(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (decoders[i].probe(p, n)) return &decoders[i];
    return NULL;
}

const char *image_format(const void *bytes, size_t n)
{
    const struct decoder *d = decoder_of(bytes, n);
    return d ? d->name : NULL;
}

int image_find(const struct decoder **out, const void *bytes, size_t n)
{
    if (!n) return err_bad(BAD_EMPTY, "the picture has no bytes");
    if (n > IMAGE_MAX_BYTES)
        return err_bad(BAD_TOO_LARGE, "%zu bytes are over the limit of %llu", n, IMAGE_MAX_BYTES);
    *out = decoder_of(bytes, n);
    if (!*out) return err_bad(BAD_UNSUPPORTED, "not a JPEG, PNG, WebP, GIF or BMP picture");
    return 0;
}

int image_decode(struct image *out, const void *bytes, size_t n, int keep_damaged, struct arena *a)
{
    const struct decoder *d;
    int rc = image_find(&d, bytes, n);
    if (rc) return rc;
    memset(out, 0, sizeof *out);
    out->orientation = 1;
    out->format = d->name;
    return d->decode(out, bytes, n, keep_damaged, a);
}

int image_check_size(uint64_t width, uint64_t height, uint64_t bytes_per_pixel)
{
    if (!width || !height) return err_bad(BAD_CORRUPT, "the header gives a side of 0 pixels");
    if (width > IMAGE_MAX_SIDE || height > IMAGE_MAX_SIDE || width * height > IMAGE_MAX_PIXELS)
        return err_bad(BAD_TOO_LARGE, "%llu x %llu pixels are over the limit of %llu, side %d",
                       (unsigned long long)width, (unsigned long long)height, IMAGE_MAX_PIXELS,
                       IMAGE_MAX_SIDE);
    if (width * height * bytes_per_pixel > IMAGE_BUDGET)
        return err_bad(BAD_TOO_LARGE, "%llu x %llu pixels need more memory than %llu bytes",
                       (unsigned long long)width, (unsigned long long)height, IMAGE_BUDGET);
    return 0;
}

int image_reserve(struct image *im, uint64_t width, uint64_t height, enum image_mode mode,
                  struct arena *a)
{
    int size = image_pixel_size(mode);
    int rc = image_check_size(width, height, (uint64_t)size);
    if (rc) return rc;
    im->width = (int)width;
    im->height = (int)height;
    im->mode = mode;
    im->stride = width * (size_t)size;
    im->pixels = arena_alloc(a, im->stride * height + 64);
    return 0;
}

int image_damage(struct image *im, int keep, enum bad why, const char *text)
{
    if (!keep) return err_bad(why, "%s", text);
    im->damaged = 1;
    return 0;
}

/* Where pixel (x, y) of the turned picture comes from. */
static size_t source_of(const struct image *im, int x, int y, int pixel)
{
    int o = im->orientation, w = im->width, h = im->height;
    int sx = o >= 5 ? y : x, sy = o >= 5 ? x : y;
    if (o == 2 || o == 3 || o == 7 || o == 8) sx = w - 1 - sx;
    if (o == 3 || o == 4 || o == 6 || o == 7) sy = h - 1 - sy;
    return (size_t)sy * im->stride + (size_t)sx * (size_t)pixel;
}

void image_orient(struct image *im, struct arena *a)
{
    if (im->orientation <= 1 || im->orientation > 8) return;
    size_t pixel = (size_t)image_pixel_size(im->mode);
    int w = im->orientation >= 5 ? im->height : im->width;
    int h = im->orientation >= 5 ? im->width : im->height;
    uint8_t *out = arena_alloc(a, (size_t)w * (size_t)h * pixel + 64), *p = out;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++, p += pixel)
            memcpy(p, im->pixels + source_of(im, x, y, (int)pixel), pixel);
    im->pixels = out;
    im->stride = (size_t)w * pixel;
    im->width = w;
    im->height = h;
    im->orientation = 1;
}

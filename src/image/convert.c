/* convert.c - Pillow's pixel conversions, restated: alpha is dropped, not blended; CMYK takes no
 * profile; 16-bit grey is clipped, not scaled; transparent pixels are weighted by their alpha
 * while they are resized. */
#include "image/convert.h"
#include "image/resize.h"

#include <string.h>

/* a*b/255, rounded. */
static unsigned scale(unsigned a, unsigned b)
{
    unsigned t = a * b + 128;
    return ((t >> 8) + t) >> 8;
}

static void grey(uint8_t *out, uint8_t v)
{
    out[0] = out[1] = out[2] = v;
    out[3] = 255;
}

static void cmyk_pixel(uint8_t *out, const uint8_t *p)
{
    unsigned light = 255u - p[3];
    for (int c = 0; c < 3; c++) out[c] = (uint8_t)(light - scale(p[c], light));
}

static void i16_row(uint8_t *out, const uint8_t *p, int n)
{
    for (int i = 0; i < n; i++, out += 4, p += 2) {
        uint16_t v;
        memcpy(&v, p, 2);
        grey(out, v > 255 ? 255 : (uint8_t)v);
    }
}

void convert_rgbx(uint8_t *out, const uint8_t *p, int n, const struct image *im)
{
    switch (im->mode) {
    case IMAGE_1:
    case IMAGE_L:
        for (int i = 0; i < n; i++) grey(out + 4 * (size_t)i, p[i]);
        break;
    case IMAGE_P:
        for (int i = 0; i < n; i++) memcpy(out + 4 * (size_t)i, im->palette[p[i]], 4);
        break;
    case IMAGE_I16: i16_row(out, p, n); break;
    case IMAGE_CMYK:
        for (int i = 0; i < n; i++) cmyk_pixel(out + 4 * (size_t)i, p + 4 * (size_t)i);
        break;
    default:
        if (out != p) memcpy(out, p, 4 * (size_t)n);
        break;
    }
}

/* c over white at `alpha`, with the rounding of Pillow's alpha_composite. */
static uint8_t over_white(unsigned c, unsigned alpha)
{
    unsigned t = c * 128 * alpha + 255 * 128 * (255 - alpha) + (128 << 7);
    return (uint8_t)((((t >> 8) + t) >> 8) >> 7);
}

void convert_over_white(uint8_t *out, const uint8_t *p, int n, const struct image *im)
{
    int has_alpha = im->mode == IMAGE_LA || im->mode == IMAGE_RGBA ||
                    (im->mode == IMAGE_P && im->transparency == IMAGE_PALETTE_ALPHA);
    convert_rgbx(out, p, n, im);
    for (int i = 0; has_alpha && i < n; i++, out += 4)
        for (int c = 0; c < 3; c++) out[c] = out[3] ? over_white(out[c], out[3]) : 255;
    for (int i = 0; !has_alpha && im->transparency == IMAGE_KEY && i < n; i++, out += 4)
        if (!memcmp(out, im->key, 3)) memset(out, 255, 3);
}

void convert_to_resize(uint8_t *out, const uint8_t *p, int n, enum image_mode mode)
{
    if (mode == IMAGE_L) {
        for (int i = 0; i < n; i++) grey(out + 4 * (size_t)i, p[i]);
    } else if (mode == IMAGE_LA || mode == IMAGE_RGBA) {
        for (int i = 0; i < n; i++, out += 4, p += 4) {
            unsigned alpha = p[3];
            for (int c = 0; c < 3; c++) out[c] = (uint8_t)scale(p[c], alpha);
            out[3] = (uint8_t)alpha;
        }
    } else if (out != p) {
        memcpy(out, p, 4 * (size_t)n);
    }
}

static void unscale_pixel(uint8_t *rgb, const uint8_t *p)
{
    unsigned alpha = p[3];
    for (int c = 0; c < 3; c++) {
        unsigned v = alpha == 0 || alpha == 255 ? p[c] : 255u * p[c] / alpha;
        rgb[c] = (uint8_t)(v > 255 ? 255 : v);
    }
}

void convert_to_rgb(uint8_t *rgb, const uint8_t *p, int n, enum image_mode mode)
{
    if (mode == IMAGE_CMYK)
        for (int i = 0; i < n; i++) cmyk_pixel(rgb + 3 * (size_t)i, p + 4 * (size_t)i);
    else if (mode == IMAGE_LA || mode == IMAGE_RGBA)
        for (int i = 0; i < n; i++) unscale_pixel(rgb + 3 * (size_t)i, p + 4 * (size_t)i);
    else
        resize_plain.drop(rgb, p, n);
}

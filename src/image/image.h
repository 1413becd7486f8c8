/* image.h - a decoded picture, in the mode Pillow would open it in, and the table of decoders.
 * The mode matters: Pillow resizes before it converts to RGB, and does so differently per mode.
 * Formats are recognised by content. Every size is checked from the header, before memory is
 * asked for. */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include "base/arena.h"
#include "base/err.h"
#include "base/platform.h"
#include "base/str.h"

/* Limits of one picture. The budget bounds what a decoder may hold in memory. */
enum { IMAGE_MAX_SIDE = 32768, IMAGE_MAX_SCANS = 100 };
#define IMAGE_MAX_PIXELS 100000000ull
#define IMAGE_MAX_BYTES  (50ull << 20)
#define IMAGE_BUDGET     (384ull << 20)

enum image_mode {
    IMAGE_1,    /* 1 byte: 0 or 255 */
    IMAGE_L,    /* 1 byte */
    IMAGE_P,    /* 1 byte: index into palette */
    IMAGE_I16,  /* 2 bytes, host order */
    IMAGE_LA,   /* 4 bytes: L L L A */
    IMAGE_RGB,  /* 4 bytes: R G B and one unused */
    IMAGE_RGBA, /* 4 bytes */
    IMAGE_CMYK, /* 4 bytes, 255 = full ink */
};

struct image {
    int width, height;
    enum image_mode mode;
    int orientation; /* EXIF, 1..8; 1 when there is none */
    int damaged;     /* kept although truncated or corrupt */
    const char *format;
    size_t stride;           /* bytes from row to row */
    uint8_t *pixels;         /* rows from the top, in the arena given */
    uint8_t palette[256][4]; /* R G B alpha; black where the file names no colour */
    enum { IMAGE_OPAQUE, IMAGE_PALETTE_ALPHA, IMAGE_KEY } transparency; /* of modes without alpha */
    uint8_t key[3]; /* IMAGE_KEY: this colour is see-through */
};

const char *image_mode_name(enum image_mode mode); /* Pillow's: "1", "L", "P", "I;16", ... */
int image_pixel_size(enum image_mode mode);        /* bytes */

/* Decode the whole picture. keep_damaged: use what decodes, and say so in out->damaged. */
int image_decode(struct image *out, const void *bytes, size_t n, int keep_damaged, struct arena *a);

/* "jpeg", "png", "webp", "gif", "bmp", or NULL: by the first bytes alone. */
const char *image_format(const void *bytes, size_t n);

/* Turn and mirror as the EXIF orientation says; a no-op for 1. The result has orientation 1. */
void image_orient(struct image *im, struct arena *a);

/* RGB u8 [height, width, 3] -> PNG file. */
void png_encode(struct str *out, const uint8_t *rgb, int width, int height);

/* What decoders share. */

struct decoder {
    const char *name;
    int (*probe)(const uint8_t *p, size_t n);
    int (*decode)(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a);
};

/* Bytes that may be decoded at all: not empty, not over the limit, of a known format. */
int image_find(const struct decoder **out, const void *bytes, size_t n);

/* 0 if a picture of that size may be decoded at `bytes_per_pixel` of memory. */
int image_check_size(uint64_t width, uint64_t height, uint64_t bytes_per_pixel);

/* Set size and mode, check them, and give it rows, not zeroed. Rows may be read 64 bytes past
 * their end. */
int image_reserve(struct image *im, uint64_t width, uint64_t height, enum image_mode mode,
                  struct arena *a);

/* The picture is damaged: 0 if it is to be kept so, else the error. */
int image_damage(struct image *im, int keep, enum bad why, const char *text);

int png_probe(const uint8_t *p, size_t n);
int png_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a);
int webp_probe(const uint8_t *p, size_t n);
int webp_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a);
int gif_probe(const uint8_t *p, size_t n);
int gif_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a);
int bmp_probe(const uint8_t *p, size_t n);
int bmp_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a);

/* Orientation 1..8 of a TIFF block as EXIF holds it ("II*\0..." or "MM\0*..."), else 1. */
int exif_orientation(const uint8_t *tiff, size_t n);

#endif

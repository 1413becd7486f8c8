/* prep.h - from picture bytes to the exact pixels a model sees.
 * Bit-exact to Pillow + torchvision (or the HF processor where `prep` says so). Only rows and
 * columns that feed the crop are decoded and resized, where that stays exact. */
#ifndef IMAGE_PREP_H
#define IMAGE_PREP_H

#include "base/arena.h"
#include "base/platform.h"

enum prep_fit { FIT_CROP, FIT_SQUASH }; /* shortest side + centre crop; straight to size x size */
enum prep_filter { FILTER_BICUBIC, FILTER_BILINEAR };

struct prep {
    int size;   /* S */
    int resize; /* FIT_CROP: the short side before cropping, >= S; 0 = S */
    enum prep_fit fit;
    enum prep_filter filter;
    int floor_crop;   /* HF processor: crop offset floors; torchvision rounds half to even */
    int rgb_first;    /* HF processor: convert to RGB before resizing, not after */
    int over_white;   /* HF processor since 5: transparency laid over white; with rgb_first */
    int exif_orient;  /* apply the EXIF orientation first (Pillow does not) */
    int keep_damaged; /* a truncated or damaged picture is used as far as it decodes */
    float mean[3], std[3];
};

/* Limits checked from the header, before anything is allocated for the pixels. */
enum { PREP_MAX_SIDE = 32768 };
#define PREP_MAX_PIXELS 100000000ull
#define PREP_MAX_BYTES  (50ull << 20)

struct picture_info {
    int width, height;  /* as decoded, before resizing; after --exif-orient when asked */
    const char *format; /* "jpeg", "png", "webp", "gif", "bmp" */
    int damaged;        /* kept although truncated or corrupt */
};

/* bytes -> rgb [S,S,3]. ERR_DATA with its reason for a bad picture. Scratch memory comes from
 * `scratch`; the caller resets it. info may be NULL. Thread-safe with one arena a thread. */
int prep_run(uint8_t *rgb, struct picture_info *info, const void *bytes, size_t n,
             const struct prep *p, struct arena *scratch);

/* The normalised value of every pixel level: lut[c][v] = (v/255 - mean[c])/std[c], each step
 * rounded to f32 as torch does. */
void prep_lut(float lut[3][256], const struct prep *p);

#endif

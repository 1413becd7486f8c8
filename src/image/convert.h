/* convert.h - rows of one mode to rows of another, with Pillow's arithmetic. */
#ifndef IMAGE_CONVERT_H
#define IMAGE_CONVERT_H

#include "image/image.h"

/* n pixels of im from p on -> R G B X, as convert("RGB") does. out may be p where a pixel of
 * that mode has four bytes. */
void convert_rgbx(uint8_t *out, const uint8_t *p, int n, const struct image *im);

/* The same with what is transparent laid over white, as the HF processor does since version 5. */
void convert_over_white(uint8_t *out, const uint8_t *p, int n, const struct image *im);

/* The four bytes a pixel is resized as: L and RGB as R G B X, CMYK as it is, LA and RGBA with
 * colour times alpha. */
void convert_to_resize(uint8_t *out, const uint8_t *p, int n, enum image_mode mode);

/* And back: resized four bytes -> packed RGB. resized: the size did change. */
void convert_to_rgb(uint8_t *rgb, const uint8_t *p, int n, enum image_mode mode);

#endif

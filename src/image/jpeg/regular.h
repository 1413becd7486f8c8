/* regular.h - our own decoder for the JPEGs that nearly all are: faster than libjpeg, same pixels.
 * It takes files without the slightest irregularity and gives up on all others, so that what is
 * damaged and how, and what rarer kinds look like, is for libjpeg to say. */
#ifndef IMAGE_JPEG_REGULAR_H
#define IMAGE_JPEG_REGULAR_H

#include "image/jpeg.h"

struct jpeg_decompress_struct;

/* After jpeg_read_header, which is left as it was. 0, or 1: not regular. *done rows were handed
 * over either way; they are what libjpeg gives for them. */
int regular_read(int *done, const struct jpeg_decompress_struct *header, const struct window *w,
                 jpeg_rows_fn *rows, void *ctx, struct arena *a);

#endif

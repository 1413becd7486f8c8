/* scans.h - the two ways a JPEG is laid out. Both hand rows to the canvas; both return 0, or 1 when
 * the file is not regular after all. */
#ifndef IMAGE_JPEG_SCANS_H
#define IMAGE_JPEG_SCANS_H

#include "image/jpeg/canvas.h"

/* Sequential: one scan that holds all components, MCU after MCU. */
int baseline_read(struct canvas *c, const struct frame *f, struct arena *a);

/* Progressive: scans of bands and bits of coefficients; codes change between them, in f too. */
int progressive_read(struct canvas *c, struct frame *f, struct arena *a);

#endif

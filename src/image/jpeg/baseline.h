/* baseline.h - sequential JPEG: one scan that holds all components, MCU after MCU. */
#ifndef IMAGE_JPEG_BASELINE_H
#define IMAGE_JPEG_BASELINE_H

#include "image/jpeg/canvas.h"

/* 0, or 1 when the file is not regular after all. */
int baseline_read(struct canvas *c, const struct frame *f, struct arena *a);

#endif

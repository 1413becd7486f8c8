/* canvas.h - from rows of coefficients to the rows of pixels of a window.
 * Holds two rows of MCUs as samples, in a ring, since a row of pixels needs the chroma row above or
 * below it; hands pixels over as soon as they are complete. */
#ifndef IMAGE_JPEG_CANVAS_H
#define IMAGE_JPEG_CANVAS_H

#include "base/arena.h"
#include "image/jpeg.h"
#include "image/jpeg/frame.h"
#include "image/jpeg/kernels.h"

struct plane {
    uint8_t *samples; /* sample `left` of ring row 0 */
    size_t stride;
    int left; /* first sample held of each row */
    int rows; /* of the ring */
};

struct canvas {
    const struct frame *frame;
    const struct jpeg_kernels *kernels;
    struct window window;
    int from_x, to_x, from_y, to_y; /* MCUs that feed the window */
    struct plane plane[FRAME_PARTS];
    uint8_t *chroma[2];          /* a row of each, as wide as the picture */
    uint8_t *pixels[JPEG_BATCH]; /* rows from window.x0 on */
    int next;                    /* row of the picture to hand over */
    jpeg_rows_fn *rows;
    void *ctx;
};

void canvas_init(struct canvas *c, const struct frame *f, const struct window *w,
                 jpeg_rows_fn *rows, void *ctx, struct arena *a);

/* Blocks held of a component: across, and down in a row of MCUs. */
int canvas_blocks(const struct canvas *c, int part);

/* MCU row y, the next one of [from_y, to_y): coefs[i] are the blocks of component i, v rows of
 * canvas_blocks. Up to three blocks past them are read. */
void canvas_put(struct canvas *c, int y, int16_t *const *coefs);

#endif

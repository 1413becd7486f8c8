/* jpeg.h - JPEG, whole or as a window of rows handed over while they are hot.
 * The window is bit-equal to the same part of the whole picture. */
#ifndef IMAGE_JPEG_H
#define IMAGE_JPEG_H

#include "image/image.h"

struct jpeg;

#define JPEG_WORK_LIMIT 2000000000ull /* pixels x scans: some seconds of decoding */

/* Pixels [x0,x1) of rows [y0,y1). */
struct window {
    int x0, x1, y0, y1;
};

/* Takes n rows, the next ones from the top of the window; each points at pixel x0, four bytes a
 * pixel, may be changed, and may be read 64 bytes past its end. */
typedef void jpeg_rows_fn(void *ctx, uint8_t *const *rows, int n);
enum { JPEG_BATCH = 4 }; /* rows per call; fewer only in the last one */

/* Read the header. The bytes must outlive it. head: size, mode, orientation, no pixels.
 * Close it also after an error of jpeg_read. */
int jpeg_open(struct jpeg **out, struct image *head, const uint8_t *p, size_t n, int keep,
              struct arena *a);

/* Decode all of the file, hand over the window: modes L and RGB as R G B X, CMYK as Pillow's
 * CMYK. Damage counts wherever it is in the file. *damaged is set when it was kept. */
int jpeg_read(struct jpeg *j, int *damaged, const struct window *w, jpeg_rows_fn *rows, void *ctx);
void jpeg_close(struct jpeg *j);

/* Before jpeg_read: libjpeg alone, without our own decoder. The outcome is the same. */
void jpeg_only_libjpeg(struct jpeg *j);

int jpeg_probe(const uint8_t *p, size_t n);
int jpeg_decode(struct image *out, const uint8_t *p, size_t n, int keep, struct arena *a);

#endif

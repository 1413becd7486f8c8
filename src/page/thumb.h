/* thumb.h - a small JPEG of a picture, to be embedded in a page.
 * Made anew from the pixels, so nothing else of the file (EXIF, GPS, trailing bytes) comes along.
 */
#ifndef PAGE_THUMB_H
#define PAGE_THUMB_H

#include "base/arena.h"
#include "base/str.h"

enum { THUMB_SIDE = 160, THUMB_QUALITY = 80 };

struct thumb {
    struct str jpeg;
    int width, height;
};

/* Bytes of a picture of any format we read -> at most side x side pixels, shape kept, never
 * enlarged; what is transparent lies on white. orient: turn as EXIF says. A damaged picture is
 * shown as far as it decodes. ERR_DATA: cannot be decoded, or only with more memory than a
 * thumbnail is worth. Scratch comes from `a`; the caller resets it. t is zeroed or was made
 * before. */
int thumb_make(struct thumb *t, const void *bytes, size_t n, int side, int orient, struct arena *a);
void thumb_release(struct thumb *t);

/* RGB [height, width, 3] -> JPEG, appended. */
int thumb_encode(struct str *out, const uint8_t *rgb, int width, int height, int quality);

#endif

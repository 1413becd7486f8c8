/* Any bytes through every road of the picture layer: an error or a picture, never a crash. The
 * first byte picks the options, the rest is the file. */
#include "base/arena.h"
#include "base/err.h"
#include "image/image.h"
#include "image/prep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Pictures that are merely large would only slow the fuzzer down. */
enum { SIDE_MAX = 600 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct arena a;
    static uint8_t rgb[24 * 24 * 3];
    if (n < 1) return 0;
    struct prep p = {.size = 24,
                     .fit = data[0] & 1 ? FIT_SQUASH : FIT_CROP,
                     .filter = data[0] & 2 ? FILTER_BILINEAR : FILTER_BICUBIC,
                     .rgb_first = data[0] >> 2 & 1,
                     .over_white = data[0] >> 5 & 1,
                     .exif_orient = data[0] >> 3 & 1,
                     .keep_damaged = data[0] >> 4 & 1};
    struct image im;
    if (image_decode(&im, data + 1, n - 1, p.keep_damaged, &a)) {
        if (!err_text()[0]) __builtin_trap();
    } else if (im.width <= SIDE_MAX && im.height <= SIDE_MAX) {
        volatile uint8_t last = im.pixels[im.stride * (size_t)im.height - 1];
        (void)last;
    }
    arena_reset(&a);
    struct picture_info info;
    if (prep_run(rgb, &info, data + 1, n - 1, &p, &a) && !err_text()[0]) __builtin_trap();
    arena_reset(&a);
    return 0;
}

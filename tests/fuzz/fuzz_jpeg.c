/* Our own JPEG decoder against libjpeg on any bytes. Five bytes pick options and window, the rest
 * is the file. */
#include "jpeg_pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { SIDE_MAX = 400 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct arena a;
    if (n < 6) return 0;
    struct jpeg_choice c = {.keep = data[0] & 1, .all = data[0] >> 1 & 1};
    memcpy(c.pick, data + 1, 4);
    if (jpeg_pair_differs(data + 5, n - 5, &c, SIDE_MAX, &a)) __builtin_trap();
    arena_reset(&a);
    return 0;
}

/* exif.c - the orientation tag of an EXIF block, and nothing else of it.
 * The block is a TIFF file in small: byte order, offset of the first directory, entries of
 * 12 bytes. No offset in it is trusted. */
#include "image/image.h"

#include <string.h>

static unsigned get16(const uint8_t *p, int big)
{
    return big ? (unsigned)p[0] << 8 | p[1] : (unsigned)p[1] << 8 | p[0];
}

static uint32_t get32(const uint8_t *p, int big)
{
    uint32_t first = get16(p, big), second = get16(p + 2, big);
    return big ? first << 16 | second : second << 16 | first;
}

enum { ENTRY = 12, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3 };

int exif_orientation(const uint8_t *tiff, size_t n)
{
    if (n < 8 || (memcmp(tiff, "II*\0", 4) && memcmp(tiff, "MM\0*", 4))) return 1;
    int big = tiff[0] == 'M';
    size_t at = get32(tiff + 4, big);
    if (at > n || n - at < 2) return 1;
    size_t count = get16(tiff + at, big);
    at += 2;
    for (; count-- && n - at >= ENTRY; at += ENTRY) {
        const uint8_t *e = tiff + at;
        if (get16(e, big) != TAG_ORIENTATION) continue;
        unsigned v = get16(e + 8, big);
        return get16(e + 2, big) == TYPE_SHORT && v >= 1 && v <= 8 ? (int)v : 1;
    }
    return 1;
}

/* segment.c - unstuffing, a chunk at a time. */
#include "image/jpeg/segment.h"

/* Room for what an MCU reads from the last place where it may begin, all of it zeros. */
enum { PADDING = 2 * SEGMENT_NEED };

/* Copy up to the next ff, and what that one means. */
static void take_run(struct segment *s, size_t room)
{
    size_t left = (size_t)(s->end - s->src), n = left < room ? left : room;
    const uint8_t *ff = memchr(s->src, 0xff, n);
    if (ff) n = (size_t)(ff - s->src);
    memcpy(s->stop, s->src, n);
    s->stop += n;
    s->src += n;
    if (ff && ff + 1 < s->end && !ff[1]) {
        *s->stop++ = 0xff;
        s->src += 2;
    } else if (ff && ff + 1 < s->end) {
        s->marker = ff[1];
    } else if (ff || s->src == s->end) {
        s->marker = -1;
    }
}

int segment_fill(struct segment *s)
{
    if (s->marker) return 1;
    size_t left = (size_t)(s->stop - s->bits.p);
    memmove(s->buffer, s->bits.p, left);
    s->bits.p = s->buffer;
    s->stop = s->buffer + left;
    uint8_t *full = s->buffer + SEGMENT_CHUNK;
    while (!s->marker && s->stop < full) take_run(s, (size_t)(full - s->stop));
    if (s->marker) memset(s->stop, 0, PADDING);
    s->bits.low = s->marker ? s->stop + 8 : s->stop - SEGMENT_NEED;
    return 0;
}

int segment_next(struct segment *s)
{
    if (!s->marker && (segment_left(s) > 7 || segment_fill(s))) return -1;
    int64_t left = segment_left(s);
    if (left < 0 || left > 7 || s->marker <= 0) return -1;
    s->src += 2;
    return s->marker;
}

void segment_start(struct segment *s)
{
    s->stop = s->buffer;
    s->marker = 0;
    s->bits = (struct bits){.p = s->buffer};
    segment_fill(s);
}

void segment_init(struct segment *s, const uint8_t *src, const uint8_t *end, struct arena *a)
{
    s->src = src;
    s->end = end;
    s->buffer = arena_alloc(a, SEGMENT_CHUNK + PADDING);
}

/* entropy_loops.h - the loops of entropy.h, included once per instruction set by files that say
 * what NAME, TARGET, LOOP, deposit() and apply() are. Bits live in registers. */

#include "image/jpeg/entropy_codes.h"
#include "image/jpeg/entropy_refine.h"

LOOP int read_whole(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    int bad = 0;
    for (int m = from; m < to && !bad; m++) {
        if (!segment_ready(&s->segment, &b)) return 1;
        for (int i = 0; i < s->slots; i++) {
            struct block where = {store ? block_of(s, i, m) : NULL, NULL, store, 63, 0};
            int dc = read_dc(s, &b, &s->slot[i], &bad);
            if (store) where.out[0] = (int16_t)dc;
            bad |= read_ac(&b, s->slot[i].ac, where, 0, NULL);
        }
    }
    s->segment.bits = b;
    return bad;
}

LOOP int read_dc_first(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    int bad = 0;
    for (int m = from; m < to && !bad; m++) {
        if (!segment_ready(&s->segment, &b)) return 1;
        for (int i = 0; i < s->slots; i++) {
            int dc = read_dc(s, &b, &s->slot[i], &bad);
            if (store) block_of(s, i, m)[63] = (int16_t)((unsigned)dc << s->low);
        }
    }
    s->segment.bits = b;
    return bad;
}

LOOP int read_dc_bit(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    for (int m = from; m < to; m++) {
        if (!segment_ready(&s->segment, &b)) return 1;
        bits_refill(&b);
        for (int i = 0; i < s->slots; i++) {
            if (store) block_of(s, i, m)[63] |= (int16_t)(b.top >> 63 << s->low);
            bits_drop(&b, 1);
        }
    }
    s->segment.bits = b;
    return 0;
}

LOOP int read_band(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    uint32_t end_run = s->end_run;
    int bad = 0;
    for (int m = from; m < to && !bad; m++) {
        if (end_run) {
            uint32_t n = end_run < (uint32_t)(to - m) ? end_run : (uint32_t)(to - m);
            end_run -= n;
            m += (int)n - 1;
            continue;
        }
        if (!segment_ready(&s->segment, &b)) return 1;
        uint64_t found = 0;
        struct block where = {store ? block_of(s, 0, m) : NULL, &found, store, s->last, s->low};
        bad = read_ac(&b, s->slot[0].ac, where, s->first - 1, &end_run);
        s->history[m] |= found;
    }
    s->end_run = end_run;
    s->segment.bits = b;
    return bad;
}

LOOP int read_band_bit(struct entropy *s, int from, int to, const int store)
{
    struct bits b = s->segment.bits;
    uint32_t end_run = s->end_run;
    uint64_t band = UINT64_MAX >> s->first & UINT64_MAX << (63 - s->last);
    int bad = 0;
    for (int m = from; m < to && !bad; m++) {
        if (!segment_ready(&s->segment, &b)) return 1;
        struct change c = {0, 0, 0};
        bad = refine_block(&c, &b, s->slot[0].ac, s->history[m] & band, band, &end_run);
        s->history[m] |= c.placed;
        if (store) apply(block_of(s, 0, m), c, 1 << s->low);
    }
    s->end_run = end_run;
    s->segment.bits = b;
    return bad;
}

#define BOTH(name)                                                            \
    TARGET static int NAME(keep_##name)(struct entropy * s, int from, int to) \
    {                                                                         \
        return read_##name(s, from, to, 1);                                   \
    }                                                                         \
    TARGET static int NAME(over_##name)(struct entropy * s, int from, int to) \
    {                                                                         \
        return read_##name(s, from, to, 0);                                   \
    }
BOTH(whole)
BOTH(dc_first)
BOTH(band)
BOTH(dc_bit)
BOTH(band_bit)

const struct entropy_loops NAME(entropy) = {
    .whole = {NAME(keep_whole), NAME(over_whole)},
    .dc = {NAME(keep_dc_first), NAME(over_dc_first)},
    .band = {NAME(keep_band), NAME(over_band)},
    .dc_bit = {NAME(keep_dc_bit), NAME(over_dc_bit)},
    .band_bit = {NAME(keep_band_bit), NAME(over_band_bit)},
};

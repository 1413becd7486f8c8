/* baseline.c - see baseline.h.
 * Blocks outside the window are only stepped over. The file is read to its end marker, because
 * damage counts wherever it is. */
#include "image/jpeg/baseline.h"
#include "image/jpeg/huffman.h"
#include "image/jpeg/segment.h"

/* A block of an MCU: its component, tables, and place. */
struct slot {
    const struct huffman *dc, *ac;
    int part, x, y;
};

struct baseline {
    struct segment segment;
    const struct frame *frame;
    struct huffman dc[FRAME_PARTS], ac[FRAME_PARTS];
    struct slot slot[6];
    int slots;
    int32_t last[FRAME_PARTS]; /* DC of the block before */
    int to_restart, restarts;
    int from;                    /* MCU of the first block kept */
    int16_t *coefs[FRAME_PARTS]; /* a row of MCUs */
    size_t bytes[FRAME_PARTS];
    int blocks[FRAME_PARTS];
};

/* The DC difference; b holds at least 56 bits before, and 31 are taken at most. */
static inline int read_dc(struct bits *b, const struct huffman *t, int *bad)
{
    uint32_t e = t->entry[b->top >> (64 - LOOK_BITS)];
    bits_drop(b, e & 63);
    if (likely(!(e & 0xff00))) return (int32_t)e >> 16;
    int length = e >> 16 & 255, size = e >> 24;
    if (!length) size = huffman_symbol(&length, t, b->top);
    *bad |= !length;
    bits_drop(b, length);
    if (!size) return 0;
    int v = huffman_value(b->top, size);
    bits_drop(b, size);
    return v;
}

/* A coefficient that the lookup could not hold. Returns its index, or more than 63. */
static inline int read_long(struct bits *b, const struct huffman *t, uint32_t e, int k, int *value)
{
    int length = e >> 16 & 255, symbol = e >> 24;
    bits_refill(b);
    if (!length) symbol = huffman_symbol(&length, t, b->top);
    if (!length) return MOVE_BAD;
    bits_drop(b, length);
    int size = symbol & 15, run = symbol >> 4;
    *value = 0;
    if (size) {
        *value = huffman_value(b->top, size);
        bits_drop(b, size);
        return k + run + 1;
    }
    return run == 0 ? MOVE_END : run == 15 ? k + 16 : MOVE_BAD;
}

/* One lookup. 1 while the index stays below the last. */
static inline __attribute__((always_inline)) int step(struct bits *b, const struct huffman *t,
                                                      int16_t *out, int *k, uint32_t *e)
{
    *e = t->entry[b->top >> (64 - LOOK_BITS)];
    *k += *e >> 8 & 255;
    bits_drop(b, *e & 63);
    if (unlikely(*k >= 63)) return 0;
    if (out) out[frame_order[*k]] = (int16_t)(*e >> 16);
    return 1;
}

/* The coefficients behind the DC; out is NULL to step over them. 1 when they are not regular. */
static inline __attribute__((always_inline)) int read_ac(struct bits *b, const struct huffman *t,
                                                         int16_t *out)
{
    int k = 0;
    for (;;) {
        uint32_t e;
        bits_refill(b); /* five lookups fit 56 bits */
        if (step(b, t, out, &k, &e) && step(b, t, out, &k, &e) && step(b, t, out, &k, &e) &&
            step(b, t, out, &k, &e) && step(b, t, out, &k, &e))
            continue;
        int value = (int32_t)e >> 16;
        if (k >= MOVE_LONG) k = read_long(b, t, e, k - MOVE_LONG, &value);
        if (k >= MOVE_END) return 0;
        if (k > 63) return 1;
        if (out) out[frame_order[k]] = (int16_t)value;
        if (k == 63) return 0;
    }
}

static inline int16_t *block_of(const struct baseline *s, const struct slot *slot, int mcu)
{
    int p = slot->part, x = (mcu - s->from) * s->frame->part[p].h + slot->x;
    return s->coefs[p] + (size_t)(slot->y * s->blocks[p] + x) * BLOCK;
}

/* MCUs [from, to) of a row. */
static inline __attribute__((always_inline)) int read_mcus(struct baseline *s, int from, int to,
                                                           const int store)
{
    struct bits b = s->segment.bits;
    int bad = 0;
    for (int m = from; m < to && !bad; m++) {
        if (!segment_ready(&s->segment, &b)) return 1;
        for (int i = 0; i < s->slots; i++) {
            const struct slot *slot = &s->slot[i];
            int32_t *last = &s->last[slot->part];
            int16_t *out = store ? block_of(s, slot, m) : NULL;
            bits_refill(&b);
            *last += read_dc(&b, slot->dc, &bad);
            bad |= *last != (int16_t)*last;
            if (store) out[0] = (int16_t)*last;
            bad |= read_ac(&b, slot->ac, out);
        }
    }
    s->segment.bits = b;
    return bad;
}

static int step_over(struct baseline *s, int from, int to)
{
    return read_mcus(s, from, to, 0);
}

static int keep(struct baseline *s, int from, int to)
{
    return read_mcus(s, from, to, 1);
}

/* The marker that stands before MCUs whose number is a multiple of the interval. */
static int restart(struct baseline *s)
{
    if (!segment_ends(&s->segment, 0xd0 + s->restarts++ % 8)) return 1;
    segment_start(&s->segment, s->segment.src);
    memset(s->last, 0, sizeof s->last);
    s->to_restart = s->frame->restart;
    return 0;
}

/* A range of MCUs, cut where restart markers stand. */
static int read_range(struct baseline *s, int from, int to,
                      int (*read)(struct baseline *, int, int))
{
    if (!s->frame->restart) return read(s, from, to);
    while (from < to) {
        if (!s->to_restart && restart(s)) return 1;
        int n = to - from < s->to_restart ? to - from : s->to_restart;
        if (read(s, from, from + n)) return 1;
        s->to_restart -= n;
        from += n;
    }
    return 0;
}

static int read_row(struct baseline *s, struct canvas *c, int y)
{
    const struct frame *f = s->frame;
    if (y < c->from_y || y >= c->to_y) return read_range(s, 0, f->mcus_wide, step_over);
    for (int i = 0; i < f->count; i++) memset(s->coefs[i], 0, s->bytes[i]);
    if (read_range(s, 0, c->from_x, step_over) || read_range(s, c->from_x, c->to_x, keep) ||
        read_range(s, c->to_x, f->mcus_wide, step_over))
        return 1;
    canvas_put(c, y, s->coefs);
    return 0;
}

static void add_slots(struct baseline *s, const struct frame *f, int i)
{
    int p = f->scan.part[i];
    for (int y = 0; y < f->part[p].v; y++)
        for (int x = 0; x < f->part[p].h; x++)
            s->slot[s->slots++] = (struct slot){&s->dc[i], &s->ac[i], p, x, y};
}

static int init(struct baseline *s, const struct canvas *c, const struct frame *f, struct arena *a)
{
    const struct scan *scan = &f->scan;
    if (scan->count != f->count || scan->first || scan->last != 63 || scan->high || scan->low)
        return 1;
    s->frame = f;
    s->to_restart = f->restart;
    s->from = c->from_x;
    for (int i = 0; i < f->count; i++) {
        if (scan->dc[i] >= FRAME_TABLES || scan->ac[i] >= FRAME_TABLES) return 1;
        if (huffman_init(&s->dc[i], &f->dc[scan->dc[i]], HUFFMAN_DC, 0)) return 1;
        if (huffman_init(&s->ac[i], &f->ac[scan->ac[i]], HUFFMAN_AC, 0)) return 1;
        add_slots(s, f, i);
        s->blocks[i] = canvas_blocks(c, i);
        s->bytes[i] = (size_t)(s->blocks[i] * f->part[i].v) * BLOCK * sizeof(int16_t);
        s->coefs[i] = arena_zalloc(a, s->bytes[i] + 3 * BLOCK * sizeof(int16_t));
    }
    segment_init(&s->segment, f->data, f->end, a);
    return 0;
}

int baseline_read(struct canvas *c, const struct frame *f, struct arena *a)
{
    struct baseline *s = arena_zalloc(a, sizeof *s);
    if (init(s, c, f, a)) return 1;
    for (int y = 0; y < f->mcus_high; y++)
        if (read_row(s, c, y)) return 1;
    return !segment_ends(&s->segment, 0xd9);
}

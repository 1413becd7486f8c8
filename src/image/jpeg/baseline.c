/* baseline.c - sequential JPEG, a row of MCUs at a time.
 * The file is read to its end marker, because damage counts wherever it is. */
#include "image/jpeg/entropy.h"
#include "image/jpeg/scans.h"

struct baseline {
    struct entropy entropy;
    struct huffman dc[FRAME_PARTS], ac[FRAME_PARTS];
    const struct huffman *dc_of[FRAME_PARTS], *ac_of[FRAME_PARTS];
    int16_t *coefs[FRAME_PARTS]; /* a row of MCUs */
    size_t bytes[FRAME_PARTS];
};

/* Tables that are already made for a component before are taken from there. */
static int make_tables(struct baseline *s, const struct frame *f, int i)
{
    const struct scan *scan = &f->scan;
    int dc = 0, ac = 0;
    while (scan->dc[dc] != scan->dc[i]) dc++;
    while (scan->ac[ac] != scan->ac[i]) ac++;
    s->dc_of[i] = &s->dc[dc];
    s->ac_of[i] = &s->ac[ac];
    if (dc == i && huffman_init(&s->dc[i], &f->dc[scan->dc[i]], HUFFMAN_DC, 0)) return 1;
    return ac == i && huffman_init(&s->ac[i], &f->ac[scan->ac[i]], HUFFMAN_AC, 0);
}

static void add_slots(struct baseline *s, const struct part *part, int i, int blocks)
{
    for (int y = 0; y < part->v; y++)
        for (int x = 0; x < part->h; x++)
            s->entropy.slot[s->entropy.slots++] =
                (struct slot){.dc = s->dc_of[i],
                              .ac = s->ac_of[i],
                              .part = i,
                              .out = s->coefs[i] + (size_t)(y * blocks + x) * BLOCK,
                              .step = part->h * BLOCK};
}

static int init(struct baseline *s, const struct canvas *c, const struct frame *f, struct arena *a)
{
    const struct scan *scan = &f->scan;
    if (scan->count != f->count || scan->first || scan->last != 63 || scan->high || scan->low)
        return 1;
    s->entropy = (struct entropy){.from = c->from_x, .to = c->to_x};
    for (int i = 0; i < f->count; i++) {
        int blocks = canvas_blocks(c, i);
        if (make_tables(s, f, i)) return 1;
        s->bytes[i] = (size_t)(blocks * f->part[i].v) * BLOCK * sizeof(int16_t);
        s->coefs[i] = arena_zalloc(a, s->bytes[i] + 3 * BLOCK * sizeof(int16_t));
        add_slots(s, &f->part[i], i, blocks);
    }
    segment_init(&s->entropy.segment, f->data, f->end, a);
    entropy_start(&s->entropy, f->restart);
    return 0;
}

int baseline_read(struct canvas *c, const struct frame *f, struct arena *a)
{
    struct baseline *s = arena_alloc(a, sizeof *s);
    const struct entropy_loop *loop = &entropy_loops_best()->whole;
    if (init(s, c, f, a)) return 1;
    for (int y = 0; y < f->mcus_high; y++) {
        int any = y >= c->from_y && y < c->to_y;
        for (int i = 0; any && i < f->count; i++) memset(s->coefs[i], 0, s->bytes[i]);
        if (entropy_row(&s->entropy, loop, f->mcus_wide, any)) return 1;
        if (any) canvas_put(c, y, s->coefs);
    }
    return segment_next(&s->entropy.segment) != 0xd9;
}

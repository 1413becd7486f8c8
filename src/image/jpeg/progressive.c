/* progressive.c - progressive JPEG: coefficients come in bands and bit by bit.
 * Those of blocks that feed the window are gathered; of all others only which are not zero is
 * remembered, since that is what the meaning of later bits depends on. */
#include "image/jpeg/entropy.h"
#include "image/jpeg/scans.h"

#define PROGRESSIVE_BUDGET (64ull << 20)

struct layer {
    int wide, high;    /* blocks, with those that only fill up MCUs */
    uint64_t *history; /* [high, wide] see entropy.h */
    int16_t *coefs;    /* of the blocks that feed the window */
    int16_t *row;      /* of a row of MCUs, in natural order */
    int8_t bit[BLOCK]; /* lowest bit of each coefficient so far, -1 before the first */
};

struct progressive {
    struct entropy entropy;
    struct frame *frame;
    const struct canvas *canvas;
    const struct entropy_loops *loops;
    struct layer layer[FRAME_PARTS];
    struct huffman table[FRAME_PARTS];
};

/* Should the file prove irregular, libjpeg needs as much again: larger ones are left to it. */
static uint64_t memory_of(const struct canvas *c)
{
    const struct frame *f = c->frame;
    uint64_t blocks = 0, kept = 0;
    for (int i = 0; i < f->count; i++) {
        uint64_t mcu = (uint64_t)f->part[i].h * (uint64_t)f->part[i].v;
        blocks += mcu * (uint64_t)f->mcus_wide * (uint64_t)f->mcus_high;
        kept += mcu * (uint64_t)(c->to_x - c->from_x) * (uint64_t)(c->to_y - c->from_y);
    }
    return blocks * sizeof(uint64_t) + kept * BLOCK * sizeof(int16_t);
}

static void layer_init(struct layer *l, const struct canvas *c, int i, struct arena *a)
{
    const struct frame *f = c->frame;
    l->wide = f->mcus_wide * f->part[i].h;
    l->high = f->mcus_high * f->part[i].v;
    l->history = arena_zalloc(a, (size_t)l->wide * (size_t)l->high * sizeof *l->history);
    size_t rows = (size_t)(c->to_y - c->from_y) * (size_t)f->part[i].v;
    size_t blocks = (size_t)canvas_blocks(c, i);
    l->coefs = arena_zalloc(a, rows * blocks * BLOCK * sizeof *l->coefs);
    blocks = blocks * (size_t)f->part[i].v + 3; /* see canvas_put */
    l->row = arena_zalloc(a, blocks * BLOCK * sizeof *l->row);
    memset(l->bit, -1, sizeof l->bit);
}

/* What libjpeg would warn of: bits out of order, AC before DC. */
static int check_order(struct progressive *s, const struct scan *scan)
{
    int first = scan->first, last = scan->last;
    if (last > 63 || last < first || scan->low > 13) return 1;
    if (first == 0 ? last != 0 : scan->count != 1) return 1;
    if (scan->high && scan->low != scan->high - 1) return 1;
    for (int i = 0; i < scan->count; i++) {
        int8_t *bit = s->layer[scan->part[i]].bit;
        if (first && bit[0] < 0) return 1;
        for (int k = first; k <= last; k++) {
            if (bit[k] != (scan->high ? scan->high : -1)) return 1;
            bit[k] = (int8_t)scan->low;
        }
    }
    return 0;
}

static int is_complete(const struct progressive *s)
{
    int rest = 0;
    for (int i = 0; i < s->frame->count; i++)
        for (int k = 0; k < BLOCK; k++) rest |= s->layer[i].bit[k];
    return !rest;
}

static int take_tables(struct progressive *s, const struct scan *scan)
{
    const struct frame *f = s->frame;
    if (scan->first) {
        enum huffman_kind kind = scan->high ? HUFFMAN_REFINE : HUFFMAN_BAND;
        return huffman_init(&s->table[0], &f->ac[scan->ac[0]], kind, scan->low);
    }
    for (int i = 0; !scan->high && i < scan->count; i++)
        if (huffman_init(&s->table[i], &f->dc[scan->dc[i]], HUFFMAN_DC, 0)) return 1;
    return 0;
}

static const struct entropy_loop *loop_of(const struct entropy_loops *loops,
                                          const struct scan *scan)
{
    if (scan->first) return scan->high ? &loops->band_bit : &loops->band;
    return scan->high ? &loops->dc_bit : &loops->dc;
}

/* Where the blocks of component i of the scan go; y: row of blocks that an MCU's first is in. */
static void place_slots(struct progressive *s, const struct scan *scan, int i, int y, int h, int v)
{
    struct entropy *e = &s->entropy;
    const struct canvas *c = s->canvas;
    int p = scan->part[i], blocks = canvas_blocks(c, p), top = c->from_y * s->frame->part[p].v;
    for (int dy = 0; dy < v; dy++)
        for (int dx = 0; dx < h; dx++) {
            ptrdiff_t at = (ptrdiff_t)(y + dy - top) * blocks + dx;
            e->slot[e->slots++] = (struct slot){.dc = &s->table[i],
                                                .ac = &s->table[i],
                                                .part = i,
                                                .out = s->layer[p].coefs + at * BLOCK,
                                                .step = h * BLOCK};
        }
}

/* A row of MCUs of all components in the scan. */
static int read_mixed_row(struct progressive *s, const struct scan *scan, int y)
{
    const struct frame *f = s->frame;
    const struct canvas *c = s->canvas;
    int any = y >= c->from_y && y < c->to_y;
    s->entropy.from = c->from_x;
    s->entropy.to = c->to_x;
    s->entropy.slots = 0;
    for (int i = 0; i < scan->count; i++) {
        const struct part *p = &f->part[scan->part[i]];
        place_slots(s, scan, i, any ? y * p->v : c->from_y * p->v, p->h, p->v);
    }
    return entropy_row(&s->entropy, loop_of(s->loops, scan), f->mcus_wide, any);
}

/* A row of blocks of one component: only those that hold picture are coded. */
static int read_lone_row(struct progressive *s, const struct scan *scan, int y)
{
    const struct canvas *c = s->canvas;
    const struct part *p = &s->frame->part[scan->part[0]];
    struct layer *l = &s->layer[scan->part[0]];
    int any = y >= c->from_y * p->v && y < c->to_y * p->v, to = c->to_x * p->h;
    s->entropy.from = c->from_x * p->h;
    s->entropy.to = to < p->blocks_wide ? to : p->blocks_wide;
    s->entropy.slots = 0;
    s->entropy.history = l->history + (size_t)y * (size_t)l->wide;
    place_slots(s, scan, 0, any ? y : c->from_y * p->v, 1, 1);
    return entropy_row(&s->entropy, loop_of(s->loops, scan), p->blocks_wide, any);
}

static int read_scan(struct progressive *s, const struct scan *scan)
{
    const struct frame *f = s->frame;
    int lone = scan->count == 1;
    int rows = lone ? f->part[scan->part[0]].blocks_high : f->mcus_high;
    if (check_order(s, scan) || take_tables(s, scan)) return 1;
    s->entropy.first = scan->first;
    s->entropy.last = scan->last;
    s->entropy.low = scan->low;
    entropy_start(&s->entropy, f->restart);
    for (int y = 0; y < rows; y++)
        if (lone ? read_lone_row(s, scan, y) : read_mixed_row(s, scan, y)) return 1;
    return 0;
}

static int read_scans(struct progressive *s)
{
    struct frame *f = s->frame;
    struct segment *g = &s->entropy.segment;
    uint64_t pixels = (uint64_t)f->width * (uint64_t)f->height;
    for (uint64_t scans = 1; scans <= IMAGE_MAX_SCANS; scans++) {
        if (scans * pixels > JPEG_WORK_LIMIT || read_scan(s, &f->scan)) return 1;
        int marker = segment_next(g);
        if (marker == 0xd9) return !is_complete(s);
        if (frame_next_scan(f, &g->src, marker)) return 1;
    }
    return 1;
}

int progressive_read(struct canvas *c, struct frame *f, struct arena *a)
{
    if (memory_of(c) > PROGRESSIVE_BUDGET) return 1;
    struct progressive *s = arena_alloc(a, sizeof *s);
    s->entropy = (struct entropy){0};
    s->frame = f;
    s->canvas = c;
    s->loops = entropy_loops_best();
    for (int i = 0; i < f->count; i++) layer_init(&s->layer[i], c, i, a);
    segment_init(&s->entropy.segment, f->data, f->end, a);
    if (read_scans(s)) return 1;
    for (int y = c->from_y; y < c->to_y; y++) {
        int16_t *rows[FRAME_PARTS];
        for (int i = 0; i < f->count; i++) {
            const struct layer *l = &s->layer[i];
            int blocks = canvas_blocks(c, i) * f->part[i].v;
            rows[i] = l->row;
            c->kernels->natural(l->row, l->coefs + (ptrdiff_t)(y - c->from_y) * blocks * BLOCK,
                                blocks);
        }
        canvas_put(c, y, rows);
    }
    return 0;
}

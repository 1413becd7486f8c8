/* canvas.c - inverse DCT, chroma to full size, colour, four rows at a time.
 * libjpeg's special cases at the edges of a picture are its general case with the outermost sample
 * repeated, so that is what is done here. */
#include "image/jpeg/canvas.h"

static int clip(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

static void plane_init(struct plane *p, const struct canvas *c, int part, struct arena *a)
{
    p->left = c->from_x * 8 * c->frame->part[part].h;
    p->rows = 2 * 8 * c->frame->part[part].v;
    size_t wide = 8 * (size_t)canvas_blocks(c, part);
    p->stride = (wide + 64 + 63) & ~(size_t)63; /* one sample before, up to 32 past */
    p->samples = (uint8_t *)arena_zalloc(a, p->stride * (size_t)p->rows + 64 + KERNEL_SLACK) + 64;
}

void canvas_init(struct canvas *c, const struct frame *f, const struct window *w,
                 jpeg_rows_fn *rows, void *ctx, struct arena *a)
{
    int wide = 8 * f->h, high = 8 * f->v;
    int beside = f->h - 1, above = f->v - 1; /* chroma samples that are looked at on each side */
    *c = (struct canvas){.frame = f, .window = *w, .next = w->y0, .rows = rows, .ctx = ctx};
    c->kernels = jpeg_kernels_best();
    c->from_x = clip(w->x0 - 2 * beside, 0, f->width - 1) / wide;
    c->to_x = clip(w->x1 - 1 + 2 * beside, 0, f->width - 1) / wide + 1;
    c->from_y = clip(w->y0 - 2 * above, 0, f->height - 1) / high;
    c->to_y = clip(w->y1 - 1 + 2 * above, 0, f->height - 1) / high + 1;
    for (int i = 0; i < f->count; i++) plane_init(&c->plane[i], c, i, a);
    size_t n = (size_t)(w->x1 - w->x0);
    for (int i = 0; i < 2; i++) c->chroma[i] = arena_alloc(a, n + 2 + KERNEL_SLACK);
    for (int i = 0; i < JPEG_BATCH; i++) c->pixels[i] = arena_zalloc(a, 4 * n + KERNEL_SLACK);
}

int canvas_blocks(const struct canvas *c, int part)
{
    return (c->to_x - c->from_x) * c->frame->part[part].h;
}

static uint8_t *plane_row(const struct plane *p, int row)
{
    return p->samples + (size_t)(row % p->rows) * p->stride;
}

/* Repeat the outermost samples of rows that start or end with the picture's. */
static void widen_edges(const struct plane *p, const struct part *part, int row)
{
    int end = part->wide - p->left;
    for (int i = 0; i < 8; i++) {
        uint8_t *s = plane_row(p, row + i);
        if (p->left == 0) s[-1] = s[0];
        if ((size_t)end + 32 <= p->stride) s[end] = s[end - 1];
    }
}

/* A row of chroma as wide and high as the picture; returns the sample of the window's x0. */
static const uint8_t *chroma_row(struct canvas *c, int part, int y)
{
    const struct frame *f = c->frame;
    const struct plane *p = &c->plane[part];
    const struct window *w = &c->window;
    uint8_t *out = c->chroma[part - 1];
    int row = y / f->v, other = f->v == 1 ? row : y % 2 ? row + 1 : row - 1;
    const uint8_t *near = plane_row(p, row);
    const uint8_t *far = plane_row(p, clip(other, 0, f->part[part].high - 1));
    int from = w->x0 / f->h - p->left, n = (w->x1 - 1) / f->h - p->left - from + 1;
    if (f->h == 1 && f->v == 1) return near + from;
    if (f->h == 1)
        c->kernels->higher(out, near + from, far + from, 1 + y % 2, n);
    else if (f->v == 1)
        c->kernels->wider(out, near + from, n);
    else
        c->kernels->wider_higher(out, near + from, far + from, n);
    return out + w->x0 % f->h;
}

static void paint(struct canvas *c, uint8_t *out, int y)
{
    const struct plane *p = &c->plane[0];
    const uint8_t *luma = plane_row(p, y) + c->window.x0 - p->left;
    int n = c->window.x1 - c->window.x0;
    if (c->frame->count == 1)
        c->kernels->grey(out, luma, n);
    else
        c->kernels->colour(out, luma, chroma_row(c, 1, y), chroma_row(c, 2, y), n);
}

/* Hand over what is complete when the rows above `limit` are. */
static void emit(struct canvas *c, int limit)
{
    int end = c->window.y1;
    while (c->next < end) {
        int n = end - c->next < JPEG_BATCH ? end - c->next : JPEG_BATCH;
        if (c->next + n > limit) return;
        for (int i = 0; i < n; i++) paint(c, c->pixels[i], c->next + i);
        c->rows(c->ctx, c->pixels, n);
        c->next += n;
    }
}

void canvas_put(struct canvas *c, int y, int16_t *const *coefs)
{
    const struct frame *f = c->frame;
    for (int i = 0; i < f->count; i++) {
        const struct plane *p = &c->plane[i];
        const struct part *part = &f->part[i];
        int blocks = canvas_blocks(c, i);
        for (int v = 0; v < part->v; v++) {
            int row = 8 * (y * part->v + v);
            const int16_t *from = coefs[i] + (size_t)(v * blocks) * BLOCK;
            c->kernels->idct(plane_row(p, row), p->stride, from, part->quant, blocks);
            if (f->h == 2 && i) widen_edges(p, part, row);
        }
    }
    int done = 8 * f->v * (y + 1);
    emit(c, y + 1 == f->mcus_high ? f->height : done - (f->v - 1));
}

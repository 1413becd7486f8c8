/* jpeg_pair.h - one file through our own JPEG decoder and through libjpeg alone: whatever the bytes
 * are, pixels, error sentence and verdict on damage must be the same. */
#ifndef JPEG_PAIR_H
#define JPEG_PAIR_H

#include "base/arena.h"
#include "base/err.h"
#include "image/jpeg.h"

#include <string.h>

struct jpeg_result {
    int rc, damaged;
    enum bad why;
    char text[200];
    uint8_t *pixels;
    size_t row, used;
};

/* How to decode: the window is given in 256ths, or is all. */
struct jpeg_choice {
    int keep, all;
    uint8_t pick[4];
};

static void jpeg_result_take(void *ctx, uint8_t *const *rows, int n)
{
    struct jpeg_result *r = ctx;
    for (int i = 0; i < n; i++, r->used += r->row) memcpy(r->pixels + r->used, rows[i], r->row);
}

static struct window jpeg_choice_window(const struct jpeg_choice *c, const struct image *head)
{
    struct window w = {0, head->width, 0, head->height};
    if (c->all) return w;
    w.x0 = c->pick[0] * head->width >> 8;
    w.y0 = c->pick[1] * head->height >> 8;
    w.x1 = w.x0 + 1 + (c->pick[2] * (head->width - w.x0 - 1) >> 8);
    w.y1 = w.y0 + 1 + (c->pick[3] * (head->height - w.y0 - 1) >> 8);
    return w;
}

/* 1 when the header already says no, or sides over `most`. */
static int jpeg_result_make(struct jpeg_result *r, const uint8_t *p, size_t n,
                            const struct jpeg_choice *c, int libjpeg, int most, struct arena *a)
{
    struct jpeg *j;
    struct image head = {0};
    memset(r, 0, sizeof *r);
    if (jpeg_open(&j, &head, p, n, c->keep, a)) return 1;
    if (head.width > most || head.height > most) {
        jpeg_close(j);
        return 1;
    }
    struct window w = jpeg_choice_window(c, &head);
    r->row = 4 * (size_t)(w.x1 - w.x0);
    r->pixels = arena_zalloc(a, r->row * (size_t)(w.y1 - w.y0));
    if (libjpeg) jpeg_only_libjpeg(j);
    r->rc = jpeg_read(j, &r->damaged, &w, jpeg_result_take, r);
    if (r->rc) {
        r->why = err_why();
        strncpy(r->text, err_text(), sizeof r->text - 1);
    }
    jpeg_close(j);
    return 0;
}

static int jpeg_results_agree(const struct jpeg_result *a, const struct jpeg_result *b)
{
    if (a->rc != b->rc || a->why != b->why || strcmp(a->text, b->text)) return 0;
    if (a->rc) return 1;
    return a->damaged == b->damaged && a->used == b->used && !memcmp(a->pixels, b->pixels, a->used);
}

/* 0 when both agree. */
static int jpeg_pair_differs(const uint8_t *p, size_t n, const struct jpeg_choice *c, int most,
                             struct arena *a)
{
    struct jpeg_result ours, theirs;
    int no = jpeg_result_make(&ours, p, n, c, 0, most, a);
    if (no != jpeg_result_make(&theirs, p, n, c, 1, most, a)) return 1;
    return !no && !jpeg_results_agree(&ours, &theirs);
}

#endif

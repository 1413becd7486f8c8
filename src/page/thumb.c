/* thumb.c - decode, average down, encode.
 * Every thumbnail pixel is the mean of the area it stands for, weighed exactly in whole numbers;
 * rows are added as the decoder gives them, so a large JPEG is never held. */
#include "page/thumb.h"
#include "base/err.h"
#include "image/convert.h"
#include "image/image.h"
#include "image/jpeg.h"
#include "image/probe.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#define COST_LIMIT (160ull << 20) /* a thumbnail is not worth more memory */

/* Source pixel i spans [i*out, (i+1)*out), output pixel o spans [o*in, (o+1)*in): in these units
 * every border is whole, and an output's weights add up to `in`. */
struct shrink {
    const struct image *im; /* how rows are to be read */
    int in_width, in_height, width, height;
    int row, y;     /* source row expected, output row being summed */
    uint64_t *sum;  /* [width, 3] weighted so far */
    uint32_t *line; /* [width, 3] the current source row, shrunk across */
    uint8_t *rgbx;  /* [in_width, 4] converted row */
    uint8_t *rgb;   /* [height, width, 3] */
    int packed;     /* rows come as R G B X already */
};

static void shrink_across(struct shrink *s, const uint8_t *rgbx)
{
    uint32_t *to = s->line;
    int64_t in = s->in_width, out = s->width, left = in;
    memset(s->line, 0, (size_t)s->width * 3 * sizeof *s->line);
    for (int64_t i = 0; i < in; i++, rgbx += 4) {
        int64_t part = out;
        while (part) {
            uint32_t w = (uint32_t)(part < left ? part : left);
            for (int c = 0; c < 3; c++) to[c] += w * rgbx[c];
            part -= w, left -= w;
            if (!left) to += 3, left = in;
        }
    }
}

static void shrink_emit(struct shrink *s)
{
    uint64_t whole = (uint64_t)s->in_width * (uint64_t)s->in_height;
    uint8_t *rgb = s->rgb + (size_t)s->y * (size_t)s->width * 3;
    for (int i = 0; i < 3 * s->width; i++) {
        rgb[i] = (uint8_t)((s->sum[i] + whole / 2) / whole);
        s->sum[i] = 0;
    }
    s->y++;
}

static void shrink_down(struct shrink *s)
{
    int64_t at = (int64_t)s->row * s->height, end = at + s->height;
    while (at < end) {
        int64_t border = (int64_t)(s->y + 1) * s->in_height, to = border < end ? border : end;
        for (int i = 0; i < 3 * s->width; i++) s->sum[i] += (uint64_t)(to - at) * s->line[i];
        if (to == border) shrink_emit(s);
        at = to;
    }
    s->row++;
}

static void shrink_row(struct shrink *s, const uint8_t *pixels)
{
    const uint8_t *rgbx = pixels;
    if (!s->packed) {
        convert_over_white(s->rgbx, pixels, s->in_width, s->im);
        rgbx = s->rgbx;
    }
    shrink_across(s, rgbx);
    shrink_down(s);
}

static void shrink_rows(void *ctx, uint8_t *const *rows, int n)
{
    for (int i = 0; i < n; i++) shrink_row(ctx, rows[i]);
}

static void shrink_init(struct shrink *s, const struct image *im, int side, struct arena *a)
{
    int64_t w = im->width, h = im->height, longest = w > h ? w : h;
    *s = (struct shrink){.im = im, .in_width = im->width, .in_height = im->height};
    if (side > longest) side = (int)longest;
    s->width = (int)((w * side + longest / 2) / longest);
    s->height = (int)((h * side + longest / 2) / longest);
    if (!s->width) s->width = 1;
    if (!s->height) s->height = 1;
    size_t cells = 3 * (size_t)s->width;
    s->sum = arena_zalloc(a, cells * sizeof *s->sum);
    s->line = arena_alloc(a, cells * sizeof *s->line);
    s->rgbx = arena_alloc(a, 4 * (size_t)s->in_width + 64);
    s->rgb = arena_alloc(a, cells * (size_t)s->height);
}

static int shrink_jpeg(struct shrink *s, struct image *im, const void *bytes, size_t n, int side,
                       struct arena *a)
{
    struct jpeg *j;
    int rc = jpeg_open(&j, im, bytes, n, 1, a);
    if (rc) return rc;
    struct window all = {0, im->width, 0, im->height};
    shrink_init(s, im, side, a);
    s->packed = im->mode != IMAGE_CMYK;
    rc = jpeg_read(j, &im->damaged, &all, shrink_rows, s);
    jpeg_close(j);
    return rc;
}

static int shrink_other(struct shrink *s, struct image *im, const void *bytes, size_t n, int side,
                        struct arena *a)
{
    int rc = image_decode(im, bytes, n, 1, a);
    if (rc) return rc;
    shrink_init(s, im, side, a);
    for (int y = 0; y < im->height; y++) shrink_row(s, im->pixels + (size_t)y * im->stride);
    return 0;
}

/* Turn the small picture, not the large one. */
static void turn(struct shrink *s, int orientation, struct arena *a)
{
    struct image im = {.width = s->width,
                       .height = s->height,
                       .mode = IMAGE_RGB,
                       .orientation = orientation,
                       .stride = 4 * (size_t)s->width};
    size_t n = (size_t)s->width * (size_t)s->height;
    im.pixels = arena_zalloc(a, 4 * n + 64);
    for (size_t i = 0; i < n; i++) memcpy(im.pixels + 4 * i, s->rgb + 3 * i, 3);
    image_orient(&im, a);
    s->width = im.width;
    s->height = im.height;
    for (int y = 0; y < im.height; y++)
        for (int x = 0; x < im.width; x++)
            memcpy(s->rgb + 3 * ((size_t)y * (size_t)im.width + (size_t)x),
                   im.pixels + (size_t)y * im.stride + 4 * (size_t)x, 3);
}

int thumb_make(struct thumb *t, const void *bytes, size_t n, int side, int orient, struct arena *a)
{
    struct image im = {.orientation = 1};
    struct shrink s;
    const struct decoder *d;
    str_clear(&t->jpeg);
    int rc = image_find(&d, bytes, n);
    if (rc) return rc;
    if (image_cost(bytes, n) > COST_LIMIT)
        return err_bad(BAD_TOO_LARGE, "too large for a thumbnail");
    if (d->decode == jpeg_decode)
        rc = shrink_jpeg(&s, &im, bytes, n, side, a);
    else
        rc = shrink_other(&s, &im, bytes, n, side, a);
    if (rc) return rc;
    if (orient && im.orientation > 1) turn(&s, im.orientation, a);
    t->width = s.width;
    t->height = s.height;
    return thumb_encode(&t->jpeg, s.rgb, s.width, s.height, THUMB_QUALITY);
}

void thumb_release(struct thumb *t)
{
    str_release(&t->jpeg);
    memset(t, 0, sizeof *t);
}

struct encoder {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    jmp_buf env;
    unsigned char *bytes;
    unsigned long size;
};

static void on_error(j_common_ptr c)
{
    struct encoder *e = c->client_data;
    longjmp(e->env, 1);
}

static void on_message(j_common_ptr c, int level)
{
    (void)c;
    (void)level;
}

static void encode(struct encoder *e, const uint8_t *rgb, int width, int height, int quality)
{
    jpeg_create_compress(&e->c);
    jpeg_mem_dest(&e->c, &e->bytes, &e->size);
    e->c.image_width = (JDIMENSION)width;
    e->c.image_height = (JDIMENSION)height;
    e->c.input_components = 3;
    e->c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&e->c);
    jpeg_set_quality(&e->c, quality, TRUE);
    e->c.optimize_coding = TRUE;
    e->c.write_JFIF_header = TRUE;
    jpeg_start_compress(&e->c, TRUE);
    for (int y = 0; y < height; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(rgb + 3 * (size_t)y * (size_t)width);
        jpeg_write_scanlines(&e->c, &row, 1);
    }
    jpeg_finish_compress(&e->c);
}

/* The only setjmp: 1 when libjpeg gave up. */
static int encode_guarded(struct encoder *e, const uint8_t *rgb, int width, int height, int quality)
{
    if (setjmp(e->env)) return 1;
    encode(e, rgb, width, height, quality);
    return 0;
}

int thumb_encode(struct str *out, const uint8_t *rgb, int width, int height, int quality)
{
    struct encoder e = {.bytes = NULL};
    e.c.err = jpeg_std_error(&e.errors);
    e.errors.error_exit = on_error;
    e.errors.emit_message = on_message;
    e.c.client_data = &e;
    int failed = encode_guarded(&e, rgb, width, height, quality);
    if (!failed) str_add(out, e.bytes, (size_t)e.size);
    jpeg_destroy_compress(&e.c);
    free(e.bytes);
    if (!failed) return 0;
    return err_set(ERR_FAIL, "%d x %d pixels cannot be written as JPEG", width, height);
}

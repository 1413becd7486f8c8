/* Our own JPEG decoder against libjpeg: the same pixels for every kind of file it takes, in every
 * window, by every instruction set; and nothing but regular files is taken. */
#include "test.h"
#include "base/arena.h"
#include "base/mem.h"
#include "base/rng.h"
#include "image/jpeg.h"
#include "image/jpeg/kernels.h"
#include "image/jpeg/regular.h"

#include <jpeglib.h>

struct kind {
    int width, height, quality;
    int grey, h, v, progressive, optimize, restart;
    int noise; /* levels of noise over the waves */
};

static uint8_t sample(const struct kind *k, int x, int y, int c, struct rng *r)
{
    double wave = 128 + 110 * sin(0.11 * x + c) * cos(0.07 * y + 2 * c);
    if (x > k->width / 2 && y > k->height / 2) wave = c * 90; /* flat blocks */
    int v = (int)wave + (k->noise ? (int)(rng_below(r, (uint64_t)(2 * k->noise))) - k->noise : 0);
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static size_t encode(uint8_t **out, const struct kind *k, struct rng *r)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr e;
    unsigned long n = 0;
    int parts = k->grey ? 1 : 3;
    uint8_t *row = mem_alloc((size_t)parts * (size_t)k->width);
    *out = NULL;
    c.err = jpeg_std_error(&e);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, out, &n);
    c.image_width = (JDIMENSION)k->width, c.image_height = (JDIMENSION)k->height;
    c.input_components = parts, c.in_color_space = k->grey ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, k->quality, TRUE);
    c.comp_info[0].h_samp_factor = k->h, c.comp_info[0].v_samp_factor = k->v;
    c.optimize_coding = k->optimize;
    c.restart_interval = (unsigned)k->restart;
    if (k->progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        for (int x = 0; x < k->width; x++)
            for (int i = 0; i < parts; i++)
                row[x * parts + i] = sample(k, x, (int)c.next_scanline, i, r);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    return n;
}

/* libjpeg alone: [height, width, 4]. */
static uint8_t *decode(const uint8_t *bytes, size_t n)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr e;
    c.err = jpeg_std_error(&e);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, bytes, (unsigned long)n);
    jpeg_read_header(&c, TRUE);
    c.out_color_space = JCS_EXT_RGBX;
    jpeg_start_decompress(&c);
    size_t stride = 4 * (size_t)c.output_width;
    uint8_t *out = mem_alloc(stride * c.output_height);
    while (c.output_scanline < c.output_height) {
        uint8_t *row = out + stride * c.output_scanline;
        jpeg_read_scanlines(&c, &row, 1);
    }
    jpeg_finish_decompress(&c);
    jpeg_destroy_decompress(&c);
    return out;
}

struct taker {
    const uint8_t *want;
    const struct window *w;
    int width, y, wrong;
};

static void take(void *ctx, uint8_t *const *rows, int n)
{
    struct taker *t = ctx;
    for (int i = 0; i < n; i++, t->y++) {
        size_t at = (size_t)(t->w->y0 + t->y) * (size_t)t->width + (size_t)t->w->x0;
        if (memcmp(rows[i], t->want + 4 * at, 4 * (size_t)(t->w->x1 - t->w->x0))) t->wrong++;
    }
}

/* Is the file taken? Rows are counted and compared in t. */
static int run(struct taker *t, const uint8_t *bytes, size_t n, struct arena *a)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr e;
    int done = 0;
    c.err = jpeg_std_error(&e);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, bytes, (unsigned long)n);
    jpeg_read_header(&c, TRUE);
    int rc = regular_read(&done, &c, t->w, take, t, a);
    CHECK_INT(done, t->y);
    jpeg_destroy_decompress(&c);
    return !rc;
}

static int between(struct rng *r, int lo, int hi)
{
    return lo + (int)(rng_below(r, (uint64_t)(hi - lo + 1)));
}

static struct kind random_kind(struct rng *r)
{
    struct kind k = {.width = between(r, 1, 300), .height = between(r, 1, 300)};
    k.quality = between(r, 1, 100);
    k.grey = !between(r, 0, 5);
    k.h = between(r, 1, 2);
    k.v = between(r, 1, 2);
    k.progressive = between(r, 0, 1);
    k.optimize = between(r, 0, 1);
    k.noise = between(r, 0, 1) ? 0 : between(r, 1, 120);
    if (between(r, 0, 2) == 0) k.restart = between(r, 1, 40);
    if (!k.grey && k.h == 2 && k.width <= 4) k.width += 4;
    return k;
}

static struct window random_window(struct rng *r, int width, int height)
{
    struct window w = {between(r, 0, width - 1), 0, between(r, 0, height - 1), 0};
    w.x1 = between(r, w.x0 + 1, width);
    w.y1 = between(r, w.y0 + 1, height);
    return w;
}

static void compare(const struct kind *k, const uint8_t *bytes, size_t n, struct rng *r,
                    struct arena *a)
{
    uint8_t *want = decode(bytes, n);
    for (int i = 0; i < 4; i++) {
        struct window w = {0, k->width, 0, k->height};
        if (i) w = random_window(r, k->width, k->height);
        struct taker t = {want, &w, k->width, 0, 0};
        if (!run(&t, bytes, n, a) || t.wrong || t.y != w.y1 - w.y0)
            TEST_FAIL("%d x %d quality %d grey %d %dx%d progressive %d optimize %d restart %d "
                      "window %d-%d %d-%d: %d rows, %d wrong",
                      k->width, k->height, k->quality, k->grey, k->h, k->v, k->progressive,
                      k->optimize, k->restart, w.x0, w.x1, w.y0, w.y1, t.y, t.wrong);
        arena_reset(a);
    }
    free(want);
}

static void compare_many(int count, uint64_t seed)
{
    struct arena a = {0};
    struct rng r = {seed};
    for (int i = 0; i < count; i++) {
        uint8_t *bytes;
        struct kind k = random_kind(&r);
        size_t n = encode(&bytes, &k, &r);
        compare(&k, bytes, n, &r, &a);
        free(bytes);
    }
    arena_release(&a);
}

TEST(every_kind_and_window_as_libjpeg)
{
    compare_many(400, 1);
}

TEST_MAIN

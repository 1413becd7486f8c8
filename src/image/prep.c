/* prep.c - picture bytes to the S x S pixels a model sees.
 * Four roads, since Pillow resizes before it converts: a JPEG streams its rows through the
 * resize while they are hot, without ever holding the picture; other 8-bit pictures are decoded
 * whole and fed the same way; modes 1 and P are resized by nearest neighbour; I;16 in double.
 * rgb_first turns all of them into the second road. */
#include "image/prep.h"
#include "image/convert.h"
#include "image/image.h"
#include "image/jpeg.h"
#include "image/resize.h"

#include <string.h>

/* Half of the margin, rounded: torchvision to even, the HF processor down. */
static int crop_start(int margin, int floor_crop)
{
    int half = margin / 2;
    return margin % 2 && !floor_crop ? half + half % 2 : half;
}

/* The side that is not the short one, truncated as int(S * long / short) in double is. */
static int long_side(int size, int is, int shortest)
{
    double d = (double)((int64_t)size * is) / shortest;
    return (int)d;
}

/* A picture so narrow that its resized long side passes this is refused: nobody means it, and
 * offsets stay far from overflow. */
#define MAX_STRETCH 100000000.0

static int plan_make(struct resize_plan *plan, int width, int height, const struct prep *p)
{
    *plan = (struct resize_plan){.in_width = width,
                                 .in_height = height,
                                 .size = p->size,
                                 .out_width = p->size,
                                 .out_height = p->size,
                                 .filter = p->filter};
    if (p->fit == FIT_SQUASH) return 0;
    int shortest = width < height ? width : height, longest = width < height ? height : width;
    int side = p->resize ? p->resize : p->size;
    if ((double)side * longest / shortest > MAX_STRETCH)
        return err_bad(BAD_TOO_LARGE, "%d x %d pixels are too narrow to resize", width, height);
    plan->out_width = width < height ? side : long_side(side, width, height);
    plan->out_height = width < height ? long_side(side, height, width) : side;
    plan->x = crop_start(plan->out_width - p->size, p->floor_crop);
    plan->y = crop_start(plan->out_height - p->size, p->floor_crop);
    return 0;
}

static int same_size(const struct resize_plan *plan)
{
    return plan->in_width == plan->out_width && plan->in_height == plan->out_height;
}

/* A resize fed by rows of `mode`, or of RGB when it is to be converted first. */
struct feed {
    struct resize resize;
    const struct image *im;
    int convert_first;
};

static void feed_rows(void *ctx, uint8_t *const *rows, int n)
{
    struct feed *f = ctx;
    int width = f->resize.x.hi - f->resize.x.lo;
    if (f->convert_first && f->im->mode == IMAGE_CMYK)
        for (int i = 0; i < n; i++) convert_rgbx(rows[i], rows[i], width, f->im);
    resize_push(&f->resize, rows, n);
}

static void feed_result(uint8_t *rgb, const struct feed *f, int size)
{
    enum image_mode mode = f->convert_first ? IMAGE_RGB : f->im->mode;
    if (mode == IMAGE_RGB || mode == IMAGE_L) {
        resize_rgb(rgb, &f->resize);
        return;
    }
    for (int y = 0; y < size; y++)
        convert_to_rgb(rgb + 3 * (size_t)size * (size_t)y,
                       f->resize.out + f->resize.out_stride * (size_t)y, size, mode);
}

static int stream_jpeg(uint8_t *rgb, struct image *head, struct jpeg *j, const struct prep *p,
                       struct arena *a)
{
    struct resize_plan plan;
    int rc = plan_make(&plan, head->width, head->height, p);
    if (rc) return rc;
    struct feed f = {.im = head, .convert_first = p->rgb_first};
    resize_init(&f.resize, &plan, a);
    struct window w = {f.resize.x.lo, f.resize.x.hi, f.resize.y.lo, f.resize.y.hi};
    rc = jpeg_read(j, &head->damaged, &w, feed_rows, &f);
    if (!rc) feed_result(rgb, &f, p->size);
    return rc;
}

static void convert_first(uint8_t *out, const uint8_t *p, int n, const struct image *im, int white)
{
    if (white)
        convert_over_white(out, p, n, im);
    else
        convert_rgbx(out, p, n, im);
}

/* The crop of a picture that keeps its size. */
static void take_crop(uint8_t *rgb, const struct image *im, const struct resize_plan *plan,
                      int white, struct arena *a)
{
    size_t pixel = (size_t)image_pixel_size(im->mode), n = (size_t)plan->size;
    uint8_t *row = arena_alloc(a, 4 * n);
    for (size_t y = 0; y < n; y++) {
        const uint8_t *from = im->pixels + (y + (size_t)plan->y) * im->stride;
        convert_first(row, from + (size_t)plan->x * pixel, plan->size, im, white);
        convert_to_rgb(rgb + 3 * n * y, row, plan->size, IMAGE_RGB);
    }
}

static void nearest(uint8_t *rgb, const struct image *im, const struct resize_plan *plan,
                    struct arena *a)
{
    size_t n = (size_t)plan->size;
    int *columns = arena_alloc(a, n * sizeof *columns), *rows = arena_alloc(a, n * sizeof *rows);
    uint8_t *row = arena_alloc(a, n), *rgbx = arena_alloc(a, 4 * n);
    resize_nearest(columns, plan->in_width, plan->out_width, plan->x, plan->size);
    resize_nearest(rows, plan->in_height, plan->out_height, plan->y, plan->size);
    for (size_t y = 0; y < n; y++) {
        const uint8_t *from = im->pixels + (size_t)(rows[y] < 0 ? 0 : rows[y]) * im->stride;
        for (size_t x = 0; x < n; x++)
            row[x] = rows[y] < 0 || columns[x] < 0 ? 0 : from[columns[x]];
        convert_rgbx(rgbx, row, plan->size, im);
        convert_to_rgb(rgb + 3 * n * y, rgbx, plan->size, IMAGE_RGB);
    }
}

static void sixteen_bit(uint8_t *rgb, const struct image *im, const struct resize_plan *plan,
                        struct arena *a)
{
    size_t n = (size_t)plan->size;
    uint16_t *out = arena_alloc(a, n * n * sizeof *out);
    uint8_t *rgbx = arena_alloc(a, 4 * n);
    resize_16(out, (const uint16_t *)(const void *)im->pixels, plan, a);
    for (size_t y = 0; y < n; y++) {
        convert_rgbx(rgbx, (const uint8_t *)(out + n * y), plan->size, im);
        convert_to_rgb(rgb + 3 * n * y, rgbx, plan->size, IMAGE_RGB);
    }
}

static void convolve(uint8_t *rgb, const struct image *im, const struct resize_plan *plan,
                     const struct prep *p, struct arena *a)
{
    struct feed f = {.im = im, .convert_first = p->rgb_first};
    resize_init(&f.resize, plan, a);
    const struct axis *x = &f.resize.x, *y = &f.resize.y;
    size_t pixel = (size_t)image_pixel_size(im->mode);
    int width = x->hi - x->lo, got = 0;
    uint8_t *rows[RESIZE_BATCH];
    for (int i = 0; i < RESIZE_BATCH; i++) rows[i] = arena_zalloc(a, 4 * (size_t)width + 64);
    for (int line = y->lo; line < y->hi; line++) {
        const uint8_t *from = im->pixels + (size_t)line * im->stride + (size_t)x->lo * pixel;
        if (p->rgb_first)
            convert_first(rows[got++], from, width, im, p->over_white);
        else
            convert_to_resize(rows[got++], from, width, im->mode);
        if (got == RESIZE_BATCH || line + 1 == y->hi) resize_push(&f.resize, rows, got), got = 0;
    }
    feed_result(rgb, &f, plan->size);
}

static int prep_image(uint8_t *rgb, const struct image *im, const struct prep *p, struct arena *a)
{
    struct resize_plan plan;
    int rc = plan_make(&plan, im->width, im->height, p);
    if (rc) return rc;
    if (same_size(&plan))
        take_crop(rgb, im, &plan, p->rgb_first && p->over_white, a);
    else if (p->rgb_first)
        convolve(rgb, im, &plan, p, a);
    else if (im->mode == IMAGE_1 || im->mode == IMAGE_P)
        nearest(rgb, im, &plan, a);
    else if (im->mode == IMAGE_I16)
        sixteen_bit(rgb, im, &plan, a);
    else
        convolve(rgb, im, &plan, p, a);
    return 0;
}

static int prep_jpeg(uint8_t *rgb, struct image *head, const void *bytes, size_t n,
                     const struct prep *p, struct arena *a)
{
    struct jpeg *j;
    int rc = jpeg_open(&j, head, bytes, n, p->keep_damaged, a);
    if (rc) return rc;
    rc = stream_jpeg(rgb, head, j, p, a);
    jpeg_close(j);
    return rc;
}

/* Any format, decoded whole, turned when asked. */
static int prep_whole(uint8_t *rgb, struct image *im, const void *bytes, size_t n,
                      const struct prep *p, struct arena *a)
{
    int rc = image_decode(im, bytes, n, p->keep_damaged, a);
    if (rc) return rc;
    if (p->exif_orient) image_orient(im, a);
    return prep_image(rgb, im, p, a);
}

int prep_run(uint8_t *rgb, struct picture_info *info, const void *bytes, size_t n,
             const struct prep *p, struct arena *scratch)
{
    const struct decoder *d;
    struct image im = {.orientation = 1};
    int rc = image_find(&d, bytes, n);
    if (rc) return rc;
    im.format = d->name;
    if (d->decode == jpeg_decode && !p->exif_orient)
        rc = prep_jpeg(rgb, &im, bytes, n, p, scratch);
    else
        rc = prep_whole(rgb, &im, bytes, n, p, scratch);
    if (rc) return rc;
    if (info)
        *info = (struct picture_info){
            .width = im.width, .height = im.height, .format = im.format, .damaged = im.damaged};
    return 0;
}

void prep_lut(float lut[3][256], const struct prep *p)
{
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++) {
            float unit = (float)v / 255.0f;
            float centred = unit - p->mean[c];
            lut[c][v] = centred / p->std[c];
        }
}

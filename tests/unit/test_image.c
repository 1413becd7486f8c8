/* The picture layer: limits, damage, orientation, and kernels that must agree to the byte. */
#include "test.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "image/convert.h"
#include "image/image.h"
#include "image/jpeg.h"
#include "image/prep.h"
#include "image/resize.h"

#include <jpeglib.h>

static uint32_t noise_state;

static uint8_t noise(void)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    return (uint8_t)(noise_state >> 24);
}

/* A resize by one set of kernels. */
static void run_kernels(uint8_t *rgb, const struct resize_kernels *k, const struct resize_plan *p,
                        const uint8_t *px, struct arena *a)
{
    struct resize r;
    resize_init_with(&r, p, k, a);
    for (int y = r.y.lo; y < r.y.hi; y += RESIZE_BATCH) {
        uint8_t *rows[RESIZE_BATCH];
        int n = r.y.hi - y < RESIZE_BATCH ? r.y.hi - y : RESIZE_BATCH;
        for (int i = 0; i < n; i++) {
            size_t width = (size_t)(r.x.hi - r.x.lo);
            rows[i] = arena_zalloc(a, 4 * width + 64);
            memcpy(rows[i], px + 4 * ((size_t)(y + i) * (size_t)p->in_width + (size_t)r.x.lo),
                   4 * width);
        }
        resize_push(&r, rows, n);
    }
    CHECK_INT(r.rows_out, p->size);
    resize_rgb(rgb, &r);
}

static void compare_kernels(const struct resize_plan *p, struct arena *a)
{
    const struct resize_kernels *set[] = {&resize_plain, NULL, NULL, NULL};
    if (isa_best() >= ISA_AVX2) set[1] = &resize_avx2;
    if (isa_best() >= ISA_AVX512) set[2] = &resize_avx512;
    if (isa_best() >= ISA_AVX512 && resize_has_vnni()) set[3] = &resize_vnni;
    size_t n = (size_t)p->in_width * (size_t)p->in_height * 4, m = 3 * (size_t)(p->size * p->size);
    uint8_t *px = arena_alloc(a, n), *want = arena_alloc(a, m), *got = arena_alloc(a, m);
    for (size_t i = 0; i < n; i++) px[i] = noise() & 128 ? 255 : noise(); /* sums that overshoot */
    run_kernels(want, set[0], p, px, a);
    for (int i = 1; i < 4; i++) {
        if (!set[i]) continue;
        run_kernels(got, set[i], p, px, a);
        if (memcmp(got, want, m))
            TEST_FAIL("kernels %d differ at %d x %d -> %d", i, p->in_width, p->in_height, p->size);
    }
}

TEST(kernels_agree)
{
    struct arena a = {0};
    noise_state = 7;
    for (int i = 0; i < 120; i++) {
        int w = 1 + (noise() << 2 | noise()) % 700, h = 1 + (noise() << 2 | noise()) % 700;
        int size = 1 + noise() % 64;
        struct resize_plan p = {w, h, size, size,
                                0, 0, size, i % 2 ? FILTER_BICUBIC : FILTER_BILINEAR};
        if (i % 3) p.out_width += noise() % 50, p.x = p.out_width - size;
        if (i % 5) p.out_height += noise() % 50, p.y = (p.out_height - size) / 2;
        compare_kernels(&p, &a);
        arena_reset(&a);
    }
    arena_release(&a);
}

TEST(same_size_is_the_identity)
{
    struct arena a = {0};
    struct resize_plan p = {9, 9, 9, 9, 0, 0, 9, FILTER_BICUBIC};
    uint8_t px[9 * 9 * 4], rgb[9 * 9 * 3];
    noise_state = 3;
    for (size_t i = 0; i < sizeof px; i++) px[i] = noise();
    run_kernels(rgb, &resize_plain, &p, px, &a);
    for (int i = 0; i < 81; i++) CHECK_BYTES(rgb + 3 * i, px + 4 * i, 3);
    arena_release(&a);
}

static size_t make_jpeg(uint8_t **out, int w, int h, int quality, int progressive)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr e;
    unsigned long n = 0;
    uint8_t *row = mem_alloc(3 * (size_t)w);
    *out = NULL;
    c.err = jpeg_std_error(&e);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, out, &n);
    c.image_width = (JDIMENSION)w, c.image_height = (JDIMENSION)h;
    c.input_components = 3, c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, quality, TRUE);
    if (progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        for (int i = 0; i < 3 * w; i++)
            row[i] =
                (uint8_t)(128 + 100 * sin(0.05 * i) * cos(0.07 * c.next_scanline) + noise() % 20);
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    return n;
}

struct taker {
    const struct image *whole;
    const struct window *w;
    int y, wrong;
};

static void take(void *ctx, uint8_t *const *rows, int n)
{
    struct taker *t = ctx;
    for (int i = 0; i < n; i++, t->y++) {
        const uint8_t *want = t->whole->pixels + (size_t)(t->w->y0 + t->y) * t->whole->stride;
        if (memcmp(rows[i], want + 4 * t->w->x0, 4 * (size_t)(t->w->x1 - t->w->x0))) t->wrong++;
    }
}

TEST(jpeg_windows_equal_the_whole)
{
    struct arena a = {0};
    noise_state = 11;
    for (int i = 0; i < 40; i++) {
        uint8_t *bytes;
        int w = 1 + noise() + noise(), h = 1 + noise() + noise();
        size_t n = make_jpeg(&bytes, w, h, 30 + noise() % 60, i % 2);
        struct image whole = {0}, head = {0};
        CHECK_INT(jpeg_decode(&whole, bytes, n, 0, &a), 0);
        for (int k = 0; k < 6; k++) {
            struct window win = {noise() % w, 0, noise() % h, 0};
            win.x1 = win.x0 + 1 + noise() % (w - win.x0);
            win.y1 = win.y0 + 1 + noise() % (h - win.y0);
            struct taker t = {&whole, &win, 0, 0};
            struct jpeg *j;
            int damaged = 0;
            CHECK_INT(jpeg_open(&j, &head, bytes, n, 0, &a), 0);
            CHECK_INT(jpeg_read(j, &damaged, &win, take, &t), 0);
            jpeg_close(j);
            CHECK_INT(t.wrong, 0);
            CHECK_INT(t.y, win.y1 - win.y0);
        }
        arena_reset(&a);
        free(bytes);
    }
    arena_release(&a);
}

static int prep_bytes(uint8_t *rgb, const void *bytes, size_t n, int keep,
                      struct picture_info *info)
{
    struct arena a = {0};
    struct prep p = {.size = 32, .keep_damaged = keep};
    int rc = prep_run(rgb, info, bytes, n, &p, &a);
    arena_release(&a);
    return rc;
}

TEST(bad_bytes_have_a_reason)
{
    uint8_t rgb[32 * 32 * 3];
    struct picture_info info;
    CHECK_INT(prep_bytes(rgb, "", 0, 0, &info), ERR_DATA);
    CHECK_INT(err_why(), BAD_EMPTY);
    CHECK_INT(prep_bytes(rgb, "not a picture", 13, 0, &info), ERR_DATA);
    CHECK_INT(err_why(), BAD_UNSUPPORTED);
    uint8_t *big = mem_alloc(IMAGE_MAX_BYTES + 1);
    memcpy(big, "\xff\xd8\xff", 3);
    CHECK_INT(prep_bytes(rgb, big, IMAGE_MAX_BYTES + 1, 0, &info), ERR_DATA);
    CHECK_INT(err_why(), BAD_TOO_LARGE);
    free(big);
}

TEST(a_cut_jpeg_is_truncated_wherever_it_is_cut)
{
    uint8_t rgb[32 * 32 * 3], *bytes;
    struct picture_info info;
    for (int progressive = 0; progressive < 2; progressive++) {
        size_t n = make_jpeg(&bytes, 200, 150, 80, progressive);
        CHECK_INT(prep_bytes(rgb, bytes, n, 0, &info), 0);
        CHECK_INT(info.width, 200);
        CHECK_STR(info.format, "jpeg");
        for (size_t cut = 1; cut < n; cut += 1 + n / 97)
            CHECK_INT(prep_bytes(rgb, bytes, n - cut, 0, NULL), ERR_DATA);
        CHECK_INT(prep_bytes(rgb, bytes, n - n / 4, 1, &info), 0);
        CHECK_INT(info.damaged, 1);
        free(bytes);
    }
}

TEST(limits_come_before_memory)
{
    CHECK_INT(image_check_size(0, 5, 4), ERR_DATA);
    CHECK_INT(err_why(), BAD_CORRUPT);
    CHECK_INT(image_check_size(32769, 5, 1), ERR_DATA);
    CHECK_INT(err_why(), BAD_TOO_LARGE);
    CHECK_INT(image_check_size(20000, 20000, 1), ERR_DATA);
    CHECK_INT(image_check_size(10000, 10000, 4), 0);
    CHECK_INT(image_check_size(10000, 10000, 12), ERR_DATA);
    CHECK_INT(image_check_size(UINT64_MAX, UINT64_MAX, 4), ERR_DATA);
}

TEST(exif_orientation_is_read_in_both_byte_orders)
{
    const uint8_t little[] = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
    const uint8_t big[] = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0";
    CHECK_INT(exif_orientation(little, sizeof little - 1), 6);
    CHECK_INT(exif_orientation(big, sizeof big - 1), 8);
    for (size_t n = 0; n < sizeof big - 1; n++) CHECK_INT(exif_orientation(big, n), 1);
    uint8_t far[] = "II*\0\xff\xff\xff\xff";
    CHECK_INT(exif_orientation(far, 8), 1);
}

TEST(orientation_six_turns_clockwise)
{
    struct arena a = {0};
    uint8_t px[6] = {1, 2, 3, 4, 5, 6}; /* 1 2 3 / 4 5 6 */
    struct image im = {
        .width = 3, .height = 2, .mode = IMAGE_L, .stride = 3, .pixels = px, .orientation = 6};
    image_orient(&im, &a);
    const uint8_t want[6] = {4, 1, 5, 2, 6, 3};
    CHECK_INT(im.width, 2);
    CHECK_INT(im.height, 3);
    CHECK_BYTES(im.pixels, want, 6);
    arena_release(&a);
}

TEST(crop_offsets_round_as_the_two_stacks_do)
{
    /* 11 x 4 to 4: the margin is 7, half of it 3.5: even rounding takes column 4, floor takes 3. */
    struct arena a = {0};
    struct str s = {0};
    uint8_t rgb[11 * 4 * 3], out[4 * 4 * 3];
    for (int i = 0; i < 44; i++) memset(rgb + 3 * i, 10 * (i % 11), 3);
    png_encode(&s, rgb, 11, 4);
    struct prep p = {.size = 4};
    CHECK_INT(prep_run(out, NULL, s.p, s.len, &p, &a), 0);
    CHECK_INT(out[0], 40);
    p.floor_crop = 1;
    CHECK_INT(prep_run(out, NULL, s.p, s.len, &p, &a), 0);
    CHECK_INT(out[0], 30);
    str_release(&s);
    arena_release(&a);
}

TEST(steady_state_holds_its_memory)
{
    struct arena a = {0};
    uint8_t rgb[32 * 32 * 3], *bytes;
    size_t n = make_jpeg(&bytes, 300, 200, 80, 0), held = 0;
    struct prep p = {.size = 32};
    for (int i = 0; i < 20; i++) {
        CHECK_INT(prep_run(rgb, NULL, bytes, n, &p, &a), 0);
        arena_reset(&a);
        if (i == 1) held = arena_bytes(&a);
    }
    CHECK_INT(arena_bytes(&a), held);
    free(bytes);
    arena_release(&a);
}

TEST_MAIN

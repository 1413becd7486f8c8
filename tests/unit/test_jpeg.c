/* Our own JPEG decoder against libjpeg: the same pixels for every kind of file it takes, in every
 * window, by every instruction set; and nothing but regular files is taken. */
#include "test.h"
#include "jpeg_pair.h"
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

static void say_nothing(j_common_ptr c, int level)
{
    (void)c, (void)level;
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
    e.emit_message = say_nothing;
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
    e.emit_message = say_nothing;
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
    e.emit_message = say_nothing;
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

/* Scans still to be written of one band of one component. */
struct band {
    int part, first, last, high, low;
};

static jpeg_scan_info scan_of(const struct band *b)
{
    return (jpeg_scan_info){.comps_in_scan = 1,
                            .component_index = {b->part},
                            .Ss = b->first,
                            .Se = b->last,
                            .Ah = b->high,
                            .Al = b->low};
}

/* A valid progression picked at random: bands, bits, and the order of scans. */
static int random_script(jpeg_scan_info *out, int parts, struct rng *r)
{
    struct band band[16];
    int n = 0, count = 0, low = between(r, 0, 3);
    jpeg_scan_info all = {.comps_in_scan = parts, .component_index = {0, 1, 2}, .Al = low};
    if (parts > 1 && between(r, 0, 1)) {
        out[count++] = all;
        for (; low > 0; low--) {
            all.Ah = low, all.Al = low - 1;
            out[count++] = all;
        }
    } else {
        for (int i = 0; i < parts; i++) band[n++] = (struct band){i, 0, 0, 0, between(r, 0, 2)};
        for (int i = 0; i < parts; i++) out[count++] = scan_of(&band[i]);
    }
    for (int i = 0; i < parts; i++)
        for (int first = 1; first < 64;) {
            int last = between(r, 0, 1) ? 63 : between(r, first, 63);
            if (n > 12) last = 63;
            band[n++] = (struct band){i, first, last, 0, between(r, 0, 3)};
            out[count++] = scan_of(&band[n - 1]);
            first = last + 1;
            if (n == 16) break;
        }
    while (n) { /* one more bit of a random band */
        int i = between(r, 0, n - 1);
        if (!band[i].low) {
            band[i] = band[--n];
            continue;
        }
        band[i].high = band[i].low--;
        out[count++] = scan_of(&band[i]);
    }
    return count;
}

/* Coefficients no camera writes: sparse or dense, small or as large as the format allows. */
static void fill_block(JCOEF *block, struct rng *r)
{
    int top = between(r, 0, 3) ? 12 : 1023, dense = between(r, 0, 4);
    memset(block, 0, 64 * sizeof *block);
    block[0] = (JCOEF)between(r, -top, top);
    for (int k = 1; dense && k < 64; k++)
        if (!between(r, 0, 1 << (4 - dense))) block[k] = (JCOEF)between(r, -top, top);
}

static void fill_part(struct jpeg_compress_struct *c, jvirt_barray_ptr array, int i, struct rng *r)
{
    const jpeg_component_info *p = &c->comp_info[i];
    for (JDIMENSION y = 0; y < p->height_in_blocks; y++) {
        JBLOCKARRAY rows = c->mem->access_virt_barray((j_common_ptr)c, array, y, 1, TRUE);
        for (JDIMENSION x = 0; x < p->width_in_blocks; x++) fill_block(rows[0][x], r);
    }
}

static void set_quant(struct jpeg_compress_struct *c, struct rng *r)
{
    unsigned table[64];
    for (int t = 0; t < 2; t++) {
        int top = between(r, 0, 2) ? 40 : 65535;
        for (int i = 0; i < 64; i++) table[i] = (unsigned)between(r, 1, top);
        jpeg_add_quant_table(c, t, table, 100, FALSE);
    }
}

static jvirt_barray_ptr request(struct jpeg_compress_struct *c, int i)
{
    const jpeg_component_info *p = &c->comp_info[i];
    JDIMENSION wide = c->image_width / 8 + 4, high = c->image_height / 8 + 4;
    return c->mem->request_virt_barray((j_common_ptr)c, JPOOL_IMAGE, TRUE, wide, high,
                                       (JDIMENSION)p->v_samp_factor);
}

static size_t encode_wild(uint8_t **out, const struct kind *k, struct rng *r)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr e;
    jpeg_scan_info script[128];
    jvirt_barray_ptr arrays[3];
    unsigned long n = 0;
    int parts = k->grey ? 1 : 3;
    *out = NULL;
    c.err = jpeg_std_error(&e);
    e.emit_message = say_nothing;
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, out, &n);
    c.image_width = (JDIMENSION)k->width, c.image_height = (JDIMENSION)k->height;
    c.input_components = parts, c.in_color_space = k->grey ? JCS_GRAYSCALE : JCS_YCbCr;
    jpeg_set_defaults(&c);
    c.comp_info[0].h_samp_factor = k->h, c.comp_info[0].v_samp_factor = k->v;
    c.optimize_coding = k->optimize || k->progressive;
    c.restart_interval = (unsigned)k->restart;
    set_quant(&c, r);
    if (k->progressive) c.num_scans = random_script(script, parts, r), c.scan_info = script;
    for (int i = 0; i < parts; i++) arrays[i] = request(&c, i);
    jpeg_write_coefficients(&c, arrays);
    for (int i = 0; i < parts; i++) fill_part(&c, arrays[i], i, r);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return n;
}

TEST(wild_coefficients_and_scan_orders_as_libjpeg)
{
    struct arena a = {0};
    struct rng r = {2};
    for (int i = 0; i < 400; i++) {
        uint8_t *bytes;
        struct kind k = random_kind(&r);
        k.width = 5 + k.width / 3, k.height = 1 + k.height / 3;
        size_t n = encode_wild(&bytes, &k, &r);
        compare(&k, bytes, n, &r, &a);
        free(bytes);
    }
    arena_release(&a);
}

/* A byte changed, dropped, doubled; a piece cut out, moved or lost at the end. */
static size_t damage(uint8_t *p, size_t n, struct rng *r)
{
    for (int times = between(r, 1, 3); times && n > 400; times--) {
        size_t at = 2 + (size_t)rng_below(r, n - 300), len = 1 + (size_t)rng_below(r, 200);
        switch (between(r, 0, 6)) {
        case 0: p[at] = (uint8_t)rng_u64(r); break;
        case 1: p[at] ^= (uint8_t)(1 << between(r, 0, 7)); break;
        case 2: memmove(p + at, p + at + 1, --n - at); break;
        case 3: memmove(p + at, p + at + len, (n -= len) - at); break;
        case 4: memmove(p + at, p + 2 + rng_below(r, n - 300), 1 + len / 8); break;
        case 5: p[at] = 0xff, p[at + 1] = (uint8_t)(0xd0 + between(r, 0, 15)); break;
        default: n -= len; break;
        }
    }
    return n;
}

TEST(damaged_files_have_the_same_fate)
{
    struct arena a = {0};
    struct rng r = {3};
    int wrong = 0;
    for (int i = 0; i < 60; i++) {
        uint8_t *bytes, *copy;
        struct kind k = random_kind(&r);
        k.width = 16 + k.width / 3, k.height = 16 + k.height / 3;
        size_t n = i % 2 ? encode(&bytes, &k, &r) : encode_wild(&bytes, &k, &r);
        copy = mem_alloc(n);
        for (int m = 0; m < 60; m++) {
            memcpy(copy, bytes, n);
            size_t left = damage(copy, n, &r);
            uint64_t pick = rng_u64(&r);
            struct jpeg_choice c = {.keep = m & 1, .all = !(m & 6)};
            memcpy(c.pick, &pick, 4);
            wrong += jpeg_pair_differs(copy, left, &c, 400, &a);
            arena_reset(&a);
        }
        free(bytes);
        free(copy);
    }
    CHECK_INT(wrong, 0);
    arena_release(&a);
}

/* What libjpeg reads, and may well read without a word, but is not regular. */
TEST(odd_files_are_left_to_libjpeg)
{
    struct arena a = {0};
    struct rng r = {4};
    uint8_t *bytes;
    struct kind k = {.width = 60, .height = 50, .quality = 80, .h = 2, .v = 2};
    struct window w = {0, 60, 0, 50};
    size_t n = encode(&bytes, &k, &r);
    uint8_t *want = decode(bytes, n), *copy = mem_alloc(n + 8);
    struct taker t = {want, &w, 60, 0, 0};
    CHECK_INT(run(&t, bytes, n, &a), 1);
    memcpy(copy, bytes, n - 2); /* a byte between data and end marker */
    memcpy(copy + n - 2, "\0\xff\xd9", 3);
    t = (struct taker){want, &w, 60, 0, 0};
    CHECK_INT(run(&t, copy, n + 1, &a), 0);
    memcpy(copy + n - 2, "\xff\xff\xd9", 3); /* a fill byte before the marker */
    t = (struct taker){want, &w, 60, 0, 0};
    CHECK_INT(run(&t, copy, n + 1, &a), 0);
    CHECK_INT(t.wrong, 0);
    struct jpeg_choice c = {.all = 1};
    CHECK_INT(jpeg_pair_differs(copy, n + 1, &c, 400, &a), 0);
    free(want);
    free(copy);
    free(bytes);
    arena_release(&a);
}

TEST(tiny_pictures_as_libjpeg)
{
    struct arena a = {0};
    struct rng r = {7};
    int wrong = 0;
    for (int i = 0; i < 4 * 18 * 18; i++) {
        uint8_t *bytes;
        struct kind k = {.width = 1 + i / 4 % 18, .height = 1 + i / 72, .quality = 90, .noise = 60};
        k.h = 1 + (i & 1), k.v = 1 + (i >> 1 & 1), k.progressive = between(&r, 0, 1);
        struct jpeg_choice c = {.all = 1};
        size_t n = encode(&bytes, &k, &r);
        wrong += jpeg_pair_differs(bytes, n, &c, 400, &a);
        arena_reset(&a);
        free(bytes);
    }
    CHECK_INT(wrong, 0);
    arena_release(&a);
}

/* Where scans begin, with the codes before them; the last entry is the end marker. */
static int find_scans(size_t *at, const uint8_t *p, size_t n)
{
    int count = 0, open = 0;
    for (size_t i = 2; i + 1 < n; i++) {
        if (p[i] != 0xff || (p[i + 1] != 0xc4 && p[i + 1] != 0xda && p[i + 1] != 0xd9)) continue;
        if (!open) at[count++] = i;
        open = p[i + 1] == 0xc4;
    }
    return count - 1;
}

/* Scans left out, sent twice, or in another order: bits without those above them, AC without DC,
 * and blocks that libjpeg smooths. */
TEST(scans_missing_and_misplaced)
{
    struct arena a = {0};
    struct rng r = {8};
    size_t at[64];
    int wrong = 0;
    for (int i = 0; i < 40; i++) {
        uint8_t *bytes;
        struct kind k = {.width = 50, .height = 40, .quality = 80, .h = 2, .v = 1 + i % 2};
        k.progressive = 1, k.noise = 20;
        size_t n = encode(&bytes, &k, &r);
        int scans = find_scans(at, bytes, n);
        CHECK_INT(scans, 10);
        for (int m = 0; m < 40; m++) {
            uint8_t *copy = mem_alloc(2 * n);
            size_t used = at[0];
            int odd = between(&r, 0, scans - 1), other = between(&r, 0, scans - 1);
            memcpy(copy, bytes, used);
            for (int q = 0; q < scans; q++) {
                int from = q == odd ? other : q == other && m % 3 ? odd : q;
                if (q == odd && m % 3 == 2) continue;
                memcpy(copy + used, bytes + at[from], at[from + 1] - at[from]);
                used += at[from + 1] - at[from];
            }
            memcpy(copy + used, "\xff\xd9", 2);
            struct jpeg_choice c = {.keep = m & 1, .all = m & 2, .pick = {60, 40, 120, 150}};
            wrong += jpeg_pair_differs(copy, used + 2, &c, 400, &a);
            arena_reset(&a);
            free(copy);
        }
        free(bytes);
    }
    CHECK_INT(wrong, 0);
    arena_release(&a);
}

static void compare_idct(const int16_t *coefs, const int16_t *quant, int blocks)
{
    const struct jpeg_kernels *set[] = {&jpeg_avx2, &jpeg_avx512};
    static uint8_t want[8 * 128], got[8 * 128];
    jpeg_plain.idct(want, 128, coefs, quant, blocks);
    for (int i = 0; i < 2; i++) {
        if ((int)isa_best() <= i) continue;
        set[i]->idct(got, 128, coefs, quant, blocks);
        for (int y = 0; y < 8; y++)
            if (memcmp(got + 128 * y, want + 128 * y, 8 * (size_t)blocks))
                TEST_FAIL("idct of set %d differs in row %d", i + 1, y);
    }
}

TEST(idct_kernels_agree)
{
    struct rng r = {5};
    int16_t coefs[64 * 12], quant[64];
    for (int i = 0; i < 3000; i++) {
        int top = 1 << between(&r, 0, 15), few = between(&r, 0, 3);
        for (int k = 0; k < 64; k++) quant[k] = (int16_t)between(&r, 1, i % 3 ? 60 : 65535);
        for (int k = 0; k < 64 * 12; k++)
            coefs[k] = (int16_t)(few && between(&r, 0, 1 << few) ? 0 : between(&r, -top, top));
        for (int b = 0; b < 12 && i % 4 == 0; b += 3) memset(coefs + 64 * b + 8, 0, 112);
        compare_idct(coefs, quant, between(&r, 1, 8));
    }
}

/* Every pair of chroma samples with some luma; every pair of neighbours. */
TEST(colour_kernels_agree)
{
    enum { N = 256 };
    static uint8_t y[2 * N], cb[2 * N], cr[2 * N], want[4 * N + KERNEL_SLACK], got[sizeof want];
    const struct jpeg_kernels *set[] = {&jpeg_avx2, &jpeg_avx512};
    struct rng r = {6};
    for (int s = 0; s < 2; s++) {
        if ((int)isa_best() <= s) continue;
        const struct jpeg_kernels *k = set[s], *p = &jpeg_plain;
        for (int b = 0; b < 256; b++) {
            for (int i = 0; i < 2 * N; i++)
                y[i] = (uint8_t)rng_u64(&r), cb[i] = (uint8_t)b, cr[i] = (uint8_t)i;
            p->colour(want, y, cb, cr, N), k->colour(got, y, cb, cr, N);
            CHECK_BYTES(got, want, 4 * N);
            p->grey(want, y, N), k->grey(got, y, N);
            CHECK_BYTES(got, want, 4 * N);
            p->wider(want, y + 1, N), k->wider(got, y + 1, N);
            CHECK_BYTES(got, want, 2 * N);
            p->wider_higher(want, y + 1, cr + 1, N), k->wider_higher(got, y + 1, cr + 1, N);
            CHECK_BYTES(got, want, 2 * N);
            p->higher(want, y, cr, 1 + b % 2, N), k->higher(got, y, cr, 1 + b % 2, N);
            CHECK_BYTES(got, want, N);
        }
    }
}

TEST_MAIN

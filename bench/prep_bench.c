/* prep_bench.c - one core: our whole preparation against libjpeg-turbo's decode alone.
 *   prep_bench ROUNDS FILE...
 * Both take the same bytes in memory; decode alone crops to the same columns and throws the rows
 * away. The two take turns, picture by picture. Prints pictures per CPU second: `quiet` from the
 * best time of each picture over all rounds (what a machine without other jobs would give), then
 * best and median round; and the same of the ratio. */
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "image/prep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

struct file {
    uint8_t *bytes;
    size_t n;
};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct file load(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) exit(4);
    struct file out = {mem_alloc(64 << 20), 0};
    out.n = fread(out.bytes, 1, 64 << 20, f);
    out.bytes = mem_resize(out.bytes, out.n);
    fclose(f);
    return out;
}

/* The columns that feed a centre crop to a square, as the preparation asks for them. */
static void decode_only(const struct file *f, uint8_t *row)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr e;
    c.err = jpeg_std_error(&e);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, f->bytes, (unsigned long)f->n);
    jpeg_read_header(&c, TRUE);
    c.out_color_space = JCS_RGB;
    jpeg_start_decompress(&c);
    if (c.output_width > c.output_height) {
        JDIMENSION x = (c.output_width - c.output_height) / 2, w = c.output_height;
        jpeg_crop_scanline(&c, &x, &w);
    }
    while (c.output_scanline < c.output_height) jpeg_read_scanlines(&c, &row, 1);
    jpeg_finish_decompress(&c);
    jpeg_destroy_decompress(&c);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One side of the comparison: CPU seconds [rounds, count]. */
struct side {
    const char *name;
    double *t;
};

static double best_sum(const struct side *s, int rounds, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) {
        double best = s->t[i];
        for (int r = 1; r < rounds; r++)
            if (s->t[r * count + i] < best) best = s->t[r * count + i];
        sum += best;
    }
    return sum;
}

static double round_sum(const struct side *s, int round, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += s->t[round * count + i];
    return sum;
}

static void report(const char *name, double quiet, double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    printf("%s quiet %.3f best %.3f median %.3f\n", name, quiet, v[n - 1], v[n / 2]);
}

static void report_all(struct side *s, int rounds, int count)
{
    double *v = mem_alloc((size_t)rounds * sizeof *v);
    for (int i = 0; i < 2; i++) {
        for (int r = 0; r < rounds; r++) v[r] = count / round_sum(&s[i], r, count);
        report(s[i].name, count / best_sum(&s[i], rounds, count), v, rounds);
    }
    for (int r = 0; r < rounds; r++) v[r] = round_sum(&s[1], r, count) / round_sum(&s[0], r, count);
    report("ratio", best_sum(&s[1], rounds, count) / best_sum(&s[0], rounds, count), v, rounds);
    free(v);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[1]) : 0, count = argc - 2;
    if (rounds < 1) return 2;
    struct file *files = mem_alloc((size_t)count * sizeof *files);
    struct side side[2] = {{"darkroom", NULL}, {"decode-only", NULL}};
    for (int i = 0; i < 2; i++) side[i].t = mem_alloc((size_t)(rounds * count) * sizeof(double));
    for (int i = 0; i < count; i++) files[i] = load(argv[i + 2]);
    struct prep p = {.size = 224};
    struct arena a = {0};
    uint8_t *rgb = mem_alloc(224 * 224 * 3), *row = mem_alloc(4 * 65536);
    for (int r = -1; r < rounds; r++) /* round -1 warms up */
        for (int i = 0; i < count; i++) {
            double t0 = cpu_seconds();
            if (prep_run(rgb, NULL, files[i].bytes, files[i].n, &p, &a)) {
                printf("%s: %s\n", argv[i + 2], err_text());
                return 1;
            }
            arena_reset(&a);
            double t1 = cpu_seconds();
            decode_only(&files[i], row);
            double t2 = cpu_seconds();
            if (r < 0) continue;
            side[0].t[r * count + i] = t1 - t0;
            side[1].t[r * count + i] = t2 - t1;
        }
    report_all(side, rounds, count);
    arena_release(&a);
    return 0;
}

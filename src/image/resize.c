/* resize.c - weights, the order of the passes, and the plain inner loops.
 * Pillow evaluates its filter in double, normalises, rounds to 22-bit fixed point, sums in int32
 * from one half, shifts and clamps; since integer sums do not depend on their order, the vector
 * kernels may split a weight into digits, two of 15 bits or three of 8, and multiply the bytes of
 * neighbouring taps by one digit at a time. */
#include "image/resize.h"

#include <math.h>
#include <string.h>

enum { ROW_PAD = 64 };

static double filter_at(double x, enum prep_filter filter)
{
    x = fabs(x);
    if (filter == FILTER_BILINEAR) return x < 1.0 ? 1.0 - x : 0.0;
    if (x < 1.0) return (1.5 * x - 2.5) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * -0.5;
    return 0.0;
}

static int32_t fixed_point(double w)
{
    double scaled = w * (1 << RESIZE_BITS);
    return (int32_t)(w < 0 ? scaled - 0.5 : scaled + 0.5);
}

/* Weights of output o: the filter, stretched when shrinking, cut at the edges, normalised. */
static void axis_weigh(struct axis *x, int i, double scale, enum prep_filter filter)
{
    double stretch = scale < 1.0 ? 1.0 : scale, shrink = 1.0 / stretch;
    double center = (x->first + i + 0.5) * scale, sum = 0;
    int from = x->start[i];
    double *w = x->w + (size_t)i * (size_t)x->taps;
    for (int t = 0; t < x->len[i]; t++)
        sum += w[t] = filter_at((t + from - center + 0.5) * shrink, filter);
    if (sum != 0.0)
        for (int t = 0; t < x->len[i]; t++) w[t] /= sum;
    for (int t = 0; t < x->taps; t++)
        x->k[(size_t)i * (size_t)x->taps + (size_t)t] = fixed_point(w[t]);
}

/* Weight `tap` of output o; zero outside the taps. */
static int32_t weight(const struct axis *x, int o, int tap)
{
    return tap < 0 || tap >= x->taps ? 0 : x->k[(size_t)o * (size_t)x->taps + (size_t)tap];
}

/* Two neighbouring weights from `tap` on: k = high * 2^15 + low, the halves side by side. */
static void digits_of_pair(uint32_t *out, const struct axis *x, int o, int tap)
{
    int32_t a = weight(x, o, tap), b = weight(x, o, tap + 1);
    int32_t low_a = ((a + (1 << 14)) & 0x7fff) - (1 << 14);
    int32_t low_b = ((b + (1 << 14)) & 0x7fff) - (1 << 14);
    out[0] = (uint16_t)((a - low_a) >> 15) | (uint32_t)((b - low_b) >> 15) << 16;
    out[1] = (uint16_t)low_a | (uint32_t)low_b << 16;
}

/* Four neighbouring weights from `tap` on: three signed bytes each, the highest first. Adding 128
 * to every digit makes the digits plain bytes of the sum. */
static void digits_of_quad(uint32_t *out, const struct axis *x, int o, int tap)
{
    uint32_t u[4];
    for (int i = 0; i < 4; i++) u[i] = ((uint32_t)weight(x, o, tap + i) + 0x808080u) ^ 0x808080u;
    for (int d = 0; d < 3; d++) {
        int shift = 16 - 8 * d;
        out[d] = (u[0] >> shift & 255) | (u[1] >> shift & 255) << 8 | (u[2] >> shift & 255) << 16 |
                 (u[3] >> shift & 255) << 24;
    }
}

static void weight_digits(uint32_t *out, const struct axis *x, int o, int tap, int group)
{
    if (group == 4)
        digits_of_quad(out, x, o, tap);
    else
        digits_of_pair(out, x, o, tap);
}

/* A block is eight taps of four channels, 32 bytes, in two lanes of four taps. The weights of its
 * `group`-th part of each lane make one vector a digit, every word repeated for the channels.
 * Near the right edge the blocks start earlier, so that no load passes the row by 32 bytes.
 * Outputs are rounded up to four, the extra ones of weight 0. */
static void axis_pack_blocks(struct axis *x, const struct resize_kernels *f, struct arena *a)
{
    int outputs = (x->count + 3) / 4 * 4, last = x->hi - x->lo - 8 * x->blocks;
    int parts = 4 / f->group;
    x->from = arena_zalloc(a, (size_t)outputs * sizeof *x->from);
    x->block_words = 8 * parts * f->digits;
    size_t step = (size_t)x->blocks * (size_t)x->block_words;
    x->pack = arena_zalloc(a, (size_t)outputs * step * sizeof *x->pack);
    for (int o = 0; o < x->count; o++) {
        x->from[o] = x->start[o] <= last ? x->start[o] : last > 0 ? last : 0;
        uint32_t word[4], *p = x->pack + (size_t)o * step;
        for (int b = 0; b < x->blocks; b++, p += x->block_words)
            for (int i = 0; i < 2 * parts; i++) {
                int lane = i / parts, part = i % parts;
                int tap = 8 * b + 4 * lane + f->group * part - (x->start[o] - x->from[o]);
                weight_digits(word, x, o, tap, f->group);
                for (int d = 0; d < f->digits; d++)
                    for (int c = 0; c < 4; c++)
                        p[8 * (part * f->digits + d) + 4 * lane + c] = word[d];
            }
    }
}

/* One word a digit for each group of taps. */
static void axis_pack_groups(struct axis *y, const struct resize_kernels *f, struct arena *a)
{
    y->groups = (y->taps + f->group - 1) / f->group;
    size_t words = (size_t)(y->count + 3) * (size_t)y->groups * (size_t)f->digits;
    uint32_t *p = y->pack = arena_zalloc(a, words * sizeof *y->pack);
    for (int o = 0; o < y->count; o++)
        for (int t = 0; t < y->groups; t++, p += f->digits)
            weight_digits(p, y, o, t * f->group, f->group);
}

void axis_init(struct axis *x, int in, int out, int first, int count, enum prep_filter filter,
               struct arena *a)
{
    *x = (struct axis){.in = in, .out = out, .first = first, .count = count};
    double scale = (double)in / out;
    double support = (filter == FILTER_BILINEAR ? 1.0 : 2.0) * (scale < 1.0 ? 1.0 : scale);
    x->start = arena_zalloc(a, (size_t)(count + 3) * sizeof *x->start);
    x->len = arena_alloc(a, (size_t)count * sizeof *x->len);
    for (int i = 0; i < count; i++) {
        double center = (first + i + 0.5) * scale;
        int from = (int)(center - support + 0.5), to = (int)(center + support + 0.5);
        x->start[i] = from < 0 ? 0 : from;
        x->len[i] = (to > in ? in : to) - x->start[i];
        if (x->len[i] > x->taps) x->taps = x->len[i];
    }
    size_t n = (size_t)count * (size_t)x->taps;
    x->w = arena_zalloc(a, n * sizeof *x->w);
    x->k = arena_alloc(a, n * sizeof *x->k);
    for (int i = 0; i < count; i++) axis_weigh(x, i, scale, filter);
    x->lo = x->start[0];
    x->hi = x->start[count - 1] + x->len[count - 1];
    for (int i = 0; i < count; i++) x->start[i] -= x->lo;
    x->blocks = (x->taps + 7) / 8;
}

static uint8_t clamp_sum(int32_t sum)
{
    sum >>= RESIZE_BITS;
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

static void across_plain(uint8_t *const *out, const uint8_t *const *in, const struct axis *x,
                         uint8_t *scratch)
{
    (void)scratch;
    for (int r = 0; r < RESIZE_BATCH; r++)
        for (int o = 0; o < x->count; o++) {
            const uint8_t *p = in[r] + 4 * (size_t)x->start[o];
            const int32_t *k = x->k + (size_t)o * (size_t)x->taps;
            int32_t s[4] = {1 << (RESIZE_BITS - 1), 1 << (RESIZE_BITS - 1), 1 << (RESIZE_BITS - 1),
                            1 << (RESIZE_BITS - 1)};
            for (int t = 0; t < x->len[o]; t++, p += 4)
                for (int c = 0; c < 4; c++) s[c] += p[c] * k[t];
            for (int c = 0; c < 4; c++) out[r][4 * o + c] = clamp_sum(s[c]);
        }
}

static void down_plain(uint8_t *out, const uint8_t *const *rows, const struct axis *y, int o,
                       int bytes)
{
    const int32_t *k = y->k + (size_t)o * (size_t)y->taps;
    for (int i = 0; i < bytes; i++) {
        int32_t s = 1 << (RESIZE_BITS - 1);
        for (int t = 0; t < y->len[o]; t++) s += rows[t][i] * k[t];
        out[i] = clamp_sum(s);
    }
}

/* Four bytes at a step of three; the fourth is overwritten by the next pixel. */
static void drop_plain(uint8_t *rgb, const uint8_t *rgbx, int n)
{
    for (int i = 0; i < n - 1; i++) memcpy(rgb + 3 * (size_t)i, rgbx + 4 * (size_t)i, 4);
    if (n > 0) memcpy(rgb + 3 * (size_t)(n - 1), rgbx + 4 * (size_t)(n - 1), 3);
}

const struct resize_kernels resize_plain = {1, 1, 0, across_plain, down_plain, drop_plain};

static const struct resize_kernels *kernels_best(void)
{
    enum isa isa = isa_best();
    if (isa == ISA_AVX512) return resize_has_vnni() ? &resize_vnni : &resize_avx512;
    return isa == ISA_AVX2 ? &resize_avx2 : &resize_plain;
}

/* Pillow runs the vertical pass first when the height shrinks by more than twice as many pixels
 * as the width; rounding between the passes makes that visible. */
static int plan_down_first(const struct resize_plan *p)
{
    int less_rows = p->in_height - p->out_height, less_columns = p->in_width - p->out_width;
    return less_rows > 0 && less_rows > 2 * less_columns;
}

void resize_init(struct resize *r, const struct resize_plan *p, struct arena *a)
{
    resize_init_with(r, p, kernels_best(), a);
}

void resize_init_with(struct resize *r, const struct resize_plan *p,
                      const struct resize_kernels *kernels, struct arena *a)
{
    memset(r, 0, sizeof *r);
    r->kernels = kernels;
    r->down_first = plan_down_first(p);
    axis_init(&r->x, p->in_width, p->out_width, p->x, p->size, p->filter, a);
    axis_init(&r->y, p->in_height, p->out_height, p->y, p->size, p->filter, a);
    r->y.groups = r->y.taps;
    if (r->kernels != &resize_plain) {
        if (r->kernels->blocks)
            axis_pack_blocks(&r->x, r->kernels, a);
        else
            axis_pack_groups(&r->x, r->kernels, a);
        axis_pack_groups(&r->y, r->kernels, a);
    }
    r->out_stride = 4 * (size_t)p->size;
    r->out = arena_alloc(a, r->out_stride * (size_t)p->size + ROW_PAD);
    r->scratch = arena_zalloc(a, 16 * (size_t)(r->x.hi - r->x.lo + r->x.taps + 8));
    r->spare = arena_alloc(a, r->out_stride + ROW_PAD);
    size_t row = 4 * (size_t)(r->down_first ? r->x.hi - r->x.lo : p->size) + ROW_PAD;
    r->middle = arena_alloc(a, row + ROW_PAD);
    r->ring_rows = r->y.taps + RESIZE_BATCH;
    r->ring = arena_alloc(a, (size_t)r->ring_rows * sizeof *r->ring);
    for (int i = 0; i < r->ring_rows; i++) r->ring[i] = arena_zalloc(a, row);
    r->tap_rows = r->y.groups * r->kernels->group;
    r->taps = arena_alloc(a, (size_t)r->tap_rows * sizeof *r->taps);
}

/* One output row, whose inputs are all in the ring. */
static void resize_emit(struct resize *r)
{
    int o = r->rows_out++, slot = r->y.start[o] % r->ring_rows;
    for (int t = 0; t < r->tap_rows; t++) {
        r->taps[t] = r->ring[slot];
        if (t + 1 < r->y.len[o] && ++slot == r->ring_rows) slot = 0;
    }
    uint8_t *out = r->out + (size_t)o * r->out_stride;
    if (!r->down_first) {
        r->kernels->down(out, r->taps, &r->y, o, (int)r->out_stride);
        return;
    }
    r->kernels->down(r->middle, r->taps, &r->y, o, 4 * (r->x.hi - r->x.lo));
    uint8_t *const outs[RESIZE_BATCH] = {out, r->spare, r->spare, r->spare};
    const uint8_t *const ins[RESIZE_BATCH] = {r->middle, r->middle, r->middle, r->middle};
    r->kernels->across(outs, ins, &r->x, r->scratch);
}

void resize_push(struct resize *r, uint8_t *const *rows, int n)
{
    uint8_t *outs[RESIZE_BATCH];
    const uint8_t *ins[RESIZE_BATCH];
    for (int i = 0; i < RESIZE_BATCH; i++) {
        ins[i] = rows[i < n ? i : 0];
        outs[i] = i < n ? r->ring[(r->rows_in + i) % r->ring_rows] : r->spare;
    }
    if (!r->down_first)
        r->kernels->across(outs, ins, &r->x, r->scratch);
    else
        for (int i = 0; i < n; i++) memcpy(outs[i], rows[i], 4 * (size_t)(r->x.hi - r->x.lo));
    r->rows_in += n;
    while (r->rows_out < r->y.count &&
           r->y.start[r->rows_out] + r->y.len[r->rows_out] <= r->rows_in)
        resize_emit(r);
}

static uint16_t round_16(double sum)
{
    int v = (int)(sum >= 0.0 ? sum + 0.5 : sum - 0.5);
    return (uint16_t)(v < 0 ? 0 : v > 65535 ? 65535 : v);
}

/* out[i] for every output: inputs are `step` apart, outputs `out_step`. */
static void line_16(uint16_t *out, const uint16_t *in, const struct axis *x, size_t out_step,
                    size_t step)
{
    for (int o = 0; o < x->count; o++) {
        const double *w = x->w + (size_t)o * (size_t)x->taps;
        const uint16_t *p = in + (size_t)x->start[o] * step;
        double sum = 0.0;
        for (int t = 0; t < x->len[o]; t++) sum += p[(size_t)t * step] * w[t];
        out[(size_t)o * out_step] = round_16(sum);
    }
}

void resize_16(uint16_t *out, const uint16_t *src, const struct resize_plan *p, struct arena *a)
{
    struct axis x, y;
    axis_init(&x, p->in_width, p->out_width, p->x, p->size, p->filter, a);
    axis_init(&y, p->in_height, p->out_height, p->y, p->size, p->filter, a);
    size_t width = (size_t)p->in_width, n = (size_t)p->size;
    size_t columns = (size_t)(x.hi - x.lo), rows = (size_t)(y.hi - y.lo);
    src += (size_t)y.lo * width + (size_t)x.lo;
    if (plan_down_first(p)) {
        uint16_t *mid = arena_alloc(a, n * columns * sizeof *mid);
        for (size_t c = 0; c < columns; c++) line_16(mid + c, src + c, &y, columns, width);
        for (size_t r = 0; r < n; r++) line_16(out + r * n, mid + r * columns, &x, 1, 1);
    } else {
        uint16_t *mid = arena_alloc(a, n * rows * sizeof *mid);
        for (size_t r = 0; r < rows; r++) line_16(mid + r * n, src + r * width, &x, 1, 1);
        for (size_t c = 0; c < n; c++) line_16(out + c, mid + c, &y, n, n);
    }
}

/* The position is summed up step by step, as Pillow does, with its rounding errors. */
void resize_nearest(int *index, int in, int out, int first, int count)
{
    double step = (double)in / out, at = step * 0.5;
    for (int o = 0; o < first + count; o++, at += step)
        if (o >= first) index[o - first] = (int)at < in ? (int)at : -1;
}

void resize_rgb(uint8_t *rgb, const struct resize *r)
{
    r->kernels->drop(rgb, r->out, r->x.count * r->y.count);
}

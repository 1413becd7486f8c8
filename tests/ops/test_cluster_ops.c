/* test_cluster_ops.c - the rows nearest, distance, sum_by, pair_max and l2norm: against a plain
 * reference, and every instruction set, thread count, batch and position against each other, bit
 * for bit. */
#include "test.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tensor/cpu/cpu.h"
#include "tensor/cpu/half.h"
#include "tensor/ops.h"

static struct rng rng = {7};
static struct device *device[4]; /* plain, avx2, avx512 where there is one; then the best, pooled */
static int devices;

static void open_devices(void)
{
    if (devices) return;
    for (enum isa i = ISA_PLAIN; i <= isa_best(); i++) cpu_open(&device[devices++], i, 1);
    cpu_open(&device[devices++], isa_best(), 3);
}

static void *memory(int64_t n, size_t size)
{
    void *p = mem_aligned((size_t)n * size + 64);
    memset(p, 0xee, (size_t)n * size);
    return p;
}

static float *floats(int64_t n)
{
    float *p = memory(n, sizeof *p);
    for (int64_t i = 0; i < n; i++) p[i] = (float)rng_normal(&rng);
    return p;
}

static uint16_t *halves(float *x, int64_t n) /* and rounds x to them */
{
    uint16_t *h = memory(n, sizeof *h);
    for (int64_t i = 0; i < n; i++) {
        h[i] = half_from_float(x[i]);
        x[i] = half_to_float(h[i]);
    }
    return h;
}

static float dot(const float *a, const float *b, int64_t n) /* the chain that the rows promise */
{
    float s = 0;
    for (int64_t i = 0; i < n; i++) s = fmaf(a[i], b[i], s);
    return s;
}

static void half_squares(float *half, const float *c, int64_t k, int64_t dim)
{
    for (int64_t j = 0; j < k; j++) {
        double s = 0;
        for (int64_t i = 0; i < dim; i++) s += (double)c[j * dim + i] * c[j * dim + i];
        half[j] = (float)(s / 2);
    }
}

/* ---- nearest ---- */

struct nearest_case {
    int64_t n, k, dim;
    float *x, *c, *half, *best, *next;
    int32_t *index;
};

static void nearest_make(struct nearest_case *t, int64_t n, int64_t k, int64_t dim)
{
    *t = (struct nearest_case){n, k, dim, floats(n * dim), floats(k * dim), floats(k), 0, 0, 0};
    t->best = memory(n, 4), t->next = memory(n, 4), t->index = memory(n, 4);
    if (k > 3) memcpy(t->c + 3 * dim, t->c + 1 * dim, (size_t)dim * 4); /* equals: 1 wins */
    half_squares(t->half, t->c, k, dim);
}

static void nearest_free(struct nearest_case *t)
{
    free(t->x), free(t->c), free(t->half), free(t->best), free(t->next), free(t->index);
}

static struct nearest nearest_args(struct nearest_case *t)
{
    return (struct nearest){.index = tensor_1d(t->index, I32, t->n),
                            .best = tensor_1d(t->best, F32, t->n),
                            .next = tensor_1d(t->next, F32, t->n),
                            .x = tensor_2d(t->x, F32, t->n, t->dim),
                            .c = tensor_2d(t->c, F32, t->k, t->dim),
                            .half = tensor_1d(t->half, F32, t->k)};
}

/* Exactly: scores are defined to the last bit. */
static void nearest_check(const struct nearest_case *t, const char *where)
{
    for (int64_t r = 0; r < t->n; r++) {
        float best = -INFINITY, next = -INFINITY;
        int64_t index = -1;
        for (int64_t j = 0; j < t->k; j++) {
            float s = dot(t->x + r * t->dim, t->c + j * t->dim, t->dim) - t->half[j];
            if (s > best)
                next = best, best = s, index = j;
            else if (s > next)
                next = s;
        }
        if (t->index[r] != index || t->best[r] != best || t->next[r] != next) {
            TEST_FAIL("%s, %lld x %lld x %lld: row %lld: %d %.9g %.9g, not %lld %.9g %.9g", where,
                      (long long)t->n, (long long)t->k, (long long)t->dim, (long long)r,
                      t->index[r], t->best[r], t->next[r], (long long)index, best, next);
            return;
        }
    }
}

TEST(nearest_is_the_largest_score_on_every_isa)
{
    open_devices();
    static const int size[][3] = {{1, 1, 1},     {1, 2, 3},      {5, 31, 7},
                                  {14, 32, 16},  {15, 33, 17},   {40, 100, 3},
                                  {70, 65, 512}, {33, 17, 1000}, {500, 40, 33}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        struct nearest_case t;
        nearest_make(&t, size[i][0], size[i][1], size[i][2]);
        for (int v = 0; v < devices; v++)
            for (int pack = 0; pack < 2; pack++) {
                struct nearest a = nearest_args(&t);
                void *p = NULL;
                op_alloc(device[v], &p, op_pack_bytes(device[v], t.k, t.dim, F32));
                CHECK_INT(op_pack(device[v], p, &a.c), 0);
                if (pack) a.c.data = p, a.packed = 1;
                CHECK_INT(op_nearest(device[v], &a), 0);
                nearest_check(&t, device[v]->detail);
                op_free(device[v], p);
            }
        nearest_free(&t);
    }
}

TEST(nearest_row_is_independent_of_batch_type_and_stride)
{
    open_devices();
    struct nearest_case t;
    nearest_make(&t, 257, 70, 48);
    uint16_t *h = halves(t.x, t.n * t.dim);
    float *wide = floats(t.n * 512);
    for (int64_t r = 0; r < t.n; r++) memcpy(wide + r * 512, t.x + r * t.dim, (size_t)t.dim * 4);
    struct nearest a = nearest_args(&t);
    int32_t *index = memory(t.n, 4);
    float *best = memory(t.n, 4);
    CHECK_INT(op_nearest(device[0], &a), 0);
    memcpy(index, t.index, (size_t)t.n * 4), memcpy(best, t.best, (size_t)t.n * 4);
    for (int v = 0; v < devices; v++)
        for (int64_t n = 1; n <= t.n; n += n < 40 ? 1 : 31) {
            int64_t at = t.n - n;
            for (int kind = 0; kind < 3; kind++) {
                a.x = kind == 0   ? tensor_2d(t.x + at * t.dim, F32, n, t.dim)
                      : kind == 1 ? tensor_2d(h + at * t.dim, F16, n, t.dim)
                                  : tensor_2d(wide + at * 512, F32, n, t.dim);
                if (kind == 2) a.x.ld = 512; /* rows that collide in the cache */
                a.index = tensor_1d(t.index, I32, n), a.best = tensor_1d(t.best, F32, n);
                a.next.data = NULL;
                CHECK_INT(op_nearest(device[v], &a), 0);
                CHECK_BYTES(t.index, index + at, (size_t)n * 4);
                CHECK_BYTES(t.best, best + at, (size_t)n * 4);
            }
        }
    free(h), free(wide), free(index), free(best);
    nearest_free(&t);
}

TEST(nearest_of_what_is_no_number_is_none)
{
    open_devices();
    struct nearest_case t;
    nearest_make(&t, 30, 40, 20);
    t.x[7 * 20 + 3] = NAN;
    for (int v = 0; v < devices; v++) {
        struct nearest a = nearest_args(&t);
        CHECK_INT(op_nearest(device[v], &a), 0);
        for (int r = 0; r < 30; r++) CHECK(r == 7 ? t.index[r] == -1 : t.index[r] >= 0);
    }
    struct nearest a = nearest_args(&t);
    a.x.type = BF16;
    CHECK_INT(op_nearest(device[0], &a), ERR_USAGE);
    nearest_free(&t);
}

/* ---- distance ---- */

TEST(distance_is_exact_and_the_same_everywhere)
{
    open_devices();
    for (int64_t dim = 1; dim < 60; dim += 7) {
        int64_t n = 100, k = 9;
        float *x = floats(n * dim), *c = floats(k * dim), *square = floats(n), *product = floats(n);
        float *first = floats(2 * n);
        int32_t *index = memory(n, 4);
        for (int64_t r = 0; r < n; r++) index[r] = (int32_t)(r % (k + 1)) - 1;
        for (int v = 0; v < devices; v++) {
            struct distance a = {.square = tensor_1d(square, F32, n),
                                 .dot = tensor_1d(product, F32, n),
                                 .x = tensor_2d(x, F32, n, dim),
                                 .c = tensor_2d(c, F32, k, dim),
                                 .index = tensor_1d(index, I32, n)};
            memset(square, 0, (size_t)n * 4), memset(product, 0, (size_t)n * 4);
            CHECK_INT(op_distance(device[v], &a), 0);
            if (!v) memcpy(first, square, (size_t)n * 4), memcpy(first + n, product, (size_t)n * 4);
            CHECK_BYTES(square, first, (size_t)n * 4);
            CHECK_BYTES(product, first + n, (size_t)n * 4);
            for (int64_t r = 0; r < n; r++) {
                double s = 0, p = 0;
                for (int64_t i = 0; i < dim && index[r] >= 0; i++) {
                    double d = (double)x[r * dim + i] - c[index[r] * dim + i];
                    s += d * d;
                    p += (double)x[r * dim + i] * c[index[r] * dim + i];
                }
                if (index[r] < 0) {
                    CHECK(isnan(square[r]) && isnan(product[r]));
                    continue;
                }
                CHECK(fabs(square[r] - s) <= 1e-7 * s);
                CHECK_NEAR(product[r], p, 1e-6 * sqrt((double)dim));
                if (dim == 1) CHECK(square[r] == (float)s && product[r] == (float)p);
            }
        }
        free(x), free(c), free(square), free(product), free(first), free(index);
    }
}

/* ---- sum_by ---- */

TEST(sum_by_adds_the_same_integers_in_any_order)
{
    open_devices();
    int64_t n = 300, k = 7;
    for (int64_t dim = 1; dim < 300; dim = dim * 3 + 1) {
        float *x = floats(n * dim);
        int32_t *to = memory(n, 4), *from = memory(n, 4), *w = memory(n, 4);
        int64_t *want = mem_alloc((size_t)(k * dim) * 8), *counts = mem_alloc((size_t)k * 8);
        int64_t *got = mem_alloc((size_t)(k * dim) * 8), *got_counts = mem_alloc((size_t)k * 8);
        double scale = 0x1p30;
        for (int64_t r = 0; r < n; r++) {
            to[r] = (int32_t)rng_below(&rng, (uint64_t)k + 1) - 1;
            from[r] = (int32_t)rng_below(&rng, (uint64_t)k + 1) - 1;
            w[r] = 1 + (int32_t)rng_below(&rng, 5);
            for (int64_t i = 0; i < dim; i++) {
                int64_t q = llrint((double)x[r * dim + i] * w[r] * scale);
                if (to[r] == from[r]) continue;
                if (to[r] >= 0) want[to[r] * dim + i] += q;
                if (from[r] >= 0) want[from[r] * dim + i] -= q;
            }
            if (to[r] >= 0 && to[r] != from[r]) counts[to[r]] += w[r];
            if (from[r] >= 0 && to[r] != from[r]) counts[from[r]] -= w[r];
        }
        for (int v = 0; v < devices; v++)
            for (int cut = 0; cut < 3; cut++) { /* at once; in two calls; backwards, one by one */
                memset(got, 0, (size_t)(k * dim) * 8), memset(got_counts, 0, (size_t)k * 8);
                for (int64_t at = 0, step; at < n; at += step) {
                    step = cut == 0 ? n : cut == 1 ? (at ? n - at : 101) : 1;
                    int64_t row = cut == 2 ? n - 1 - at : at;
                    struct sum_by a = {.sums = tensor_2d(got, I64, k, dim),
                                       .counts = tensor_1d(got_counts, I64, k),
                                       .x = tensor_2d(x + row * dim, F32, step, dim),
                                       .to = tensor_1d(to + row, I32, step),
                                       .from = tensor_1d(from + row, I32, step),
                                       .w = tensor_1d(w + row, I32, step),
                                       .scale = scale};
                    CHECK_INT(op_sum_by(device[v], &a), 0);
                }
                CHECK_BYTES(got, want, (size_t)(k * dim) * 8);
                CHECK_BYTES(got_counts, counts, (size_t)k * 8);
            }
        free(x), free(to), free(from), free(w);
        free(want), free(counts), free(got), free(got_counts);
    }
}

TEST(sum_by_rounds_to_even_and_takes_back_exactly)
{
    open_devices();
    float x[4] = {0.5f, 1.5f, -0.5f, -2.5f}; /* ties of a scale of 1 */
    int64_t sums[4] = {0}, count[1] = {0}, want[4] = {0, 2, 0, -2};
    int32_t zero = 0, none = -1;
    for (int v = 0; v < devices; v++) {
        struct sum_by a = {.sums = tensor_2d(sums, I64, 1, 4),
                           .counts = tensor_1d(count, I64, 1),
                           .x = tensor_2d(x, F32, 1, 4),
                           .to = tensor_1d(&zero, I32, 1),
                           .scale = 1};
        memset(sums, 0, sizeof sums);
        CHECK_INT(op_sum_by(device[v], &a), 0);
        CHECK_BYTES(sums, want, sizeof want);
        a.to = tensor_1d(&none, I32, 1), a.from = tensor_1d(&zero, I32, 1);
        CHECK_INT(op_sum_by(device[v], &a), 0);
        for (int i = 0; i < 4; i++) CHECK_INT(sums[i], 0);
        CHECK_INT(count[0], 0);
    }
}

/* ---- pair_max ---- */

static void pairs_reference(float *score, int32_t *index, const float *x, int64_t n, int64_t dim)
{
    for (int64_t j = 0; j < n; j++) {
        score[j] = -INFINITY, index[j] = -1;
        for (int64_t i = 0; i < j; i++) {
            float s = dot(x + j * dim, x + i * dim, dim);
            if (s > score[j]) score[j] = s, index[j] = (int32_t)i;
        }
    }
}

/* The whole in blocks of `step` rows, later and earlier ones. */
static void pairs_run(struct device *d, float *score, int32_t *index, float *x, int64_t n,
                      int64_t dim, int64_t step)
{
    for (int64_t j = 0; j < n; j++) score[j] = -INFINITY, index[j] = -1;
    for (int64_t j = 0; j < n; j += step)
        for (int64_t i = 0; i <= j; i += step) {
            int64_t rows = n - j < step ? n - j : step, cols = n - i < step ? n - i : step;
            struct pair_max a = {.score = tensor_1d(score + j, F32, rows),
                                 .index = tensor_1d(index + j, I32, rows),
                                 .x = tensor_2d(x + j * dim, F32, rows, dim),
                                 .e = tensor_2d(x + i * dim, F32, cols, dim),
                                 .x_first = j,
                                 .e_first = i};
            CHECK_INT(op_pair_max(d, &a), 0);
        }
}

TEST(pair_max_sees_earlier_rows_only)
{
    open_devices();
    static const int size[][2] = {{1, 3}, {2, 1}, {17, 5}, {33, 16}, {100, 40}, {131, 1100}};
    for (size_t s = 0; s < sizeof size / sizeof *size; s++) {
        int64_t n = size[s][0], dim = size[s][1];
        float *x = floats(n * dim), *score = floats(n), *want = floats(n);
        int32_t *index = memory(n, 4), *want_index = memory(n, 4);
        for (int64_t j = 5; j < n; j += 9) /* copies: of equals the first */
            memcpy(x + j * dim, x + (j / 3) * dim, (size_t)dim * 4);
        pairs_reference(want, want_index, x, n, dim);
        for (int v = 0; v < devices; v++)
            for (int64_t step = 1; step <= n; step = step * 3 + 1) {
                if (step == 1 && n * dim > 5000) continue;
                pairs_run(device[v], score, index, x, n, dim, step);
                CHECK_BYTES(score, want, (size_t)n * 4);
                CHECK_BYTES(index, want_index, (size_t)n * 4);
                pairs_run(device[v], score, index, x, n, dim, n);
                CHECK_BYTES(score, want, (size_t)n * 4);
                CHECK_BYTES(index, want_index, (size_t)n * 4);
            }
        free(x), free(score), free(want), free(index), free(want_index);
    }
}

/* ---- l2norm of other types ---- */

TEST(l2norm_reads_halves_and_tells_the_norm)
{
    open_devices();
    for (int64_t n = 1; n < 80; n += 13) {
        int64_t rows = 70;
        float *x = floats(rows * n), *y = floats(rows * n), *y2 = floats(rows * n);
        float *norm = floats(rows), *norm2 = floats(rows);
        uint16_t *h = halves(x, rows * n);
        for (int64_t i = 0; i < n; i++) x[3 * n + i] = 0, h[3 * n + i] = 0;
        x[5 * n] = INFINITY, h[5 * n] = 0x7c00;
        x[6 * n + n - 1] = NAN, h[6 * n + n - 1] = 0x7e00;
        for (int v = 0; v < devices; v++)
            for (int keep = 0; keep < 2; keep++) {
                struct l2norm a = {.y = tensor_2d(y, F32, rows, n),
                                   .x = tensor_2d(x, F32, rows, n),
                                   .norm = tensor_1d(norm, F32, rows),
                                   .keep = keep};
                CHECK_INT(op_l2norm(device[v], &a), 0);
                a.x = tensor_2d(h, F16, rows, n), a.y.data = y2, a.norm.data = norm2;
                CHECK_INT(op_l2norm(device[v], &a), 0);
                CHECK(norm[3] == 0 && isinf(norm[5]) && isnan(norm[6]));
                for (int64_t r = 0; r < rows; r++) {
                    if (r == 5 || r == 6) continue;
                    CHECK(norm[r] == norm2[r]);
                    CHECK_BYTES(y + r * n, y2 + r * n, (size_t)n * 4);
                    if (keep) CHECK_BYTES(y + r * n, x + r * n, (size_t)n * 4);
                }
            }
        free(x), free(y), free(y2), free(norm), free(norm2), free(h);
    }
}

TEST_MAIN

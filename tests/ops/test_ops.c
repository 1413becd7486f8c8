/* test_ops.c - every row of the device table: against a plain double-precision reference, and
 * every instruction set, thread count, batch and position against each other, bit for bit. */
#include "test.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "tensor/cpu/cpu.h"
#include "tensor/cpu/half.h"
#include "tensor/ops.h"

static struct rng rng = {42};
static struct device *device[4]; /* plain, avx2, avx512 where there is one; then the best, pooled */
static int devices;

static void open_devices(void)
{
    if (devices) return;
    for (enum isa i = ISA_PLAIN; i <= isa_best(); i++) cpu_open(&device[devices++], i, 1);
    cpu_open(&device[devices++], isa_best(), 3);
}

static struct device *best(void)
{
    open_devices();
    return device[devices - 2];
}

static float *floats(int64_t n)
{
    float *p = mem_aligned((size_t)n * sizeof *p + 64);
    for (int64_t i = 0; i < n; i++) p[i] = (float)rng_normal(&rng);
    return p;
}

static float *zeros(int64_t n)
{
    float *p = mem_aligned((size_t)n * sizeof *p + 64);
    memset(p, 0, (size_t)n * sizeof *p);
    return p;
}

static struct tensor mat(float *p, int64_t rows, int64_t cols)
{
    return tensor_2d(p, F32, rows, cols);
}

/* Largest difference, relative to the largest magnitude (at least 1e-6). */
static double distance(const float *got, const double *want, int64_t n)
{
    double most = 1e-6, far = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(want[i]));
        double d = fabs(got[i] - want[i]);
        if (!(d <= far)) far = d; /* NaN counts as far */
    }
    return far / most;
}

static double act_exact(double x, enum act act)
{
    switch (act) {
    case ACT_NONE: return x;
    case ACT_GELU: return 0.5 * x * erfc(-x / sqrt(2));
    case ACT_QUICK_GELU: return x / (1 + exp(-1.702 * x));
    case ACT_RELU: return x > 0 ? x : 0;
    case ACT_SILU: return x / (1 + exp(-x));
    case ACT_SIGMOID: return 1 / (1 + exp(-x));
    }
    return x;
}

/* ---- linear ---- */

static void *packed(struct device *d, const struct tensor *w)
{
    void *p;
    CHECK_INT(op_alloc(d, &p, op_pack_bytes(d, w->dim[0], w->dim[1], w->type)), 0);
    CHECK_INT(op_pack(d, p, w), 0);
    return p;
}

static void linear_case(int64_t m, int64_t n, int64_t k, enum act act, int full)
{
    float *x = floats(m * k), *w = floats(n * k), *bias = floats(n), *res = floats(m * n);
    float *y = zeros(m * n), *pre = zeros(m * n);
    double *want = mem_alloc((size_t)(m * n) * sizeof *want),
           *want_pre = mem_alloc((size_t)(m * n) * 8);
    for (int64_t i = 0; i < n * k; i++) w[i] /= sqrtf((float)k);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = full ? bias[j] : 0;
            for (int64_t l = 0; l < k; l++) sum += (double)x[i * k + l] * w[j * k + l];
            want_pre[i * n + j] = sum;
            want[i * n + j] = act_exact(sum, act) + (full ? res[i * n + j] : 0);
        }
    for (int v = 0; v < devices; v++)
        for (int pack = 0; pack < 2; pack++) {
            struct linear a = {.y = mat(y, m, n), .x = mat(x, m, k), .w = mat(w, n, k), .act = act};
            void *p = pack ? packed(device[v], &a.w) : NULL;
            if (pack) a.w.data = p, a.packed = 1;
            if (full)
                a.bias = tensor_1d(bias, F32, n), a.residual = mat(res, m, n),
                a.pre = mat(pre, m, n);
            memset(y, 0xff, (size_t)(m * n) * 4);
            CHECK_INT(op_linear(device[v], &a), 0);
            double far = distance(y, want, m * n);
            if (!(far < 3e-6))
                TEST_FAIL("%s: m %lld n %lld k %lld act %d is off by %g", device[v]->detail,
                          (long long)m, (long long)n, (long long)k, act, far);
            if (full) CHECK(distance(pre, want_pre, m * n) < 3e-6);
            op_free(device[v], p);
        }
    free(x), free(w), free(bias), free(res), free(y), free(pre), free(want), free(want_pre);
}

TEST(linear_equals_the_reference)
{
    open_devices();
    for (enum act act = ACT_NONE; act <= ACT_SIGMOID; act++) linear_case(37, 50, 70, act, 1);
    static const int size[][3] = {{1, 1, 1},      {1, 33, 5},     {2, 32, 17},   {13, 31, 256},
                                  {14, 64, 257},  {15, 95, 300},  {29, 7, 511},  {50, 129, 768},
                                  {470, 40, 33},  {500, 40, 768}, {30, 40, 512}, {17, 33, 1024},
                                  {40, 20, 1600}, {5, 300, 0}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int full = 0; full < 2; full++)
            linear_case(size[i][0], size[i][1], size[i][2], ACT_NONE, full);
}

TEST(linear_reads_and_writes_views)
{
    int64_t m = 19, n = 45, k = 40, wide = 64;
    float *x = floats(m * wide), *w = floats(n * wide), *y = floats(m * wide), *y2 = zeros(m * n);
    float *xd = zeros(m * k), *wd = zeros(n * k), *keep = zeros(m * wide);
    memcpy(keep, y, (size_t)(m * wide) * 4);
    for (int64_t r = 0; r < m; r++) memcpy(xd + r * k, x + r * wide + 3, (size_t)k * 4);
    for (int64_t r = 0; r < n; r++) memcpy(wd + r * k, w + r * wide + 5, (size_t)k * 4);
    struct tensor xt = mat(x, m, wide), wt = mat(w, n, wide), yt = mat(y, m, wide);
    struct linear a = {.y = tensor_cut_cols(&yt, 7, n),
                       .x = tensor_cut_cols(&xt, 3, k),
                       .w = tensor_cut_cols(&wt, 5, k),
                       .act = ACT_GELU};
    struct linear dense = {
        .y = mat(y2, m, n), .x = mat(xd, m, k), .w = mat(wd, n, k), .act = ACT_GELU};
    CHECK_INT(op_linear(best(), &a), 0);
    CHECK_INT(op_linear(best(), &dense), 0);
    for (int64_t r = 0; r < m; r++) {
        CHECK_BYTES(y + r * wide + 7, y2 + r * n, (size_t)n * 4);
        CHECK_BYTES(y + r * wide, keep + r * wide, 7 * 4); /* nothing outside the view */
        CHECK_BYTES(y + r * wide + 7 + n, keep + r * wide + 7 + n, (size_t)(wide - 7 - n) * 4);
    }
    free(x), free(w), free(y), free(y2), free(xd), free(wd), free(keep);
}

TEST(linear_takes_half_weights)
{
    int64_t m = 5, n = 40, k = 33;
    float *x = floats(m * k), *w = floats(n * k), *y = zeros(m * n), *y2 = zeros(m * n);
    uint16_t *h = mem_alloc((size_t)(n * k) * 2), *b = mem_alloc((size_t)(n * k) * 2);
    float *wb = zeros(n * k);
    for (int64_t i = 0; i < n * k; i++) {
        h[i] = half_from_float(w[i]);
        w[i] = half_to_float(h[i]);
        b[i] = (uint16_t)(float_bits(w[i]) >> 16);
        wb[i] = bfloat_to_float(b[i]);
    }
    struct tensor plain[2] = {mat(w, n, k), mat(wb, n, k)};
    struct tensor half[2] = {tensor_2d(h, F16, n, k), tensor_2d(b, BF16, n, k)};
    for (int i = 0; i < 2; i++) {
        struct linear a = {.y = mat(y, m, n), .x = mat(x, m, k), .w = plain[i]};
        struct linear c = {.y = mat(y2, m, n), .x = mat(x, m, k), .w = half[i], .packed = 1};
        CHECK_INT(op_linear(best(), &a), 0);
        c.w.data = packed(best(), &half[i]);
        CHECK_INT(op_linear(best(), &c), 0);
        CHECK_BYTES(y, y2, (size_t)(m * n) * 4);
        op_free(best(), c.w.data);
        c.w = half[i], c.packed = 0;
        CHECK_INT(op_linear(best(), &c), ERR_USAGE);
    }
    free(x), free(w), free(y), free(y2), free(h), free(b), free(wb);
}

/* Row i of a product is the same bits whatever rows stand around it. */
TEST(linear_row_is_independent_of_batch)
{
    open_devices();
    enum { MOST = 257 };
    int64_t n = 72, k = 300;
    float *x = floats(MOST * k), *w = floats(n * k), *bias = floats(n);
    float *alone = zeros(MOST * n), *y = zeros((MOST + 600) * n);
    struct linear a = {.w = mat(w, n, k), .bias = tensor_1d(bias, F32, n), .act = ACT_QUICK_GELU};
    for (int i = 0; i < MOST; i++) {
        a.x = mat(x + i * k, 1, k), a.y = mat(alone + i * n, 1, n);
        CHECK_INT(op_linear(best(), &a), 0);
    }
    for (int v = devices - 2; v < devices; v++)
        for (int m = 1; m <= MOST; m++) {
            a.x = mat(x, m, k), a.y = mat(y, m, n);
            CHECK_INT(op_linear(device[v], &a), 0);
            CHECK_BYTES(y, alone, (size_t)(m * n) * 4);
            int at = MOST - m; /* the same rows from another position */
            a.x = mat(x + at * k, m, k);
            CHECK_INT(op_linear(device[v], &a), 0);
            CHECK_BYTES(y, alone + at * n, (size_t)(m * n) * 4);
        }
    free(x), free(w), free(bias), free(alone), free(y);
}

TEST(linear_is_the_same_on_every_isa)
{
    open_devices();
    static const int size[][3] = {{1, 3, 5},     {9, 33, 40},   {50, 96, 600},
                                  {61, 70, 129}, {6, 31, 1000}, {500, 64, 20}};
    for (size_t s = 0; s < sizeof size / sizeof *size; s++)
        for (enum act act = ACT_NONE; act <= ACT_SIGMOID; act++) {
            int64_t m = size[s][0], n = size[s][1], k = size[s][2];
            float *x = floats(m * k), *w = floats(n * k), *y = zeros(m * n), *y0 = zeros(m * n);
            for (int v = 0; v < devices; v++) {
                struct linear a = {.y = mat(v ? y : y0, m, n),
                                   .x = mat(x, m, k),
                                   .w = mat(w, n, k),
                                   .residual = mat(x, m, n),
                                   .act = act};
                if (n > k)
                    a.residual.data = NULL;
                else
                    a.residual.ld = k;
                CHECK_INT(op_linear(device[v], &a), 0);
                if (v) CHECK_BYTES(y, y0, (size_t)(m * n) * 4);
            }
            free(x), free(w), free(y), free(y0);
        }
}

/* Activations over every magnitude, special values among them. */
TEST(activations_are_the_same_on_every_isa)
{
    open_devices();
    enum { N = 1 << 16 };
    float *x = zeros(N), *y = zeros(N), *y0 = zeros(N), one = 1;
    for (int i = 0; i < N; i++) x[i] = float_of_bits((uint32_t)i << 16 | (rng_u64(&rng) & 0xffff));
    for (enum act act = ACT_NONE; act <= ACT_SIGMOID; act++)
        for (int v = 0; v < devices; v++) {
            struct linear a = {
                .y = mat(v ? y : y0, N, 1), .x = mat(x, N, 1), .w = mat(&one, 1, 1), .act = act};
            CHECK_INT(op_linear(device[v], &a), 0);
            for (int i = 0; i < N; i++) {
                if (!v && fabsf(x[i]) < 30 && fabsf(x[i]) > 1e-30f) {
                    double want = act_exact(x[i], act);
                    double tol =
                        4e-7 * fabs(want) * (1 + 0.1 * x[i] * x[i]) + 3e-9 * fabsf(x[i]) + 1e-37;
                    if (fabs(y0[i] - want) > tol)
                        TEST_FAIL("act %d of %.9g is %.9g, not %.9g", act, x[i], y0[i], want);
                }
                int same =
                    isnan(y0[i]) ? isnan((v ? y : y0)[i]) : !memcmp((v ? y : y0) + i, y0 + i, 4);
                if (!same) TEST_FAIL("%s: act %d of %a differs", device[v]->detail, act, x[i]);
                if (isnan(x[i])) CHECK(isnan(y0[i]));
                if (test_bad > 10) return;
            }
        }
    free(x), free(y), free(y0);
}

TEST(linear_passes_nan_and_inf_on)
{
    open_devices();
    int64_t m = 30, n = 40, k = 50;
    float *x = floats(m * k), *w = floats(n * k), *y = zeros(m * n);
    x[3 * k + 7] = NAN;
    x[20 * k + 49] = INFINITY;
    for (int v = 0; v < devices; v++) {
        struct linear a = {.y = mat(y, m, n), .x = mat(x, m, k), .w = mat(w, n, k)};
        CHECK_INT(op_linear(device[v], &a), 0);
        for (int64_t i = 0; i < m * n; i++)
            CHECK(i / n == 3 ? isnan(y[i]) : i / n == 20 ? isinf(y[i]) : isfinite(y[i]));
    }
    free(x), free(w), free(y);
}

/* ---- attention ---- */

struct attention_case {
    int heads, d, causal, bias, count;
    int tq[4], tk[4];
};

struct attention_data {
    struct attention a;
    int32_t q_at[5], k_at[5];
    float *q, *k, *v, *out, *bias, *lse;
    int64_t q_rows, k_rows, width;
};

static void attention_make(struct attention_data *t, const struct attention_case *c)
{
    memset(t, 0, sizeof *t);
    t->width = c->heads * c->d;
    for (int i = 0; i < c->count; i++) {
        t->q_at[i + 1] = t->q_at[i] + c->tq[i];
        t->k_at[i + 1] = t->k_at[i] + c->tk[i];
    }
    t->q_rows = t->q_at[c->count], t->k_rows = t->k_at[c->count];
    t->q = floats(t->q_rows * t->width), t->k = floats(t->k_rows * t->width);
    t->v = floats(t->k_rows * t->width), t->out = zeros(t->q_rows * t->width);
    t->bias = floats((int64_t)c->heads * c->tq[0] * c->tk[0]), t->lse = zeros(c->heads * t->q_rows);
    t->a = (struct attention){.out = mat(t->out, t->q_rows, t->width),
                              .q = mat(t->q, t->q_rows, t->width),
                              .k = mat(t->k, t->k_rows, t->width),
                              .v = mat(t->v, t->k_rows, t->width),
                              .lse = mat(t->lse, c->heads, t->q_rows),
                              .q_at = t->q_at,
                              .k_at = t->k_at,
                              .count = c->count,
                              .heads = c->heads,
                              .causal = c->causal,
                              .scale = 1 / sqrtf((float)c->d)};
    if (c->bias) t->a.bias = tensor_3d(t->bias, F32, c->heads, c->tq[0], c->tk[0]);
}

static void attention_free(struct attention_data *t)
{
    free(t->q), free(t->k), free(t->v), free(t->out), free(t->bias), free(t->lse);
}

static int64_t seen(const struct attention *a, int64_t r, int64_t tq, int64_t tk)
{
    int64_t n = a->causal ? r + 1 + tk - tq : tk;
    return n > tk ? tk : n;
}

static void attention_exact(const struct attention_data *t, double *out, double *lse)
{
    const struct attention *a = &t->a;
    int64_t d = t->width / a->heads;
    double *s = mem_alloc((size_t)t->k_rows * sizeof *s);
    for (int i = 0; i < a->count; i++)
        for (int64_t h = 0, tq = t->q_at[i + 1] - t->q_at[i], tk = t->k_at[i + 1] - t->k_at[i];
             h < a->heads; h++)
            for (int64_t r = 0; r < tq; r++) {
                int64_t row = t->q_at[i] + r, n = seen(a, r, tq, tk);
                double max = -INFINITY, sum = 0;
                for (int64_t j = 0; j < n; j++) {
                    s[j] = 0;
                    for (int64_t c = h * d; c < h * d + d; c++)
                        s[j] += (double)t->q[row * t->width + c] *
                                t->k[(t->k_at[i] + j) * t->width + c];
                    s[j] = s[j] * a->scale + (a->bias.data ? t->bias[(h * tq + r) * tk + j] : 0);
                    max = fmax(max, s[j]);
                }
                for (int64_t j = 0; j < n; j++) sum += exp(s[j] - max);
                if (lse) lse[h * t->q_rows + row] = max + log(sum);
                for (int64_t c = h * d; c < h * d + d; c++) {
                    double o = 0;
                    for (int64_t j = 0; j < n; j++)
                        o += exp(s[j] - max) / sum * t->v[(t->k_at[i] + j) * t->width + c];
                    out[row * t->width + c] = o;
                }
            }
    free(s);
}

static const struct attention_case attention_cases[] = {
    {2, 64, 0, 0, 2, {50, 50}, {50, 50}},
    {1, 64, 0, 0, 1, {197}, {197}},
    {3, 80, 0, 0, 3, {1, 257, 2}, {1, 257, 40}},
    {2, 88, 1, 0, 2, {77, 5}, {77, 5}},
    {2, 104, 1, 0, 2, {3, 1}, {40, 9}},
    {2, 7, 0, 1, 2, {20, 20}, {33, 33}},
    {1, 33, 1, 1, 1, {31}, {31}},
    {2, 64, 0, 0, 4, {1, 1, 1, 1}, {50, 50, 50, 50}},
    {1, 16, 0, 0, 2, {0, 3}, {4, 577}}};

TEST(attention_equals_the_reference)
{
    open_devices();
    for (size_t i = 0; i < sizeof attention_cases / sizeof *attention_cases; i++) {
        struct attention_data t;
        attention_make(&t, &attention_cases[i]);
        double *want = mem_alloc((size_t)(t.q_rows * t.width) * 8 + 8),
               *lse = mem_alloc((size_t)(t.a.heads * t.q_rows) * 8);
        float *first = zeros(t.q_rows * t.width);
        attention_exact(&t, want, lse);
        for (int v = 0; v < devices; v++) {
            memset(t.out, 0xff, (size_t)(t.q_rows * t.width) * 4);
            CHECK_INT(op_attention(device[v], &t.a), 0);
            double far = distance(t.out, want, t.q_rows * t.width);
            if (!(far < 2e-6)) TEST_FAIL("case %zu on %s is off by %g", i, device[v]->detail, far);
            CHECK(distance(t.lse, lse, t.a.heads * t.q_rows) < 1e-6);
            if (!v) memcpy(first, t.out, (size_t)(t.q_rows * t.width) * 4);
            CHECK_BYTES(t.out, first, (size_t)(t.q_rows * t.width) * 4);
        }
        free(want), free(lse), free(first);
        attention_free(&t);
    }
}

TEST(attention_of_a_sequence_is_independent_of_batch)
{
    struct attention_data t;
    attention_make(&t, &(struct attention_case){2, 64, 0, 0, 4, {50, 17, 1, 60}, {50, 17, 50, 60}});
    CHECK_INT(op_attention(best(), &t.a), 0);
    float *all = zeros(t.q_rows * t.width);
    memcpy(all, t.out, (size_t)(t.q_rows * t.width) * 4);
    for (int i = 0; i < 4; i++) {
        struct attention a = t.a;
        int32_t q_at[2] = {0, t.q_at[i + 1] - t.q_at[i]}, k_at[2] = {0, t.k_at[i + 1] - t.k_at[i]};
        a.q = tensor_cut_rows(&t.a.q, t.q_at[i], q_at[1]),
        a.out = tensor_cut_rows(&t.a.out, t.q_at[i], q_at[1]);
        a.k = tensor_cut_rows(&t.a.k, t.k_at[i], k_at[1]),
        a.v = tensor_cut_rows(&t.a.v, t.k_at[i], k_at[1]);
        a.q_at = q_at, a.k_at = k_at, a.count = 1, a.lse.data = NULL;
        memset(a.out.data, 0, (size_t)(q_at[1] * t.width) * 4);
        CHECK_INT(op_attention(best(), &a), 0);
        CHECK_BYTES(a.out.data, all + t.q_at[i] * t.width, (size_t)(q_at[1] * t.width) * 4);
    }
    /* one query of a sequence alone, as the class-token-only last block asks */
    struct attention a = t.a;
    int32_t q_at[2] = {0, 1}, k_at[2] = {0, 60};
    a.q = tensor_cut_rows(&t.a.q, 68 + 31, 1), a.out = tensor_cut_rows(&t.a.out, 0, 1);
    a.k = tensor_cut_rows(&t.a.k, t.k_at[3], 60), a.v = tensor_cut_rows(&t.a.v, t.k_at[3], 60);
    a.q_at = q_at, a.k_at = k_at, a.count = 1, a.lse.data = NULL;
    CHECK_INT(op_attention(best(), &a), 0);
    CHECK_BYTES(a.out.data, all + (68 + 31) * t.width, (size_t)t.width * 4);
    free(all);
    attention_free(&t);
}

TEST(attention_reads_columns_of_one_qkv_matrix)
{
    int64_t rows = 30, w = 48;
    float *qkv = floats(rows * 3 * w), *o = zeros(rows * w), *o2 = zeros(rows * w), *part[3];
    struct tensor all = mat(qkv, rows, 3 * w);
    for (int i = 0; i < 3; i++) {
        part[i] = zeros(rows * w);
        for (int64_t r = 0; r < rows; r++)
            memcpy(part[i] + r * w, qkv + r * 3 * w + i * w, (size_t)w * 4);
    }
    int32_t q_at[] = {0, 10, 30};
    struct attention a = {.out = mat(o, rows, w),
                          .q = tensor_cut_cols(&all, 0, w),
                          .k = tensor_cut_cols(&all, w, w),
                          .v = tensor_cut_cols(&all, 2 * w, w),
                          .q_at = q_at,
                          .k_at = q_at,
                          .count = 2,
                          .heads = 3,
                          .scale = 0.25f};
    CHECK_INT(op_attention(best(), &a), 0);
    a.out = mat(o2, rows, w), a.q = mat(part[0], rows, w), a.k = mat(part[1], rows, w),
    a.v = mat(part[2], rows, w);
    CHECK_INT(op_attention(best(), &a), 0);
    CHECK_BYTES(o, o2, (size_t)(rows * w) * 4);
    for (int i = 0; i < 3; i++) free(part[i]);
    free(qkv), free(o), free(o2);
}

TEST(attention_passes_nan_on_within_its_sequence)
{
    struct attention_data t;
    open_devices();
    attention_make(&t, &(struct attention_case){1, 16, 0, 0, 2, {20, 20}, {20, 20}});
    t.k[5 * 16] = NAN;
    for (int v = 0; v < devices; v++) {
        CHECK_INT(op_attention(device[v], &t.a), 0);
        for (int i = 0; i < 40 * 16; i++) CHECK(i < 20 * 16 ? isnan(t.out[i]) : isfinite(t.out[i]));
    }
    attention_free(&t);
}

/* ---- norms ---- */

TEST(layernorm_equals_the_reference)
{
    open_devices();
    static const int width[] = {1, 5, 16, 47, 512, 768, 1000};
    for (size_t s = 0; s < sizeof width / sizeof *width; s++) {
        int64_t m = 21, n = width[s];
        float *x = floats(m * n), *g = floats(n), *b = floats(n), *y = zeros(m * n),
              *y0 = zeros(m * n);
        float mean[21], rstd[21];
        double *want = mem_alloc((size_t)(m * n) * 8);
        for (int64_t i = 0; i < m * n; i++) x[i] = x[i] * 3 + 5;
        for (int64_t r = 0; r < m; r++) {
            double sum = 0, sq = 0;
            for (int64_t i = 0; i < n; i++) sum += x[r * n + i];
            for (int64_t i = 0; i < n; i++)
                sq += (x[r * n + i] - sum / n) * (x[r * n + i] - sum / n);
            for (int64_t i = 0; i < n; i++)
                want[r * n + i] = (x[r * n + i] - sum / n) / sqrt(sq / n + 1e-5) * g[i] + b[i];
        }
        for (int v = 0; v < devices; v++) {
            struct layernorm a = {.y = mat(v ? y : y0, m, n),
                                  .x = mat(x, m, n),
                                  .gain = tensor_1d(g, F32, n),
                                  .bias = tensor_1d(b, F32, n),
                                  .mean = tensor_1d(mean, F32, m),
                                  .rstd = tensor_1d(rstd, F32, m),
                                  .eps = 1e-5f};
            CHECK_INT(op_layernorm(device[v], &a), 0);
            CHECK(distance(v ? y : y0, want, m * n) < 2e-6);
            CHECK_BYTES(v ? y : y0, y0, (size_t)(m * n) * 4);
        }
        free(x), free(g), free(b), free(y), free(y0), free(want);
    }
}

TEST(l2norm_equals_the_reference)
{
    open_devices();
    static const int width[] = {1, 3, 512, 640, 777};
    for (size_t s = 0; s < sizeof width / sizeof *width; s++) {
        int64_t m = 19, n = width[s];
        float *x = floats(m * n), *y = zeros(m * n), *y0 = zeros(m * n);
        uint16_t *h = mem_alloc((size_t)(m * n) * 2);
        memset(x + 2 * n, 0, (size_t)n * 4);
        for (int v = 0; v < devices; v++) {
            struct l2norm a = {.y = mat(v ? y : y0, m, n), .x = mat(x, m, n)};
            CHECK_INT(op_l2norm(device[v], &a), 0);
            CHECK_BYTES(v ? y : y0, y0, (size_t)(m * n) * 4);
            a.y = tensor_2d(h, F16, m, n);
            CHECK_INT(op_l2norm(device[v], &a), 0);
            for (int64_t i = 0; i < m * n; i++) CHECK_INT(h[i], half_from_float(y0[i]));
        }
        for (int64_t r = 0; r < m; r++) {
            double sum = 0;
            for (int64_t i = 0; i < n; i++) sum += (double)x[r * n + i] * x[r * n + i];
            for (int64_t i = 0; i < n; i++)
                CHECK_NEAR(y0[r * n + i], r == 2 ? 0 : x[r * n + i] / sqrt(sum), 2e-7);
        }
        free(x), free(y), free(y0), free(h);
    }
}

/* Reading f16 is exact, so it gives what the same numbers as f32 give; the norm tells rows that
 * have no direction. */
TEST(l2norm_reads_f16_and_saves_norms)
{
    open_devices();
    static const int width[] = {1, 5, 16, 768, 1027};
    for (size_t s = 0; s < sizeof width / sizeof *width; s++) {
        int64_t m = 37, n = width[s];
        float *x = floats(m * n), *y = zeros(m * n), *want = zeros(m * n), norm[37], most[37];
        uint16_t *h = mem_aligned((size_t)(m * n) * 2);
        for (int64_t i = 0; i < m * n; i++) h[i] = half_from_float(x[i] * (i % 7 ? 1 : 1e-6f));
        memset(h + 2 * n, 0, (size_t)n * 2);
        h[3 * n] = 0x7e00, h[5 * n + n / 2] = 0x7c00; /* NaN, infinity */
        for (int64_t i = 0; i < m * n; i++) x[i] = half_to_float(h[i]);
        for (int v = 0; v < devices; v++) {
            struct l2norm a = {
                .y = mat(want, m, n), .x = mat(x, m, n), .norm = tensor_1d(most, F32, m)};
            CHECK_INT(op_l2norm(device[v], &a), 0);
            struct l2norm b = {
                .y = mat(y, m, n), .x = tensor_2d(h, F16, m, n), .norm = tensor_1d(norm, F32, m)};
            CHECK_INT(op_l2norm(device[v], &b), 0);
            for (int64_t i = 0; i < m * n; i++)
                if (!isnan(want[i]) || !isnan(y[i])) CHECK_BYTES(y + i, want + i, 4);
            CHECK(norm[2] == 0 && isnan(norm[3]) && isinf(norm[5]));
            for (int64_t r = 0; r < m; r++)
                if (r != 3) CHECK_BYTES(norm + r, most + r, 4);
            for (int64_t r = 6; r < m; r++) {
                double sum = 0;
                for (int64_t i = 0; i < n; i++) sum += (double)x[r * n + i] * x[r * n + i];
                CHECK_NEAR(norm[r] / sqrt(sum), 1, 3e-7);
            }
            if (test_bad > 5) return;
        }
        free(x), free(y), free(want), free(h);
    }
}

TEST(half_rounds_to_nearest_even)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        float x = half_to_float((uint16_t)h);
        if (isnan(x))
            CHECK(isnan(half_to_float(half_from_float(x))));
        else
            CHECK_INT(half_from_float(x), h);
        if (h >= 0x7bff || isnan(x)) continue; /* between two neighbours: the even one */
        float y = half_to_float((uint16_t)(h + 1)), mid = (x + y) / 2;
        CHECK_INT(half_from_float(mid), h & 1 ? h + 1 : h);
        CHECK_INT(half_from_float(nextafterf(mid, 1e30f)), h + 1);
        CHECK_INT(half_from_float(nextafterf(mid, -1)), h);
    }
    CHECK_INT(half_from_float(65519.99f), 0x7bff);
    CHECK_INT(half_from_float(65520), 0x7c00);
    CHECK_INT(half_from_float(-INFINITY), 0xfc00);
    open_devices();
    enum { N = 1 << 16 };
    float *x = zeros(N); /* one number a row: l2norm gives +-1 or NaN, so use tiny next to one */
    uint16_t *h = mem_alloc(2 * N * 2), *h0 = mem_alloc(2 * N * 2);
    float *pair = zeros(2 * N);
    for (int i = 0; i < N; i++)
        pair[2 * i] = 1, pair[2 * i + 1] = float_of_bits((uint32_t)i << 16 | 0x1fff);
    for (int v = 0; v < devices; v++) {
        struct l2norm a = {.y = tensor_2d(v ? h : h0, F16, N, 2), .x = mat(pair, N, 2)};
        CHECK_INT(op_l2norm(device[v], &a), 0);
        for (int i = 0; i < 2 * N; i++) {
            uint16_t *now = v ? h : h0;
            if (!isnan(half_to_float(h0[i])))
                CHECK_INT(now[i], h0[i]);
            else
                CHECK(isnan(half_to_float(now[i])));
            if (test_bad > 5) return;
        }
    }
    free(x), free(h), free(h0), free(pair);
}

/* ---- the small rows ---- */

TEST(patchify_lays_out_channel_row_column)
{
    open_devices();
    static const int shape[][3] = {{2, 12, 4},  {1, 28, 14}, {3, 64, 32},
                                   {2, 48, 16}, {1, 21, 7},  {1, 35, 35}};
    float lut[3 * 256];
    for (int i = 0; i < 768; i++) lut[i] = (float)i * 0.37f;
    for (size_t c = 0; c < sizeof shape / sizeof *shape; c++) {
        int n = shape[c][0], s = shape[c][1], p = shape[c][2], across = s / p;
        uint8_t *pixels = mem_alloc((size_t)(n * s * s * 3));
        for (int i = 0; i < n * s * s * 3; i++) pixels[i] = (uint8_t)rng_u64(&rng);
        float *out = zeros(n * s * s * 3);
        for (int v = 0; v < devices; v++) {
            struct patchify a = {.patches = mat(out, n * across * across, 3 * p * p),
                                 .pixels = tensor_4d(pixels, U8, n, s, s, 3),
                                 .patch = p,
                                 .lut = lut};
            memset(out, 0xff, (size_t)(n * s * s * 3) * 4);
            CHECK_INT(op_patchify(device[v], &a), 0);
            for (int i = 0; i < n * s * s * 3; i++) {
                int patch = i / (3 * p * p), in = i % (3 * p * p), ch = in / (p * p),
                    y = in / p % p, x = in % p;
                int image = patch / (across * across), py = patch / across % across,
                    px = patch % across;
                float want =
                    lut[ch * 256 + pixels[((image * s + py * p + y) * s + px * p + x) * 3 + ch]];
                if (out[i] != want) TEST_FAIL("shape %zu at %d is %g, not %g", c, i, out[i], want);
                if (test_bad > 5) return;
            }
        }
        free(pixels), free(out);
    }
}

TEST(embed_and_its_gradient)
{
    enum { V = 9, P = 4, N = 21, M = 6 };
    float *table = floats(V * N), *pos = floats(P * N), *y = zeros(M * N), *dy = floats(M * N);
    float *dt = floats(V * N), *dp = floats(P * N), *dt0 = zeros(V * N), *dp0 = zeros(P * N);
    int32_t ids[M] = {3, 8, 0, 3, 3, 1}, at[M] = {0, 1, 2, 3, 0, 1};
    struct embed a = {
        .y = mat(y, M, N), .table = mat(table, V, N), .pos = mat(pos, P, N), .ids = ids, .at = at};
    CHECK_INT(op_embed(best(), &a), 0);
    for (int i = 0; i < M * N; i++)
        CHECK(y[i] == table[ids[i / N] * N + i % N] + pos[at[i / N] * N + i % N]);
    a.pos.data = NULL;
    CHECK_INT(op_embed(best(), &a), 0);
    for (int i = 0; i < M * N; i++) CHECK(y[i] == table[ids[i / N] * N + i % N]);
    memcpy(dt0, dt, V * N * 4), memcpy(dp0, dp, P * N * 4);
    struct embed_bwd b = {
        .dtable = mat(dt, V, N), .dpos = mat(dp, P, N), .dy = mat(dy, M, N), .ids = ids, .at = at};
    CHECK_INT(op_embed_bwd(best(), &b), 0);
    for (int r = 0; r < M; r++)
        for (int i = 0; i < N; i++)
            dt0[ids[r] * N + i] += dy[r * N + i], dp0[at[r] * N + i] += dy[r * N + i];
    CHECK_BYTES(dt, dt0, V * N * 4);
    CHECK_BYTES(dp, dp0, P * N * 4);
    free(table), free(pos), free(y), free(dy), free(dt), free(dp), free(dt0), free(dp0);
}

TEST(add_adds_views)
{
    open_devices();
    for (int v = 0; v < devices; v++) {
        int64_t m = 7, n = 45;
        float *y = floats(m * n), *x = floats(m * 60), *y0 = zeros(m * n);
        memcpy(y0, y, (size_t)(m * n) * 4);
        struct tensor xt = mat(x, m, 60), cut = tensor_cut_cols(&xt, 9, n), yt = mat(y, m, n);
        CHECK_INT(op_add(device[v], &yt, &cut), 0);
        for (int64_t i = 0; i < m * n; i++) CHECK(y[i] == y0[i] + x[i / n * 60 + 9 + i % n]);
        free(y), free(x), free(y0);
    }
}

TEST(adamw_follows_the_paper)
{
    open_devices();
    enum { N = 70000 };
    float *w = floats(N), *g = floats(N), *m = zeros(N), *v = zeros(N);
    double *dw = mem_alloc(N * 8), *dm = mem_alloc(N * 8), *dv = mem_alloc(N * 8);
    for (int i = 0; i < N; i++) dw[i] = w[i];
    for (int step = 1; step <= 3; step++) {
        struct adamw a = {.w = tensor_1d(w, F32, N),
                          .grad = tensor_1d(g, F32, N),
                          .m = tensor_1d(m, F32, N),
                          .v = tensor_1d(v, F32, N),
                          .lr = 0.01f,
                          .beta1 = 0.9f,
                          .beta2 = 0.98f,
                          .eps = 1e-6f,
                          .decay = 0.2f,
                          .step = step};
        CHECK_INT(op_adamw(device[devices - 1], &a), 0);
        for (int i = 0; i < N; i++) {
            dm[i] = 0.9 * dm[i] + 0.1 * g[i];
            dv[i] = 0.98 * dv[i] + 0.02 * (double)g[i] * g[i];
            dw[i] -= 0.01 * 0.2 * dw[i];
            dw[i] -= 0.01 * (dm[i] / (1 - pow(0.9, step))) /
                     (sqrt(dv[i] / (1 - pow(0.98, step))) + 1e-6);
        }
        for (int i = 0; i < N; i++) g[i] = -g[i] + 0.1f;
    }
    CHECK(distance(w, dw, N) < 1e-6);
    free(w), free(g), free(m), free(v), free(dw), free(dm), free(dv);
}

/* ---- gradients against finite differences ----
 * loss = sum(out * dy). A float forward is too coarse for small steps, so the reference is the
 * double-precision formula, and the step is small enough for a third-order error. */

static double slope(double (*loss)(void *), void *arg, float *at)
{
    float keep = *at, h = 1e-2f * fmaxf(1, fabsf(keep)) * 0.1f;
    *at = keep + h;
    double hi = *at, up = loss(arg);
    *at = keep - h;
    double lo = *at, down = loss(arg);
    *at = keep;
    return (up - down) / (hi - lo);
}

static void check_slopes(const char *name, double (*loss)(void *), void *arg, float *at,
                         const float *got, const float *before, int64_t n, double tol)
{
    int64_t step = n / 40 + 1;
    for (int64_t i = 0; i < n; i += step) {
        double want = slope(loss, arg, at + i), have = (double)got[i] - before[i];
        if (!(fabs(want - have) <= tol * (1 + fabs(want))))
            TEST_FAIL("%s[%lld] is %.7g, not %.7g", name, (long long)i, have, want);
    }
}

struct linear_grad {
    int64_t m, n, k;
    float *x, *w, *bias, *dy;
    enum act act;
};

static double linear_loss(void *arg)
{
    struct linear_grad *g = arg;
    double loss = 0;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double sum = g->bias[j];
            for (int64_t l = 0; l < g->k; l++)
                sum += (double)g->x[i * g->k + l] * g->w[j * g->k + l];
            loss += act_exact(sum, g->act) * g->dy[i * g->n + j];
        }
    return loss;
}

TEST(linear_bwd_is_the_slope)
{
    open_devices();
    for (enum act act = ACT_NONE; act <= ACT_SIGMOID; act++)
        for (int v = 0; v < devices; v++) {
            struct linear_grad g = {.m = 17, .n = 35, .k = 40, .act = act};
            if (act == ACT_RELU) g.m = 3; /* its kink would need luck with more rows */
            g.x = floats(g.m * g.k), g.w = floats(g.n * g.k), g.bias = floats(g.n),
            g.dy = floats(g.m * g.n);
            for (int64_t i = 0; i < g.n * g.k; i++) g.w[i] *= 0.15f;
            float *y = zeros(g.m * g.n), *pre = zeros(g.m * g.n);
            float *dx = floats(g.m * g.k), *dw = floats(g.n * g.k), *db = floats(g.n);
            float *dx0 = zeros(g.m * g.k), *dw0 = zeros(g.n * g.k), *db0 = zeros(g.n);
            memcpy(dx0, dx, (size_t)(g.m * g.k) * 4), memcpy(dw0, dw, (size_t)(g.n * g.k) * 4),
                memcpy(db0, db, (size_t)g.n * 4);
            struct linear f = {.y = mat(y, g.m, g.n),
                               .x = mat(g.x, g.m, g.k),
                               .w = mat(g.w, g.n, g.k),
                               .bias = tensor_1d(g.bias, F32, g.n),
                               .pre = mat(pre, g.m, g.n),
                               .act = act};
            CHECK_INT(op_linear(device[v], &f), 0);
            if (act == ACT_RELU)
                for (int64_t i = 0; i < g.m * g.n; i++)
                    if (fabsf(pre[i]) < 0.02f) g.dy[i] = 0;
            struct linear_bwd b = {.dx = mat(dx, g.m, g.k),
                                   .dw = mat(dw, g.n, g.k),
                                   .dbias = tensor_1d(db, F32, g.n),
                                   .dy = mat(g.dy, g.m, g.n),
                                   .x = f.x,
                                   .w = f.w,
                                   .pre = f.pre,
                                   .act = act};
            CHECK_INT(op_linear_bwd(device[v], &b), 0);
            check_slopes("dx", linear_loss, &g, g.x, dx, dx0, g.m * g.k, 1e-4);
            check_slopes("dw", linear_loss, &g, g.w, dw, dw0, g.n * g.k, 1e-4);
            check_slopes("dbias", linear_loss, &g, g.bias, db, db0, g.n, 1e-4);
            free(g.x), free(g.w), free(g.bias), free(g.dy), free(y), free(pre);
            free(dx), free(dw), free(db), free(dx0), free(dw0), free(db0);
        }
}

TEST(linear_bwd_is_the_same_everywhere)
{
    open_devices();
    int64_t m = 301, n = 70, k = 65;
    float *x = floats(m * k), *w = floats(n * k), *dy = floats(m * n), *dx0 = zeros(m * k),
          *dw0 = zeros(n * k);
    for (int v = 0; v < devices; v++) {
        float *dx = zeros(m * k), *dw = zeros(n * k), *db = zeros(n);
        struct linear_bwd b = {.dx = mat(dx, m, k),
                               .dw = mat(dw, n, k),
                               .dbias = tensor_1d(db, F32, n),
                               .dy = mat(dy, m, n),
                               .x = mat(x, m, k),
                               .w = mat(w, n, k)};
        CHECK_INT(op_linear_bwd(device[v], &b), 0);
        if (!v) memcpy(dx0, dx, (size_t)(m * k) * 4), memcpy(dw0, dw, (size_t)(n * k) * 4);
        CHECK_BYTES(dx, dx0, (size_t)(m * k) * 4);
        CHECK_BYTES(dw, dw0, (size_t)(n * k) * 4);
        free(dx), free(dw), free(db);
    }
    free(x), free(w), free(dy), free(dx0), free(dw0);
}

struct attention_grad {
    struct attention_data t;
    float *dout;
    double *out;
};

static double attention_loss(void *arg)
{
    struct attention_grad *g = arg;
    double loss = 0;
    attention_exact(&g->t, g->out, NULL);
    for (int64_t i = 0; i < g->t.q_rows * g->t.width; i++) loss += g->out[i] * g->dout[i];
    return loss;
}

TEST(attention_bwd_is_the_slope)
{
    open_devices();
    static const struct attention_case cases[] = {{2, 8, 0, 0, 2, {9, 3}, {9, 3}},
                                                  {2, 5, 1, 0, 2, {7, 2}, {7, 6}}};
    for (int c = 0; c < 2; c++)
        for (int v = devices - 2; v < devices; v++) {
            struct attention_grad g;
            attention_make(&g.t, &cases[c]);
            int64_t nq = g.t.q_rows * g.t.width, nk = g.t.k_rows * g.t.width;
            g.dout = floats(nq), g.out = mem_alloc((size_t)nq * 8);
            float *dq = floats(nq), *dk = floats(nk), *dv = floats(nk), *dq0 = zeros(nq),
                  *dk0 = zeros(nk), *dv0 = zeros(nk);
            memcpy(dq0, dq, (size_t)nq * 4), memcpy(dk0, dk, (size_t)nk * 4),
                memcpy(dv0, dv, (size_t)nk * 4);
            CHECK_INT(op_attention(device[v], &g.t.a), 0);
            struct attention *a = &g.t.a;
            struct attention_bwd b = {.dq = mat(dq, g.t.q_rows, g.t.width),
                                      .dk = mat(dk, g.t.k_rows, g.t.width),
                                      .dv = mat(dv, g.t.k_rows, g.t.width),
                                      .dout = mat(g.dout, g.t.q_rows, g.t.width),
                                      .out = a->out,
                                      .q = a->q,
                                      .k = a->k,
                                      .v = a->v,
                                      .lse = a->lse,
                                      .q_at = a->q_at,
                                      .k_at = a->k_at,
                                      .count = a->count,
                                      .heads = a->heads,
                                      .causal = a->causal,
                                      .scale = a->scale};
            CHECK_INT(op_attention_bwd(device[v], &b), 0);
            check_slopes("dq", attention_loss, &g, g.t.q, dq, dq0, nq, 1e-4);
            check_slopes("dk", attention_loss, &g, g.t.k, dk, dk0, nk, 1e-4);
            check_slopes("dv", attention_loss, &g, g.t.v, dv, dv0, nk, 1e-4);
            free(g.dout), free(g.out), free(dq), free(dk), free(dv), free(dq0), free(dk0),
                free(dv0);
            attention_free(&g.t);
        }
}

struct norm_grad {
    int64_t m, n;
    float *x, *gain, *bias, *dy;
};

static double norm_loss(void *arg)
{
    struct norm_grad *g = arg;
    double loss = 0;
    for (int64_t r = 0; r < g->m; r++) {
        const float *x = g->x + r * g->n;
        double sum = 0, sq = 0;
        for (int64_t i = 0; i < g->n; i++) sum += x[i];
        for (int64_t i = 0; i < g->n; i++) sq += (x[i] - sum / g->n) * (x[i] - sum / g->n);
        for (int64_t i = 0; i < g->n; i++)
            loss += ((x[i] - sum / g->n) / sqrt(sq / g->n + 1e-5) * g->gain[i] + g->bias[i]) *
                    g->dy[r * g->n + i];
    }
    return loss;
}

TEST(layernorm_bwd_is_the_slope)
{
    struct norm_grad g = {.m = 6, .n = 37};
    int64_t all = g.m * g.n;
    g.x = floats(all), g.gain = floats(g.n), g.bias = floats(g.n), g.dy = floats(all);
    float *y = zeros(all), *mean = zeros(g.m), *rstd = zeros(g.m);
    float *dx = floats(all), *dg = floats(g.n), *db = floats(g.n), *dx0 = zeros(all),
          *dg0 = zeros(g.n), *db0 = zeros(g.n);
    memcpy(dx0, dx, (size_t)all * 4), memcpy(dg0, dg, (size_t)g.n * 4),
        memcpy(db0, db, (size_t)g.n * 4);
    struct layernorm f = {.y = mat(y, g.m, g.n),
                          .x = mat(g.x, g.m, g.n),
                          .gain = tensor_1d(g.gain, F32, g.n),
                          .bias = tensor_1d(g.bias, F32, g.n),
                          .mean = tensor_1d(mean, F32, g.m),
                          .rstd = tensor_1d(rstd, F32, g.m),
                          .eps = 1e-5f};
    CHECK_INT(op_layernorm(best(), &f), 0);
    struct layernorm_bwd b = {.dx = mat(dx, g.m, g.n),
                              .dgain = tensor_1d(dg, F32, g.n),
                              .dbias = tensor_1d(db, F32, g.n),
                              .dy = mat(g.dy, g.m, g.n),
                              .x = f.x,
                              .gain = f.gain,
                              .mean = f.mean,
                              .rstd = f.rstd};
    CHECK_INT(op_layernorm_bwd(best(), &b), 0);
    check_slopes("dx", norm_loss, &g, g.x, dx, dx0, all, 1e-4);
    check_slopes("dgain", norm_loss, &g, g.gain, dg, dg0, g.n, 1e-4);
    check_slopes("dbias", norm_loss, &g, g.bias, db, db0, g.n, 1e-4);
    free(g.x), free(g.gain), free(g.bias), free(g.dy), free(y), free(mean), free(rstd);
    free(dx), free(dg), free(db), free(dx0), free(dg0), free(db0);
}

struct xent_grad {
    int64_t m, n;
    float *x;
    const int32_t *target;
};

static double xent_loss(void *arg)
{
    struct xent_grad *g = arg;
    double loss = 0;
    for (int64_t r = 0; r < g->m; r++) {
        double sum = 0;
        for (int64_t i = 0; i < g->n; i++) sum += exp(g->x[r * g->n + i]);
        loss += (log(sum) - g->x[r * g->n + g->target[r]]) / g->m;
    }
    return loss;
}

TEST(xent_is_the_mean_and_its_slope)
{
    static const int32_t target[5] = {0, 16, 3, 3, 9};
    struct xent_grad g = {5, 17, floats(5 * 17), target};
    float *d = floats(5 * 17), *none = zeros(5 * 17);
    double loss = 10;
    struct xent a = {
        .logits = mat(g.x, 5, 17), .dlogits = mat(d, 5, 17), .target = target, .loss = &loss};
    CHECK_INT(op_xent(best(), &a), 0);
    CHECK_NEAR(loss, 10 + xent_loss(&g), 1e-9);
    check_slopes("dlogits", xent_loss, &g, g.x, d, none, 5 * 17, 1e-5);
    free(g.x), free(d), free(none);
}

/* ---- devices ---- */

TEST(device_open_reads_its_spec)
{
    struct device *d, *lane;
    CHECK_INT(device_open(&d, "cpu", 2), 0);
    CHECK_INT(d->lanes, 2);
    CHECK_STR(d->kind, "cpu");
    CHECK_INT(device_lane(&lane, d), 0);
    CHECK_STR(lane->kind, "cpu");
    device_close(lane);
    device_close(d);
    CHECK_INT(device_open(&d, "auto", 0), 0);
    device_close(d);
    CHECK_INT(device_open(&d, "cuda", 0), ERR_DEVICE);
    CHECK(strstr(err_text(), "plug-in") != NULL);
    CHECK_INT(device_open(&d, "gpu:1", 0), ERR_DEVICE);
    CHECK_INT(device_open(&d, "cuda:x", 0), ERR_USAGE);
    CHECK_INT(device_open(&d, "tpu", 0), ERR_USAGE);
    CHECK(d == NULL);
    device_close(NULL);
}

TEST(lane_equals_its_device)
{
    struct device *d, *lane;
    int64_t m = 100, n = 200, k = 150;
    float *x = floats(m * k), *w = floats(n * k), *y = zeros(m * n), *y2 = zeros(m * n);
    CHECK_INT(device_open(&d, "cpu", 3), 0);
    CHECK_INT(device_lane(&lane, d), 0);
    struct linear a = {.y = mat(y, m, n), .x = mat(x, m, k), .w = mat(w, n, k), .act = ACT_GELU};
    CHECK_INT(op_linear(d, &a), 0);
    a.y = mat(y2, m, n);
    CHECK_INT(op_linear(lane, &a), 0);
    CHECK_BYTES(y, y2, (size_t)(m * n) * 4);
    device_close(lane);
    device_close(d);
    free(x), free(w), free(y), free(y2);
}

TEST_MAIN

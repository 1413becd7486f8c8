/* kernels_body.h - the row kernels, written once over `struct vec` of sixteen floats.
 * Included by kernels_plain.c, kernels_avx2.c and kernels_avx512.c after their vec header.
 * Approximations are fitted so that their error stays below one float rounding of the result. */
#include "tensor/cpu/kernels.h"

#include <math.h>

/* e^x = 2^n e^r with |r| <= ln2/2; e^r is a polynomial of degree 6, error 3e-9. */
static inline struct vec vec_exp(struct vec x)
{
    const struct vec magic = vec_set(0x1.8p23f); /* adding it rounds to an integer */
    x = vec_min(vec_set(89), vec_max(vec_set(-104), x));
    struct vec n = vec_sub(vec_fma(x, vec_set(0x1.715476p0f), magic), magic);
    struct vec r = vec_fma(n, vec_set(-0x1.62e4p-1f), x); /* ln2 in two parts, n*hi is exact */
    r = vec_fma(n, vec_set(-0x1.7f7d1cp-20f), r);
    struct vec p = vec_set(0x1.6db426p-10f);
    p = vec_fma(p, r, vec_set(0x1.123b56p-7f));
    p = vec_fma(p, r, vec_set(0x1.55545ep-5f));
    p = vec_fma(p, r, vec_set(0x1.55548ep-3f));
    p = vec_fma(p, r, vec_set(0.5f));
    p = vec_fma(vec_mul(r, r), p, r);
    return vec_scale(vec_add(p, vec_set(1)), n);
}

static inline struct vec vec_sigmoid(struct vec x)
{
    struct vec e = vec_exp(vec_sub(vec_set(0), x));
    return vec_div(vec_set(1), vec_add(vec_set(1), e));
}

/* x Phi(x) with Phi(-|x|) = erfc(t)/2, t = |x|/sqrt2. erfc(t) = exp(-t^2 + t p(t)): one formula
 * for every t, no cancellation in the negative tail. p has an error of 2e-9 up to t = 4.2; from
 * there the last value serves, as erfc is below 3e-9. */
static inline struct vec vec_gelu(struct vec x)
{
    struct vec t = vec_mul(vec_abs(x), vec_set(0x1.6a09e6p-1f));
    struct vec u = vec_min(vec_set(4.2f), t);
    struct vec p = vec_set(8.043826710490976e-06f);
    p = vec_fma(p, u, vec_set(-0.00010602669499348849f));
    p = vec_fma(p, u, vec_set(0.0005879508680664003f));
    p = vec_fma(p, u, vec_set(-0.0015767605509608984f));
    p = vec_fma(p, u, vec_set(5.878202500753105e-05f));
    p = vec_fma(p, u, vec_set(0.019217142835259438f));
    p = vec_fma(p, u, vec_set(-0.10279920697212219f));
    p = vec_fma(p, u, vec_set(0.3633838891983032f));
    p = vec_fma(p, u, vec_set(-1.1283793449401855f));
    struct vec e = vec_exp(vec_fma(p, u, vec_sub(vec_set(0), vec_mul(t, t))));
    struct vec tail = vec_mul(vec_set(0.5f), e);
    struct vec phi = vec_if_less(x, vec_set(0), tail, vec_sub(vec_set(1), tail));
    return vec_mul(x, phi);
}

static inline struct vec vec_act(struct vec x, enum act act)
{
    switch (act) {
    case ACT_NONE: return x;
    case ACT_GELU: return vec_gelu(x);
    case ACT_QUICK_GELU: return vec_mul(x, vec_sigmoid(vec_mul(vec_set(1.702f), x)));
    case ACT_RELU: return vec_max(vec_set(0), x); /* NaN stays NaN */
    case ACT_SILU: return vec_mul(x, vec_sigmoid(x));
    case ACT_SIGMOID: return vec_sigmoid(x);
    }
    return x;
}

/* One row of a tile, `cols` of its columns from col on. */
static inline __attribute__((always_inline)) void finish_row(const struct finish *f,
                                                             const float *tile, int64_t row,
                                                             int64_t col, const int cols,
                                                             enum act act)
{
    float *y = f->y + row * f->ldy + col;
    for (int c = 0; c < cols; c += VEC) {
        int n = cols - c < VEC ? cols - c : VEC;
        struct vec x = vec_load(tile + c);
        if (f->bias) x = vec_add(x, vec_load_n(f->bias + col + c, n));
        if (f->pre) vec_store_n(f->pre + row * f->ldpre + col + c, x, n);
        x = vec_act(x, act);
        if (f->residual) x = vec_add(x, vec_load_n(f->residual + row * f->ldres + col + c, n));
        vec_store_n(y + c, x, n);
    }
}

/* Whole panels have their own loop: masked loads and stores are slower where they meet. */
static inline __attribute__((always_inline)) void finish_act(const struct finish *f,
                                                             const float *tile, int64_t row,
                                                             int64_t col, int rows, int cols,
                                                             enum act act)
{
    for (int r = 0; r < rows; r++)
        if (cols == PANEL)
            finish_row(f, tile + r * PANEL, row + r, col, PANEL, act);
        else
            finish_row(f, tile + r * PANEL, row + r, col, cols, act);
}

/* The activation is a constant in each call, so that its branch stands outside the loops. */
static void finish_tile(const struct finish *f, const float *tile, int64_t row, int64_t col,
                        int rows, int cols)
{
    switch (f->act) {
    case ACT_NONE: finish_act(f, tile, row, col, rows, cols, ACT_NONE); break;
    case ACT_GELU: finish_act(f, tile, row, col, rows, cols, ACT_GELU); break;
    case ACT_QUICK_GELU: finish_act(f, tile, row, col, rows, cols, ACT_QUICK_GELU); break;
    case ACT_RELU: finish_act(f, tile, row, col, rows, cols, ACT_RELU); break;
    case ACT_SILU: finish_act(f, tile, row, col, rows, cols, ACT_SILU); break;
    case ACT_SIGMOID: finish_act(f, tile, row, col, rows, cols, ACT_SIGMOID); break;
    }
}

static inline int part(int64_t i, int64_t n)
{
    return n - i < VEC ? (int)(n - i) : VEC;
}

/* s = s*scale + bias, for the softmax that cannot fold the scale into its exponent. */
static void prepare_row(float *s, const float *bias, int64_t n, float scale)
{
    struct vec by = vec_set(scale);
    for (int64_t i = 0; i < n; i += VEC) {
        int w = part(i, n);
        struct vec x = vec_mul(vec_load_n(s + i, w), by);
        if (bias) x = vec_add(x, vec_load_n(bias + i, w));
        vec_store_n(s + i, x, w);
    }
}

static float max_row(const float *s, int64_t n) /* passes over NaN: the exponent meets it again */
{
    struct vec most = vec_set(-INFINITY);
    int64_t whole = n - n % VEC;
    for (int64_t i = 0; i < whole; i += VEC) most = vec_max(vec_load(s + i), most);
    if (whole < n) {
        int w = (int)(n - whole);
        most = vec_max(vec_fill_n(vec_load_n(s + whole, w), w, most), most);
    }
    return vec_most(most);
}

static void softmax_row(float *s, const float *bias, int64_t n, float scale, float *sum, float *max)
{
    if (bias || !(scale > 0)) {
        prepare_row(s, bias, n, scale);
        scale = 1;
    }
    *max = max_row(s, n) * scale;
    struct vec by = vec_set(scale), less = vec_set(-*max), total = vec_set(0);
    int64_t whole = n - n % VEC;
    for (int64_t i = 0; i < whole; i += VEC) {
        struct vec e = vec_exp(vec_fma(vec_load(s + i), by, less));
        vec_store(s + i, e);
        total = vec_add(total, e);
    }
    if (whole < n) {
        int w = (int)(n - whole);
        struct vec e = vec_exp(vec_fma(vec_load_n(s + whole, w), by, less));
        vec_store_n(s + whole, e, w);
        total = vec_add(total, vec_fill_n(e, w, vec_set(0)));
    }
    *sum = vec_sum(total);
}

/* y[rows,cols] = x * by[row], x with row stride PANEL. */
static void scale_rows(float *y, int64_t ldy, const float *x, const float *by, int rows, int cols)
{
    for (int r = 0; r < rows; r++, y += ldy, x += PANEL) {
        struct vec b = vec_set(by[r]);
        for (int c = 0; c < cols; c += VEC)
            vec_store_n(y + c, vec_mul(vec_load(x + c), b), part(c, cols));
    }
}

/* panel[k,PANEL] from rows b[k,cols]; zero beyond cols. */
static void copy_panel(float *panel, const float *b, int64_t ldb, int cols, int64_t k)
{
    int lo = cols < VEC ? cols : VEC, hi = cols - lo;
    for (int64_t i = 0; i < k; i++, panel += PANEL, b += ldb) {
        vec_store(panel, vec_load_n(b, lo));
        vec_store(panel + VEC, hi ? vec_load_n(b + VEC, hi) : vec_set(0));
    }
}

static void layernorm_row(float *y, const float *x, const float *gain, const float *bias, int64_t n,
                          float eps, float *mean_out, float *rstd_out)
{
    struct vec sum = vec_set(0), square = vec_set(0);
    for (int64_t i = 0; i < n; i += VEC) sum = vec_add(sum, vec_load_n(x + i, part(i, n)));
    float mean = vec_sum(sum) / (float)n;
    struct vec m = vec_set(mean);
    for (int64_t i = 0; i < n; i += VEC) {
        int w = part(i, n);
        struct vec d = vec_fill_n(vec_sub(vec_load_n(x + i, w), m), w, vec_set(0));
        square = vec_fma(d, d, square);
    }
    float rstd = 1 / sqrtf(vec_sum(square) / (float)n + eps);
    struct vec r = vec_set(rstd);
    for (int64_t i = 0; i < n; i += VEC) {
        int w = part(i, n);
        struct vec z = vec_mul(vec_sub(vec_load_n(x + i, w), m), r);
        z = vec_mul(z, vec_load_n(gain + i, w));
        if (bias) z = vec_add(z, vec_load_n(bias + i, w));
        vec_store_n(y + i, z, w);
    }
    *mean_out = mean;
    *rstd_out = rstd;
}

static void l2norm_row(void *y, const float *x, int64_t n, int half)
{
    struct vec square = vec_set(0);
    for (int64_t i = 0; i < n; i += VEC) {
        struct vec v = vec_load_n(x + i, part(i, n));
        square = vec_fma(v, v, square);
    }
    float norm = sqrtf(vec_sum(square));
    struct vec d = vec_set(norm == 0 ? 1 : norm);
    for (int64_t i = 0; i < n; i += VEC) {
        int w = part(i, n);
        struct vec v = vec_div(vec_load_n(x + i, w), d);
        if (half)
            vec_store_half((uint16_t *)y + i, v, w);
        else
            vec_store_n((float *)y + i, v, w);
    }
}

static void add_row(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += VEC) {
        int w = part(i, n);
        vec_store_n(y + i, vec_add(vec_load_n(y + i, w), vec_load_n(x + i, w)), w);
    }
}

/* kernels_body.h - the kernels around a tile, written once over `struct vec` of sixteen floats.
 * Included by kernels_plain.c, kernels_avx2.c and kernels_avx512.c after their vec header. */
#include "tensor/cpu/vec_math.h"

#include <math.h>

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
    if (cols == PANEL)
        for (int r = 0; r < rows; r++) finish_row(f, tile + r * PANEL, row + r, col, PANEL, act);
    else
        for (int r = 0; r < rows; r++) finish_row(f, tile + r * PANEL, row + r, col, cols, act);
}

/* The activation is a constant in each call, so that its branch stands outside the loops. The copy
 * stays in registers: no store can change it. */
static void finish_tile(const struct finish *how, const float *tile, int64_t row, int64_t col,
                        int rows, int cols)
{
    const struct finish copy = *how, *f = &copy;
    switch (f->act) {
    case ACT_NONE: finish_act(f, tile, row, col, rows, cols, ACT_NONE); break;
    case ACT_GELU: finish_act(f, tile, row, col, rows, cols, ACT_GELU); break;
    case ACT_QUICK_GELU: finish_act(f, tile, row, col, rows, cols, ACT_QUICK_GELU); break;
    case ACT_RELU: finish_act(f, tile, row, col, rows, cols, ACT_RELU); break;
    case ACT_SILU: finish_act(f, tile, row, col, rows, cols, ACT_SILU); break;
    case ACT_SIGMOID: finish_act(f, tile, row, col, rows, cols, ACT_SIGMOID); break;
    }
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

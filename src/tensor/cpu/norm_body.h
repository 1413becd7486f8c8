/* norm_body.h - the row kernels of norm.c and point.c, written once over `struct vec`; included
 * like kernels_body.h. Sums run in sixteen lanes that meet in one fixed tree. */
#include "tensor/cpu/vec_math.h"

#include <math.h>

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

static inline struct vec load_real(const void *x, int64_t at, int n, int half)
{
    return half ? vec_load_half((const uint16_t *)x + at, n) : vec_load_n((const float *)x + at, n);
}

static float l2norm_row(const struct l2norm_row *a)
{
    struct vec square = vec_set(0);
    int64_t n = a->n;
    for (int64_t i = 0; i < n; i += VEC) {
        struct vec v = load_real(a->x, i, part(i, n), a->x_half);
        square = vec_fma(v, v, square);
    }
    float norm = sqrtf(vec_sum(square));
    struct vec d = vec_set(a->keep || norm == 0 ? 1 : norm);
    for (int64_t i = 0; i < n; i += VEC) {
        int w = part(i, n);
        struct vec v = vec_div(load_real(a->x, i, w, a->x_half), d);
        if (a->y_half)
            vec_store_half((uint16_t *)a->y + i, v, w);
        else
            vec_store_n((float *)a->y + i, v, w);
    }
    return norm;
}

static void add_row(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i += VEC) {
        int w = part(i, n);
        vec_store_n(y + i, vec_add(vec_load_n(y + i, w), vec_load_n(x + i, w)), w);
    }
}

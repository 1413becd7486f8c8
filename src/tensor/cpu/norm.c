/* norm.c - layernorm and l2norm, row by row. */
#include "tensor/cpu/cpu.h"

#include <stddef.h>

enum { ROWS_ONCE = 16 }; /* rows a thread takes at a time */

struct norm_job {
    struct cpu *cpu;
    const void *args;
    int64_t rows;
};

static void norm_for(struct device *d, const void *args, int64_t rows,
                     void (*fn)(void *, size_t, int))
{
    struct norm_job j = {d->state, args, rows};
    pool_for(j.cpu->pool, (size_t)((rows + ROWS_ONCE - 1) / ROWS_ONCE), fn, &j);
}

static void layernorm_rows(void *arg, size_t index, int worker)
{
    const struct norm_job *j = arg;
    const struct layernorm *a = j->args;
    int64_t n = tensor_cols(&a->x), first = (int64_t)index * ROWS_ONCE;
    int64_t end = first + ROWS_ONCE < j->rows ? first + ROWS_ONCE : j->rows;
    float *mean = a->mean.data, *rstd = a->rstd.data, m, s;
    (void)worker;
    for (int64_t r = first; r < end; r++)
        j->cpu->k->layernorm((float *)a->y.data + r * a->y.ld,
                             (const float *)a->x.data + r * a->x.ld, a->gain.data, a->bias.data, n,
                             a->eps, mean ? mean + r : &m, rstd ? rstd + r : &s);
}

int cpu_layernorm(struct device *d, const struct layernorm *a)
{
    norm_for(d, a, tensor_rows(&a->x), layernorm_rows);
    return 0;
}

/* With z = (x - mean) rstd and g = dy gain: dx += rstd (g - mean(g) - z mean(g z)). */
static void layernorm_row_bwd(const struct layernorm_bwd *a, int64_t r)
{
    int64_t n = tensor_cols(&a->x);
    const float *x = (const float *)a->x.data + r * a->x.ld, *gain = a->gain.data;
    const float *dy = (const float *)a->dy.data + r * a->dy.ld;
    double mean = ((const float *)a->mean.data)[r], rstd = ((const float *)a->rstd.data)[r];
    float *dgain = a->dgain.data, *dbias = a->dbias.data;
    double sum_g = 0, sum_gz = 0;
    for (int64_t i = 0; i < n; i++) {
        double z = (x[i] - mean) * rstd, g = (double)dy[i] * gain[i];
        sum_g += g;
        sum_gz += g * z;
        if (dgain) dgain[i] += (float)(dy[i] * z);
        if (dbias) dbias[i] += dy[i];
    }
    if (!a->dx.data) return;
    float *dx = (float *)a->dx.data + r * a->dx.ld;
    for (int64_t i = 0; i < n; i++) {
        double z = (x[i] - mean) * rstd, g = (double)dy[i] * gain[i];
        dx[i] += (float)(rstd * (g - sum_g / (double)n - z * sum_gz / (double)n));
    }
}

/* Rows in order on one thread: they add into the same dgain and dbias. */
int cpu_layernorm_bwd(struct device *d, const struct layernorm_bwd *a)
{
    (void)d;
    for (int64_t r = 0, rows = tensor_rows(&a->x); r < rows; r++) layernorm_row_bwd(a, r);
    return 0;
}

static void l2norm_rows(void *arg, size_t index, int worker)
{
    const struct norm_job *j = arg;
    const struct l2norm *a = j->args;
    int64_t first = (int64_t)index * ROWS_ONCE;
    int64_t end = first + ROWS_ONCE < j->rows ? first + ROWS_ONCE : j->rows;
    size_t y_step = (size_t)a->y.ld * dtype_size(a->y.type);
    size_t x_step = (size_t)a->x.ld * dtype_size(a->x.type);
    float *norm = a->norm.data;
    (void)worker;
    for (int64_t r = first; r < end; r++) {
        struct l2norm_row row = {.y = (char *)a->y.data + (size_t)r * y_step,
                                 .x = (const char *)a->x.data + (size_t)r * x_step,
                                 .n = tensor_cols(&a->x),
                                 .y_half = a->y.type == F16,
                                 .x_half = a->x.type == F16,
                                 .keep = a->keep};
        float length = j->cpu->k->l2norm(&row);
        if (norm) norm[r] = length;
    }
}

int cpu_l2norm(struct device *d, const struct l2norm *a)
{
    norm_for(d, a, tensor_rows(&a->x), l2norm_rows);
    return 0;
}

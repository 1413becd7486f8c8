/* point.c - the rows that move numbers more than they compute: patchify, embed, add, xent. */
#include "tensor/cpu/cpu.h"

#include <math.h>
#include <string.h>

struct point_job {
    struct cpu *cpu;
    const void *args;
    const void *more;
};

/* One line of patches: p rows of pixels become s/p patches. */
static void patchify_line(void *arg, size_t index, int worker)
{
    const struct point_job *j = arg;
    const struct patchify *a = j->args;
    int64_t s = a->pixels.dim[1], p = a->patch, across = s / p, area = p * p;
    int64_t image = (int64_t)index / across, line = (int64_t)index % across;
    const uint8_t *pixels = (const uint8_t *)a->pixels.data + (image * s + line * p) * s * 3;
    float *patches = (float *)a->patches.data + (int64_t)index * across * a->patches.ld;
    (void)worker;
    for (int64_t x = 0; x < across; x++)
        for (int64_t y = 0; y < p; y++) {
            const uint8_t *from = pixels + (y * s + x * p) * 3;
            float *to = patches + x * a->patches.ld + y * p;
            for (int64_t i = 0; i < p; i++, from += 3) {
                to[i] = a->lut[from[0]];
                to[i + area] = a->lut[256 + from[1]];
                to[i + 2 * area] = a->lut[512 + from[2]];
            }
        }
}

int cpu_patchify(struct device *d, const struct patchify *a)
{
    struct point_job j = {d->state, a, NULL};
    int64_t lines = a->pixels.dim[0] * (a->pixels.dim[1] / a->patch);
    pool_for(j.cpu->pool, (size_t)lines, patchify_line, &j);
    return 0;
}

enum { ROWS_ONCE = 64 };

static void embed_rows(void *arg, size_t index, int worker)
{
    const struct point_job *j = arg;
    const struct embed *a = j->args;
    int64_t n = tensor_cols(&a->y), rows = tensor_rows(&a->y), first = (int64_t)index * ROWS_ONCE;
    (void)worker;
    for (int64_t r = first; r < rows && r < first + ROWS_ONCE; r++) {
        float *y = (float *)a->y.data + r * a->y.ld;
        memcpy(y, (const float *)a->table.data + a->ids[r] * a->table.ld, (size_t)n * sizeof *y);
        if (a->pos.data) j->cpu->k->add(y, (const float *)a->pos.data + a->at[r] * a->pos.ld, n);
    }
}

int cpu_embed(struct device *d, const struct embed *a)
{
    struct point_job j = {d->state, a, NULL};
    size_t units = (size_t)((tensor_rows(&a->y) + ROWS_ONCE - 1) / ROWS_ONCE);
    pool_for(j.cpu->pool, units, embed_rows, &j);
    return 0;
}

int cpu_embed_bwd(struct device *d, const struct embed_bwd *a)
{
    struct cpu *cpu = d->state;
    int64_t n = tensor_cols(&a->dy), rows = tensor_rows(&a->dy);
    for (int64_t r = 0; r < rows; r++) {
        const float *dy = (const float *)a->dy.data + r * a->dy.ld;
        if (a->dtable.data) cpu->k->add((float *)a->dtable.data + a->ids[r] * a->dtable.ld, dy, n);
        if (a->dpos.data) cpu->k->add((float *)a->dpos.data + a->at[r] * a->dpos.ld, dy, n);
    }
    return 0;
}

static void add_rows(void *arg, size_t row, int worker)
{
    const struct point_job *j = arg;
    const struct tensor *y = j->args, *x = j->more;
    (void)worker;
    j->cpu->k->add((float *)y->data + (int64_t)row * y->ld,
                   (const float *)x->data + (int64_t)row * x->ld, tensor_cols(y));
}

int cpu_add(struct device *d, const struct tensor *y, const struct tensor *x)
{
    struct point_job j = {d->state, y, x};
    pool_for(j.cpu->pool, (size_t)tensor_rows(y), add_rows, &j);
    return 0;
}

static double xent_row(float *dx, const float *x, int64_t n, int32_t target, int64_t rows)
{
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++) sum += exp(x[i] - max);
    for (int64_t i = 0; dx && i < n; i++)
        dx[i] = (float)((exp(x[i] - max) / sum - (i == target)) / (double)rows);
    return max + log(sum) - x[target];
}

int cpu_xent(struct device *d, const struct xent *a)
{
    int64_t rows = tensor_rows(&a->logits), n = tensor_cols(&a->logits);
    float *dx = a->dlogits.data;
    double sum = 0;
    (void)d;
    for (int64_t r = 0; r < rows; r++)
        sum += xent_row(dx ? dx + r * a->dlogits.ld : NULL,
                        (const float *)a->logits.data + r * a->logits.ld, n, a->target[r], rows);
    *a->loss += sum / (double)rows;
    return 0;
}

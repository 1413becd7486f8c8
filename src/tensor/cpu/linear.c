/* linear.c - the row `linear` and its gradients, all three products through one gemm. */
#include "tensor/cpu/gemm.h"

#include <math.h>
#include <string.h>

size_t cpu_pack_bytes(struct device *d, int64_t n, int64_t k, enum dtype type)
{
    (void)d, (void)type; /* packed weights are f32 whatever they come from */
    return gemm_pack_bytes(n, k);
}

int cpu_pack(struct device *d, void *packed, const struct tensor *w)
{
    gemm_pack_rows(d->state, packed, w);
    return 0;
}

int cpu_linear(struct device *d, const struct linear *a)
{
    struct cpu *cpu = d->state;
    const float *b = a->w.data;
    if (!a->packed) {
        float *packed =
            scratch_get(cpu->shared, SCRATCH_B, gemm_pack_bytes(a->w.dim[0], a->w.dim[1]));
        gemm_pack_rows(cpu, packed, &a->w);
        b = packed;
    }
    struct gemm g = {
        .m = tensor_rows(&a->x),
        .n = a->w.dim[0],
        .k = a->w.dim[1],
        .a = a->x.data,
        .lda = a->x.ld,
        .b = b,
        .finish = {.y = a->y.data,
                   .ldy = a->y.ld,
                   .pre = a->pre.data,
                   .ldpre = a->pre.ld,
                   .bias = a->bias.data,
                   .residual = a->residual.data,
                   .ldres = a->residual.ld,
                   .act = a->act},
    };
    gemm_run(cpu, &g);
    return 0;
}

static double act_slope(double x, enum act act)
{
    double s;
    switch (act) {
    case ACT_NONE: return 1;
    case ACT_RELU: return x > 0;
    case ACT_GELU: return 0.5 * erfc(-x * M_SQRT1_2) + x * exp(-0.5 * x * x) * 0.3989422804014327;
    case ACT_QUICK_GELU: s = 1 / (1 + exp(-1.702 * x)); return s + 1.702 * x * s * (1 - s);
    case ACT_SILU: s = 1 / (1 + exp(-x)); return s + x * s * (1 - s);
    case ACT_SIGMOID: s = 1 / (1 + exp(-x)); return s * (1 - s);
    }
    return 1;
}

struct slope_job {
    float *to;
    const struct linear_bwd *a;
};

static void slope_row(void *arg, size_t row, int worker)
{
    const struct slope_job *j = arg;
    int64_t n = tensor_cols(&j->a->dy);
    const float *dy = (const float *)j->a->dy.data + (int64_t)row * j->a->dy.ld;
    const float *pre = (const float *)j->a->pre.data + (int64_t)row * j->a->pre.ld;
    (void)worker;
    for (int64_t i = 0; i < n; i++)
        j->to[(int64_t)row * n + i] = (float)(dy[i] * act_slope(pre[i], j->a->act));
}

/* Gradient of the value before the activation, and its row stride. */
static const float *grad_before_act(struct cpu *cpu, const struct linear_bwd *a, int64_t *ld)
{
    int64_t m = tensor_rows(&a->dy), n = tensor_cols(&a->dy);
    *ld = a->dy.ld;
    if (a->act == ACT_NONE) return a->dy.data;
    struct slope_job j = {scratch_get(cpu->shared, SCRATCH_GRAD, (size_t)(m * n) * 4), a};
    pool_for(cpu->pool, (size_t)m, slope_row, &j);
    *ld = n;
    return j.to;
}

/* c[m,n] += a b, with b given [k,n] and a given [m,k] or, a_trans, [k,m]. */
static void add_product(struct cpu *cpu, const struct tensor *c, const float *a, int64_t lda,
                        int a_trans, const struct tensor *b, int64_t m)
{
    int64_t n = tensor_cols(b), k = tensor_rows(b);
    float *packed = scratch_get(cpu->shared, SCRATCH_B, gemm_pack_bytes(n, k));
    gemm_pack_cols(cpu, packed, b->data, b->ld, n, k);
    struct gemm g = {
        .m = m,
        .n = n,
        .k = k,
        .a = a,
        .lda = lda,
        .a_trans = a_trans,
        .b = packed,
        .finish = {.y = c->data, .ldy = c->ld, .residual = c->data, .ldres = c->ld},
    };
    gemm_run(cpu, &g);
}

int cpu_linear_bwd(struct device *d, const struct linear_bwd *a)
{
    struct cpu *cpu = d->state;
    int64_t m = tensor_rows(&a->dy), n = tensor_cols(&a->dy), ld;
    const float *g = grad_before_act(cpu, a, &ld);
    if (a->dx.data) add_product(cpu, &a->dx, g, ld, 0, &a->w, m);
    if (a->dw.data) add_product(cpu, &a->dw, g, ld, 1, &a->x, n);
    if (a->dbias.data) {
        float *dbias = a->dbias.data;
        for (int64_t r = 0; r < m; r++) cpu->k->add(dbias, g + r * ld, n);
    }
    return 0;
}

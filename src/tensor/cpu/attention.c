/* attention.c - softmax(q k^T scale + bias) v, one sequence and head at a time.
 * The keys are packed transposed and the values as they stand into the panels that the gemm
 * micro-kernel reads; a tile of queries meets all keys, its scores stay in cache through softmax
 * and meet all values. Sums over keys run in key order, so nothing depends on the batch. */
#include "tensor/cpu/cpu.h"

#include <math.h>
#include <string.h>

struct attention_job {
    struct cpu *cpu;
    const struct attention *a;
    int64_t d; /* numbers of one head */
};

/* One sequence and one head of it. */
struct attention_head {
    const float *q, *k, *v, *bias;
    float *out, *lse;
    int64_t tq, tk, d;
    float *keys;   /* panels of k^T: [key panel][d][PANEL] */
    float *values; /* panels of v: [column panel][tk][PANEL] */
    float *scores; /* [tile rows][lds] */
    float *tile;   /* queries of the tile, then its outputs */
    int64_t lds;
};

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static void pack_head(const struct attention *a, const struct kernels *kern,
                      const struct attention_head *h)
{
    for (int64_t i = 0; i < h->tk; i += PANEL) {
        int n = (int)(h->tk - i < PANEL ? h->tk - i : PANEL);
        kern->transpose(h->keys + i * h->d, h->k + i * a->k.ld, a->k.ld, n, h->d);
    }
    for (int64_t c = 0; c < h->d; c += PANEL) {
        size_t n = (size_t)(h->d - c < PANEL ? h->d - c : PANEL);
        float *to = h->values + c * h->tk;
        for (int64_t i = 0; i < h->tk; i++, to += PANEL) {
            memcpy(to, h->v + i * a->v.ld + c, n * sizeof *to);
            memset(to + n, 0, (PANEL - n) * sizeof *to);
        }
    }
}

/* Keys that query `row` sees. */
static int64_t visible(const struct attention *a, const struct attention_head *h, int64_t row)
{
    int64_t n = row + 1 + h->tk - h->tq;
    return !a->causal || n > h->tk ? h->tk : n < 0 ? 0 : n;
}

static void softmax_tile(const struct attention *a, const struct kernels *kern,
                         const struct attention_head *h, int64_t row, int rows, float *inverse)
{
    int64_t most = visible(a, h, row + rows - 1);
    for (int r = 0; r < rows; r++) {
        float *s = h->scores + r * h->lds, sum, max;
        int64_t n = visible(a, h, row + r);
        kern->softmax(s, h->bias ? h->bias + (row + r) * h->tk : NULL, n, a->scale, &sum, &max);
        memset(s + n, 0, (size_t)(most - n) * sizeof *s);
        inverse[r] = n ? 1 / sum : 0;
        if (h->lse) h->lse[row + r] = (float)(max + log(sum));
    }
}

static void attend_tile(const struct attention *a, const struct kernels *kern,
                        const struct attention_head *h, int64_t row, int rows)
{
    float inverse[TILE_MOST], *q = h->tile, *o = h->tile + TILE_MOST * h->d;
    int64_t seen = visible(a, h, row + rows - 1);
    for (int r = 0; r < rows; r++)
        memcpy(q + r * h->d, h->q + (row + r) * a->q.ld, (size_t)h->d * sizeof *q);
    for (int64_t i = 0; i < seen; i += PANEL)
        kern->tile(&(struct tile){.c = h->scores + i,
                                  .ldc = h->lds,
                                  .a = q,
                                  .lda = h->d,
                                  .b = h->keys + i * h->d,
                                  .ahead = q,
                                  .k = h->d,
                                  .rows = rows});
    softmax_tile(a, kern, h, row, rows, inverse);
    for (int64_t c = 0; c < h->d; c += PANEL) {
        int64_t n = h->d - c < PANEL ? h->d - c : PANEL;
        kern->tile(&(struct tile){.c = o,
                                  .ldc = PANEL,
                                  .a = h->scores,
                                  .lda = h->lds,
                                  .b = h->values + c * h->tk,
                                  .ahead = o,
                                  .k = seen,
                                  .rows = rows});
        for (int r = 0; r < rows; r++)
            kern->scale(h->out + (row + r) * a->out.ld + c, o + r * PANEL, n, inverse[r]);
    }
}

static void attend_head(void *arg, size_t index, int worker)
{
    const struct attention_job *j = arg;
    const struct attention *a = j->a;
    const struct kernels *kern = j->cpu->k;
    struct buffer *set = j->cpu->worker[worker];
    int64_t seq = (int64_t)index / a->heads, head = (int64_t)index % a->heads, d = j->d;
    int64_t q0 = a->q_at[seq], k0 = a->k_at[seq], tq = a->q_at[seq + 1] - q0,
            tk = a->k_at[seq + 1] - k0, wide = round_up(d, PANEL), lds = round_up(tk, PANEL);
    float *keys = scratch_get(set, SCRATCH_B, (size_t)(lds * d + wide * tk) * sizeof *keys);
    struct attention_head h = {
        .q = (const float *)a->q.data + q0 * a->q.ld + head * d,
        .k = (const float *)a->k.data + k0 * a->k.ld + head * d,
        .v = (const float *)a->v.data + k0 * a->v.ld + head * d,
        .out = (float *)a->out.data + q0 * a->out.ld + head * d,
        .bias = a->bias.data ? (const float *)a->bias.data + head * tq * tk : NULL,
        .lse = a->lse.data ? (float *)a->lse.data + head * a->lse.ld + q0 : NULL,
        .tq = tq,
        .tk = tk,
        .d = d,
        .keys = keys,
        .values = keys + lds * d,
        .scores = scratch_get(set, SCRATCH_C, (size_t)(TILE_MOST * lds) * sizeof(float)),
        .tile = scratch_get(set, SCRATCH_Q, (size_t)(TILE_MOST * (d + PANEL)) * sizeof(float)),
        .lds = lds,
    };
    pack_head(a, kern, &h);
    for (int64_t row = 0; row < tq; row += kern->tile_rows)
        attend_tile(a, kern, &h, row,
                    (int)(tq - row < kern->tile_rows ? tq - row : kern->tile_rows));
}

int cpu_attention(struct device *dev, const struct attention *a)
{
    struct attention_job j = {dev->state, a, tensor_cols(&a->q) / a->heads};
    pool_for(j.cpu->pool, (size_t)a->count * (size_t)a->heads, attend_head, &j);
    return 0;
}

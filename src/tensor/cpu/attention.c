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
    float *sums;   /* outputs of a tile: [rows][PANEL] */
    float *q_copy; /* queries of a tile, when their rows collide in cache; else NULL */
    int64_t lds;
};

static int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static int width(int64_t left)
{
    return left < PANEL ? (int)left : PANEL;
}

static void pack_head(const struct attention *a, const struct kernels *kern,
                      const struct attention_head *h)
{
    for (int64_t i = 0; i < h->tk; i += PANEL)
        kern->transpose(h->keys + i * h->d, h->k + i * a->k.ld, a->k.ld, width(h->tk - i), h->d);
    for (int64_t c = 0; c < h->d; c += PANEL)
        kern->copy(h->values + c * h->tk, h->v + c, a->v.ld, width(h->d - c), h->tk);
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
        if (n < most) memset(s + n, 0, (size_t)(most - n) * sizeof *s);
        inverse[r] = n ? 1 / sum : 0;
        if (h->lse) h->lse[row + r] = (float)(max + log(sum));
    }
}

static void attend_tile(const struct attention *a, const struct kernels *kern,
                        const struct attention_head *h, int64_t row, int rows)
{
    float inverse[TILE_MOST];
    int64_t seen = visible(a, h, row + rows - 1);
    struct tile t = {.a = h->q + row * a->q.ld, .lda = a->q.ld, .rows = rows};
    if (h->q_copy) {
        for (int r = 0; r < rows; r++)
            memcpy(h->q_copy + r * h->d, t.a + r * t.lda, (size_t)h->d * sizeof *t.a);
        t.a = h->q_copy;
        t.lda = h->d;
    }
    t.ahead = t.a;
    t.ldc = h->lds;
    t.k = h->d;
    for (int64_t i = 0; i < seen; i += PANEL) {
        t.c = h->scores + i;
        t.b = h->keys + i * h->d;
        kern->tile(&t);
    }
    softmax_tile(a, kern, h, row, rows, inverse);
    t = (struct tile){.c = h->sums, .ldc = PANEL, .a = h->scores, .lda = h->lds, .rows = rows};
    t.ahead = t.a;
    t.k = seen;
    for (int64_t c = 0; c < h->d; c += PANEL) {
        t.b = h->values + c * h->tk;
        kern->tile(&t);
        kern->scale(h->out + row * a->out.ld + c, a->out.ld, t.c, inverse, rows, width(h->d - c));
    }
}

/* Queries spread evenly over tiles. */
static void attend_rows(const struct attention *a, const struct kernels *kern,
                        const struct attention_head *h)
{
    int64_t tiles = (h->tq + kern->tile_rows - 1) / kern->tile_rows;
    for (int64_t i = 0; i < tiles; i++) {
        int64_t row = i * h->tq / tiles;
        attend_tile(a, kern, h, row, (int)((i + 1) * h->tq / tiles - row));
    }
}

static void attend_head(void *arg, size_t index, int worker)
{
    const struct attention_job *j = arg;
    const struct attention *a = j->a;
    struct buffer *set = j->cpu->worker[worker];
    int64_t seq = (int64_t)index / a->heads, head = (int64_t)index % a->heads, d = j->d;
    int64_t q0 = a->q_at[seq], k0 = a->k_at[seq], tq = a->q_at[seq + 1] - q0,
            tk = a->k_at[seq + 1] - k0, wide = round_up(d, PANEL), lds = round_up(tk, PANEL);
    if (rows_collide(lds)) lds += PANEL;
    float *keys = scratch_get(set, SCRATCH_B, (size_t)(lds * d + wide * tk) * sizeof *keys);
    float *sums = scratch_get(set, SCRATCH_Q, (size_t)(TILE_MOST * (d + PANEL)) * sizeof *sums);
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
        .sums = sums,
        .q_copy = rows_collide(a->q.ld) ? sums + TILE_MOST * PANEL : NULL,
        .lds = lds,
    };
    pack_head(a, j->cpu->k, &h);
    attend_rows(a, j->cpu->k, &h);
}

int cpu_attention(struct device *dev, const struct attention *a)
{
    struct attention_job j = {dev->state, a, tensor_cols(&a->q) / a->heads};
    pool_for(j.cpu->pool, (size_t)a->count * (size_t)a->heads, attend_head, &j);
    return 0;
}

/* kernels_plain.c - the kernels in plain C: what every other instruction set must equal. */
#include "tensor/cpu/wide_plain.h"
#include "tensor/cpu/kernels_body.h"
#include "tensor/cpu/norm_body.h"
#include "tensor/cpu/cluster_body.h"

static void tile_plain(const struct tile *t)
{
    for (int r = 0; r < t->rows; r++) {
        float sum[PANEL] = {0};
        if (t->more) memcpy(sum, t->c + r * t->ldc, sizeof sum);
        for (int64_t i = 0; i < t->k; i++)
            for (int j = 0; j < PANEL; j++)
                sum[j] = fmaf(t->a[r * t->lda + i], t->b[i * PANEL + j], sum[j]);
        memcpy(t->c + r * t->ldc, sum, sizeof sum);
    }
}

static void transpose_plain(float *panel, const float *w, int64_t ldw, int cols, int64_t k)
{
    for (int64_t i = 0; i < k; i++)
        for (int j = 0; j < PANEL; j++) panel[i * PANEL + j] = j < cols ? w[j * ldw + i] : 0;
}

const struct kernels kernels_plain = {
    .tile_rows = 4,
    .tile = tile_plain,
    .finish = finish_tile,
    .transpose = transpose_plain,
    .copy = copy_panel,
    .softmax = softmax_row,
    .scale = scale_rows,
    .layernorm = layernorm_row,
    .l2norm = l2norm_row,
    .add = add_row,
    .widen = widen_row,
    .best = best_tile,
    .distance = distance_row,
    .add_fixed = add_fixed_row,
};

/* kernels_avx512.c - the kernels for AVX-512; the micro-kernel stands in tile_avx512.c. */
#include "tensor/cpu/vec_avx512.h"
#include "tensor/cpu/kernels_body.h"

static void transpose_avx512(float *panel, const float *w, int64_t ldw, int cols, int64_t k)
{
    for (int64_t i = 0; i < k; i++)
        for (int j = 0; j < PANEL; j++) panel[i * PANEL + j] = j < cols ? w[j * ldw + i] : 0;
}

const struct kernels kernels_avx512 = {
    .tile_rows = 14,
    .tile = tile_avx512,
    .finish = finish_tile,
    .transpose = transpose_avx512,
    .softmax = softmax_row,
    .scale = scale_row,
    .layernorm = layernorm_row,
    .l2norm = l2norm_row,
    .add = add_row,
};

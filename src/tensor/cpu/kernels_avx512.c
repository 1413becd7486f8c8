/* kernels_avx512.c - the kernels for AVX-512; the micro-kernel stands in tile_avx512.c. */
#include "tensor/cpu/wide_avx512.h"
#include "tensor/cpu/kernels_body.h"
#include "tensor/cpu/norm_body.h"
#include "tensor/cpu/cluster_body.h"

/* Sixteen rows of w become sixteen columns of the panel: four rounds of pairwise exchange. */
static inline __attribute__((always_inline)) void transpose_16(__m512 *r)
{
    __m512 t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    }
}

/* A square of the panel: rows k0..k0+depth of it, sixteen columns, of which `cols` are given. */
static void transpose_square(float *panel, const float *w, int64_t ldw, int cols, int depth)
{
    __m512 r[16];
    __mmask16 mask = vec_mask(depth);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = i < cols ? _mm512_maskz_loadu_ps(mask, w + i * ldw) : _mm512_setzero_ps();
    transpose_16(r);
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        if (i < depth) _mm512_storeu_ps(panel + i * PANEL, r[i]);
}

static void transpose_avx512(float *panel, const float *w, int64_t ldw, int cols, int64_t k)
{
    for (int64_t i = 0; i < k; i += VEC) {
        transpose_square(panel + i * PANEL, w + i, ldw, cols, part(i, k));
        transpose_square(panel + i * PANEL + VEC, w + VEC * ldw + i, ldw, cols - VEC, part(i, k));
    }
}

const struct kernels kernels_avx512 = {
    .tile_rows = 14,
    .tile = tile_avx512,
    .finish = finish_tile,
    .transpose = transpose_avx512,
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

/* kernels_avx512.c - the kernels for AVX-512: a tile of 14 rows and two registers of columns
 * keeps 28 sums, two of b and one of a in the 32 registers. */
#include "tensor/cpu/vec_avx512.h"
#include "tensor/cpu/kernels_body.h"

enum { ROWS = 14 };

static inline __attribute__((always_inline)) void tile_rows(float *c, int64_t ldc, const float *a,
                                                            int64_t lda, const float *b,
                                                            const int rows, int64_t k, int more)
{
    __m512 lo[ROWS], hi[ROWS];
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        lo[r] = more ? _mm512_loadu_ps(c + r * ldc) : _mm512_setzero_ps();
        hi[r] = more ? _mm512_loadu_ps(c + r * ldc + 16) : _mm512_setzero_ps();
    }
    for (int64_t i = 0; i < k; i++, b += PANEL) {
        __m512 b0 = _mm512_loadu_ps(b), b1 = _mm512_loadu_ps(b + 16);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            __m512 x = _mm512_set1_ps(a[r * lda + i]);
            lo[r] = _mm512_fmadd_ps(x, b0, lo[r]);
            hi[r] = _mm512_fmadd_ps(x, b1, hi[r]);
        }
    }
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        _mm512_storeu_ps(c + r * ldc, lo[r]);
        _mm512_storeu_ps(c + r * ldc + 16, hi[r]);
    }
}

static void tile_avx512(float *c, int64_t ldc, const float *a, int64_t lda, const float *b,
                        int rows, int64_t k, int more)
{
    switch (rows) {
    case 1: tile_rows(c, ldc, a, lda, b, 1, k, more); break;
    case 2: tile_rows(c, ldc, a, lda, b, 2, k, more); break;
    case 3: tile_rows(c, ldc, a, lda, b, 3, k, more); break;
    case 4: tile_rows(c, ldc, a, lda, b, 4, k, more); break;
    case 5: tile_rows(c, ldc, a, lda, b, 5, k, more); break;
    case 6: tile_rows(c, ldc, a, lda, b, 6, k, more); break;
    case 7: tile_rows(c, ldc, a, lda, b, 7, k, more); break;
    case 8: tile_rows(c, ldc, a, lda, b, 8, k, more); break;
    case 9: tile_rows(c, ldc, a, lda, b, 9, k, more); break;
    case 10: tile_rows(c, ldc, a, lda, b, 10, k, more); break;
    case 11: tile_rows(c, ldc, a, lda, b, 11, k, more); break;
    case 12: tile_rows(c, ldc, a, lda, b, 12, k, more); break;
    case 13: tile_rows(c, ldc, a, lda, b, 13, k, more); break;
    case 14: tile_rows(c, ldc, a, lda, b, 14, k, more); break;
    default: break;
    }
}

static void transpose_avx512(float *panel, const float *w, int64_t ldw, int cols, int64_t k)
{
    for (int64_t i = 0; i < k; i++)
        for (int j = 0; j < PANEL; j++) panel[i * PANEL + j] = j < cols ? w[j * ldw + i] : 0;
}

const struct kernels kernels_avx512 = {
    .tile_rows = ROWS,
    .tile = tile_avx512,
    .finish = finish_tile,
    .transpose = transpose_avx512,
    .softmax = softmax_row,
    .scale = scale_row,
    .layernorm = layernorm_row,
    .l2norm = l2norm_row,
    .add = add_row,
};

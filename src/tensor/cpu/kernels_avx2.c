/* kernels_avx2.c - the kernels for AVX2: six rows and two registers of columns at a time keep
 * 12 sums, two of b and one of a in the 16 registers; a panel is done in two halves. */
#include "tensor/cpu/wide_avx2.h"
#include "tensor/cpu/kernels_body.h"
#include "tensor/cpu/norm_body.h"
#include "tensor/cpu/cluster_body.h"

enum { ROWS = 6 };

struct sums {
    __m256 lo[ROWS], hi[ROWS];
};

static inline __attribute__((always_inline)) void tile_step(struct sums *s, const float *a,
                                                            int64_t lda, const float *b,
                                                            const int rows)
{
    __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        __m256 x = _mm256_broadcast_ss(a + r * lda);
        s->lo[r] = _mm256_fmadd_ps(x, b0, s->lo[r]);
        s->hi[r] = _mm256_fmadd_ps(x, b1, s->hi[r]);
    }
}

static inline __attribute__((always_inline)) void tile_rows(const struct tile *t, int col,
                                                            const int rows)
{
    struct sums s;
    float *c = t->c + col;
    const float *a = t->a, *b = t->b + col;
    const char *ahead = t->ahead;
    int64_t lda = t->lda, ldc = t->ldc, fours = t->k / 4, ones = t->k % 4, step = t->step;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        s.lo[r] = t->more ? _mm256_loadu_ps(c + r * ldc) : _mm256_setzero_ps();
        s.hi[r] = t->more ? _mm256_loadu_ps(c + r * ldc + 8) : _mm256_setzero_ps();
    }
    for (; fours; fours--, a += 4, b += 4 * PANEL, ahead += step) {
        tile_step(&s, a, lda, b, rows);
        tile_step(&s, a + 1, lda, b + PANEL, rows);
        _mm_prefetch(ahead, _MM_HINT_T1);
        tile_step(&s, a + 2, lda, b + 2 * PANEL, rows);
        tile_step(&s, a + 3, lda, b + 3 * PANEL, rows);
    }
    for (; ones; ones--, a++, b += PANEL) tile_step(&s, a, lda, b, rows);
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        _mm256_storeu_ps(c + r * ldc, s.lo[r]);
        _mm256_storeu_ps(c + r * ldc + 8, s.hi[r]);
    }
}

static void tile_half(const struct tile *t, int col)
{
    switch (t->rows) {
    case 1: tile_rows(t, col, 1); break;
    case 2: tile_rows(t, col, 2); break;
    case 3: tile_rows(t, col, 3); break;
    case 4: tile_rows(t, col, 4); break;
    case 5: tile_rows(t, col, 5); break;
    default: tile_rows(t, col, 6); break;
    }
}

static void tile_avx2(const struct tile *t)
{
    tile_half(t, 0);
    tile_half(t, 16);
}

/* Eight whole rows of w become eight columns of the panel. */
static void transpose_square(float *panel, const float *w, int64_t ldw)
{
    __m256 r[8], t[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(w + i * ldw);
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_ps(panel + i * PANEL, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(panel + (i + 4) * PANEL, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

static void transpose_avx2(float *panel, const float *w, int64_t ldw, int cols, int64_t k)
{
    int64_t whole = cols == PANEL ? k / 8 * 8 : 0;
    for (int64_t i = 0; i < whole; i += 8)
        for (int j = 0; j < PANEL; j += 8)
            transpose_square(panel + i * PANEL + j, w + j * ldw + i, ldw);
    for (int64_t i = whole; i < k; i++)
        for (int j = 0; j < PANEL; j++) panel[i * PANEL + j] = j < cols ? w[j * ldw + i] : 0;
}

const struct kernels kernels_avx2 = {
    .tile_rows = ROWS,
    .tile = tile_avx2,
    .finish = finish_tile,
    .transpose = transpose_avx2,
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

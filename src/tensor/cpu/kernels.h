/* kernels.h - the inner loops that exist once per instruction set.
 * kernels_body.h and norm_body.h write them over `struct vec`, sixteen floats; kernels_plain.c,
 * _avx2.c and _avx512.c compile it with their own vec. The same sequence of IEEE operations per
 * lane makes the three give the same bits. */
#ifndef TENSOR_CPU_KERNELS_H
#define TENSOR_CPU_KERNELS_H

#include "tensor/device.h"

enum {
    PANEL = 32,    /* columns of a packed panel: two AVX-512 registers */
    TILE_MOST = 16 /* rows a tile may have in any instruction set */
};

/* What happens to a finished sum on its way out; addresses of the whole matrices. */
struct finish {
    float *y, *pre;
    const float *bias, *residual;
    int64_t ldy, ldpre, ldres;
    enum act act;
};

/* c[rows,PANEL] (row stride ldc) = a[rows,k] (row stride lda) times panel b[k,PANEL], added to c
 * when `more`. Each element is one fused-multiply-add chain over k in order, so cutting k over
 * several calls changes no bit. Every fourth step of k may prefetch one line from `ahead` on,
 * `step` bytes apart: what later tiles will read. */
struct tile {
    float *c;
    const float *a, *b;
    const void *ahead;
    int64_t ldc, lda, k, step;
    int rows, more;
};

/* One row of the row l2norm: y = x / ||x||, or x itself. */
struct l2norm_row {
    void *y;
    const void *x;
    int64_t n;
    int y_half, x_half, keep;
};

/* The best of the columns seen so far for one row of a product, lane by lane: column c is in lane
 * c % 16, and chunk is c / 16 of the best value. next is the second best value. */
struct best {
    float value[16], next[16], chunk[16];
};

struct kernels {
    int tile_rows; /* how many rows `tile` does best */

    void (*tile)(const struct tile *t);

    /* A finished tile at (row, col) of the result: bias, act, residual, store. */
    void (*finish)(const struct finish *f, const float *tile, int64_t row, int64_t col, int rows,
                   int cols);

    /* panel[k,PANEL] from w[cols,k] with row stride ldw; zero beyond cols. */
    void (*transpose)(float *panel, const float *w, int64_t ldw, int cols, int64_t k);

    /* panel[k,PANEL] from b[k,cols] with row stride ldb; zero beyond cols. */
    void (*copy)(float *panel, const float *b, int64_t ldb, int cols, int64_t k);

    /* s[0..n) becomes exp(s*scale + bias - max); sum and max come back. */
    void (*softmax)(float *s, const float *bias, int64_t n, float scale, float *sum, float *max);
    /* y[rows,cols] = x[rows,PANEL] * by[row] */
    void (*scale)(float *y, int64_t ldy, const float *x, const float *by, int rows, int cols);
    void (*layernorm)(float *y, const float *x, const float *gain, const float *bias, int64_t n,
                      float eps, float *mean, float *rstd);
    float (*l2norm)(const struct l2norm_row *a);      /* ||x|| */
    void (*add)(float *y, const float *x, int64_t n); /* y += x */

    void (*widen)(float *y, const uint16_t *x, int64_t n); /* from f16 */
    /* A finished tile of rows from column col on, against b[0..rows): value - less[col], less
     * may be NULL. */
    void (*best)(struct best *b, const float *tile, const float *less, int64_t col, int rows,
                 int cols);
    /* |x-c|^2 and x.c in double. */
    void (*distance)(double *square, double *dot, const float *x, const float *c, int64_t n);
    void (*add_fixed)(int64_t *sums, const float *x, int64_t n, double scale);
};

/* Rows a multiple of 2 KiB apart share so few sets of L1 that the rows of a tile would evict each
 * other: copy them first. */
static inline int rows_collide(int64_t ld)
{
    return ld % 512 == 0;
}

/* The kernels of an instruction set this machine has. */
const struct kernels *kernels_of(enum isa isa);

void tile_avx512(const struct tile *t);
extern const struct kernels kernels_plain, kernels_avx2, kernels_avx512;

#endif

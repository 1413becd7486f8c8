/* gemm.h - the matrix product under linear and its backward. */
#ifndef TENSOR_CPU_GEMM_H
#define TENSOR_CPU_GEMM_H

#include "tensor/cpu/cpu.h"

/* out[m,n] = finish(a[m,k] b[k,n]). a is [m,k] with row stride lda, or stored [k,m] when
 * a_trans. b is packed: panels of PANEL columns, each [k,PANEL], zero beyond n. */
struct gemm {
    int64_t m, n, k;
    const float *a;
    int64_t lda;
    int a_trans;
    const float *b;
    struct finish finish;
    /* Where given, gets each finished tile instead: rows [row,row+rows), columns [col,col+cols)
     * of the result, row stride PANEL. */
    void (*sink)(void *arg, const float *tile, int64_t row, int64_t col, int rows, int cols);
    void *arg;
};
void gemm_run(struct cpu *cpu, const struct gemm *g);

/* The same by one worker alone, without a copy of a. Tiles of one row come in the order of their
 * columns. */
void gemm_strip(struct cpu *cpu, const struct gemm *g, int worker);
/* How many rows a strip should have: they stay in L2 while the panels pass. */
int64_t gemm_strip_rows(const struct cpu *cpu, int64_t k);

size_t gemm_pack_bytes(int64_t n, int64_t k);
/* Panels of b[k,n] given as w[n,k] (any float type), or as b itself, row stride ldb. */
void gemm_pack_rows(struct cpu *cpu, float *packed, const struct tensor *w);
void gemm_pack_cols(struct cpu *cpu, float *packed, const float *b, int64_t ldb, int64_t n,
                    int64_t k);

#endif

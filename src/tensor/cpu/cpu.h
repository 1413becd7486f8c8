/* cpu.h - the CPU backend behind the op table: its state and its rows. */
#ifndef TENSOR_CPU_CPU_H
#define TENSOR_CPU_CPU_H

#include "base/pool.h"
#include "tensor/cpu/kernels.h"

/* Memory that an op needs while it runs. Kept and grown, so a steady state allocates nothing. */
enum scratch {
    SCRATCH_A,    /* packed left matrix */
    SCRATCH_B,    /* packed right matrix */
    SCRATCH_C,    /* sums between two blocks of k; attention: scores */
    SCRATCH_Q,    /* attention: outputs of a tile, and a copy of its queries; cluster: the best */
    SCRATCH_GRAD, /* backward: gradient before the activation */
    SCRATCH_COUNT
};
struct buffer {
    void *data;
    size_t bytes;
};

/* shared belongs to the op's caller, worker[i] to the i-th thread of the pool. */
struct cpu {
    const struct kernels *k;
    struct pool *pool; /* NULL in a lane: ops run on the calling thread */
    int workers;
    int64_t l2_bytes; /* of one core */
    struct buffer shared[SCRATCH_COUNT];
    struct buffer (*worker)[SCRATCH_COUNT];
};

/* At least `bytes`, 64-byte aligned, contents undefined. */
void *scratch_get(struct buffer *set, enum scratch which, size_t bytes);

/* A CPU device limited to an instruction set (tests compare them) and a number of threads. */
int cpu_open(struct device **out, enum isa isa, int threads);

int cpu_linear(struct device *d, const struct linear *a);
int cpu_linear_bwd(struct device *d, const struct linear_bwd *a);
size_t cpu_pack_bytes(struct device *d, int64_t n, int64_t k, enum dtype type);
int cpu_pack(struct device *d, void *packed, const struct tensor *w);
int cpu_attention(struct device *d, const struct attention *a);
int cpu_attention_bwd(struct device *d, const struct attention_bwd *a);
int cpu_layernorm(struct device *d, const struct layernorm *a);
int cpu_layernorm_bwd(struct device *d, const struct layernorm_bwd *a);
int cpu_l2norm(struct device *d, const struct l2norm *a);
int cpu_patchify(struct device *d, const struct patchify *a);
int cpu_embed(struct device *d, const struct embed *a);
int cpu_embed_bwd(struct device *d, const struct embed_bwd *a);
int cpu_add(struct device *d, const struct tensor *y, const struct tensor *x);
int cpu_xent(struct device *d, const struct xent *a);
int cpu_adamw(struct device *d, const struct adamw *a);
int cpu_nearest(struct device *d, const struct nearest *a);
int cpu_distance(struct device *d, const struct distance *a);
int cpu_sum_by(struct device *d, const struct sum_by *a);
int cpu_pair_max(struct device *d, const struct pair_max *a);

#endif

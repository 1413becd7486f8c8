/* device.h - the op table: what a backend is.
 * One struct of function pointers; every backend fills every row for f32. ops.c wraps each row
 * once (shapes, dtypes, timing) and is what layers call; backends check nothing.
 * Every row's result for one sample is independent of which other rows share the call: the
 * order of every sum is fixed by the sample's own shape. That is what makes outputs
 * independent of batch size, threads and task split. Every _bwd ADDS into gradients. */
#ifndef TENSOR_DEVICE_H
#define TENSOR_DEVICE_H

#include "tensor/cluster.h"

enum act { ACT_NONE, ACT_GELU, ACT_QUICK_GELU, ACT_RELU, ACT_SILU, ACT_SIGMOID };

/* y[m,n] = act(x[m,k] w[n,k]^T + bias[n]) + residual[m,n].
 * w is plain [n,k], or a packed weight made by `pack` (then .w.data is the packed block and its
 * dims are still [n,k]). pre[m,n], when given, receives the value before act. y may be residual. */
struct linear {
    struct tensor y, x, w, bias, residual, pre;
    enum act act;
    int packed;
};
/* Gradients of the above: dy is the gradient of y; dx, dw, dbias are added into where given.
 * pre as saved by the forward (needed unless act is ACT_NONE). The gradient of residual is dy
 * itself. */
struct linear_bwd {
    struct tensor dx, dw, dbias, dy, x, w, pre;
    enum act act;
};

/* Sequences stand one after another ("ragged"): sequence i owns query rows q_at[i]..q_at[i+1]
 * and key rows k_at[i]..k_at[i+1]; both arrays have count+1 entries on the host. q [tq,h*d],
 * k, v [tk,h*d], out [tq,h*d], each with its own ld, so they may be columns of one qkv matrix.
 * causal: query j of a sequence sees keys 0..j (+ tk - tq when there are fewer queries).
 * bias: optional additive [h,tq_i,tk_i], same for all sequences. lse: optional saved
 * log-sum-exp [h,tq] for bwd. */
struct attention {
    struct tensor out, q, k, v, bias, lse;
    const int32_t *q_at, *k_at;
    int count, heads, causal;
    float scale;
};
struct attention_bwd {
    struct tensor dq, dk, dv, dout, out, q, k, v, lse;
    const int32_t *q_at, *k_at;
    int count, heads, causal;
    float scale;
};

/* y = (x - mean) / sqrt(var + eps) * gain + bias over the last dimension. mean, rstd: optional
 * saved [rows]. */
struct layernorm {
    struct tensor y, x, gain, bias, mean, rstd;
    float eps;
};
struct layernorm_bwd {
    struct tensor dx, dgain, dbias, dy, x, gain, mean, rstd;
};

/* u8 pixels [n,s,s,3] -> f32 patches [n*(s/p)^2, 3*p*p], each patch laid out c,y,x as a
 * convolution weight [out,3,p,p] wants it; value = lut[c][pixel], which is exactly
 * (pixel/255 - mean)/std in f32 steps. */
struct patchify {
    struct tensor patches, pixels;
    int patch;
    const float *lut; /* [3][256], host */
};

/* y[i] = table[id[i]] (+ pos[at[i]] when given); ids and at are host arrays. */
struct embed {
    struct tensor y, table, pos;
    const int32_t *ids, *at;
};
struct embed_bwd {
    struct tensor dtable, dpos, dy;
    const int32_t *ids, *at;
};

/* loss[0] += mean over rows of cross entropy(logits[rows,n], target); dlogits is overwritten. */
struct xent {
    struct tensor logits, dlogits;
    const int32_t *target; /* host */
    double *loss;          /* host */
};

/* One AdamW step over n flat floats; step counts from 1. */
struct adamw {
    struct tensor w, grad, m, v;
    float lr, beta1, beta2, eps, decay;
    int step;
};

struct device;

struct device_ops {
    int (*alloc)(struct device *d, void **p, size_t bytes); /* 64-byte aligned */
    void (*free)(struct device *d, void *p);
    int (*put)(struct device *d, void *dst, const void *src, size_t bytes); /* host -> device */
    int (*get)(struct device *d, void *dst, const void *src, size_t bytes); /* device -> host */
    int (*zero)(struct device *d, void *p, size_t bytes);
    int (*sync)(struct device *d);
    int (*lane)(struct device *d, struct device **out);
    void (*close)(struct device *d);

    /* A weight [n,k] in the layout `linear` likes best: size, then the conversion from plain
     * f32, f16 or bf16 host memory. */
    size_t (*pack_bytes)(struct device *d, int64_t n, int64_t k, enum dtype type);
    int (*pack)(struct device *d, void *packed, const struct tensor *w);

    int (*linear)(struct device *d, const struct linear *a);
    int (*linear_bwd)(struct device *d, const struct linear_bwd *a);
    int (*attention)(struct device *d, const struct attention *a);
    int (*attention_bwd)(struct device *d, const struct attention_bwd *a);
    int (*layernorm)(struct device *d, const struct layernorm *a);
    int (*layernorm_bwd)(struct device *d, const struct layernorm_bwd *a);
    int (*patchify)(struct device *d, const struct patchify *a);
    int (*embed)(struct device *d, const struct embed *a);
    int (*embed_bwd)(struct device *d, const struct embed_bwd *a);
    int (*l2norm)(struct device *d, const struct l2norm *a);
    int (*add)(struct device *d, const struct tensor *y, const struct tensor *x); /* y += x */
    int (*xent)(struct device *d, const struct xent *a);
    int (*adamw)(struct device *d, const struct adamw *a);
    int (*nearest)(struct device *d, const struct nearest *a);
    int (*distance)(struct device *d, const struct distance *a);
    int (*sum_by)(struct device *d, const struct sum_by *a);
    int (*pair_max)(struct device *d, const struct pair_max *a);
};

/* lanes: how many independent workers should feed this device, each through its own lane.
 * A CPU has one per thread (each lane runs alone, no barrier between threads); a GPU has one.
 * kind is what the fingerprint records. Every instruction set of the CPU backend gives the same
 * bits, so its kind is "cpu" alone; which set it found stands in detail, for people. */
struct device {
    const char *name; /* "cpu" */
    char kind[64];    /* "cpu" */
    char detail[64];  /* "avx512, 2 threads" */
    int lanes;
    int host; /* its memory is the program's own: rows may be given any host pointer */
    const struct device_ops *ops;
    void *state;
    struct profile *profile; /* of ops.c; NULL unless $DARKROOM_PROFILE is set */
};

/* spec: "auto", "cpu", "cuda", "cuda:1" ("gpu" = "cuda"). threads: how many threads one op may
 * use, 0 = all. */
int device_open(struct device **out, const char *spec, int threads);
/* Another handle on the same memory whose ops run on the calling thread only. */
int device_lane(struct device **out, struct device *d);
void device_close(struct device *d);

#endif

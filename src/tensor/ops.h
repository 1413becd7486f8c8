/* ops.h - what layers call: each row of the device table once, with its shapes checked.
 * A wrong shape is a mistake of ours (assert); a dtype the backend has not got is ERR_USAGE.
 * With $DARKROOM_PROFILE=1 every row is timed and a table is logged when the device closes;
 * "cpu" instead of 1 counts CPU time of the calling thread, for lanes on a busy machine. */
#ifndef TENSOR_OPS_H
#define TENSOR_OPS_H

#include "tensor/device.h"

int op_alloc(struct device *d, void **p, size_t bytes); /* 64-byte aligned; op_free it */
void op_free(struct device *d, void *p);                /* NULL is fine */
int op_put(struct device *d, void *dst, const void *src, size_t bytes); /* host -> device */
int op_get(struct device *d, void *dst, const void *src, size_t bytes); /* device -> host */
int op_zero(struct device *d, void *p, size_t bytes);
int op_sync(struct device *d);

/* The packed form of a plain host weight [n,k] of f32, f16 or bf16. */
size_t op_pack_bytes(struct device *d, int64_t n, int64_t k, enum dtype type);
int op_pack(struct device *d, void *packed, const struct tensor *w);

int op_linear(struct device *d, const struct linear *a);
int op_linear_bwd(struct device *d, const struct linear_bwd *a);
int op_attention(struct device *d, const struct attention *a);
int op_attention_bwd(struct device *d, const struct attention_bwd *a);
int op_layernorm(struct device *d, const struct layernorm *a);
int op_layernorm_bwd(struct device *d, const struct layernorm_bwd *a);
int op_patchify(struct device *d, const struct patchify *a);
int op_embed(struct device *d, const struct embed *a);
int op_embed_bwd(struct device *d, const struct embed_bwd *a);
int op_l2norm(struct device *d, const struct l2norm *a);
int op_add(struct device *d, const struct tensor *y, const struct tensor *x); /* y += x */
int op_xent(struct device *d, const struct xent *a);
int op_adamw(struct device *d, const struct adamw *a);
int op_nearest(struct device *d, const struct nearest *a);
int op_distance(struct device *d, const struct distance *a);
int op_sum_by(struct device *d, const struct sum_by *a);
int op_pair_max(struct device *d, const struct pair_max *a);

/* Times of the rows of one device or lane. NULL unless $DARKROOM_PROFILE is set. A lane adds its
 * times to its parent when freed (so lanes close before their device); the parent logs them. */
struct profile;
struct profile *profile_new(struct profile *parent);
void profile_free(struct profile *p);

#endif

/* param.h - the learned numbers of a model, in one device allocation per family.
 * Say what there is (params_add), then allocate once (params_alloc). Inference packs weights the
 * way the backend's `linear` likes them; training keeps them plain and adds gradients and
 * AdamW moments. */
#ifndef NN_PARAM_H
#define NN_PARAM_H

#include "tensor/device.h"

struct param {
    struct tensor w;       /* [n,k] or [n]; data NULL = this model has none */
    struct tensor g, m, v; /* same shape; data NULL in inference */
    int packed;            /* w.data is the backend's block, made by device_ops.pack */
    int decay;             /* weight decay applies (matrices, not gains and biases) */
};

/* A set of parameters. Zeroed is empty; params_release accepts it. */
struct params {
    struct device *dev;
    struct param **list;
    size_t count, cap;
    void *weights, *state; /* one allocation each */
    size_t weight_bytes, state_bytes;
};

/* A matrix [n,k], or a vector [n] when k is 0. p must outlive the set. */
void params_add(struct params *s, struct param *p, int64_t n, int64_t k, int packed);

/* Device memory for all weights; contents are undefined until written. */
int params_alloc(struct params *s, struct device *dev);

/* Gradients and moments, zeroed. No parameter may be packed. */
int params_train(struct params *s);

int params_zero_grad(struct params *s);
void params_release(struct params *s);

/* One AdamW step over every parameter that has a gradient; step counts from 1. */
struct adamw_options {
    float lr, beta1, beta2, eps, decay;
};
int adamw_step(struct params *s, const struct adamw_options *o, int step);

#endif

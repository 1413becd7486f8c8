/* layers.h - the layers, each written once for every backend.
 * A layer runs its op and, on a recording tape, leaves its backward step. Host arrays given to a
 * layer (ids, sequence bounds) must live until the backward pass is done. Every step adds into
 * gradients, so a value may be used many times. */
#ifndef NN_LAYERS_H
#define NN_LAYERS_H

#include "nn/tape.h"

/* act(x w^T + b); b may have no data. */
struct dense {
    struct param w, b; /* [n,k], [n] */
};
struct var linear_fwd(struct tape *t, const struct var *x, const struct dense *d, enum act act);

/* The same into memory of the caller's, e.g. rows of a larger value. */
void linear_into(struct tape *t, const struct var *y, const struct var *x, const struct dense *d,
                 enum act act);

/* x += h w^T + b, in place unless recording (then x becomes a new value). */
void linear_add(struct tape *t, struct var *x, const struct var *h, const struct dense *d);

struct norm {
    struct param gain, bias; /* [d] */
    float eps;
};
struct var norm_fwd(struct tape *t, const struct var *x, const struct norm *n);

/* Sequences that stand one after another: rows q_at[i]..q_at[i+1] of q look at rows
 * k_at[i]..k_at[i+1] of k and v (`count` + 1 bounds each). */
struct ragged {
    const int32_t *q_at, *k_at;
    int count, heads, causal;
};
struct var attention_fwd(struct tape *t, const struct var *q, const struct var *k,
                         const struct var *v, const struct ragged *r);

/* Rows of a table by id (n of them), plus rows of pos by `at` when pos is given. */
struct var embed_fwd(struct tape *t, const struct param *table, const struct param *pos,
                     const int32_t *ids, const int32_t *at, int64_t n);

/* The same from a value: rows ids[0..n) of x, plus rows of pos. */
struct var rows_fwd(struct tape *t, const struct var *x, const struct param *pos,
                    const int32_t *ids, const int32_t *at, int64_t n);

/* The one row of a vector parameter [d] into row `row` of x. */
void row_put(struct tape *t, const struct var *x, int64_t row, const struct param *p);

/* *loss = mean cross entropy of logits against target [rows]; sets the gradient of logits. */
void loss_xent(struct tape *t, const struct var *logits, const int32_t *target, double *loss);

/* Names of activations as configurations and --activation spell them: 0, or ERR_USAGE. */
int act_parse(enum act *out, const char *name);
const char *act_name(enum act a); /* "quick_gelu" */

#endif

/* attention.c - multi-head attention over ragged sequences. Fewer queries than keys is the same
 * layer: that is how a last block is computed for one token only. */
#include "nn/layers.h"

#include <math.h>

#include "tensor/ops.h"

static int bwd(struct device *dev, const struct step *s)
{
    return op_attention_bwd(dev, &s->attention);
}

struct var attention_fwd(struct tape *t, const struct var *q, const struct var *k,
                         const struct var *v, const struct ragged *r)
{
    int64_t tq = q->x.dim[0], width = q->x.dim[1];
    struct var y = tape_var(t, tq, width);
    struct attention a = {.out = y.x,
                          .q = q->x,
                          .k = k->x,
                          .v = v->x,
                          .q_at = r->q_at,
                          .k_at = r->k_at,
                          .count = r->count,
                          .heads = r->heads,
                          .causal = r->causal,
                          .scale = 1 / sqrtf((float)(width / r->heads))};
    if (t->record) {
        void *lse = tape_alloc(t, (size_t)(tq * r->heads) * sizeof(float));
        a.lse = tensor_2d(lse, F32, r->heads, tq);
        tape_record(t, bwd)->attention = (struct attention_bwd){.dq = q->g,
                                                                .dk = k->g,
                                                                .dv = v->g,
                                                                .dout = y.g,
                                                                .out = y.x,
                                                                .q = q->x,
                                                                .k = k->x,
                                                                .v = v->x,
                                                                .lse = a.lse,
                                                                .q_at = r->q_at,
                                                                .k_at = r->k_at,
                                                                .count = r->count,
                                                                .heads = r->heads,
                                                                .causal = r->causal,
                                                                .scale = a.scale};
    }
    if (!tape_skips(t)) tape_ran(t, op_attention(t->dev, &a));
    return y;
}

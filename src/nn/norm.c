/* norm.c - layer normalisation over the last dimension. */
#include "nn/layers.h"
#include "tensor/ops.h"

static int bwd(struct device *dev, const struct step *s)
{
    return op_layernorm_bwd(dev, &s->norm);
}

struct var norm_fwd(struct tape *t, const struct var *x, const struct norm *n)
{
    int64_t rows = x->x.dim[0];
    struct var y = tape_var(t, rows, x->x.dim[1]);
    struct layernorm a = {.y = y.x, .x = x->x, .gain = n->gain.w, .bias = n->bias.w, .eps = n->eps};
    if (t->record) {
        size_t bytes = (size_t)rows * sizeof(float);
        a.mean = tensor_1d(tape_alloc(t, bytes), F32, rows);
        a.rstd = tensor_1d(tape_alloc(t, bytes), F32, rows);
        tape_record(t, bwd)->norm = (struct layernorm_bwd){.dx = x->g,
                                                           .dgain = n->gain.g,
                                                           .dbias = n->bias.g,
                                                           .dy = y.g,
                                                           .x = x->x,
                                                           .gain = n->gain.w,
                                                           .mean = a.mean,
                                                           .rstd = a.rstd};
    }
    if (!tape_skips(t)) tape_ran(t, op_layernorm(t->dev, &a));
    return y;
}

/* adamw.c - the optimiser step over a parameter set. Decoupled decay (Loshchilov and Hutter
 * 2019) pulls on matrices only: a gain or bias pulled to zero changes what a layer means. */
#include "nn/param.h"
#include "tensor/ops.h"

/* Any shape as one flat row: the kernel does not care. */
static struct tensor flat(const struct tensor *t)
{
    return tensor_1d(t->data, t->type, tensor_count(t));
}

int adamw_step(struct params *s, const struct adamw_options *o, int step)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct param *p = s->list[i];
        if (!p->g.data) continue;
        int rc = op_adamw(s->dev, &(struct adamw){.w = flat(&p->w),
                                                  .grad = flat(&p->g),
                                                  .m = flat(&p->m),
                                                  .v = flat(&p->v),
                                                  .lr = o->lr,
                                                  .beta1 = o->beta1,
                                                  .beta2 = o->beta2,
                                                  .eps = o->eps,
                                                  .decay = p->decay ? o->decay : 0,
                                                  .step = step});
        if (rc) return rc;
    }
    return 0;
}

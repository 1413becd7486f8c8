/* loss.c - where a backward pass begins. */
#include "nn/layers.h"
#include "tensor/ops.h"

void loss_xent(struct tape *t, const struct var *logits, const int32_t *target, double *loss)
{
    *loss = 0;
    if (tape_skips(t)) return;
    tape_ran(t, op_xent(t->dev, &(struct xent){.logits = logits->x,
                                               .dlogits = logits->g,
                                               .target = target,
                                               .loss = loss}));
}

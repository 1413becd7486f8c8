/* optim.c - AdamW with decoupled decay, as Loshchilov and Hutter wrote it and torch does it:
 * w -= lr decay w; m, v moving means; w -= lr mhat / (sqrt(vhat) + eps). */
#include "tensor/cpu/cpu.h"

#include <math.h>

enum { FLOATS_ONCE = 1 << 14 };

struct adamw_job {
    const struct adamw *a;
    int64_t n;
    float step, root; /* lr / (1 - beta1^t), sqrt(1 - beta2^t) */
};

static void adamw_part(void *arg, size_t index, int worker)
{
    const struct adamw_job *j = arg;
    const struct adamw *a = j->a;
    float *w = a->w.data, *m = a->m.data, *v = a->v.data;
    const float *grad = a->grad.data;
    int64_t first = (int64_t)index * FLOATS_ONCE;
    int64_t end = first + FLOATS_ONCE < j->n ? first + FLOATS_ONCE : j->n;
    float keep = 1 - a->lr * a->decay;
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        float g = grad[i];
        m[i] = a->beta1 * m[i] + (1 - a->beta1) * g;
        v[i] = a->beta2 * v[i] + (1 - a->beta2) * g * g;
        w[i] = w[i] * keep - j->step * m[i] / (sqrtf(v[i]) / j->root + a->eps);
    }
}

int cpu_adamw(struct device *d, const struct adamw *a)
{
    struct cpu *cpu = d->state;
    struct adamw_job j = {a, tensor_count(&a->w), 0, 0};
    j.step = (float)(a->lr / (1 - pow(a->beta1, a->step)));
    j.root = (float)sqrt(1 - pow(a->beta2, a->step));
    pool_for(cpu->pool, (size_t)((j.n + FLOATS_ONCE - 1) / FLOATS_ONCE), adamw_part, &j);
    return 0;
}

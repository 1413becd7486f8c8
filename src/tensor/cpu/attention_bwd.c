/* attention_bwd.c - gradients of attention, one sequence and head at a time.
 * The probabilities are computed again from the saved log-sum-exp:
 * p = exp(s scale - lse), dv += p^T dout, ds = p (dout v^T - sum(dout out)), dq += scale ds k,
 * dk += scale ds^T q. Clear rather than fast; row sums in double. */
#include "tensor/cpu/cpu.h"

#include <math.h>

struct attention_bwd_job {
    struct cpu *cpu;
    const struct attention_bwd *a;
    int64_t d;
};

static float *at(const struct tensor *t, int64_t row, int64_t col)
{
    return (float *)t->data + row * t->ld + col;
}

static double dot(const float *x, const float *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * y[i];
    return sum;
}

static void add_times(float *y, const float *x, double by, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] += (float)(by * x[i]);
}

static void attend_row_bwd(const struct attention_bwd *a, int64_t d, int64_t head, int64_t row,
                           int64_t key0, int64_t keys)
{
    int64_t c = head * d;
    const float *q = at(&a->q, row, c), *dout = at(&a->dout, row, c);
    double lse = *at(&a->lse, head, row), delta = dot(dout, at(&a->out, row, c), d);
    for (int64_t i = key0; i < key0 + keys; i++) {
        const float *k = at(&a->k, i, c), *v = at(&a->v, i, c);
        double p = exp(dot(q, k, d) * a->scale - lse);
        double ds = p * (dot(dout, v, d) - delta) * a->scale;
        if (a->dv.data) add_times(at(&a->dv, i, c), dout, p, d);
        if (a->dq.data) add_times(at(&a->dq, row, c), k, ds, d);
        if (a->dk.data) add_times(at(&a->dk, i, c), q, ds, d);
    }
}

static void attend_head_bwd(void *arg, size_t index, int worker)
{
    const struct attention_bwd_job *j = arg;
    const struct attention_bwd *a = j->a;
    int64_t seq = (int64_t)index / a->heads, head = (int64_t)index % a->heads;
    int64_t q0 = a->q_at[seq], k0 = a->k_at[seq], tq = a->q_at[seq + 1] - q0,
            tk = a->k_at[seq + 1] - k0;
    (void)worker;
    for (int64_t r = 0; r < tq; r++) {
        int64_t n = a->causal ? r + 1 + tk - tq : tk;
        n = n > tk ? tk : n < 0 ? 0 : n;
        attend_row_bwd(a, j->d, head, q0 + r, k0, n);
    }
}

int cpu_attention_bwd(struct device *dev, const struct attention_bwd *a)
{
    struct attention_bwd_job j = {dev->state, a, tensor_cols(&a->q) / a->heads};
    pool_for(j.cpu->pool, (size_t)a->count * (size_t)a->heads, attend_head_bwd, &j);
    return 0;
}

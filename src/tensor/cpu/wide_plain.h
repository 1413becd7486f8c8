/* wide_plain.h - beside vec_plain.h: sixteen doubles, for sums that a float would spoil, halves and
 * fixed point, in plain C: the definition that the AVX headers must match bit for bit. Products
 * are rounded before they are added. */
#ifndef TENSOR_CPU_WIDE_PLAIN_H
#define TENSOR_CPU_WIDE_PLAIN_H

#include "tensor/cpu/half.h"
#include "tensor/cpu/vec_plain.h"

static inline struct vec vec_load_half(const uint16_t *p, int n) /* zero beyond n */
{
    struct vec r;
    for (int i = 0; i < VEC; i++) r.v[i] = i < n ? half_to_float(p[i]) : 0;
    return r;
}

struct wide {
    double v[VEC];
};

static inline struct wide wide_zero(void)
{
    return (struct wide){{0}};
}

static inline struct wide wide_add_square(struct wide s, struct vec a, struct vec b) /* (a-b)^2 */
{
    for (int i = 0; i < VEC; i++) {
        double d = (double)a.v[i] - (double)b.v[i];
        s.v[i] += d * d;
    }
    return s;
}

static inline struct wide wide_add_product(struct wide s, struct vec a, struct vec b)
{
    for (int i = 0; i < VEC; i++) s.v[i] += (double)a.v[i] * (double)b.v[i];
    return s;
}

static inline double wide_sum(struct wide a)
{
    for (int half = VEC / 2; half; half /= 2)
        for (int i = 0; i < half; i++) a.v[i] += a.v[i + half];
    return a.v[0];
}

/* sum[0..16) += x * scale, rounded to integers. */
static inline void vec_add_fixed(int64_t *sum, struct vec x, double scale)
{
    for (int i = 0; i < VEC; i++) sum[i] += fixed_from(x.v[i], scale);
}

#endif

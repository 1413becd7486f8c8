/* vec_plain.h - sixteen floats in plain C: the definition that the AVX headers must match bit
 * for bit. Every operation rounds once, as IEEE 754 says; sums use one fixed tree. */
#ifndef TENSOR_CPU_VEC_PLAIN_H
#define TENSOR_CPU_VEC_PLAIN_H

#include "tensor/cpu/half.h"

#include <math.h>
#include <string.h>

enum { VEC = 16 };
struct vec {
    float v[VEC];
};

#define VEC_MAP(expr)                              \
    struct vec r;                                  \
    for (int i = 0; i < VEC; i++) r.v[i] = (expr); \
    return r

static inline struct vec vec_load(const float *p)
{
    VEC_MAP(p[i]);
}

static inline struct vec vec_load_n(const float *p, int n) /* zero beyond n */
{
    VEC_MAP(i < n ? p[i] : 0);
}

static inline void vec_store(float *p, struct vec a)
{
    memcpy(p, a.v, sizeof a.v);
}

static inline void vec_store_n(float *p, struct vec a, int n)
{
    memcpy(p, a.v, (size_t)n * sizeof *p);
}

static inline void vec_store_half(uint16_t *p, struct vec a, int n)
{
    for (int i = 0; i < n; i++) p[i] = half_from_float(a.v[i]);
}

static inline struct vec vec_set(float x)
{
    VEC_MAP(x);
}

static inline struct vec vec_add(struct vec a, struct vec b)
{
    VEC_MAP(a.v[i] + b.v[i]);
}

static inline struct vec vec_sub(struct vec a, struct vec b)
{
    VEC_MAP(a.v[i] - b.v[i]);
}

static inline struct vec vec_mul(struct vec a, struct vec b)
{
    VEC_MAP(a.v[i] * b.v[i]);
}

static inline struct vec vec_div(struct vec a, struct vec b)
{
    VEC_MAP(a.v[i] / b.v[i]);
}

static inline struct vec vec_fma(struct vec a, struct vec b, struct vec c) /* a*b + c */
{
    VEC_MAP(fmaf(a.v[i], b.v[i], c.v[i]));
}

/* Of a pair with a NaN both give b, as the x86 instructions do. */
static inline struct vec vec_max(struct vec a, struct vec b)
{
    VEC_MAP(a.v[i] > b.v[i] ? a.v[i] : b.v[i]);
}

static inline struct vec vec_min(struct vec a, struct vec b)
{
    VEC_MAP(a.v[i] < b.v[i] ? a.v[i] : b.v[i]);
}

static inline struct vec vec_abs(struct vec a)
{
    VEC_MAP(fabsf(a.v[i]));
}

static inline struct vec vec_if_less(struct vec a, struct vec b, struct vec yes, struct vec no)
{
    VEC_MAP(a.v[i] < b.v[i] ? yes.v[i] : no.v[i]);
}

static inline struct vec vec_fill_n(struct vec a, int n, struct vec rest) /* rest beyond n */
{
    VEC_MAP(i < n ? a.v[i] : rest.v[i]);
}

/* a * 2^n for integral n in [-160, 160], rounded once. */
static inline struct vec vec_scale(struct vec a, struct vec n)
{
    VEC_MAP(ldexpf(a.v[i], n.v[i] == n.v[i] ? (int)n.v[i] : 0)); /* NaN n: a is NaN too */
}

static inline float vec_sum(struct vec a)
{
    for (int half = VEC / 2; half; half /= 2)
        for (int i = 0; i < half; i++) a.v[i] += a.v[i + half];
    return a.v[0];
}

static inline float vec_most(struct vec a)
{
    for (int half = VEC / 2; half; half /= 2)
        for (int i = 0; i < half; i++) a.v[i] = a.v[i] > a.v[i + half] ? a.v[i] : a.v[i + half];
    return a.v[0];
}

#undef VEC_MAP
#endif

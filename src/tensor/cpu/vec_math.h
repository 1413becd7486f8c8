/* vec_math.h - functions of sixteen floats, written once over `struct vec`; include a vec header
 * first. Approximations are fitted so that their error stays below one float rounding of the
 * result. */
#ifndef TENSOR_CPU_VEC_MATH_H
#define TENSOR_CPU_VEC_MATH_H

#include "tensor/cpu/kernels.h"

/* e^x = 2^n e^r with |r| <= ln2/2; e^r is a polynomial of degree 6, error 3e-9. */
static inline struct vec vec_exp(struct vec x)
{
    const struct vec magic = vec_set(0x1.8p23f); /* adding it rounds to an integer */
    x = vec_min(vec_set(89), vec_max(vec_set(-104), x));
    struct vec n = vec_sub(vec_fma(x, vec_set(0x1.715476p0f), magic), magic);
    struct vec r = vec_fma(n, vec_set(-0x1.62e4p-1f), x); /* ln2 in two parts, n*hi is exact */
    r = vec_fma(n, vec_set(-0x1.7f7d1cp-20f), r);
    struct vec p = vec_set(0x1.6db426p-10f);
    p = vec_fma(p, r, vec_set(0x1.123b56p-7f));
    p = vec_fma(p, r, vec_set(0x1.55545ep-5f));
    p = vec_fma(p, r, vec_set(0x1.55548ep-3f));
    p = vec_fma(p, r, vec_set(0.5f));
    p = vec_fma(vec_mul(r, r), p, r);
    return vec_scale(vec_add(p, vec_set(1)), n);
}

static inline struct vec vec_sigmoid(struct vec x)
{
    struct vec e = vec_exp(vec_sub(vec_set(0), x));
    return vec_div(vec_set(1), vec_add(vec_set(1), e));
}

/* x Phi(x) with Phi(-|x|) = erfc(t)/2, t = |x|/sqrt2. erfc(t) = exp(-t^2 + t p(t)): one formula
 * for every t, no cancellation in the negative tail. p has an error of 2e-9 up to t = 4.2; from
 * there the last value serves, as erfc is below 3e-9. */
static inline struct vec vec_gelu(struct vec x)
{
    struct vec t = vec_mul(vec_abs(x), vec_set(0x1.6a09e6p-1f));
    struct vec u = vec_min(vec_set(4.2f), t);
    struct vec p = vec_set(8.043826710490976e-06f);
    p = vec_fma(p, u, vec_set(-0.00010602669499348849f));
    p = vec_fma(p, u, vec_set(0.0005879508680664003f));
    p = vec_fma(p, u, vec_set(-0.0015767605509608984f));
    p = vec_fma(p, u, vec_set(5.878202500753105e-05f));
    p = vec_fma(p, u, vec_set(0.019217142835259438f));
    p = vec_fma(p, u, vec_set(-0.10279920697212219f));
    p = vec_fma(p, u, vec_set(0.3633838891983032f));
    p = vec_fma(p, u, vec_set(-1.1283793449401855f));
    struct vec e = vec_exp(vec_fma(p, u, vec_sub(vec_set(0), vec_mul(t, t))));
    struct vec tail = vec_mul(vec_set(0.5f), e);
    struct vec phi = vec_if_less(x, vec_set(0), tail, vec_sub(vec_set(1), tail));
    return vec_mul(x, phi);
}

static inline struct vec vec_act(struct vec x, enum act act)
{
    switch (act) {
    case ACT_NONE: return x;
    case ACT_GELU: return vec_gelu(x);
    case ACT_QUICK_GELU: return vec_mul(x, vec_sigmoid(vec_mul(vec_set(1.702f), x)));
    case ACT_RELU: return vec_max(vec_set(0), x); /* NaN stays NaN */
    case ACT_SILU: return vec_mul(x, vec_sigmoid(x));
    case ACT_SIGMOID: return vec_sigmoid(x);
    }
    return x;
}

/* Lanes in use at i of n. */
static inline int part(int64_t i, int64_t n)
{
    return n - i < VEC ? (int)(n - i) : VEC;
}

#endif

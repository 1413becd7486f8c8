/* vec_avx512.h - sixteen floats in one AVX-512 register.
 * Bit for bit what vec_plain.h defines. */
#ifndef TENSOR_CPU_VEC_AVX512_H
#define TENSOR_CPU_VEC_AVX512_H

#include "base/platform.h"

#include <immintrin.h>
#include <string.h>

enum { VEC = 16 };
struct vec {
    __m512 v;
};

static inline __mmask16 vec_mask(int n)
{
    return (__mmask16)((1u << n) - 1);
}

static inline struct vec vec_load(const float *p)
{
    return (struct vec){_mm512_loadu_ps(p)};
}

static inline struct vec vec_load_n(const float *p, int n)
{
    if (__builtin_constant_p(n) && n == VEC) return vec_load(p);
    return (struct vec){_mm512_maskz_loadu_ps(vec_mask(n), p)};
}

static inline void vec_store(float *p, struct vec a)
{
    _mm512_storeu_ps(p, a.v);
}

static inline void vec_store_n(float *p, struct vec a, int n)
{
    if (__builtin_constant_p(n) && n == VEC)
        vec_store(p, a);
    else
        _mm512_mask_storeu_ps(p, vec_mask(n), a.v);
}

static inline void vec_store_half(uint16_t *p, struct vec a, int n)
{
    __m256i h = _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm256_mask_storeu_epi16(p, vec_mask(n), h);
}

static inline struct vec vec_set(float x)
{
    return (struct vec){_mm512_set1_ps(x)};
}

static inline struct vec vec_add(struct vec a, struct vec b)
{
    return (struct vec){_mm512_add_ps(a.v, b.v)};
}

static inline struct vec vec_sub(struct vec a, struct vec b)
{
    return (struct vec){_mm512_sub_ps(a.v, b.v)};
}

static inline struct vec vec_mul(struct vec a, struct vec b)
{
    return (struct vec){_mm512_mul_ps(a.v, b.v)};
}

static inline struct vec vec_div(struct vec a, struct vec b)
{
    return (struct vec){_mm512_div_ps(a.v, b.v)};
}

static inline struct vec vec_fma(struct vec a, struct vec b, struct vec c)
{
    return (struct vec){_mm512_fmadd_ps(a.v, b.v, c.v)};
}

static inline struct vec vec_max(struct vec a, struct vec b)
{
    return (struct vec){_mm512_max_ps(a.v, b.v)};
}

static inline struct vec vec_min(struct vec a, struct vec b)
{
    return (struct vec){_mm512_min_ps(a.v, b.v)};
}

static inline struct vec vec_abs(struct vec a)
{
    return (struct vec){_mm512_abs_ps(a.v)};
}

static inline struct vec vec_if_less(struct vec a, struct vec b, struct vec yes, struct vec no)
{
    __mmask16 less = _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ);
    return (struct vec){_mm512_mask_blend_ps(less, no.v, yes.v)};
}

static inline struct vec vec_fill_n(struct vec a, int n, struct vec rest)
{
    return (struct vec){_mm512_mask_blend_ps(vec_mask(n), rest.v, a.v)};
}

static inline struct vec vec_scale(struct vec a, struct vec n)
{
    return (struct vec){_mm512_scalef_ps(a.v, n.v)};
}

static inline float vec_sum(struct vec a)
{
    __m256 x = _mm256_add_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}

static inline float vec_most(struct vec a)
{
    __m256 x = _mm256_max_ps(_mm512_castps512_ps256(a.v), _mm512_extractf32x8_ps(a.v, 1));
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_shuffle_ps(y, y, 1)));
}

#endif

/* vec_avx2.h - sixteen floats in two AVX registers.
 * Bit for bit what vec_plain.h defines. */
#ifndef TENSOR_CPU_VEC_AVX2_H
#define TENSOR_CPU_VEC_AVX2_H

#include "base/platform.h"

#include <immintrin.h>
#include <string.h>

enum { VEC = 16 };
struct vec {
    __m256 lo, hi;
};

static inline __m256i vec_mask(int n) /* the first n of eight, n may be beyond either end */
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline struct vec vec_load(const float *p)
{
    return (struct vec){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)};
}

static inline struct vec vec_load_n(const float *p, int n)
{
    if (n == VEC) return vec_load(p);
    return (struct vec){_mm256_maskload_ps(p, vec_mask(n)),
                        _mm256_maskload_ps(p + 8, vec_mask(n - 8))};
}

static inline void vec_store(float *p, struct vec a)
{
    _mm256_storeu_ps(p, a.lo);
    _mm256_storeu_ps(p + 8, a.hi);
}

static inline void vec_store_n(float *p, struct vec a, int n)
{
    if (n == VEC) {
        vec_store(p, a);
        return;
    }
    _mm256_maskstore_ps(p, vec_mask(n), a.lo);
    _mm256_maskstore_ps(p + 8, vec_mask(n - 8), a.hi);
}

static inline void vec_store_half(uint16_t *p, struct vec a, int n)
{
    uint16_t h[VEC];
    _mm_storeu_si128((__m128i *)h, _mm256_cvtps_ph(a.lo, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128((__m128i *)(h + 8), _mm256_cvtps_ph(a.hi, _MM_FROUND_TO_NEAREST_INT));
    memcpy(p, h, (size_t)n * sizeof *p);
}

static inline struct vec vec_set(float x)
{
    return (struct vec){_mm256_set1_ps(x), _mm256_set1_ps(x)};
}

static inline struct vec vec_add(struct vec a, struct vec b)
{
    return (struct vec){_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)};
}

static inline struct vec vec_sub(struct vec a, struct vec b)
{
    return (struct vec){_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)};
}

static inline struct vec vec_mul(struct vec a, struct vec b)
{
    return (struct vec){_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)};
}

static inline struct vec vec_div(struct vec a, struct vec b)
{
    return (struct vec){_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)};
}

static inline struct vec vec_max(struct vec a, struct vec b)
{
    return (struct vec){_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)};
}

static inline struct vec vec_min(struct vec a, struct vec b)
{
    return (struct vec){_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)};
}

static inline struct vec vec_fma(struct vec a, struct vec b, struct vec c)
{
    return (struct vec){_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}

static inline struct vec vec_abs(struct vec a)
{
    __m256 sign = _mm256_set1_ps(-0.0f);
    return (struct vec){_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}

static inline struct vec vec_if_less(struct vec a, struct vec b, struct vec yes, struct vec no)
{
    return (struct vec){_mm256_blendv_ps(no.lo, yes.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
                        _mm256_blendv_ps(no.hi, yes.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
}

static inline struct vec vec_fill_n(struct vec a, int n, struct vec rest)
{
    __m256 lo = _mm256_castsi256_ps(vec_mask(n)), hi = _mm256_castsi256_ps(vec_mask(n - 8));
    return (struct vec){_mm256_blendv_ps(rest.lo, a.lo, lo), _mm256_blendv_ps(rest.hi, a.hi, hi)};
}

static inline __m256 vec_power(__m256i n) /* 2^n, n in the range of normal floats */
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}

static inline __m256 vec_scale_half(__m256 a, __m256 n) /* two steps: 2^n itself may be no float */
{
    __m256i i = _mm256_cvtps_epi32(n), h = _mm256_srai_epi32(i, 1);
    return _mm256_mul_ps(_mm256_mul_ps(a, vec_power(h)), vec_power(_mm256_sub_epi32(i, h)));
}

static inline struct vec vec_scale(struct vec a, struct vec n)
{
    return (struct vec){vec_scale_half(a.lo, n.lo), vec_scale_half(a.hi, n.hi)};
}

static inline float vec_sum(struct vec a)
{
    __m256 x = _mm256_add_ps(a.lo, a.hi);
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
}

static inline float vec_most(struct vec a)
{
    __m256 x = _mm256_max_ps(a.lo, a.hi);
    __m128 y = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_shuffle_ps(y, y, 1)));
}

#endif

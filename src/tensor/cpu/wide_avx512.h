/* wide_avx512.h - beside vec_avx512.h: sixteen doubles, halves and fixed point in AVX-512
 * registers. Bit for bit what wide_plain.h defines. */
#ifndef TENSOR_CPU_WIDE_AVX512_H
#define TENSOR_CPU_WIDE_AVX512_H

#include "tensor/cpu/half.h"
#include "tensor/cpu/vec_avx512.h"

static inline struct vec vec_load_half(const uint16_t *p, int n)
{
    return (struct vec){_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(vec_mask(n), p))};
}

struct wide {
    __m512d lo, hi;
};

static inline struct wide wide_of(struct vec a)
{
    return (struct wide){_mm512_cvtps_pd(_mm512_castps512_ps256(a.v)),
                         _mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1))};
}

static inline struct wide wide_zero(void)
{
    return (struct wide){_mm512_setzero_pd(), _mm512_setzero_pd()};
}

static inline struct wide wide_add_square(struct wide s, struct vec a, struct vec b)
{
    struct wide x = wide_of(a), y = wide_of(b);
    __m512d lo = _mm512_sub_pd(x.lo, y.lo), hi = _mm512_sub_pd(x.hi, y.hi);
    return (struct wide){_mm512_add_pd(s.lo, _mm512_mul_pd(lo, lo)),
                         _mm512_add_pd(s.hi, _mm512_mul_pd(hi, hi))};
}

static inline struct wide wide_add_product(struct wide s, struct vec a, struct vec b)
{
    struct wide x = wide_of(a), y = wide_of(b);
    return (struct wide){_mm512_add_pd(s.lo, _mm512_mul_pd(x.lo, y.lo)),
                         _mm512_add_pd(s.hi, _mm512_mul_pd(x.hi, y.hi))};
}

static inline double wide_sum(struct wide a)
{
    __m512d x = _mm512_add_pd(a.lo, a.hi);
    __m256d y = _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
    __m128d z = _mm_add_pd(_mm256_castpd256_pd128(y), _mm256_extractf128_pd(y, 1));
    return _mm_cvtsd_f64(_mm_add_sd(z, _mm_unpackhi_pd(z, z)));
}

static inline void vec_add_fixed(int64_t *sum, struct vec x, double scale)
{
    const __m512d magic = _mm512_set1_pd(FIXED_MAGIC), by = _mm512_set1_pd(scale);
    const __m512i zero = _mm512_castpd_si512(magic);
    struct wide w = wide_of(x);
    __m512i lo = _mm512_castpd_si512(_mm512_add_pd(_mm512_mul_pd(w.lo, by), magic));
    __m512i hi = _mm512_castpd_si512(_mm512_add_pd(_mm512_mul_pd(w.hi, by), magic));
    lo = _mm512_add_epi64(_mm512_sub_epi64(lo, zero), _mm512_loadu_si512(sum));
    hi = _mm512_add_epi64(_mm512_sub_epi64(hi, zero), _mm512_loadu_si512(sum + 8));
    _mm512_storeu_si512(sum, lo);
    _mm512_storeu_si512(sum + 8, hi);
}

#endif

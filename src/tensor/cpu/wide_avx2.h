/* wide_avx2.h - beside vec_avx2.h: sixteen doubles, halves and fixed point in AVX2 registers.
 * Bit for bit what wide_plain.h defines. */
#ifndef TENSOR_CPU_WIDE_AVX2_H
#define TENSOR_CPU_WIDE_AVX2_H

#include "tensor/cpu/half.h"
#include "tensor/cpu/vec_avx2.h"

static inline struct vec vec_load_half(const uint16_t *p, int n)
{
    uint16_t h[VEC] = {0};
    if (n < VEC) {
        memcpy(h, p, (size_t)n * sizeof *h);
        p = h;
    }
    return (struct vec){_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)),
                        _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(p + 8)))};
}

struct wide {
    __m256d v[4];
};

static inline struct wide wide_of(struct vec a)
{
    return (struct wide){{_mm256_cvtps_pd(_mm256_castps256_ps128(a.lo)),
                          _mm256_cvtps_pd(_mm256_extractf128_ps(a.lo, 1)),
                          _mm256_cvtps_pd(_mm256_castps256_ps128(a.hi)),
                          _mm256_cvtps_pd(_mm256_extractf128_ps(a.hi, 1))}};
}

static inline struct wide wide_zero(void)
{
    __m256d z = _mm256_setzero_pd();
    return (struct wide){{z, z, z, z}};
}

static inline struct wide wide_add_square(struct wide s, struct vec a, struct vec b)
{
    struct wide x = wide_of(a), y = wide_of(b);
    for (int i = 0; i < 4; i++) {
        __m256d d = _mm256_sub_pd(x.v[i], y.v[i]);
        s.v[i] = _mm256_add_pd(s.v[i], _mm256_mul_pd(d, d));
    }
    return s;
}

static inline struct wide wide_add_product(struct wide s, struct vec a, struct vec b)
{
    struct wide x = wide_of(a), y = wide_of(b);
    for (int i = 0; i < 4; i++) s.v[i] = _mm256_add_pd(s.v[i], _mm256_mul_pd(x.v[i], y.v[i]));
    return s;
}

static inline double wide_sum(struct wide a)
{
    __m256d y = _mm256_add_pd(_mm256_add_pd(a.v[0], a.v[2]), _mm256_add_pd(a.v[1], a.v[3]));
    __m128d z = _mm_add_pd(_mm256_castpd256_pd128(y), _mm256_extractf128_pd(y, 1));
    return _mm_cvtsd_f64(_mm_add_sd(z, _mm_unpackhi_pd(z, z)));
}

static inline void vec_add_fixed(int64_t *sum, struct vec x, double scale)
{
    const __m256d magic = _mm256_set1_pd(FIXED_MAGIC), by = _mm256_set1_pd(scale);
    const __m256i zero = _mm256_castpd_si256(magic);
    struct wide w = wide_of(x);
    for (int i = 0; i < 4; i++) {
        __m256i *at = (__m256i *)(sum + 4 * i);
        __m256i q = _mm256_castpd_si256(_mm256_add_pd(_mm256_mul_pd(w.v[i], by), magic));
        _mm256_storeu_si256(at,
                            _mm256_add_epi64(_mm256_sub_epi64(q, zero), _mm256_loadu_si256(at)));
    }
}

#endif

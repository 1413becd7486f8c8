/* idct_avx2.c - two blocks at once. */
#include "image/jpeg/kernels.h"

#include <immintrin.h>

#define V       __m256i
#define I(name) _mm256_##name
#define ZERO    _mm256_setzero_si256()
#define LANES   2
#define LOAD_ROW(p)                                                                  \
    _mm256_inserti128_si256(                                                         \
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(p))), \
        _mm_loadu_si128((const __m128i *)(const void *)((p) + 64)), 1)
#define SPREAD_ROW(p) \
    _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define AND(a, b)                    _mm256_and_si256(a, b)
#define OR(a, b)                     _mm256_or_si256(a, b)
#define ANY(x)                       (!_mm256_testz_si256(x, x))
#define STORE_TWO_ROWS(p, stride, x) store_two_rows(p, stride, x)

static inline void store_two_rows(uint8_t *p, size_t stride, __m256i x)
{
    x = _mm256_permute4x64_epi64(x, 0xd8);
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(x));
    _mm_storeu_si128((__m128i *)(void *)(p + stride), _mm256_extracti128_si256(x, 1));
}

#include "image/jpeg/idct_lanes.h"

void idct_avx2(uint8_t *out, size_t stride, const int16_t *coefs, const int16_t *quant, int blocks)
{
    for (int i = 0; i < blocks; i += LANES)
        idct_group(out + 8 * i, stride, coefs + 64 * (size_t)i, quant);
}

/* idct_avx512.c - four blocks at once; and blocks into natural order by one permutation each half.
 */
#include "image/jpeg/kernels.h"
#include "image/jpeg/frame.h"

#include <immintrin.h>

#define V                            __m512i
#define I(name)                      _mm512_##name
#define ZERO                         _mm512_setzero_si512()
#define LANES                        4
#define LOAD_ROW(p)                  load_row(p)
#define SPREAD_ROW(p)                _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define AND(a, b)                    _mm512_and_si512(a, b)
#define OR(a, b)                     _mm512_or_si512(a, b)
#define ANY(x)                       _mm512_test_epi16_mask(x, x)
#define STORE_TWO_ROWS(p, stride, x) store_two_rows(p, stride, x)

static inline __m128i load_quarter(const int16_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

static inline __m512i load_row(const int16_t *p)
{
    __m512i x = _mm512_castsi128_si512(load_quarter(p));
    x = _mm512_inserti32x4(x, load_quarter(p + 64), 1);
    x = _mm512_inserti32x4(x, load_quarter(p + 128), 2);
    return _mm512_inserti32x4(x, load_quarter(p + 192), 3);
}

static inline void store_two_rows(uint8_t *p, size_t stride, __m512i x)
{
    x = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), x);
    _mm256_storeu_si256((__m256i *)(void *)p, _mm512_castsi512_si256(x));
    _mm256_storeu_si256((__m256i *)(void *)(p + stride), _mm512_extracti64x4_epi64(x, 1));
}

#include "image/jpeg/idct_lanes.h"

void idct_avx512(uint8_t *out, size_t stride, const int16_t *coefs, const int16_t *quant,
                 int blocks)
{
    for (int i = 0; i < blocks; i += LANES)
        idct_group(out + 8 * i, stride, coefs + 64 * (size_t)i, quant);
}

void natural_avx512(int16_t *out, const int16_t *in, int blocks)
{
    int16_t from[BLOCK];
    for (int k = 0; k < BLOCK; k++) from[frame_order[k]] = (int16_t)(BLOCK - 1 - k);
    __m512i upper = _mm512_loadu_si512(from), lower = _mm512_loadu_si512(from + 32);
    for (int i = 0; i < blocks; i++, out += BLOCK, in += BLOCK) {
        __m512i a = _mm512_loadu_si512(in), b = _mm512_loadu_si512(in + 32);
        _mm512_storeu_si512(out, _mm512_permutex2var_epi16(a, upper, b));
        _mm512_storeu_si512(out + 32, _mm512_permutex2var_epi16(a, lower, b));
    }
}

/* kernels_avx512.c - 64 samples at a time. */
#include "image/jpeg/kernels.h"

#include <immintrin.h>

#define V        __m512i
#define I(name)  _mm512_##name
#define OR(a, b) _mm512_or_si512(a, b)
#define SAMPLES  64
#define LOAD(p)  _mm512_loadu_si512(p)
#define WORDS(p) _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(p)))

static void store(uint8_t *p, __m512i x)
{
    _mm512_storeu_si512(p, x);
}

/* The lower and upper halves of each lane. */
static void store_words(uint8_t *p, __m512i lo, __m512i hi)
{
    const __m512i left = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i right = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    store(p, _mm512_permutex2var_epi64(lo, left, hi));
    store(p + 64, _mm512_permutex2var_epi64(lo, right, hi));
}

#include "image/jpeg/kernels_lanes.h"

const struct jpeg_kernels jpeg_avx512 = {idct_avx512, natural_avx512, wider, wider_higher,
                                         higher,      colour,         grey};

/* kernels_avx2.c - 32 samples at a time. */
#include "image/jpeg/kernels.h"

#include <immintrin.h>

#define V        __m256i
#define I(name)  _mm256_##name
#define OR(a, b) _mm256_or_si256(a, b)
#define SAMPLES  32
#define LOAD(p)  _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define WORDS(p) _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)(p)))

static void store(uint8_t *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}

/* The lower and upper halves of each lane. */
static void store_words(uint8_t *p, __m256i lo, __m256i hi)
{
    store(p, _mm256_permute2x128_si256(lo, hi, 0x20));
    store(p + 32, _mm256_permute2x128_si256(lo, hi, 0x31));
}

#include "image/jpeg/kernels_lanes.h"

const struct jpeg_kernels jpeg_avx2 = {idct_avx2, natural_plain, wider, wider_higher,
                                       higher,    colour,        grey};

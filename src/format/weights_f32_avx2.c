/* weights_f32_avx2.c - eight halves an instruction; twice the plain loop, then memory is
 * the limit. */
#include "format/weights_f32.h"

#include <immintrin.h>

void f16_read_avx2(float *dst, const void *src, size_t n)
{
    const unsigned char *p = src;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m128i h = _mm_loadu_si128((const __m128i *)(const void *)(p + 2 * i));
        _mm256_storeu_ps(dst + i, _mm256_cvtph_ps(h));
    }
    f16_read_plain(dst + i, p + 2 * i, n - i);
}

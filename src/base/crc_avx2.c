/* crc_avx2.c - CRC-32 by carry-less multiplication, some ten times zlib's rate.
 * Sixteen bytes are a polynomial; multiplying it by x^d mod P moves it d bits on without changing
 * the remainder of the whole, so four lanes are folded forward 64 bytes at a time until sixteen
 * bytes are left that have the same CRC as everything before them. After Gopal et al., "Fast CRC
 * Computation for Generic Polynomials Using PCLMULQDQ" (Intel, 2009). */
#include "base/crc.h"

#include <immintrin.h>

#define CLMUL __attribute__((target("pclmul")))

static inline __m128i load(const unsigned char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* x moved on by the distance of k, plus next. */
CLMUL static inline __m128i fold(__m128i x, __m128i k, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(x, k, 0x00), high = _mm_clmulepi64_si128(x, k, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

CLMUL size_t crc_fold(unsigned char out[16], uint32_t state, const unsigned char *p, size_t n)
{
    const __m128i by64 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4); /* x^(512-32), x^(512+32) */
    const __m128i by16 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0); /* x^(128-32), x^(128+32) */
    const unsigned char *start = p;
    __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int)state));
    __m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);
    for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
        a = fold(a, by64, load(p));
        b = fold(b, by64, load(p + 16));
        c = fold(c, by64, load(p + 32));
        d = fold(d, by64, load(p + 48));
    }
    a = fold(fold(fold(a, by16, b), by16, c), by16, d);
    _mm_storeu_si128((__m128i *)(void *)out, a);
    return (size_t)(p - start);
}

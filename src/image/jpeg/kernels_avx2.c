/* kernels_avx2.c - 32 samples or 16 pixels at a time.
 * Sums of weighted samples fit 16 bits. The colour factors are split into a whole part and a
 * fraction below one half, so that `mulhi` of twice the difference, plus one, halved, is the
 * rounded product; green takes both factors in one `madd`. */
#include "image/jpeg/kernels.h"

#include <immintrin.h>

static __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static void store(uint8_t *p, __m256i x)
{
    _mm256_storeu_si256((__m256i *)(void *)p, x);
}

/* Words of the samples 0-7, 16-23 and 8-15, 24-31 of 32: store them in order. */
static void store_words(uint8_t *p, __m256i lo, __m256i hi)
{
    store(p, _mm256_permute2x128_si256(lo, hi, 0x20));
    store(p + 32, _mm256_permute2x128_si256(lo, hi, 0x31));
}

/* 3a + b of bytes, as words. */
static __m256i blend_lo(__m256i a, __m256i b)
{
    return _mm256_maddubs_epi16(_mm256_unpacklo_epi8(a, b), _mm256_set1_epi16(0x0103));
}

static __m256i blend_hi(__m256i a, __m256i b)
{
    return _mm256_maddubs_epi16(_mm256_unpackhi_epi8(a, b), _mm256_set1_epi16(0x0103));
}

/* Two bytes of output from the words of each. */
static __m256i join(__m256i even, __m256i odd, const int shift)
{
    return _mm256_or_si256(_mm256_srli_epi16(even, shift),
                           _mm256_slli_epi16(_mm256_srli_epi16(odd, shift), 8));
}

static void wider_avx2(uint8_t *out, const uint8_t *in, int n)
{
    __m256i one = _mm256_set1_epi16(1), two = _mm256_set1_epi16(2);
    for (int i = 0; i < n; i += 32) {
        __m256i before = load(in + i - 1), here = load(in + i), after = load(in + i + 1);
        __m256i lo = join(_mm256_add_epi16(blend_lo(here, before), one),
                          _mm256_add_epi16(blend_lo(here, after), two), 2);
        __m256i hi = join(_mm256_add_epi16(blend_hi(here, before), one),
                          _mm256_add_epi16(blend_hi(here, after), two), 2);
        store_words(out + 2 * i, lo, hi);
    }
}

static __m256i blend_columns(__m256i before, __m256i here, __m256i after)
{
    __m256i three = _mm256_add_epi16(here, _mm256_slli_epi16(here, 1));
    return join(_mm256_add_epi16(_mm256_add_epi16(three, before), _mm256_set1_epi16(8)),
                _mm256_add_epi16(_mm256_add_epi16(three, after), _mm256_set1_epi16(7)), 4);
}

static void wider_higher_avx2(uint8_t *out, const uint8_t *near, const uint8_t *far, int n)
{
    for (int i = 0; i < n; i += 32) {
        __m256i n0 = load(near + i - 1), f0 = load(far + i - 1);
        __m256i n1 = load(near + i), f1 = load(far + i);
        __m256i n2 = load(near + i + 1), f2 = load(far + i + 1);
        __m256i lo = blend_columns(blend_lo(n0, f0), blend_lo(n1, f1), blend_lo(n2, f2));
        __m256i hi = blend_columns(blend_hi(n0, f0), blend_hi(n1, f1), blend_hi(n2, f2));
        store_words(out + 2 * i, lo, hi);
    }
}

static void higher_avx2(uint8_t *out, const uint8_t *near, const uint8_t *far, int bias, int n)
{
    __m256i add = _mm256_set1_epi16((short)bias);
    for (int i = 0; i < n; i += 32) {
        __m256i a = load(near + i), b = load(far + i);
        __m256i lo = _mm256_srli_epi16(_mm256_add_epi16(blend_lo(a, b), add), 2);
        __m256i hi = _mm256_srli_epi16(_mm256_add_epi16(blend_hi(a, b), add), 2);
        store(out + i, _mm256_packus_epi16(lo, hi));
    }
}

static __m256i words(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* x * factor / 65536, rounded, for |factor| < 32768. */
static __m256i part(__m256i x, int factor)
{
    __m256i high = _mm256_mulhi_epi16(_mm256_add_epi16(x, x), _mm256_set1_epi16((short)factor));
    return _mm256_srai_epi16(_mm256_add_epi16(high, _mm256_set1_epi16(1)), 1);
}

static __m256i green(__m256i cb, __m256i cr)
{
    __m256i factors = _mm256_set1_epi32((int)((uint32_t)(uint16_t)-22554 | 18734u << 16));
    __m256i half = _mm256_set1_epi32(32768);
    __m256i lo = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), factors);
    __m256i hi = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), factors);
    lo = _mm256_srai_epi32(_mm256_add_epi32(lo, half), 16);
    hi = _mm256_srai_epi32(_mm256_add_epi32(hi, half), 16);
    return _mm256_sub_epi16(_mm256_packs_epi32(lo, hi), cr);
}

static void colour_avx2(uint8_t *rgbx, const uint8_t *y, const uint8_t *cb, const uint8_t *cr,
                        int n)
{
    __m256i centre = _mm256_set1_epi16(128), full = _mm256_set1_epi16(255);
    for (int i = 0; i < n; i += 16) {
        __m256i l = words(y + i);
        __m256i b = _mm256_sub_epi16(words(cb + i), centre);
        __m256i r = _mm256_sub_epi16(words(cr + i), centre);
        __m256i red = _mm256_add_epi16(_mm256_add_epi16(l, r), part(r, 26345));
        __m256i blue =
            _mm256_add_epi16(_mm256_add_epi16(l, _mm256_add_epi16(b, b)), part(b, -14942));
        __m256i rb = _mm256_packus_epi16(red, blue);
        __m256i gx = _mm256_packus_epi16(_mm256_add_epi16(l, green(b, r)), full);
        __m256i rg = _mm256_unpacklo_epi8(rb, gx), bx = _mm256_unpackhi_epi8(rb, gx);
        store_words(rgbx + 4 * i, _mm256_unpacklo_epi16(rg, bx), _mm256_unpackhi_epi16(rg, bx));
    }
}

static void grey_avx2(uint8_t *rgbx, const uint8_t *y, int n)
{
    __m256i full = _mm256_set1_epi32((int)0xff000000), spread = _mm256_set1_epi32(0x010101);
    for (int i = 0; i < n; i += 8) {
        __m128i p = _mm_loadl_epi64((const __m128i *)(const void *)(y + i));
        __m256i x = _mm256_mullo_epi32(_mm256_cvtepu8_epi32(p), spread);
        store(rgbx + 4 * i, _mm256_or_si256(x, full));
    }
}

const struct jpeg_kernels jpeg_avx2 = {idct_avx2,   natural_plain, wider_avx2, wider_higher_avx2,
                                       higher_avx2, colour_avx2,   grey_avx2};
const struct jpeg_kernels jpeg_avx512 = {idct_avx512, natural_avx512, wider_avx2, wider_higher_avx2,
                                         higher_avx2, colour_avx2,    grey_avx2};

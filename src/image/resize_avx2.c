/* resize_avx2.c - the inner loops of resize.c, 256 bits at a time: eight taps of one row across,
 * 32 bytes of a row down. Loops over registers are written out: the compiler would keep arrays of
 * them in memory. */
#include "image/resize.h"

#include <immintrin.h>

#define PAIRS_01 0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1
#define PAIRS_23 8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1

/* Sum over the taps of one output pixel; each half of the result holds a part of it. One half of a
 * unit, for rounding, is in there already. */
static inline __attribute__((always_inline)) __m256i pixel_sum(const uint8_t *p, const uint32_t *k,
                                                               int blocks)
{
    const __m256i first = _mm256_setr_epi8(PAIRS_01, PAIRS_01);
    const __m256i second = _mm256_setr_epi8(PAIRS_23, PAIRS_23);
    __m256i high = _mm256_setzero_si256(), low = _mm256_set1_epi32(1 << (RESIZE_BITS - 2));
    for (int b = 0; b < blocks; b++, p += 32, k += 32) {
        const __m256i *w = (const __m256i *)k;
        __m256i px = _mm256_loadu_si256((const __m256i *)p);
        __m256i u = _mm256_shuffle_epi8(px, first), v = _mm256_shuffle_epi8(px, second);
        high = _mm256_add_epi32(
            high, _mm256_add_epi32(_mm256_madd_epi16(u, w[0]), _mm256_madd_epi16(v, w[2])));
        low = _mm256_add_epi32(
            low, _mm256_add_epi32(_mm256_madd_epi16(u, w[1]), _mm256_madd_epi16(v, w[3])));
    }
    return _mm256_add_epi32(_mm256_slli_epi32(high, 15), low);
}

/* Add the halves of two sums: one pixel in each half. */
static inline __m256i two_pixels(__m256i a, __m256i b)
{
    __m256i sum = _mm256_add_epi32(_mm256_permute2x128_si256(a, b, 0x20),
                                   _mm256_permute2x128_si256(a, b, 0x31));
    return _mm256_srai_epi32(sum, RESIZE_BITS);
}

/* Four output pixels of one row. */
static inline __attribute__((always_inline)) void four_pixels(uint8_t *out, const uint8_t *in,
                                                              const int *from, const uint32_t *k,
                                                              int blocks)
{
    size_t step = 32 * (size_t)blocks;
    __m256i a = pixel_sum(in + 4 * (size_t)from[0], k, blocks);
    __m256i b = pixel_sum(in + 4 * (size_t)from[1], k + step, blocks);
    __m256i c = pixel_sum(in + 4 * (size_t)from[2], k + 2 * step, blocks);
    __m256i d = pixel_sum(in + 4 * (size_t)from[3], k + 3 * step, blocks);
    __m256i words = _mm256_packs_epi32(two_pixels(a, b), two_pixels(c, d)); /* a c | b d */
    __m256i bytes = _mm256_packus_epi16(words, words);
    __m128i even = _mm256_castsi256_si128(bytes), odd = _mm256_extracti128_si256(bytes, 1);
    _mm_storeu_si128((__m128i *)out, _mm_unpacklo_epi32(even, odd));
}

static inline __attribute__((always_inline)) void rows_across(uint8_t *const *out,
                                                              const uint8_t *const *in,
                                                              const struct axis *x, int blocks)
{
    for (int o = 0; o < x->count; o += 4)
        for (int r = 0; r < RESIZE_BATCH; r++)
            four_pixels(out[r] + 4 * (size_t)o, in[r], x->from + o,
                        x->pack + 32 * (size_t)blocks * (size_t)o, blocks);
}

static void across_avx2(uint8_t *const *out, const uint8_t *const *in, const struct axis *x,
                        uint8_t *scratch)
{
    (void)scratch;
    if (x->blocks == 1)
        rows_across(out, in, x, 1);
    else if (x->blocks == 2)
        rows_across(out, in, x, 2);
    else
        rows_across(out, in, x, x->blocks);
}

static inline __m256i finish(__m256i high, __m256i low)
{
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(high, 15), low), RESIZE_BITS);
}

/* 16 bytes of one output row. */
static inline __m256i words_down(const uint8_t *const *rows, const uint32_t *pair, int pairs, int i)
{
    __m256i h0 = _mm256_setzero_si256(), h1 = h0;
    __m256i l0 = _mm256_set1_epi32(1 << (RESIZE_BITS - 1)), l1 = l0;
    for (int t = 0; t < pairs; t++) {
        __m256i a = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(rows[2 * t] + i)));
        __m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(rows[2 * t + 1] + i)));
        __m256i kh = _mm256_set1_epi32((int)pair[2 * t]);
        __m256i kl = _mm256_set1_epi32((int)pair[2 * t + 1]);
        __m256i u = _mm256_unpacklo_epi16(a, b), v = _mm256_unpackhi_epi16(a, b);
        h0 = _mm256_add_epi32(h0, _mm256_madd_epi16(u, kh));
        h1 = _mm256_add_epi32(h1, _mm256_madd_epi16(v, kh));
        l0 = _mm256_add_epi32(l0, _mm256_madd_epi16(u, kl));
        l1 = _mm256_add_epi32(l1, _mm256_madd_epi16(v, kl));
    }
    return _mm256_packs_epi32(finish(h0, l0), finish(h1, l1));
}

static void down_avx2(uint8_t *out, const uint8_t *const *rows, const struct axis *y, int o,
                      int bytes)
{
    const uint32_t *pair = y->pack + 2 * (size_t)o * (size_t)y->groups;
    for (int i = 0; i < bytes; i += 32) {
        __m256i a = words_down(rows, pair, y->groups, i);
        __m256i b = words_down(rows, pair, y->groups, i + 16);
        __m256i mixed = _mm256_packus_epi16(a, b);
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_permute4x64_epi64(mixed, 0xd8));
    }
}

/* Eight pixels at a time; the store is 32 bytes for 24, so the last ones go one by one. */
void resize_drop_avx2(uint8_t *rgb, const uint8_t *rgbx, int n)
{
    const __m256i drop = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0,
                                          1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    const __m256i close = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    int i = 0;
    for (; n - i >= 11; i += 8) {
        __m256i px = _mm256_loadu_si256((const __m256i *)(rgbx + 4 * (size_t)i));
        px = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(px, drop), close);
        _mm256_storeu_si256((__m256i *)(rgb + 3 * (size_t)i), px);
    }
    resize_plain.drop(rgb + 3 * (size_t)i, rgbx + 4 * (size_t)i, n - i);
}

const struct resize_kernels resize_avx2 = {2, 2, 1, across_avx2, down_avx2, resize_drop_avx2};

/* resize_avx2.c - the inner loops of resize.c, 256 bits at a time: eight pixels of a row. */
#include "image/resize.h"

#include <immintrin.h>
#include <string.h>

#define PAIRS_01 0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1
#define PAIRS_23 8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1

/* Sum over the taps of one output pixel: four channels, not yet rounded. */
static inline __m128i pixel_sum(const uint8_t *p, const int16_t *k, int blocks)
{
    const __m256i first = _mm256_setr_epi8(PAIRS_01, PAIRS_01);
    const __m256i second = _mm256_setr_epi8(PAIRS_23, PAIRS_23);
    __m256i high = _mm256_setzero_si256(), low = high;
    for (int b = 0; b < blocks; b++, p += 32, k += 64) {
        const __m256i *w = (const __m256i *)k;
        __m256i px = _mm256_loadu_si256((const __m256i *)p);
        __m256i u = _mm256_shuffle_epi8(px, first), v = _mm256_shuffle_epi8(px, second);
        high = _mm256_add_epi32(
            high, _mm256_add_epi32(_mm256_madd_epi16(u, w[0]), _mm256_madd_epi16(v, w[2])));
        low = _mm256_add_epi32(
            low, _mm256_add_epi32(_mm256_madd_epi16(u, w[1]), _mm256_madd_epi16(v, w[3])));
    }
    __m256i sum = _mm256_add_epi32(_mm256_slli_epi32(high, 15), low);
    return _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
}

static inline __m128i round_down(__m128i sum)
{
    return _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(1 << (RESIZE_BITS - 1))), RESIZE_BITS);
}

static void across_avx2(uint8_t *const *out, const uint8_t *const *in, const struct axis *x)
{
    const int16_t *k = x->pack;
    for (int o = 0; o < x->count; o++, k += 64 * (size_t)x->blocks) {
        size_t at = 4 * (size_t)x->from[o];
        __m128i s[RESIZE_BATCH];
        for (int r = 0; r < RESIZE_BATCH; r++)
            s[r] = round_down(pixel_sum(in[r] + at, k, x->blocks));
        __m128i four = _mm_packus_epi16(_mm_packs_epi32(s[0], s[1]), _mm_packs_epi32(s[2], s[3]));
        uint32_t px[RESIZE_BATCH];
        memcpy(px, &four, sizeof four);
        for (int r = 0; r < RESIZE_BATCH; r++) memcpy(out[r] + 4 * (size_t)o, &px[r], 4);
    }
}

static inline __m256i finish(__m256i high, __m256i low)
{
    __m256i half = _mm256_set1_epi32(1 << (RESIZE_BITS - 1));
    __m256i sum = _mm256_add_epi32(_mm256_add_epi32(_mm256_slli_epi32(high, 15), low), half);
    return _mm256_srai_epi32(sum, RESIZE_BITS);
}

static void down_avx2(uint8_t *out, const uint8_t *const *rows, const struct axis *y, int o,
                      int bytes)
{
    const __m256i zero = _mm256_setzero_si256();
    const int32_t *pair = y->pair + 2 * (size_t)o * (size_t)y->pairs;
    for (int i = 0; i < bytes; i += 32) {
        __m256i high[4] = {zero, zero, zero, zero}, low[4] = {zero, zero, zero, zero};
        for (int t = 0; t < y->pairs; t++) {
            __m256i a = _mm256_loadu_si256((const __m256i *)(rows[2 * t] + i));
            __m256i b = _mm256_loadu_si256((const __m256i *)(rows[2 * t + 1] + i));
            __m256i kh = _mm256_set1_epi32(pair[2 * t]), kl = _mm256_set1_epi32(pair[2 * t + 1]);
            __m256i l = _mm256_unpacklo_epi8(a, b), h = _mm256_unpackhi_epi8(a, b);
            __m256i q[4] = {_mm256_unpacklo_epi8(l, zero), _mm256_unpackhi_epi8(l, zero),
                            _mm256_unpacklo_epi8(h, zero), _mm256_unpackhi_epi8(h, zero)};
            for (int j = 0; j < 4; j++) {
                high[j] = _mm256_add_epi32(high[j], _mm256_madd_epi16(q[j], kh));
                low[j] = _mm256_add_epi32(low[j], _mm256_madd_epi16(q[j], kl));
            }
        }
        __m256i l = _mm256_packs_epi32(finish(high[0], low[0]), finish(high[1], low[1]));
        __m256i h = _mm256_packs_epi32(finish(high[2], low[2]), finish(high[3], low[3]));
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_packus_epi16(l, h));
    }
}

const struct resize_kernels resize_avx2 = {across_avx2, down_avx2};

/* resize_avx512.c - the inner loops of resize.c, 512 bits at a time: eight pixels of two rows
 * across, 64 bytes of a row down. */
#include "image/resize.h"

#include <immintrin.h>
#include <string.h>

/* Eight pixels of two rows in one vector. */
static inline __m512i two_rows(const uint8_t *a, const uint8_t *b)
{
    __m512i low = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)a));
    return _mm512_inserti64x4(low, _mm256_loadu_si256((const __m256i *)b), 1);
}

static inline __m512i weights(const int16_t *k)
{
    return _mm512_broadcast_i64x4(_mm256_load_si256((const __m256i *)k));
}

struct sums {
    __m512i high, low;
};

static inline struct sums add_block(struct sums s, __m512i px, const __m512i w[4])
{
    const __m512i first = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1));
    const __m512i second = _mm512_broadcast_i32x4(
        _mm_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1));
    __m512i u = _mm512_shuffle_epi8(px, first), v = _mm512_shuffle_epi8(px, second);
    s.high = _mm512_add_epi32(
        s.high, _mm512_add_epi32(_mm512_madd_epi16(u, w[0]), _mm512_madd_epi16(v, w[2])));
    s.low = _mm512_add_epi32(
        s.low, _mm512_add_epi32(_mm512_madd_epi16(u, w[1]), _mm512_madd_epi16(v, w[3])));
    return s;
}

static inline __m512i join(struct sums s)
{
    return _mm512_add_epi32(_mm512_slli_epi32(s.high, 15), s.low);
}

/* Round, shift, clamp to 8 bits. */
static inline __m128i to_bytes(__m512i sum)
{
    sum = _mm512_add_epi32(sum, _mm512_set1_epi32(1 << (RESIZE_BITS - 1)));
    sum = _mm512_max_epi32(_mm512_srai_epi32(sum, RESIZE_BITS), _mm512_setzero_si512());
    return _mm512_cvtusepi32_epi8(sum);
}

static void across_avx512(uint8_t *const *out, const uint8_t *const *in, const struct axis *x)
{
    const int16_t *k = x->pack;
    int blocks = x->blocks;
    for (int o = 0; o < x->count; o++) {
        size_t at = 4 * (size_t)x->from[o];
        struct sums s = {_mm512_setzero_si512(), _mm512_setzero_si512()}, t = s;
        for (int b = 0; b < blocks; b++, at += 32, k += 64) {
            __m512i w[4] = {weights(k), weights(k + 16), weights(k + 32), weights(k + 48)};
            s = add_block(s, two_rows(in[0] + at, in[1] + at), w);
            t = add_block(t, two_rows(in[2] + at, in[3] + at), w);
        }
        __m512i v = join(s), u = join(t);
        __m512i even = _mm512_shuffle_i32x4(v, u, 0x88), odd = _mm512_shuffle_i32x4(v, u, 0xdd);
        __m128i four = to_bytes(_mm512_add_epi32(even, odd));
        uint32_t px[RESIZE_BATCH] = {
            (uint32_t)_mm_cvtsi128_si32(four), (uint32_t)_mm_extract_epi32(four, 1),
            (uint32_t)_mm_extract_epi32(four, 2), (uint32_t)_mm_extract_epi32(four, 3)};
        for (int r = 0; r < RESIZE_BATCH; r++) memcpy(out[r] + 4 * (size_t)o, &px[r], 4);
    }
}

static inline __m512i finish(__m512i high, __m512i low)
{
    __m512i half = _mm512_set1_epi32(1 << (RESIZE_BITS - 1));
    __m512i sum = _mm512_add_epi32(_mm512_add_epi32(_mm512_slli_epi32(high, 15), low), half);
    return _mm512_srai_epi32(sum, RESIZE_BITS);
}

static void down_avx512(uint8_t *out, const uint8_t *const *rows, const struct axis *y, int o,
                        int bytes)
{
    const __m512i zero = _mm512_setzero_si512();
    const int32_t *pair = y->pair + 2 * (size_t)o * (size_t)y->pairs;
    for (int i = 0; i < bytes; i += 64) {
        __m512i high[4] = {zero, zero, zero, zero}, low[4] = {zero, zero, zero, zero};
        for (int t = 0; t < y->pairs; t++) {
            __m512i a = _mm512_loadu_si512(rows[2 * t] + i);
            __m512i b = _mm512_loadu_si512(rows[2 * t + 1] + i);
            __m512i kh = _mm512_set1_epi32(pair[2 * t]), kl = _mm512_set1_epi32(pair[2 * t + 1]);
            __m512i l = _mm512_unpacklo_epi8(a, b), h = _mm512_unpackhi_epi8(a, b);
            __m512i q[4] = {_mm512_unpacklo_epi8(l, zero), _mm512_unpackhi_epi8(l, zero),
                            _mm512_unpacklo_epi8(h, zero), _mm512_unpackhi_epi8(h, zero)};
            for (int j = 0; j < 4; j++) {
                high[j] = _mm512_add_epi32(high[j], _mm512_madd_epi16(q[j], kh));
                low[j] = _mm512_add_epi32(low[j], _mm512_madd_epi16(q[j], kl));
            }
        }
        __m512i l = _mm512_packs_epi32(finish(high[0], low[0]), finish(high[1], low[1]));
        __m512i h = _mm512_packs_epi32(finish(high[2], low[2]), finish(high[3], low[3]));
        _mm512_storeu_si512(out + i, _mm512_packus_epi16(l, h));
    }
}

const struct resize_kernels resize_avx512 = {across_avx512, down_avx512};

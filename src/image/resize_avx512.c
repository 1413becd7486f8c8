/* resize_avx512.c - the inner loops of resize.c, 512 bits at a time: eight taps of two rows
 * across, 64 bytes of a row down. Loops over registers are written out: the compiler would keep
 * arrays of them in memory. */
#include "image/resize.h"

#include <immintrin.h>

/* Eight pixels of two rows in one vector. */
static inline __m512i two_rows(const uint8_t *a, const uint8_t *b)
{
    __m512i low = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)a));
    return _mm512_inserti64x4(low, _mm256_loadu_si256((const __m256i *)b), 1);
}

static inline __m512i weights(const uint32_t *k)
{
    return _mm512_broadcast_i64x4(_mm256_load_si256((const __m256i *)k));
}

struct sums {
    __m512i high, low;
};

static inline struct sums add_block(struct sums s, __m512i px, __m512i w0, __m512i w1, __m512i w2,
                                    __m512i w3)
{
    const __m512i first = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, -1, 4, -1, 1, -1, 5, -1, 2, -1, 6, -1, 3, -1, 7, -1));
    const __m512i second = _mm512_broadcast_i32x4(
        _mm_setr_epi8(8, -1, 12, -1, 9, -1, 13, -1, 10, -1, 14, -1, 11, -1, 15, -1));
    __m512i u = _mm512_shuffle_epi8(px, first), v = _mm512_shuffle_epi8(px, second);
    s.high = _mm512_add_epi32(s.high,
                              _mm512_add_epi32(_mm512_madd_epi16(u, w0), _mm512_madd_epi16(v, w2)));
    s.low = _mm512_add_epi32(s.low,
                             _mm512_add_epi32(_mm512_madd_epi16(u, w1), _mm512_madd_epi16(v, w3)));
    return s;
}

static inline __m512i join(struct sums s)
{
    return _mm512_add_epi32(_mm512_slli_epi32(s.high, 15), s.low);
}

/* One output pixel of four rows, one row in each quarter. */
static inline __attribute__((always_inline)) __m512i pixel(const uint8_t *const *in, int from,
                                                           const uint32_t *k, int blocks)
{
    size_t at = 4 * (size_t)from;
    struct sums s = {_mm512_setzero_si512(), _mm512_set1_epi32(1 << (RESIZE_BITS - 2))}, t = s;
    for (int b = 0; b < blocks; b++, at += 32, k += 32) {
        __m512i w0 = weights(k), w1 = weights(k + 8), w2 = weights(k + 16), w3 = weights(k + 24);
        s = add_block(s, two_rows(in[0] + at, in[1] + at), w0, w1, w2, w3);
        t = add_block(t, two_rows(in[2] + at, in[3] + at), w0, w1, w2, w3);
    }
    __m512i v = join(s), u = join(t);
    __m512i even = _mm512_shuffle_i32x4(v, u, 0x88), odd = _mm512_shuffle_i32x4(v, u, 0xdd);
    return _mm512_srai_epi32(_mm512_add_epi32(even, odd), RESIZE_BITS);
}

static inline __attribute__((always_inline)) void rows_across(uint8_t *const *out,
                                                              const uint8_t *const *in,
                                                              const struct axis *x, int blocks)
{
    const uint8_t *const rows[RESIZE_BATCH] = {in[0], in[1], in[2], in[3]};
    uint8_t *to0 = out[0], *to1 = out[1], *to2 = out[2], *to3 = out[3];
    const uint32_t *k = x->pack;
    size_t step = 32 * (size_t)blocks;
    for (int o = 0; o < x->count; o += 4, k += 4 * step) {
        __m512i a = pixel(rows, x->from[o], k, blocks);
        __m512i b = pixel(rows, x->from[o + 1], k + step, blocks);
        __m512i c = pixel(rows, x->from[o + 2], k + 2 * step, blocks);
        __m512i d = pixel(rows, x->from[o + 3], k + 3 * step, blocks);
        __m512i px = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
        size_t at = 4 * (size_t)o;
        _mm_storeu_si128((__m128i *)(to0 + at), _mm512_castsi512_si128(px));
        _mm_storeu_si128((__m128i *)(to1 + at), _mm512_extracti32x4_epi32(px, 1));
        _mm_storeu_si128((__m128i *)(to2 + at), _mm512_extracti32x4_epi32(px, 2));
        _mm_storeu_si128((__m128i *)(to3 + at), _mm512_extracti32x4_epi32(px, 3));
    }
}

static void across_avx512(uint8_t *const *out, const uint8_t *const *in, const struct axis *x,
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

static inline __m512i finish(__m512i high, __m512i low)
{
    return _mm512_srai_epi32(_mm512_add_epi32(_mm512_slli_epi32(high, 15), low), RESIZE_BITS);
}

static inline __m512i mul_add(__m512i sum, __m512i px, __m512i k)
{
    return _mm512_add_epi32(sum, _mm512_madd_epi16(px, k));
}

static inline __m512i bytes_down(const uint8_t *const *rows, const uint32_t *pair, int pairs, int i)
{
    const __m512i zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(1 << (RESIZE_BITS - 1));
    __m512i h0 = zero, h1 = zero, h2 = zero, h3 = zero, l0 = half, l1 = half, l2 = half, l3 = half;
    for (int t = 0; t < pairs; t++) {
        __m512i a = _mm512_loadu_si512(rows[2 * t] + i);
        __m512i b = _mm512_loadu_si512(rows[2 * t + 1] + i);
        __m512i kh = _mm512_set1_epi32((int)pair[2 * t]);
        __m512i kl = _mm512_set1_epi32((int)pair[2 * t + 1]);
        __m512i l = _mm512_unpacklo_epi8(a, b), h = _mm512_unpackhi_epi8(a, b);
        __m512i q0 = _mm512_unpacklo_epi8(l, zero), q1 = _mm512_unpackhi_epi8(l, zero);
        __m512i q2 = _mm512_unpacklo_epi8(h, zero), q3 = _mm512_unpackhi_epi8(h, zero);
        h0 = mul_add(h0, q0, kh), l0 = mul_add(l0, q0, kl);
        h1 = mul_add(h1, q1, kh), l1 = mul_add(l1, q1, kl);
        h2 = mul_add(h2, q2, kh), l2 = mul_add(l2, q2, kl);
        h3 = mul_add(h3, q3, kh), l3 = mul_add(l3, q3, kl);
    }
    return _mm512_packus_epi16(_mm512_packs_epi32(finish(h0, l0), finish(h1, l1)),
                               _mm512_packs_epi32(finish(h2, l2), finish(h3, l3)));
}

static void down_avx512(uint8_t *out, const uint8_t *const *rows, const struct axis *y, int o,
                        int bytes)
{
    const uint32_t *pair = y->pack + 2 * (size_t)o * (size_t)y->groups;
    for (int i = 0; i < bytes; i += 64)
        _mm512_storeu_si512(out + i, bytes_down(rows, pair, y->groups, i));
}

const struct resize_kernels resize_avx512 = {2, 2, 1, across_avx512, down_avx512, resize_drop_avx2};

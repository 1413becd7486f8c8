/* resize_vnni_avx512.c - the inner loops of resize.c with byte dot products: four taps at a time
 * against each of three 8-bit digits of their weights. About half the work of 16-bit pairs. */
#include "image/resize.h"

#include <immintrin.h>

#define VNNI   __attribute__((target("avx512vnni")))
#define INLINE static inline __attribute__((always_inline, target("avx512vnni")))

int resize_has_vnni(void)
{
    return __builtin_cpu_supports("avx512vnni");
}

/* Eight pixels of two rows, the channel bytes of four neighbours side by side. */
INLINE __m512i two_rows(const uint8_t *a, const uint8_t *b)
{
    const __m512i by_channel =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m512i px = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)a));
    px = _mm512_inserti64x4(px, _mm256_loadu_si256((const __m256i *)b), 1);
    return _mm512_shuffle_epi8(px, by_channel);
}

INLINE __m512i weights(const uint32_t *k)
{
    return _mm512_broadcast_i64x4(_mm256_load_si256((const __m256i *)k));
}

/* Sums by digit. */
struct sums {
    __m512i high, mid, low;
};

INLINE struct sums add(struct sums s, __m512i px, __m512i high, __m512i mid, __m512i low)
{
    s.high = _mm512_dpbusd_epi32(s.high, px, high);
    s.mid = _mm512_dpbusd_epi32(s.mid, px, mid);
    s.low = _mm512_dpbusd_epi32(s.low, px, low);
    return s;
}

INLINE __m512i join(struct sums s)
{
    __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(s.high, 8), s.mid);
    return _mm512_add_epi32(_mm512_slli_epi32(upper, 8), s.low);
}

/* One output pixel of four rows, one row in each quarter. */
INLINE __m512i pixel(const uint8_t *const *in, int from, const uint32_t *k, int blocks)
{
    size_t at = 4 * (size_t)from;
    const __m512i zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(1 << (RESIZE_BITS - 2));
    struct sums s = {zero, zero, half}, t = s;
    for (int b = 0; b < blocks; b++, at += 32, k += 24) {
        __m512i high = weights(k), mid = weights(k + 8), low = weights(k + 16);
        s = add(s, two_rows(in[0] + at, in[1] + at), high, mid, low);
        t = add(t, two_rows(in[2] + at, in[3] + at), high, mid, low);
    }
    __m512i v = join(s), u = join(t);
    __m512i even = _mm512_shuffle_i32x4(v, u, 0x88), odd = _mm512_shuffle_i32x4(v, u, 0xdd);
    return _mm512_srai_epi32(_mm512_add_epi32(even, odd), RESIZE_BITS);
}

INLINE void rows_across(uint8_t *const *out, const uint8_t *const *in, const struct axis *x,
                        int blocks)
{
    const uint8_t *const rows[RESIZE_BATCH] = {in[0], in[1], in[2], in[3]};
    uint8_t *to0 = out[0], *to1 = out[1], *to2 = out[2], *to3 = out[3];
    const uint32_t *k = x->pack;
    size_t step = 24 * (size_t)blocks;
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

static VNNI void across_vnni(uint8_t *const *out, const uint8_t *const *in, const struct axis *x)
{
    if (x->blocks == 1)
        rows_across(out, in, x, 1);
    else if (x->blocks == 2)
        rows_across(out, in, x, 2);
    else
        rows_across(out, in, x, x->blocks);
}

INLINE __m512i finish(struct sums s)
{
    return _mm512_srai_epi32(join(s), RESIZE_BITS);
}

/* 64 bytes of one output row. */
INLINE __m512i bytes_down(const uint8_t *const *rows, const uint32_t *k, int groups, int i)
{
    const __m512i zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(1 << (RESIZE_BITS - 1));
    struct sums s0 = {zero, zero, half}, s1 = s0, s2 = s0, s3 = s0;
    for (int t = 0; t < groups; t++, rows += 4, k += 3) {
        __m512i a = _mm512_loadu_si512(rows[0] + i), b = _mm512_loadu_si512(rows[1] + i);
        __m512i c = _mm512_loadu_si512(rows[2] + i), d = _mm512_loadu_si512(rows[3] + i);
        __m512i ab0 = _mm512_unpacklo_epi8(a, b), ab1 = _mm512_unpackhi_epi8(a, b);
        __m512i cd0 = _mm512_unpacklo_epi8(c, d), cd1 = _mm512_unpackhi_epi8(c, d);
        __m512i high = _mm512_set1_epi32((int)k[0]), mid = _mm512_set1_epi32((int)k[1]);
        __m512i low = _mm512_set1_epi32((int)k[2]);
        s0 = add(s0, _mm512_unpacklo_epi16(ab0, cd0), high, mid, low);
        s1 = add(s1, _mm512_unpackhi_epi16(ab0, cd0), high, mid, low);
        s2 = add(s2, _mm512_unpacklo_epi16(ab1, cd1), high, mid, low);
        s3 = add(s3, _mm512_unpackhi_epi16(ab1, cd1), high, mid, low);
    }
    return _mm512_packus_epi16(_mm512_packs_epi32(finish(s0), finish(s1)),
                               _mm512_packs_epi32(finish(s2), finish(s3)));
}

static VNNI void down_vnni(uint8_t *out, const uint8_t *const *rows, const struct axis *y, int o,
                           int bytes)
{
    const uint32_t *k = y->pack + 3 * (size_t)o * (size_t)y->groups;
    for (int i = 0; i < bytes; i += 64)
        _mm512_storeu_si512(out + i, bytes_down(rows, k, y->groups, i));
}

const struct resize_kernels resize_vnni = {4, 3, 8, across_vnni, down_vnni};

/* resize_vnni_avx512.c - the inner loops of resize.c with byte dot products: four taps at a time
 * against each of three 8-bit digits of their weights. Across, four rows are first laid pixel by
 * pixel side by side, so that one load holds four taps of all of them and no sum has to be
 * gathered from parts of a register. */
#include "image/resize.h"

#include <immintrin.h>

#define VNNI   __attribute__((target("avx512vnni,avx512vbmi")))
#define INLINE static inline __attribute__((always_inline, target("avx512vnni,avx512vbmi")))

int resize_has_vnni(void)
{
    return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
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

INLINE __m512i finish(struct sums s)
{
    return _mm512_srai_epi32(join(s), RESIZE_BITS);
}

/* n pixels of four rows -> [n][4 rows] pixels; up to three more are touched. */
INLINE void interleave(uint8_t *out, const uint8_t *const *in, int n)
{
    const __m512i by_pixel =
        _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (int i = 0; i < n; i += 4) {
        size_t at = 4 * (size_t)i;
        __m512i px = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(in[0] + at)));
        px = _mm512_inserti32x4(px, _mm_loadu_si128((const __m128i *)(in[1] + at)), 1);
        px = _mm512_inserti32x4(px, _mm_loadu_si128((const __m128i *)(in[2] + at)), 2);
        px = _mm512_inserti32x4(px, _mm_loadu_si128((const __m128i *)(in[3] + at)), 3);
        _mm512_storeu_si512(out + 4 * at, _mm512_permutexvar_epi32(by_pixel, px));
    }
}

/* One output pixel of four rows, one row in each quarter. */
INLINE __m512i pixel(const uint8_t *px, const uint32_t *k, int groups, __m512i by_tap)
{
    const __m512i zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(1 << (RESIZE_BITS - 1));
    struct sums s = {zero, zero, half};
    for (int t = 0; t < groups; t++, px += 64, k += 3) {
        __m512i taps = _mm512_permutexvar_epi8(by_tap, _mm512_loadu_si512(px));
        s = add(s, taps, _mm512_set1_epi32((int)k[0]), _mm512_set1_epi32((int)k[1]),
                _mm512_set1_epi32((int)k[2]));
    }
    return finish(s);
}

INLINE void rows_across(uint8_t *const *out, const uint8_t *in, const struct axis *x, int groups)
{
    const __m512i by_tap = _mm512_add_epi8(
        _mm512_broadcast_i32x4(
            _mm_setr_epi8(0, 16, 32, 48, 1, 17, 33, 49, 2, 18, 34, 50, 3, 19, 35, 51)),
        _mm512_setr_epi32(0, 0, 0, 0, 0x04040404, 0x04040404, 0x04040404, 0x04040404, 0x08080808,
                          0x08080808, 0x08080808, 0x08080808, 0x0c0c0c0c, 0x0c0c0c0c, 0x0c0c0c0c,
                          0x0c0c0c0c));
    uint8_t *to0 = out[0], *to1 = out[1], *to2 = out[2], *to3 = out[3];
    const uint32_t *k = x->pack;
    const int *start = x->start;
    size_t step = 3 * (size_t)groups;
    for (int o = 0; o < x->count; o += 4, k += 4 * step, start += 4) {
        __m512i a = pixel(in + 16 * (size_t)start[0], k, groups, by_tap);
        __m512i b = pixel(in + 16 * (size_t)start[1], k + step, groups, by_tap);
        __m512i c = pixel(in + 16 * (size_t)start[2], k + 2 * step, groups, by_tap);
        __m512i d = pixel(in + 16 * (size_t)start[3], k + 3 * step, groups, by_tap);
        __m512i px = _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
        size_t at = 4 * (size_t)o;
        _mm_storeu_si128((__m128i *)(to0 + at), _mm512_castsi512_si128(px));
        _mm_storeu_si128((__m128i *)(to1 + at), _mm512_extracti32x4_epi32(px, 1));
        _mm_storeu_si128((__m128i *)(to2 + at), _mm512_extracti32x4_epi32(px, 2));
        _mm_storeu_si128((__m128i *)(to3 + at), _mm512_extracti32x4_epi32(px, 3));
    }
}

static VNNI void across_vnni(uint8_t *const *out, const uint8_t *const *in, const struct axis *x,
                             uint8_t *scratch)
{
    interleave(scratch, in, x->hi - x->lo);
    if (x->groups == 2)
        rows_across(out, scratch, x, 2);
    else if (x->groups == 4)
        rows_across(out, scratch, x, 4);
    else
        rows_across(out, scratch, x, x->groups);
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

const struct resize_kernels resize_vnni = {4, 3, 0, across_vnni, down_vnni, resize_drop_avx2};

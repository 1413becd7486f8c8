/* idct_lanes.h - the inverse DCT of several blocks at once, one block in each 128-bit lane.
 * Included by the files of each instruction set, which say what V, I, AND, OR, ANY, LOAD_ROW,
 * SPREAD_ROW and STORE_TWO_ROWS are. See idct.c for the arithmetic. */

#include "image/jpeg/turn_lanes.h"

#define PAIR(a, b) I(set1_epi32)((int)((uint32_t)(uint16_t)(a) | (uint32_t)(uint16_t)(b) << 16))

/* 32-bit sums of the lower and upper four values of each lane. */
struct wide {
    V lo, hi;
};

LANE struct wide wide_madd(struct wide x, V f)
{
    return (struct wide){I(madd_epi16)(x.lo, f), I(madd_epi16)(x.hi, f)};
}

LANE struct wide wide_add(struct wide a, struct wide b)
{
    return (struct wide){I(add_epi32)(a.lo, b.lo), I(add_epi32)(a.hi, b.hi)};
}

LANE struct wide wide_sub(struct wide a, struct wide b)
{
    return (struct wide){I(sub_epi32)(a.lo, b.lo), I(sub_epi32)(a.hi, b.hi)};
}

LANE struct wide interleave(V a, V b)
{
    return (struct wide){I(unpacklo_epi16)(a, b), I(unpackhi_epi16)(a, b)};
}

/* x * 2^13, and half of what will be shifted out. */
LANE struct wide scaled(V x, V half)
{
    struct wide w = interleave(ZERO, x);
    return (struct wide){I(add_epi32)(I(srai_epi32)(w.lo, 3), half),
                         I(add_epi32)(I(srai_epi32)(w.hi, 3), half)};
}

LANE V narrow(struct wide w, const int shift)
{
    return I(packs_epi32)(I(srai_epi32)(w.lo, shift), I(srai_epi32)(w.hi, shift));
}

LANE void pass(struct eight *x, const int shift)
{
    V *r = x->r, half = I(set1_epi32)(1 << (shift - 1));
    struct wide x26 = interleave(r[2], r[6]);
    struct wide t2 = wide_madd(x26, PAIR(4433, 4433 - 15137));
    struct wide t3 = wide_madd(x26, PAIR(4433 + 6270, 4433));
    struct wide even0 = scaled(I(add_epi16)(r[0], r[4]), half);
    struct wide even1 = scaled(I(sub_epi16)(r[0], r[4]), half);
    struct wide z = interleave(I(add_epi16)(r[7], r[3]), I(add_epi16)(r[5], r[1]));
    struct wide p3 = wide_madd(z, PAIR(9633 - 16069, 9633));
    struct wide p4 = wide_madd(z, PAIR(9633, 9633 - 3196));
    struct wide x71 = interleave(r[7], r[1]), x53 = interleave(r[5], r[3]);
    struct wide o0 = wide_add(wide_madd(x71, PAIR(-7373, 12299 - 7373)), p4);
    struct wide o1 = wide_add(wide_madd(x53, PAIR(-20995, 25172 - 20995)), p3);
    struct wide o2 = wide_add(wide_madd(x53, PAIR(16819 - 20995, -20995)), p4);
    struct wide o3 = wide_add(wide_madd(x71, PAIR(2446 - 7373, -7373)), p3);
    struct wide e0 = wide_add(even0, t3), e3 = wide_sub(even0, t3);
    struct wide e1 = wide_add(even1, t2), e2 = wide_sub(even1, t2);
    r[0] = narrow(wide_add(e0, o0), shift), r[7] = narrow(wide_sub(e0, o0), shift);
    r[1] = narrow(wide_add(e1, o1), shift), r[6] = narrow(wide_sub(e1, o1), shift);
    r[2] = narrow(wide_add(e2, o2), shift), r[5] = narrow(wide_sub(e2, o2), shift);
    r[3] = narrow(wide_add(e3, o3), shift), r[4] = narrow(wide_sub(e3, o3), shift);
}

/* The same when r[4] to r[7] are zero: all sums are of two products. */
LANE void half_pass(struct eight *x, const int shift)
{
    V *r = x->r, half = I(set1_epi32)(1 << (shift - 1));
    struct wide add = {half, half};
    struct wide x02 = interleave(r[0], r[2]), x31 = interleave(r[3], r[1]);
    struct wide e0 = wide_add(wide_madd(x02, PAIR(8192, 4433 + 6270)), add);
    struct wide e1 = wide_add(wide_madd(x02, PAIR(8192, 4433)), add);
    struct wide e2 = wide_add(wide_madd(x02, PAIR(8192, -4433)), add);
    struct wide e3 = wide_add(wide_madd(x02, PAIR(8192, -4433 - 6270)), add);
    struct wide o0 = wide_madd(x31, PAIR(9633, 9633 - 3196 + 12299 - 7373));
    struct wide o1 = wide_madd(x31, PAIR(9633 - 16069 + 25172 - 20995, 9633));
    struct wide o2 = wide_madd(x31, PAIR(9633 - 20995, 9633 - 3196));
    struct wide o3 = wide_madd(x31, PAIR(9633 - 16069, 9633 - 7373));
    r[0] = narrow(wide_add(e0, o0), shift), r[7] = narrow(wide_sub(e0, o0), shift);
    r[1] = narrow(wide_add(e1, o1), shift), r[6] = narrow(wide_sub(e1, o1), shift);
    r[2] = narrow(wide_add(e2, o2), shift), r[5] = narrow(wide_sub(e2, o2), shift);
    r[3] = narrow(wide_add(e3, o3), shift), r[4] = narrow(wide_sub(e3, o3), shift);
}

LANE int lower_half(const struct eight *x)
{
    return ANY(OR(OR(x->r[4], x->r[5]), OR(x->r[6], x->r[7])));
}

LANE void idct_group(uint8_t *out, size_t stride, const int16_t *coefs, const int16_t *quant)
{
    struct eight x;
    V rows[4];
    for (int i = 0; i < 8; i++)
        x.r[i] = I(mullo_epi16)(LOAD_ROW(coefs + 8 * i), SPREAD_ROW(quant + 8 * i));
    /* Where libjpeg-turbo's short cut for flat blocks would wrap, ask the plain code. */
    V high = I(add_epi16)(x.r[0], I(set1_epi16)(8192));
    if (unlikely(ANY(AND(high, I(set1_epi16)((short)0xc000))))) {
        for (int i = 0; i < LANES; i++) idct_block(out + 8 * i, stride, coefs + 64 * i, quant);
        return;
    }
    if (lower_half(&x))
        pass(&x, 11);
    else
        half_pass(&x, 11);
    turn(&x);
    if (lower_half(&x))
        pass(&x, 18);
    else
        half_pass(&x, 18);
    turn_bytes(rows, &x);
    STORE_TWO_ROWS(out, stride, rows[0]);
    STORE_TWO_ROWS(out + 2 * stride, stride, rows[1]);
    STORE_TWO_ROWS(out + 4 * stride, stride, rows[2]);
    STORE_TWO_ROWS(out + 6 * stride, stride, rows[3]);
}

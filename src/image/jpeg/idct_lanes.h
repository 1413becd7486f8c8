/* idct_lanes.h - the inverse DCT of several blocks at once, one block in each 128-bit lane.
 * Included by the files of each instruction set, which say what V, I, AND, OR, ANY, LOAD_ROW,
 * SPREAD_ROW and STORE_TWO_ROWS are. See idct.c for the arithmetic. */

#define PAIR(a, b) I(set1_epi32)((int)((uint32_t)(uint16_t)(a) | (uint32_t)(uint16_t)(b) << 16))

/* The eight vectors of 16-bit values that a pass works on. */
struct eight {
    V r[8];
};

/* 32-bit sums of the lower and upper four values of each lane. */
struct wide {
    V lo, hi;
};

static inline __attribute__((always_inline)) struct wide wide_madd(struct wide x, V f)
{
    return (struct wide){I(madd_epi16)(x.lo, f), I(madd_epi16)(x.hi, f)};
}

static inline __attribute__((always_inline)) struct wide wide_add(struct wide a, struct wide b)
{
    return (struct wide){I(add_epi32)(a.lo, b.lo), I(add_epi32)(a.hi, b.hi)};
}

static inline __attribute__((always_inline)) struct wide wide_sub(struct wide a, struct wide b)
{
    return (struct wide){I(sub_epi32)(a.lo, b.lo), I(sub_epi32)(a.hi, b.hi)};
}

static inline __attribute__((always_inline)) struct wide interleave(V a, V b)
{
    return (struct wide){I(unpacklo_epi16)(a, b), I(unpackhi_epi16)(a, b)};
}

/* x * 2^13, and half of what will be shifted out. */
static inline __attribute__((always_inline)) struct wide scaled(V x, V half)
{
    struct wide w = interleave(ZERO, x);
    return (struct wide){I(add_epi32)(I(srai_epi32)(w.lo, 3), half),
                         I(add_epi32)(I(srai_epi32)(w.hi, 3), half)};
}

static inline __attribute__((always_inline)) V narrow(struct wide w, const int shift)
{
    return I(packs_epi32)(I(srai_epi32)(w.lo, shift), I(srai_epi32)(w.hi, shift));
}

static inline __attribute__((always_inline)) void pass(struct eight *x, const int shift)
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
static inline __attribute__((always_inline)) void half_pass(struct eight *x, const int shift)
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

static inline __attribute__((always_inline)) int lower_half(const struct eight *x)
{
    return ANY(OR(OR(x->r[4], x->r[5]), OR(x->r[6], x->r[7])));
}

/* 8 x 8 values of each lane, rows for columns. */
static inline __attribute__((always_inline)) void turn(struct eight *x)
{
    V *r = x->r;
    V a0 = I(unpacklo_epi16)(r[0], r[1]), a1 = I(unpackhi_epi16)(r[0], r[1]);
    V a2 = I(unpacklo_epi16)(r[2], r[3]), a3 = I(unpackhi_epi16)(r[2], r[3]);
    V a4 = I(unpacklo_epi16)(r[4], r[5]), a5 = I(unpackhi_epi16)(r[4], r[5]);
    V a6 = I(unpacklo_epi16)(r[6], r[7]), a7 = I(unpackhi_epi16)(r[6], r[7]);
    V b0 = I(unpacklo_epi32)(a0, a2), b1 = I(unpackhi_epi32)(a0, a2);
    V b2 = I(unpacklo_epi32)(a1, a3), b3 = I(unpackhi_epi32)(a1, a3);
    V b4 = I(unpacklo_epi32)(a4, a6), b5 = I(unpackhi_epi32)(a4, a6);
    V b6 = I(unpacklo_epi32)(a5, a7), b7 = I(unpackhi_epi32)(a5, a7);
    r[0] = I(unpacklo_epi64)(b0, b4), r[1] = I(unpackhi_epi64)(b0, b4);
    r[2] = I(unpacklo_epi64)(b1, b5), r[3] = I(unpackhi_epi64)(b1, b5);
    r[4] = I(unpacklo_epi64)(b2, b6), r[5] = I(unpackhi_epi64)(b2, b6);
    r[6] = I(unpacklo_epi64)(b3, b7), r[7] = I(unpackhi_epi64)(b3, b7);
}

/* Columns of 16-bit values to rows of bytes, two rows to a vector and lane. */
static inline __attribute__((always_inline)) void turn_bytes(V out[4], const struct eight *x)
{
    const V *r = x->r;
    V c04 = I(packs_epi16)(r[0], r[4]), c15 = I(packs_epi16)(r[1], r[5]);
    V c26 = I(packs_epi16)(r[2], r[6]), c37 = I(packs_epi16)(r[3], r[7]);
    V a = I(unpacklo_epi8)(c04, c15), b = I(unpackhi_epi8)(c04, c15); /* 01, 45 */
    V c = I(unpacklo_epi8)(c26, c37), d = I(unpackhi_epi8)(c26, c37); /* 23, 67 */
    V left0 = I(unpacklo_epi16)(a, c), left1 = I(unpackhi_epi16)(a, c);
    V right0 = I(unpacklo_epi16)(b, d), right1 = I(unpackhi_epi16)(b, d);
    V centre = I(set1_epi8)(-128);
    out[0] = I(add_epi8)(I(unpacklo_epi32)(left0, right0), centre);
    out[1] = I(add_epi8)(I(unpackhi_epi32)(left0, right0), centre);
    out[2] = I(add_epi8)(I(unpacklo_epi32)(left1, right1), centre);
    out[3] = I(add_epi8)(I(unpackhi_epi32)(left1, right1), centre);
}

static inline __attribute__((always_inline)) void idct_group(uint8_t *out, size_t stride,
                                                             const int16_t *coefs,
                                                             const int16_t *quant)
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

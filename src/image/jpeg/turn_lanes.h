/* turn_lanes.h - part of idct_lanes.h: 8 x 8 values of a lane, rows for columns. */

#define LANE static inline __attribute__((always_inline))

/* The eight vectors of 16-bit values that a pass works on. */
struct eight {
    V r[8];
};

/* 8 x 8 values of each lane, rows for columns. */
LANE void turn(struct eight *x)
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
LANE void turn_bytes(V out[4], const struct eight *x)
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

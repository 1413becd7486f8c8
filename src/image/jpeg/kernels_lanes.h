/* kernels_lanes.h - chroma to full size and colour, SAMPLES samples or half as many pixels at a
 * time. Included by the files of each instruction set, which say what V, I, OR, LOAD, WORDS, store
 * and store_words are. Sums of weighted samples fit 16 bits. The colour factors are split into a
 * whole part and a fraction below one half, so that `mulhi` of twice the difference, plus one,
 * halved, is the rounded product; green takes both factors in one `madd`. */

#define LANE static inline __attribute__((always_inline))

/* 3a + b of bytes, as words. */
LANE V blend_lo(V a, V b)
{
    return I(maddubs_epi16)(I(unpacklo_epi8)(a, b), I(set1_epi16)(0x0103));
}

LANE V blend_hi(V a, V b)
{
    return I(maddubs_epi16)(I(unpackhi_epi8)(a, b), I(set1_epi16)(0x0103));
}

/* Two bytes of output from the words of each. */
LANE V join(V even, V odd, const int shift)
{
    return OR(I(srli_epi16)(even, shift), I(slli_epi16)(I(srli_epi16)(odd, shift), 8));
}

static void wider(uint8_t *out, const uint8_t *in, int n)
{
    V one = I(set1_epi16)(1), two = I(set1_epi16)(2);
    for (int i = 0; i < n; i += SAMPLES) {
        V before = LOAD(in + i - 1), here = LOAD(in + i), after = LOAD(in + i + 1);
        V lo = join(I(add_epi16)(blend_lo(here, before), one),
                    I(add_epi16)(blend_lo(here, after), two), 2);
        V hi = join(I(add_epi16)(blend_hi(here, before), one),
                    I(add_epi16)(blend_hi(here, after), two), 2);
        store_words(out + 2 * i, lo, hi);
    }
}

LANE V blend_columns(V before, V here, V after)
{
    V three = I(add_epi16)(here, I(slli_epi16)(here, 1));
    return join(I(add_epi16)(I(add_epi16)(three, before), I(set1_epi16)(8)),
                I(add_epi16)(I(add_epi16)(three, after), I(set1_epi16)(7)), 4);
}

static void wider_higher(uint8_t *out, const uint8_t *near, const uint8_t *far, int n)
{
    for (int i = 0; i < n; i += SAMPLES) {
        V n0 = LOAD(near + i - 1), f0 = LOAD(far + i - 1);
        V n1 = LOAD(near + i), f1 = LOAD(far + i);
        V n2 = LOAD(near + i + 1), f2 = LOAD(far + i + 1);
        V lo = blend_columns(blend_lo(n0, f0), blend_lo(n1, f1), blend_lo(n2, f2));
        V hi = blend_columns(blend_hi(n0, f0), blend_hi(n1, f1), blend_hi(n2, f2));
        store_words(out + 2 * i, lo, hi);
    }
}

static void higher(uint8_t *out, const uint8_t *near, const uint8_t *far, int bias, int n)
{
    V add = I(set1_epi16)((short)bias);
    for (int i = 0; i < n; i += SAMPLES) {
        V a = LOAD(near + i), b = LOAD(far + i);
        V lo = I(srli_epi16)(I(add_epi16)(blend_lo(a, b), add), 2);
        V hi = I(srli_epi16)(I(add_epi16)(blend_hi(a, b), add), 2);
        store(out + i, I(packus_epi16)(lo, hi));
    }
}

/* x * factor / 65536, rounded, for |factor| < 32768. */
LANE V part(V x, int factor)
{
    V high = I(mulhi_epi16)(I(add_epi16)(x, x), I(set1_epi16)((short)factor));
    return I(srai_epi16)(I(add_epi16)(high, I(set1_epi16)(1)), 1);
}

LANE V green(V cb, V cr)
{
    V factors = I(set1_epi32)((int)((uint32_t)(uint16_t)-22554 | 18734u << 16));
    V half = I(set1_epi32)(32768);
    V lo = I(madd_epi16)(I(unpacklo_epi16)(cb, cr), factors);
    V hi = I(madd_epi16)(I(unpackhi_epi16)(cb, cr), factors);
    lo = I(srai_epi32)(I(add_epi32)(lo, half), 16);
    hi = I(srai_epi32)(I(add_epi32)(hi, half), 16);
    return I(sub_epi16)(I(packs_epi32)(lo, hi), cr);
}

static void colour(uint8_t *rgbx, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int n)
{
    V centre = I(set1_epi16)(128), full = I(set1_epi16)(255);
    for (int i = 0; i < n; i += SAMPLES / 2) {
        V l = WORDS(y + i);
        V b = I(sub_epi16)(WORDS(cb + i), centre), r = I(sub_epi16)(WORDS(cr + i), centre);
        V red = I(add_epi16)(I(add_epi16)(l, r), part(r, 26345));
        V blue = I(add_epi16)(I(add_epi16)(l, I(add_epi16)(b, b)), part(b, -14942));
        V rb = I(packus_epi16)(red, blue);
        V gx = I(packus_epi16)(I(add_epi16)(l, green(b, r)), full);
        V rg = I(unpacklo_epi8)(rb, gx), bx = I(unpackhi_epi8)(rb, gx);
        store_words(rgbx + 4 * i, I(unpacklo_epi16)(rg, bx), I(unpackhi_epi16)(rg, bx));
    }
}

static void grey(uint8_t *rgbx, const uint8_t *y, int n)
{
    V full = I(set1_epi16)(-256);
    for (int i = 0; i < n; i += SAMPLES / 2) {
        V l = WORDS(y + i), ll = OR(l, I(slli_epi16)(l, 8)), lx = OR(l, full);
        store_words(rgbx + 4 * i, I(unpacklo_epi16)(ll, lx), I(unpackhi_epi16)(ll, lx));
    }
}

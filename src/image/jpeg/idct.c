/* idct.c - the accurate integer inverse DCT of libjpeg, in plain C.
 * The flow graph is that of Loeffler, Ligtenberg and Moschytz with 13-bit constants. Products are
 * grouped in pairs and intermediate sums are 16 bits wide with wrap-around or saturation, as in
 * libjpeg-turbo's vector code: coefficients no encoder writes give the same samples too. */
#include "image/jpeg/kernels.h"

/* x * 2^13 */
enum {
    F_0_298 = 2446,
    F_0_390 = 3196,
    F_0_541 = 4433,
    F_0_765 = 6270,
    F_0_899 = 7373,
    F_1_175 = 9633,
    F_1_501 = 12299,
    F_1_847 = 15137,
    F_1_961 = 16069,
    F_2_053 = 16819,
    F_2_562 = 20995,
    F_3_072 = 25172,
};

/* Sums modulo 2^32. */
static uint32_t pair(int a, int fa, int b, int fb)
{
    return (uint32_t)(a * fa) + (uint32_t)(b * fb);
}

static int wrap16(int x)
{
    return (int16_t)x;
}

static int16_t narrow(uint32_t x, int shift)
{
    int v = (int32_t)(x + (1u << (shift - 1))) >> shift;
    return (int16_t)(v < -32768 ? -32768 : v > 32767 ? 32767 : v);
}

/* Eight values `step` apart. */
static void pass(int16_t *out, const int16_t *in, int step, int shift)
{
    int x[8];
    for (int i = 0; i < 8; i++) x[i] = in[i * step];
    uint32_t even0 = (uint32_t)wrap16(x[0] + x[4]) << 13, even1 = (uint32_t)wrap16(x[0] - x[4])
                                                                  << 13;
    uint32_t t2 = pair(x[2], F_0_541, x[6], F_0_541 - F_1_847);
    uint32_t t3 = pair(x[2], F_0_541 + F_0_765, x[6], F_0_541);
    uint32_t e[4] = {even0 + t3, even1 + t2, even1 - t2, even0 - t3};
    int z3 = wrap16(x[7] + x[3]), z4 = wrap16(x[5] + x[1]);
    uint32_t p3 = pair(z3, F_1_175 - F_1_961, z4, F_1_175);
    uint32_t p4 = pair(z3, F_1_175, z4, F_1_175 - F_0_390);
    uint32_t o[4] = {pair(x[7], -F_0_899, x[1], F_1_501 - F_0_899) + p4,
                     pair(x[5], -F_2_562, x[3], F_3_072 - F_2_562) + p3,
                     pair(x[5], F_2_053 - F_2_562, x[3], -F_2_562) + p4,
                     pair(x[7], F_0_298 - F_0_899, x[1], -F_0_899) + p3};
    for (int i = 0; i < 4; i++) {
        out[i * step] = narrow(e[i] + o[i], shift);
        out[(7 - i) * step] = narrow(e[i] - o[i], shift);
    }
}

/* Only the first row of coefficients: libjpeg-turbo then shifts instead, which wraps. */
static int is_flat(const int16_t *coefs)
{
    int any = 0;
    for (int i = 8; i < 64; i++) any |= coefs[i];
    return !any;
}

void idct_block(uint8_t *out, size_t stride, const int16_t *coefs, const int16_t *quant)
{
    int16_t w[64];
    for (int i = 0; i < 64; i++) w[i] = (int16_t)((unsigned)coefs[i] * (unsigned)quant[i]);
    if (is_flat(coefs)) {
        for (int i = 63; i >= 0; i--) w[i] = (int16_t)((unsigned)w[i & 7] << 2);
    } else {
        for (int x = 0; x < 8; x++) pass(w + x, w + x, 8, 11);
    }
    for (int y = 0; y < 8; y++) {
        pass(w + 8 * y, w + 8 * y, 1, 18);
        for (int x = 0; x < 8; x++) {
            int v = w[8 * y + x];
            out[(size_t)y * stride + (size_t)x] = (uint8_t)((v < -128  ? -128
                                                             : v > 127 ? 127
                                                                       : v) +
                                                            128);
        }
    }
}

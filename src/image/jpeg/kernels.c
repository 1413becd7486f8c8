/* kernels.c - the kernels in plain C, and the choice between the sets. */
#include "image/jpeg/kernels.h"
#include "image/jpeg/frame.h"

static void idct_plain(uint8_t *out, size_t stride, const int16_t *coefs, const int16_t *quant,
                       int blocks)
{
    for (int i = 0; i < blocks; i++)
        idct_block(out + 8 * (size_t)i, stride, coefs + 64 * (size_t)i, quant);
}

void natural_plain(int16_t *out, const int16_t *in, int blocks)
{
    for (int i = 0; i < blocks; i++, out += BLOCK, in += BLOCK)
        for (int k = 0; k < BLOCK; k++) out[frame_order[k]] = in[BLOCK - 1 - k];
}

static void wider_plain(uint8_t *out, const uint8_t *in, int n)
{
    for (int i = 0; i < n; i++) {
        out[2 * i] = (uint8_t)((3 * in[i] + in[i - 1] + 1) >> 2);
        out[2 * i + 1] = (uint8_t)((3 * in[i] + in[i + 1] + 2) >> 2);
    }
}

static void wider_higher_plain(uint8_t *out, const uint8_t *near, const uint8_t *far, int n)
{
    int before = 3 * near[-1] + far[-1], here = 3 * near[0] + far[0];
    for (int i = 0; i < n; i++) {
        int after = 3 * near[i + 1] + far[i + 1];
        out[2 * i] = (uint8_t)((3 * here + before + 8) >> 4);
        out[2 * i + 1] = (uint8_t)((3 * here + after + 7) >> 4);
        before = here, here = after;
    }
}

static void higher_plain(uint8_t *out, const uint8_t *near, const uint8_t *far, int bias, int n)
{
    for (int i = 0; i < n; i++) out[i] = (uint8_t)((3 * near[i] + far[i] + bias) >> 2);
}

static uint8_t clamp(int v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

/* Factors are 16-bit fixed point; green rounds the sum of both, not each. */
static void colour_plain(uint8_t *rgbx, const uint8_t *y, const uint8_t *cb, const uint8_t *cr,
                         int n)
{
    for (int i = 0; i < n; i++, rgbx += 4) {
        int b = cb[i] - 128, r = cr[i] - 128;
        rgbx[0] = clamp(y[i] + ((91881 * r + 32768) >> 16));
        rgbx[1] = clamp(y[i] + ((-22554 * b - 46802 * r + 32768) >> 16));
        rgbx[2] = clamp(y[i] + ((116130 * b + 32768) >> 16));
        rgbx[3] = 255;
    }
}

static void grey_plain(uint8_t *rgbx, const uint8_t *y, int n)
{
    for (int i = 0; i < n; i++, rgbx += 4) {
        rgbx[0] = rgbx[1] = rgbx[2] = y[i];
        rgbx[3] = 255;
    }
}

const struct jpeg_kernels jpeg_plain = {idct_plain,         natural_plain, wider_plain,
                                        wider_higher_plain, higher_plain,  colour_plain,
                                        grey_plain};

const struct jpeg_kernels *jpeg_kernels_best(void)
{
    static const struct jpeg_kernels *const sets[] = {&jpeg_plain, &jpeg_avx2, &jpeg_avx512};
    return sets[isa_best()];
}

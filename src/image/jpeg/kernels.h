/* kernels.h - the inner loops behind the entropy decoder, one set per instruction set; all give
 * the same bytes, those of libjpeg-turbo: its accurate integer inverse DCT, its triangle filters
 * for chroma, its YCbCr to RGB. All may read and write up to KERNEL_SLACK bytes past the end. */
#ifndef IMAGE_JPEG_KERNELS_H
#define IMAGE_JPEG_KERNELS_H

#include "base/platform.h"

enum { KERNEL_SLACK = 256, KERNEL_BLOCKS = 4 };

struct jpeg_kernels {
    /* `blocks` blocks of coefficients in a row, in natural order, times quant -> samples.
     * Works on KERNEL_BLOCKS at once: up to three more are read and written. */
    void (*idct)(uint8_t *out, size_t stride, const int16_t *coefs, const int16_t *quant,
                 int blocks);
    /* Blocks from the last coefficient to the first in zigzag order -> natural order. */
    void (*natural)(int16_t *out, const int16_t *in, int blocks);
    /* n samples -> 2n along the row: three parts the near sample, one part its neighbour.
     * in[-1] and in[n] are read. */
    void (*wider)(uint8_t *out, const uint8_t *in, int n);
    /* The same from two rows, three parts near and one part far. */
    void (*wider_higher)(uint8_t *out, const uint8_t *near, const uint8_t *far, int n);
    /* n samples from two rows; bias 1 or 2 decides how halves round. */
    void (*higher)(uint8_t *out, const uint8_t *near, const uint8_t *far, int bias, int n);
    void (*colour)(uint8_t *rgbx, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int n);
    void (*grey)(uint8_t *rgbx, const uint8_t *y, int n);
};
extern const struct jpeg_kernels jpeg_plain, jpeg_avx2, jpeg_avx512;

const struct jpeg_kernels *jpeg_kernels_best(void);

/* One block, as libjpeg-turbo's vector code computes it also where coefficients overflow. */
void idct_block(uint8_t *out, size_t stride, const int16_t *coefs, const int16_t *quant);

/* Parts of the sets. */
void natural_plain(int16_t *out, const int16_t *in, int blocks);
void natural_avx512(int16_t *out, const int16_t *in, int blocks);
void idct_avx2(uint8_t *out, size_t stride, const int16_t *coefs, const int16_t *quant, int blocks);
void idct_avx512(uint8_t *out, size_t stride, const int16_t *coefs, const int16_t *quant,
                 int blocks);

#endif

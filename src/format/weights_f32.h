/* weights_f32.h - f16 runs to f32, one function per instruction set; same bytes from each. */
#ifndef FORMAT_WEIGHTS_F32_H
#define FORMAT_WEIGHTS_F32_H

#include "base/platform.h"

/* n halves at src (any alignment) to floats; a signalling NaN becomes quiet, as the CPU's own
 * instruction does it. */
void f16_read(float *dst, const void *src, size_t n);
void f16_read_plain(float *dst, const void *src, size_t n);
void f16_read_avx2(float *dst, const void *src, size_t n);

#endif

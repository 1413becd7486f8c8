/* half.h - numbers of other kinds in plain C: binary16 and bfloat16 as the F16C instructions
 * convert them, and fixed point. */
#ifndef TENSOR_CPU_HALF_H
#define TENSOR_CPU_HALF_H

#include "base/platform.h"

static inline uint32_t float_bits(float x)
{
    union {
        float f;
        uint32_t u;
    } b = {.f = x};
    return b.u;
}

static inline float float_of_bits(uint32_t u)
{
    union {
        uint32_t u;
        float f;
    } b = {.u = u};
    return b.f;
}

/* Round to nearest, ties to even. */
static inline uint16_t half_from_float(float x)
{
    uint32_t u = float_bits(x), sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
    if (mag > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (mag >> 13 & 0x3ff));
    if (mag >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    if (mag < 0x38800000) { /* subnormal half: let the float adder round at 2^-24 */
        float r = float_of_bits(mag) + 0.5f;
        return (uint16_t)(sign | (float_bits(r) - 0x3f000000));
    }
    mag += 0xc8000fff + (mag >> 13 & 1); /* rebias the exponent by -112, round half to even */
    return (uint16_t)(sign | mag >> 13);
}

static inline float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    if (e == 31) return float_of_bits(sign | 0x7f800000 | (m ? 0x400000 : 0) | m << 13);
    if (!e) {
        float v = (float)m * 0x1p-24f;
        return sign ? -v : v;
    }
    return float_of_bits(sign | (e + 112) << 23 | m << 13);
}

static inline float bfloat_to_float(uint16_t h)
{
    return float_of_bits((uint32_t)h << 16);
}

/* x * scale rounded to an integer, ties to even: exact for |x * scale| < 2^51. The constant moves
 * the unit of the sum to the last bit of a double. */
#define FIXED_MAGIC 0x1.8p52

static inline int64_t fixed_from(float x, double scale)
{
    union {
        double f;
        int64_t i;
    } sum = {.f = (double)x * scale + FIXED_MAGIC}, zero = {.f = FIXED_MAGIC};
    return sum.i - zero.i;
}

#endif

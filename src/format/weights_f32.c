/* weights_f32.c - numbers of a model file as f32 in C order.
 * The tensor is read as runs along its last dimension; inner dimensions that follow each other
 * in memory are joined first, so a contiguous tensor is one run and an f32 one a memcpy. */
#include "format/weights_f32.h"
#include "base/err.h"
#include "format/weights.h"

#include <string.h>

static float bits_f32(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static float f16_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00) /* infinity and NaN; bit 22 makes a NaN quiet */
        return bits_f32(sign | 0x7f800000 | rest << 13 | (rest > 0x7c00 ? 1u << 22 : 0));
    /* Read as f32 the exponent is 112 too small; a product by 2^112 is exact and also turns
     * subnormal halves into normal floats. */
    return bits_f32(sign | rest << 13) * 0x1p112f;
}

static float e4m3_f32(uint8_t b)
{
    uint32_t sign = (uint32_t)(b & 0x80) << 24, rest = b & 0x7f;
    if (rest == 0x7f) return bits_f32(sign | 0x7fc00000);
    return bits_f32(sign | rest << 20) * 0x1p120f;
}

void f16_read_plain(float *dst, const void *src, size_t n)
{
    const unsigned char *p = src;
    for (size_t i = 0; i < n; i++) {
        uint16_t h;
        memcpy(&h, p + 2 * i, sizeof h);
        dst[i] = f16_f32(h);
    }
}

void f16_read(float *dst, const void *src, size_t n)
{
    (isa_best() >= ISA_AVX2 ? f16_read_avx2 : f16_read_plain)(dst, src, n);
}

/* One loop per type: element i stands step elements after the one before it. */
#define RUN(name, type, value)                                                  \
    static void name(float *dst, const unsigned char *p, size_t n, size_t step) \
    {                                                                           \
        for (size_t i = 0; i < n; i++) {                                        \
            type v;                                                             \
            memcpy(&v, p + i * step * sizeof v, sizeof v);                      \
            dst[i] = (value);                                                   \
        }                                                                       \
    }
RUN(run_f32, float, v)
RUN(run_f16, uint16_t, f16_f32(v))
RUN(run_bf16, uint16_t, bits_f32((uint32_t)v << 16))
RUN(run_f64, double, (float)v)
RUN(run_e4m3, uint8_t, e4m3_f32(v))
RUN(run_e5m2, uint8_t, f16_f32((uint16_t)(v << 8)))
RUN(run_i64, int64_t, (float)v)
RUN(run_i32, int32_t, (float)v)
RUN(run_i16, int16_t, (float)v)
RUN(run_i8, int8_t, (float)v)
RUN(run_u64, uint64_t, (float)v)
RUN(run_u32, uint32_t, (float)v)
RUN(run_u16, uint16_t, (float)v)
RUN(run_u8, uint8_t, (float)v)
RUN(run_bool, uint8_t, (float)(v != 0))

static void (*const runs[WEIGHT_DTYPES])(float *, const unsigned char *, size_t, size_t) = {
    [WEIGHT_F32] = run_f32, [WEIGHT_F16] = run_f16,      [WEIGHT_BF16] = run_bf16,
    [WEIGHT_F64] = run_f64, [WEIGHT_F8_E4M3] = run_e4m3, [WEIGHT_F8_E5M2] = run_e5m2,
    [WEIGHT_I64] = run_i64, [WEIGHT_I32] = run_i32,      [WEIGHT_I16] = run_i16,
    [WEIGHT_I8] = run_i8,   [WEIGHT_U64] = run_u64,      [WEIGHT_U32] = run_u32,
    [WEIGHT_U16] = run_u16, [WEIGHT_U8] = run_u8,        [WEIGHT_BOOL] = run_bool,
};

static void read_run(float *dst, enum weight_dtype t, const unsigned char *p, size_t n, size_t step)
{
    if (step == 1 && t == WEIGHT_F32)
        memcpy(dst, p, n * sizeof *dst);
    else if (step == 1 && t == WEIGHT_F16)
        f16_read(dst, p, n);
    else
        runs[t](dst, p, n, step);
}

/* Dimensions of size 1 dropped, neighbours joined where one is dense over the other. */
static int join_dimensions(int64_t *dim, int64_t *stride, const struct weight *w)
{
    int rank = 0;
    for (int i = 0; i < w->rank; i++) {
        if (w->dim[i] == 1) continue;
        if (rank && stride[rank - 1] == w->dim[i] * w->stride[i]) {
            dim[rank - 1] *= w->dim[i];
            stride[rank - 1] = w->stride[i];
        } else {
            dim[rank] = w->dim[i];
            stride[rank++] = w->stride[i];
        }
    }
    return rank;
}

int weights_read_f32(float *dst, const struct weight *w)
{
    int64_t dim[WEIGHT_RANK] = {1}, stride[WEIGHT_RANK] = {1}, at[WEIGHT_RANK] = {0};
    const unsigned char *p = w->data;
    if (!runs[w->dtype])
        return err_set(ERR_INPUT, "tensor %s: %s cannot be read as real numbers", w->name,
                       weight_type(w->dtype));
    if (!w->count) return 0;
    int last = join_dimensions(dim, stride, w) - 1;
    if (last < 0) last = 0;
    size_t run = (size_t)dim[last], size = weight_size(w->dtype);
    for (int64_t left = w->count; left; left -= dim[last], dst += run) {
        int64_t first = 0;
        for (int i = 0; i < last; i++) first += at[i] * stride[i];
        read_run(dst, w->dtype, p + (size_t)first * size, run, (size_t)stride[last]);
        for (int i = last - 1; i >= 0 && ++at[i] == dim[i]; i--) at[i] = 0;
    }
    return 0;
}

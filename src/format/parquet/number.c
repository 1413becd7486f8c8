/* number.c - stored numbers as the few types we give out.
 * Decimals become the double nearest to their decimal value, as a parser of their text would
 * give it. */
#include "format/parquet/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- halves ---- */

static double half(const void *p)
{
    uint16_t h;
    memcpy(&h, p, 2);
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, frac = h & 1023, bits;
    if (exp == 31)
        bits = sign | 0x7f800000 | frac << 13;
    else if (exp)
        bits = sign | (exp + 112) << 23 | frac << 13;
    else
        return (sign ? -1 : 1) * (double)frac * 0x1p-24;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* ---- decimals ---- */

typedef __int128 wide;

static double scaled(wide v, int scale)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const wide exact = (wide)1 << 53;
    if (v >= -exact && v <= exact && scale <= 22) return (double)v / powers[scale];
    char text[64], *p = text + 48;
    unsigned __int128 u = v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
    snprintf(p, 16, "e-%d", scale);
    for (; u; u /= 10) *--p = (char)('0' + (int)(u % 10));
    if (v < 0) *--p = '-';
    return strtod(p, NULL);
}

static void put_decimal(void *out, size_t i, wide v, const struct leaf *leaf)
{
    if (leaf->field.type == PARQUET_INT64)
        ((int64_t *)out)[i] = (int64_t)v;
    else
        ((double *)out)[i] = scaled(v, leaf->scale);
}

/* Big-endian two's complement. */
static int parse_decimal(wide *out, struct parquet_slice s)
{
    unsigned __int128 v = s.n && (signed char)s.p[0] < 0 ? ~(unsigned __int128)0 : 0;
    if (s.n > 16) return -1;
    for (size_t i = 0; i < s.n; i++) v = v << 8 | (unsigned char)s.p[i];
    *out = (wide)v;
    return 0;
}

int number_parse(void *out, const struct parquet_slice *in, size_t n, const struct leaf *leaf)
{
    int list = leaf->field.type == PARQUET_FLOATS;
    for (size_t i = 0; i < n; i++) {
        wide v = 0;
        if (leaf->convert == CONVERT_F16) {
            if (list)
                ((float *)out)[i] = (float)half(in[i].p);
            else
                ((double *)out)[i] = half(in[i].p);
        } else {
            if (parse_decimal(&v, in[i])) return -1;
            put_decimal(out, i, v, leaf);
        }
    }
    return 0;
}

/* ---- little-endian numbers, not aligned ---- */

#define WIDEN(to, from)                         \
    for (size_t i = 0; i < n; i++) {            \
        from v;                                 \
        memcpy(&v, p + i * sizeof v, sizeof v); \
        ((to *)out)[i] = (to)v;                 \
    }

/* Nanoseconds of the day and a Julian day number, as Impala and old Spark write time stamps. */
static int64_t stamp(const unsigned char *p)
{
    uint64_t nanos;
    uint32_t day;
    memcpy(&nanos, p, 8);
    memcpy(&day, p + 8, 4);
    return (int64_t)(nanos + ((uint64_t)day - 2440588u) * 86400000000000u);
}

static void widen_decimals(void *out, const unsigned char *p, size_t n, const struct leaf *leaf)
{
    for (size_t i = 0; i < n; i++) {
        int64_t v = 0;
        int32_t w;
        memcpy(&w, p + i * leaf->width, 4);
        if (leaf->width == 4)
            v = w;
        else
            memcpy(&v, p + i * 8, 8);
        put_decimal(out, i, v, leaf);
    }
}

void number_widen(void *out, const unsigned char *p, size_t n, const struct leaf *leaf)
{
    int list = leaf->field.type == PARQUET_FLOATS;
    switch (leaf->convert) {
    case CONVERT_I32: WIDEN(int64_t, int32_t) break;
    case CONVERT_U32: WIDEN(int64_t, uint32_t) break;
    case CONVERT_I64: memcpy(out, p, n * 8); break;
    case CONVERT_INT96:
        for (size_t i = 0; i < n; i++) ((int64_t *)out)[i] = stamp(p + i * 12);
        break;
    case CONVERT_F32:
        if (list)
            memcpy(out, p, n * 4);
        else
            WIDEN(double, float)
        break;
    case CONVERT_F64:
        if (list)
            WIDEN(float, double)
        else
            memcpy(out, p, n * 8);
        break;
    case CONVERT_DECIMAL: widen_decimals(out, p, n, leaf); break;
    default: break; /* bytes and booleans do not come here */
    }
}

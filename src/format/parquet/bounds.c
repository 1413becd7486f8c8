/* bounds.c - the smallest and largest value of a column chunk.
 * Zeros are written as -0 below and +0 above, since readers compare by either rule; strings are
 * cut to 64 bytes and marked inexact, so that a long caption does not swell the footer. */
#include "format/parquet/bounds.h"
#include "format/parquet/strings.h"

enum { TEXT_LIMIT = 64 };

void bounds_string(struct bounds *b, const char *values, size_t at, size_t n)
{
    const char *p = values + at;
    if (!b->any || strings_compare(p, n, values + b->low_at, b->low_size) < 0)
        b->low_at = at, b->low_size = n;
    if (!b->any || strings_compare(p, n, values + b->high_at, b->high_size) > 0)
        b->high_at = at, b->high_size = n;
    b->any = 1;
}

static void encode_ints(struct bounds_text *out, const struct bounds *b, size_t size)
{
    str_add(&out->low, &b->least, size); /* little-endian, as the whole program */
    str_add(&out->high, &b->most, size);
}

static void encode_reals(struct bounds_text *out, const struct bounds *b, int narrow)
{
    double low = b->low == 0 ? -0.0 : b->low, high = b->high == 0 ? 0.0 : b->high;
    float l = (float)low, h = (float)high;
    str_add(&out->low, narrow ? (void *)&l : (void *)&low, narrow ? sizeof l : sizeof low);
    str_add(&out->high, narrow ? (void *)&h : (void *)&high, narrow ? sizeof h : sizeof high);
}

void bounds_encode(struct bounds_text *out, const struct bounds *b, enum parquet_type type,
                   const char *values)
{
    int utf8 = type == PARQUET_STRING;
    str_clear(&out->low);
    str_clear(&out->high);
    out->has_low = out->has_high = b->any;
    out->low_exact = out->high_exact = 1;
    if (!b->any) return;
    switch (type) {
    case PARQUET_BOOL: encode_ints(out, b, 1); break;
    case PARQUET_INT32: encode_ints(out, b, 4); break;
    case PARQUET_INT64: encode_ints(out, b, 8); break;
    case PARQUET_FLOAT: encode_reals(out, b, 1); break;
    case PARQUET_DOUBLE: encode_reals(out, b, 0); break;
    case PARQUET_STRING:
    case PARQUET_BINARY:
        strings_below(&out->low, &out->low_exact, values + b->low_at, b->low_size, TEXT_LIMIT,
                      utf8);
        out->has_high = strings_above(&out->high, &out->high_exact, values + b->high_at,
                                      b->high_size, TEXT_LIMIT, utf8);
        break;
    case PARQUET_FLOATS: out->has_low = out->has_high = 0; break;
    }
}

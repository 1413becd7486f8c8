/* bounds.h - the smallest and largest value of a column chunk, for its statistics. */
#ifndef FORMAT_PARQUET_BOUNDS_H
#define FORMAT_PARQUET_BOUNDS_H

#include "base/str.h"
#include "format/parquet/parquet.h"

/* Zeroed is "no value yet". Strings are remembered by where they lie in the chunk's values. */
struct bounds {
    int any;
    int64_t least, most;
    double low, high;
    size_t low_at, low_size, high_at, high_size;
};

static inline void bounds_int(struct bounds *b, int64_t v)
{
    if (!b->any || v < b->least) b->least = v;
    if (!b->any || v > b->most) b->most = v;
    b->any = 1;
}

static inline void bounds_real(struct bounds *b, double v)
{
    if (v != v) return; /* NaN has no place in the order */
    if (!b->any || v < b->low) b->low = v;
    if (!b->any || v > b->high) b->high = v;
    b->any = 1;
}

/* The string of n bytes at values + at. */
void bounds_string(struct bounds *b, const char *values, size_t at, size_t n);

/* PLAIN forms for the footer, strings cut to a bound; *has_* = 0 when there is none. */
struct bounds_text {
    struct str low, high;
    int has_low, has_high, low_exact, high_exact;
};
void bounds_encode(struct bounds_text *out, const struct bounds *b, enum parquet_type type,
                   const char *values);

#endif

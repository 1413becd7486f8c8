/* number.h - stored numbers as the few types we give out. */
#ifndef FORMAT_PARQUET_NUMBER_H
#define FORMAT_PARQUET_NUMBER_H

#include "format/parquet/schema.h"

/* n little-endian numbers of leaf->width bytes at p as int64_t, double or float. */
void number_widen(void *out, const unsigned char *p, size_t n, const struct leaf *leaf);

/* Half floats and decimals that are stored as bytes. -1: one is longer than 16 bytes. */
int number_parse(void *out, const struct parquet_slice *in, size_t n, const struct leaf *leaf);

#endif

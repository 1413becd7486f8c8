/* strings.h - UTF-8 as Parquet's string columns need it. */
#ifndef FORMAT_PARQUET_STRINGS_H
#define FORMAT_PARQUET_STRINGS_H

#include "base/str.h"

int strings_valid(const void *p, size_t n);

/* Append n bytes, each ill-formed part (maximal subpart) replaced by U+FFFD. */
void strings_repair(struct str *out, const void *p, size_t n);

/* Bounds of at most `limit` bytes for statistics: a prefix that is not above the value, and
 * something not below it. utf8: cut between characters and stay well-formed. Both set *exact.
 * strings_above returns 0 when there is no such bound, else 1. */
void strings_below(struct str *out, int *exact, const char *p, size_t n, size_t limit, int utf8);
int strings_above(struct str *out, int *exact, const char *p, size_t n, size_t limit, int utf8);

/* Unsigned bytewise order, a prefix first. */
int strings_compare(const char *a, size_t na, const char *b, size_t nb);

#endif

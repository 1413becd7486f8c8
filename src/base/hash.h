/* hash.h - sha256 for promises, xxh3 for tables, crc32 for formats. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/platform.h"

uint64_t hash64(const void *p, size_t n);
uint32_t hash_crc32(uint32_t crc, const void *p, size_t n); /* zlib's; start with 0 */

struct sha256 {
    void *ctx;
};
void sha256_init(struct sha256 *h);
void sha256_add(struct sha256 *h, const void *p, size_t n);
void sha256_end(struct sha256 *h, char hex[65]); /* and release */
void sha256_release(struct sha256 *h);
void sha256_of(char hex[65], const void *p, size_t n);

#endif

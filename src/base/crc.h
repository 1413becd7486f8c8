/* crc.h - the fast inner part of hash_crc32. */
#ifndef BASE_CRC_H
#define BASE_CRC_H

#include "base/platform.h"

/* Replace the first bytes of p (n >= 64 of them) by sixteen with the same CRC-32 register, started
 * from 0, as p's started from `state`. Returns how many bytes those stand for. Needs PCLMUL. */
size_t crc_fold(unsigned char out[16], uint32_t state, const unsigned char *p, size_t n);

#endif

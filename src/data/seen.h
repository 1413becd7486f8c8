/* seen.h - have these bytes been there before? A set of 64-bit hashes, so that a million keys cost
 * 16 MB and no copy. Two keys with one hash are as unlikely as a flipped bit. */
#ifndef DATA_SEEN_H
#define DATA_SEEN_H

#include "base/platform.h"

/* Zeroed is empty. */
struct seen {
    uint64_t *slots;   /* 0 marks a free one */
    size_t count, cap; /* cap is 0 or a power of two */
};

int seen_before(struct seen *set, const void *p, size_t n); /* 1, or 0 and it is in the set now */
void seen_clear(struct seen *set);                          /* empty, memory kept */
void seen_release(struct seen *set);

#endif

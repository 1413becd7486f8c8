/* arena.h - memory of one unit of work (a sample, a batch, a step).
 * Allocate freely, reset once, never free piecemeal. Blocks are kept over a reset, so a
 * steady state allocates nothing. Freed space is poisoned under ASan. A zeroed arena is
 * ready for use and may be released. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/platform.h"

struct arena_block;
struct arena {
    struct arena_block *first, *now;
    size_t used; /* in the current block */
};

void *arena_alloc(struct arena *a, size_t n);  /* 64-byte aligned, not zeroed */
void *arena_zalloc(struct arena *a, size_t n); /* zeroed */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
void arena_reset(struct arena *a);
void arena_release(struct arena *a);
void arena_relax(struct arena *a, size_t keep); /* reset; released when it holds more than keep */
size_t arena_bytes(const struct arena *a);      /* held from the system */

#endif

/* utf8.h - bytes to code points and back.
 * Text from outside is decoded once, as Python's bytes.decode("utf-8", "replace") does, and then
 * handled as an array of code points that never holds a surrogate or a value over U+10FFFF. */
#ifndef TEXT_UTF8_H
#define TEXT_UTF8_H

#include "base/platform.h"
#include "base/str.h"

enum { RUNE_BAD = 0xFFFD, RUNE_MAX = 0x10FFFF };

/* A growing array of code points. Zeroed is empty and valid; memory is kept over runes_clear. */
struct runes {
    uint32_t *p;
    size_t n, cap;
};
void runes_reserve(struct runes *r, size_t more);
void runes_add(struct runes *r, const uint32_t *p, size_t n);
void runes_clear(struct runes *r);
void runes_release(struct runes *r);
void runes_swap(struct runes *a, struct runes *b);
int runes_equal(const struct runes *a, const struct runes *b);

static inline void runes_put(struct runes *r, uint32_t c)
{
    if (unlikely(r->n == r->cap)) runes_reserve(r, 1);
    r->p[r->n++] = c;
}

/* One code point from n > 0 bytes: its length in bytes (1..4) and *c. A bad sequence gives
 * U+FFFD, *valid 0 (when asked for) and the length of the longest prefix of a good sequence,
 * at least 1: one replacement character each, as Unicode recommends and Python does. */
int utf8_next(uint32_t *c, int *valid, const unsigned char *p, size_t n);

/* The 1..4 bytes of a code point. */
int utf8_put(char out[4], uint32_t c);

int utf8_valid(const char *p, size_t n); /* 1 when all of it is strict UTF-8 */

void utf8_decode(struct runes *out, const char *p, size_t n);   /* appends; bad bytes to U+FFFD */
void utf8_encode(struct str *out, const uint32_t *p, size_t n); /* appends */

#endif

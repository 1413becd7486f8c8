/* utf8.c - see utf8.h. The second byte decides all that the lead byte leaves open: overlong forms,
 * surrogates and values beyond U+10FFFF are excluded by narrowing its range. */
#include "text/utf8.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void runes_reserve(struct runes *r, size_t more)
{
    size_t need = r->n + more;
    if (need <= r->cap) return;
    r->cap = need < 2 * r->cap ? 2 * r->cap : need < 64 ? 64 : need;
    r->p = mem_resize(r->p, mem_mul(r->cap, sizeof *r->p));
}

void runes_add(struct runes *r, const uint32_t *p, size_t n)
{
    runes_reserve(r, n);
    if (n) memcpy(r->p + r->n, p, n * sizeof *p);
    r->n += n;
}

void runes_clear(struct runes *r)
{
    r->n = 0;
}

void runes_release(struct runes *r)
{
    free(r->p);
    *r = (struct runes){0};
}

void runes_swap(struct runes *a, struct runes *b)
{
    struct runes t = *a;
    *a = *b;
    *b = t;
}

int runes_equal(const struct runes *a, const struct runes *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n * sizeof *a->p));
}

/* Length of the sequence a lead byte opens and the range of its second byte; 0: no lead byte. */
static int lead(unsigned char b, unsigned char *low, unsigned char *high)
{
    *low = b == 0xE0 ? 0xA0 : b == 0xF0 ? 0x90 : 0x80;
    *high = b == 0xED ? 0x9F : b == 0xF4 ? 0x8F : 0xBF;
    return b < 0xC2 ? 0 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : b < 0xF5 ? 4 : 0;
}

int utf8_next(uint32_t *c, int *valid, const unsigned char *p, size_t n)
{
    unsigned char low, high;
    if (valid) *valid = 1;
    *c = p[0];
    if (p[0] < 0x80) return 1;
    int want = lead(p[0], &low, &high), got = 1;
    if (want) *c = p[0] & (0x7Fu >> want);
    while (got < want && (size_t)got < n && p[got] >= low && p[got] <= high) {
        *c = *c << 6 | (p[got++] & 0x3F);
        low = 0x80, high = 0xBF;
    }
    if (got == want) return got;
    *c = RUNE_BAD;
    if (valid) *valid = 0;
    return got;
}

int utf8_put(char out[4], uint32_t c)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)((0xF00u >> n) | c);
    return n;
}

int utf8_valid(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t c;
        int valid;
        i += (size_t)utf8_next(&c, &valid, (const unsigned char *)p + i, n - i);
        if (!valid) return 0;
    }
    return 1;
}

void utf8_decode(struct runes *out, const char *p, size_t n)
{
    runes_reserve(out, n);
    for (size_t i = 0; i < n;) {
        uint32_t c;
        i += (size_t)utf8_next(&c, NULL, (const unsigned char *)p + i, n - i);
        out->p[out->n++] = c;
    }
}

void utf8_encode(struct str *out, const uint32_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        str_reserve(out, 4);
        out->len += (size_t)utf8_put(out->p + out->len, p[i]);
    }
    str_reserve(out, 0);
    out->p[out->len] = 0;
}

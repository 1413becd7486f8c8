/* strings.c - UTF-8 as Parquet's string columns need it.
 * Readers such as polars refuse a file with one ill-formed string, so none is ever written; and a
 * long minimum or maximum is cut so that it still bounds the column and is still UTF-8. */
#include "format/parquet/strings.h"

#include <string.h>

/* Length of the well-formed character at p, or minus the length of the ill-formed part there. */
static int step(const unsigned char *p, size_t n)
{
    unsigned c = p[0], low = 0x80, high = 0xbf;
    int need = c < 0x80 ? 0 : c < 0xc2 ? -1 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : -1;
    if (need < 0) return -1;
    if (c == 0xe0) low = 0xa0;
    if (c == 0xed) high = 0x9f;
    if (c == 0xf0) low = 0x90;
    if (c == 0xf4) high = 0x8f;
    for (int i = 1; i <= need; i++) {
        if ((size_t)i >= n || p[i] < low || p[i] > high) return -i;
        low = 0x80, high = 0xbf;
    }
    return need + 1;
}

static size_t ascii_prefix(const unsigned char *p, size_t n)
{
    size_t i = 0;
    for (uint64_t v[4]; i + 32 <= n; i += 32) {
        memcpy(v, p + i, 32);
        if ((v[0] | v[1] | v[2] | v[3]) & 0x8080808080808080u) break;
    }
    for (uint64_t v; i + 8 <= n; i += 8) {
        memcpy(&v, p + i, 8);
        if (v & 0x8080808080808080u) break;
    }
    while (i < n && p[i] < 0x80) i++;
    return i;
}

int strings_valid(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = ascii_prefix(p, n); i < n; i += ascii_prefix(p + i, n - i)) {
        int k = step(p + i, n - i);
        if (k < 0) return 0;
        i += (size_t)k;
    }
    return 1;
}

void strings_repair(struct str *out, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < n;) {
        int k = step(p + i, n - i);
        if (k > 0)
            str_add(out, p + i, (size_t)k);
        else
            str_puts(out, "\xef\xbf\xbd"), k = -k;
        i += (size_t)k;
    }
}

static size_t cut(const char *p, size_t n, size_t limit, int utf8)
{
    if (n <= limit) return n;
    if (utf8)
        while (limit && ((unsigned char)p[limit] & 0xc0) == 0x80) limit--;
    return limit;
}

void strings_below(struct str *out, int *exact, const char *p, size_t n, size_t limit, int utf8)
{
    size_t m = cut(p, n, limit, utf8);
    *exact = m == n;
    str_clear(out);
    str_add(out, p, m);
}

static uint32_t decode(const unsigned char *p, size_t n)
{
    uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) c = c << 6 | (p[i] & 0x3f);
    return c;
}

static void encode(struct str *out, uint32_t c)
{
    int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char head[] = {0, 0xc0, 0xe0, 0xf0};
    str_putc(out, (char)(head[more] | c >> 6 * more));
    while (more--) str_putc(out, (char)(0x80 | (c >> 6 * more & 0x3f)));
}

/* Replace the last character by the next one; 0 when it is the last of all and was dropped. */
static int raise_last(struct str *s, int utf8)
{
    size_t at = s->len - 1;
    if (utf8)
        while (at && ((unsigned char)s->p[at] & 0xc0) == 0x80) at--;
    uint32_t c = utf8 ? decode((unsigned char *)s->p + at, s->len - at) : (unsigned char)s->p[at];
    s->len = at;
    if (c == (utf8 ? 0x10ffff : 0xff)) return 0;
    c = utf8 && c == 0xd7ff ? 0xe000 : c + 1;
    if (utf8)
        encode(s, c);
    else
        str_putc(s, (char)c);
    return 1;
}

int strings_above(struct str *out, int *exact, const char *p, size_t n, size_t limit, int utf8)
{
    strings_below(out, exact, p, n, limit, utf8);
    if (*exact) return 1;
    while (out->len)
        if (raise_last(out, utf8)) return 1;
    return 0;
}

int strings_compare(const char *a, size_t na, const char *b, size_t nb)
{
    size_t n = na < nb ? na : nb;
    int c = n ? memcmp(a, b, n) : 0;
    return c ? c : na < nb ? -1 : na > nb;
}

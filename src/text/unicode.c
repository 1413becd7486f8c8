/* unicode.c - see unicode.h. */
#include "text/unicode.h"

#include <string.h>
#include <utf8proc.h>

unsigned unicode_bits(uint32_t c)
{
    size_t low = 0, high = unicode_range_count;
    while (high - low > 1) {
        size_t mid = (low + high) / 2;
        if (unicode_ranges[mid] >> 8 <= c)
            low = mid;
        else
            high = mid;
    }
    return unicode_ranges[low] & 0xFF;
}

int unicode_is_space(uint32_t c)
{
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/* A capital sigma ends a word when something cased stands before it and nothing cased after it,
 * ignorable characters aside. Sigma itself is cased, so each scan ends at the next one at the
 * latest: all scans of a text together are linear. */
static int sigma_is_final(const uint32_t *p, size_t n, size_t i)
{
    size_t j = i;
    unsigned bits = 0;
    while (j > 0 && ((bits = unicode_bits(p[j - 1])) & RUNE_IGNORABLE)) j--;
    if (!j || !(bits & RUNE_CASED)) return 0;
    for (j = i + 1; j < n && ((bits = unicode_bits(p[j])) & RUNE_IGNORABLE);) j++;
    return j == n || !(bits & RUNE_CASED);
}

void unicode_lower(struct runes *out, const uint32_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t c = p[i];
        if (c < 0x80) {
            runes_put(out, c >= 'A' && c <= 'Z' ? c + 32 : c);
        } else if (c == 0x130) { /* I with dot: the one lower-case form of two characters */
            runes_put(out, 'i');
            runes_put(out, 0x307);
        } else if (c == 0x3A3) {
            runes_put(out, sigma_is_final(p, n, i) ? 0x3C2 : 0x3C3);
        } else {
            uint32_t low = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
            runes_put(out, low != c && unicode_bits(c) & RUNE_ASSIGNED ? low : c);
        }
    }
}

void unicode_upper(struct runes *out, uint32_t c)
{
    runes_put(out, (uint32_t)utf8proc_toupper((utf8proc_int32_t)c));
}

void unicode_width(struct runes *out, uint32_t c)
{
    if (c == 0x3000) c = ' ';
    if (c < 0xFF00 || c > 0xFFEF) return runes_put(out, c);
    runes_put(out, unicode_widths[c - 0xFF00]);
    if (c == 0xFFE3) runes_put(out, 0x304);
}

static int mark_class(uint32_t c)
{
    return c < 0x300 ? 0 : (int)utf8proc_get_property((utf8proc_int32_t)c)->combining_class;
}

/* Canonical order: each run of marks is stably sorted by class. Long runs are counted into
 * place, since insertion would make a flood of marks quadratic; `copy` has room for n. */
static void sort_marks(uint32_t *p, size_t n, uint32_t *copy)
{
    size_t count[257] = {0};
    if (n <= 32) {
        for (size_t i = 1; i < n; i++)
            for (size_t j = i; j && mark_class(p[j - 1]) > mark_class(p[j]); j--) {
                uint32_t t = p[j];
                p[j] = p[j - 1], p[j - 1] = t;
            }
        return;
    }
    memcpy(copy, p, n * sizeof *p);
    for (size_t i = 0; i < n; i++) count[mark_class(p[i]) + 1]++;
    for (int k = 0; k < 256; k++) count[k + 1] += count[k];
    for (size_t i = 0; i < n; i++) p[count[mark_class(copy[i])]++] = copy[i];
}

/* NFC of a piece without code points younger than Unicode 14. */
static void nfc_piece(struct runes *out, const uint32_t *p, size_t n)
{
    size_t start = out->n;
    for (size_t i = 0; i < n; i++) {
        utf8proc_int32_t parts[8];
        int boundary = 0;
        utf8proc_ssize_t count = 1;
        parts[0] = (utf8proc_int32_t)p[i];
        if (p[i] >= 0xC0) {
            count = utf8proc_decompose_char((utf8proc_int32_t)p[i], parts, 8, UTF8PROC_DECOMPOSE,
                                            &boundary);
        }
        runes_add(out, (const uint32_t *)parts, (size_t)count);
    }
    for (size_t i = start, run; i < out->n; i = run + 1) {
        for (run = i; run < out->n && mark_class(out->p[run]);) run++;
        if (run - i > 1) {
            runes_reserve(out, run - i);
            sort_marks(out->p + i, run - i, out->p + out->n);
        }
    }
    out->n = start + (size_t)utf8proc_normalize_utf32((utf8proc_int32_t *)out->p + start,
                                                      (utf8proc_ssize_t)(out->n - start),
                                                      UTF8PROC_COMPOSE | UTF8PROC_STABLE);
}

void unicode_nfc(struct runes *out, const uint32_t *p, size_t n)
{
    size_t from = 0, i = 0;
    while (i < n && p[i] < 0x300) i++;
    if (i == n) return runes_add(out, p, n);
    for (i = 0; i < n; i++) {
        if (p[i] < 0x300 || unicode_bits(p[i]) & RUNE_ASSIGNED) continue;
        nfc_piece(out, p + from, i - from);
        runes_put(out, p[i]);
        from = i + 1;
    }
    nfc_piece(out, p + from, n - from);
}

/* html.c - see html.h. A reference is at most 33 characters long where names are concerned, so
 * both readers look ahead a bounded distance and every text costs linear time. */
#include "text/html.h"
#include "text/unicode.h"

#include <string.h>

uint32_t html_windows_1252(uint32_t b)
{
    static const uint16_t high[32] = {
        0x20AC, 0x81,   0x201A, 0x192,  0x201E, 0x2026, 0x2020, 0x2021, 0x2C6,  0x2030, 0x160,
        0x2039, 0x152,  0x8D,   0x17D,  0x8F,   0x90,   0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x2DC,  0x2122, 0x161,  0x203A, 0x153,  0x9D,   0x17E,  0x178};
    return high[b - 0x80];
}

/* Row of an entity name, or -1. */
static int entity_find(const char *name, size_t n)
{
    size_t low = 0, high = entity_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        const char *row = entity_names + entity_starts[mid];
        int order = strncmp(row, name, n);
        if (!order && !row[n]) return (int)mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return -1;
}

static uint32_t entity_second(int row)
{
    for (size_t i = 0; i < entity_second_count; i++)
        if (entity_seconds[i][0] == row) return entity_seconds[i][1];
    return 0;
}

static void entity_put(struct runes *out, int row)
{
    uint32_t second = entity_second(row);
    runes_put(out, entity_values[row] >> 2);
    if (second) runes_put(out, second);
}

static void put_capital(struct runes *out, uint32_t c)
{
    for (size_t i = 0; i < entity_capital_count; i++) {
        if (entity_capitals[i][0] != c) continue;
        for (int k = 1; k < 4 && entity_capitals[i][k]; k++) runes_put(out, entity_capitals[i][k]);
        return;
    }
    unicode_upper(out, c);
}

static int digit_value(uint32_t c)
{
    if (c >= '0' && c <= '9') return (int)c - '0';
    if (c >= 'a' && c <= 'f') return (int)c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return (int)c - 'A' + 10;
    return 16;
}

static int is_alnum(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Code points that a numeric reference may not make: they vanish. */
static int is_forbidden(uint32_t c)
{
    return (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
           (c >= 0xFDD0 && c <= 0xFDEF) || (c & 0xFFFE) == 0xFFFE;
}

static void put_number(struct runes *out, uint32_t c)
{
    if (!c || c > RUNE_MAX || (c >= 0xD800 && c <= 0xDFFF))
        runes_put(out, RUNE_BAD);
    else if (c >= 0x80 && c <= 0x9F)
        runes_put(out, html_windows_1252(c));
    else if (!is_forbidden(c))
        runes_put(out, c);
}

/* p[0..] is "&#": reads digits and ';'. Length used and *c (beyond RUNE_MAX: too large), or 0. */
static size_t read_number(uint32_t *c, const uint32_t *p, size_t n)
{
    size_t i = 2, start;
    int base = 10;
    if (i < n && (p[i] == 'x' || p[i] == 'X')) base = 16, i++;
    *c = 0;
    for (start = i; i < n && digit_value(p[i]) < base; i++)
        if (*c <= RUNE_MAX) *c = *c * (uint32_t)base + (uint32_t)digit_value(p[i]);
    if (i == start) return 0;
    return i + (i < n && p[i] == ';');
}

static int ends_name(uint32_t c)
{
    return c == '\t' || c == '\n' || c == '\f' || c == ' ' || c == '<' || c == '&' || c == '#' ||
           c == ';';
}

/* The longest known name after '&': whole and with ';', else its longest prefix of two or more
 * that may stand without. Length used, or 0. */
static size_t unescape_name(struct runes *out, const uint32_t *p, size_t n)
{
    char name[33];
    size_t len = 0;
    for (; len < 32 && 1 + len < n && !ends_name(p[1 + len]); len++)
        name[len] = p[1 + len] && p[1 + len] < 0x80 ? (char)p[1 + len] : 1; /* 1: in no name */
    if (1 + len < n && p[1 + len] == ';') {
        int row = entity_find(name, len);
        if (row >= 0) return entity_put(out, row), len + 2;
    }
    for (; len >= 2; len--) {
        int row = entity_find(name, len);
        if (row >= 0 && entity_values[row] & ENTITY_BARE) return entity_put(out, row), len + 1;
    }
    return 0;
}

void html_unescape(struct runes *out, const uint32_t *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint32_t c;
        size_t used = 0;
        if (p[i] != '&') {
            runes_put(out, p[i++]);
            continue;
        }
        if (i + 1 < n && p[i + 1] == '#') {
            used = read_number(&c, p + i, n - i);
            if (used) put_number(out, c);
        } else {
            used = unescape_name(out, p + i, n - i);
        }
        if (!used) runes_put(out, '&');
        i += used ? used : 1;
    }
}

/* &name; or &NAME;, as far as ftfy knows them. 1 when replaced. */
static int fix_name(struct runes *out, const uint32_t *p, size_t n)
{
    char name[25];
    for (size_t i = 0; i < n; i++) name[i] = (char)p[i];
    int row = entity_find(name, n);
    if (row >= 0) return entity_put(out, row), 1;
    for (size_t i = 0; i < n; i++) {
        if (name[i] >= 'a' && name[i] <= 'z') return 0;
        if (name[i] >= 'A' && name[i] <= 'Z') name[i] = (char)(name[i] + 32);
    }
    row = entity_find(name, n);
    if (row < 0 || !(entity_values[row] & ENTITY_CAPS)) return 0;
    put_capital(out, entity_values[row] >> 2);
    if (entity_second(row)) put_capital(out, entity_second(row));
    return 1;
}

/* &#...; when all of it is one number and does not itself make a ';'. 1 when replaced. */
static int fix_number(struct runes *out, const uint32_t *p, size_t n)
{
    uint32_t c;
    if (read_number(&c, p, n) != n || c == ';') return 0;
    put_number(out, c);
    return 1;
}

void html_fix(struct runes *out, const uint32_t *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t hash = i + 1 < n && p[i + 1] == '#', first = i + 1 + hash, end = first;
        if (p[i] == '&')
            while (end < n && end - first < 24 && is_alnum(p[end])) end++;
        if (end == first || end == n || p[end] != ';') {
            runes_put(out, p[i++]);
            continue;
        }
        int done =
            hash ? fix_number(out, p + i, end + 1 - i) : fix_name(out, p + first, end - first);
        if (!done) runes_add(out, p + i, end + 1 - i);
        i = end + 1;
    }
}

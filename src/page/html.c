/* html.c - escaping, and the few ways numbers are written.
 * One function decides what a code point may look like on a page; text and attributes share it,
 * so there is nothing to choose and nothing to forget. */
#include "page/html.h"
#include "text/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int is_bidi_control(uint32_t c)
{
    return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static int is_noncharacter(uint32_t c)
{
    return (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);
}

/* What is shown in place of c. */
static uint32_t shown(uint32_t c)
{
    if (c == '\t' || c == '\n' || c == '\r' || c == 0x2028 || c == 0x2029 || c == 0x85) return ' ';
    if (c < 0x20) return 0x2400 + c;
    if (c == 0x7f) return 0x2421;
    if (c < 0xa0 && c > 0x7f) return RUNE_BAD;
    return is_bidi_control(c) || is_noncharacter(c) ? RUNE_BAD : c;
}

static void put_plain(struct str *out, uint32_t c)
{
    char bytes[4];
    str_add(out, bytes, (size_t)utf8_put(bytes, c));
}

static void put_rune(struct str *out, uint32_t c)
{
    switch (c) {
    case '&': str_puts(out, "&amp;"); break;
    case '<': str_puts(out, "&lt;"); break;
    case '>': str_puts(out, "&gt;"); break;
    case '"': str_puts(out, "&quot;"); break;
    case '\'': str_puts(out, "&#39;"); break;
    default: put_plain(out, c);
    }
}

/* Characters as they are shown, each handed to put, at most so many. */
static void show(struct str *out, const char *p, size_t n, size_t most,
                 void (*put)(struct str *out, uint32_t c))
{
    uint32_t c;
    for (size_t count = 0; n; count++) {
        if (count == most) {
            str_puts(out, "\xe2\x80\xa6");
            return;
        }
        int len = utf8_next(&c, NULL, (const unsigned char *)p, n);
        put(out, shown(c));
        p += len, n -= (size_t)len;
    }
}

void html_clip(struct str *out, const char *p, size_t n, size_t most)
{
    show(out, p, n, most, put_rune);
}

void html_plain(struct str *out, const char *p, size_t n, size_t most)
{
    show(out, p, n, most, put_plain);
}

void html_text(struct str *out, const char *p, size_t n)
{
    html_clip(out, p, n, SIZE_MAX);
}

void html_json(struct str *out, const char *p, size_t n)
{
    char bytes[4];
    uint32_t c;
    str_putc(out, '"');
    while (n) {
        int len = utf8_next(&c, NULL, (const unsigned char *)p, n);
        int plain = c >= 0x20 && (c < 0x7f || c > 0x9f) && c != '"' && c != '\\' && c != '<' &&
                    c != '>' && c != '&' && c != '\'' && c != 0x2028 && c != 0x2029 &&
                    !is_bidi_control(c) && (!is_noncharacter(c) || c > 0xffff);
        if (plain)
            str_add(out, bytes, (size_t)utf8_put(bytes, c));
        else
            str_printf(out, "\\u%04x", (unsigned)c);
        p += len, n -= (size_t)len;
    }
    str_putc(out, '"');
}

/* long, long long, size_t: all 64 bits where darkroom runs. */
static void put_whole(struct str *out, char conversion, int is_long, va_list *ap)
{
    int64_t value = is_long ? va_arg(*ap, int64_t) : va_arg(*ap, int);
    if (conversion == 'u')
        str_printf(out, "%" PRIu64, is_long ? (uint64_t)value : (uint64_t)(unsigned)value);
    else
        str_printf(out, "%" PRId64, value);
}

/* One conversion at spec ("%.3f"): its value is taken and written; the length of the spec. */
static size_t put_value(struct str *out, const char *spec, va_list *ap)
{
    size_t at = 1;
    int precision = -1;
    if (spec[at] == '.' && spec[++at] == '*')
        precision = va_arg(*ap, int), at++;
    else if (spec[at - 1] == '.')
        precision = spec[at++] - '0';
    size_t length = strspn(spec + at, "lzj");
    char conversion = spec[at + length], one;
    const char *text;
    switch (conversion) {
    case '%': str_putc(out, '%'); break;
    case 'c':
        one = (char)va_arg(*ap, int);
        html_text(out, &one, 1);
        break;
    case 's':
        text = va_arg(*ap, const char *);
        html_text(out, text, precision < 0 ? strlen(text) : (size_t)precision);
        break;
    case 'd':
    case 'u': put_whole(out, conversion, length > 0, ap); break;
    case 'f': str_printf(out, "%.*f", precision, va_arg(*ap, double)); break;
    case 'g': str_printf(out, "%.*g", precision, va_arg(*ap, double)); break;
    default: assert(!"a conversion html_put knows");
    }
    return at + length + 1;
}

void html_put(struct str *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    while (*fmt) {
        size_t plain = strcspn(fmt, "%");
        str_add(out, fmt, plain);
        fmt += plain;
        if (*fmt) fmt += put_value(out, fmt, &ap);
    }
    va_end(ap);
}

void html_count(struct str *out, int64_t n)
{
    char digits[32];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n < 0 ? -(uint64_t)n : (uint64_t)n);
    if (n < 0) str_puts(out, "\xe2\x88\x92"); /* a true minus sign */
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) str_putc(out, ',');
        str_putc(out, digits[i]);
    }
}

void html_short(struct str *out, double n)
{
    static const char *const unit[] = {"", "k", "M", "G", "T"};
    int u = 0;
    while (fabs(n) >= 999.5 && u < 4) n /= 1000, u++;
    int whole = !u || fabs(n) >= 9.95 || fabs(n - nearbyint(n)) < 0.05;
    str_printf(out, whole ? "%.0f%s" : "%.1f%s", n, unit[u]);
}

void html_percent(struct str *out, int64_t part, int64_t whole)
{
    if (whole <= 0) return;
    double share = 100 * (double)part / (double)whole;
    if (part && share < 0.1)
        str_puts(out, "under 0.1 %");
    else if (part < whole && share > 99.9)
        str_puts(out, "over 99.9 %");
    else
        str_printf(out, share == floor(share) || share >= 99.95 ? "%.0f %%" : "%.1f %%", share);
}

void html_base64(struct str *out, const void *bytes, size_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = bytes;
    str_reserve(out, (n + 2) / 3 * 4);
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i;
        uint32_t v = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0);
        char four[4] = {digit[v >> 18], digit[v >> 12 & 63], left > 1 ? digit[v >> 6 & 63] : '=',
                        left > 2 ? digit[v & 63] : '='};
        str_add(out, four, 4);
    }
}

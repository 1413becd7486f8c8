/* source.c - errors that point at their place: the sentence, the text, carets under it. Of a long
 * text the part around the place is shown. */
#include "data/expr/token.h"
#include "base/err.h"
#include "base/str.h"
#include "text/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

enum { WINDOW = 72, SENTENCE = 400 };

static size_t rune_at(const struct source *s, size_t at, int *width)
{
    uint32_t c;
    size_t n = (size_t)utf8_next(&c, NULL, (const unsigned char *)s->text + at, s->n - at);
    *width = c < ' ' || c == 127 ? 1 : utf8proc_charwidth((utf8proc_int32_t)c);
    return n;
}

/* Columns that the bytes [from, to) take on a terminal. */
static int columns_of(const struct source *s, size_t from, size_t to)
{
    int sum = 0, width;
    for (size_t i = from; i < to; sum += width) i += rune_at(s, i, &width);
    return sum;
}

static int runes_of(const struct source *s, size_t to)
{
    int n = 0, width;
    for (size_t i = 0; i < to; n++) i += rune_at(s, i, &width);
    return n;
}

static size_t step_back(const struct source *s, size_t at)
{
    do at--;
    while (at && ((unsigned char)s->text[at] & 0xC0) == 0x80);
    return at;
}

/* The part of the text to show: up to WINDOW columns around `from`, most of them behind it. */
static void find_window(const struct source *s, size_t from, size_t *first, size_t *last)
{
    int room = WINDOW, width;
    *first = *last = from;
    while (*last < s->n && room > WINDOW / 3) {
        *last += rune_at(s, *last, &width);
        room -= width;
    }
    while (*first && room > 0) {
        *first = step_back(s, *first);
        rune_at(s, *first, &width);
        room -= width;
    }
    while (*last < s->n && room > 0) {
        *last += rune_at(s, *last, &width);
        room -= width;
    }
}

static void put_plain(struct str *out, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        str_putc(out, (unsigned char)p[i] < ' ' || p[i] == 127 ? ' ' : p[i]);
}

int source_refuse(const struct source *s, size_t from, size_t to, const char *more, const char *fmt,
                  ...)
{
    struct str out = {0};
    char sentence[SENTENCE];
    size_t first, last;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    find_window(s, from, &first, &last);
    if (to > last) to = last;
    int indent = columns_of(s, first, from) + (first ? 3 : 0), carets = columns_of(s, from, to);
    str_printf(&out, "character %d: ", runes_of(s, from) + 1);
    put_plain(&out, sentence, strlen(sentence));
    str_printf(&out, "\n    %s", first ? "..." : "");
    put_plain(&out, s->text + first, last - first);
    str_printf(&out, "%s\n    %*s", last < s->n ? "..." : "", indent, "");
    do str_putc(&out, '^');
    while (--carets > 0);
    if (more) str_puts(&out, more);
    int rc = err_set(ERR_USAGE, "%s", out.p);
    str_release(&out);
    return rc;
}

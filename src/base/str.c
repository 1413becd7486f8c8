/* str.c - growing strings and small string questions. */
#include "base/str.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void str_reserve(struct str *s, size_t more)
{
    size_t need = s->len + more + 1;
    if (need <= s->cap) return;
    s->cap = need < 2 * s->cap ? 2 * s->cap : need < 32 ? 32 : need;
    s->p = mem_resize(s->p, s->cap);
}

void str_add(struct str *s, const void *bytes, size_t n)
{
    str_reserve(s, n);
    if (n) memcpy(s->p + s->len, bytes, n);
    s->len += n;
    s->p[s->len] = 0;
}

void str_puts(struct str *s, const char *text)
{
    str_add(s, text, strlen(text));
}

void str_putc(struct str *s, char c)
{
    str_add(s, &c, 1);
}

void str_printf(struct str *s, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    str_reserve(s, (size_t)n);
    vsnprintf(s->p + s->len, (size_t)n + 1, fmt, again);
    va_end(again);
    s->len += (size_t)n;
}

void str_clear(struct str *s)
{
    s->len = 0;
    if (s->p) s->p[0] = 0;
}

void str_release(struct str *s)
{
    free(s->p);
    memset(s, 0, sizeof *s);
}

char *str_steal(struct str *s)
{
    str_reserve(s, 0);
    s->p[s->len] = 0;
    char *p = s->p;
    memset(s, 0, sizeof *s);
    return p;
}

int str_ends(const char *s, const char *tail)
{
    size_t n = strlen(s), m = strlen(tail);
    return n >= m && !memcmp(s + n - m, tail, m);
}

int str_starts(const char *s, const char *head)
{
    return !strncmp(s, head, strlen(head));
}

static int fold(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

int str_same(const char *a, const char *b)
{
    while (*a && fold(*a) == fold(*b)) a++, b++;
    return !*a && !*b;
}

int str_distance(const char *a, const char *b)
{
    enum { MAX = 128 };
    int row[MAX + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > MAX || m > MAX) return MAX;
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = diagonal + (fold(a[i - 1]) != fold(b[j - 1]));
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

const char *str_nearest(const char *word, const char *const *list)
{
    const char *best = NULL;
    int near = (int)strlen(word) / 2 + 1;
    for (; *list; list++) {
        int d = str_distance(word, *list);
        if (d < near) near = d, best = *list;
    }
    return best;
}

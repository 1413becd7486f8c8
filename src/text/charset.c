/* charset.c - sets of code points as sorted ranges. */
#include "text/regex_inside.h"
#include "base/mem.h"
#include "text/unicode.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

void charset_add(struct charset *s, uint32_t from, uint32_t to)
{
    vec_push(s->range, s->count, s->cap);
    s->range[s->count++] = (struct range){from, to};
}

static int by_start(const void *a, const void *b)
{
    uint32_t x = ((const struct range *)a)->from, y = ((const struct range *)b)->from;
    return (x > y) - (x < y);
}

void charset_tidy(struct charset *s)
{
    size_t n = 0;
    if (!s->count) return;
    qsort(s->range, s->count, sizeof *s->range, by_start);
    for (size_t i = 1; i < s->count; i++) {
        struct range *last = &s->range[n], next = s->range[i];
        if (next.from > last->to + 1)
            s->range[++n] = next;
        else if (next.to > last->to)
            last->to = next.to;
    }
    s->count = n + 1;
}

void charset_invert(struct charset *s)
{
    struct charset out = {0};
    uint32_t from = 0;
    charset_tidy(s);
    for (size_t i = 0; i < s->count; i++) {
        if (s->range[i].from > from) charset_add(&out, from, s->range[i].from - 1);
        from = s->range[i].to + 1;
    }
    if (from <= RUNE_MAX) charset_add(&out, from, RUNE_MAX);
    charset_release(s);
    *s = out;
}

static int has(const struct charset *s, size_t count, uint32_t c)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (s->range[mid].to < c)
            low = mid + 1;
        else
            high = mid;
    }
    return low < count && s->range[low].from <= c;
}

/* Pairs of code points that differ only in case, of about 2,900: found once. Two belong together
 * when the small letters of their capitals are the same, which also joins the three sigmas, the
 * long s and the Kelvin sign to their letters. */
struct pair {
    uint32_t c, other;
};
static struct pair *pairs;
static size_t pair_count;
static pthread_once_t pairs_found = PTHREAD_ONCE_INIT;

static void find_pairs(void)
{
    size_t cap = 0;
    for (uint32_t c = 0; c < 0x20000; c++) {
        uint32_t low = (uint32_t)utf8proc_tolower(utf8proc_toupper((utf8proc_int32_t)c));
        if (low == c || !(unicode_bits(c) & RUNE_ASSIGNED) || !(unicode_bits(low) & RUNE_ASSIGNED))
            continue;
        vec_push(pairs, pair_count, cap);
        pairs[pair_count++] = (struct pair){c, low};
    }
}

/* Twice: the first round brings in the small letters, the second what else belongs to them. */
void charset_fold(struct charset *s)
{
    pthread_once(&pairs_found, find_pairs);
    for (int round = 0; round < 2; round++) {
        charset_tidy(s);
        size_t count = s->count;
        for (size_t i = 0; i < pair_count; i++) {
            if (has(s, count, pairs[i].c)) charset_add(s, pairs[i].other, pairs[i].other);
            if (has(s, count, pairs[i].other)) charset_add(s, pairs[i].c, pairs[i].c);
        }
    }
    charset_tidy(s);
}

void charset_word(struct charset *s)
{
    for (size_t i = 0; i < unicode_range_count; i++) {
        uint32_t next = i + 1 < unicode_range_count ? unicode_ranges[i + 1] >> 8 : RUNE_MAX + 1;
        if (unicode_ranges[i] & RUNE_WORD) charset_add(s, unicode_ranges[i] >> 8, next - 1);
    }
}

void charset_release(struct charset *s)
{
    free(s->range);
    memset(s, 0, sizeof *s);
}

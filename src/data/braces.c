/* braces.c - brace patterns. A pattern is a product of parts, a part is literal text or a group,
 * a group a range or a list of patterns. The names are counted before any is made. */
#include "data/braces.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 32, LENGTH = 64 << 10, DIGITS = 18 };

/* A stretch of the pattern. */
struct span {
    const char *p;
    size_t n;
};

struct range {
    long long from, to, step; /* step is positive; numbers, or places in the alphabet */
    int width;                /* zero-padded to this, sign included; 0 = not */
    int letters;
};

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* Bytes up to the '}' that closes the group beginning at p[0] = '{', or 0 when none does. */
static size_t group_end(const char *p, size_t n)
{
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\\')
            i++;
        else if (p[i] == '{')
            depth++;
        else if (p[i] == '}' && !--depth)
            return i;
    }
    return 0;
}

/* Cut the next part from the pattern: 0 at its end, 1 literal text, 2 the inside of a group. */
static int next_part(struct span *rest, struct span *part)
{
    size_t i = 0;
    if (!rest->n) return 0;
    while (i < rest->n && rest->p[i] != '{') i += rest->p[i] == '\\' ? 2 : 1;
    if (i > rest->n) i = rest->n;
    int group = !i;
    *part = (struct span){rest->p, i};
    if (group) {
        i = group_end(rest->p, rest->n) + 1;
        *part = (struct span){rest->p + 1, i - 2};
    }
    rest->p += i;
    rest->n -= i;
    return group ? 2 : 1;
}

/* Cut the next of "a,{b,c},d": 0 when the list is used up. */
static int next_item(struct span *rest, struct span *item)
{
    size_t i = 0, depth = 0;
    if (!rest->p) return 0;
    for (; i < rest->n; i++) {
        if (rest->p[i] == '\\')
            i++;
        else if (rest->p[i] == '{')
            depth++;
        else if (rest->p[i] == '}')
            depth--;
        else if (rest->p[i] == ',' && !depth)
            break;
    }
    if (i > rest->n) i = rest->n;
    *item = (struct span){rest->p, i};
    if (i == rest->n)
        rest->p = NULL;
    else
        *rest = (struct span){rest->p + i + 1, rest->n - i - 1};
    return 1;
}

static int is_list(struct span group)
{
    struct span item;
    next_item(&group, &item);
    return group.p != NULL;
}

/* -?[0-9]+ at the front of the span, which loses it. */
static int cut_number(struct span *s, long long *v, struct span *text)
{
    size_t sign = s->n && s->p[0] == '-', i = sign;
    *v = 0;
    for (; i < s->n && s->p[i] >= '0' && s->p[i] <= '9'; i++)
        if (i - sign < DIGITS) *v = 10 * *v + (s->p[i] - '0');
    *text = (struct span){s->p, i};
    if (i == sign || i - sign > DIGITS) return 0;
    if (sign) *v = -*v;
    *s = (struct span){s->p + i, s->n - i};
    return 1;
}

static int cut_letter(struct span *s, long long *v)
{
    const char *at = s->n && s->p[0] ? strchr(alphabet, s->p[0]) : NULL;
    if (!at) return 0;
    *v = at - alphabet;
    *s = (struct span){s->p + 1, s->n - 1};
    return 1;
}

static int cut_dots(struct span *s)
{
    if (s->n < 2 || memcmp(s->p, "..", 2)) return 0;
    *s = (struct span){s->p + 2, s->n - 2};
    return 1;
}

/* {07..10} is padded; {0..10} is not. */
static int is_padded(struct span number)
{
    size_t sign = number.p[0] == '-';
    return number.n > sign + 1 && number.p[sign] == '0';
}

static int parse_range(struct range *r, struct span s)
{
    struct span a, b, c;
    *r = (struct range){.step = 1};
    if (cut_number(&s, &r->from, &a)) {
        if (!cut_dots(&s) || !cut_number(&s, &r->to, &b)) return 0;
        if (is_padded(a) || is_padded(b)) r->width = (int)(a.n > b.n ? a.n : b.n);
    } else {
        if (!cut_letter(&s, &r->from) || !cut_dots(&s) || !cut_letter(&s, &r->to)) return 0;
        r->letters = 1;
    }
    if (!s.n) return 1;
    if (!cut_dots(&s) || !cut_number(&s, &r->step, &c) || s.n) return 0;
    r->step = llabs(r->step);
    if (!r->step) r->step = 1;
    return 1;
}

static unsigned long long range_count(const struct range *r)
{
    return (unsigned long long)llabs(r->to - r->from) / (unsigned long long)r->step + 1;
}

static int too_many(size_t limit)
{
    return err_set(ERR_USAGE, "the braces stand for more than %zu names", limit);
}

/* How many names; at most limit. */
static int count_names(size_t *out, struct span pattern, size_t limit, int depth)
{
    struct span part, item;
    struct range range;
    size_t product = 1;
    if (depth > DEPTH) return err_set(ERR_USAGE, "braces are nested deeper than %d levels", DEPTH);
    for (int kind; (kind = next_part(&pattern, &part));) {
        unsigned long long sum = 0;
        size_t n;
        if (kind == 1) continue;
        if (parse_range(&range, part))
            sum = range_count(&range);
        else {
            while (next_item(&part, &item)) { /* one item when it is no list */
                int rc = count_names(&n, item, limit, depth + 1);
                if (rc) return rc;
                sum += n;
                if (sum > limit) break;
            }
        }
        if (sum > limit || mem_mul_overflows(product, sum, &product) || product > limit)
            return too_many(limit);
    }
    *out = product;
    return 0;
}

/* Put the text behind every name. */
static void append(struct names *names, const char *p, size_t n)
{
    for (size_t i = 0; i < names->count; i++) {
        size_t len = strlen(names->list[i]);
        names->list[i] = mem_resize(names->list[i], len + n + 1);
        memcpy(names->list[i] + len, p, n);
        names->list[i][len + n] = 0;
    }
}

/* names = names x tails. */
static void multiply(struct names *names, struct names *tails)
{
    struct names out = {0};
    struct str s = {0};
    for (size_t i = 0; i < names->count; i++)
        for (size_t k = 0; k < tails->count; k++) {
            str_clear(&s);
            str_puts(&s, names->list[i]);
            str_puts(&s, tails->list[k]);
            names_add(&out, s.p ? s.p : "");
        }
    str_release(&s);
    names_release(names);
    names_release(tails);
    *names = out;
}

static void add_range(struct names *out, const struct range *r)
{
    char text[32];
    long long v = r->from, step = r->from <= r->to ? r->step : -r->step;
    for (unsigned long long n = range_count(r); n; n--, v += step) {
        if (r->letters)
            snprintf(text, sizeof text, "%c", alphabet[v]);
        else
            snprintf(text, sizeof text, "%0*lld", r->width, v);
        names_add(out, text);
    }
}

/* Every name of the pattern, backslashes kept: what is pasted together is not read again. */
static void expand(struct names *out, struct span pattern)
{
    struct span part, item;
    struct names names = {0};
    names_add(&names, "");
    for (int kind; (kind = next_part(&pattern, &part));) {
        struct names group = {0};
        struct range range;
        if (kind == 1) {
            append(&names, part.p, part.n);
        } else if (parse_range(&range, part)) {
            add_range(&group, &range);
            multiply(&names, &group);
        } else {
            int list = is_list(part);
            if (!list) append(&names, "{", 1);
            while (next_item(&part, &item)) expand(&group, item);
            multiply(&names, &group);
            if (!list) append(&names, "}", 1);
        }
    }
    for (size_t i = 0; i < names.count; i++) {
        vec_push(out->list, out->count, out->cap);
        out->list[out->count++] = names.list[i];
    }
    free(names.list);
}

static void strip_backslashes(char *s)
{
    char *to = s;
    for (; *s; s++) {
        if (*s == '\\' && s[1]) s++;
        *to++ = *s;
    }
    *to = 0;
}

static int is_balanced(const char *p)
{
    size_t depth = 0;
    for (; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '{')
            depth++;
        else if (*p == '}' && !depth--)
            return 0;
    }
    return !depth;
}

int braces_expand(struct names *out, const char *pattern, size_t limit)
{
    struct span all = {pattern, strlen(pattern)};
    size_t count, first = out->count;
    if (all.n > LENGTH) return err_set(ERR_USAGE, "a pattern of more than 64 KiB");
    if (!is_balanced(pattern)) return err_set(ERR_USAGE, "unbalanced braces in %s", pattern);
    int rc = count_names(&count, all, limit, 0);
    if (rc) return err_wrap(rc, "%s", pattern);
    if (count > ((size_t)4 << 30) / (all.n + 32)) return too_many(((size_t)4 << 30) / (all.n + 32));
    expand(out, all);
    for (size_t i = first; i < out->count; i++) strip_backslashes(out->list[i]);
    return 0;
}

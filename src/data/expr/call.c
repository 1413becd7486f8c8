/* call.c - the functions of the filter language, each over many rows. A function of nothing is
 * nothing: null in, null out, except for coalesce. */
#include "data/expr/tree.h"
#include "text/unicode.h"

#include <math.h>
#include <string.h>

enum { NO_VALUE = BIT_UNKNOWN | BIT_NULL };

static int is_there(const uint8_t *valid, size_t i)
{
    return !valid || valid[i];
}

/* Code points: every byte but those that continue one. */
static int64_t length(struct parquet_slice s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return (int64_t)n;
}

static struct vec call_len(struct expr *e, const struct node *n)
{
    int64_t *out = rows_alloc(e, sizeof *out);
    struct vec a = node_eval(e, n->kid);
    const struct parquet_slice *s = a.v;
    for (size_t i = 0; i < e->n; i++) out[i] = length(s[i]);
    return (struct vec){COLUMN_INT, out, a.valid};
}

static int begins(struct parquet_slice s, struct parquet_slice part)
{
    return s.n >= part.n && (!part.n || !memcmp(s.p, part.p, part.n));
}

static int ends(struct parquet_slice s, struct parquet_slice part)
{
    return s.n >= part.n && (!part.n || !memcmp(s.p + s.n - part.n, part.p, part.n));
}

static int holds(struct parquet_slice s, struct parquet_slice part)
{
    return !part.n || (s.n >= part.n && memmem(s.p, s.n, part.p, part.n));
}

static struct vec call_search(struct expr *e, const struct node *n)
{
    uint8_t *out = rows_alloc(e, 1);
    struct vec a = node_eval(e, n->kid), b = a;
    if (n->call != CALL_MATCHES) b = node_eval(e, n->kid->next);
    const struct parquet_slice *s = a.v, *part = b.v;
    for (size_t i = 0; i < e->n; i++) {
        if (!is_there(a.valid, i) || !is_there(b.valid, i))
            out[i] = NO_VALUE;
        else if (n->call == CALL_MATCHES)
            out[i] = (uint8_t)regex_find(n->extra->regex, s[i].p, s[i].n);
        else if (n->call == CALL_CONTAINS)
            out[i] = (uint8_t)holds(s[i], part[i]);
        else
            out[i] =
                (uint8_t)(n->call == CALL_STARTS ? begins(s[i], part[i]) : ends(s[i], part[i]));
    }
    return (struct vec){COLUMN_BOOL, out, NULL};
}

static int is_ascii(struct parquet_slice s)
{
    unsigned char all = 0;
    for (size_t i = 0; i < s.n; i++) all |= (unsigned char)s.p[i];
    return all < 128;
}

static void add_ascii(struct str *out, struct parquet_slice s, char first, char last)
{
    str_reserve(out, s.n);
    for (size_t i = 0; i < s.n; i++)
        out->p[out->len++] = s.p[i] >= first && s.p[i] <= last ? s.p[i] ^ 32 : s.p[i];
}

static void add_changed(struct extra *x, struct parquet_slice s, int lower)
{
    runes_clear(&x->runes);
    runes_clear(&x->changed);
    utf8_decode(&x->runes, s.p, s.n);
    if (lower)
        unicode_lower(&x->changed, x->runes.p, x->runes.n);
    else
        for (size_t i = 0; i < x->runes.n; i++) unicode_upper(&x->changed, x->runes.p[i]);
    utf8_encode(&x->text, x->changed.p, x->changed.n);
}

/* The bytes of all rows go into one string, which may move while it grows: until it is whole the
 * slices only know their lengths. */
static struct vec call_case(struct expr *e, const struct node *n)
{
    struct parquet_slice *out = rows_alloc(e, sizeof *out);
    struct vec a = node_eval(e, n->kid);
    const struct parquet_slice *s = a.v;
    struct extra *x = n->extra;
    int lower = n->call == CALL_LOWER;
    str_clear(&x->text);
    for (size_t i = 0; i < e->n; i++) {
        size_t start = x->text.len;
        if (is_ascii(s[i]))
            add_ascii(&x->text, s[i], lower ? 'A' : 'a', lower ? 'Z' : 'z');
        else
            add_changed(x, s[i], lower);
        out[i].n = x->text.len - start;
    }
    const char *p = x->text.p ? x->text.p : "";
    for (size_t i = 0; i < e->n; p += out[i++].n) out[i].p = p;
    return (struct vec){COLUMN_STRING, out, a.valid};
}

/* ---- numbers ---- */

static struct vec extreme_ints(struct expr *e, const struct node *n)
{
    int64_t *out = rows_alloc(e, sizeof *out);
    uint8_t *valid = rows_alloc(e, 1);
    struct arena mark = e->scratch;
    memset(valid, 1, e->n);
    for (const struct node *k = n->kid; k; k = k->next) {
        struct vec a = node_eval(e, k);
        const int64_t *v = a.v;
        for (size_t i = 0; i < e->n; i++) {
            if (k == n->kid || (n->call == CALL_MIN ? v[i] < out[i] : v[i] > out[i])) out[i] = v[i];
            valid[i] &= is_there(a.valid, i);
        }
        rows_rewind(e, mark);
    }
    return (struct vec){COLUMN_INT, out, valid};
}

static struct vec extreme_reals(struct expr *e, const struct node *n)
{
    double *out = rows_alloc(e, sizeof *out);
    struct arena mark = e->scratch;
    for (const struct node *k = n->kid; k; k = k->next) {
        const double *v = vec_reals(e, node_eval(e, k));
        for (size_t i = 0; i < e->n; i++)
            if (k == n->kid || isnan(v[i]) || (n->call == CALL_MIN ? v[i] < out[i] : v[i] > out[i]))
                out[i] = v[i]; /* once NaN, nothing is below or above it */
        rows_rewind(e, mark);
    }
    return (struct vec){COLUMN_REAL, out, NULL};
}

static struct vec call_abs(struct expr *e, const struct node *n)
{
    double *out = rows_alloc(e, sizeof *out);
    const double *v = vec_reals(e, node_eval(e, n->kid));
    for (size_t i = 0; i < e->n; i++) out[i] = fabs(v[i]);
    return (struct vec){COLUMN_REAL, out, NULL};
}

/* ---- coalesce: the first operand that has a value ---- */

static struct vec coalesce_reals(struct expr *e, const struct node *n)
{
    double *out = rows_alloc(e, sizeof *out);
    struct arena mark = e->scratch;
    for (const struct node *k = n->kid; k; k = k->next) {
        const double *v = vec_reals(e, node_eval(e, k));
        for (size_t i = 0; i < e->n; i++)
            if (k == n->kid || isnan(out[i])) out[i] = v[i];
        rows_rewind(e, mark);
    }
    return (struct vec){COLUMN_REAL, out, NULL};
}

static struct vec coalesce_bools(struct expr *e, const struct node *n)
{
    uint8_t *out = rows_alloc(e, 1);
    struct arena mark = e->scratch;
    for (const struct node *k = n->kid; k; k = k->next) {
        const uint8_t *v = node_eval(e, k).v;
        for (size_t i = 0; i < e->n; i++)
            if (k == n->kid || out[i] & BIT_NULL) out[i] = v[i];
        rows_rewind(e, mark);
    }
    return (struct vec){COLUMN_BOOL, out, NULL};
}

static struct vec coalesce_others(struct expr *e, const struct node *n)
{
    size_t size = n->type == COLUMN_INT ? sizeof(int64_t) : sizeof(struct parquet_slice);
    char *out = rows_alloc(e, size);
    uint8_t *valid = rows_alloc(e, 1);
    struct arena mark = e->scratch;
    memset(valid, 0, e->n);
    memset(out, 0, e->n * size);
    for (const struct node *k = n->kid; k; k = k->next) {
        struct vec a = node_eval(e, k);
        for (size_t i = 0; i < e->n; i++) {
            if (valid[i] || !is_there(a.valid, i)) continue;
            memcpy(out + i * size, (const char *)a.v + i * size, size);
            valid[i] = 1;
        }
        rows_rewind(e, mark);
    }
    return (struct vec){n->type, out, valid};
}

struct vec node_call(struct expr *e, const struct node *n)
{
    switch (n->call) {
    case CALL_LEN: return call_len(e, n);
    case CALL_CONTAINS:
    case CALL_MATCHES:
    case CALL_STARTS:
    case CALL_ENDS: return call_search(e, n);
    case CALL_LOWER:
    case CALL_UPPER: return call_case(e, n);
    case CALL_MIN:
    case CALL_MAX: return n->type == COLUMN_INT ? extreme_ints(e, n) : extreme_reals(e, n);
    case CALL_ABS: return call_abs(e, n);
    case CALL_COALESCE: break;
    }
    return n->type == COLUMN_REAL   ? coalesce_reals(e, n)
           : n->type == COLUMN_BOOL ? coalesce_bools(e, n)
                                    : coalesce_others(e, n);
}

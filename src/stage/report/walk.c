/* walk.c - the rows of a place in order. A partition that lacks a file (not scored yet, or of an
 * older run) is walked all the same: its columns are absent, not wrong. */
#include "stage/report/report.h"
#include "base/log.h"
#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void look_around(struct report *r)
{
    int64_t n = sidecars_count(r->sidecars);
    r->has = mem_alloc((size_t)n + 1);
    r->first = mem_alloc(((size_t)n + 1) * sizeof *r->first);
    for (int64_t i = 0; i < n; i++) {
        int64_t rows = sidecars_rows(r->sidecars, i);
        for (int k = 0; k < SIDE_COUNT; k++)
            if (rows >= 0 && sidecars_has(r->sidecars, (enum sidecar)k, i))
                r->has[i] |= (uint8_t)(1 << k);
        r->first[i + 1] = r->first[i] + (rows > 0 ? rows : 0);
    }
    r->rows = r->first[n];
}

void report_say(struct report *r, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    log_warn("%s", text);
    names_add(&r->words, text);
}

/* Scores of other pictures are as good as none, but that must be said. */
static void say_stale(struct report *r)
{
    static const struct {
        enum sidecar kind;
        const char *what, *verb;
    } kinds[] = {{SIDE_SCORES, "scores", "score"}, {SIDE_KEEP, "verdicts of filter", "filter"}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        int64_t n = sidecars_stale(r->sidecars, kinds[k].kind);
        if (n)
            report_say(r,
                       "the %s of %lld partition%s were made from other files than those here and "
                       "are left out; run darkroom %s again",
                       kinds[k].what, (long long)n, n == 1 ? "" : "s", kinds[k].verb);
    }
}

int report_open(struct report *r, const char *url)
{
    int rc = sidecars_open(&r->sidecars, url);
    if (!rc) rc = columns_load(&r->columns, r->sidecars);
    if (!rc) look_around(r);
    if (!rc) say_stale(r);
    return rc;
}

void report_close(struct report *r)
{
    free(r->has);
    free(r->first);
    names_release(&r->words);
    columns_release(&r->columns);
    sidecars_close(r->sidecars);
}

int64_t report_row(const struct report *r, int64_t part, int64_t row)
{
    return r->first[part] + row;
}

int column_number(double *out, const struct column *c, size_t i)
{
    if (!c || (c->valid && !c->valid[i])) return 0;
    if (c->type == COLUMN_REAL)
        *out = c->reals[i];
    else if (c->type == COLUMN_INT)
        *out = (double)c->ints[i];
    else
        return 0;
    return fabs(*out) < 1e300; /* nan is not; beyond that, no span can be told */
}

struct text text_copy(const char *p, size_t n, size_t most)
{
    if (n > most) n = most;
    struct text t = {mem_alloc(n + 1), n};
    if (n) memcpy(t.p, p, n);
    return t;
}

int row_named(const struct rows *rows, size_t column, size_t i, const char *name, size_t n)
{
    const struct column *c = rows->col[column];
    char text[24];
    if (!c || (c->valid && !c->valid[i])) return 0;
    if (c->type == COLUMN_STRING) return c->strings[i].n == n && !memcmp(c->strings[i].p, name, n);
    if (c->type != COLUMN_INT) return 0;
    return (size_t)snprintf(text, sizeof text, "%" PRId64, c->ints[i]) == n &&
           !memcmp(text, name, n);
}

static int walk_part(struct report *r, int64_t part, const struct column_info *const *want,
                     size_t n, rows_fn *fn, void *arg)
{
    const struct column_info *have[WALK_COLUMNS];
    int at[WALK_COLUMNS];
    size_t count = 0;
    for (size_t k = 0; k < n; k++) {
        int there = r->has[part] >> want[k]->from & 1;
        at[k] = there ? (int)count : -1;
        if (there) have[count++] = want[k];
    }
    struct batch *b;
    struct rows rows = {.part = part};
    int rc = batch_open(&b, r->sidecars, part, have, count);
    while (!rc && !(rc = batch_next(b, 0, &rows.count))) {
        for (size_t k = 0; k < n; k++)
            rows.col[k] = at[k] < 0 ? NULL : batch_column(b, (size_t)at[k]);
        fn(arg, &rows);
        rows.row += (int64_t)rows.count;
    }
    batch_close(b);
    return rc < 0 ? rc : 0;
}

int report_walk(struct report *r, const struct column_info *const *want, size_t n, rows_fn *fn,
                void *arg)
{
    int rc = 0;
    for (int64_t i = 0; i < sidecars_count(r->sidecars) && !rc; i++)
        if (sidecars_rows(r->sidecars, i) > 0 && (!r->only || r->only[i]))
            rc = walk_part(r, i, want, n, fn, arg);
    return rc;
}

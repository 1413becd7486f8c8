/* walk.c - the rows of a place in order. A partition that lacks a file (not scored yet, or of an
 * older run) is walked all the same: its columns are absent, not wrong. */
#include "stage/report/report.h"

#include <math.h>
#include <string.h>

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

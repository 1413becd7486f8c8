/* entries.c - removed.parquet and its like, row by row. Rows that the place does not have are
 * passed over: the tables may be older than the place. */
#include "stage/report/entries.h"
#include "base/err.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    enum parquet_type type;
} columns[ENTRY_COLUMNS] = {{"id", PARQUET_STRING},     {"part", PARQUET_INT32},
                            {"row", PARQUET_INT64},     {"nearest_cent", PARQUET_INT32},
                            {"max_id", PARQUET_STRING}, {"cosine_sim_score", PARQUET_FLOAT}};

static int64_t whole(const struct parquet_values *v, size_t i)
{
    return !v || !v->ints || (v->valid && !v->valid[i]) ? -1 : v->ints[i];
}

static struct parquet_slice text(const struct parquet_values *v, size_t i)
{
    if (!v || !v->slices || (v->valid && !v->valid[i])) return (struct parquet_slice){"", 0};
    return v->slices[i];
}

static void give_rows(const struct sidecars *s, const struct parquet_values *v[ENTRY_COLUMNS],
                      size_t rows, entry_fn *fn, void *arg)
{
    for (size_t i = 0; i < rows; i++) {
        const struct parquet_values *score = v[ENTRY_SCORE];
        struct entry e = {text(v[ENTRY_ID], i),   text(v[ENTRY_NEAREST], i),  -1,
                          whole(v[ENTRY_ROW], i), whole(v[ENTRY_CLUSTER], i), NAN};
        e.part = sidecars_find(s, whole(v[ENTRY_PART], i));
        if (score && score->reals && (!score->valid || score->valid[i])) e.score = score->reals[i];
        if (e.part < 0 || e.row < 0 || e.row >= sidecars_rows(s, e.part)) continue;
        fn(arg, &e);
    }
}

static int read_table(const struct sidecars *s, struct parquet_reader *t, unsigned want,
                      entry_fn *fn, void *arg)
{
    int col[ENTRY_COLUMNS], rc;
    size_t rows;
    for (int k = 0; k < ENTRY_COLUMNS; k++) {
        col[k] = want >> k & 1 ? parquet_find(t, columns[k].name) : -1;
        if (want >> k & 1 &&
            (col[k] < 0 || parquet_field(t, (size_t)col[k])->type != columns[k].type))
            return err_set(ERR_INPUT, "has no column %s of type %s", columns[k].name,
                           parquet_type_name(columns[k].type));
        if (col[k] >= 0) parquet_select(t, (size_t)col[k]);
    }
    while (!(rc = parquet_next(t, 0, &rows))) {
        const struct parquet_values *v[ENTRY_COLUMNS];
        for (int k = 0; k < ENTRY_COLUMNS; k++)
            v[k] = col[k] < 0 ? NULL : parquet_values(t, (size_t)col[k]);
        give_rows(s, v, rows, fn, arg);
    }
    return rc < 0 ? rc : 0;
}

int entries_each(const struct sidecars *s, const char *name, unsigned want, entry_fn *fn, void *arg,
                 int64_t *rows)
{
    struct place *p = sidecars_place(s);
    struct file_map m = {0};
    struct parquet_reader *t = NULL;
    int rc = place_map(p, name, &m);
    if (!rc) rc = parquet_open(&t, m.p, m.n);
    if (!rc && rows) *rows = (int64_t)parquet_rows(t);
    if (!rc && fn) rc = read_table(s, t, want, fn, arg);
    parquet_close(t);
    file_unmap(&m);
    return rc ? err_wrap(rc, "%s/%s", place_url(p), name) : 0;
}

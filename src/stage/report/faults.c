/* faults.c - errors by status, with the first few samples of each. */
#include "stage/report/report.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

enum { FAULTS_MAX = 64, TEXT_MAX = 300 };

static struct fault *fault_of(struct report *r, const struct parquet_slice *status)
{
    for (size_t i = 0; i < r->faults; i++)
        if (strlen(r->fault[i].status) == status->n &&
            !memcmp(r->fault[i].status, status->p, status->n))
            return &r->fault[i];
    if (r->faults == FAULTS_MAX) return NULL;
    vec_push(r->fault, r->faults, r->faults_cap);
    struct fault *f = &r->fault[r->faults++];
    *f = (struct fault){.status = mem_strndup(status->p, status->n)};
    return f;
}

static struct text copy(const struct parquet_values *v, size_t i)
{
    int none = !v || !v->slices || (v->valid && !v->valid[i]);
    return text_copy(none ? "" : v->slices[i].p, none ? 0 : v->slices[i].n, TEXT_MAX);
}

static int read_file(void *arg, struct parquet_reader *t, int64_t partition)
{
    struct report *r = arg;
    (void)partition;
    static const char *const names[] = {"status", "key", "shard", "message"};
    const struct parquet_values *v[4];
    int col[4], rc;
    size_t rows;
    for (int k = 0; k < 4; k++) {
        col[k] = parquet_find(t, names[k]);
        if (col[k] >= 0) parquet_select(t, (size_t)col[k]);
    }
    if (col[0] < 0 || parquet_field(t, (size_t)col[0])->type != PARQUET_STRING)
        return err_set(ERR_INPUT, "has no column status");
    while (!(rc = parquet_next(t, 0, &rows))) {
        for (int k = 0; k < 4; k++) v[k] = col[k] < 0 ? NULL : parquet_values(t, (size_t)col[k]);
        for (size_t i = 0; i < rows; i++) {
            struct fault *f = fault_of(r, &v[0]->slices[i]);
            if (!f) continue;
            f->count++;
            if (f->examples == EXAMPLES) continue;
            f->example[f->examples++] =
                (struct fault_example){copy(v[1], i), copy(v[2], i), copy(v[3], i)};
        }
    }
    return rc < 0 ? rc : 0;
}

static int by_count(const void *a, const void *b)
{
    const struct fault *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? 1 : -1;
    return strcmp(x->status, y->status);
}

int report_errors(struct report *r, errors_fn *fn, void *arg)
{
    struct place *p = sidecars_place(r->sidecars);
    struct str name = {0};
    int rc = 0;
    for (int64_t i = 0; i < sidecars_count(r->sidecars) && !rc; i++) {
        struct file_map m = {0};
        struct parquet_reader *t = NULL;
        sidecars_name(&name, r->sidecars, SIDE_ERRORS, i);
        /* also of a partition without receipt: a missing shard is told only there */
        if (!place_exists(p, name.p, NULL)) continue;
        rc = place_map(p, name.p, &m);
        if (!rc) rc = parquet_open(&t, m.p, m.n);
        if (!rc) rc = fn(arg, t, sidecars_number(r->sidecars, i));
        if (rc) rc = err_wrap(rc, "%s/%s", place_url(p), name.p);
        parquet_close(t);
        file_unmap(&m);
    }
    str_release(&name);
    return rc;
}

int report_faults(struct report *r)
{
    int rc = report_errors(r, read_file, r);
    if (r->faults) qsort(r->fault, r->faults, sizeof *r->fault, by_count);
    return rc;
}

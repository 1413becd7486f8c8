/* embedding.c - the embeddings of one partition as one array in memory that is not ours: a mapped
 * npy file, or a list column unpacked once into a nameless file and mapped, so that k-means may
 * go over 100 M rows many times and hold none of them. */
#include "data/sidecar.h"
#include "base/mem.h"
#include "format/npy.h"
#include "format/parquet/parquet.h"
#include "format/weights_f32.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { EMBEDDING_MAX = 65536 }; /* numbers of one row */

static int open_npy(struct embeddings *e, struct place *p, const char *name)
{
    struct npy a;
    int rc = place_map(p, name, &e->map);
    if (rc) return rc;
    rc = npy_decode(&a, e->map.p, e->map.n);
    if (!rc && (a.rank != 2 || a.dim[1] < 1 || a.dim[1] > EMBEDDING_MAX))
        rc = err_set(ERR_INPUT, "is no table of embeddings [rows, dim]");
    if (!rc && strcmp(a.descr, "<f2") && strcmp(a.descr, "<f4"))
        rc = err_set(ERR_INPUT, "has numbers of type %s, not float16 or float32", a.descr);
    if (rc) return err_wrap(rc, "%s/%s", place_url(p), name);
    e->rows = a.dim[0];
    e->dim = (int)a.dim[1];
    e->half = a.item == 2;
    e->data = a.data;
    return 0;
}

/* ---- list columns ---- */

static int list_column(const struct parquet_reader *r)
{
    static const char *const known[] = {"image_embedding", "embeddings", "embedding"};
    int only = -1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int col = parquet_find(r, known[i]);
        if (col >= 0 && parquet_field(r, (size_t)col)->type == PARQUET_FLOATS) return col;
    }
    for (size_t i = 0; i < parquet_fields(r); i++) {
        if (parquet_field(r, i)->type != PARQUET_FLOATS) continue;
        if (only >= 0) return -1;
        only = (int)i;
    }
    return only;
}

static int write_all(int fd, const void *p, size_t n)
{
    for (const char *at = p; n;) {
        ssize_t w = write(fd, at, n);
        if (w <= 0) return err_set(ERR_OUTPUT, "the scratch file cannot be written");
        at += w;
        n -= (size_t)w;
    }
    return 0;
}

/* Rows without a list are rows of NaN: whoever reads them sets them aside. */
static int unpack_batch(struct embeddings *e, const struct parquet_values *v, int fd, float *blank)
{
    int rc = 0;
    for (size_t i = 0; i < v->rows && !rc; i++) {
        size_t n = v->starts[i + 1] - v->starts[i];
        int null = !n || (v->valid && !v->valid[i]);
        if (!null && !e->dim) {
            if (n > EMBEDDING_MAX) return err_set(ERR_INPUT, "row of %zu numbers", n);
            e->dim = (int)n;
            for (int64_t k = 0; k < e->rows && !rc; k++) rc = write_all(fd, blank, n * 4);
        }
        if (!null && n != (size_t)e->dim)
            rc = err_set(ERR_INPUT, "row %lld has %zu numbers, others %d", (long long)e->rows, n,
                         e->dim);
        else if (e->dim && !rc)
            rc = write_all(fd, null ? blank : v->floats + v->starts[i], (size_t)e->dim * 4);
        e->rows++;
    }
    return rc;
}

static int unpack(struct embeddings *e, struct parquet_reader *r, size_t col, int fd)
{
    float *blank = mem_alloc(EMBEDDING_MAX * sizeof *blank);
    size_t rows;
    int rc;
    for (int i = 0; i < EMBEDDING_MAX; i++) blank[i] = NAN;
    parquet_select(r, col);
    while (!(rc = parquet_next(r, 4096, &rows)))
        if ((rc = unpack_batch(e, parquet_values(r, col), fd, blank))) break;
    free(blank);
    if (rc < 0) return rc;
    e->copied = (size_t)e->rows * (size_t)e->dim * 4;
    if (!e->copied) return 0;
    void *p = mmap(NULL, e->copied, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return err_set(ERR_FAIL, "the scratch file cannot be mapped");
    e->data = e->copy = p;
    return 0;
}

static int open_lists(struct embeddings *e, struct place *p, const char *name)
{
    struct parquet_reader *r = NULL;
    struct file_map m = {0};
    int fd = -1, rc = place_map(p, name, &m);
    if (!rc) rc = parquet_open(&r, m.p, m.n);
    int col = rc ? -1 : list_column(r);
    if (!rc && col < 0)
        rc = err_set(ERR_INPUT, "has no column image_embedding of float lists, and no other that "
                                "could be meant");
    if (!rc) rc = place_scratch(p, &fd);
    if (!rc) rc = unpack(e, r, (size_t)col, fd);
    if (fd >= 0) close(fd);
    parquet_close(r);
    file_unmap(&m);
    return rc ? err_wrap(rc, "%s/%s", place_url(p), name) : 0;
}

int embeddings_open(struct embeddings *e, const struct sidecars *s, enum sidecar kind, int64_t i)
{
    struct place *p = sidecars_place(s);
    struct str name = {0};
    int64_t rows = sidecars_rows(s, i);
    memset(e, 0, sizeof *e);
    sidecars_name(&name, s, kind, i);
    int lists = sidecars_layout(s) == LAYOUT_NEMO && kind == SIDE_IMAGE, rc = 0;
    if (!sidecars_has(s, kind, i))
        rc = rows ? err_set(ERR_INPUT, "%s/%s: is not there; darkroom embed makes it", place_url(p),
                            name.p)
                  : 0;
    else
        rc = lists ? open_lists(e, p, name.p) : open_npy(e, p, name.p);
    if (!rc && e->rows != rows)
        rc = err_set(ERR_INPUT,
                     "%s/%s has %lld rows, but its partition %lld: they are of "
                     "different runs",
                     place_url(p), name.p, (long long)e->rows, (long long)rows);
    if (rc) embeddings_close(e);
    str_release(&name);
    return rc;
}

void embeddings_close(struct embeddings *e)
{
    if (e->copy) munmap(e->copy, e->copied);
    file_unmap(&e->map);
    memset(e, 0, sizeof *e);
}

void embeddings_get(float *out, const struct embeddings *e, int64_t from, int64_t n)
{
    size_t at = (size_t)from * (size_t)e->dim, count = (size_t)n * (size_t)e->dim;
    if (e->half)
        f16_read(out, (const char *)e->data + at * 2, count);
    else
        memcpy(out, (const char *)e->data + at * 4, count * 4);
}

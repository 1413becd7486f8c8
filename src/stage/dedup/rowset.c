/* rowset.c - see rowset.h. A reader gives views into the mapped files where rows stand together,
 * and copies where they do not; pages behind it are let go, so that the resident size does not
 * grow with the set. */
#include "stage/dedup/rowset.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/stop.h"
#include "format/weights_f32.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, READ_BYTES = 16 << 20 };

static size_t row_bytes(const struct rowset *r)
{
    return (size_t)r->dim * (r->half ? 2 : 4);
}

/* Whole pages of [p, p+n), so that neighbours are left alone. */
static void advise(const void *p, size_t n, int advice)
{
    uintptr_t first = ((uintptr_t)p + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = ((uintptr_t)p + n) / PAGE * PAGE;
    if (end > first) madvise((void *)first, end - first, advice);
}

static size_t part_bytes(const struct embeddings *e)
{
    return (size_t)e->rows * (size_t)e->dim * (e->half ? 2 : 4);
}

static int open_part(struct rowset *r, int64_t i)
{
    struct embeddings *e = &r->part[i];
    int rc = embeddings_open(e, r->sidecars, SIDE_IMAGE, i);
    if (rc || !e->rows) return rc;
    if (!e->dim)
        return err_set(ERR_INPUT, "%s: partition %lld has rows, but no embeddings",
                       place_url(sidecars_place(r->sidecars)),
                       (long long)sidecars_number(r->sidecars, i));
    if (r->dim && r->dim != e->dim)
        return err_set(ERR_INPUT,
                       "%s: partition %lld has embeddings of %d numbers, those before it of %d: "
                       "they are of different models",
                       place_url(sidecars_place(r->sidecars)),
                       (long long)sidecars_number(r->sidecars, i), e->dim, r->dim);
    r->dim = e->dim;
    r->half &= e->half;
    return 0;
}

int rowset_open(struct rowset *r, const struct sidecars *s, size_t budget)
{
    int64_t n = sidecars_count(s);
    int rc = 0;
    *r = (struct rowset){.sidecars = s, .parts = n, .half = 1, .budget = budget};
    r->part = mem_alloc(mem_mul((size_t)n + 1, sizeof *r->part));
    r->first = mem_alloc(mem_mul((size_t)n + 1, sizeof *r->first));
    for (int64_t i = 0; i < n && !rc; i++) {
        if (sidecars_rows(s, i) > 0) rc = open_part(r, i);
        r->first[i + 1] = r->first[i] + r->part[i].rows;
    }
    r->total = r->first[n];
    if (rc) rowset_close(r);
    return rc;
}

void rowset_close(struct rowset *r)
{
    for (int64_t i = 0; r->part && i < r->parts; i++) embeddings_close(&r->part[i]);
    free(r->part);
    free(r->first);
    memset(r, 0, sizeof *r);
}

int64_t rowset_part(const struct rowset *r, int64_t row)
{
    int64_t low = 0, high = r->parts; /* first[low] <= row < first[high] */
    while (high - low > 1) {
        int64_t mid = low + (high - low) / 2;
        if (r->first[mid] <= row)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static const char *row_at(const struct rowset *r, int64_t row)
{
    int64_t i = rowset_part(r, row);
    const struct embeddings *e = &r->part[i];
    return (const char *)e->data + (size_t)(row - r->first[i]) * (size_t)e->dim * (e->half ? 2 : 4);
}

void rowset_access(const struct rowset *r, enum access how)
{
    for (int64_t i = 0; i < r->parts; i++)
        advise(r->part[i].data, part_bytes(&r->part[i]),
               how == ACCESS_IN_ORDER ? MADV_SEQUENTIAL : MADV_RANDOM);
}

static int outgrows(const struct rowset *r)
{
    return (size_t)r->total > r->budget / (row_bytes(r) ? row_bytes(r) : 1);
}

void rowset_forget(const struct rowset *r)
{
    for (int64_t i = 0; outgrows(r) && i < r->parts; i++)
        advise(r->part[i].data, part_bytes(&r->part[i]), MADV_DONTNEED);
}

/* Row by row: the kernel joins neighbours, and does not wait for the disk. */
void rowset_expect(const struct rowset *r, const int64_t *rows, int64_t n)
{
    for (int64_t k = 0; outgrows(r) && k < n; k++) {
        uintptr_t p = (uintptr_t)row_at(r, rows[k]), page = p / PAGE * PAGE;
        madvise((void *)page, p - page + row_bytes(r), MADV_WILLNEED);
    }
}

static void copy_row(char *out, const struct rowset *r, int64_t row)
{
    const char *p = row_at(r, row);
    if (!r->half && r->part[rowset_part(r, row)].half)
        f16_read((float *)(void *)out, p, (size_t)r->dim);
    else
        memcpy(out, p, row_bytes(r));
}

void rowset_gather(void *out, const struct rowset *r, const int64_t *rows, int64_t n)
{
    for (int64_t k = 0; k < n; k++) copy_row((char *)out + (size_t)k * row_bytes(r), r, rows[k]);
}

void rowset_read(float *out, const struct rowset *r, int64_t row)
{
    int64_t i = rowset_part(r, row);
    embeddings_get(out, &r->part[i], row - r->first[i], 1);
}

/* ---- for algorithms ---- */

static void *room(struct rowset_reader *s, size_t n)
{
    if (n > s->held) {
        free(s->buffer);
        s->buffer = mem_aligned(n);
        s->held = n;
    }
    return s->buffer;
}

static int read_list(struct rowset_reader *s, struct tensor *out, int64_t first, int64_t n)
{
    const struct rowset *r = s->set;
    void *p = room(s, mem_mul((size_t)n, row_bytes(r)));
    rowset_gather(p, r, s->list + first, n);
    s->gathered += (size_t)n * row_bytes(r);
    if (s->gathered > r->budget / 4) {
        rowset_forget(r);
        s->gathered = 0;
    }
    *out = tensor_2d(p, r->half ? F16 : F32, n, r->dim);
    return 0;
}

/* A view of what is mapped, unless it stands at an odd address or in another type. */
static int read_all(struct rowset_reader *s, struct tensor *out, int64_t first, int64_t n)
{
    const struct rowset *r = s->set;
    int64_t i = rowset_part(r, first), left = r->first[i + 1] - first;
    const struct embeddings *e = &r->part[i];
    const char *p = row_at(r, first);
    size_t size = e->half ? 2 : 4;
    if (n > left) n = left;
    s->seen = p;
    s->seen_bytes = (size_t)n * (size_t)e->dim * size;
    if ((uintptr_t)p % size) {
        void *copy = room(s, s->seen_bytes);
        memcpy(copy, p, s->seen_bytes);
        p = copy;
    }
    union { /* a tensor may be written to; this one is not */
        const char *from;
        char *to;
    } at = {p};
    *out = tensor_2d(at.to, e->half ? F16 : F32, n, e->dim);
    return 0;
}

static int read_rows(void *state, struct tensor *out, int64_t first, int64_t most)
{
    struct rowset_reader *s = state;
    int64_t cap = READ_BYTES / (int64_t)row_bytes(s->set);
    if (stop_asked()) return err_set(ERR_STOPPED, "stopped by a signal");
    if (s->seen_bytes && outgrows(s->set)) advise(s->seen, s->seen_bytes, MADV_DONTNEED);
    s->seen_bytes = 0;
    if (most > cap) most = cap > 0 ? cap : 1;
    return s->list ? read_list(s, out, first, most) : read_all(s, out, first, most);
}

struct rows rowset_rows(struct rowset_reader *state, const struct rowset *r, const int64_t *list,
                        int64_t count)
{
    *state = (struct rowset_reader){.set = r, .list = list};
    return (struct rows){.count = count, .dim = r->dim, .read = read_rows, .state = state};
}

void rowset_reader_release(struct rowset_reader *s)
{
    free(s->buffer);
    memset(s, 0, sizeof *s);
}

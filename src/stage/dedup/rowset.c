/* rowset.c - see rowset.h. Rows that stand together are views into the mapped files, and pages
 * behind them are let go. Rows here and there are read, not mapped: a page fault maps up to 64 KB
 * around each of them, and the resident size would soon be that of the set (measured on 1 M rows of
 * 1 KB: 0.74 us a row and 1 MB this way, 0.77 us and 972 MB mapped, 3.1 us when let go at once). */
#include "stage/dedup/rowset.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PAGE = 4096, READ_BYTES = 16 << 20, FEW_BYTES = 256 << 10 };

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

/* One descriptor per partition: take as many as the system lets us have. */
static int64_t most_files(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l)) return 0;
    l.rlim_cur = l.rlim_max;
    setrlimit(RLIMIT_NOFILE, &l);
    if (getrlimit(RLIMIT_NOFILE, &l)) return 0;
    return l.rlim_cur == RLIM_INFINITY ? INT32_MAX : (int64_t)l.rlim_cur - 256;
}

/* Lists that were unpacked have no name any more, and stay mapped. */
static int open_file(struct rowset *r, int64_t i, int64_t most)
{
    struct str name = {0};
    int rc = 0;
    if (r->part[i].rows && !r->part[i].copy && i < most) {
        sidecars_name(&name, r->sidecars, SIDE_IMAGE, i);
        rc = place_fd(sidecars_place(r->sidecars), name.p, &r->fd[i]);
        str_release(&name);
    }
    return rc;
}

int rowset_open(struct rowset *r, const struct sidecars *s, size_t budget)
{
    int64_t n = sidecars_count(s), most = most_files();
    int rc = 0;
    *r = (struct rowset){.sidecars = s, .parts = n, .half = 1, .budget = budget};
    r->part = mem_alloc(mem_mul((size_t)n + 1, sizeof *r->part));
    r->first = mem_alloc(mem_mul((size_t)n + 1, sizeof *r->first));
    r->fd = mem_alloc(mem_mul((size_t)n + 1, sizeof *r->fd));
    for (int64_t i = 0; i < n; i++) r->fd[i] = -1;
    for (int64_t i = 0; i < n && !rc; i++) {
        if (sidecars_rows(s, i) > 0) rc = open_part(r, i);
        if (!rc) rc = open_file(r, i, most);
        r->first[i + 1] = r->first[i] + r->part[i].rows;
    }
    r->total = r->first[n];
    if (rc) rowset_close(r);
    return rc;
}

void rowset_close(struct rowset *r)
{
    for (int64_t i = 0; r->part && i < r->parts; i++) {
        embeddings_close(&r->part[i]);
        if (r->fd[i] >= 0) close(r->fd[i]);
    }
    free(r->part);
    free(r->first);
    free(r->fd);
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

static size_t size_in(const struct rowset *r, int64_t part)
{
    return (size_t)r->dim * (r->part[part].half ? 2 : 4);
}

static const char *row_at(const struct rowset *r, int64_t part, int64_t row)
{
    return (const char *)r->part[part].data + (size_t)(row - r->first[part]) * size_in(r, part);
}

/* Where the row stands in its file. */
static off_t row_offset(const struct rowset *r, int64_t part, int64_t row)
{
    return row_at(r, part, row) - (const char *)r->part[part].map.p;
}

void rowset_access(const struct rowset *r, enum access how)
{
    int order = how == ACCESS_IN_ORDER;
    for (int64_t i = 0; i < r->parts; i++) {
        advise(r->part[i].data, part_bytes(&r->part[i]), order ? MADV_SEQUENTIAL : MADV_RANDOM);
        if (r->fd[i] >= 0)
            posix_fadvise(r->fd[i], 0, 0, order ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_RANDOM);
    }
}

static int outgrows(const struct rowset *r)
{
    return (size_t)r->total > r->budget / (row_bytes(r) ? row_bytes(r) : 1);
}

void rowset_expect(const struct rowset *r, const int64_t *rows, int64_t n)
{
    for (int64_t k = 0; outgrows(r) && k < n; k++) {
        int64_t i = rowset_part(r, rows[k]);
        if (r->fd[i] >= 0)
            posix_fadvise(r->fd[i], row_offset(r, i, rows[k]), (off_t)size_in(r, i),
                          POSIX_FADV_WILLNEED);
    }
}

static int read_rows(char *out, const struct rowset *r, int64_t part, int64_t row, int64_t count)
{
    size_t n = (size_t)count * size_in(r, part), done = 0;
    off_t at = row_offset(r, part, row);
    while (done < n) {
        ssize_t got = pread(r->fd[part], out + done, n - done, at + (off_t)done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return err_set(ERR_INPUT, "%s: the embeddings of partition %lld: %s",
                           place_url(sidecars_place(r->sidecars)),
                           (long long)sidecars_number(r->sidecars, part),
                           got ? strerror(errno) : "became shorter while they were read");
        done += (size_t)got;
    }
    return 0;
}

/* As they stand in their file. */
static int fetch_rows(char *out, const struct rowset *r, int64_t part, int64_t row, int64_t count)
{
    if (r->fd[part] >= 0) return read_rows(out, r, part, row, count);
    memcpy(out, row_at(r, part, row), (size_t)count * size_in(r, part));
    return 0;
}

/* In a set of both types all become f32. */
int rowset_gather(void *out, const struct rowset *r, const int64_t *rows, int64_t n)
{
    int rc = 0;
    for (int64_t k = 0; k < n && !rc; k++) {
        char *to = (char *)out + (size_t)k * row_bytes(r);
        int64_t i = rowset_part(r, rows[k]);
        if (r->half || !r->part[i].half)
            rc = fetch_rows(to, r, i, rows[k], 1);
        else
            rowset_read((float *)(void *)to, r, rows[k]);
    }
    return rc;
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

static int gather_list(struct rowset_reader *s, struct tensor *out, int64_t first, int64_t n)
{
    const struct rowset *r = s->set;
    void *p = room(s, mem_mul((size_t)n, row_bytes(r)));
    *out = tensor_2d(p, r->half ? F16 : F32, n, r->dim);
    return rowset_gather(p, r, s->list + first, n);
}

static struct tensor view_of(const struct embeddings *e, const void *p, int64_t n)
{
    union { /* a tensor may be written to; this one is not */
        const void *from;
        void *to;
    } at = {p};
    return tensor_2d(at.to, e->half ? F16 : F32, n, e->dim);
}

/* Rows in order: a view of what is mapped. Few rows, here and there, are read. */
static int view_all(struct rowset_reader *s, struct tensor *out, int64_t first, int64_t n)
{
    const struct rowset *r = s->set;
    int64_t i = rowset_part(r, first), left = r->first[i + 1] - first;
    const struct embeddings *e = &r->part[i];
    const char *p = row_at(r, i, first);
    if (n > left) n = left;
    size_t bytes = (size_t)n * size_in(r, i);
    if (bytes < FEW_BYTES || (uintptr_t)p % (e->half ? 2 : 4)) {
        *out = view_of(e, room(s, bytes), n);
        return fetch_rows(s->buffer, r, i, first, n);
    }
    s->seen = p;
    s->seen_bytes = bytes;
    *out = view_of(e, p, n);
    return 0;
}

static int reader_read(void *state, struct tensor *out, int64_t first, int64_t most)
{
    struct rowset_reader *s = state;
    int64_t cap = READ_BYTES / (int64_t)row_bytes(s->set);
    if (stop_asked()) return err_set(ERR_STOPPED, "stopped by a signal");
    if (s->seen_bytes && outgrows(s->set)) advise(s->seen, s->seen_bytes, MADV_DONTNEED);
    s->seen_bytes = 0;
    if (most > cap) most = cap > 0 ? cap : 1;
    return s->list ? gather_list(s, out, first, most) : view_all(s, out, first, most);
}

struct rows rowset_rows(struct rowset_reader *state, const struct rowset *r, const int64_t *list,
                        int64_t count)
{
    *state = (struct rowset_reader){.set = r, .list = list};
    return (struct rows){.count = count, .dim = r->dim, .read = reader_read, .state = state};
}

void rowset_reader_release(struct rowset_reader *s)
{
    free(s->buffer);
    memset(s, 0, sizeof *s);
}

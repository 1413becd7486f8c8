/* pairs.c - the product dedup-pairs, first half: cluster by cluster, for every row the most similar
 * one that stands before it in keep order.
 * The clusters are dealt into blocks of about equal work. A block's result is a small file that
 * appears when it is whole: a run that was killed goes on with the next block, and tasks on other
 * machines may each do some of them. assign.c then turns blocks into sidecars. */
#include "stage/dedup/pairs.h"
#include "stage/dedup/eps.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS "_darkroom/" DEDUP_PAIRS "/blocks"

/* A block ends when it has this many multiplications (a few seconds), or rows. */
#define BLOCK_WORK 1e12
enum { BLOCK_ROWS = 4 << 20 };
/* Larger clusters get all threads, one after another; smaller ones a thread each. */
enum { LARGE = 4096 };

static double work_of(const struct pairing *p, int64_t cluster)
{
    double n = (double)(p->members.start[cluster + 1] - p->members.start[cluster]);
    return n * n / 2 * p->d->rows.dim;
}

static void plan_blocks(struct pairing *p)
{
    size_t cap = 0;
    double work = 0;
    for (int64_t k = 0, first = 0; k < p->members.clusters; k++) {
        work += work_of(p, k);
        p->work_total += work_of(p, k);
        int64_t rows = p->members.start[k + 1] - p->members.start[first];
        if (work < BLOCK_WORK && rows < BLOCK_ROWS && k + 1 < p->members.clusters) continue;
        vec_push(p->block, p->blocks, cap);
        p->block[p->blocks++] = (struct pair_block){first, k + 1};
        first = k + 1;
        work = 0;
    }
}

/* ---- one cluster ---- */

struct cluster_job {
    struct pairing *p;
    const int64_t *small; /* clusters of the block that get a thread each */
    int64_t base;         /* where the block's rows start among all members */
    float *score;
    int64_t *best;
    struct failure failure;
};

/* The cosine of two rows, for rows that greedy removes: it knows only that it is large enough. */
static float cosine(const struct rowset *r, int64_t a, int64_t b, struct arena *arena)
{
    size_t d = (size_t)r->dim;
    float *x = arena_alloc(arena, d * sizeof *x), *y = arena_alloc(arena, d * sizeof *y);
    double xy = 0, xx = 0, yy = 0;
    rowset_read(x, r, a);
    rowset_read(y, r, b);
    for (size_t i = 0; i < d; i++) {
        xy += (double)x[i] * y[i];
        xx += (double)x[i] * x[i];
        yy += (double)y[i] * y[i];
    }
    return (float)(xy / sqrt(xx * yy));
}

static int compare_greedy(float *score, int32_t *earlier, struct device *device, struct rows *rows,
                          const struct dedup *d, const struct lineup *l, struct arena *a,
                          const struct pairs_options *o)
{
    uint8_t *removed = arena_alloc(a, (size_t)l->count);
    float limit = pairs_limit(d->set.eps[0]);
    struct arena room = {0};
    int rc = pairs_greedy(removed, earlier, device, rows, d->set.eps, 1, o);
    for (int64_t j = 0; j < l->count && !rc; j++) {
        score[j] = 0;
        if (removed[j]) {
            float c = cosine(&d->rows, l->row[earlier[j]], l->row[j], &room);
            score[j] = c > limit ? c : limit; /* rounded otherwise than it was compared */
        } else {
            earlier[j] = (int32_t)j;
        }
        arena_reset(&room);
    }
    arena_release(&room);
    return rc;
}

static int compare(const struct cluster_job *job, int64_t cluster, struct device *device,
                   struct arena *a, size_t memory)
{
    const struct pairing *p = job->p;
    const struct dedup *d = p->d;
    struct lineup l;
    struct rowset_reader reader;
    struct pairs_options o = {.memory = memory, .normalize = 1};
    lineup_make(&l, a, d, &p->members, &p->ids, cluster);
    if (l.count > INT32_MAX)
        return err_set(ERR_USAGE, "cluster %lld has %lld rows; take more --clusters",
                       (long long)cluster, (long long)l.count);
    rowset_expect(&d->rows, l.row, l.count);
    struct rows rows = rowset_rows(&reader, &d->rows, l.row, l.count);
    float *score = arena_alloc(a, mem_mul((size_t)l.count, sizeof *score));
    int32_t *earlier = arena_alloc(a, mem_mul((size_t)l.count, sizeof *earlier));
    int rc = d->set.greedy ? compare_greedy(score, earlier, device, &rows, d, &l, a, &o)
                           : pairs_score(score, earlier, device, &rows, &o);
    int64_t at = p->members.start[cluster] - job->base;
    for (int64_t j = 0; j < l.count && !rc; j++) {
        job->score[at + l.order[j]] = score[j];
        job->best[at + l.order[j]] = l.row[earlier[j]];
    }
    rowset_reader_release(&reader);
    return rc;
}

static void one_cluster(void *arg, size_t i, int worker)
{
    struct cluster_job *job = arg;
    struct pairing *p = job->p;
    if (failure_came(&job->failure)) return;
    struct arena *a = &p->arena[worker];
    int rc = compare(job, job->small[i], p->lane[worker], a,
                     p->d->memory / (size_t)pool_size(p->d->pool));
    arena_relax(a, 64 << 20);
    if (rc) failure_note(&job->failure, rc);
}

/* ---- one block ---- */

static void block_name(struct str *out, size_t i)
{
    str_clear(out);
    str_printf(out, BLOCKS "/%05zu", i);
}

static void block_head(struct str *out, const struct pairing *p, size_t i)
{
    str_printf(out, "%s", p->run.fingerprint);
    for (size_t k = 0; k < p->inputs.count; k++) str_printf(out, " %s", p->inputs.file[k].sha256);
    str_printf(out, " %zu of %zu\n", i, p->blocks);
    while (out->len % 8) str_putc(out, '\n'); /* so that numbers behind it are aligned */
}

int64_t pairing_rows(const struct pairing *p, size_t i)
{
    return p->members.start[p->block[i].end] - p->members.start[p->block[i].first];
}

int pairing_open_block(struct file_map *m, const int64_t **best, const float **score,
                       const struct pairing *p, size_t i)
{
    struct str name = {0}, head = {0};
    size_t rows = (size_t)pairing_rows(p, i);
    int found = 0;
    memset(m, 0, sizeof *m);
    block_name(&name, i);
    block_head(&head, p, i);
    if (place_exists(p->d->place, name.p, NULL) && !place_map(p->d->place, name.p, m)) {
        found = m->n == head.len + rows * (sizeof **best + sizeof **score) &&
                !memcmp(m->p, head.p, head.len);
        *best = (const int64_t *)(const void *)(m->p + head.len);
        *score = (const float *)(const void *)(m->p + head.len + rows * sizeof **best);
    }
    if (!found) file_unmap(m);
    str_release(&name);
    str_release(&head);
    return found;
}

static int block_save(const struct pairing *p, size_t i, const int64_t *best, const float *score)
{
    struct str name = {0}, head = {0};
    struct sink *s;
    size_t rows = (size_t)pairing_rows(p, i);
    block_name(&name, i);
    block_head(&head, p, i);
    int rc = place_create(p->d->place, name.p, &s);
    if (!rc) {
        rc = sink_write(s, head.p, head.len);
        if (!rc) rc = sink_write(s, best, rows * sizeof *best);
        if (!rc) rc = sink_write(s, score, rows * sizeof *score);
        if (rc)
            sink_abort(s);
        else
            rc = sink_commit(s, NULL, NULL);
    }
    fault_point("block");
    str_release(&name);
    str_release(&head);
    return rc;
}

static int progress(struct pairing *p, double work)
{
    p->work_done += work;
    return dedup_progress(p->d, "comparing", p->work_done / p->work_total);
}

static int large_clusters(struct cluster_job *job, const struct pair_block *b)
{
    struct pairing *p = job->p;
    int rc = 0;
    for (int64_t k = b->first; k < b->end && !rc; k++) {
        if (p->members.start[k + 1] - p->members.start[k] < LARGE) continue;
        rc = compare(job, k, p->d->device, &p->arena[0], p->d->memory);
        arena_relax(&p->arena[0], 64 << 20);
        if (!rc) rc = progress(p, work_of(p, k));
    }
    return rc;
}

static int small_clusters(struct cluster_job *job, const struct pair_block *b)
{
    struct pairing *p = job->p;
    int64_t *small = mem_alloc(mem_mul((size_t)(b->end - b->first), sizeof *small));
    double work = 0;
    size_t n = 0;
    for (int64_t k = b->first; k < b->end; k++) {
        int64_t rows = p->members.start[k + 1] - p->members.start[k];
        if (!rows || rows >= LARGE) continue;
        small[n++] = k;
        work += work_of(p, k);
    }
    job->small = small;
    pool_for(p->d->pool, n, one_cluster, job);
    free(small);
    int rc = failure_end(&job->failure);
    return rc ? rc : progress(p, work);
}

static int do_block(struct pairing *p, size_t i)
{
    const struct pair_block *b = &p->block[i];
    size_t rows = (size_t)pairing_rows(p, i);
    struct cluster_job job = {.p = p, .base = p->members.start[b->first]};
    job.score = mem_alloc(mem_mul(rows, sizeof *job.score));
    job.best = mem_alloc(mem_mul(rows, sizeof *job.best));
    int rc = large_clusters(&job, b);
    if (!rc) rc = small_clusters(&job, b);
    if (!rc) rc = run_still_ours(&p->run, p->d->place, DEDUP_PAIRS);
    if (!rc) rc = block_save(p, i, job.best, job.score);
    free(job.score);
    free(job.best);
    return rc;
}

/* ---- all of them ---- */

static int open_lanes(struct pairing *p)
{
    int n = pool_size(p->d->pool), rc = 0;
    p->lane = mem_alloc((size_t)n * sizeof *p->lane);
    p->arena = mem_alloc((size_t)n * sizeof *p->arena);
    for (int i = 0; i < n && !rc; i++) rc = device_lane(&p->lane[i], p->d->device);
    return rc;
}

int pairing_open(struct pairing *p)
{
    int rc = dedup_open_rows(p->d);
    if (!rc) rc = ids_open(&p->ids, p->d);
    if (!rc) rc = members_open(&p->members, p->d);
    if (!rc) rc = open_lanes(p);
    if (!rc) plan_blocks(p);
    if (!rc) rowset_access(&p->d->rows, ACCESS_ANYWHERE);
    return rc;
}

void pairing_close(struct pairing *p)
{
    for (int i = 0; p->lane && i < pool_size(p->d->pool); i++) {
        device_close(p->lane[i]);
        arena_release(&p->arena[i]);
    }
    free(p->lane);
    free(p->arena);
    free(p->block);
    members_close(&p->members);
    ids_close(&p->ids);
    files_release(&p->inputs);
    run_release(&p->run);
}

/* ---- greedy, counted ---- */

static int count_cluster(struct pairing *p, int64_t cluster, const double *eps, int count,
                         int64_t *removed)
{
    struct lineup l;
    struct rowset_reader reader;
    struct pairs_options o = {.memory = p->d->memory, .normalize = 1};
    lineup_make(&l, &p->arena[0], p->d, &p->members, &p->ids, cluster);
    uint8_t *gone = arena_alloc(&p->arena[0], mem_mul((size_t)l.count, (size_t)count));
    rowset_expect(&p->d->rows, l.row, l.count);
    struct rows rows = rowset_rows(&reader, &p->d->rows, l.row, l.count);
    int rc = pairs_greedy(gone, NULL, p->d->device, &rows, eps, count, &o);
    for (int e = 0; e < count && !rc; e++)
        for (int64_t j = 0; j < l.count; j++) removed[e] += gone[e * l.count + j];
    rowset_reader_release(&reader);
    arena_relax(&p->arena[0], 64 << 20);
    return rc ? rc : progress(p, work_of(p, cluster));
}

int greedy_count(struct dedup *d, const double *eps, int count, int64_t *removed)
{
    struct pairing p = {.d = d};
    int rc = pairing_open(&p);
    for (int64_t k = 0; k < p.members.clusters && !rc; k++)
        if (p.members.start[k + 1] > p.members.start[k])
            rc = count_cluster(&p, k, eps, count, removed);
    log_progress_end();
    pairing_close(&p);
    return rc;
}

/* ---- the blocks of this task ---- */

int pairing_blocks(struct pairing *p)
{
    const int64_t *best;
    const float *score;
    struct file_map m;
    int rc = 0;
    for (size_t i = 0; i < p->blocks && !rc; i++) {
        if (pairing_open_block(&m, &best, &score, p, i)) {
            file_unmap(&m);
            for (int64_t k = p->block[i].first; k < p->block[i].end; k++)
                p->work_done += work_of(p, k);
            continue;
        }
        if (task_has(&p->d->task, (int64_t)i)) rc = do_block(p, i);
    }
    log_progress_end();
    return rc;
}

size_t pairing_missing(const struct pairing *p)
{
    const int64_t *best;
    const float *score;
    struct file_map m;
    size_t missing = 0;
    for (size_t i = 0; i < p->blocks; i++) {
        if (pairing_open_block(&m, &best, &score, p, i))
            file_unmap(&m);
        else
            missing++;
    }
    return missing;
}

/* Also those of runs that never came to their end. */
int pairing_drop_blocks(struct pairing *p)
{
    struct names n = {0};
    struct str name = {0};
    int rc = place_list(p->d->place, BLOCKS, &n);
    for (size_t i = 0; i < n.count && !rc; i++) {
        str_clear(&name);
        str_printf(&name, BLOCKS "/%s", n.list[i]);
        rc = place_remove(p->d->place, name.p);
    }
    str_release(&name);
    names_release(&n);
    return rc;
}

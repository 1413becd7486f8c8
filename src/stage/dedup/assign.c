/* assign.c - the product dedup-pairs, second half: what the blocks found, as one sidecar per
 * partition, dedup/assign_N.parquet, with a row for each embedding. */
#include "stage/dedup/pairs.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The blocks' results by row of the place. */
struct results {
    struct scratch best, score; /* int64, float */
};

struct assigning {
    struct pairing *p;
    struct results results;
    int64_t *todo; /* partitions */
    size_t count;
    struct failure failure;
};

static int gather_block(struct results *r, const struct pairing *p, size_t i)
{
    const int64_t *best, *rows = (const int64_t *)p->members.rows.p;
    const float *score;
    struct file_map m;
    int rc = 0;
    if (!pairing_open_block(&m, &best, &score, p, i))
        return err_set(ERR_STALE, "%s: block %zu of the pairs is gone; run the same command again",
                       place_url(p->d->place), i);
    rows += p->members.start[p->block[i].first];
    for (int64_t k = 0; k < pairing_rows(p, i) && !rc; k++) {
        if (best[k] < 0 || best[k] >= p->d->rows.total)
            rc = err_set(ERR_STALE,
                         "%s: block %zu of the pairs is damaged; remove _darkroom/%s/blocks",
                         place_url(p->d->place), i, DEDUP_PAIRS);
        ((int64_t *)r->best.p)[rows[k]] = best[k];
        ((float *)r->score.p)[rows[k]] = score[k];
    }
    file_unmap(&m);
    return rc;
}

static int gather(struct results *r, const struct pairing *p)
{
    size_t n = (size_t)p->d->rows.total;
    int rc = scratch_open(&r->best, p->d->place, mem_mul(n, sizeof(int64_t)));
    if (!rc) rc = scratch_open(&r->score, p->d->place, mem_mul(n, sizeof(float)));
    for (size_t i = 0; i < p->blocks && !rc; i++) rc = gather_block(r, p, i);
    return rc;
}

static const struct parquet_column columns[] = {{"nearest_cent", PARQUET_INT32, 1},
                                                {"l2_dist_to_cent", PARQUET_FLOAT, 1},
                                                {"cosine_dist_to_cent", PARQUET_FLOAT, 1},
                                                {"max_id", PARQUET_STRING, 1},
                                                {"cosine_sim_score", PARQUET_FLOAT, 1}};

static int put_row(struct parquet_writer *w, const struct assigning *a, int64_t row)
{
    const struct clustering *c = &a->p->d->found;
    if (c->label[row] >= 0) {
        int64_t best = ((const int64_t *)a->results.best.p)[row];
        struct parquet_slice id = texts_get(&a->p->ids.name, best);
        parquet_put_int(w, 0, c->label[row]);
        parquet_put_real(w, 1, c->distance[2 * row]);
        parquet_put_real(w, 2, c->distance[2 * row + 1]);
        parquet_put_string(w, 3, id.p, id.n);
        parquet_put_real(w, 4, ((const float *)a->results.score.p)[row]);
    }
    return parquet_end_row(w);
}

static int write_part(const struct assigning *a, struct sink *sink, int64_t part)
{
    const struct rowset *rows = &a->p->d->rows;
    struct parquet_writer *w = NULL;
    int rc = parquet_writer_new(&w, sink, columns, sizeof columns / sizeof *columns, NULL);
    for (int64_t i = rows->first[part]; i < rows->first[part + 1] && !rc; i++)
        rc = put_row(w, a, i);
    if (!rc) rc = parquet_finish(w);
    parquet_writer_free(w);
    return rc;
}

static int do_part(const struct assigning *a, int64_t part)
{
    const struct pairing *p = a->p;
    struct dedup *d = p->d;
    struct receipt r;
    struct sink *sink;
    struct str name = {0};
    sidecars_name(&name, d->sidecars, SIDE_ASSIGN, part);
    int rc = product_begin(&r, d->place, DEDUP_PAIRS, &p->run, &p->inputs, part, d->rows.parts);
    r.samples = r.rows = d->rows.first[part + 1] - d->rows.first[part];
    if (!rc) rc = place_create(d->place, name.p, &sink);
    if (!rc) {
        rc = write_part(a, sink, part);
        if (rc)
            sink_abort(sink);
        else
            rc = product_commit(&r, sink, name.p);
    }
    fault_point("receipt");
    if (!rc) rc = receipt_save(&r, d->place, DEDUP_PAIRS);
    receipt_release(&r);
    str_release(&name);
    return rc;
}

static void one_part(void *arg, size_t i, int worker)
{
    struct assigning *a = arg;
    (void)worker;
    int rc = failure_came(&a->failure) ? 0 : do_part(a, a->todo[i]);
    if (rc) failure_note(&a->failure, rc);
}

/* The partitions whose sidecars are not there. */
static void plan(struct assigning *a)
{
    const struct pairing *p = a->p;
    struct dedup *d = p->d;
    int64_t parts = sidecars_count(d->sidecars);
    a->todo = mem_alloc(mem_mul((size_t)parts + 1, sizeof *a->todo));
    for (int64_t i = 0; i < parts; i++) {
        struct receipt r;
        if (sidecars_rows(d->sidecars, i) < 0) continue;
        if (product_done(&r, d->place, DEDUP_PAIRS, &p->run, &p->inputs, i, parts))
            receipt_release(&r);
        else
            a->todo[a->count++] = i;
    }
}

/* From here on the lists of the last eps, and NeMo's, are not those of the sidecars any more. */
static int write_all(struct assigning *a)
{
    struct dedup *d = a->p->d;
    int rc = receipt_remove(d->place, DEDUP_EPS, 0, 1);
    if (!rc) rc = receipt_remove(d->place, DEDUP_NEMO, 0, 1);
    if (!rc) rc = gather(&a->results, a->p);
    if (!rc) pool_for(d->pool, a->count, one_part, a);
    if (!rc) rc = failure_end(&a->failure);
    return rc ? rc : pairing_drop_blocks(a->p);
}

static int make(struct assigning *a)
{
    struct pairing *p = a->p;
    struct dedup *d = p->d;
    dedup_begin(d, DEDUP_PAIRS);
    int rc = pairing_open(p);
    if (!rc) rc = pairing_blocks(p);
    d->redone++;
    if (rc || d->task.count == 1) return rc ? rc : write_all(a);
    size_t missing = pairing_missing(p);
    if (missing)
        log_info("the clusters of this task are compared; %zu of %zu blocks are still to be done "
                 "by others",
                 missing, p->blocks);
    else
        log_info("all clusters are compared; the same command without --task puts them together");
    return 0;
}

/* ---- the run ---- */

static int note_inputs(struct pairing *p)
{
    struct dedup *d = p->d;
    files_copy(&p->inputs, &d->found.source);
    int rc = d->id ? sidecars_note_all(&p->inputs, d->sidecars, d->id->from) : 0;
    if (!rc && d->by && (!d->id || d->by->from != d->id->from))
        rc = sidecars_note_all(&p->inputs, d->sidecars, d->by->from);
    return rc;
}

/* With greedy order another eps means other pairs: that replaces, where any other difference is
 * refused. */
static enum run_mode claim_mode(const struct pairing *p)
{
    struct run old = {0};
    int same = p->d->set.greedy && !run_load(&old, p->d->place, DEDUP_PAIRS);
    for (size_t i = 0; i < p->run.count && same; i++) {
        const char *name = p->run.field[i].name, *was = run_get(&old, name);
        same = !strcmp(name, "eps") || (was && !strcmp(was, p->run.field[i].value));
    }
    run_release(&old);
    return same ? RUN_REPLACE : RUN_KEEP;
}

/* Greedy counts need no pairs, so a dry run can do without. */
static int claim(struct pairing *p)
{
    struct dedup *d = p->d;
    enum run_mode mode = claim_mode(p);
    int replaces = mode == RUN_REPLACE || d->o->force_new_run;
    if (d->o->dry_run && replaces && product_stands(&p->run, d->place, DEDUP_PAIRS)) {
        d->other_pairs = d->set.greedy;
        return d->set.greedy ? 0 : product_refuse_dry_run(d, DEDUP_PAIRS);
    }
    return product_claim(&p->run, d, DEDUP_PAIRS, sidecars_count(d->sidecars), mode);
}

int dedup_pairs(struct dedup *d)
{
    struct pairing p = {.d = d};
    struct assigning a = {.p = &p};
    settings_of_pairs(&p.run, &d->set);
    run_add(&p.run, "device", d->device->kind);
    int rc = note_inputs(&p);
    if (!rc) rc = claim(&p);
    if (!rc && !d->other_pairs) plan(&a);
    if (!rc && !d->other_pairs)
        rc = a.count ? make(&a) : pairing_drop_blocks(&p); /* a killed run may have left them */
    scratch_close(&a.results.best);
    scratch_close(&a.results.score);
    free(a.todo);
    pairing_close(&p);
    return rc;
}

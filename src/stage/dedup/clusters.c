/* clusters.c - the product dedup-clusters: k-means over the rows that count, then every row's
 * cluster and distances. Rows without a direction (zero, NaN, infinite, null) are set aside, not
 * clustered. While it fits, the centroids are put down now and then: Lloyd's next round depends on
 * them alone, so a run that was killed goes on from there to the same bits. */
#include "stage/dedup/dedup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "format/npy.h"
#include "io/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CENTROIDS  "dedup/centroids.npy"
#define LABELS     "dedup/labels.npy"
#define DISTANCES  "dedup/distances.npy"
#define CHECKPOINT "_darkroom/" DEDUP_CLUSTERS "/checkpoint"

/* The rows that are to be clustered. */
struct choice {
    struct scratch list; /* int64: their numbers; only with --kept-only */
    int64_t count, good; /* rows; those with a direction */
    int known;
};

struct fitting {
    struct dedup *d;
    struct choice choice;
    struct rowset_reader reader;
    struct rows rows;
    struct run run;
    struct receipt_files inputs;
    struct kmeans model;
    int rounds_before;         /* of a run that was killed */
    float *start;              /* its centroids */
    double began, saved, cost; /* when; when the last checkpoint was; how long it took */
};

static const int64_t *list_of(const struct choice *c)
{
    return c->list.p;
}

/* ---- which rows ---- */

static int add_kept(struct choice *c, const struct dedup *d, int64_t part)
{
    const struct column_info keep = {
        .name = (char[]){"keep"}, .type = COLUMN_BOOL, .from = SIDE_KEEP};
    const struct column_info *want[] = {&keep};
    struct batch *b;
    int64_t row = d->rows.first[part];
    size_t n;
    int rc = batch_open(&b, d->sidecars, part, want, 1);
    while (!rc && !(rc = batch_next(b, 0, &n))) {
        const struct column *k = batch_column(b, 0);
        for (size_t i = 0; i < n; i++, row++)
            if ((!k->valid || k->valid[i]) && k->bools[i]) ((int64_t *)c->list.p)[c->count++] = row;
    }
    batch_close(b);
    return rc < 0 ? rc : 0;
}

static int choose_kept(struct choice *c, struct dedup *d)
{
    int rc = scratch_open(&c->list, d->place, mem_mul((size_t)d->rows.total, sizeof(int64_t)));
    for (int64_t i = 0; i < d->rows.parts && !rc; i++)
        if (d->rows.part[i].rows) rc = add_kept(c, d, i);
    return rc;
}

/* How many of the rows have a direction: one pass, norms only. */
static int count_good(struct fitting *f)
{
    struct block b = {0};
    int64_t most = f->rows.dim ? block_size(f->rows.dim) : 1;
    int rc = f->rows.count ? block_init(&b, f->d->device, most, f->rows.dim) : 0;
    for (int64_t at = 0; at < f->rows.count && !rc; at += most) {
        int64_t n = f->rows.count - at < most ? f->rows.count - at : most;
        block_reset(&b);
        rc = block_add(&b, &f->rows, at, n, 1);
        if (!rc) rc = block_finish(&b);
        for (int64_t i = 0; i < n && !rc; i++)
            f->choice.good += row_state(b.norm[i], 1) == ROW_GOOD;
        if (!rc)
            rc = dedup_progress(f->d, "counting rows", (double)(at + n) / (double)f->rows.count);
    }
    block_release(&b);
    return rc;
}

/* Every file that is read later has as many rows as there are embeddings: found out now, not after
 * the k-means. Only footers are read. */
static int check_rows(const struct dedup *d)
{
    const struct column_info keep = {
        .name = (char[]){"keep"}, .type = COLUMN_BOOL, .from = SIDE_KEEP};
    const struct column_info *want[3];
    size_t count = 0;
    int rc = 0;
    if (d->id) want[count++] = d->id;
    if (d->by) want[count++] = d->by;
    if (d->o->kept_only) want[count++] = &keep;
    for (int64_t i = 0; i < d->rows.parts && count && !rc; i++) {
        struct batch *b = NULL;
        if (d->rows.part[i].rows) rc = batch_open(&b, d->sidecars, i, want, count);
        batch_close(b);
    }
    return rc;
}

static int choose_rows(struct fitting *f)
{
    struct dedup *d = f->d;
    if (f->choice.known) return 0;
    int rc = dedup_open_rows(d);
    if (!rc) rc = check_rows(d);
    if (rc) return rc;
    rowset_access(&d->rows, ACCESS_IN_ORDER);
    f->choice.count = d->rows.total;
    if (d->o->kept_only) {
        f->choice.count = 0;
        rc = choose_kept(&f->choice, d);
    }
    f->rows = rowset_rows(&f->reader, &d->rows, list_of(&f->choice), f->choice.count);
    if (!rc) rc = count_good(f);
    f->choice.known = !rc;
    return rc;
}

static int choose_clusters(struct fitting *f)
{
    int rc = choose_rows(f);
    if (rc) return rc;
    f->d->set.clusters = kmeans_clusters(f->choice.good);
    return 0;
}

/* How many centroids there will be: as many as asked for, where there are rows for them. A cluster
 * per row would compare nothing, so lowered means the number that nobody asked for. */
static int check_clusters(const struct fitting *f, int64_t *clusters, int warn)
{
    const struct dedup *d = f->d;
    int64_t asked = d->set.clusters, good = f->choice.good;
    *clusters = good ? asked : 0;
    if (asked <= good || !good) return 0;
    *clusters = kmeans_clusters(good);
    if (d->o->lower_clusters && !d->o->strict) {
        if (warn)
            log_warn("%lld clusters for %lld rows: lowered to %lld, the default for so many rows",
                     (long long)asked, (long long)good, (long long)*clusters);
        return 0;
    }
    return err_set(ERR_USAGE,
                   "%lld clusters, but only %lld rows to cluster%s; --clusters %lld would suit",
                   (long long)asked, (long long)good,
                   d->o->kept_only ? " that passed the filter" : "", (long long)*clusters);
}

/* ---- checkpoints ---- */

static void checkpoint_head(struct str *out, const struct fitting *f)
{
    str_printf(out, "%s", f->run.fingerprint);
    for (size_t i = 0; i < f->inputs.count; i++) str_printf(out, " %s", f->inputs.file[i].sha256);
}

static int checkpoint_save(struct fitting *f, int round, const float *centroids, size_t bytes)
{
    struct str text = {0};
    checkpoint_head(&text, f);
    str_printf(&text, " %d\n", round);
    str_add(&text, centroids, bytes);
    int rc = place_write(f->d->place, CHECKPOINT, text.p, text.len);
    str_release(&text);
    fault_point("checkpoint");
    return rc;
}

/* A checkpoint of exactly this run, or none: it is a courtesy. */
static void checkpoint_load(struct fitting *f, int64_t clusters)
{
    struct file_map m = {0};
    struct str head = {0};
    size_t bytes = (size_t)clusters * (size_t)f->rows.dim * sizeof(float);
    if (!place_exists(f->d->place, CHECKPOINT, NULL)) return;
    checkpoint_head(&head, f);
    str_putc(&head, ' ');
    if (!place_map(f->d->place, CHECKPOINT, &m) && m.n > head.len + bytes &&
        !memcmp(m.p, head.p, head.len)) {
        size_t at = head.len;
        int round = 0;
        while (at < m.n - bytes && m.p[at] >= '0' && m.p[at] <= '9' && round < 1000000)
            round = round * 10 + m.p[at++] - '0';
        if (m.p[at] == '\n' && m.n - at - 1 == bytes && round > 0 && round < f->d->set.max_iter) {
            f->start = mem_alloc(bytes);
            memcpy(f->start, m.p + at + 1, bytes);
            f->rounds_before = round;
            for (size_t i = 0; i < bytes / sizeof(float); i++)
                if (!isfinite(f->start[i])) f->rounds_before = 0;
        }
    }
    file_unmap(&m);
    str_release(&head);
}

/* At most a twentieth of the time goes into checkpoints. One of the last round would be taken for
 * one that has to go on. */
static int checkpoint_maybe(struct fitting *f, const struct kmeans_step *s)
{
    double now = clock_now();
    int last = s->round >= s->rounds || s->moved < f->d->set.tol;
    if (last || now - f->began < 0.2 || now - f->saved < 20 * f->cost) return 0;
    int rc = checkpoint_save(f, f->rounds_before + s->round, s->centroids,
                             (size_t)f->model.clusters * (size_t)f->rows.dim * sizeof(float));
    f->saved = clock_now();
    f->cost = f->saved - now;
    return rc;
}

/* ---- fitting ---- */

static int on_step(void *state, const struct kmeans_step *s)
{
    struct fitting *f = state;
    char what[96];
    int start = !strcmp(s->phase, "start");
    snprintf(what, sizeof what, start ? "k-means start, round %d of %d" : "k-means round %d of %d",
             start ? s->round : f->rounds_before + s->round,
             start ? s->rounds : (int)f->d->set.max_iter);
    int rc = start || !s->centroids ? 0 : checkpoint_maybe(f, s);
    return rc ? rc : dedup_progress(f->d, what, -1);
}

static int fit(struct fitting *f, int64_t clusters)
{
    const struct settings *s = &f->d->set;
    f->model.clusters = clusters; /* so that checkpoints know their size */
    checkpoint_load(f, clusters);
    struct kmeans_options o = {.clusters = clusters,
                               .max_iter = (int)s->max_iter - f->rounds_before,
                               .tol = s->tol,
                               .stop = KMEANS_CUML,
                               .start = f->rounds_before ? KMEANS_GIVEN : s->start,
                               .seed = (uint64_t)s->seed,
                               .fit_fraction = s->fit_fraction,
                               .normalize = 1,
                               .centroids = f->start,
                               .progress = on_step,
                               .state = f};
    if (f->rounds_before)
        log_info("k-means goes on after round %d of a run that was interrupted", f->rounds_before);
    f->began = f->saved = clock_now();
    struct kmeans model = {0};
    int rc = kmeans_fit(&model, f->d->device, &f->rows, &o);
    f->model = model;
    if (!rc)
        log_info("k-means: %lld clusters after %d rounds%s", (long long)clusters,
                 f->rounds_before + model.iterations,
                 model.converged ? "" : ", as many as --max-iter allows");
    return rc;
}

/* ---- the files ---- */

struct writing {
    const struct choice *choice;
    struct npy_writer labels, distances;
    struct dedup *d;
    int64_t next; /* the row of the place that comes next */
};

static int put_row(struct writing *w, int32_t label, float l2, float cosine)
{
    float pair[2] = {l2, cosine};
    int rc = npy_writer_add(&w->labels, &label, 1);
    w->next++;
    return rc ? rc : npy_writer_add(&w->distances, pair, 1);
}

static int put_out(struct writing *w, int64_t until)
{
    int rc = 0;
    while (w->next < until && !rc) rc = put_row(w, LABEL_OUT, NAN, NAN);
    return rc;
}

static int put_found(void *state, const struct kmeans_found *x)
{
    struct writing *w = state;
    const int64_t *list = list_of(w->choice);
    int rc = 0;
    for (int64_t i = 0; i < x->n && !rc; i++) {
        rc = put_out(w, list ? list[x->first + i] : x->first + i);
        if (!rc && x->cluster[i] < 0)
            rc = put_row(w, LABEL_BAD, NAN, NAN);
        else if (!rc)
            rc = put_row(w, x->cluster[i], x->l2[i], x->cosine[i]);
    }
    return rc ? rc
              : dedup_progress(w->d, "assigning rows",
                               (double)(x->first + x->n) / (double)w->choice->count);
}

/* No centroid: no row has a direction. */
static int put_bad(struct writing *w)
{
    const int64_t *list = list_of(w->choice);
    int rc = 0;
    for (int64_t i = 0; i < w->choice->count && !rc; i++) {
        rc = put_out(w, list ? list[i] : i);
        if (!rc) rc = put_row(w, LABEL_BAD, NAN, NAN);
    }
    return rc;
}

static int write_rows(struct fitting *f, struct sink *labels, struct sink *distances)
{
    struct writing w = {.choice = &f->choice, .d = f->d};
    int rc = npy_writer_init(&w.labels, labels, "<i4", -1);
    if (!rc) rc = npy_writer_init(&w.distances, distances, "<f4", 2);
    if (!rc && f->model.clusters)
        rc = kmeans_assign(&f->model, f->d->device, &f->rows, 1, put_found, &w, NULL, NULL);
    else if (!rc)
        rc = put_bad(&w);
    if (!rc) rc = put_out(&w, f->d->rows.total);
    if (!rc) rc = npy_writer_finish(&w.labels);
    return rc ? rc : npy_writer_finish(&w.distances);
}

static int write_centroids(const struct fitting *f, struct sink *sink)
{
    struct npy_writer w;
    int rc = npy_writer_init(&w, sink, "<f4", f->d->rows.dim);
    if (!rc) rc = npy_writer_add(&w, f->model.centroids, f->model.clusters);
    return rc ? rc : npy_writer_finish(&w);
}

static int write_files(struct fitting *f, struct receipt *r)
{
    static const char *const name[3] = {CENTROIDS, LABELS, DISTANCES};
    struct sink *sink[3] = {NULL};
    int rc = 0;
    for (int i = 0; i < 3 && !rc; i++) rc = place_create(f->d->place, name[i], &sink[i]);
    if (!rc) rc = write_centroids(f, sink[0]);
    if (!rc) rc = write_rows(f, sink[1], sink[2]);
    for (int i = 0; i < 3; i++) {
        if (rc)
            sink_abort(sink[i]);
        else
            rc = product_commit(r, sink[i], name[i]);
    }
    return rc;
}

static int make(struct fitting *f)
{
    struct dedup *d = f->d;
    struct receipt r = {0};
    int64_t clusters = 0;
    int rc = choose_rows(f);
    if (!rc) rc = check_clusters(f, &clusters, 1);
    if (!rc) dedup_warn_of_filter(d);
    if (!rc) dedup_begin(d, DEDUP_CLUSTERS);
    if (!rc && clusters) rc = fit(f, clusters);
    if (!rc) rc = product_begin(&r, d->place, DEDUP_CLUSTERS, &f->run, &f->inputs, 0, 1);
    r.samples = r.rows = d->rows.total;
    if (!rc) rc = write_files(f, &r);
    fault_point("receipt");
    if (!rc) rc = receipt_save(&r, d->place, DEDUP_CLUSTERS);
    receipt_release(&r);
    d->redone++;
    return rc;
}

/* ---- what is there ---- */

static int map_npy(struct file_map *m, struct npy *a, struct place *p, const char *name,
                   const char *descr, int rank)
{
    int rc = place_map(p, name, m);
    if (!rc) rc = npy_decode(a, m->p, m->n);
    if (!rc && (strcmp(a->descr, descr) || a->rank != rank))
        rc = err_set(ERR_STALE, "is not what dedup wrote");
    return rc ? err_wrap(rc, "%s/%s", place_url(p), name) : 0;
}

static int count_labels(struct clustering *c)
{
    for (int64_t i = 0; i < c->rows; i++) {
        if (c->label[i] < LABEL_OUT || c->label[i] >= c->clusters)
            return err_set(ERR_STALE, "%s: row %lld is in cluster %d of %lld", LABELS, (long long)i,
                           c->label[i], (long long)c->clusters);
        c->good += c->label[i] >= 0;
        c->bad += c->label[i] == LABEL_BAD;
        c->out += c->label[i] == LABEL_OUT;
    }
    return 0;
}

static int load(struct dedup *d, const struct receipt *r)
{
    struct clustering *c = &d->found;
    struct file_map m = {0};
    struct npy centroids, labels, distances;
    int rc = map_npy(&m, &centroids, d->place, CENTROIDS, "<f4", 2);
    if (!rc) rc = map_npy(&c->labels, &labels, d->place, LABELS, "<i4", 1);
    if (!rc) rc = map_npy(&c->distances, &distances, d->place, DISTANCES, "<f4", 2);
    if (!rc && (labels.dim[0] != distances.dim[0] || distances.dim[1] != 2 ||
                labels.dim[0] != sidecars_total(d->sidecars)))
        rc = err_set(ERR_STALE, "%s/dedup: %lld labels, %lld distances, %lld rows: not of one run",
                     place_url(d->place), (long long)labels.dim[0], (long long)distances.dim[0],
                     (long long)sidecars_total(d->sidecars));
    if (!rc) {
        c->clusters = centroids.dim[0];
        c->rows = labels.dim[0];
        c->label = labels.data;
        c->distance = distances.data;
        files_copy(&c->source, &r->outputs);
        rc = count_labels(c);
    }
    file_unmap(&m);
    return rc;
}

static int need_keep(const struct dedup *d)
{
    for (int64_t i = 0; i < sidecars_count(d->sidecars); i++)
        if (sidecars_rows(d->sidecars, i) > 0 && !sidecars_has(d->sidecars, SIDE_KEEP, i))
            return err_set(ERR_INPUT,
                           "%s: --kept-only, but partition %lld has no keep file; run darkroom "
                           "filter first",
                           place_url(d->place), (long long)sidecars_number(d->sidecars, i));
    return 0;
}

static int note_inputs(struct fitting *f)
{
    struct dedup *d = f->d;
    int rc = d->o->kept_only ? need_keep(d) : 0;
    if (!rc) rc = sidecars_note_all(&f->inputs, d->sidecars, SIDE_IMAGE);
    if (!rc && d->o->kept_only) rc = sidecars_note_all(&f->inputs, d->sidecars, SIDE_KEEP);
    return rc;
}

/* Only one process fits; tasks share the pairs. */
static int check_task(const struct dedup *d)
{
    if (d->task.index == 0) return 0;
    return err_set(ERR_USAGE,
                   "--task %lld/%lld: the clusters are not there yet, and k-means is one job; run "
                   "--task 0/%lld first, then the others",
                   (long long)d->task.index, (long long)d->task.count, (long long)d->task.count);
}

/* A run that cannot be is found out before it is written down, unless one is there already: then
 * that it differs is the first thing to tell. */
static int claim(struct fitting *f)
{
    struct dedup *d = f->d;
    int64_t clusters;
    int there = place_exists(d->place, "_darkroom/" DEDUP_CLUSTERS "/run.json", NULL), rc = 0;
    if (!d->set.clusters) rc = choose_clusters(f);
    settings_of_clusters(&f->run, &d->set, d->o);
    run_add(&f->run, "device", d->device->kind);
    if (!rc && d->o->dry_run && d->o->force_new_run &&
        product_stands(&f->run, d->place, DEDUP_CLUSTERS))
        rc = product_refuse_dry_run(d, DEDUP_CLUSTERS);
    if (!rc && (!there || d->o->force_new_run)) {
        rc = check_task(d);
        if (!rc) rc = choose_rows(f);
        if (!rc) rc = check_clusters(f, &clusters, 0);
    }
    return rc ? rc : product_claim(&f->run, d, DEDUP_CLUSTERS, 1, RUN_KEEP);
}

int dedup_clusters(struct dedup *d)
{
    struct fitting f = {.d = d};
    struct receipt r = {0};
    int rc = note_inputs(&f);
    if (!rc) rc = claim(&f);
    if (!rc && !product_done(&r, d->place, DEDUP_CLUSTERS, &f.run, &f.inputs, 0, 1)) {
        rc = check_task(d);
        if (!rc) rc = make(&f);
        if (!rc && !product_done(&r, d->place, DEDUP_CLUSTERS, &f.run, &f.inputs, 0, 1))
            rc = err_set(ERR_STALE, "%s changed while it was read; run the same command again",
                         place_url(d->place));
    }
    if (!rc) rc = load(d, &r);
    if (!rc && place_exists(d->place, CHECKPOINT, NULL)) rc = place_remove(d->place, CHECKPOINT);
    receipt_release(&r);
    rowset_reader_release(&f.reader);
    scratch_close(&f.choice.list);
    kmeans_release(&f.model);
    free(f.start);
    files_release(&f.inputs);
    run_release(&f.run);
    return rc;
}

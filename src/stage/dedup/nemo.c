/* nemo.c - the result once more in the files of NeMo Curator 0.8 (--layout nemo), so that scripts
 * written for its clustering_results/ go on working: dedup/nemo/clustering_results/ in the place.
 * As there, unique_ids_<eps>.parquet lists the ids to REMOVE, and an empty cluster has no file. */
#include "base/err.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "stage/dedup/eps.h"
#include "stage/dedup/members.h"
#include "tensor/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER    "dedup/nemo/clustering_results/"
#define CENTROIDS FOLDER "kmeans_centroids.npy"
#define RUN       "_darkroom/" DEDUP_NEMO "/run.json"

struct copying {
    struct dedup *d;
    struct ids ids;
    struct members members;
    struct scratch score; /* float per row */
    struct texts max_id;  /* and the id it belongs to */
    struct block block;
    float *host; /* a block of rows as it stands on the device */
    struct arena arena;
    struct receipt receipt;
};

static void name_rows(struct str *out, int64_t cluster)
{
    str_clear(out);
    str_printf(out, FOLDER "embs_by_nearest_center/nearest_cent=%lld/part.0.parquet",
               (long long)cluster);
}

static void name_table(struct str *out, int64_t cluster)
{
    str_clear(out);
    str_printf(out, FOLDER "semdedup_pruning_tables/cluster_%lld.parquet", (long long)cluster);
}

static void name_ids(struct str *out, const char *eps)
{
    str_clear(out);
    str_printf(out, FOLDER "unique_ids_%s.parquet/part.0.parquet", eps);
}

static void name_summary(struct str *out, const char *eps)
{
    str_clear(out);
    str_printf(out, FOLDER "dedup_summary_%s.csv", eps);
}

/* ---- what dedup-pairs found ---- */

static int load_part(struct copying *c, int64_t part, int64_t row)
{
    const struct column_info score = {
        .name = (char[]){"cosine_sim_score"}, .type = COLUMN_REAL, .from = SIDE_ASSIGN};
    const struct column_info max_id = {
        .name = (char[]){"max_id"}, .type = COLUMN_STRING, .from = SIDE_ASSIGN};
    const struct column_info *want[] = {&score, &max_id};
    struct batch *b;
    size_t n;
    int rc = batch_open(&b, c->d->sidecars, part, want, 2);
    while (!rc && !(rc = batch_next(b, 0, &n)))
        for (size_t i = 0; i < n && !rc; i++, row++) {
            const struct parquet_slice *id = &batch_column(b, 1)->strings[i];
            ((float *)c->score.p)[row] = (float)batch_column(b, 0)->reals[i];
            rc = texts_add(&c->max_id, id->p, id->n);
        }
    batch_close(b);
    return rc < 0 ? rc : 0;
}

static int load_pairs(struct copying *c)
{
    const struct rowset *rows = &c->d->rows;
    int rc = scratch_open(&c->score, c->d->place, mem_mul((size_t)rows->total, sizeof(float)));
    if (!rc) rc = texts_open(&c->max_id, c->d->place, rows->total);
    for (int64_t i = 0; i < rows->parts && !rc; i++)
        if (rows->part[i].rows) rc = load_part(c, i, rows->first[i]);
    return rc;
}

/* ---- tables ---- */

/* One file: its columns, and a function that puts the rows. */
static int write_table(struct copying *c, const char *name, const struct parquet_column *columns,
                       size_t count, int (*put)(struct copying *, struct parquet_writer *, int64_t),
                       int64_t cluster)
{
    struct sink *s;
    struct parquet_writer *w = NULL;
    int rc = place_create(c->d->place, name, &s);
    if (rc) return rc;
    rc = parquet_writer_new(&w, s, columns, count, NULL);
    if (!rc) rc = put(c, w, cluster);
    if (!rc) rc = parquet_finish(w);
    parquet_writer_free(w);
    if (!rc) return product_commit(&c->receipt, s, name);
    sink_abort(s);
    return rc;
}

static void put_id(struct parquet_writer *w, size_t col, const struct texts *t, int64_t row)
{
    struct parquet_slice s = texts_get(t, row);
    parquet_put_string(w, col, s.p, s.n);
}

static int put_block(struct copying *c, struct parquet_writer *w, const int64_t *rows)
{
    const struct clustering *found = &c->d->found;
    const struct tensor *x = &c->block.x;
    int rc = op_get(c->d->device, c->host, x->data, (size_t)(x->dim[0] * x->ld) * sizeof(float));
    for (int64_t i = 0; i < x->dim[0] && !rc; i++) {
        put_id(w, 0, &c->ids.name, rows[i]);
        parquet_put_floats(w, 1, c->host + i * x->ld, (size_t)x->dim[1]);
        parquet_put_real(w, 2, found->distance[2 * rows[i]]);
        parquet_put_real(w, 3, found->distance[2 * rows[i] + 1]);
        rc = parquet_end_row(w);
    }
    return rc;
}

static int put_rows(struct copying *c, struct parquet_writer *w, int64_t cluster)
{
    int64_t count;
    const int64_t *list = members_of(&c->members, cluster, &count);
    struct rowset_reader reader;
    struct rows rows = rowset_rows(&reader, &c->d->rows, list, count);
    int rc = 0;
    for (int64_t at = 0; at < count && !rc; at += c->block.most) {
        int64_t n = count - at < c->block.most ? count - at : c->block.most;
        block_reset(&c->block);
        rc = block_add(&c->block, &rows, at, n, 1);
        if (!rc) rc = block_finish(&c->block);
        if (!rc) rc = put_block(c, w, list + at);
    }
    rowset_reader_release(&reader);
    return rc;
}

static int put_pairs(struct copying *c, struct parquet_writer *w, int64_t cluster)
{
    struct lineup l;
    int rc = 0;
    lineup_make(&l, &c->arena, c->d, &c->members, &c->ids, cluster);
    for (int64_t i = 0; i < l.count && !rc; i++) {
        put_id(w, 0, &c->ids.name, l.row[i]);
        put_id(w, 1, &c->max_id, l.row[i]);
        parquet_put_real(w, 2, ((const float *)c->score.p)[l.row[i]]);
        rc = parquet_end_row(w);
    }
    arena_relax(&c->arena, 64 << 20);
    return rc;
}

static int put_removed(struct copying *c, struct parquet_writer *w, int64_t unused)
{
    float limit = pairs_limit(c->d->set.eps[0]);
    int rc = 0;
    (void)unused;
    for (int64_t k = 0; k < c->members.clusters; k++) {
        int64_t count;
        const int64_t *row = members_of(&c->members, k, &count);
        for (int64_t i = 0; i < count && !rc; i++) {
            if (!(((const float *)c->score.p)[row[i]] >= limit)) continue;
            put_id(w, 0, &c->ids.name, row[i]);
            parquet_put_real(w, 1, c->d->found.distance[2 * row[i] + 1]);
            parquet_put_int(w, 2, k);
            rc = parquet_end_row(w);
        }
    }
    return rc;
}

/* ---- all files ---- */

static int write_cluster(struct copying *c, int64_t k, struct str *name)
{
    static const struct parquet_column rows[] = {{"id", PARQUET_STRING, 1},
                                                 {"embeddings", PARQUET_FLOATS, 1},
                                                 {"l2_dist_to_cent", PARQUET_FLOAT, 1},
                                                 {"cosine_dist_to_cent", PARQUET_FLOAT, 1}};
    static const struct parquet_column pairs[] = {{"id", PARQUET_STRING, 1},
                                                  {"max_id", PARQUET_STRING, 1},
                                                  {"cosine_sim_score", PARQUET_FLOAT, 1}};
    int64_t count;
    members_of(&c->members, k, &count);
    if (!count) return 0;
    name_rows(name, k);
    int rc = write_table(c, name->p, rows, 4, put_rows, k);
    name_table(name, k);
    if (!rc) rc = write_table(c, name->p, pairs, 3, put_pairs, k);
    return rc ? rc
              : dedup_progress(c->d, "writing NeMo's layout",
                               (double)(k + 1) / (double)c->members.clusters);
}

static int copy_centroids(struct copying *c)
{
    struct file_map m = {0};
    struct sink *s;
    int rc = place_map(c->d->place, "dedup/centroids.npy", &m);
    if (!rc) rc = place_create(c->d->place, CENTROIDS, &s);
    if (!rc && (rc = sink_write(s, m.p, m.n)))
        sink_abort(s);
    else if (!rc)
        rc = product_commit(&c->receipt, s, CENTROIDS);
    file_unmap(&m);
    return rc;
}

static int write_summary(struct copying *c, const char *eps, const char *name)
{
    struct eps_table t;
    struct str csv = {0};
    struct sink *s;
    int rc = eps_count(&t, c->d, c->d->set.eps, 1);
    if (rc) return rc;
    str_printf(&csv, "eps,kept,removed,total\n%s,%lld,%lld,%lld\n", eps,
               (long long)(t.total - t.removed[0]), (long long)t.removed[0], (long long)t.total);
    rc = place_create(c->d->place, name, &s);
    if (!rc && (rc = sink_write(s, csv.p, csv.len)))
        sink_abort(s);
    else if (!rc)
        rc = product_commit(&c->receipt, s, name);
    str_release(&csv);
    return rc;
}

static int write_all(struct copying *c)
{
    static const struct parquet_column removed[] = {{"id", PARQUET_STRING, 1},
                                                    {"cosine_dist_to_cent", PARQUET_FLOAT, 1},
                                                    {"cluster", PARQUET_INT64, 1}};
    struct str name = {0};
    char eps[32];
    eps_text(eps, c->d->set.eps[0]);
    int rc = copy_centroids(c);
    for (int64_t k = 0; k < c->members.clusters && !rc; k++) rc = write_cluster(c, k, &name);
    name_ids(&name, eps);
    if (!rc) rc = write_table(c, name.p, removed, 3, put_removed, 0);
    name_summary(&name, eps);
    if (!rc) rc = write_summary(c, eps, name.p);
    str_release(&name);
    return rc;
}

/* A file, and the folder it alone was in. */
static int remove_alone(struct place *p, struct str *name)
{
    int rc = place_remove(p, name->p);
    *strrchr(name->p, '/') = 0;
    return rc ? rc : place_remove_folder(p, name->p);
}

/* Innermost first. */
static int remove_folders(struct place *p)
{
    static const char *const folder[] = {FOLDER "embs_by_nearest_center",
                                         FOLDER "semdedup_pruning_tables",
                                         "dedup/nemo/clustering_results", "dedup/nemo"};
    int rc = 0;
    for (size_t i = 0; i < sizeof folder / sizeof *folder && !rc; i++)
        rc = place_remove_folder(p, folder[i]);
    return rc;
}

/* Files of an earlier layout would be taken for ours: NeMo reads whatever is in the folder.
 * run.json goes last: it says which files there may be. */
static int remove_old(struct dedup *d, const struct run *old)
{
    struct str name = {0};
    const char *clusters = run_get(old, "clusters"), *eps = run_get(old, "eps");
    int64_t n = clusters ? strtoll(clusters, NULL, 10) : 0;
    int rc = receipt_remove(d->place, DEDUP_NEMO, 0, 1);
    for (int64_t k = 0; k < n && !rc; k++) {
        name_rows(&name, k);
        rc = remove_alone(d->place, &name);
        name_table(&name, k);
        if (!rc) rc = place_remove(d->place, name.p);
    }
    if (eps && !strchr(eps, '/')) {
        name_ids(&name, eps);
        if (!rc) rc = remove_alone(d->place, &name);
        name_summary(&name, eps);
        if (!rc) rc = place_remove(d->place, name.p);
    }
    if (!rc) rc = place_remove(d->place, CENTROIDS);
    if (!rc) rc = remove_folders(d->place);
    if (!rc) rc = place_remove(d->place, RUN);
    str_release(&name);
    return rc;
}

static int open_all(struct copying *c)
{
    struct dedup *d = c->d;
    int rc = dedup_open_rows(d);
    if (!rc) rc = ids_open(&c->ids, d);
    if (!rc) rc = members_open(&c->members, d);
    if (!rc) rc = load_pairs(c);
    if (rc || !d->rows.dim) return rc;
    int64_t most = block_size(d->rows.dim);
    rc = block_init(&c->block, d->device, most, d->rows.dim);
    c->host = mem_aligned(mem_mul((size_t)most, (size_t)c->block.x.ld * sizeof(float)));
    return rc;
}

static int make(struct dedup *d, struct run *run, const struct receipt_files *inputs)
{
    struct copying c = {.d = d};
    int rc = product_claim(run, d, DEDUP_NEMO, 1, RUN_REPLACE);
    if (!rc) dedup_begin(d, DEDUP_NEMO);
    if (!rc) rc = open_all(&c);
    if (!rc) rc = product_begin(&c.receipt, d->place, DEDUP_NEMO, run, inputs, 0, 1);
    c.receipt.samples = c.receipt.rows = d->found.good;
    if (!rc) rc = write_all(&c);
    fault_point("receipt");
    if (!rc) rc = receipt_save(&c.receipt, d->place, DEDUP_NEMO);
    if (!rc) log_info("NeMo Curator's layout is in %s/dedup/nemo", place_url(d->place));
    receipt_release(&c.receipt);
    free(c.host);
    block_release(&c.block);
    arena_release(&c.arena);
    texts_close(&c.max_id);
    scratch_close(&c.score);
    members_close(&c.members);
    ids_close(&c.ids);
    return rc;
}

/* ---- the run ---- */

static int is_same(const struct run *a, const struct run *b)
{
    for (size_t i = 0; i < a->count; i++) {
        const char *was = run_get(b, a->field[i].name);
        if (!was || strcmp(was, a->field[i].value)) return 0;
    }
    return 1;
}

/* What the files would be made with and from; *old: what is there, and whether it is just that. */
static int compare(struct run *run, struct receipt_files *inputs, struct run *old, int *done,
                   struct dedup *d)
{
    struct receipt r;
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)d->found.clusters);
    run_add(run, "clusters", text);
    eps_text(text, d->set.eps[0]);
    run_add(run, "eps", text);
    files_copy(inputs, &d->found.source);
    int rc = sidecars_note_all(inputs, d->sidecars, SIDE_ASSIGN);
    *done = !rc && place_exists(d->place, RUN, NULL) && !run_load(old, d->place, DEDUP_NEMO) &&
            is_same(run, old) && product_done(&r, d->place, DEDUP_NEMO, old, inputs, 0, 1);
    if (*done) receipt_release(&r);
    return rc;
}

int dedup_drop_nemo(struct dedup *d)
{
    struct run run = {0}, old = {0};
    struct receipt_files inputs = {0};
    int done, rc;
    if (!place_exists(d->place, RUN, NULL)) return 0;
    rc = compare(&run, &inputs, &old, &done, d);
    if (!rc && !done && old.count) {
        rc = remove_old(d, &old);
        if (!rc && d->o->layout != LAYOUT_AS_NEMO)
            log_info("dedup/nemo was of other clusters, pairs or another eps and is removed; "
                     "--layout nemo writes it again");
    }
    files_release(&inputs);
    run_release(&run);
    run_release(&old);
    return rc;
}

int dedup_nemo(struct dedup *d)
{
    struct run run = {0}, old = {0};
    struct receipt_files inputs = {0};
    int done, rc = compare(&run, &inputs, &old, &done, d);
    if (!rc && !done) rc = make(d, &run, &inputs);
    files_release(&inputs);
    run_release(&run);
    run_release(&old);
    return rc;
}

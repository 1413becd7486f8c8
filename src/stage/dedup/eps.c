/* eps.c - the product dedup-eps: the rows that stay and the rows that go at one threshold, and the
 * table of several. Only the sidecars of dedup-pairs are read, so another eps is cheap. */
#include "stage/dedup/eps.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/log.h"
#include "stage/dedup/ids.h"
#include "stage/dedup/pairs.h"

#include <stdio.h>
#include <string.h>

static const struct column_info assigned[] = {
    {.name = (char[]){"nearest_cent"}, .type = COLUMN_INT, .from = SIDE_ASSIGN},
    {.name = (char[]){"l2_dist_to_cent"}, .type = COLUMN_REAL, .from = SIDE_ASSIGN},
    {.name = (char[]){"cosine_dist_to_cent"}, .type = COLUMN_REAL, .from = SIDE_ASSIGN},
    {.name = (char[]){"max_id"}, .type = COLUMN_STRING, .from = SIDE_ASSIGN},
    {.name = (char[]){"cosine_sim_score"}, .type = COLUMN_REAL, .from = SIDE_ASSIGN}};
enum { ASSIGNED = 5, SCORE = 4 };

/* ---- counting ---- */

static int count_part(struct eps_table *t, const struct dedup *d, const float *limit, int64_t part)
{
    const struct column_info *want[] = {&assigned[SCORE]};
    struct batch *b;
    size_t n;
    int rc = batch_open(&b, d->sidecars, part, want, 1);
    while (!rc && !(rc = batch_next(b, 0, &n))) {
        const struct column *c = batch_column(b, 0);
        for (size_t i = 0; i < n; i++) {
            if (c->valid && !c->valid[i]) continue;
            t->total++;
            for (int e = 0; e < t->count; e++) t->removed[e] += (float)c->reals[i] >= limit[e];
        }
    }
    batch_close(b);
    return rc < 0 ? rc : 0;
}

int eps_count(struct eps_table *t, struct dedup *d, const double *eps, int count)
{
    float limit[PAIRS_EPS + 1];
    int rc = 0;
    *t = (struct eps_table){.count = d->set.greedy ? 1 : count};
    for (int e = 0; e < count; e++) {
        t->eps[e] = eps[e];
        limit[e] = pairs_limit(eps[e]);
    }
    if (d->other_pairs) {
        t->total = d->found.good;
        t->count = count;
        return greedy_count(d, eps, count, t->removed);
    }
    for (int64_t i = 0; i < sidecars_count(d->sidecars) && !rc; i++)
        if (sidecars_rows(d->sidecars, i) > 0) rc = count_part(t, d, limit, i);
    if (!rc && t->total != d->found.good)
        rc = err_set(ERR_STALE, "%s/dedup: %lld rows have a score, %lld a cluster: not of one run",
                     place_url(d->place), (long long)t->total, (long long)d->found.good);
    if (!rc && t->count < count) {
        rc = greedy_count(d, eps + 1, count - 1, t->removed + 1);
        t->count = count;
    }
    return rc;
}

/* At an eps that is not the one of the pairs. */
static int count_one(int64_t *removed, struct dedup *d, double eps)
{
    struct eps_table t;
    *removed = 0;
    if (d->set.greedy) return greedy_count(d, &eps, 1, removed);
    int rc = eps_count(&t, d, &eps, 1);
    if (!rc) *removed = t.removed[0];
    return rc;
}

/* ---- telling ---- */

static const char *grouped(char out[32], int64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%lld", (long long)n), at = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0) out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = 0;
    return out;
}

/* eps above one half is nearly always a similarity. NeMo Curator's Slurm guide does that and keeps
 * the ids listed for removal as well: the two mistakes hide each other, so all four are told. */
static int warn(struct dedup *d, const struct eps_table *t)
{
    double eps = t->eps[0];
    char text[32], other[32], n[4][32], all[32];
    int64_t repaired;
    if (eps <= 0.5) return 0;
    eps_text(text, eps);
    eps_text(other, 1 - eps);
    grouped(all, t->total);
    grouped(n[0], t->removed[0]);
    log_warn("eps %s removes every image with a neighbour of cosine >= %s: %s of %s; did you mean "
             "similarity %s, that is eps %s?",
             text, other, n[0], all, text, other);
    int rc = count_one(&repaired, d, 1 - eps);
    if (rc) return rc;
    grouped(n[1], t->total - t->removed[0]);
    grouped(n[2], repaired);
    grouped(n[3], t->total - repaired);
    log_warn("NeMo Curator's Slurm guide sets eps like that and also keeps the ids that are listed "
             "for removal. Images kept of %s: as the guide runs (eps %s, mask inverted) %s; mask "
             "repaired %s; eps repaired (%s) %s; both repaired %s. darkroom obeys eps %s with the "
             "mask repaired: %s stay",
             all, text, n[0], n[1], other, n[2], n[3], text, n[1]);
    return 0;
}

static void tell_table(const struct eps_table *t)
{
    log_result("%12s %14s %14s", "eps", "kept", "removed");
    for (int e = 0; e < t->count; e++) {
        struct str event = {0};
        char text[32], kept[32], removed[32];
        long long stay = t->total - t->removed[e];
        eps_text(text, t->eps[e]);
        log_result("%12s %14s %14s", text, grouped(kept, stay), grouped(removed, t->removed[e]));
        str_printf(&event,
                   "{\"event\": \"eps\", \"eps\": %s, \"kept\": %lld, \"removed\": %lld, "
                   "\"total\": %lld}",
                   text, stay, (long long)t->removed[e], (long long)t->total);
        log_event(event.p);
        str_release(&event);
    }
}

/* ---- the lists ---- */

enum { KEPT, REMOVED, QUARANTINED, LISTS };
static const char *const list_name[LISTS] = {"dedup/kept.parquet", "dedup/removed.parquet",
                                             "dedup/quarantined.parquet"};

static const struct parquet_column columns[] = {{"id", PARQUET_STRING, 0},
                                                {"part", PARQUET_INT32, 0},
                                                {"row", PARQUET_INT64, 0},
                                                {"nearest_cent", PARQUET_INT32, 1},
                                                {"l2_dist_to_cent", PARQUET_FLOAT, 1},
                                                {"cosine_dist_to_cent", PARQUET_FLOAT, 1},
                                                {"max_id", PARQUET_STRING, 1},
                                                {"cosine_sim_score", PARQUET_FLOAT, 1}};

struct lists {
    struct sink *sink[LISTS];
    struct parquet_writer *writer[LISTS];
    int64_t rows[LISTS];
    int64_t at; /* the row of the place that comes next */
    float limit;
    struct str room;
};

static int put_row(struct lists *l, struct batch *b, size_t i, const struct column *id,
                   int64_t part, int64_t row, int32_t label)
{
    const struct column *score = batch_column(b, SCORE);
    int good = !score->valid || score->valid[i];
    int list = !good ? QUARANTINED : (float)score->reals[i] >= l->limit ? REMOVED : KEPT;
    struct parquet_writer *w = l->writer[list];
    if (good != (label >= 0))
        return err_set(ERR_STALE, "partition %lld, row %lld: sidecar and labels disagree",
                       (long long)part, (long long)row);
    if (label == LABEL_OUT) return 0;
    struct parquet_slice name = name_of(&l->room, id, i, part, row);
    parquet_put_string(w, 0, name.p, name.n);
    parquet_put_int(w, 1, part);
    parquet_put_int(w, 2, row);
    if (good) {
        const struct parquet_slice *max = &batch_column(b, 3)->strings[i];
        parquet_put_int(w, 3, batch_column(b, 0)->ints[i]);
        parquet_put_real(w, 4, batch_column(b, 1)->reals[i]);
        parquet_put_real(w, 5, batch_column(b, 2)->reals[i]);
        parquet_put_string(w, 6, max->p, max->n);
        parquet_put_real(w, 7, score->reals[i]);
    }
    l->rows[list]++;
    return parquet_end_row(w);
}

static int put_part(struct lists *l, const struct dedup *d, int64_t part)
{
    const struct column_info *want[ASSIGNED + 1];
    struct batch *b;
    int64_t row = 0;
    size_t n;
    for (int i = 0; i < ASSIGNED; i++) want[i] = &assigned[i];
    want[ASSIGNED] = d->id;
    int rc = batch_open(&b, d->sidecars, part, want, ASSIGNED + (d->id != NULL));
    while (!rc && !(rc = batch_next(b, 0, &n))) {
        const struct column *id = d->id ? batch_column(b, ASSIGNED) : NULL;
        for (size_t i = 0; i < n && !rc; i++, row++, l->at++)
            rc = put_row(l, b, i, id, sidecars_number(d->sidecars, part), row,
                         d->found.label[l->at]);
    }
    batch_close(b);
    return rc < 0 ? rc : 0;
}

static int open_lists(struct lists *l, struct dedup *d)
{
    int rc = 0;
    for (int i = 0; i < LISTS && !rc; i++) {
        rc = place_create(d->place, list_name[i], &l->sink[i]);
        if (!rc)
            rc = parquet_writer_new(&l->writer[i], l->sink[i], columns,
                                    sizeof columns / sizeof *columns, NULL);
    }
    return rc;
}

static int write_summary(struct receipt *r, struct place *p, const struct eps_table *t)
{
    struct str csv = {0};
    struct sink *s;
    str_puts(&csv, "eps,kept,removed,total\n");
    for (int e = 0; e < t->count; e++) {
        char text[32];
        eps_text(text, t->eps[e]);
        str_printf(&csv, "%s,%lld,%lld,%lld\n", text, (long long)(t->total - t->removed[e]),
                   (long long)t->removed[e], (long long)t->total);
    }
    int rc = place_create(p, "dedup/summary.csv", &s);
    if (!rc && (rc = sink_write(s, csv.p, csv.len)))
        sink_abort(s);
    else if (!rc)
        rc = product_commit(r, s, "dedup/summary.csv");
    str_release(&csv);
    return rc;
}

static int write_lists(struct receipt *r, struct dedup *d, const struct eps_table *t)
{
    struct lists l = {.limit = pairs_limit(t->eps[0])};
    int rc = open_lists(&l, d);
    for (int64_t i = 0; i < sidecars_count(d->sidecars) && !rc; i++)
        if (sidecars_rows(d->sidecars, i) > 0) rc = put_part(&l, d, i);
    for (int i = 0; i < LISTS; i++) {
        if (!rc) rc = parquet_finish(l.writer[i]);
        parquet_writer_free(l.writer[i]);
    }
    if (!rc && (l.rows[REMOVED] != t->removed[0] || l.rows[KEPT] + l.rows[REMOVED] != t->total ||
                l.rows[QUARANTINED] != d->found.bad))
        rc = err_set(ERR_STALE,
                     "%s: kept, removed and quarantined are not all rows; the sidecars "
                     "changed meanwhile",
                     place_url(d->place));
    for (int i = 0; i < LISTS; i++) {
        if (rc)
            sink_abort(l.sink[i]);
        else
            rc = product_commit(r, l.sink[i], list_name[i]);
    }
    str_release(&l.room);
    return rc ? rc : write_summary(r, d->place, t);
}

static int make(struct dedup *d, const struct run *run, const struct receipt_files *inputs,
                const struct eps_table *t)
{
    struct receipt r;
    int rc = product_begin(&r, d->place, DEDUP_EPS, run, inputs, 0, 1);
    r.samples = r.rows = t->total + d->found.bad;
    if (!rc) rc = write_lists(&r, d, t);
    fault_point("receipt");
    if (!rc) rc = receipt_save(&r, d->place, DEDUP_EPS);
    receipt_release(&r);
    d->redone++;
    return rc;
}

static int apply(struct dedup *d, const struct eps_table *t)
{
    struct run run = {0};
    struct receipt_files inputs = {0};
    struct receipt r;
    settings_of_eps(&run, &d->set);
    files_copy(&inputs, &d->found.source);
    int rc = sidecars_note_all(&inputs, d->sidecars, SIDE_ASSIGN);
    if (!rc) rc = product_claim(&run, d, DEDUP_EPS, 1, RUN_REPLACE);
    if (!rc && product_done(&r, d->place, DEDUP_EPS, &run, &inputs, 0, 1))
        receipt_release(&r);
    else if (!rc)
        rc = make(d, &run, &inputs, t);
    files_release(&inputs);
    run_release(&run);
    return rc;
}

/* kept + removed + quarantined = rows, in words. */
static void tell_sum(const struct dedup *d, const struct eps_table *t)
{
    const struct clustering *c = &d->found;
    struct str out = {0}, event = {0};
    char text[32], n[4][32];
    eps_text(text, t->eps[0]);
    str_puts(&out, "");
    if (c->out) str_printf(&out, "; %s rows did not pass the filter", grouped(n[0], c->out));
    log_info("dedup: %s rows = %s kept + %s removed + %s quarantined at eps %s%s",
             grouped(n[0], t->total + c->bad), grouped(n[1], t->total - t->removed[0]),
             grouped(n[2], t->removed[0]), grouped(n[3], c->bad), text, out.p);
    str_printf(&event,
               "{\"event\": \"done\", \"product\": \"dedup\", \"eps\": %s, \"rows\": %lld, "
               "\"kept\": %lld, \"removed\": %lld, \"quarantined\": %lld, \"not_considered\": "
               "%lld, \"clusters\": %lld, \"dry_run\": %s}",
               text, (long long)(t->total + c->bad), (long long)(t->total - t->removed[0]),
               (long long)t->removed[0], (long long)c->bad, (long long)c->out,
               (long long)c->clusters, d->o->dry_run ? "true" : "false");
    log_event(event.p);
    str_release(&out);
    str_release(&event);
}

int dedup_eps(struct dedup *d)
{
    struct eps_table t;
    int rc = eps_count(&t, d, d->set.eps, d->set.count);
    if (!rc) rc = warn(d, &t);
    if (!rc && !d->o->dry_run) rc = apply(d, &t);
    if (rc) return rc;
    tell_table(&t);
    tell_sum(d, &t);
    return 0;
}

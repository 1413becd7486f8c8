/* lane.c - neighbouring output shards, written one after the other while the sources pass by once.
 * A finished output waits, invisible, until the source it ended in has been read to its end and
 * found to be what embed saw; then it is committed, receipt last. */
#include "stage/export/feed.h"
#include "stage/export/output.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "text/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lane {
    struct exporter *x;
    struct output *now;     /* being written */
    struct output *waiting; /* oldest first */
    struct output **waiting_end;
    int64_t part; /* open, or -1 */
    struct origins origins;
    struct embeddings embeddings;
    struct batch *batch;
    int64_t batch_first; /* row of the partition that is its first */
    size_t batch_rows;
    struct feed feed;
    int64_t row;   /* of the partition: the next to be matched */
    size_t lapse;  /* the next of the origin */
    float *vector; /* [dim] */
    struct str clean, name, last_key;
    struct seen keys; /* of the output being written */
};

/* ---- sources ---- */

/* The open source to its end; what waited for it becomes visible. */
static int lane_finish(struct lane *l)
{
    int rc = feed_finish(&l->feed);
    if (rc) return rc;
    if (l->now) output_note(l->now, &l->feed.read);
    for (struct output *o = l->waiting; o; o = o->next) output_note(o, &l->feed.read);
    feed_close(&l->feed);
    for (struct output *o; !rc && (o = l->waiting);) {
        rc = output_commit(o, l->x);
        l->waiting = o->next;
        output_drop(o);
    }
    if (!l->waiting) l->waiting_end = &l->waiting;
    return rc;
}

static void close_part(struct lane *l)
{
    batch_close(l->batch);
    l->batch = NULL;
    embeddings_close(&l->embeddings);
    free(l->vector);
    l->vector = NULL;
    l->part = -1;
}

static int open_part(struct lane *l, int64_t part)
{
    struct exporter *x = l->x;
    close_part(l);
    int rc = origins_load(&l->origins, x, part);
    if (!rc) rc = batch_open(&l->batch, x->sidecars, part, x->sheet.want, x->sheet.count);
    if (!rc && x->o->with_embedding)
        rc = embeddings_open(&l->embeddings, x->sidecars, SIDE_IMAGE, part);
    if (rc) return rc;
    if (l->embeddings.dim) l->vector = mem_alloc((size_t)l->embeddings.dim * sizeof(float));
    l->part = part;
    l->batch_first = 0;
    l->batch_rows = 0;
    return 0;
}

static const struct origin *origin_of(const struct origins *o, int64_t row)
{
    for (size_t i = 0; i < o->count; i++)
        if (row >= o->list[i].first && row < o->list[i].first + o->list[i].rows) return &o->list[i];
    return NULL;
}

static int open_origin(struct lane *l, int64_t part, int64_t row)
{
    int rc = lane_finish(l);
    if (!rc && l->part != part) rc = open_part(l, part);
    if (rc) return rc;
    const struct origin *o = origin_of(&l->origins, row);
    if (!o)
        return err_set(ERR_STALE, "partition %lld: row %lld has no source", (long long)part,
                       (long long)row);
    int64_t behind = l->batch_first + (int64_t)l->batch_rows; /* the batch may hold it already */
    assert(o->first >= l->batch_first);
    if (o->first > behind) {
        rc = batch_skip(l->batch, o->first - behind);
        l->batch_first = o->first;
        l->batch_rows = 0;
    }
    l->row = o->first;
    l->lapse = 0;
    while (o->label && l->lapse < l->origins.nlapses &&
           l->origins.lapses[l->lapse].label != o->label)
        l->lapse++;
    return rc ? rc : feed_open(&l->feed, l->x, part, &l->origins, o);
}

/* ---- rows and samples ---- */

/* As a table holds it: every ill-formed part is U+FFFD. */
static void clean_text(struct str *out, const char *p, size_t n)
{
    struct runes r = {0};
    str_clear(out);
    if (utf8_valid(p, n)) {
        str_add(out, p, n);
        return;
    }
    utf8_decode(&r, p, n);
    utf8_encode(out, r.p, r.n);
    runes_release(&r);
}

static int is_lapse(struct lane *l)
{
    if (l->lapse >= l->origins.nlapses) return 0;
    const struct lapse *e = &l->origins.lapses[l->lapse];
    if (e->offset != l->feed.offset || (l->feed.hash && e->label != l->feed.hash)) return 0;
    l->lapse++;
    return 1;
}

/* NeMo compares ids as integers: zeros in front do not count. */
static int same_number(struct parquet_slice a, struct parquet_slice b)
{
    while (a.n > 1 && *a.p == '0') a.p++, a.n--;
    while (b.n > 1 && *b.p == '0') b.p++, b.n--;
    for (size_t i = 0; i < a.n; i++)
        if (a.p[i] < '0' || a.p[i] > '9') return 0;
    return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

/* Is the sample at hand the one that row i of the batch names? */
static int is_match(struct lane *l, size_t i)
{
    const struct column *c = batch_column(l->batch, l->x->sheet.match);
    struct parquet_slice key, row;
    char number[24];
    clean_text(&l->clean, l->feed.key.p, l->feed.key.len);
    key = (struct parquet_slice){l->clean.p, l->clean.len};
    if (c->type == COLUMN_STRING)
        row = c->strings[i];
    else
        row = (struct parquet_slice){
            number, (size_t)snprintf(number, sizeof number, "%lld",
                                     c->type == COLUMN_INT ? (long long)c->ints[i] : -1LL)};
    if (row.n == key.n && !memcmp(row.p, key.p, row.n)) return 1;
    return sidecars_layout(l->x->sidecars) == LAYOUT_NEMO && same_number(key, row);
}

/* A sample that is not the one its row names. When the source is another file now, that is why. */
static int mismatch(struct lane *l, size_t i, int ended)
{
    const struct column *c = batch_column(l->batch, l->x->sheet.match);
    struct parquet_slice row =
        c->type == COLUMN_STRING ? c->strings[i] : (struct parquet_slice){"", 0};
    char *found = ended ? NULL : mem_strdup(l->clean.p), *label = mem_strdup(l->feed.label);
    int rc = feed_finish(&l->feed);
    if (!rc && found)
        rc = err_set(ERR_STALE,
                     "%s: the sample '%s' stands where row %lld of partition %lld expects '%.*s': "
                     "the rows were made from other shards",
                     label, found, (long long)l->row,
                     (long long)sidecars_number(l->x->sidecars, l->part),
                     (int)(row.n < 80 ? row.n : 80), row.p);
    else if (!rc)
        rc =
            err_set(ERR_STALE,
                    "%s ends before the sample '%.*s' of row %lld of partition %lld: the rows were "
                    "made from other shards, or stand in another order",
                    label, (int)row.n, row.p, (long long)l->row,
                    (long long)sidecars_number(l->x->sidecars, l->part));
    free(found);
    free(label);
    return rc;
}

/* The sample of row l->row, which is row i of the batch. */
static int match_row(struct lane *l, size_t i)
{
    int own = sidecars_layout(l->x->sidecars) == LAYOUT_DARKROOM;
    for (;;) {
        int rc = feed_next(&l->feed);
        if (rc == 1) return mismatch(l, i, 1);
        if (rc) return rc;
        if (own && is_lapse(l)) continue;
        if (is_match(l, i)) return 0;
        if (own) return mismatch(l, i, 0);
    }
}

/* Go to the sample of this row; *i is its place in the batch. */
static int lane_seek(struct lane *l, size_t *i, int64_t part, int64_t row)
{
    const struct origin *o = l->feed.origin;
    int rc = 0;
    if (l->part != part || !o || row < l->row || row >= o->first + o->rows)
        rc = open_origin(l, part, row);
    while (!rc && l->row <= row) {
        if (l->row == l->batch_first + (int64_t)l->batch_rows) {
            l->batch_first = l->row;
            rc = batch_next(l->batch, 0, &l->batch_rows);
            if (rc == 1) rc = err_set(ERR_INPUT, "partition %lld ends too early", (long long)part);
            if (rc) break;
        }
        *i = (size_t)(l->row - l->batch_first);
        if ((rc = match_row(l, *i))) break;
        l->row++;
    }
    return rc;
}

/* ---- copying ---- */

/* The name a member has in the new tar. */
static const char *member_name(struct lane *l, const struct feed_member *m, const char *id)
{
    if (!l->x->o->renumber) return m->name;
    str_clear(&l->name);
    str_printf(&l->name, "%s.%s", id, m->ext);
    return l->name.p;
}

/* All members, as they come from the source; *key is the key they have in the new tar. */
static int copy_members(struct lane *l, struct str *key, const char *id)
{
    struct output *o = l->now;
    struct feed_member m;
    int rc;
    str_clear(key);
    while (!(rc = feed_member(&l->feed, &m))) {
        const char *name = member_name(l, &m, id);
        int64_t n;
        if (!key->len) str_add(key, name, strlen(name) - strlen(m.ext) - 1);
        rc = tar_writer_begin(&o->tar, name, m.size);
        for (const void *p; !rc && (n = feed_span(&l->feed, &p));)
            rc = n < 0 ? (int)n : tar_writer_put(&o->tar, p, (size_t)n);
        if (rc) return rc;
        atomic_fetch_add(&l->x->bytes, (long long)m.size);
    }
    return rc < 0 ? rc : 0;
}

/* Two samples with one key in one shard: apart they may pass, side by side readers take them for
 * one. */
static int check_key(struct lane *l, const struct str *key)
{
    int same =
        key->len == l->last_key.len && l->last_key.p && !memcmp(key->p, l->last_key.p, key->len);
    if (same)
        return err_set(ERR_USAGE,
                       "%0*lld.tar would hold two samples '%s' side by side, which readers take "
                       "for one (their shards use the same keys); --renumber gives every sample a "
                       "key of its own and keeps the old one in a column",
                       (int)l->x->o->max_shards, (long long)l->now->number, key->p);
    if (seen_before(&l->keys, key->p, key->len)) atomic_fetch_add(&l->x->twice, 1);
    str_clear(&l->last_key);
    str_add(&l->last_key, key->p, key->len);
    return 0;
}

/* The sample at hand, row i of the batch, becomes sample `index` of the output. */
static int take(struct lane *l, size_t i, int64_t index)
{
    struct exporter *x = l->x;
    struct output *o = l->now;
    struct str key = {0}, id = {0};
    str_printf(&id, "%0*lld", (int)x->o->max_shards, (long long)o->number);
    if (x->index_digits) str_printf(&id, "%0*lld", x->index_digits, (long long)index);
    int rc = copy_members(l, &key, id.p);
    if (!rc) rc = check_key(l, &key);
    if (!rc) {
        struct sheet_key k = {key.p, l->feed.key.p, l->vector, l->embeddings.dim};
        if (l->vector) embeddings_get(l->vector, &l->embeddings, l->row - 1, 1);
        rc = sheet_put(&x->sheet, o->table, l->batch, i, &k);
    }
    output_source(o, l->feed.label);
    if (!rc) o->receipt.samples = ++o->receipt.rows;
    str_release(&key);
    str_release(&id);
    return rc;
}

static int lane_tick(struct lane *l)
{
    struct exporter *x = l->x;
    long long done = atomic_fetch_add(&x->samples, 1) + 1;
    if (done % 64 == 0) show_progress(x);
    if (atomic_load(&x->failed)) return err_set(ERR_FAIL, "another shard failed");
    return stop_asked() ? err_set(ERR_STOPPED, "stopped by a signal") : 0;
}

/* The first survivor at or behind this row; there is one. */
static void next_survivor(const struct survivors *s, int64_t *part, int64_t *row)
{
    for (;; ++*row) {
        while (*row >= s->base[*part + 1] - s->base[*part]) ++*part, *row = 0;
        if (survivors_has(s, *part, *row)) return;
    }
}

static int write_output(struct lane *l, int64_t number)
{
    struct exporter *x = l->x;
    int64_t first = number * x->o->samples_per_shard, part, row;
    int64_t end = first + x->o->samples_per_shard;
    if (end > x->survivors.count) end = x->survivors.count;
    int rc = output_begin(&l->now, x, number);
    seen_clear(&l->keys);
    str_clear(&l->last_key);
    survivors_at(&x->survivors, first, &part, &row);
    for (int64_t n = first; n < end && !rc; n++) {
        size_t i;
        next_survivor(&x->survivors, &part, &row);
        rc = lane_seek(l, &i, part, row);
        if (!rc) rc = take(l, i, n - first);
        if (!rc) rc = lane_tick(l);
        row++;
    }
    if (!rc) rc = output_end(l->now);
    if (rc) return rc;
    *l->waiting_end = l->now;
    l->waiting_end = &l->now->next;
    l->now = NULL;
    return 0;
}

/* The source failed: what was made from it is given up, what comes after it may go on. */
static void give_up(struct lane *l)
{
    struct exporter *x = l->x;
    pthread_mutex_lock(&x->lock);
    if (!seen_before(&x->told, err_text(), strlen(err_text()))) log_warn("%s", err_text());
    snprintf(x->error, sizeof x->error, "%s", err_text());
    pthread_mutex_unlock(&x->lock);
    feed_close(&l->feed);
    if (l->now) atomic_fetch_sub(&x->samples, l->now->receipt.rows);
    if (l->now) atomic_fetch_add(&x->undone, 1);
    output_drop(l->now);
    l->now = NULL;
    for (struct output *o; (o = l->waiting);) {
        atomic_fetch_sub(&x->samples, o->receipt.rows);
        atomic_fetch_add(&x->undone, 1);
        l->waiting = o->next;
        output_drop(o);
    }
    l->waiting_end = &l->waiting;
    close_part(l);
}

static void lane_release(struct lane *l)
{
    feed_close(&l->feed);
    output_drop(l->now);
    for (struct output *o; (o = l->waiting);) {
        l->waiting = o->next;
        output_drop(o);
    }
    close_part(l);
    origins_release(&l->origins);
    seen_release(&l->keys);
    str_release(&l->clean);
    str_release(&l->name);
    str_release(&l->last_key);
}

void lane_run(struct exporter *x, size_t from, size_t to)
{
    struct lane l = {.x = x, .part = -1};
    int rc = 0;
    l.waiting_end = &l.waiting;
    for (size_t t = from; t <= to && !rc; t++) {
        rc = t < to ? write_output(&l, x->todo[t]) : lane_finish(&l);
        if (rc && l.feed.lost) {
            give_up(&l);
            rc = 0;
        }
    }
    if (rc) export_fail(x, rc);
    lane_release(&l);
}

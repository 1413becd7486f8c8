/* survivors.c - see survivors.h. */
#include "data/survivors.h"
#include "base/log.h"
#include "base/mem.h"
#include "format/parquet/parquet.h"

#include <stdlib.h>
#include <string.h>

#define REMOVED "dedup/removed.parquet"

static int get_bit(const struct survivors *s, int64_t bit)
{
    return (int)(s->bits[bit >> 6] >> (bit & 63) & 1);
}

static void clear_bit(struct survivors *s, int64_t bit)
{
    s->bits[bit >> 6] &= ~((uint64_t)1 << (bit & 63));
}

/* Ones among the bits [from, to). */
static int64_t count_bits(const struct survivors *s, int64_t from, int64_t to)
{
    int64_t n = 0;
    while (from < to) {
        int64_t end = (from | 63) + 1 < to ? (from | 63) + 1 : to;
        uint64_t word = s->bits[from >> 6] >> (from & 63);
        if (end - from < 64) word &= ((uint64_t)1 << (end - from)) - 1;
        n += __builtin_popcountll(word);
        from = end;
    }
    return n;
}

/* ---- tables ---- */

/* Some columns of a table, batch by batch. */
struct table {
    struct file_map map;
    struct parquet_reader *reader;
    int col[2];
};

static int table_open(struct table *t, struct place *p, const char *name,
                      const char *const *columns, int n)
{
    int rc = place_map(p, name, &t->map);
    if (rc) return rc;
    rc = parquet_open(&t->reader, t->map.p, t->map.n);
    for (int i = 0; i < n && !rc; i++) {
        t->col[i] = parquet_find(t->reader, columns[i]);
        if (t->col[i] < 0)
            rc = err_set(ERR_INPUT, "has no column '%s'", columns[i]);
        else
            parquet_select(t->reader, (size_t)t->col[i]);
    }
    return rc ? err_wrap(rc, "%s/%s", place_url(p), name) : 0;
}

static void table_close(struct table *t)
{
    parquet_close(t->reader);
    file_unmap(&t->map);
}

static const struct parquet_values *table_values(const struct table *t, int i)
{
    return parquet_values(t->reader, (size_t)t->col[i]);
}

/* ---- what filter kept ---- */

static int drop_rows(struct survivors *s, struct table *t, int64_t part)
{
    int64_t bit = s->base[part];
    size_t rows;
    int rc;
    while (!(rc = parquet_next(t->reader, 0, &rows))) {
        const struct parquet_values *v = table_values(t, 0);
        if (!v->bools) return err_set(ERR_INPUT, "its column 'keep' is not of type bool");
        for (size_t i = 0; i < rows; i++, bit++)
            if (!v->bools[i]) clear_bit(s, bit), s->dropped++;
    }
    return rc < 0 ? rc : 0;
}

static int load_keep(struct survivors *s, const struct sidecars *c, int64_t part)
{
    static const char *const columns[] = {"keep"};
    struct table t = {0};
    struct str name = {0};
    struct place *p = sidecars_place(c);
    int64_t rows = s->base[part + 1] - s->base[part];
    if (!rows) return 0;
    sidecars_name(&name, c, SIDE_KEEP, part);
    int rc = sidecars_need(c, SIDE_KEEP, part);
    if (!rc) rc = table_open(&t, p, name.p, columns, 1);
    if (!rc && (int64_t)parquet_rows(t.reader) != rows)
        rc = err_set(
            ERR_INPUT, "%s/%s has %llu rows, but its partition %lld: they are of different runs",
            place_url(p), name.p, (unsigned long long)parquet_rows(t.reader), (long long)rows);
    if (!rc && (rc = drop_rows(s, &t, part))) rc = err_wrap(rc, "%s/%s", place_url(p), name.p);
    table_close(&t);
    str_release(&name);
    return rc;
}

/* ---- what dedup removed ---- */

static int begun(struct place *p, const char *product)
{
    struct str name = {0};
    str_printf(&name, "_darkroom/%s/run.json", product);
    int there = place_exists(p, name.p, NULL);
    str_release(&name);
    return there;
}

/* Without lists: were all pairs found, and nothing more asked for? */
static int look_tried(enum dedup_state *out, const struct sidecars *c)
{
    struct place *p = sidecars_place(c);
    if (!begun(p, "dedup-clusters") && !begun(p, "dedup-pairs")) return 0;
    for (int64_t i = 0; i < sidecars_count(c); i++)
        if (sidecars_rows(c, i) > 0 && !sidecars_has(c, SIDE_ASSIGN, i))
            return err_set(ERR_INPUT,
                           "%s: dedup was begun but not finished; run darkroom dedup to its end "
                           "(after --task I/N, once without --task)",
                           place_url(p));
    *out = DEDUP_TRIED;
    return 0;
}

/* Its receipt names rows by their place: a list made from other embeddings, or with --kept-only
 * from another filter, would remove the wrong ones. */
static int look_finished(char sha256[65], const struct sidecars *c)
{
    struct place *p = sidecars_place(c);
    struct run run = {0};
    struct receipt r = {0};
    int rc = run_load(&run, p, "dedup-eps");
    if (!rc) rc = receipt_load(&r, p, "dedup-eps", 0, partition_digits(1));
    if (!rc && strcmp(r.fingerprint, run.fingerprint))
        rc = err_set(ERR_STALE, "its receipt is of another run");
    if (!rc) rc = receipt_check(&r, p, 0);
    for (size_t i = 0; i < r.outputs.count && !rc; i++)
        if (!strcmp(r.outputs.file[i].name, REMOVED)) memcpy(sha256, r.outputs.file[i].sha256, 65);
    if (!rc && !sha256[0]) rc = err_set(ERR_INPUT, "its receipt names no " REMOVED);
    char *why = rc ? mem_strdup(err_text()) : NULL;
    if (rc)
        rc = err_set(ERR_INPUT, "%s: dedup was not finished, run it again: %s", place_url(p), why);
    else if ((rc = sidecars_fresh(c, &r))) {
        why = mem_strdup(err_text());
        rc = err_set(ERR_STALE, "%s/" REMOVED " was %s; run darkroom dedup again", place_url(p),
                     why);
    }
    free(why);
    receipt_release(&r);
    run_release(&run);
    return rc;
}

int dedup_look(enum dedup_state *out, char sha256[65], const struct sidecars *c)
{
    struct place *p = sidecars_place(c);
    *out = DEDUP_NONE;
    memset(sha256, 0, 65);
    if (!begun(p, "dedup-eps")) {
        int rc = look_tried(out, c);
        if (!rc && *out == DEDUP_NONE && place_exists(p, REMOVED, NULL)) *out = DEDUP_FOREIGN;
        return rc;
    }
    int rc = look_finished(sha256, c);
    if (!rc) *out = DEDUP_DONE;
    return rc;
}

static int remove_rows(struct survivors *s, const struct sidecars *c, struct table *t)
{
    size_t rows;
    int rc;
    while (!(rc = parquet_next(t->reader, 0, &rows))) {
        const struct parquet_values *parts = table_values(t, 0), *at = table_values(t, 1);
        if (!parts->ints || !at->ints) return err_set(ERR_INPUT, "part and row are not integers");
        for (size_t i = 0; i < rows; i++) {
            int64_t part = sidecars_find(c, parts->ints[i]), row = at->ints[i];
            if (part < 0 || row < 0 || row >= s->base[part + 1] - s->base[part])
                return err_set(ERR_INPUT,
                               "names row %lld of partition %lld, which is not there: it is of "
                               "another run; run dedup again",
                               (long long)row, (long long)parts->ints[i]);
            int64_t bit = s->base[part] + row;
            if (get_bit(s, bit)) clear_bit(s, bit), s->removed++;
        }
    }
    return rc < 0 ? rc : 0;
}

static int load_removed(struct survivors *s, const struct sidecars *c)
{
    static const char *const columns[] = {"part", "row"};
    struct table t = {0};
    enum dedup_state state;
    int rc = dedup_look(&state, s->removed_sha256, c);
    if (!rc && state == DEDUP_FOREIGN)
        log_warn("%s/" REMOVED " is not of this program's dedup and is left aside",
                 place_url(sidecars_place(c)));
    if (!rc && state == DEDUP_TRIED)
        log_warn("%s: dedup was run with --dry-run only, so nothing is removed",
                 place_url(sidecars_place(c)));
    if (rc || state != DEDUP_DONE) return rc;
    s->deduped = 1;
    rc = table_open(&t, sidecars_place(c), REMOVED, columns, 2);
    if (!rc && (rc = remove_rows(s, c, &t)))
        rc = err_wrap(rc, "%s/%s", place_url(sidecars_place(c)), REMOVED);
    table_close(&t);
    return rc;
}

/* ---- all together ---- */

int survivors_load(struct survivors *s, const struct sidecars *c)
{
    int64_t parts = sidecars_count(c);
    int rc = 0;
    memset(s, 0, sizeof *s);
    s->parts = parts;
    s->base = mem_alloc(mem_mul((size_t)parts + 1, sizeof *s->base));
    s->first = mem_alloc(mem_mul((size_t)parts + 1, sizeof *s->first));
    for (int64_t i = 0; i < parts; i++)
        s->base[i + 1] = s->base[i] + (sidecars_rows(c, i) > 0 ? sidecars_rows(c, i) : 0);
    s->rows = s->base[parts];
    s->bits = mem_aligned(((size_t)s->rows / 64 + 1) * sizeof *s->bits);
    memset(s->bits, 255, ((size_t)s->rows / 64 + 1) * sizeof *s->bits);
    s->filtered = sidecars_run(c, SIDE_KEEP) != NULL;
    for (int64_t i = 0; i < parts && s->filtered && !rc; i++) rc = load_keep(s, c, i);
    if (!rc) rc = load_removed(s, c);
    for (int64_t i = 0; i < parts; i++)
        s->first[i + 1] = s->first[i] + count_bits(s, s->base[i], s->base[i + 1]);
    s->count = s->first[parts];
    if (rc) survivors_release(s);
    return rc;
}

void survivors_release(struct survivors *s)
{
    free(s->base);
    free(s->first);
    free(s->bits);
    memset(s, 0, sizeof *s);
}

int survivors_has(const struct survivors *s, int64_t part, int64_t row)
{
    return get_bit(s, s->base[part] + row);
}

int64_t survivors_before(const struct survivors *s, int64_t part, int64_t row)
{
    return s->first[part] + count_bits(s, s->base[part], s->base[part] + row);
}

void survivors_at(const struct survivors *s, int64_t n, int64_t *part, int64_t *row)
{
    int64_t low = 0, high = s->parts; /* first[low] <= n < first[high] */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (s->first[middle] <= n)
            low = middle;
        else
            high = middle;
    }
    int64_t bit = s->base[low], left = n - s->first[low];
    for (int64_t step; (step = count_bits(s, bit, (bit | 63) + 1)) <= left; bit = (bit | 63) + 1)
        left -= step;
    while (left || !get_bit(s, bit)) left -= get_bit(s, bit++);
    *part = low;
    *row = bit - s->base[low];
}

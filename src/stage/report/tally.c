/* tally.c - the funnel's numbers: samples seen, rows, those the filter kept and why it dropped
 * the others, those left after deduplication; and how large the clusters are. */
#include "stage/report/report.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { CLUSTERS_MAX = 1 << 28 };

struct tally {
    struct report *r;
    int keep, reason, cluster; /* columns of the walk; -1: none */
};

/* Receipts tell samples and errors; without them a sample is a row. */
static void count_receipts(struct report *r)
{
    for (int64_t i = 0; i < sidecars_count(r->sidecars); i++) {
        const struct receipt *one = sidecars_receipt(r->sidecars, i);
        int64_t rows = sidecars_rows(r->sidecars, i);
        r->seen += one ? one->samples : rows > 0 ? rows : 0;
        for (int b = 1; one && b < BAD_COUNT; b++) r->errors += one->errors[b];
    }
}

static int bit(const uint8_t *bits, int64_t i)
{
    return bits && bits[i / 8] >> (i % 8) & 1;
}

static void count_cluster(struct report *r, int64_t c)
{
    if (c < 0 || c >= CLUSTERS_MAX) return;
    if (c >= r->clusters_cap) {
        int64_t cap = r->clusters_cap ? r->clusters_cap : 1024;
        while (cap <= c) cap *= 2;
        r->clusters = mem_resize(r->clusters, (size_t)cap * sizeof *r->clusters);
        memset(r->clusters + r->clusters_cap, 0,
               (size_t)(cap - r->clusters_cap) * sizeof *r->clusters);
        r->clusters_cap = cap;
    }
    r->clusters[c]++;
}

static void tally_rows(void *arg, const struct rows *rows)
{
    struct tally *t = arg;
    struct report *r = t->r;
    const struct column *keep = t->keep < 0 ? NULL : rows->col[t->keep];
    const struct column *reason = t->reason < 0 ? NULL : rows->col[t->reason];
    const struct column *cluster = t->cluster < 0 ? NULL : rows->col[t->cluster];
    for (size_t i = 0; i < rows->count; i++) {
        int64_t row = report_row(r, rows->part, rows->row + (int64_t)i);
        int kept = !keep || ((!keep->valid || keep->valid[i]) && keep->bools[i]);
        r->kept += kept;
        if (kept) {
            int gone = bit(r->removed, row);
            r->removed_kept += gone;
            r->left += !gone;
        } else if (reason && (!reason->valid || reason->valid[i])) {
            rules_count(&r->rules, reason->strings[i].p, reason->strings[i].n);
        } else {
            r->rules.other++;
        }
        if (cluster && (!cluster->valid || cluster->valid[i])) count_cluster(r, cluster->ints[i]);
    }
}

static void size_clusters(struct report *r)
{
    for (int64_t c = 0; c < r->clusters_cap; c++) {
        int64_t n = r->clusters[c];
        if (!n) continue;
        int power = 0;
        while (n >> (power + 1)) power++;
        r->sizes[power]++;
        r->clusters_count++;
        if (n > r->largest) r->largest = n;
    }
}

/* Verdicts on a part of the rows say nothing about the whole. */
static int filter_finished(struct report *r)
{
    int64_t without = 0;
    for (int64_t i = 0; i < sidecars_count(r->sidecars); i++)
        without += sidecars_rows(r->sidecars, i) > 0 && !(r->has[i] >> SIDE_KEEP & 1);
    if (!without || !sidecars_run(r->sidecars, SIDE_KEEP)) return !without;
    if (!sidecars_stale(r->sidecars, SIDE_KEEP))
        report_say(r, "filter is left out: %lld partition%s not judged yet; run it to its end",
                   (long long)without, without == 1 ? " is" : "s are");
    return 0;
}

/* Rows that export's receipts count; -1 when nothing was exported. What lies in an export itself
 * is how it was made, and tells of no other. */
static int64_t count_exported(struct report *r)
{
    struct place *p = sidecars_place(r->sidecars);
    struct run run = {0};
    int64_t n = -1;
    if (place_exists(p, "_darkroom/export/run.json", NULL) && !run_load(&run, p, "export") &&
        run_get(&run, "out")) {
        const char *text = run_get(&run, "partitions");
        int64_t parts = text ? strtoll(text, NULL, 10) : 0;
        n = 0;
        for (int64_t i = 0; i < parts && parts <= PARTITIONS_MAX; i++) {
            struct receipt one;
            if (!receipt_load(&one, p, "export", i, partition_digits(parts)) &&
                !strcmp(one.fingerprint, run.fingerprint))
                n += one.rows;
            receipt_release(&one);
        }
    }
    run_release(&run);
    return n;
}

/* An export of other rows than those that are left now is not their next step. */
static void look_at_export(struct report *r)
{
    struct run run = {0};
    r->exported = count_exported(r);
    if (r->exported < 0 || run_load(&run, sidecars_place(r->sidecars), "export")) return;
    const char *samples = run_get(&run, "samples");
    if (samples && strtoll(samples, NULL, 10) != r->left) {
        report_say(r,
                   "the export is left out: it was made of %s samples, and now %lld are left; run "
                   "darkroom export again",
                   samples, (long long)r->left);
        r->exported = -1;
    }
    run_release(&run);
}

/* A column of ours by name and type; -1 when it is not there, else its place in the list. */
static int want(struct report *r, const struct column_info **list, size_t *n, const char *name,
                enum sidecar from, enum column_type type)
{
    const struct column_info *c = columns_find(&r->columns, name);
    if (!c || c->from != from || c->type != type) return -1;
    list[*n] = c;
    return (int)(*n)++;
}

int report_tally(struct report *r)
{
    const struct column_info *list[3];
    struct tally t = {.r = r};
    size_t n = 0;
    count_receipts(r);
    rules_load(&r->rules, sidecars_run(r->sidecars, SIDE_KEEP));
    t.keep = t.reason = -1;
    if (filter_finished(r)) {
        t.keep = want(r, list, &n, "keep", SIDE_KEEP, COLUMN_BOOL);
        t.reason = want(r, list, &n, "reason", SIDE_KEEP, COLUMN_STRING);
    }
    t.cluster = want(r, list, &n, "nearest_cent", SIDE_ASSIGN, COLUMN_INT);
    r->has_keep = t.keep >= 0;
    r->has_assign = t.cluster >= 0;
    int rc = report_walk(r, list, n, tally_rows, &t);
    if (!rc) look_at_export(r);
    size_clusters(r);
    return rc;
}

/* dedup.c - drop images that say the same thing.
 * k-means splits the embeddings so that near neighbours share a cluster; inside each cluster, of
 * every pair with cosine >= 1 - eps, the later one in keep order goes. Cost: n^2/k dot products
 * instead of n^2. As NeMo Curator does it, after SemDeDup (Abbas et al. 2023). */
#include "stage/dedup/dedup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(f) offsetof(struct dedup_options, f)

static const struct opt options[] = {
    {"eps", "eps-to-extract", 0, OPT_LIST, AT(eps), NULL, "E[,E...]",
     "a DISTANCE: of two images with cosine >= 1 - E one goes; the first E decides, the others "
     "stand in the table (default: as last time, else 0.01)",
     0},
    {"similarity", NULL, 0, OPT_LIST, AT(similarity), NULL, "S[,S...]",
     "the same said the other way: --similarity 0.95 is --eps 0.05", 0},
    {"clusters", "n-clusters", 0, OPT_INT, AT(clusters), "0", "K",
     "clusters of k-means; sqrt(rows) / 5 when not said", 0},
    {"keep", "which-to-keep", 0, OPT_STR, AT(keep), NULL, "RULE",
     "which of several stays: hard (far from its centroid), easy (near), random, or "
     "COLUMN[:desc|:asc] by value (default hard)",
     0},
    {"order", NULL, 0, OPT_STR, AT(order), NULL, "collapse|greedy",
     "collapse: a row also goes for one that goes itself, as in NeMo; greedy: only for one that "
     "stays (default collapse)",
     0},
    {"metric", "sim-metric,distance-metric", 0, OPT_STR, AT(metric), NULL, "cosine|l2",
     "the distance to the centroid that hard and easy go by (default cosine)", 0},
    {"kept-only", NULL, 0, OPT_FLAG, AT(kept_only), NULL, NULL,
     "only rows that passed darkroom filter", 0},
    {"dry-run", NULL, 0, OPT_FLAG, AT(dry_run), NULL, NULL,
     "print the table, write no lists; clusters and pairs are computed and kept", 0},
    {"strict", NULL, 0, OPT_FLAG, AT(strict), NULL, NULL,
     "eps above 0.5 and too many clusters are errors", 0},
    {"layout", NULL, 0, OPT_CHOICE, AT(layout), "darkroom", "darkroom|nemo",
     "nemo: also NeMo Curator's files, in dedup/nemo", 0},
    {"seed", "random-state", 0, OPT_STR, AT(seed), NULL, "N",
     "of k-means and of --keep random (default 0)", 0},
    {"max-iter", NULL, 0, OPT_INT, AT(max_iter), "0", "N", "most rounds of k-means (default 100)",
     0},
    {"tol", NULL, 0, OPT_STR, AT(tol), NULL, "T",
     "k-means ends when the squared moves of all centroids sum to less (default 0.0001)", 0},
    {"init", NULL, 0, OPT_STR, AT(init), NULL, "START",
     "k-means||, k-means++ or random (default k-means||)", 0},
    {"fit-fraction", "fit-data-fraction", 0, OPT_STR, AT(fit_fraction), NULL, "F",
     "fit on this share of the rows, then assign all (default 1)", 0},
    {"eps-thresholds", NULL, 0, OPT_LIST, AT(thresholds), NULL, "E[,E...]",
     "more values for the table", 0},
    {"lower-clusters", NULL, 0, OPT_FLAG, AT(lower_clusters), NULL, NULL,
     "more clusters than rows: take the default number instead, with a warning", 0},
    {"force-new-run", NULL, 0, OPT_FLAG, AT(force_new_run), NULL, NULL,
     "replace clusters and pairs that were made with other options", 0},
    OPT_END};

int dedup_open_rows(struct dedup *d)
{
    return d->rows.part ? 0 : rowset_open(&d->rows, d->sidecars, d->memory / 2);
}

void dedup_warn_of_filter(struct dedup *d)
{
    const struct sidecars *s = d->sidecars;
    int finished = sidecars_any(s, SIDE_KEEP);
    for (int64_t i = 0; i < sidecars_count(s) && finished; i++)
        finished = sidecars_rows(s, i) <= 0 || sidecars_has(s, SIDE_KEEP, i);
    if (d->o->kept_only || d->warned || !finished) return;
    d->warned = 1;
    log_warn("%s is filtered, but all rows are compared: an image that passed may go as the "
             "duplicate of one that did not; with --kept-only only those that passed are compared",
             place_url(d->place));
}

void failure_note(struct failure *f, int rc)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&f->rc)) {
        snprintf(f->text, sizeof f->text, "%s", err_text());
        atomic_store(&f->rc, rc);
    }
    pthread_mutex_unlock(&lock);
}

int failure_came(struct failure *f)
{
    return atomic_load(&f->rc);
}

int failure_end(struct failure *f)
{
    int rc = atomic_load(&f->rc);
    return rc ? err_set(rc, "%s", f->text) : 0;
}

static void write_live(struct dedup *d, const char *state, const char *error)
{
    if (!d->live.place) return;
    live_write(
        &d->live, state,
        &(struct live_counts){.samples = d->live_rows, .rows = d->live_rows, .last_error = error});
}

void dedup_begin(struct dedup *d, const char *product)
{
    write_live(d, "done", NULL);
    live_start(&d->live, d->place, product, d->task);
    d->live_rows = sidecars_total(d->sidecars);
    write_live(d, "running", NULL);
}

int dedup_progress(struct dedup *d, const char *what, double share)
{
    char eta[32] = "?";
    if (share >= 0 && d->phase != what) {
        d->phase = what;
        d->phase_began = clock_now();
        d->phase_share = share;
    }
    if (share > d->phase_share)
        clock_span(eta, (clock_now() - d->phase_began) * (1 - share) / (share - d->phase_share));
    if (share >= 0)
        log_progress("dedup: %s  %.1f %%  ETA %s", what, 100 * share, eta);
    else
        log_progress("dedup: %s", what);
    if (d->live.place && live_due(&d->live)) write_live(d, "running", NULL);
    return stop_asked() ? err_set(ERR_STOPPED, "stopped by a signal") : 0;
}

/* The columns that name rows and, with --keep COLUMN, order them. */
static int find_columns(struct dedup *d)
{
    const char *want = d->set.column;
    int rc = columns_load(&d->columns, d->sidecars);
    if (rc) return rc;
    const char *id = columns_id(&d->columns);
    if (id) d->id = columns_find(&d->columns, id);
    if (!*want) return 0;
    d->by = columns_find(&d->columns, want);
    if (d->by && d->by->from == SIDE_ASSIGN)
        return err_set(ERR_USAGE, "--keep %s: dedup itself writes that column; use hard or easy",
                       want);
    if (d->by) return 0;
    const char **names = mem_alloc((d->columns.count + 1) * sizeof *names);
    for (size_t i = 0; i < d->columns.count; i++) names[i] = d->columns.list[i].name;
    const char *near = str_nearest(want, names);
    rc = near ? err_set(ERR_USAGE, "--keep %s: %s has no such column; did you mean %s?", want,
                        place_url(d->place), near)
              : err_set(ERR_USAGE,
                        "--keep %s: neither hard, easy, random nor a column of metadata or scores "
                        "in %s",
                        want, place_url(d->place));
    free(names);
    return rc;
}

static int open_all(struct dedup *d, const char *url)
{
    const struct common *c = &d->o->common;
    int threads = c->threads > 0 ? (int)c->threads : cpu_count();
    d->memory = c->memory ? c->memory : 512u << 20;
    int rc = sidecars_open(&d->sidecars, url);
    if (rc) return rc;
    d->place = sidecars_place(d->sidecars);
    rc = settings_load(&d->set, d->o, d->place);
    if (!rc) rc = find_columns(d);
    if (!rc) rc = device_open(&d->device, c->device, threads);
    d->pool = pool_new(threads);
    return rc;
}

/* What dedup-pairs wrote is seen by those who open the place after it. */
static int open_again(struct dedup *d, const char *url)
{
    rowset_close(&d->rows);
    sidecars_close(d->sidecars);
    d->sidecars = NULL;
    int rc = sidecars_open(&d->sidecars, url);
    if (!rc) d->place = sidecars_place(d->sidecars);
    if (d->live.place) d->live.place = rc ? NULL : d->place;
    return rc;
}

static void announce(const struct dedup *d)
{
    struct str s = {0};
    str_printf(&s,
               "{\"event\": \"start\", \"rows\": %lld, \"partitions\": %lld, \"missing\": %lld, "
               "\"layout\": \"%s\", \"device\": \"%s\"}",
               (long long)sidecars_total(d->sidecars), (long long)sidecars_count(d->sidecars),
               (long long)sidecars_missing(d->sidecars), layout_name(sidecars_layout(d->sidecars)),
               d->device->kind);
    log_event(s.p);
    str_release(&s);
}

static int steps(struct dedup *d, const char *url)
{
    announce(d);
    int rc = dedup_clusters(d);
    if (!rc && d->found.bad)
        log_info("%lld rows are quarantined: their embeddings are zero, not finite or missing",
                 (long long)d->found.bad);
    if (!rc && !d->found.good) log_warn("%s: no row to compare", place_url(d->place));
    if (!rc) rc = dedup_pairs(d);
    if (rc || d->task.count > 1) return rc;
    rc = open_again(d, url);
    if (!rc && !d->o->dry_run) rc = dedup_drop_nemo(d);
    if (!rc) rc = dedup_eps(d);
    if (!rc && d->o->layout == LAYOUT_AS_NEMO && !d->o->dry_run) rc = dedup_nemo(d);
    if (!rc && d->redone) dedup_warn_of_filter(d);
    if (!rc && !d->redone) log_info("nothing was computed again");
    return rc;
}

static void finish(struct dedup *d, int rc)
{
    char *why = mem_strdup(err_text()); /* the live file may have troubles of its own */
    log_progress_end();
    if (d->live.place)
        live_write(&d->live,
                   rc == ERR_STOPPED ? "stopped"
                   : rc              ? "failed"
                                     : "done",
                   &(struct live_counts){.samples = d->found.rows,
                                         .rows = d->found.rows,
                                         .last_error = rc ? why : NULL});
    if (rc == ERR_STOPPED)
        err_set(rc, "stopped by a signal; the same command goes on from here");
    else if (rc)
        err_set(rc, "%s", why);
    free(why);
}

static void release(struct dedup *d)
{
    rowset_close(&d->rows);
    file_unmap(&d->found.labels);
    file_unmap(&d->found.distances);
    files_release(&d->found.source);
    columns_release(&d->columns);
    device_close(d->device);
    pool_free(d->pool);
    sidecars_close(d->sidecars);
}

static int judge(const struct dedup *d)
{
    int64_t missing = sidecars_missing(d->sidecars);
    if (!missing) return 0;
    log_warn("%lld partition%s not embedded yet and did not take part; run embed to its end, then "
             "this again",
             (long long)missing, missing == 1 ? " is" : "s are");
    return 3;
}

static int dedup_run(void *opts, const char **args, int nargs)
{
    struct dedup d = {.o = opts};
    stop_catch_signals();
    if (nargs != 1) return err_set(ERR_USAGE, "dedup takes one PLACE");
    int rc = settings_check(d.o);
    if (!rc && (d.o->common.threads < 0 || d.o->common.threads > 4096))
        rc = err_set(ERR_USAGE, "--threads must be 0 to 4096");
    if (!rc) rc = task_parse(&d.task, d.o->common.task);
    if (!rc) rc = open_all(&d, args[0]);
    if (!rc) rc = steps(&d, args[0]);
    finish(&d, rc);
    if (!rc) rc = judge(&d);
    release(&d);
    return rc;
}

const struct verb dedup_verb = {
    "dedup",
    "PLACE",
    "drop images that say the same thing: k-means, then cosine inside clusters",
    "  darkroom dedup place --clusters 50000 --eps 0.05 --keep hard\n"
    "  darkroom dedup place --similarity 0.95                  # the same eps, said the other way\n"
    "  darkroom dedup place --eps 0.01,0.05,0.1 --dry-run      # a table: eps, kept, removed\n"
    "  darkroom dedup place --keep aesthetic_score --kept-only # the most beautiful of each stays\n",
    "Works on places of darkroom, clip-retrieval and NeMo Curator. dedup/removed.parquet and\n"
    "kept.parquet list the rows that go and stay; dedup/assign_N.parquet says for every row its\n"
    "cluster, its distances, and the most similar row before it. What is not said is taken from the\n"
    "last run: another --eps computes no cluster and no pair again. With --task I/N, task 0 finds the\n"
    "clusters, all tasks compare a share of them, and a run without --task puts them together.\n",
    options,
    sizeof(struct dedup_options),
    dedup_run};

/* dedup.h - what the files of `darkroom dedup` share.
 * Three products, each made from the one before and kept for the next time:
 *   dedup-clusters  k-means: centroids, and for every row its cluster and its distances;
 *   dedup-pairs     in each cluster, for every row the most similar one that stands before it;
 *   dedup-eps       which rows go at one threshold.
 * Another threshold redoes the last alone, another keep rule the last two. */
#ifndef STAGE_DEDUP_DEDUP_H
#define STAGE_DEDUP_DEDUP_H

#include "algo/kmeans.h"
#include "algo/pairs.h"
#include "base/pool.h"
#include "data/batch.h"
#include "dist/task.h"
#include "stage/dedup/rowset.h"
#include "stage/live.h"
#include "stage/verb.h"

#include <stdatomic.h>

#define DEDUP_CLUSTERS "dedup-clusters"
#define DEDUP_PAIRS    "dedup-pairs"
#define DEDUP_EPS      "dedup-eps"
#define DEDUP_NEMO     "dedup-nemo"

struct dedup_options {
    struct common common;
    struct opt_list eps, similarity, thresholds;
    /* NULL or 0: not given */
    const char *keep, *order, *metric, *init, *seed, *tol, *fit_fraction;
    int64_t clusters, max_iter;
    int layout, kept_only, lower_clusters, dry_run, strict, force_new_run;
};
enum { LAYOUT_PLAIN, LAYOUT_AS_NEMO };

/* What this run does: options as given, else as the products that are there were made, else the
 * defaults. */
struct settings {
    int64_t clusters; /* 0: to be chosen */
    int64_t seed, max_iter;
    double tol, fit_fraction;
    enum kmeans_start start;
    enum pairs_keep keep;
    char column[256];      /* to keep by; "" unless keep is PAIRS_HIGH or PAIRS_LOW */
    int l2, greedy;        /* which distance orders; one keep-set per eps */
    double eps[PAIRS_EPS]; /* the first one decides, the others stand in the table */
    int count;             /* of eps */
};
/* Usage errors that need no place. */
int settings_check(const struct dedup_options *o);
int settings_load(struct settings *s, const struct dedup_options *o, struct place *p);
void settings_of_clusters(struct run *out, const struct settings *s, const struct dedup_options *o);
void settings_of_pairs(struct run *out, const struct settings *s);
void settings_of_eps(struct run *out, const struct settings *s);
void eps_text(char out[32], double eps); /* as it would be typed */

/* What dedup-clusters left: one number per row of the place, mapped. */
enum { LABEL_BAD = -1, LABEL_OUT = -2 }; /* no direction (zero, NaN, null); not considered */
struct clustering {
    int64_t clusters, rows;
    int64_t good, bad, out;      /* rows = good + bad + out */
    const int32_t *label;        /* [rows] */
    const float *distance;       /* [rows,2]: l2, cosine */
    struct receipt_files source; /* the files themselves, as inputs of what follows */
    struct file_map labels, distances;
};

struct dedup {
    const struct dedup_options *o;
    struct settings set;
    struct sidecars *sidecars;
    struct place *place;
    struct device *device;
    struct pool *pool;
    struct task task;
    struct columns columns;
    const struct column_info *id, *by; /* NULL: rows are named by place; not kept by a column */
    struct rowset rows;                /* opened when first needed */
    struct clustering found;
    size_t memory;
    struct live live; /* of the step under way */
    int64_t live_rows;
    const char *phase; /* what dedup_progress tells of, since when, and from which share on */
    double phase_began, phase_share;
    int64_t redone;  /* products that had to be made */
    int warned;      /* of the filter */
    int other_pairs; /* those of the place are not of these options: a dry run left them alone */
};

/* The steps, each in a file of its name. */
int dedup_clusters(struct dedup *d);
int dedup_pairs(struct dedup *d);
int dedup_eps(struct dedup *d);
int dedup_nemo(struct dedup *d);
/* Remove the files of an earlier --layout nemo, unless they say what this run says. */
int dedup_drop_nemo(struct dedup *d);

int dedup_open_rows(struct dedup *d);
/* Once, when something is computed: all rows are compared, although a filter has dropped some. */
void dedup_warn_of_filter(struct dedup *d);
void dedup_begin(struct dedup *d, const char *product); /* of a step that takes its time */
/* A line of progress (share < 0: it is not known), the live file now and then, and ERR_STOPPED when
 * a signal has come. */
int dedup_progress(struct dedup *d, const char *what, double share);

/* The first error of several threads. */
struct failure {
    atomic_int rc;
    char text[512];
};
void failure_note(struct failure *f, int rc); /* this thread's last error */
int failure_came(struct failure *f);
int failure_end(struct failure *f); /* on the caller's thread, as if it were its own */

/* ---- product.c: when is a product done ---- */

/* 1 with the receipt (release it), when it is of this run, made from these inputs, and its files
 * are there; else 0. */
int product_done(struct receipt *out, struct place *p, const char *product, const struct run *run,
                 const struct receipt_files *inputs, int64_t partition, int64_t partitions);
int product_claim(struct run *run, struct dedup *d, const char *product, int64_t partitions,
                  enum run_mode mode);
/* Is it there with other options, and do finished lists stand on it? A dry run leaves it alone. */
int product_stands(const struct run *run, struct place *p, const char *product);
int product_refuse_dry_run(const struct dedup *d, const char *product); /* ERR_STALE */
/* Begin a receipt: what stood there before is gone. */
int product_begin(struct receipt *out, struct place *p, const char *product, const struct run *run,
                  const struct receipt_files *inputs, int64_t partition, int64_t partitions);
/* Commit a file and note it. The sink is gone either way. */
int product_commit(struct receipt *r, struct sink *sink, const char *name);
void files_copy(struct receipt_files *out, const struct receipt_files *from);
void files_release(struct receipt_files *f);

#endif

/* report.h - what `darkroom report` has found out about a place, and who finds it out.
 * Everything is gathered by streaming over sidecars; what is kept is a few hundred samples, some
 * counters per column, one bit per row, and 16 bytes per removed duplicate while groups are made.
 */
#ifndef STAGE_REPORT_REPORT_H
#define STAGE_REPORT_REPORT_H

#include "stage/report/parts.h"
#include "stage/report/rules.h"
#include "stage/verb.h"

struct report_options {
    struct common common;
    const char *output;
    struct opt_list shards;
    int64_t pictures;
};

struct report {
    const struct report_options *o;
    struct sidecars *sidecars;
    struct columns columns;
    uint8_t *has;   /* [partitions] 1 << enum sidecar */
    int64_t *first; /* [partitions+1] number of a partition's first row */
    uint8_t *only;  /* [partitions] walk these alone; NULL: all */
    int64_t rows;
    struct names words; /* what was left out, and why */

    /* tally.c */
    int64_t seen, errors;
    int has_keep, has_scores, has_assign;
    int64_t kept, left; /* passed the filter; and is no removed duplicate */
    struct rules rules;
    int64_t *clusters; /* [clusters_cap] rows of each */
    int64_t clusters_cap, clusters_count, largest;
    int64_t sizes[CHART_POWERS];
    int64_t exported; /* -1: not exported */

    /* groups.c */
    int has_dedup;
    uint8_t *removed; /* a bit a row */
    int64_t nremoved, nquarantined, removed_kept, quarantined_kept;
    double eps; /* NaN: unknown */
    struct eps_row *eps_rows;
    size_t eps_count, eps_cap;
    struct group group[GROUPS];
    int groups;
    int64_t group_count; /* of all groups */
    struct pair pair[PAIRS];
    int pairs;

    struct measure *measure; /* [MEASURES_MAX] */
    int measures, more_measures;
    struct fault *fault;
    size_t faults, faults_cap;
    struct timing timing[TIMINGS];
    int timings;

    struct shot *shot; /* [SHOTS_MAX] */
    int shots, pictures;
    char *pictures_from; /* the folder, for the page; NULL: none */
};

/* walk.c: the place, its columns, which files it has. */
int report_open(struct report *r, const char *url);
void report_close(struct report *r); /* also after an error of report_open */
/* A sentence about what was left out, for the terminal and for the page. */
void report_say(struct report *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* walk.c: rows of some columns, batch by batch, over all partitions. col[k] is NULL where the
 * partition lacks that file. */
enum { WALK_COLUMNS = MEASURES_MAX + 8 };
struct rows {
    int64_t part, row; /* of the first */
    size_t count;
    const struct column *col[WALK_COLUMNS];
};
typedef void rows_fn(void *arg, const struct rows *rows);
int report_walk(struct report *r, const struct column_info *const *want, size_t n, rows_fn *fn,
                void *arg);
/* Is value i of that column this text? Whole numbers are compared as they are written. */
int row_named(const struct rows *rows, size_t column, size_t i, const char *name, size_t n);
/* Value i as a number: 0 when it is null, no number, or nan. */
int column_number(double *out, const struct column *c, size_t i);
int64_t report_row(const struct report *r, int64_t part, int64_t row); /* counted over the place */

int report_tally(struct report *r);   /* tally.c */
int report_measure(struct report *r); /* measure.c */
int report_groups(struct report *r);  /* groups.c; before the tally */
int dedup_finished(struct report *r); /* groups.c: are there tables to be believed? asked once */
int report_pairs(struct report *r);   /* pairs.c; when groups and measures are known */
int report_faults(struct report *r);  /* faults.c */
/* faults.c: every file of errors/, also of partitions that are not done. */
typedef int errors_fn(void *arg, struct parquet_reader *t, int64_t partition);
int report_errors(struct report *r, errors_fn *fn, void *arg);
void report_times(struct report *r);                              /* times.c */
int report_add_shot(struct report *r, int64_t part, int64_t row); /* its number, or -1 */
int report_shots(struct report *r);                               /* shots.c */
void report_draw(struct str *out, const struct report *r);        /* draw.c */
void report_data(struct str *out, const struct report *r);        /* data.c: the same, as JSON */

#endif

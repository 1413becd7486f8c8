/* filter.h - inside the verb: the rules bound to a place's columns, and what they did. */
#ifndef STAGE_FILTER_FILTER_H
#define STAGE_FILTER_FILTER_H

#include "data/batch.h"
#include "data/expr/expr.h"
#include "stage/sweep.h"

#include <pthread.h>

struct filter_options {
    struct common common;
    struct opt_list where;
    int dry_run;
};

enum { FILTER_ROWS = 8192 }; /* judged between two signs of life */

struct filter {
    const struct filter_options *o;
    struct sidecars *sidecars;
    struct columns columns;

    struct expr *expr;         /* the main thread's; every worker makes its own */
    struct expr_column *known; /* the columns, then clip_similarity */
    size_t count;
    const struct column_info **want; /* columns that rules read */
    size_t *want_at, wanted;         /* their places in known */
    struct lack {
        int64_t parts, first; /* partitions without it, and one of them */
    } * lack;                 /* [wanted] of scores, which every partition should have */
    int similarity;           /* do rules read clip_similarity? */

    struct sweep sweep;
    pthread_mutex_t lock;
    struct expr_tally *tally; /* [rules] */
    int64_t rows, kept;       /* of all partitions of this task, those done before too */
};

/* Add a partition's counts; returns the rows counted so far. */
int64_t filter_count(struct filter *f, const struct expr_tally *tally, int64_t rows);

/* ---- similarity.c: caption against picture, row by row ---- */
struct similarity {
    struct embeddings image, text;
    float *rows; /* room for some rows of both */
};
/* ERR_INPUT also when the two towers' widths differ. */
int similarity_open(struct similarity *s, const struct sidecars *c, int64_t partition);
void similarity_close(struct similarity *s); /* zeroed is fine */
/* Cosines of rows [from, from+n), each a float32; NaN where a vector has no direction. */
void similarity_get(double *out, struct similarity *s, int64_t from, int64_t n);

/* ---- reason.c: keep_N.parquet ---- */
struct keep;
int keep_open(struct keep **out, struct filter *f, struct sweep_part *part);
int keep_put(struct keep *k, const int32_t *verdict, size_t rows);
int keep_commit(struct keep *k); /* all rows are put */
void keep_close(struct keep *k); /* NULL is fine */
/* Count what the keep file of a partition with rows says. ERR_INPUT: it is damaged. */
int keep_count(struct filter *f, int64_t partition);

/* ---- show.c ---- */
void filter_show(const struct filter *f);                    /* the counts on standard output */
void filter_events(struct str *out, const struct filter *f); /* the same for --json */

#endif

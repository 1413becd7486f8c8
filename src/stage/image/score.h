/* score.h - what the files of `darkroom score` share.
 * A column of scores is one head over all rows of a place. Columns come and go one by one: each
 * scores_N.parquet says in its own metadata which head made which column from which embeddings,
 * so adding a column keeps the others, and a column is done where it is there by the same head. */
#ifndef STAGE_IMAGE_SCORE_H
#define STAGE_IMAGE_SCORE_H

#include "base/err.h"
#include "format/parquet/parquet.h"
#include "model/head/head.h"
#include "stage/sweep.h"

#include <pthread.h>

struct score_options {
    struct common common;
    struct opt_list heads, prompts;
    const char *model, *model_dir, *vocab;
    int activation;
    int64_t batch_size, image_size;
    double logit_scale;
};

struct score_column {
    char *name; /* "aesthetic_score" */
    char *from; /* file, or the prompts as typed: for people */
    struct head *head;
    char made_by[65]; /* sha256 of head, device and precision: what decides the numbers */
    /* of the rows written by this task */
    int64_t scored, nulls;
    double sum, least, most;
};

struct scorer {
    struct score_options *o;
    struct sidecars *sidecars;
    struct device *device;
    struct score_column *column; /* in the order of their names */
    size_t count, cap;
    const struct head **heads; /* [count] */
    int width;                 /* of the embeddings; 0: no partition has rows */
    char *width_from;          /* the file that tells it */
    struct sweep sweep;
    pthread_mutex_t lock; /* sums of the columns */
};

/* ---- score_prompts.c ---- */

/* "NAME: a | b": NAME and, in *texts, the alternatives; all the caller's. ERR_USAGE. */
int prompts_parse(char **name, struct opt_list *texts, const char *word);
void prompts_release(struct opt_list *texts);

/* A head for each list of texts, through the text tower of --model, which must be the model that
 * made the embeddings. */
int prompts_open(struct head **out, const struct opt_list *texts, size_t count, struct scorer *s);

/* ---- score_table.c ---- */

/* Note which heads make the columns from now on. Where another head made one before, all its
 * partitions count as not scored at once: no reader sees two heads in one column. */
int columns_claim(const struct scorer *s);

/* Does scores_N.parquet have all columns by these heads, from the present embeddings? */
int columns_done(const struct scorer *s, int64_t index);

/* The new scores_N.parquet: our columns, and those of others that are there already. */
struct score_table;
int table_open(struct score_table **out, const struct scorer *s, struct sweep_part *part);
void table_close(struct score_table *t); /* NULL is fine; what is not committed is lost */
/* How many rows to put next, at most max: 0, 1 at the end, or an error. */
int table_next(struct score_table *t, int64_t max, int64_t *rows);
int table_put(struct score_table *t, float *const *scores); /* of the rows of table_next */
int table_commit(struct score_table *t);

#endif

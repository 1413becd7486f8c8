/* export.h - what the files of `darkroom export` share.
 * Survivors are numbered in the order of partitions and rows; output shard j takes those from
 * j * samples_per_shard on. So every task knows every border, and a lane (a thread that writes a
 * row of neighbouring output shards) streams the sources once, in order. A source is read to its
 * end and compared with embed's receipt before anything made from it becomes visible. */
#ifndef STAGE_EXPORT_EXPORT_H
#define STAGE_EXPORT_EXPORT_H

#include "base/map.h"
#include "data/batch.h"
#include "data/folder.h"
#include "data/inputs.h"
#include "data/receipt.h"
#include "data/seen.h"
#include "data/survivors.h"
#include "dist/task.h"
#include "stage/live.h"
#include "stage/verb.h"

#include <pthread.h>
#include <stdatomic.h>

struct export_options {
    struct common common;
    const char *old_key;
    int64_t samples_per_shard, max_shards;
    int renumber, with_embedding, list, input_format, allow_pipe, force_new_run;
};

/* ---- sheet.c: the columns of NNNNN.parquet ---- */

struct sheet {
    struct columns columns;          /* of metadata and scores */
    const struct column_info **want; /* in the order they are written */
    size_t count;
    struct parquet_column *out; /* [total]: want, then old key and embedding */
    size_t total;
    size_t match;              /* of want: what the rows call their samples */
    size_t id;                 /* of out: where the key goes */
    size_t old_key, embedding; /* of out; 0: there is none */
};
int sheet_load(struct sheet *s, const struct sidecars *sidecars, const struct export_options *o);
void sheet_release(struct sheet *s);

/* What export says of a row; all else is copied from row i of the batch of want. */
struct sheet_key {
    const char *name, *old; /* in the new tar, in the old one */
    const float *embedding; /* [dim] */
    int dim;
};
int sheet_put(const struct sheet *s, struct parquet_writer *w, const struct batch *b, size_t i,
              const struct sheet_key *key);

struct exporter {
    struct export_options *o;
    struct sidecars *sidecars;
    struct survivors survivors;
    struct inputs inputs;
    struct folders folders; /* when the inputs are pictures */
    char **labels;          /* of the inputs, as rows and receipts name them */
    struct map by_label;    /* 1 + input; LABEL_TWICE */
    atomic_int *lost;       /* inputs that could not be read */
    struct seen told;       /* what was said about them */
    struct sheet sheet;
    struct place *out;
    struct run run;
    struct task task;
    int64_t shards; /* of the whole run */
    int digits;     /* of receipts */
    int index_digits;

    int64_t *todo; /* output shards, ascending */
    size_t ntodo;
    int64_t done_before;

    struct live live;
    long long total; /* samples to do */
    atomic_llong samples, bytes, written, undone, twice;
    atomic_int failed; /* class of the first error */
    pthread_mutex_t lock;
    char error[1024];
};
#define LABEL_TWICE UINT64_MAX

/* ---- lane.c ---- */
/* Write output shards todo[from..to). What cannot be had for want of an input is counted as
 * undone; other errors end the run. */
void lane_run(struct exporter *x, size_t from, size_t to);

void export_fail(struct exporter *x, int rc); /* the first error ends the run */

/* ---- plan.c ---- */
int plan_inputs(struct exporter *x, const char **words, int n); /* open SHARDS */
int plan_shards(struct exporter *x);                            /* how many, how they are named */
/* What rows and bytes are made from, each by a hash. */
int plan_describe(struct run *run, const struct exporter *x);
int plan_out(struct exporter *x, const char *out); /* open OUT and claim it for x->run */
int plan_is_done(const struct exporter *x, int64_t shard);
int plan_todo(struct exporter *x); /* ERR_STALE: a source has another size */

/* ---- show.c ---- */
void show_start(const struct exporter *x);
void show_progress(struct exporter *x);
void show_live(struct exporter *x, const char *state);
void show_end(struct exporter *x);
int show_judge(const struct exporter *x); /* 0 or 3, with the reasons */
void show_note_begin(const struct exporter *x);
void show_note_end(const struct exporter *x);

/* ---- list.c ---- */
int export_list(const struct export_options *o, const char **args, int nargs);

#endif

/* sweep.h - a stage over the sidecars of a place: one call per partition, in any order, on
 * several threads; outputs and a receipt for each. Written once for score, filter and the like:
 * resume, tasks, progress, live file, and the counts at the end.
 * A partition is done when its receipt is of this run, its outputs are there, and its inputs are
 * still those the receipt names. */
#ifndef STAGE_SWEEP_H
#define STAGE_SWEEP_H

#include "data/sidecar.h"
#include "dist/task.h"
#include "stage/verb.h"

struct sweep;

/* One partition under way. */
struct sweep_part {
    struct sweep *sweep;
    int64_t index;          /* in sweep->sidecars */
    int64_t rows;           /* of the partition; may be 0 */
    struct receipt receipt; /* inputs are there; outputs come by sweep_commit */
};

struct sweep {
    /* set by the verb */
    const struct common *common;
    const char *product;       /* "score" */
    struct sidecars *sidecars; /* borrowed */
    struct run run;            /* options that decide bytes; sweep_run adds the partitions */
    int replace;               /* another run's results are replaced, with a line saying so */
    unsigned reads;            /* 1 << SIDE_...: the inputs of a partition */
    void *arg;                 /* for the calls below */
    int (*start)(void *arg, void **state); /* per thread; may be NULL */
    int (*work)(void *arg, void *state, struct sweep_part *part);
    void (*stop)(void *arg, void *state); /* may be NULL */
    /* Is a partition with a good receipt done? 1, 0, or an error. NULL: it is. */
    int (*done)(void *arg, int64_t index);

    /* told afterwards */
    int64_t todo, written, done_before,
        missing;  /* partitions of this task; missing: not embedded */
    int64_t rows; /* of those written */
    double seconds;

    struct sweeping *own; /* while it runs */
};

/* 0, an error, or ERR_STOPPED. A partition that fails ends the sweep; what is done stays done. The
 * caller releases run. */
int sweep_run(struct sweep *s);

/* From work: the file of this partition, e.g. SIDE_SCORES. */
int sweep_create(struct sink **out, struct sweep_part *p, enum sidecar kind);
/* Commit a file and note it in the receipt; the sink is gone either way. */
int sweep_commit(struct sweep_part *p, struct sink *sink, enum sidecar kind);
/* So many more rows are through: progress, and ERR_STOPPED when a signal has come. */
int sweep_progress(struct sweep_part *p, int64_t rows);

/* "score: 252 rows in 3 partitions, 0 were done before, in 0.1 s" and the --json event "done";
 * more, when given, is put into the event: ", \"kept\": 5". */
void sweep_summary(const struct sweep *s, const char *more);
/* 3 with a warning when partitions are missing, else 0. */
int sweep_judge(const struct sweep *s);

#endif

/* survivors.h - the rows that are left: those filter kept (all, when it was not run) without those
 * dedup removed. One bit per row, counted per partition, so that every task of a run knows the
 * number of every survivor without having read another partition than its own. */
#ifndef DATA_SURVIVORS_H
#define DATA_SURVIVORS_H

#include "data/sidecar.h"

/* Partitions that are not embedded have no rows. Zeroed is empty. */
struct survivors {
    int filtered, deduped;    /* was there a filter, a dedup? */
    int64_t rows;             /* = count + dropped + removed */
    int64_t dropped, removed; /* by filter; by dedup, of those that filter kept */
    int64_t count;
    char removed_sha256[65]; /* of dedup/removed.parquet, "" without dedup */
    int64_t parts;
    int64_t *base;  /* [parts+1]: the bit of a partition's row 0 */
    int64_t *first; /* [parts+1]: survivors before a partition */
    uint64_t *bits;
};

/* ERR_INPUT: filter or dedup was begun but not finished, its files are damaged, or they name rows
 * that the place does not have. ERR_STALE: they were made from other files than those here. */
int survivors_load(struct survivors *s, const struct sidecars *sidecars);
void survivors_release(struct survivors *s);

int survivors_has(const struct survivors *s, int64_t part, int64_t row);
/* Survivors before this row, over all partitions: its own number when it is one. */
int64_t survivors_before(const struct survivors *s, int64_t part, int64_t row);
/* Where survivor n in [0,count) stands. */
void survivors_at(const struct survivors *s, int64_t n, int64_t *part, int64_t *row);

/* What dedup has left in a place. FOREIGN: a list that no run of ours made; TRIED: pairs of a
 * --dry-run, no list. sha256 is that of dedup/removed.parquet, "" unless DONE. ERR_INPUT: begun but
 * not finished. ERR_STALE: made from other files than those here. */
enum dedup_state { DEDUP_NONE, DEDUP_FOREIGN, DEDUP_TRIED, DEDUP_DONE };
int dedup_look(enum dedup_state *out, char sha256[65], const struct sidecars *s);

#endif

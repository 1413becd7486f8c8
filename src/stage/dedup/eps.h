/* eps.h - how many rows go at which threshold. */
#ifndef STAGE_DEDUP_EPS_H
#define STAGE_DEDUP_EPS_H

#include "stage/dedup/dedup.h"

struct eps_table {
    double eps[PAIRS_EPS];
    int64_t removed[PAIRS_EPS];
    int64_t total; /* rows that were compared */
    int count;
};
/* From the scores of dedup-pairs; with greedy order only the first eps is theirs, and the others
 * need the clusters again. */
int eps_count(struct eps_table *t, struct dedup *d, const double *eps, int count);

/* pairs.c: how many rows greedy order removes at each eps. */
int greedy_count(struct dedup *d, const double *eps, int count, int64_t *removed);

#endif

/* pairs.h - duplicates inside one cluster, as NeMo Curator's SemanticClusterLevelDedup finds them.
 * Rows stand in keep order; the score of a row is its greatest cosine with an earlier row, at
 * least 0; a row goes when its score is at least 1 - eps. docs/dedup.md has the details. */
#ifndef ALGO_PAIRS_H
#define ALGO_PAIRS_H

#include "algo/rows.h"

enum pairs_keep {
    PAIRS_HARD,   /* far from the centroid first: key descending, then id descending */
    PAIRS_EASY,   /* near first: key ascending, then id ascending */
    PAIRS_RANDOM, /* by a hash of seed and id; the key is not looked at */
    PAIRS_HIGH,   /* a column, high first; then id ascending */
    PAIRS_LOW     /* a column, low first; then id ascending */
};

/* One row of a cluster. key: its distance to the centroid (l2 or cosine, as sim_metric says; it
 * decides the order only) or the column to keep by. A key that is NaN (null) comes last. Ids
 * compare by bytes; equal keys and ids go by part, then row, ascending. */
struct pairs_item {
    float key;
    uint32_t id_bytes;
    const char *id;
    int32_t part;
    int64_t row;
};

/* order[0..n) = the items' numbers in keep order: the first is never removed. */
void pairs_order(int64_t *order, const struct pairs_item *items, int64_t n, enum pairs_keep keep,
                 uint64_t seed);

struct pairs_options {
    size_t memory; /* that a cluster may take while it is compared; 0: 1 GiB. Larger clusters are
                      read several times instead. Same bits. */
    int normalize; /* divide each row by its norm first; 0: they are unit vectors already */
};

/* rows: one cluster in keep order, none of them zero or not finite (ERR_INPUT otherwise).
 * score[j] = max(0, max over i < j of cosine(i,j)); earlier[j] = the first i that reaches it, or j
 * itself where every cosine is negative and for j = 0 (the zero of the diagonal wins, as in
 * NeMo). Only pairs i < j are computed: half the square. */
int pairs_score(float *score, int32_t *earlier, struct device *d, struct rows *rows,
                const struct pairs_options *o);

/* The similarity from which a row is removed: 1 - eps in double, then rounded to f32, in which
 * scores are compared. */
float pairs_limit(double eps);

/* removed[j] = score[j] >= pairs_limit(eps), where removed is not NULL; returns how many. A row is
 * removed for an earlier one even where that one is removed itself: chains collapse. */
int64_t pairs_removed(uint8_t *removed, const float *score, int64_t n, double eps);

/* The other rule, one keep-set per eps: row j is removed for eps[e] iff an earlier row that is
 * kept for eps[e] has a cosine of at least pairs_limit(eps[e]). removed [count][n]: 0 kept, 1
 * removed; by [count][n], where not NULL, the first such row, or -1. count is 1..PAIRS_EPS. Rows
 * as above. */
enum { PAIRS_EPS = 32 };
int pairs_greedy(uint8_t *removed, int32_t *by, struct device *d, struct rows *rows,
                 const double *eps, int count, const struct pairs_options *o);

#endif

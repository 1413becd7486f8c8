/* kmeans.h - Lloyd's k-means over rows that need not fit into memory.
 * Memory: twice the centroids (packed), their sums in fixed point, one block, and 8 bytes a row
 * (its cluster and a lower bound of the distance to the second nearest centroid). The result
 * depends on the rows and the options alone: not on threads, block size, device memory or ranks.
 * The bounds skip only work that cannot change a bit. docs/dedup.md has the details. */
#ifndef ALGO_KMEANS_H
#define ALGO_KMEANS_H

#include "algo/rows.h"

enum kmeans_start {
    KMEANS_PARALLEL, /* k-means||, cuML's "scalable-k-means++" */
    KMEANS_PLUSPLUS, /* k-means++: reads the rows once per centroid, for small sets */
    KMEANS_RANDOM,   /* rows drawn without replacement */
    KMEANS_GIVEN     /* options.centroids */
};

/* When to stop before max_iter. S = the sum over all centroids of |new - old|^2. */
enum kmeans_stop {
    KMEANS_CUML,   /* S < tol */
    KMEANS_SKLEARN /* S <= tol * mean over dimensions of the variance of the rows */
};

/* Several processes, each with its own rows, that compute one result. sum adds values[0..n) over
 * all ranks, in place, the same bits on every rank. */
struct kmeans_team {
    int rank, ranks;
    int (*sum)(void *state, int64_t *values, size_t n);
    void *state;
};

/* After each round: round counts from 1 in each phase. inertia belongs to the centroids before
 * this round's move. centroids [k,dim] are those after it (NULL in the start phase). */
struct kmeans_step {
    const char *phase;           /* "start" or "fit" */
    int round, rounds;           /* rounds: at most */
    int64_t changed;             /* rows with another cluster than before, of all ranks */
    double inertia, moved, work; /* work: share of the distances that had to be computed */
    const float *centroids;
};

struct kmeans_options {
    int64_t clusters;
    int max_iter; /* 0: 100 */
    double tol;   /* 1e-4 is cuML's and scikit-learn's; 0: until nothing moves */
    enum kmeans_stop stop;
    enum kmeans_start start;
    double oversampling; /* k-means||: candidates per round and cluster; 0: 2.0 */
    uint64_t seed;
    double fit_fraction; /* fit on this share of the rows; 0 or 1: all */
    int normalize;       /* divide each row by its norm first */
    int keep_empty; /* an empty cluster keeps its centroid, as in cuML; 0: it gets the row that is
                       farthest from its own centroid, as in scikit-learn */
    int no_bounds;  /* compute every distance: same bits, more time, 4 bytes a row less */
    int64_t block_rows;             /* 0: block_size(dim) */
    const float *centroids;         /* KMEANS_GIVEN: [clusters,dim] */
    const int32_t *weights;         /* one per row, >= 1; NULL: ones. Not with fit_fraction. */
    int64_t first_row;              /* the number of row 0 among the rows of all ranks */
    const struct kmeans_team *team; /* NULL: alone */
    int (*progress)(void *state, const struct kmeans_step *step); /* not 0: stop with that error */
    void *state;
};

struct kmeans {
    int64_t clusters, dim;
    float *centroids; /* [clusters,dim]; means, not normalised again */
    int64_t *sizes;   /* rows per cluster when the centroids last moved, of all ranks */
    int64_t rows, zero, not_finite; /* rows that took part in fitting, and those left out */
    int iterations, converged;
    double inertia; /* sum of squared distances at the last move; kmeans_assign has the final one */
};

/* Release *out in any case. ERR_USAGE: more clusters than rows, with a number that would do. */
int kmeans_fit(struct kmeans *out, struct device *d, struct rows *rows,
               const struct kmeans_options *o);
void kmeans_release(struct kmeans *m);

/* What kmeans_assign finds for rows [first, first+n): cluster -1 and NaN for a row that cannot
 * take part (row_state of its norm says why). l2 = |x-c|, cosine = 1 - x.c/|c|, as NeMo's
 * l2_dist_to_cent and cosine_dist_to_cent. */
struct kmeans_found {
    int64_t first, n;
    const int32_t *cluster;
    const float *l2, *cosine, *norm;
};
/* Every row of `rows`, in order, block by block, to put (not 0: stop with that error). sizes
 * [clusters] and inertia, where not NULL, receive this rank's rows per cluster and sum of squared
 * distances. */
int kmeans_assign(const struct kmeans *m, struct device *d, struct rows *rows, int normalize,
                  int (*put)(void *state, const struct kmeans_found *found), void *state,
                  int64_t *sizes, double *inertia);

/* A number of clusters for n rows: sqrt(n) / 5, at least 1. k-means costs n k a round and the pairs
 * n^2 / 2k; with some 25 rounds, and clusters twice as costly as even ones would be, the sum is
 * least there. */
int64_t kmeans_clusters(int64_t n);

#endif

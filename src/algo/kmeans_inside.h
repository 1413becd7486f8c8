/* kmeans_inside.h - what kmeans.c, kmeans_assign.c and kmeans_start.c share. */
#ifndef ALGO_KMEANS_INSIDE_H
#define ALGO_KMEANS_INSIDE_H

#include "algo/kmeans.h"

enum { LABEL_NONE = -1, LABEL_BAD = -2 }; /* of a row that has no cluster yet, or never will */

/* Rows with a key, of which the smallest win; equal keys go by row number. number counts the rows
 * of all ranks; rank and ordinal say where the row is. */
struct pick {
    double key;
    int64_t number, rank, ordinal;
};
struct picks {
    struct pick *list;
    int64_t n, cap;
};

/* Some centroids, in rising order of their number, as the device wants them. rest: no centroid
 * outside moved farther than this in the last round. */
struct set {
    int64_t n;
    int32_t *ids; /* [n]; NULL: all, in order */
    uint8_t *has; /* [clusters]: is it inside? NULL: all are */
    void *packed, *half;
    double rest;
};
enum { SETS = 24 };

/* A fit in progress. Ordinals count the rows that this rank fits on, chosen by fit_fraction. */
struct fit {
    struct device *d;
    struct rows *rows;
    const struct kmeans_options *o;
    struct kmeans *m;
    int64_t k, dim, n;
    struct block block;
    int64_t *number;         /* of each row of the block, among the rows of all ranks */
    int64_t at, first, next; /* the scan: next row; ordinals of the block: [first, next) */

    int32_t *label; /* [n] */
    float *lower;   /* [n] no centroid but the row's own is nearer; NULL without bounds */
    double longest; /* the largest norm of a row, of all ranks */
    int64_t weight; /* of all good rows, of all ranks */
    int64_t heaviest;
    double variance; /* mean over dimensions */

    float *old;     /* [k,dim] centroids before the last move */
    double *drift;  /* [k] how far each centroid moved, rounded up */
    double reach;   /* the largest norm of a centroid */
    int64_t *total; /* [k,dim] sums of all ranks; then [k] counts */
    void *sums;     /* the same of this rank, on the device */
    double scale;   /* of the sums */
    double unit;    /* of the inertia: squares are summed as integers */
    int64_t inertia, changed, computed;
    struct picks far; /* the rows farthest from their centroids, for clusters that are empty */
    double far_bar;   /* keys above it are not needed */

    struct set set[SETS]; /* from nothing to all */
    int sets;
    void *centroids; /* [k,dim] on the device */
    struct work *work;
};

uint64_t fit_hash(uint64_t seed, uint64_t draw, uint64_t row);
int fit_chosen(const struct fit *f, int64_t row); /* by fit_fraction */

/* Go through the rows: rewind, then next until it gives 0 instead of 1 (or an error). The rows of
 * a block have ordinals from f->first on. */
void fit_rewind(struct fit *f);
int fit_next(struct fit *f);
int64_t fit_weight(const struct fit *f, int64_t ordinal);
/* values[0..n) over all ranks. */
int fit_sum(const struct fit *f, int64_t *values, size_t n);
/* The power of two with which squares up to `largest`, of all weights, sum to less than 2^62. */
double fit_unit(const struct fit *f, double largest);

/* Add a row of this rank; sort and keep the first `most`; give every rank the picks of all. */
void picks_add(struct picks *p, const struct fit *f, double key, int64_t number, int64_t ordinal);
void picks_cut(struct picks *p, int64_t most);
int picks_share(struct picks *p, const struct fit *f);

/* Centroids [n,dim] (those that ids name, or all n) made ready in *s. */
int set_fill(struct set *s, struct fit *f, const float *centroids, const int32_t *ids, int64_t n);
void set_release(struct set *s, struct device *d);

/* kmeans_assign.c: one pass that gives every row its nearest centroid and updates the sums. */
int work_open(struct fit *f);
void work_close(struct fit *f);
int fit_assign(struct fit *f);
/* For the block: the nearest of s to found, its squared distance to square, given the centroids of
 * s on the device as well. Both [rows], on the host. */
int fit_measure(struct fit *f, const struct set *s, const void *centroids, const int32_t **found,
                const float **square);

/* kmeans_start.c: m->centroids [k,dim]. */
int fit_start(struct fit *f);

/* kmeans_empty.c: note the rows of a block that are far away; give empty clusters such rows.
 * *moved: how many, of all ranks; the sums of this rank are changed. */
void far_note(struct fit *f, const float *square);
int far_fill(struct fit *f, int64_t *moved);

#endif

/* cluster.h - arguments of the rows of the op table that compare whole vectors: l2norm, nearest,
 * distance, sum_by, pair_max.
 * A dot product is one fused-multiply-add chain over the dimensions in order, so a result depends
 * on the two vectors alone: not on batch, position, threads or instruction set. Sums over rows
 * are integers, so they do not depend on the order of the rows either. */
#ifndef TENSOR_CLUSTER_H
#define TENSOR_CLUSTER_H

#include "tensor/tensor.h"

/* y = x / ||x|| row by row, no epsilon; a zero row stays zero. x and y are f32 or f16 each; y may
 * be x. norm, where given, receives f32 [rows] ||x||: 0 for a zero row, NaN or infinite for a row
 * with such a number (or too long for f32). keep: y = x, only its type changes. */
struct l2norm {
    struct tensor y, x, norm;
    int keep;
};

/* For each row of x [n,d] (f32 or f16) the centroid c that is nearest: the largest
 * score = x.c - half, where half [k] is |c|^2/2, since |x-c|^2 = |x|^2 - 2 score.
 * index i32 [n], of equals the lowest; -1 where no score is a number. best, next: f32 [n], where
 * given, the scores of the nearest and of the second nearest (-inf when k is 1).
 * c [k,d] is plain f32, or packed by `pack`. */
struct nearest {
    struct tensor index, best, next, x, c, half;
    int packed;
};

/* How far each row of x [n,d] is from the row of c [k,d] that index i32 [n] names: square =
 * |x-c|^2 and dot = x.c, f32 [n], where given, summed in double and rounded once. Where the index
 * is negative both are NaN. x, c: f32. */
struct distance {
    struct tensor square, dot, x, c, index;
};

/* sums[to[i]] += w[i] * x[i] and, where from is given, sums[from[i]] -= the same; counts [k] alike.
 * A negative index adds nowhere, and a row with to == from does nothing. sums i64 [k,d] count in
 * units of 1/scale: x * scale is rounded to an integer (ties to even), so any order of additions
 * gives the same bits. scale is a power of two with w * |x| * scale < 2^51; that no sum passes
 * 2^63 is the caller's business too. x f32 [n,d]; to, from, w i32 [n], w may be absent: ones. */
struct sum_by {
    struct tensor sums, counts, x, to, from, w;
    double scale;
};

/* For each row r of x [m,d] the most similar row of e [n,d] that stands earlier: rows of x are
 * items x_first, x_first+1, ..., rows of e items e_first, ...; only e items before the x item
 * count. score f32 [m] and index i32 [m] (an item number) are updated where a dot product is
 * greater than the score they hold, so start with -infinity and -1 and go through e in rising
 * order: of equals the first stays. x f32; e plain f32 or packed. */
struct pair_max {
    struct tensor score, index, x, e;
    int64_t x_first, e_first;
    int packed;
};

#endif

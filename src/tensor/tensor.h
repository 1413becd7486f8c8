/* tensor.h - a view of numbers on a device. Plain data: who allocated it, frees it. */
#ifndef TENSOR_TENSOR_H
#define TENSOR_TENSOR_H

#include "base/platform.h"

enum dtype { F32, F16, BF16, U8, I32, I64 };
enum { TENSOR_RANK = 4 };

/* Row-major; the last dimension is contiguous. ld = elements from one row to the next, where a
 * row is the last dimension; all earlier dimensions are dense over rows. data == NULL means
 * "not given" in op arguments. */
struct tensor {
    void *data;
    enum dtype type;
    int rank;
    int64_t dim[TENSOR_RANK];
    int64_t ld;
};

size_t dtype_size(enum dtype t);
const char *dtype_name(enum dtype t);        /* "f32" */
int64_t tensor_rows(const struct tensor *t); /* product of all dimensions but the last */
int64_t tensor_cols(const struct tensor *t); /* the last dimension */
int64_t tensor_count(const struct tensor *t);

/* A row stride for activations of `cols` f32: rows start on cache lines and, unlike a power of two,
 * spread over all sets of the cache, so that `linear` need not copy them. */
int64_t tensor_pitch(int64_t cols);

/* Views over memory of the caller's. */
struct tensor tensor_1d(void *data, enum dtype type, int64_t a);
struct tensor tensor_2d(void *data, enum dtype type, int64_t a, int64_t b);
struct tensor tensor_3d(void *data, enum dtype type, int64_t a, int64_t b, int64_t c);
struct tensor tensor_4d(void *data, enum dtype type, int64_t a, int64_t b, int64_t c, int64_t d);
struct tensor tensor_cut_rows(const struct tensor *t, int64_t first, int64_t count); /* rank 2 */
struct tensor tensor_cut_cols(const struct tensor *t, int64_t first, int64_t count); /* keeps ld */

#endif

/* rows.h - rows of numbers that an algorithm reads as often as it needs, from wherever they are,
 * and the block that holds some of them on a device, ready to compute with. */
#ifndef ALGO_ROWS_H
#define ALGO_ROWS_H

#include "tensor/device.h"

/* count rows of dim numbers. read makes *out a view of 1..most rows from row `first` on: f32 or
 * f16 [n,dim] in host memory, good until the next call. It is never asked for rows that are not
 * there, is called by one thread at a time, and gives the same numbers every time. */
struct rows {
    int64_t count, dim;
    int (*read)(void *state, struct tensor *out, int64_t first, int64_t most);
    void *state;
};

/* The rows of a matrix in host memory (f32 or f16, rank 2), which must outlive them. */
struct rows rows_of(struct tensor *matrix);

/* Whether a row can take part; its norm tells. A zero row is bad where rows are normalised; one
 * with a number that is not finite, or so long that the norm is not, always is. */
enum row_state { ROW_GOOD, ROW_ZERO, ROW_NOT_FINITE };
enum row_state row_state(float norm, int normalize);

/* Up to `most` rows as f32 on a device, divided by their norm where asked (NeMo's x/||x||, no
 * epsilon); the norms they came with stand on the host once the block is finished. */
struct block {
    struct device *device;
    int64_t most, dim;
    struct tensor x; /* f32 [rows,dim] on the device */
    float *norm;     /* [rows], host */
    float *norm_dev; /* the same on the device */
    void *stage;     /* rows on their way to a device with memory of its own */
    size_t stage_bytes;
};
int block_init(struct block *b, struct device *d, int64_t most, int64_t dim);
void block_release(struct block *b);

/* Empty it; add rows [first, first+n) behind those it holds, which must fit; end the filling. */
void block_reset(struct block *b);
int block_add(struct block *b, struct rows *r, int64_t first, int64_t n, int normalize);
int block_finish(struct block *b);
int64_t block_room(const struct block *b);

/* A size that keeps threads busy and the memory small: about 16 MB. */
int64_t block_size(int64_t dim);

#endif

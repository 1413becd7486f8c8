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

/* Why a row cannot take part: its norm tells. */
enum row_state { ROW_GOOD, ROW_ZERO, ROW_NOT_FINITE };
/* A zero row is bad where rows are normalised; numbers that are not finite, or so large that the
 * norm is not, always are. */
enum row_state row_state(float norm, int normalize);

/* Up to `most` rows as f32 on a device, divided by their norm where asked (NeMo's x/||x||, no
 * epsilon), with the norms they had on the host. */
struct block {
    struct device *device;
    int64_t most, dim, rows;
    struct tensor x;    /* f32 [rows,dim] on the device */
    float *norm;        /* [rows], host */
    void *stage, *near; /* device memory for what is on its way */
    size_t stage_bytes;
};
int block_init(struct block *b, struct device *d, int64_t most, int64_t dim);
void block_release(struct block *b);

/* Empty the block; add rows [first, first+n) behind those it holds; fetch their norms. What is
 * added must fit. */
void block_reset(struct block *b);
int block_add(struct block *b, struct rows *r, int64_t first, int64_t n, int normalize);
int block_finish(struct block *b);

/* A block size that keeps threads busy: about 16 MB. */
int64_t block_rows(int64_t dim);

#endif

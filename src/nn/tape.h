/* tape.h - what happened, so that it can be walked backwards.
 * Layers take a tape and values (struct var) and give values back. A tape is in one of three
 * moods: dry (nothing runs, memory is only counted), inference (ops run, nothing is kept) or
 * recording (each layer also leaves its backward step). Activations come from one device block
 * that a dry pass has sized, so a steady state allocates nothing.
 * The first error sticks: layers after it do nothing, and tape_error gives it back. */
#ifndef NN_TAPE_H
#define NN_TAPE_H

#include "nn/param.h"
#include "tensor/device.h"

/* A value and, while recording, the gradient that backward steps add into. */
struct var {
    struct tensor x, g;
};

/* One recorded layer: the arguments its backward needs. */
struct step {
    int (*bwd)(struct device *dev, const struct step *s);
    union {
        struct linear_bwd linear;
        struct attention_bwd attention;
        struct layernorm_bwd norm;
        struct embed_bwd embed;
    };
    struct tensor sum_to, sum; /* sum_to += sum: the gradient of a residual */
};

struct tape {
    struct device *dev;
    char *base; /* NULL in a dry pass */
    size_t used, peak, size;
    int dry, record, rc;
    struct step *steps;
    size_t count, cap;
};

/* Starts dry: run the model once to size it, then tape_ready. */
void tape_init(struct tape *t, struct device *dev, int record);
int tape_ready(struct tape *t); /* allocate the peak of the dry pass; from now on ops run */
void tape_release(struct tape *t);

void tape_reset(struct tape *t); /* begin another pass */
int tape_error(const struct tape *t);

/* Memory of this pass, 64-byte aligned; a value's gradient is made (zero) while recording. */
void *tape_alloc(struct tape *t, size_t bytes);
struct var tape_var(struct tape *t, int64_t rows, int64_t cols);

/* Give back everything allocated since the mark. While recording nothing is given back: the
 * backward pass wants it. */
size_t tape_mark(const struct tape *t);
void tape_rewind(struct tape *t, size_t mark);

/* For layers: 1 when the op shall not run; note its result; room for one backward step. */
int tape_skips(const struct tape *t);
void tape_ran(struct tape *t, int rc);
struct step *tape_record(struct tape *t, int (*bwd)(struct device *dev, const struct step *s));

/* All recorded steps in reverse. The gradient of the last value was set by its loss. */
int tape_backward(struct tape *t);

/* Columns [first, first+count) and rows of a value: the same memory. */
struct var var_cols(const struct var *a, int64_t first, int64_t count);
struct var var_rows(const struct var *a, int64_t first, int64_t count);

#endif

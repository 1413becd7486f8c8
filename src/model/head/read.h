/* read.h - tensors of a file to layers of a head, for known.c and describe.c: one call per kind of
 * layer, with names, shapes and numbers checked. Sentences name the tensor, not the file. */
#ifndef MODEL_HEAD_READ_H
#define MODEL_HEAD_READ_H

#include <jansson.h>

#include "base/str.h"
#include "format/weights.h"
#include "model/head/net.h"

struct reader {
    struct head_net *net;
    struct weights *weights;
    struct str name;     /* of the tensor last looked for */
    const char *prefix;  /* in front of every name */
    unsigned char *used; /* [weights_count]: found by name so far */
};

/* prefix + name + tail; NULL: not there, and read_missing says so. */
const struct weight *read_find(struct reader *r, const char *name, const char *tail);
int read_missing(const struct reader *r);
int read_used_all(const struct reader *r);
void read_shape(struct str *out, const struct weight *w); /* "[1,768]" */

/* weight [out,in], or stored [in,out]; a vector [in] is one output. bias may be NULL. */
int read_dense(struct reader *r, const struct weight *weight, const struct weight *bias,
               int stored_in_out);
/* name.weight and, where there is one, name.bias */
int read_linear(struct reader *r, const char *name);
/* (x - mean) / sqrt(spread + eps), or / spread when that is a standard deviation */
int read_statistics(struct reader *r, const struct weight *mean, const struct weight *spread,
                    int is_std, double eps);
/* name.running_mean, .running_var, and .weight, .bias where they are there */
int read_batchnorm(struct reader *r, const char *name, double eps);
int read_layernorm(struct reader *r, const char *name, double eps);

/* known.c: which of the networks people exchange is it, by names and shapes? */
int read_known(struct reader *r);
/* describe.c: the layers that a description lists. */
int read_described(struct reader *r, const json_t *description);

#endif

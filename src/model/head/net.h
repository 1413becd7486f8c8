/* net.h - a head as the host holds it: its layers in double, as a file and its description
 * give them, then folded. Inside model/head/ only. */
#ifndef MODEL_HEAD_NET_H
#define MODEL_HEAD_NET_H

#include "tensor/device.h"

enum { HEAD_LAYERS = 64, HEAD_WIDTH = 1 << 16, HEAD_NUMBERS = 1 << 26 }; /* numbers in all */

enum head_kind {
    HEAD_DENSE,    /* w [out,in] */
    HEAD_DIAGONAL, /* w [out], element by element */
    HEAD_NORM      /* layer norm with gain w [out] and eps */
};

struct head_layer {
    enum head_kind kind;
    int64_t in, out;
    double *w, *b; /* b [out], always there */
    enum act act;
    double eps;
};

/* Layers, then scale * y + offset, then softmax over them if asked; `take` says which number is
 * the score. Zeroed is empty; head_net_release accepts it. */
struct head_net {
    struct head_layer layer[HEAD_LAYERS];
    int count;
    int64_t numbers; /* of all layers, a diagonal counted as the matrix it may become */
    int64_t width;   /* of the input */
    int raw;         /* the input is used as it is, not scaled to length 1 */
    int softmax;
    int64_t take;
    double scale, offset;
    char what[96]; /* for people */
};

void head_net_init(struct head_net *n);
void head_net_release(struct head_net *n);
int64_t head_net_out(const struct head_net *n); /* width after the last layer */

/* Append a layer without activation; w and b become the net's, also on an error (b may be NULL:
 * zeros). ERR_INPUT: too wide, too many layers. The caller has compared the widths. */
int head_net_add(struct head_net *n, enum head_kind kind, double *w, double *b, int64_t out,
                 int64_t in);
/* What follows the last layer. */
int head_net_act(struct head_net *n, enum act act);
int head_net_tanh(struct head_net *n);

/* Fewer and smaller layers with the same result: what no activation divides is multiplied out in
 * double, numbers that are not taken go. Afterwards there are dense layers and norms only.
 * ERR_INPUT: a product that f32 cannot hold. */
int head_net_fold(struct head_net *n);

/* ---- read.c ---- */

/* path: a description (.json), weights (with or without a description beside them), or a folder
 * of either. ERR_INPUT names the file. */
int head_net_load(struct head_net *n, const char *path);

#endif

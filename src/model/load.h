/* load.h - from a weights file to parameters on a device. Shared by clip.c and inspect.c. */
#ifndef MODEL_LOAD_H
#define MODEL_LOAD_H

#include "model/clip.h"
#include "model/find.h"
#include "model/names.h"
#include "nn/layers.h"

struct block {
    struct norm ln1, ln2;
    struct dense qkv;   /* all blocks but the last */
    struct dense q, kv; /* the last: queries of one token, keys and values of all */
    struct dense out, fc1, fc2;
};

struct tower {
    struct dense patch;      /* image: [W, 3*p*p] */
    struct param table;      /* text: [vocab, W] */
    struct param first, pos; /* image: class token [W]; [tokens, W] */
    struct norm pre, post;
    struct block *blocks; /* [layers] */
    struct dense proj;    /* [embed, W] */
};

/* An opened model file and what is known about it, before any number was read. */
struct model {
    struct model_files files;
    struct weights *weights;
    struct tower_names image, text;
    struct clip_said said;
    struct clip_config config;
    const char *family;
    int grid; /* of the stored positions */
};

/* Find, open, and work out the configuration. On an error m holds what was reached, for
 * inspect; model_close in any case. */
int model_open(struct model *m, const struct clip_ask *ask);
void model_close(struct model *m);

/* Missing, misshapen and strange tensors, one per line: 0 when none. */
int model_problems(const struct model *m, struct str *missing, struct str *misshapen,
                   struct str *strange, struct str *unused);

/* Register the parameters of a tower, then read all numbers, in parallel, straight from the
 * mapped file into the device's layout. ERR_INPUT for a number that is not finite. */
struct loader;
struct loader *loader_new(const struct model *m);
void loader_free(struct loader *l);
void loader_tower(struct loader *l, struct params *set, struct tower *t, enum side side);
int loader_run(struct loader *l, struct device *dev);

/* Tensors of both towers into a hash, in the order of our roles. */
struct sha256;
void loader_hash(const struct model *m, struct sha256 *h);

/* Row by row: grid positions [n*n, width] to [m*m, width], as torch's antialiased bicubic. */
void positions_resize(float *out, const float *in, int m, int n, int width);

#endif

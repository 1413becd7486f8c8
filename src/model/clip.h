/* clip.h - a CLIP: two towers that put pictures and captions into one space.
 * clip_open finds the model, reads its weights once into the device's own layout and lets the
 * file go. Each worker then runs it through its own runner, whose memory is fixed at opening.
 * An embedding depends on its own picture or caption alone: not on the batch it came in. */
#ifndef MODEL_CLIP_H
#define MODEL_CLIP_H

#include "model/config.h"
#include "tensor/device.h"

struct clip;
struct clip_runner;

struct clip_ask {
    const char *model;      /* folder, file or name; NULL = ViT-B/32 (see find.h) */
    const char *model_dir;  /* another folder to look for names in, or NULL */
    const char *activation; /* "quick_gelu", "gelu", or NULL = as configuration or name say */
    int image_size;         /* 0 = the model's own; else its positions are resized */
    int no_image, no_text;  /* leave this tower out */
    int config_only;        /* no weight will be read: the activation may stay unknown */
};

/* A tower that the model has not got is simply absent: config->image.layers or text.layers is 0.
 * ERR_USAGE: unknown name, activation not told. ERR_INPUT: not found, damaged, not a CLIP. */
int clip_open(struct clip **out, struct device *dev, const struct clip_ask *ask);
void clip_close(struct clip *c);

/* The configuration alone, without reading a weight. */
int clip_peek(struct clip_config *out, const struct clip_ask *ask);

const struct clip_config *clip_config(const struct clip *c);
const char *clip_weights_path(const struct clip *c);
const char *clip_vocab(const struct clip *c); /* path found beside the model, or NULL */
size_t clip_bytes(const struct clip *c);      /* weights on the device */

/* sha256 over configuration and every weight of both towers, as stored: the same for one tower
 * or two, and wherever the files lie. Computed in the background since opening; waits for it. */
int clip_fingerprint(struct clip *c, char hex[65]);

struct clip_runner_ask {
    int rows;       /* most tokens at a time, 0 = what suits the device */
    enum dtype out; /* F32 or F16 */
    int normalize;  /* to length 1, in f32 before any rounding to f16 */
    int whole;      /* for tests: no savings; pad captions, compute every token of every block */
};

/* lane: the device handle of the calling thread (device_lane), or the device itself. */
int clip_runner_open(struct clip_runner **out, const struct clip *c, struct device *lane,
                     const struct clip_runner_ask *ask);
void clip_runner_close(struct clip_runner *r);
size_t clip_runner_bytes(const struct clip_runner *r);
int clip_runner_images(const struct clip_runner *r); /* pictures that fill one pass */

/* out [n, embed], host memory; pixels [n,S,S,3] as prep_run gives them. Any n. */
int clip_image(struct clip_runner *r, void *out, const uint8_t *pixels, int n);

/* Caption i is tokens[at[i]..at[i+1]), from start to end token, at most config->context of them.
 * ERR_INPUT: a token that the model's table has not got (a foreign vocabulary). */
int clip_text(struct clip_runner *r, void *out, const int32_t *tokens, const int32_t *at, int n);

/* What `darkroom model inspect` prints: family, architecture, tensors, activation, preparation,
 * what is missing, unused or not understood. As text, or JSON when json is set. A file that
 * could not be run is described as far as it goes, its problem among it; *usable tells. An error
 * only when there is no file to describe. */
int clip_describe(struct str *out, int *usable, const struct clip_ask *ask, int json);

#endif

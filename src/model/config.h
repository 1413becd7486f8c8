/* config.h - what a CLIP is made of, and what the files around its weights say about it.
 * Shapes tell most; what they cannot tell (heads, activation, epsilon, preprocessing) must be
 * said by a configuration file, a known name, or the user. */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "base/str.h"
#include "image/prep.h"
#include "tensor/device.h"

struct tower_config {
    int width, layers, heads, mlp; /* layers 0: the model has no such tower */
    enum act act;
    float eps;
    int projected; /* 0: ends at its last norm */
};

struct clip_config {
    struct tower_config image, text;
    int image_size, patch;
    int pre_norm;       /* a norm between the tokens and the first block */
    int embed;          /* width of an embedding */
    int context, vocab; /* text: most tokens, rows of the token table */
    struct prep prep;
    int openai;        /* an archive of OpenAI's, with its special strings in captions */
    float logit_scale; /* as used: exp of what is stored; 0 when the file has none */
};

/* What is said from outside. 0 = not said (act: -1). */
struct tower_said {
    int width, layers, heads, head_width, mlp, act;
    float mlp_ratio, eps;
};
struct clip_said {
    struct tower_said image, text;
    int image_size, patch, embed, context, vocab;
    int prep_known;
    struct prep prep; /* size is image_size's business */
    char act_from[160], prep_from[160], shape_from[160];
};

void clip_said_init(struct clip_said *s); /* nothing said yet */
void prep_default(struct prep *p);        /* OpenAI's mean and std, bicubic, centre crop */

/* Overlay what a JSON file says: open_clip_config.json ({model_cfg, preprocess_cfg}), an
 * open_clip model configuration, HF config.json or preprocessor_config.json, timm config.json.
 * Told apart by their keys. ERR_INPUT: unreadable, or an architecture that is not a plain CLIP
 * ViT; the sentence names the key. */
int config_read(struct clip_said *s, const char *path);

/* One line of text that differs when embeddings may differ: for fingerprints. */
void config_print(struct str *out, const struct clip_config *c);

#endif

/* names.h - where each part of a CLIP stands in the four checkpoint families.
 * A layout is a table from our roles to a family's tensor names; finding one tensor of a tower
 * (the anchor) tells the layout and whatever stands in front of the names ("module.",
 * "state_dict.", "text.", ...). */
#ifndef MODEL_NAMES_H
#define MODEL_NAMES_H

#include "format/weights.h"

enum { NAME_ROOM = WEIGHT_NAME_MAX + 128 };

/* Image: TABLE is the patch convolution, FIRST the class token. Text: TABLE is the token table. */
enum role {
    ROLE_TABLE,
    ROLE_TABLE_BIAS,
    ROLE_FIRST,
    ROLE_POS,
    ROLE_PRE_GAIN,
    ROLE_PRE_BIAS,
    ROLE_POST_GAIN,
    ROLE_POST_BIAS,
    ROLE_PROJ,
    ROLE_PROJ_BIAS,
    /* of block i */
    ROLE_LN1_GAIN,
    ROLE_LN1_BIAS,
    ROLE_QKV,
    ROLE_QKV_BIAS,
    ROLE_OUT,
    ROLE_OUT_BIAS,
    ROLE_LN2_GAIN,
    ROLE_LN2_BIAS,
    ROLE_FC1,
    ROLE_FC1_BIAS,
    ROLE_FC2,
    ROLE_FC2_BIAS,
    ROLES
};

enum side { SIDE_IMAGE, SIDE_TEXT };

/* Where one tower lives in a file. */
struct tower_names {
    enum side side;
    const struct layout *layout;      /* NULL: the file has no such tower */
    char prefix[WEIGHT_NAME_MAX + 1]; /* in front of the tower's own names */
    char base[WEIGHT_NAME_MAX + 1];   /* in front of the names beside the tower (projections) */
};

/* What a role is in the file: one tensor, or q, k and v apart. */
struct found {
    char name[NAME_ROOM]; /* as it stands, or would stand, in the file */
    const struct weight *part[3];
    int parts;      /* 0: not there */
    int transposed; /* stored [in,out] */
};

void names_tower(struct tower_names *out, const struct weights *w, enum side side);
void names_find(struct found *out, const struct weights *w, const struct tower_names *t,
                enum role role, int block);
const struct weight *names_scale(const struct weights *w, const struct tower_names *t);

/* "openai", "open_clip", "HF transformers", "timm", "open_clip with a timm trunk" */
const char *names_family(const struct weights *w, const struct tower_names *image,
                         const struct tower_names *text);

/* Is this an archive as OpenAI published them (all of those are quick_gelu)? */
int names_is_openai(const struct weights *w);

/* A tensor that no role uses: NULL when it may be left out (buffers, optimiser state, scale),
 * else why it may not: it stands inside a tower, so ignoring it would give other numbers. */
const char *names_stranger(const char *name, const struct tower_names *image,
                           const struct tower_names *text);

#endif

/* names.c - the name tables of OpenAI and open_clip, HF transformers, and timm.
 * In a pattern: '^' = stored transposed; '<' = stands beside the tower, not in it; '|' parts
 * alternatives; "{qkv}" = three tensors, one for each letter. */
#include "model/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

struct layout {
    enum side side;
    const char *family;
    const char *anchor; /* a name whose presence means this layout */
    const char *inside; /* the prefix must end so; it is cut off to get the base */
    const char *blocks; /* "transformer.resblocks." before the number */
    const char *role[ROLES];
};

#define OPENAI_BLOCK                                                             \
    [ROLE_LN1_GAIN] = "ln_1.weight", [ROLE_LN1_BIAS] = "ln_1.bias",              \
    [ROLE_QKV] = "attn.in_proj_weight", [ROLE_QKV_BIAS] = "attn.in_proj_bias",   \
    [ROLE_OUT] = "attn.out_proj.weight", [ROLE_OUT_BIAS] = "attn.out_proj.bias", \
    [ROLE_LN2_GAIN] = "ln_2.weight", [ROLE_LN2_BIAS] = "ln_2.bias",              \
    [ROLE_FC1] = "mlp.c_fc.weight", [ROLE_FC1_BIAS] = "mlp.c_fc.bias",           \
    [ROLE_FC2] = "mlp.c_proj.weight", [ROLE_FC2_BIAS] = "mlp.c_proj.bias"

#define HF_BLOCK                                                                               \
    [ROLE_LN1_GAIN] = "layer_norm1.weight", [ROLE_LN1_BIAS] = "layer_norm1.bias",              \
    [ROLE_QKV] = "self_attn.{qkv}_proj.weight", [ROLE_QKV_BIAS] = "self_attn.{qkv}_proj.bias", \
    [ROLE_OUT] = "self_attn.out_proj.weight", [ROLE_OUT_BIAS] = "self_attn.out_proj.bias",     \
    [ROLE_LN2_GAIN] = "layer_norm2.weight", [ROLE_LN2_BIAS] = "layer_norm2.bias",              \
    [ROLE_FC1] = "mlp.fc1.weight", [ROLE_FC1_BIAS] = "mlp.fc1.bias",                           \
    [ROLE_FC2] = "mlp.fc2.weight", [ROLE_FC2_BIAS] = "mlp.fc2.bias"

#define TIMM_BLOCK                                                       \
    [ROLE_LN1_GAIN] = "norm1.weight", [ROLE_LN1_BIAS] = "norm1.bias",    \
    [ROLE_QKV] = "attn.qkv.weight", [ROLE_QKV_BIAS] = "attn.qkv.bias",   \
    [ROLE_OUT] = "attn.proj.weight", [ROLE_OUT_BIAS] = "attn.proj.bias", \
    [ROLE_LN2_GAIN] = "norm2.weight", [ROLE_LN2_BIAS] = "norm2.bias",    \
    [ROLE_FC1] = "mlp.fc1.weight", [ROLE_FC1_BIAS] = "mlp.fc1.bias",     \
    [ROLE_FC2] = "mlp.fc2.weight", [ROLE_FC2_BIAS] = "mlp.fc2.bias"

/* HF before the bare names: "embeddings.token_embedding.weight" ends like OpenAI's. */
static const struct layout layouts[] = {
    {SIDE_IMAGE,
     "HF transformers",
     "embeddings.patch_embedding.weight",
     "vision_model.",
     "encoder.layers.",
     {[ROLE_TABLE] = "embeddings.patch_embedding.weight",
      [ROLE_TABLE_BIAS] = "embeddings.patch_embedding.bias",
      [ROLE_FIRST] = "embeddings.class_embedding",
      [ROLE_POS] = "embeddings.position_embedding.weight",
      [ROLE_PRE_GAIN] = "pre_layrnorm.weight|pre_layernorm.weight",
      [ROLE_PRE_BIAS] = "pre_layrnorm.bias|pre_layernorm.bias",
      [ROLE_POST_GAIN] = "post_layernorm.weight",
      [ROLE_POST_BIAS] = "post_layernorm.bias",
      [ROLE_PROJ] = "<visual_projection.weight",
      [ROLE_PROJ_BIAS] = "<visual_projection.bias",
      HF_BLOCK}},
    {SIDE_IMAGE,
     "open_clip",
     "conv1.weight",
     "visual.",
     "transformer.resblocks.",
     {[ROLE_TABLE] = "conv1.weight",
      [ROLE_TABLE_BIAS] = "conv1.bias",
      [ROLE_FIRST] = "class_embedding",
      [ROLE_POS] = "positional_embedding",
      [ROLE_PRE_GAIN] = "ln_pre.weight",
      [ROLE_PRE_BIAS] = "ln_pre.bias",
      [ROLE_POST_GAIN] = "ln_post.weight",
      [ROLE_POST_BIAS] = "ln_post.bias",
      [ROLE_PROJ] = "^proj",
      OPENAI_BLOCK}},
    {SIDE_IMAGE,
     "timm",
     "patch_embed.proj.weight",
     "visual.trunk.",
     "blocks.",
     {[ROLE_TABLE] = "patch_embed.proj.weight",
      [ROLE_TABLE_BIAS] = "patch_embed.proj.bias",
      [ROLE_FIRST] = "cls_token",
      [ROLE_POS] = "pos_embed",
      [ROLE_PRE_GAIN] = "norm_pre.weight",
      [ROLE_PRE_BIAS] = "norm_pre.bias",
      [ROLE_POST_GAIN] = "norm.weight",
      [ROLE_POST_BIAS] = "norm.bias",
      [ROLE_PROJ] = "head.weight|<visual.head.proj.weight",
      [ROLE_PROJ_BIAS] = "head.bias|<visual.head.proj.bias",
      TIMM_BLOCK}},
    {SIDE_TEXT,
     "HF transformers",
     "embeddings.token_embedding.weight",
     "text_model.",
     "encoder.layers.",
     {[ROLE_TABLE] = "embeddings.token_embedding.weight",
      [ROLE_POS] = "embeddings.position_embedding.weight",
      [ROLE_POST_GAIN] = "final_layer_norm.weight",
      [ROLE_POST_BIAS] = "final_layer_norm.bias",
      [ROLE_PROJ] = "<text_projection.weight",
      [ROLE_PROJ_BIAS] = "<text_projection.bias",
      HF_BLOCK}},
    {SIDE_TEXT,
     "open_clip",
     "token_embedding.weight",
     "text.",
     "transformer.resblocks.",
     {[ROLE_TABLE] = "token_embedding.weight",
      [ROLE_POS] = "positional_embedding",
      [ROLE_POST_GAIN] = "ln_final.weight",
      [ROLE_POST_BIAS] = "ln_final.bias",
      [ROLE_PROJ] = "^text_projection|text_projection.weight",
      [ROLE_PROJ_BIAS] = "text_projection.bias",
      OPENAI_BLOCK}},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* The shortest prefix under which the anchor is found, so that a model wins over its moving
 * average or its teacher kept in the same file. NULL: none. */
static const struct weight *find_anchor(const struct weights *w, const char *anchor)
{
    const struct weight *best = NULL;
    for (size_t i = 0; i < weights_count(w); i++) {
        const struct weight *a = weights_at(w, i);
        size_t n = strlen(a->name), m = strlen(anchor);
        if (n < m || strcmp(a->name + n - m, anchor)) continue;
        if (n > m && a->name[n - m - 1] != '.') continue;
        if (!best || n < strlen(best->name)) best = a;
    }
    return best;
}

/* conv1.weight also ends ResNets of other kinds: that layout counts only below "visual.". */
static int acceptable(const struct layout *l, const char *prefix)
{
    return strcmp(l->anchor, "conv1.weight") || str_ends(prefix, "visual.");
}

void names_tower(struct tower_names *out, const struct weights *w, enum side side)
{
    *out = (struct tower_names){.side = side};
    for (int i = 0; i < LAYOUTS; i++) {
        const struct layout *l = &layouts[i];
        const struct weight *a = l->side == side ? find_anchor(w, l->anchor) : NULL;
        if (!a) continue;
        snprintf(out->prefix, sizeof out->prefix, "%.*s",
                 (int)(strlen(a->name) - strlen(l->anchor)), a->name);
        if (!acceptable(l, out->prefix)) continue;
        snprintf(out->base, sizeof out->base, "%s", out->prefix);
        if (str_ends(out->base, l->inside)) out->base[strlen(out->base) - strlen(l->inside)] = 0;
        out->layout = l;
        return;
    }
}

/* One alternative of a pattern: 1 when all its tensors are there. */
static int find_one(struct found *out, const struct weights *w, const struct tower_names *t,
                    const char *pattern, size_t len, const char *block)
{
    int beside = *pattern == '<', transposed = *pattern == '^';
    const char *three;
    pattern += beside || transposed;
    len -= (size_t)(beside || transposed);
    *out = (struct found){.transposed = transposed, .parts = 1};
    snprintf(out->name, sizeof out->name, "%s%s%.*s", beside ? t->base : t->prefix, block, (int)len,
             pattern);
    if (!(three = strstr(out->name, "{qkv}"))) {
        out->part[0] = weights_find(w, out->name);
        return out->part[0] != NULL;
    }
    out->parts = 3;
    for (int i = 0; i < 3; i++) {
        char name[NAME_ROOM];
        snprintf(name, sizeof name, "%.*s%c%s", (int)(three - out->name), out->name, "qkv"[i],
                 three + strlen("{qkv}"));
        out->part[i] = weights_find(w, name);
        if (out->part[i]) continue;
        memcpy(out->name, name, sizeof name); /* name the one that is missing */
        return 0;
    }
    return 1;
}

void names_find(struct found *out, const struct weights *w, const struct tower_names *t,
                enum role role, int block)
{
    char in_block[64] = "";
    const char *p = t->layout->role[role];
    *out = (struct found){0};
    if (role >= ROLE_LN1_GAIN)
        snprintf(in_block, sizeof in_block, "%s%d.", t->layout->blocks, block);
    while (p && *p) {
        size_t len = strcspn(p, "|");
        struct found try;
        if (find_one(&try, w, t, p, len, in_block)) {
            *out = try;
            return;
        }
        if (!*out->name) memcpy(out->name, try.name, sizeof out->name);
        p += len + (p[len] == '|');
    }
    out->parts = 0;
}

const struct weight *names_scale(const struct weights *w, const struct tower_names *t)
{
    char name[NAME_ROOM + 16];
    if (!t->layout) return NULL;
    snprintf(name, sizeof name, "%slogit_scale", t->base);
    return weights_find(w, name);
}

int names_is_openai(const struct weights *w)
{
    return weights_find(w, "visual.conv1.weight") && weights_find(w, "input_resolution") &&
           weights_find(w, "context_length") && weights_find(w, "vocab_size");
}

const char *names_family(const struct weights *w, const struct tower_names *image,
                         const struct tower_names *text)
{
    if (names_is_openai(w)) return "OpenAI";
    const struct tower_names *t = image->layout ? image : text;
    if (!t->layout) return "not a CLIP";
    if (!strcmp(t->layout->family, "timm") && str_ends(t->prefix, "visual.trunk."))
        return "open_clip with a timm trunk";
    return t->layout->family;
}

/* Left out without a word: buffers that hold no learned number. */
static int is_buffer(const char *name)
{
    return str_ends(name, "position_ids") || str_ends(name, "attn_mask");
}

const char *names_stranger(const char *name, const struct tower_names *image,
                           const struct tower_names *text)
{
    const struct tower_names *both[2] = {image, text};
    char blocks[NAME_ROOM + 64];
    if (is_buffer(name)) return NULL;
    for (int i = 0; i < 2; i++) {
        const struct tower_names *t = both[i];
        if (!t->layout) continue;
        snprintf(blocks, sizeof blocks, "%s%s", t->prefix, t->layout->blocks);
        if (str_starts(name, blocks)) return "in a block of a tower";
        /* A vision tower owns everything below "visual." or "vision_model."; a bare timm file
         * holds nothing else. Text names of open_clip have no prefix of their own. */
        int owns = i == 0 && (*t->prefix || !strcmp(t->layout->family, "timm"));
        if (owns && str_starts(name, t->prefix)) return "in the image tower";
    }
    return NULL;
}

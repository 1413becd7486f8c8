/* registry.h - published CLIPs by every name people use for them.
 *   OpenAI / clip-retrieval   ViT-B/32, ViT-L/14@336px, openai_clip:ViT-B/32
 *   open_clip                 open_clip:ViT-H-14/laion2b_s32b_b79k, ViT-B-32-quickgelu/openai
 *   HF                        hf_clip:openai/clip-vit-large-patch14, laion/CLIP-ViT-B-32-...
 *   timm                      vit_large_patch14_clip_quickgelu_224.openai
 * A row says what the weights cannot: activation and preprocessing, and where to get them. */
#ifndef MODEL_REGISTRY_H
#define MODEL_REGISTRY_H

#include "model/config.h"

struct model_arch {
    const char *name; /* open_clip's: "ViT-B-32" */
    int image_size, patch, width, layers, heads, mlp;
    int text_width, text_layers, text_heads, embed;
};

enum model_norm { NORM_OPENAI, NORM_HALF, NORM_IMAGENET };

struct model_row {
    const char *arch, *tag; /* "ViT-B-32", "openai" */
    const char *hub;        /* repository in open_clip's layout */
    const char *hf;         /* repository in transformers' layout, or NULL */
    const char *file;       /* name of the file its authors published, or NULL */
    enum act act;
    enum model_norm norm;
    enum prep_fit fit;
    enum prep_filter filter;
};

struct model_timm {
    const char *name, *hub;
    enum act act;
    int not_native; /* timm runs GELU here on weights that were trained with QuickGELU */
};

/* Tables end with a zeroed row. */
extern const struct model_arch model_archs[];
extern const struct model_row model_rows[];
extern const struct model_timm model_timms[];

/* Whose layout and preprocessing the spelling asks for. */
enum model_kind { KIND_OPEN_CLIP, KIND_HF, KIND_TIMM };

struct model_known {
    enum model_kind kind;
    const struct model_row *row;   /* or NULL */
    const struct model_timm *timm; /* or NULL */
    char repo[256];                /* HF repository to look in; "" when there is none */
    enum act act;                  /* of this spelling: "-quickgelu" overrules the tag */
};

/* 0, or ERR_USAGE with the nearest real names. `org/name` of an unknown HF repository is fine:
 * only its repo is set then. */
int registry_find(struct model_known *out, const char *name);

/* A row that a file name gives away ("ViT-L-14-336px.pt", "vit_b_32-laion2b_e16-af8dbd0c.pth"),
 * or a repository id; NULL when none does. */
const struct model_row *registry_by_file(const char *base);
const struct model_row *registry_by_repo(const char *repo);

const struct model_arch *registry_arch(const char *name); /* NULL: unknown */

/* The open_clip name of an architecture with these sizes, or NULL. */
const char *registry_arch_of(const struct clip_config *c);

/* Say what a row knows. */
void registry_say(struct clip_said *s, const struct model_row *row);

#endif

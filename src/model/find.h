/* find.h - from what stands after --model to files on this machine. Nothing is downloaded. */
#ifndef MODEL_FIND_H
#define MODEL_FIND_H

#include "model/registry.h"

struct model_files {
    char *weights;   /* file to give to weights_open */
    char *config[2]; /* JSON files to read, in order; NULL: none */
    char *vocab;     /* vocabulary file (or vocab.json with merges.txt beside it); NULL: none */
    int known;       /* the name or file name is in the registry: `as` is filled */
    int named;       /* it was asked for by that name */
    struct model_known as;
    enum model_kind kind; /* whose preprocessing applies when a folder has several */
};

/* model: a folder, a file, or a name (registry.h), "tiny", NULL = "ViT-B/32". Names are looked
 * up in model_dir (may be NULL), $DARKROOM_HOME/models, OpenAI's and HF's caches.
 * ERR_USAGE: no such name. ERR_INPUT: not on this machine; the sentence names the folders
 * searched and how to get it. */
int model_find(struct model_files *out, const char *model, const char *model_dir);
void model_files_release(struct model_files *f);

/* Default folders for models: $DARKROOM_HOME/models, else ~/.darkroom/models. */
void model_home(struct str *out);

/* The folder models/tiny that came with the program: 1, or 0 and the program's own folder. */
int model_tiny(struct str *out);

#endif

/* model.c - `model inspect` and `model list`: what a model file is and which names are known. */
#include "cmd/verbs.h"
#include "base/err.h"
#include "model/clip.h"
#include "model/registry.h"

#include <stdio.h>
#include <string.h>

struct model_options {
    struct common common;
    const char *model_dir;
    int activation;
};

#define AT(f) offsetof(struct model_options, f)

static const struct opt options[] = {{"model-dir", NULL, 0, OPT_STR, AT(model_dir), NULL, "DIR",
                                      "folder in which models are looked up first", 0},
                                     {"activation", NULL, 0, OPT_CHOICE, AT(activation), "auto",
                                      "auto|gelu|quick_gelu", "for weights without a configuration",
                                      0},
                                     OPT_END};

static int inspect(const struct model_options *o, const char *model)
{
    static const char *const activations[] = {NULL, "gelu", "quick_gelu"};
    struct clip_ask ask = {
        .model = model, .model_dir = o->model_dir, .activation = activations[o->activation]};
    struct str s = {0};
    int usable = 0, rc = clip_describe(&s, &usable, &ask, o->common.json);
    if (!rc) fputs(s.p, stdout);
    str_release(&s);
    if (!rc && !usable) rc = err_set(ERR_INPUT, "%s: cannot be run as it is; see above", model);
    return rc;
}

static int list(void)
{
    puts("tiny");
    for (const struct model_row *r = model_rows; r->arch; r++)
        printf("open_clip:%s/%s%s%s\n", r->arch, r->tag, r->hf ? "\thf_clip:" : "",
               r->hf ? r->hf : "");
    for (const struct model_timm *t = model_timms; t->name; t++) puts(t->name);
    return 0;
}

static int model_run(void *opts, const char **args, int nargs)
{
    if (nargs == 2 && !strcmp(args[0], "inspect")) return inspect(opts, args[1]);
    if (nargs == 1 && !strcmp(args[0], "list")) return list();
    if (nargs && !strcmp(args[0], "pull"))
        return err_set(
            ERR_USAGE,
            "model pull: downloading is not part of this version; put the model's folder under $DARKROOM_HOME/models");
    return err_set(ERR_USAGE, "model takes: inspect FILE|FOLDER|NAME, or list");
}

const struct verb model_verb = {
    "model",
    "inspect FILE | list",
    "describe a model file; list known names",
    "  darkroom model inspect ViT-L-14.safetensors\n  darkroom model inspect tiny --json\n  darkroom model list\n",
    NULL,
    options,
    sizeof(struct model_options),
    model_run};

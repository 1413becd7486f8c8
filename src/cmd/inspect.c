/* inspect.c - what a model sees of a picture: its exact pixels, as a PNG or as the normalised
 * array the tower gets. */
#include "cmd/verbs.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "format/json.h"
#include "format/npy.h"
#include "image/image.h"
#include "image/prep.h"
#include "io/file.h"
#include "model/clip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct inspect_options {
    struct common common;
    const char *model, *model_dir, *output;
    int exif_orient, keep_damaged;
};

#define AT(f) offsetof(struct inspect_options, f)

static const struct opt options[] = {{"model", NULL, 0, OPT_STR, AT(model), "tiny", "NAME",
                                      "folder, weights file, or name of a model", 0},
                                     {"model-dir", NULL, 0, OPT_STR, AT(model_dir), NULL, "DIR",
                                      "folder in which models are looked up first", 0},
                                     {"output", NULL, 'o', OPT_STR, AT(output), NULL, "FILE",
                                      "seen.png, or seen.npy: f32 [3,S,S] normalised", 0},
                                     {"exif-orient", NULL, 0, OPT_FLAG, AT(exif_orient), NULL, NULL,
                                      "turn the picture as EXIF says", 0},
                                     {"keep-damaged", NULL, 0, OPT_FLAG, AT(keep_damaged), NULL,
                                      NULL, "show a damaged picture as far as it decodes", 0},
                                     OPT_END};

/* [S,S,3] levels to f32 [3,S,S] by the table the towers use. */
static void make_npy(struct str *out, const uint8_t *rgb, const struct prep *p)
{
    int64_t dim[3] = {3, p->size, p->size};
    size_t n = (size_t)p->size * (size_t)p->size;
    float lut[3][256];
    prep_lut(lut, p);
    npy_encode_header(out, "<f4", dim, 3);
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < n; i++) str_add(out, &lut[c][rgb[3 * i + c]], sizeof(float));
}

/* A plain file of the user's own naming; nothing here needs a receipt. */
static int write_file(const char *path, const struct str *bytes)
{
    FILE *f = fopen(path, "wb");
    int bad = !f || fwrite(bytes->p, 1, bytes->len, f) != bytes->len;
    if (f && fclose(f)) bad = 1;
    return bad ? err_set(ERR_OUTPUT, "%s: cannot be written", path) : 0;
}

static int save(const char *path, const uint8_t *rgb, const struct prep *p)
{
    struct str bytes = {0};
    int rc = 0;
    if (str_ends(path, ".npy"))
        make_npy(&bytes, rgb, p);
    else if (str_ends(path, ".png"))
        png_encode(&bytes, rgb, p->size, p->size);
    else
        rc = err_set(ERR_USAGE, "-o takes a name ending in .png or .npy, not %s", path);
    if (!rc) rc = write_file(path, &bytes);
    str_release(&bytes);
    return rc;
}

static void tell(const char *path, const struct picture_info *i, const struct prep *p, int json)
{
    const char *fit = p->fit == FIT_SQUASH ? "squash" : "shortest side, centre crop";
    const char *filter = p->filter == FILTER_BILINEAR ? "bilinear" : "bicubic";
    struct str name = {0};
    json_quote(&name, path, strlen(path));
    printf(json ? "{\"file\": %s, \"format\": \"%s\", \"width\": %d, \"height\": %d, "
                  "\"seen\": %d, \"fit\": \"%s\", \"filter\": \"%s\", \"damaged\": %s}\n"
                : "%s: %s %dx%d, seen at %d (%s, %s)%s\n",
           json ? name.p : path, i->format, i->width, i->height, p->size, fit, filter,
           json         ? i->damaged ? "true" : "false"
           : i->damaged ? ", damaged"
                        : "");
    str_release(&name);
}

static int inspect_run(void *opts, const char **args, int nargs)
{
    struct inspect_options *o = opts;
    struct clip_ask ask = {.model = o->model, .model_dir = o->model_dir};
    struct clip_config config;
    struct picture_info info;
    struct arena scratch = {0};
    struct str bytes = {0};
    if (nargs != 1) return err_set(ERR_USAGE, "inspect takes one picture");
    int rc = clip_peek(&config, &ask);
    if (!rc) rc = file_read(&bytes, args[0], PREP_MAX_BYTES);
    if (rc) return str_release(&bytes), rc;
    struct prep p = config.prep;
    p.exif_orient = o->exif_orient;
    p.keep_damaged = o->keep_damaged;
    uint8_t *rgb = mem_aligned(mem_mul((size_t)p.size * (size_t)p.size, 3));
    rc = prep_run(rgb, &info, bytes.p, bytes.len, &p, &scratch);
    if (rc == ERR_DATA) rc = err_wrap(ERR_INPUT, "%s: %s", args[0], bad_name(err_why()));
    if (!rc) tell(args[0], &info, &p, o->common.json);
    if (!rc && o->output) rc = save(o->output, rgb, &p);
    free(rgb);
    str_release(&bytes);
    arena_release(&scratch);
    return rc;
}

const struct verb inspect_verb = {"inspect",
                                  "PICTURE",
                                  "the exact pixels a model sees of a picture",
                                  "  darkroom inspect picture.jpg --model ViT-L/14 -o seen.png\n"
                                  "  darkroom inspect picture.jpg --model tiny -o seen.npy\n",
                                  NULL,
                                  options,
                                  sizeof(struct inspect_options),
                                  inspect_run};

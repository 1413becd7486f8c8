/* open.c - from --model to a configuration, before any weight is read.
 * Sizes come from the tensors themselves; what those cannot tell comes from configuration files,
 * known names or the user; where both speak they must agree. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "model/load.h"

enum { MOST_LAYERS = 1024, MOST_WIDTH = 1 << 16, MOST_TOKENS = 1 << 16, MOST_VOCAB = 1 << 24 };

/* ---- what is said ---- */

static int gather(struct model *m, const struct clip_ask *ask)
{
    const struct model_known *as = &m->files.as;
    struct clip_said *s = &m->said;
    int rc = 0;
    enum act act;
    clip_said_init(s);
    if (m->files.known && as->row) registry_say(s, as->row);
    for (int i = 0; i < 2 && !rc; i++)
        if (m->files.config[i]) rc = config_read(s, m->files.config[i]);
    if (rc) return rc;
    if (m->files.named && (as->row || as->timm)) {
        s->image.act = s->text.act = (int)as->act;
        snprintf(s->act_from, sizeof s->act_from, "the name of the model");
    }
    if (m->files.named && as->timm && as->timm->not_native)
        log_warn("timm runs %s with gelu, but its weights were trained with quick_gelu; for the "
                 "original numbers use the name with \"clip_quickgelu\" or --activation quick_gelu",
                 as->timm->name);
    if (s->image.act < 0 && s->text.act < 0 && names_is_openai(m->weights)) {
        s->image.act = s->text.act = ACT_QUICK_GELU;
        snprintf(s->act_from, sizeof s->act_from, "an archive of OpenAI's");
    }
    if (ask->activation) {
        if ((rc = act_parse(&act, ask->activation))) return rc;
        if (s->image.act >= 0 && s->image.act != (int)act)
            log_warn("--activation %s overrules %s", ask->activation, s->act_from);
        s->image.act = s->text.act = (int)act;
        snprintf(s->act_from, sizeof s->act_from, "--activation");
    }
    return 0;
}

/* ---- what the shapes say ---- */

static const struct weight *tensor_of(const struct model *m, const struct tower_names *t,
                                      enum role role, struct found *f)
{
    names_find(f, m->weights, t, role, 0);
    return f->parts ? f->part[0] : NULL;
}

static int count_blocks(const struct model *m, const struct tower_names *t)
{
    struct found f;
    int n = 0;
    for (; n <= MOST_LAYERS; n++) {
        names_find(&f, m->weights, t, ROLE_LN1_GAIN, n);
        if (!f.parts) break;
    }
    return n;
}

static int bad_shape(const struct weight *w, const char *want)
{
    return err_set(ERR_INPUT, "%s: tensor %s does not have the shape of %s", "weights", w->name,
                   want);
}

/* Width is known; layers, mlp and projection are the same question in both towers. */
static int tower_shapes(struct model *m, struct tower_config *c, const struct tower_names *t)
{
    struct found f;
    const struct weight *fc1 = tensor_of(m, t, ROLE_FC1, &f);
    c->layers = count_blocks(m, t);
    if (c->layers < 1 || c->layers > MOST_LAYERS || c->width < 1 || c->width > MOST_WIDTH)
        return err_set(ERR_INPUT, "a tower of %d blocks and width %d is none this program can run",
                       c->layers, c->width);
    if (!fc1) return err_set(ERR_INPUT, "tensor %s is missing", f.name);
    if (fc1->rank != 2 || fc1->dim[0] < 1 || fc1->dim[0] > MOST_WIDTH)
        return bad_shape(fc1, "an MLP");
    c->mlp = (int)fc1->dim[0];
    const struct weight *proj = tensor_of(m, t, ROLE_PROJ, &f);
    c->projected = proj != NULL;
    if (proj && (proj->rank != 2 || proj->dim[0] > MOST_WIDTH || proj->dim[1] > MOST_WIDTH))
        return bad_shape(proj, "a projection");
    int embed = proj ? (int)proj->dim[f.transposed ? 1 : 0] : c->width;
    if (embed < 1) return bad_shape(proj, "a projection");
    if (!m->config.embed) m->config.embed = embed;
    if (m->config.embed != embed)
        return err_set(ERR_INPUT, "the towers end at different widths (%d and %d): %s",
                       m->config.embed, embed, proj ? proj->name : f.name);
    return 0;
}

static int image_shapes(struct model *m)
{
    struct found f;
    struct clip_config *c = &m->config;
    const struct weight *conv = tensor_of(m, &m->image, ROLE_TABLE, &f);
    if (conv->rank != 4 || conv->dim[1] != 3 || conv->dim[2] != conv->dim[3] || conv->dim[2] < 1 ||
        conv->dim[2] > 1024 || conv->dim[0] > MOST_WIDTH)
        return bad_shape(conv, "a patch convolution [width,3,p,p]");
    c->image.width = (int)conv->dim[0];
    c->patch = (int)conv->dim[2];
    c->pre_norm = tensor_of(m, &m->image, ROLE_PRE_GAIN, &f) != NULL;
    const struct weight *pos = tensor_of(m, &m->image, ROLE_POS, &f);
    if (!pos) return err_set(ERR_INPUT, "tensor %s is missing", f.name);
    int64_t tokens = pos->count / (c->image.width ? c->image.width : 1);
    int grid = tokens > 1 && tokens <= MOST_TOKENS ? (int)lround(sqrt((double)(tokens - 1))) : 0;
    if (grid < 1 || (int64_t)grid * grid + 1 != tokens)
        return bad_shape(pos, "a class token and a square grid");
    m->grid = grid;
    c->image_size = grid * c->patch;
    return tower_shapes(m, &c->image, &m->image);
}

static int text_shapes(struct model *m)
{
    struct found f;
    struct clip_config *c = &m->config;
    const struct weight *table = tensor_of(m, &m->text, ROLE_TABLE, &f);
    if (table->rank != 2 || table->dim[0] < 1 || table->dim[0] > MOST_VOCAB ||
        table->dim[1] > MOST_WIDTH)
        return bad_shape(table, "a token table [vocabulary, width]");
    c->vocab = (int)table->dim[0];
    c->text.width = (int)table->dim[1];
    const struct weight *pos = tensor_of(m, &m->text, ROLE_POS, &f);
    if (!pos) return err_set(ERR_INPUT, "tensor %s is missing", f.name);
    if (pos->rank < 2 || pos->dim[pos->rank - 2] < 2 || pos->dim[pos->rank - 2] > MOST_TOKENS)
        return bad_shape(pos, "a position table [context, width]");
    c->context = (int)pos->dim[pos->rank - 2];
    return tower_shapes(m, &c->text, &m->text);
}

/* ---- both together ---- */

static int agree(const struct model *m, const char *what, int said, int found)
{
    if (!said || said == found) return 0;
    return err_set(ERR_INPUT, "%s says %s %d, but the tensors have %d: they do not belong together",
                   *m->said.shape_from ? m->said.shape_from : "the name", what, said, found);
}

/* 64 wide heads everywhere, but for the three big image towers. */
static int usual_heads(enum side side, int width)
{
    if (side == SIDE_IMAGE && width == 1280) return 16;
    if (side == SIDE_IMAGE && width == 1408) return 16;
    if (side == SIDE_IMAGE && width == 1664) return 16;
    if (side == SIDE_IMAGE && width == 1792) return 16;
    return width / 64;
}

static int resolve_tower(const struct model *m, struct tower_config *c, const struct tower_said *s,
                         enum side side)
{
    int rc = agree(m, "width", s->width, c->width);
    if (!rc) rc = agree(m, "layers", s->layers, c->layers);
    if (!rc) rc = agree(m, "intermediate_size", s->mlp, c->mlp);
    if (rc) return rc;
    c->heads = s->heads        ? s->heads
               : s->head_width ? c->width / s->head_width
                               : usual_heads(side, c->width);
    c->eps = s->eps > 0 ? s->eps : 1e-5f;
    if (s->act >= 0 && (c->heads < 1 || c->width % c->heads)) /* else check_act speaks first */
        return err_set(ERR_INPUT,
                       "width %d does not divide into %d heads; the configuration must "
                       "say how many there are",
                       c->width, c->heads);
    c->act = s->act < 0 ? ACT_NONE : (enum act)s->act;
    return 0;
}

/* Asked last, so that inspect can tell everything else. */
static int check_act(const struct model *m)
{
    int image = !m->image.layout || m->said.image.act >= 0;
    int text = !m->text.layout || m->said.text.act >= 0;
    if (image && text) return 0;
    return err_set(ERR_USAGE,
                   "%s: nothing says which activation this model was trained with; say "
                   "--activation quick_gelu (OpenAI, MetaCLIP, DFN) or --activation gelu (LAION, "
                   "DataComp), or put its open_clip_config.json or config.json beside it",
                   m->files.weights);
}

static int resolve_size(struct model *m, int asked)
{
    struct clip_config *c = &m->config;
    if (m->said.image_size) c->image_size = m->said.image_size;
    if (asked) c->image_size = asked;
    if (c->image_size < c->patch || c->image_size % c->patch || c->image_size > 1 << 14)
        return err_set(ERR_USAGE, "image size %d is not a multiple of the patch size %d",
                       c->image_size, c->patch);
    if (c->image_size / c->patch > 255)
        return err_set(ERR_USAGE, "image size %d makes more than 65025 patches", c->image_size);
    c->prep = m->said.prep;
    c->prep.size = c->image_size;
    if (asked || c->prep.resize < c->image_size) c->prep.resize = 0;
    if (!m->said.prep_known && m->image.layout && !strcmp(m->family, "HF transformers"))
        c->prep.floor_crop = c->prep.rgb_first = c->prep.over_white = 1;
    for (int i = 0; i < 3; i++)
        if (!(c->prep.std[i] > 0)) return err_set(ERR_INPUT, "a std of 0 in the preprocessing");
    return 0;
}

static void read_scale(struct model *m)
{
    const struct weight *s = names_scale(m->weights, m->text.layout ? &m->text : &m->image);
    float v = 0;
    if (s && s->count == 1 && !weights_read_f32(&v, s) && isfinite(v))
        m->config.logit_scale = expf(v);
}

static int resolve(struct model *m, const struct clip_ask *ask)
{
    struct clip_config *c = &m->config;
    int rc = 0;
    if (m->image.layout) {
        if (!rc) rc = image_shapes(m);
        if (!rc) rc = agree(m, "patch_size", m->said.patch, c->patch);
        if (!rc) rc = resolve_tower(m, &c->image, &m->said.image, SIDE_IMAGE);
        if (!rc) rc = resolve_size(m, ask->image_size);
    }
    if (!rc && m->text.layout) {
        rc = text_shapes(m);
        if (!rc) rc = agree(m, "vocab_size", m->said.vocab, c->vocab);
        if (!rc) rc = resolve_tower(m, &c->text, &m->said.text, SIDE_TEXT);
    }
    /* A tower saved alone may have been saved without its projection; a pair has both. */
    int pair = m->image.layout && m->text.layout;
    if (!rc && pair && c->image.projected != c->text.projected)
        rc = err_set(ERR_INPUT, "one tower has a projection and the other has none");
    if (!rc && (pair || c->image.projected || c->text.projected))
        rc = agree(m, "embed_dim", m->said.embed, c->embed);
    read_scale(m);
    return rc || ask->config_only ? rc : check_act(m);
}

/* What the file seems to be instead. */
static int not_a_clip(const struct model *m)
{
    struct str some = {0};
    size_t n = weights_count(m->weights);
    for (size_t i = 0; i < n && i < 4; i++)
        str_printf(&some, "%s%s", i ? ", " : "", weights_at(m->weights, i)->name);
    int rc = err_set(ERR_INPUT,
                     "%s: not a CLIP this program knows (OpenAI, open_clip, HF "
                     "transformers or timm ViT): a %s file of %zu tensors: %s%s",
                     m->files.weights, weights_format(m->weights), n, n ? some.p : "none",
                     n > 4 ? ", ..." : "");
    str_release(&some);
    return rc;
}

int model_open(struct model *m, const struct clip_ask *ask)
{
    *m = (struct model){0};
    int rc = model_find(&m->files, ask->model, ask->model_dir);
    if (!rc) rc = weights_open(&m->weights, m->files.weights);
    if (rc) return rc;
    names_tower(&m->image, m->weights, SIDE_IMAGE);
    names_tower(&m->text, m->weights, SIDE_TEXT);
    m->family = names_family(m->weights, &m->image, &m->text);
    if (!m->image.layout && !m->text.layout) return not_a_clip(m);
    m->config.openai = names_is_openai(m->weights);
    if ((rc = gather(m, ask))) return rc;
    if ((rc = resolve(m, ask)) && rc != ERR_USAGE) rc = err_wrap(rc, "%s", m->files.weights);
    return rc;
}

void model_close(struct model *m)
{
    weights_close(m->weights);
    model_files_release(&m->files);
    *m = (struct model){0};
}

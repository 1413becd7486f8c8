/* config.c - configuration files of open_clip, HF transformers and timm.
 * Each is read for the few keys that matter here; a key that would change the arithmetic in a
 * way we do not compute is an error, never ignored. */
#include "model/config.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "io/file.h"
#include "nn/layers.h"

enum { CONFIG_MAX = 4 << 20, SIZE_MAX_SAID = 1 << 20 };

void prep_default(struct prep *p)
{
    *p = (struct prep){.mean = {0.48145466f, 0.4578275f, 0.40821073f},
                       .std = {0.26862954f, 0.26130258f, 0.27577711f}};
}

void clip_said_init(struct clip_said *s)
{
    *s = (struct clip_said){.image.act = -1, .text.act = -1};
    prep_default(&s->prep);
}

/* An integer key into *to when present; sizes are bounded so that products cannot overflow. */
static int get_int(int *to, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (json_is_array(v) && json_array_size(v) == 2 &&
        json_integer_value(json_array_get(v, 0)) == json_integer_value(json_array_get(v, 1)))
        v = json_array_get(v, 0);
    if (!v || json_is_null(v)) return 0;
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v) || n < 0 || n > SIZE_MAX_SAID)
        return err_set(ERR_INPUT, "%s is not a size this program can use", key);
    *to = (int)n;
    return 0;
}

static void get_float(float *to, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (json_is_number(v)) *to = (float)json_number_value(v);
}

static int get_act(int *to, const char *name)
{
    enum act a;
    int rc = act_parse(&a, name);
    if (rc) return rc;
    *to = (int)a;
    return 0;
}

static int get_triple(float to[3], const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!v || json_is_null(v)) return 0;
    for (size_t i = 0; i < 3; i++) {
        const json_t *x = json_is_array(v) ? json_array_get(v, i) : v;
        if (!json_is_number(x)) return err_set(ERR_INPUT, "%s is not three numbers", key);
        to[i] = (float)json_number_value(x);
        if (!isfinite(to[i])) return err_set(ERR_INPUT, "%s is not three numbers", key);
    }
    return 0;
}

static int get_filter(struct prep *p, const char *name)
{
    if (str_same(name, "bicubic"))
        p->filter = FILTER_BICUBIC;
    else if (str_same(name, "bilinear"))
        p->filter = FILTER_BILINEAR;
    else
        return err_set(ERR_INPUT, "interpolation \"%s\" is not known: bicubic or bilinear", name);
    return 0;
}

/* Keys that must keep their plain value for the towers here to be the right arithmetic. */
static int refuse(const json_t *o, const char *const *keys)
{
    for (; *keys; keys++) {
        const json_t *v = json_object_get(o, *keys);
        if (!v || json_is_null(v) || json_is_false(v)) continue;
        if (json_is_object(v) && !json_object_size(v)) continue;
        if (json_is_number(v) && json_number_value(v) == 0) continue;
        return err_set(ERR_INPUT, "%s is set: not a plain CLIP ViT, this program cannot run it",
                       *keys);
    }
    return 0;
}

static int must_be(const json_t *o, const char *key, const char *a, const char *b)
{
    const json_t *v = json_object_get(o, key);
    const char *s = json_string_value(v);
    if (!v || json_is_null(v) || (s && (!strcmp(s, a) || !strcmp(s, b)))) return 0;
    return err_set(ERR_INPUT, "%s is \"%s\", this program runs \"%s\" only", key, s ? s : "?", a);
}

/* ---- open_clip ---- */

static int open_clip_tower(struct tower_said *t, const json_t *o)
{
    static const char *const strange[] = {
        "ls_init_value",      "attentional_pool", "final_ln_after_pool", "qk_norm",  "scale_heads",
        "scaled_cosine_attn", "scale_attn_inner", "scale_attn",          "scale_fc", "act_kwargs",
        "embed_cls",          "no_causal_mask",   "hf_model_name",       NULL};
    const json_t *eps = json_object_get(json_object_get(o, "norm_kwargs"), "eps");
    int rc = refuse(o, strange);
    if (!rc) rc = get_int(&t->width, o, "width");
    if (!rc) rc = get_int(&t->heads, o, "heads");
    if (!rc) rc = get_int(&t->head_width, o, "head_width");
    if (!rc && json_is_array(json_object_get(o, "layers")))
        rc = err_set(ERR_INPUT, "layers is a list: a ResNet CLIP, this program runs ViTs only");
    if (!rc) rc = get_int(&t->layers, o, "layers");
    get_float(&t->mlp_ratio, o, "mlp_ratio");
    if (json_is_number(eps)) t->eps = (float)json_number_value(eps);
    return rc;
}

/* A timm trunk has its own defaults; its name tells activation and epsilon. */
static int timm_name(struct clip_said *s, const char *name)
{
    if (!strstr(name, "vit_"))
        return err_set(ERR_INPUT, "architecture \"%s\" is not a ViT, this program runs ViTs only",
                       name);
    s->image.act = strstr(name, "quickgelu") ? ACT_QUICK_GELU : ACT_GELU;
    s->image.eps = strstr(name, "clip") ? 1e-5f : 1e-6f;
    if (strstr(name, "_huge_")) s->image.head_width = 80;
    if (strstr(name, "_giant_")) s->image.head_width = 88;
    if (strstr(name, "_gigantic_")) s->image.head_width = 104;
    return 0;
}

static int open_clip_model(struct clip_said *s, const json_t *o)
{
    const json_t *v = json_object_get(o, "vision_cfg"), *t = json_object_get(o, "text_cfg");
    const char *trunk = json_string_value(json_object_get(v, "timm_model_name"));
    int quick = json_is_true(json_object_get(o, "quick_gelu"));
    s->image.act = s->text.act = quick ? ACT_QUICK_GELU : ACT_GELU;
    s->image.eps = s->text.eps = 1e-5f;
    int rc = json_object_get(o, "multimodal_cfg") &&
                     json_object_size(json_object_get(o, "multimodal_cfg"))
                 ? err_set(ERR_INPUT, "multimodal_cfg: a CoCa, this program runs CLIP only")
                 : get_int(&s->embed, o, "embed_dim");
    if (!rc && v) rc = open_clip_tower(&s->image, v);
    if (!rc && v) rc = must_be(v, "pool_type", "tok", "tok");
    if (!rc && trunk) rc = timm_name(s, trunk);
    if (!rc && trunk) rc = must_be(v, "timm_pool", "token", "");
    if (!rc && trunk) rc = must_be(v, "timm_proj", "linear", "");
    if (!rc && v) rc = get_int(&s->image_size, v, "image_size");
    if (!rc && v) rc = get_int(&s->patch, v, "patch_size");
    if (!rc && t) rc = open_clip_tower(&s->text, t);
    if (!rc && t) rc = must_be(t, "pool_type", "argmax", "eos");
    if (!rc && t) rc = get_int(&s->context, t, "context_length");
    if (!rc && t) rc = get_int(&s->vocab, t, "vocab_size");
    return rc;
}

static int open_clip_prep(struct clip_said *s, const json_t *o)
{
    const char *how = json_string_value(json_object_get(o, "interpolation"));
    const char *fit = json_string_value(json_object_get(o, "resize_mode"));
    int rc = get_triple(s->prep.mean, o, "mean");
    if (!rc) rc = get_triple(s->prep.std, o, "std");
    if (!rc && how) rc = get_filter(&s->prep, how);
    if (!rc && fit) {
        if (!strcmp(fit, "shortest"))
            s->prep.fit = FIT_CROP;
        else if (!strcmp(fit, "squash"))
            s->prep.fit = FIT_SQUASH;
        else
            rc = err_set(ERR_INPUT, "resize_mode \"%s\" is not known: shortest or squash", fit);
    }
    s->prep_known = 1;
    return rc;
}

/* ---- HF transformers ---- */

static int hf_tower(struct tower_said *t, const json_t *o)
{
    const char *act = json_string_value(json_object_get(o, "hidden_act"));
    int rc = get_int(&t->width, o, "hidden_size");
    if (!rc) rc = get_int(&t->layers, o, "num_hidden_layers");
    if (!rc) rc = get_int(&t->heads, o, "num_attention_heads");
    if (!rc) rc = get_int(&t->mlp, o, "intermediate_size");
    /* Old configurations leave out what equals the library's defaults. */
    if (!rc) rc = get_act(&t->act, act ? act : "quick_gelu");
    t->eps = 1e-5f;
    get_float(&t->eps, o, "layer_norm_eps");
    return rc;
}

static int hf_model(struct clip_said *s, const json_t *o, const char *type)
{
    const json_t *v = json_object_get(o, "vision_config"), *t = json_object_get(o, "text_config");
    if (!strcmp(type, "clip_vision_model"))
        v = o, t = NULL;
    else if (!strcmp(type, "clip_text_model"))
        t = o, v = NULL;
    else if (strcmp(type, "clip"))
        return err_set(ERR_INPUT,
                       "model_type \"%s\" is not a CLIP (clip, clip_vision_model or "
                       "clip_text_model)",
                       type);
    int rc = 0;
    if (v) {
        s->patch = 32, s->image_size = 224; /* the library's defaults */
        rc = hf_tower(&s->image, v);
        if (!rc && !s->image.heads) s->image.heads = 12;
        if (!rc) rc = get_int(&s->patch, v, "patch_size");
        if (!rc) rc = get_int(&s->image_size, v, "image_size");
    }
    if (!rc && t) {
        rc = hf_tower(&s->text, t);
        if (!rc && !s->text.heads) s->text.heads = 8;
        if (!rc) rc = get_int(&s->context, t, "max_position_embeddings");
        if (!rc) rc = get_int(&s->vocab, t, "vocab_size");
    }
    if (!rc) rc = get_int(&s->embed, o, "projection_dim");
    if (!s->prep_known) s->prep.floor_crop = s->prep.rgb_first = s->prep.over_white = 1;
    return rc;
}

/* {"shortest_edge": n}, {"height": n, "width": n} or n. *both: height and width were given. */
static int hf_size(int *size, int *both, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    int h = 0, w = 0;
    *both = 0;
    if (!json_is_object(v)) return get_int(size, o, key);
    if (json_object_get(v, "shortest_edge")) return get_int(size, v, "shortest_edge");
    int rc = get_int(&h, v, "height");
    if (!rc) rc = get_int(&w, v, "width");
    if (!rc && (h != w || !h))
        rc = err_set(ERR_INPUT, "%s is %d x %d, this program runs square pictures only", key, h, w);
    *size = h;
    *both = 1;
    return rc;
}

static int off(const json_t *o, const char *key)
{
    return json_is_false(json_object_get(o, key));
}

static int hf_prep(struct clip_said *s, const json_t *o)
{
    enum { PIL_BILINEAR = 2, PIL_BICUBIC = 3 };
    int size = 0, crop = 0, both = 0, crop_both = 0, resample = PIL_BICUBIC;
    struct prep *p = &s->prep;
    if (off(o, "do_resize") || off(o, "do_rescale") || off(o, "do_normalize"))
        return err_set(ERR_INPUT, "do_resize, do_rescale or do_normalize is off: not what a CLIP "
                                  "tower was trained on");
    int rc = get_triple(p->mean, o, "image_mean");
    if (!rc) rc = get_triple(p->std, o, "image_std");
    if (!rc) rc = get_int(&resample, o, "resample");
    if (!rc && resample != PIL_BILINEAR && resample != PIL_BICUBIC)
        rc = err_set(ERR_INPUT, "resample %d is not known: 2 (bilinear) or 3 (bicubic)", resample);
    if (!rc) rc = hf_size(&size, &both, o, "size");
    if (!rc) rc = hf_size(&crop, &crop_both, o, "crop_size");
    if (rc) return rc;
    p->filter = resample == PIL_BILINEAR ? FILTER_BILINEAR : FILTER_BICUBIC;
    p->fit = both ? FIT_SQUASH : FIT_CROP;
    if (off(o, "do_center_crop") && !both)
        return err_set(ERR_INPUT, "do_center_crop is off and size is not height and width: the "
                                  "pictures would not be square");
    int cropped = !off(o, "do_center_crop") && crop;
    if (cropped && (size < crop || (both && size != crop)))
        return err_set(ERR_INPUT, "size %d and crop_size %d do not go together", size, crop);
    p->resize = cropped && size > crop ? size : 0;
    p->floor_crop = p->rgb_first = p->over_white = 1;
    if (size) s->image_size = cropped ? crop : size;
    s->prep_known = 1;
    return 0;
}

/* ---- timm ---- */

static int timm_model(struct clip_said *s, const json_t *o, const char *arch)
{
    const json_t *c = json_object_get(o, "pretrained_cfg");
    if (!c) c = o;
    const char *how = json_string_value(json_object_get(c, "interpolation"));
    const char *mode = json_string_value(json_object_get(c, "crop_mode"));
    const char *pool = json_string_value(json_object_get(o, "global_pool"));
    const json_t *input = json_object_get(c, "input_size");
    int rc = timm_name(s, arch);
    if (!rc && pool && *pool && strcmp(pool, "token"))
        rc = err_set(ERR_INPUT, "global_pool is \"%s\", this program runs \"token\" only", pool);
    if (!rc) rc = get_int(&s->image.heads, json_object_get(o, "model_args"), "num_heads");
    if (!rc) rc = get_triple(s->prep.mean, c, "mean");
    if (!rc) rc = get_triple(s->prep.std, c, "std");
    if (!rc && how) rc = get_filter(&s->prep, how);
    if (mode && !strcmp(mode, "squash")) s->prep.fit = FIT_SQUASH;
    if (json_array_size(input) == 3) {
        json_int_t n = json_integer_value(json_array_get(input, 1));
        if (n > 0 && n <= SIZE_MAX_SAID) s->image_size = (int)n;
    }
    double part = json_number_value(json_object_get(c, "crop_pct"));
    if (part > 0.1 && part < 1 && s->prep.fit == FIT_CROP && s->image_size)
        s->prep.resize = (int)floor(s->image_size / part);
    s->prep_known = 1;
    return rc;
}

/* ---- telling them apart ---- */

static int read_root(struct clip_said *s, const json_t *o)
{
    const json_t *model = json_object_get(o, "model_cfg");
    const json_t *prep = json_object_get(o, "preprocess_cfg");
    const char *type = json_string_value(json_object_get(o, "model_type"));
    const char *arch = json_string_value(json_object_get(o, "architecture"));
    int rc = 0;
    if (model) {
        rc = open_clip_model(s, model);
        return rc || !prep ? rc : open_clip_prep(s, prep);
    }
    if (json_object_get(o, "vision_cfg")) return open_clip_model(s, o);
    if (json_object_get(o, "image_mean") || json_object_get(o, "do_normalize"))
        return hf_prep(s, o);
    if (arch) return timm_model(s, o, arch);
    if (type) return hf_model(s, o, type);
    return err_set(ERR_INPUT, "not a configuration of open_clip, HF CLIP or timm");
}

int config_read(struct clip_said *s, const char *path)
{
    struct str text = {0};
    json_error_t bad;
    json_t *o = NULL;
    int had_prep = s->prep_known, had_act = s->image.act * 16 + s->text.act;
    int rc = file_read(&text, path, CONFIG_MAX);
    if (rc) goto done;
    o = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, &bad);
    rc = json_is_object(o) ? read_root(s, o)
                           : err_set(ERR_INPUT, "not a JSON object (line %d)", o ? 1 : bad.line);
    if (rc) rc = err_wrap(rc, "%s", path);
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    if (s->prep_known && (!had_prep || json_object_get(o, "image_mean")))
        snprintf(s->prep_from, sizeof s->prep_from, "%s", base);
    if (had_act != s->image.act * 16 + s->text.act || !*s->act_from)
        if (s->image.act >= 0 || s->text.act >= 0)
            snprintf(s->act_from, sizeof s->act_from, "%s", base);
    snprintf(s->shape_from, sizeof s->shape_from, "%s", base);
done:
    json_decref(o);
    str_release(&text);
    return rc;
}

static void print_tower(struct str *out, const char *name, const struct tower_config *t)
{
    str_printf(out, " %s %d/%d/%d/%d %s eps %g%s", name, t->width, t->layers, t->heads, t->mlp,
               act_name(t->act), (double)t->eps, t->projected ? "" : " unprojected");
}

void config_print(struct str *out, const struct clip_config *c)
{
    const struct prep *p = &c->prep;
    str_printf(out, "clip %d", c->embed);
    if (c->image.layers) {
        print_tower(out, "image", &c->image);
        str_printf(out, " size %d patch %d%s", c->image_size, c->patch, c->pre_norm ? " pre" : "");
        if (p->resize) str_printf(out, " resize %d", p->resize);
        str_printf(out, " prep %s %s%s%s", p->fit == FIT_SQUASH ? "squash" : "crop",
                   p->filter == FILTER_BILINEAR ? "bilinear" : "bicubic",
                   p->floor_crop ? " floor" : "",
                   p->rgb_first ? p->over_white ? " rgb-first over-white" : " rgb-first" : "");
        for (int i = 0; i < 3; i++)
            str_printf(out, " %.9g/%.9g", (double)p->mean[i], (double)p->std[i]);
    }
    if (c->text.layers) {
        print_tower(out, "text", &c->text);
        str_printf(out, " context %d vocab %d", c->context, c->vocab);
    }
}

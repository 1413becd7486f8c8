/* inspect.c - what a model file is, in words or JSON: the answer to "will this run, and as what".
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "model/load.h"

/* What there is to tell; the two printers only differ in form. */
struct report {
    const struct model *m;
    const char *problem; /* NULL: it runs */
    struct str missing, misshapen, strange, unused, stubs, types;
};

/* "f16 x 62, f32 x 300" */
static void count_types(struct str *out, const struct weights *w)
{
    size_t n[WEIGHT_DTYPES] = {0};
    for (size_t i = 0; i < weights_count(w); i++) n[weights_at(w, i)->dtype]++;
    for (int t = 0; t < WEIGHT_DTYPES; t++)
        if (n[t]) str_printf(out, "%s%s x %zu", out->len ? ", " : "", weight_type(t), n[t]);
}

static const char *prep_from(const struct model *m)
{
    return *m->said.prep_from ? m->said.prep_from : "CLIP's default";
}

/* ---- text ---- */

static void line_tower(struct str *out, const char *name, const struct tower_config *t)
{
    if (!t->layers)
        str_printf(out, "%-14s none\n", name);
    else
        str_printf(out, "%-14s width %d, %d blocks, %d heads of %d, MLP %d, norm eps %g%s\n", name,
                   t->width, t->layers, t->heads, t->heads ? t->width / t->heads : 0, t->mlp,
                   (double)t->eps, t->projected ? "" : ", no projection");
}

static void line_list(struct str *out, const char *name, const struct str *lines)
{
    int n = 0;
    for (const char *p = lines->p; p && *p; p++) n += *p == '\n';
    if (!n) return;
    str_printf(out, "%-14s %d\n", name, n);
    for (const char *p = lines->p; *p;) {
        size_t len = strcspn(p, "\n");
        str_printf(out, "  %.*s\n", (int)len, p);
        p += len + (p[len] == '\n');
    }
}

static void line_prep(struct str *out, const struct model *m)
{
    const struct prep *p = &m->config.prep;
    str_printf(out, "%-14s %d px, %s, %s%s, mean %g %g %g, std %g %g %g (%s)\n", "preparation",
               p->size, p->fit == FIT_SQUASH ? "squashed" : "shortest side and centre crop",
               p->filter == FILTER_BILINEAR ? "bilinear" : "bicubic",
               p->rgb_first ? ", as the HF processor" : "", (double)p->mean[0], (double)p->mean[1],
               (double)p->mean[2], (double)p->std[0], (double)p->std[1], (double)p->std[2],
               prep_from(m));
}

static void print_text(struct str *out, const struct report *r)
{
    const struct model *m = r->m;
    const struct clip_config *c = &m->config;
    if (m->files.weights) str_printf(out, "%-14s %s\n", "weights", m->files.weights);
    if (m->weights) {
        str_printf(out, "%-14s %s, %zu tensors, %lld numbers (%s)\n", "format",
                   weights_format(m->weights), weights_count(m->weights),
                   (long long)weights_parameters(m->weights), r->types.p ? r->types.p : "none");
        str_printf(out, "%-14s %s\n", "family", m->family);
    }
    if (c->image.layers || c->text.layers) {
        const char *arch = registry_arch_of(c);
        str_printf(out, "%-14s %s, embeddings of %d\n", "architecture",
                   arch ? arch : "its own size", c->embed);
        line_tower(out, "image tower", &c->image);
        if (c->image.layers)
            str_printf(out, "%-14s %d px in patches of %d%s\n", "pictures", c->image_size, c->patch,
                       m->grid * c->patch != c->image_size ? ", positions resized" : "");
        line_tower(out, "text tower", &c->text);
        if (c->text.layers)
            str_printf(out, "%-14s context %d, vocabulary %d\n", "captions", c->context, c->vocab);
        if (m->said.image.act >= 0 || m->said.text.act >= 0)
            str_printf(out, "%-14s %s (%s)\n", "activation",
                       act_name(c->image.layers ? c->image.act : c->text.act), m->said.act_from);
        if (c->image.layers && c->prep.size) line_prep(out, m);
        if (c->logit_scale > 0)
            str_printf(out, "%-14s %g\n", "logit scale", (double)c->logit_scale);
        str_printf(out, "%-14s %s\n", "vocabulary", m->files.vocab ? m->files.vocab : "none found");
    }
    line_list(out, "missing", &r->missing);
    line_list(out, "misshapen", &r->misshapen);
    line_list(out, "not known", &r->strange);
    line_list(out, "unused", &r->unused);
    line_list(out, "not understood", &r->stubs);
    if (r->problem) str_printf(out, "%-14s %s\n", "problem", r->problem);
}

/* ---- JSON ---- */

static json_t *json_lines(const struct str *lines)
{
    json_t *a = json_array();
    for (const char *p = lines->p; p && *p;) {
        size_t len = strcspn(p, "\n");
        json_array_append_new(a, json_stringn(p, len));
        p += len + (p[len] == '\n');
    }
    return a;
}

static json_t *json_tower(const struct tower_config *t)
{
    if (!t->layers) return json_null();
    return json_pack("{s:i,s:i,s:i,s:i,s:s,s:f,s:b}", "width", t->width, "layers", t->layers,
                     "heads", t->heads, "mlp", t->mlp, "activation", act_name(t->act), "eps",
                     (double)t->eps, "projected", t->projected);
}

static json_t *json_prep(const struct prep *p, const char *from)
{
    return json_pack("{s:i,s:s,s:s,s:b,s:b,s:[fff],s:[fff],s:s}", "size", p->size, "fit",
                     p->fit == FIT_SQUASH ? "squash" : "shortest", "interpolation",
                     p->filter == FILTER_BILINEAR ? "bilinear" : "bicubic", "floor_crop",
                     p->floor_crop, "rgb_first", p->rgb_first, "mean", (double)p->mean[0],
                     (double)p->mean[1], (double)p->mean[2], "std", (double)p->std[0],
                     (double)p->std[1], (double)p->std[2], "from", from);
}

static void print_json(struct str *out, const struct report *r)
{
    const struct model *m = r->m;
    const struct clip_config *c = &m->config;
    const char *arch = m->weights && c->embed ? registry_arch_of(c) : NULL;
    json_t *o = json_pack(
        "{s:s?,s:s?,s:s?,s:s?,s:I,s:I,s:s?}", "weights", m->files.weights, "format",
        m->weights ? weights_format(m->weights) : NULL, "family", m->family, "architecture", arch,
        "tensors", (json_int_t)(m->weights ? weights_count(m->weights) : 0), "parameters",
        (json_int_t)(m->weights ? weights_parameters(m->weights) : 0), "types", r->types.p);
    if (!o) return;
    json_object_set_new(o, "image", json_tower(&c->image));
    json_object_set_new(o, "text", json_tower(&c->text));
    json_object_set_new(o, "embed", json_integer(c->embed));
    if (c->image.layers) {
        json_object_set_new(o, "image_size", json_integer(c->image_size));
        json_object_set_new(o, "patch", json_integer(c->patch));
        json_object_set_new(o, "preparation", json_prep(&c->prep, prep_from(m)));
    }
    if (c->text.layers) {
        json_object_set_new(o, "context", json_integer(c->context));
        json_object_set_new(o, "vocabulary_size", json_integer(c->vocab));
    }
    if (c->image.layers || c->text.layers) {
        json_object_set_new(o, "activation",
                            json_string(act_name(c->image.layers ? c->image.act : c->text.act)));
        json_object_set_new(o, "activation_from", json_string(m->said.act_from));
    }
    json_object_set_new(o, "vocabulary",
                        m->files.vocab ? json_string(m->files.vocab) : json_null());
    json_object_set_new(o, "missing", json_lines(&r->missing));
    json_object_set_new(o, "misshapen", json_lines(&r->misshapen));
    json_object_set_new(o, "not_known", json_lines(&r->strange));
    json_object_set_new(o, "unused", json_lines(&r->unused));
    json_object_set_new(o, "not_understood", json_lines(&r->stubs));
    json_object_set_new(o, "problem", r->problem ? json_string(r->problem) : json_null());
    char *text = json_dumps(o, JSON_COMPACT);
    str_puts(out, text ? text : "{}");
    str_putc(out, '\n');
    free(text);
    json_decref(o);
}

/* ---- */

int clip_describe(struct str *out, int *usable, const struct clip_ask *ask, int json)
{
    struct model m;
    struct report r = {.m = &m};
    char *problem = NULL;
    int rc = model_open(&m, ask);
    if (rc) problem = mem_strdup(err_text());
    if (m.weights) {
        count_types(&r.types, m.weights);
        for (size_t i = 0; i < weights_stub_count(m.weights); i++) {
            const struct weight_note *s = weights_stub_at(m.weights, i);
            str_printf(&r.stubs, "%s: %s\n", s->key, s->text);
        }
    }
    if (!rc && model_problems(&m, &r.missing, &r.misshapen, &r.strange, &r.unused))
        problem = mem_strdup("the towers are not complete, or hold what this program cannot run");
    r.problem = problem;
    *usable = !problem;
    int seen = m.weights != NULL;
    if (seen && json)
        print_json(out, &r);
    else if (seen)
        print_text(out, &r);
    struct str *lists[] = {&r.missing, &r.misshapen, &r.strange, &r.unused, &r.stubs, &r.types};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) str_release(lists[i]);
    model_close(&m);
    if (!seen) err_set(rc, "%s", problem); /* there is no file to describe */
    free(problem);
    return seen ? 0 : rc;
}

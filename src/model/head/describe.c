/* describe.c - a head described by a small JSON: the steps in order, each naming its tensors
 * (docs/heads.md). What is not understood is an error that names the key: a step that is ignored
 * would give other scores. */
#include "model/head/read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "nn/layers.h"

enum { STEPS_MAX = 1024 };

static int bad_key(const char *where, const char *key, const char *const *known_keys)
{
    const char *near = str_nearest(key, known_keys);
    struct str all = {0};
    for (int i = 0; known_keys[i]; i++) str_printf(&all, "%s%s", i ? ", " : "", known_keys[i]);
    int rc = err_set(ERR_INPUT, "%s has no key \"%.60s\"%s%s%s; it has %s", where, key,
                     near ? ", did you mean \"" : "", near ? near : "", near ? "\"" : "", all.p);
    str_release(&all);
    return rc;
}

static int only_keys(const json_t *o, const char *where, const char *const *known_keys)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)o, key, v)
    {
        int found = 0;
        for (int i = 0; known_keys[i]; i++) found |= !strcmp(key, known_keys[i]);
        if (!found) return bad_key(where, key, known_keys);
    }
    return 0;
}

/* Optional values: absent leaves *to alone. */
static int get_number(double *to, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!v) return 0;
    if (!json_is_number(v) || !isfinite(json_number_value(v)))
        return err_set(ERR_INPUT, "\"%s\" is not a number", key);
    *to = json_number_value(v);
    return 0;
}

static int get_eps(double *to, const json_t *o)
{
    int rc = get_number(to, o, "eps");
    return rc || *to >= 0 ? rc : err_set(ERR_INPUT, "\"eps\" is negative");
}

static int get_bool(int *to, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    if (!v) return 0;
    if (!json_is_boolean(v)) return err_set(ERR_INPUT, "\"%s\" is not true or false", key);
    *to = json_is_true(v);
    return 0;
}

/* The tensor that a key names. *to is NULL when the key is absent. */
static int get_tensor(const struct weight **to, struct reader *r, const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);
    *to = NULL;
    if (!v) return 0;
    if (!json_is_string(v)) return err_set(ERR_INPUT, "\"%s\" is not the name of a tensor", key);
    *to = read_find(r, json_string_value(v), "");
    return *to ? 0 : read_missing(r);
}

static int json_linear(struct reader *r, const json_t *v)
{
    static const char *const keys[] = {"weight", "bias", "transposed", NULL};
    const struct weight *w, *b;
    int transposed = 0;
    if (json_is_string(v)) return read_linear(r, json_string_value(v));
    if (!json_is_object(v))
        return err_set(ERR_INPUT, "\"linear\" takes a name, or {\"weight\": ..., \"bias\": ...}");
    int rc = only_keys(v, "\"linear\"", keys);
    if (!rc) rc = get_tensor(&w, r, v, "weight");
    if (!rc) rc = get_tensor(&b, r, v, "bias");
    if (!rc) rc = get_bool(&transposed, v, "transposed");
    if (!rc && !w) rc = err_set(ERR_INPUT, "\"linear\" names no \"weight\"");
    return rc ? rc : read_dense(r, w, b, transposed);
}

static int json_statistics(struct reader *r, const json_t *v)
{
    static const char *const keys[] = {"mean", "variance", "std", "eps", NULL};
    const struct weight *mean, *variance, *std;
    double eps = 0;
    if (!json_is_object(v))
        return err_set(ERR_INPUT,
                       "\"statistics\" takes {\"mean\": ..., \"variance\": ...} or \"std\"");
    int rc = only_keys(v, "\"statistics\"", keys);
    if (!rc) rc = get_tensor(&mean, r, v, "mean");
    if (!rc) rc = get_tensor(&variance, r, v, "variance");
    if (!rc) rc = get_tensor(&std, r, v, "std");
    if (!rc) rc = get_eps(&eps, v);
    if (!rc && (!mean || !variance == !std))
        rc = err_set(ERR_INPUT, "\"statistics\" names \"mean\" and one of \"variance\", \"std\"");
    return rc ? rc : read_statistics(r, mean, variance ? variance : std, !variance, eps);
}

static int json_activation(struct reader *r, const char *name)
{
    enum act act;
    if (!r->net->count)
        return err_set(ERR_INPUT, "the first step is \"%.60s\", it must be one with weights", name);
    if (str_same(name, "tanh")) return head_net_tanh(r->net);
    if (str_same(name, "dropout") || str_same(name, "identity")) return 0;
    if (act_parse(&act, name))
        return err_set(ERR_INPUT,
                       "unknown step \"%.60s\": relu, gelu, quick_gelu, silu, sigmoid, tanh, "
                       "identity, dropout, or an object",
                       name);
    return head_net_act(r->net, act);
}

/* {"linear": ...}, {"batchnorm": name, "eps": e}, ... : one kind, and what belongs to it. */
static int json_step(struct reader *r, const json_t *v)
{
    static const char *const plain[] = {"linear", "statistics", "batchnorm", "layernorm", NULL};
    static const char *const norm[] = {"batchnorm", "layernorm", "eps", NULL};
    const json_t *linear = json_object_get(v, "linear"), *mean = json_object_get(v, "statistics");
    const json_t *batch = json_object_get(v, "batchnorm"), *layer = json_object_get(v, "layernorm");
    double eps = 1e-5; /* torch's default for both */
    int kinds = !!linear + !!mean + !!batch + !!layer;
    if (json_is_string(v)) return json_activation(r, json_string_value(v));
    if (!json_is_object(v)) return err_set(ERR_INPUT, "it is neither a name nor an object");
    int rc = only_keys(v, "a step", batch || layer ? norm : plain);
    if (!rc && kinds != 1)
        rc = err_set(ERR_INPUT, "a step is one of linear, statistics, batchnorm, layernorm");
    if (!rc && (batch || layer) && !json_is_string(batch ? batch : layer))
        rc = err_set(ERR_INPUT, "a norm takes the name in front of its tensors");
    if (!rc) rc = get_eps(&eps, v);
    if (rc) return rc;
    if (linear) return json_linear(r, linear);
    if (mean) return json_statistics(r, mean);
    if (batch) return read_batchnorm(r, json_string_value(batch), eps);
    return read_layernorm(r, json_string_value(layer), eps);
}

static int json_output(struct head_net *n, const json_t *v)
{
    static const char *const keys[] = {"softmax", "scale", "offset", "take", NULL};
    double take = -1;
    int64_t width = head_net_out(n);
    if (v && !json_is_object(v)) return err_set(ERR_INPUT, "\"output\" is not an object");
    int rc = v ? only_keys(v, "\"output\"", keys) : 0;
    if (!rc) rc = get_bool(&n->softmax, v, "softmax");
    if (!rc) rc = get_number(&n->scale, v, "scale");
    if (!rc) rc = get_number(&n->offset, v, "offset");
    if (!rc) rc = get_number(&take, v, "take");
    if (rc) return rc;
    if (take < 0 && width > 1)
        return err_set(ERR_INPUT,
                       "it gives %lld numbers, a score is one: say which with \"output\": "
                       "{\"take\": 0}, the first being 0",
                       (long long)width);
    n->take = take < 0 ? 0 : take < (double)width ? (int64_t)take : width;
    if (n->take >= width || (take >= 0 && (double)n->take != take))
        return err_set(ERR_INPUT, "\"take\": %g, but it gives %lld numbers, the first being 0",
                       take, (long long)width);
    return 0;
}

int read_described(struct reader *r, const json_t *j)
{
    static const char *const keys[] = {"weights", "prefix", "l2_normalize", "layers", "output",
                                       "about",   NULL};
    const json_t *steps = json_object_get(j, "layers"), *prefix = json_object_get(j, "prefix");
    int unit = 1, rc = only_keys(j, "the description", keys);
    if (!rc && (!json_is_array(steps) || !json_array_size(steps)))
        rc = err_set(ERR_INPUT, "\"layers\" is not a list of steps");
    if (!rc && json_array_size(steps) > STEPS_MAX)
        rc = err_set(ERR_INPUT, "more than %d steps are no small head", STEPS_MAX);
    if (!rc && prefix && !json_is_string(prefix))
        rc = err_set(ERR_INPUT, "\"prefix\" is not a text");
    if (!rc) rc = get_bool(&unit, j, "l2_normalize");
    r->prefix = !rc && prefix ? json_string_value(prefix) : "";
    for (size_t i = 0; !rc && i < json_array_size(steps); i++) {
        rc = json_step(r, json_array_get(steps, i));
        if (rc) err_wrap(rc, "step %zu of \"layers\"", i + 1);
    }
    r->net->raw = !unit;
    snprintf(r->net->what, sizeof r->net->what, "described head");
    return rc ? rc : json_output(r->net, json_object_get(j, "output"));
}

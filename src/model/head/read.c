/* read.c - tensors to layers, and which files they come from: weights alone, weights with a
 * description beside them, or a description that names its weights. */
#include "model/head/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "io/file.h"

enum { JSON_MAX = 1 << 20, TENSORS_MAX = 4096 };

const struct weight *read_find(struct reader *r, const char *name, const char *tail)
{
    str_clear(&r->name);
    str_printf(&r->name, "%s%s%s", r->prefix, name, tail);
    const struct weight *w = weights_find(r->weights, r->name.p);
    for (size_t i = 0; w && i < weights_count(r->weights); i++)
        if (weights_at(r->weights, i) == w) r->used[i] = 1;
    return w;
}

int read_used_all(const struct reader *r)
{
    for (size_t i = 0; i < weights_count(r->weights); i++)
        if (!r->used[i]) return 0;
    return 1;
}

int read_missing(const struct reader *r)
{
    return err_set(ERR_INPUT, "there is no tensor %s", r->name.p);
}

void read_shape(struct str *s, const struct weight *w)
{
    str_putc(s, '[');
    for (int i = 0; i < w->rank; i++) str_printf(s, "%s%lld", i ? "," : "", (long long)w->dim[i]);
    str_putc(s, ']');
}

static int misshapen(const struct weight *w, const char *want)
{
    struct str s = {0};
    read_shape(&s, w);
    int rc = err_set(ERR_INPUT, "%s has the shape %s, not %s", w->name, s.p, want);
    str_release(&s);
    return rc;
}

/* All numbers of a tensor, each finite; *out is the caller's. */
static int read_numbers(double **out, const struct weight *w)
{
    int rc = 0;
    *out = NULL;
    if (w->count < 1 || w->count > HEAD_NUMBERS)
        return err_set(ERR_INPUT, "%s has %lld numbers: no small head", w->name,
                       (long long)w->count);
    float *x = mem_alloc(mem_mul((size_t)w->count, sizeof *x));
    double *y = mem_alloc(mem_mul((size_t)w->count, sizeof *y));
    rc = weights_read_f32(x, w);
    for (int64_t i = 0; i < w->count && !rc; i++) {
        if (!isfinite(x[i]))
            rc = err_set(ERR_INPUT,
                         "tensor %s holds numbers that are not finite (NaN or infinity): the file "
                         "is damaged or training diverged",
                         w->name);
        y[i] = x[i];
    }
    free(x);
    if (!rc)
        *out = y;
    else
        free(y);
    return rc;
}

/* A vector of `width` numbers; w may be [width] or [1,width]. */
static int read_vector(double **out, const struct weight *w, int64_t width)
{
    struct str want = {0};
    int rc = 0;
    *out = NULL;
    if (w->count != width || w->rank < 1 || w->dim[w->rank - 1] != width) {
        str_printf(&want, "[%lld]", (long long)width);
        rc = misshapen(w, want.p);
        str_release(&want);
    }
    return rc ? rc : read_numbers(out, w);
}

static void transpose(double **w, int64_t rows, int64_t cols)
{
    double *to = mem_alloc(mem_mul((size_t)(rows * cols), sizeof *to));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) to[j * rows + i] = (*w)[i * cols + j];
    free(*w);
    *w = to;
}

/* ---- steps ---- */

int read_dense(struct reader *r, const struct weight *weight, const struct weight *bias,
               int stored_in_out)
{
    int64_t before = head_net_out(r->net), out, in;
    double *w = NULL, *b = NULL;
    if (weight->rank != 1 && weight->rank != 2) return misshapen(weight, "[out,in]");
    out = weight->rank == 2 ? weight->dim[stored_in_out ? 1 : 0] : 1;
    in = weight->dim[weight->rank == 2 && !stored_in_out ? 1 : 0];
    if (r->net->count && in != before)
        return err_set(ERR_INPUT, "%s takes %lld numbers, but the step before it gives %lld",
                       weight->name, (long long)in, (long long)before);
    int rc = read_numbers(&w, weight);
    if (!rc && bias) rc = read_vector(&b, bias, out);
    if (rc) {
        free(w);
        return rc;
    }
    if (stored_in_out && weight->rank == 2) transpose(&w, in, out);
    return head_net_add(r->net, HEAD_DENSE, w, b, out, in);
}

int read_linear(struct reader *r, const char *name)
{
    const struct weight *w = read_find(r, name, ".weight");
    if (!w) return read_missing(r);
    return read_dense(r, w, read_find(r, name, ".bias"), 0);
}

int read_statistics(struct reader *r, const struct weight *mean, const struct weight *spread,
                    int is_std, double eps)
{
    int64_t width = r->net->count ? head_net_out(r->net) : mean->count;
    double *m, *v;
    int rc = read_vector(&m, mean, width);
    if (rc) return rc;
    rc = read_vector(&v, spread, width);
    for (int64_t i = 0; i < width && !rc; i++) {
        double d = is_std ? v[i] : sqrt(v[i] + eps);
        if (!(d > 0))
            rc = err_set(ERR_INPUT, "%s is not positive everywhere: nothing can be divided by it",
                         spread->name);
        v[i] = 1 / d;
        m[i] = -m[i] * v[i];
    }
    if (!rc) return head_net_add(r->net, HEAD_DIAGONAL, v, m, width, width);
    free(m);
    free(v);
    return rc;
}

/* gain and bias of a norm, each of which may be missing from the file. */
static int read_gains(struct reader *r, const char *name, int64_t width, double **gain,
                      double **bias)
{
    const struct weight *g = read_find(r, name, ".weight"), *b = read_find(r, name, ".bias");
    int rc = 0;
    *gain = *bias = NULL;
    if (g) rc = read_vector(gain, g, width);
    if (!rc && b) rc = read_vector(bias, b, width);
    if (rc) {
        free(*gain);
        return rc;
    }
    if (*gain) return 0;
    *gain = mem_alloc(mem_mul((size_t)width, sizeof **gain));
    for (int64_t i = 0; i < width; i++) (*gain)[i] = 1;
    return 0;
}

int read_batchnorm(struct reader *r, const char *name, double eps)
{
    double *gain, *bias;
    const struct weight *mean = read_find(r, name, ".running_mean");
    if (!mean) return read_missing(r);
    const struct weight *variance = read_find(r, name, ".running_var");
    if (!variance) return read_missing(r);
    read_find(r, name, ".num_batches_tracked");
    int rc = read_statistics(r, mean, variance, 0, eps);
    if (!rc) rc = read_gains(r, name, head_net_out(r->net), &gain, &bias);
    int64_t width = head_net_out(r->net);
    return rc ? rc : head_net_add(r->net, HEAD_DIAGONAL, gain, bias, width, width);
}

int read_layernorm(struct reader *r, const char *name, double eps)
{
    double *gain, *bias;
    int64_t width = head_net_out(r->net);
    if (!r->net->count) {
        const struct weight *w = read_find(r, name, ".weight");
        if (!w) return read_missing(r);
        width = w->count;
    }
    int rc = read_gains(r, name, width, &gain, &bias);
    if (!rc) rc = head_net_add(r->net, HEAD_NORM, gain, bias, width, width);
    if (!rc) r->net->layer[r->net->count - 1].eps = eps;
    return rc;
}

/* ---- files ---- */

static int load_json(json_t **out, const char *path)
{
    struct str text = {0};
    json_error_t e;
    int rc = file_read(&text, path, JSON_MAX);
    *out = NULL;
    if (rc) return rc;
    *out = json_loadb(text.p ? text.p : "", text.len, JSON_REJECT_DUPLICATES, &e);
    str_release(&text);
    if (!*out)
        return err_set(ERR_INPUT, "%s: line %d, column %d: %s", path, e.line, e.column, e.text);
    if (json_is_object(*out)) return 0;
    json_decref(*out);
    *out = NULL;
    return err_set(ERR_INPUT, "%s: not a JSON object", path);
}

/* The weights a description is about: those it names, relative to its folder, or its namesake. */
static int weights_of(struct str *out, const char *json_path, const json_t *j)
{
    static const char *const tails[] = {"safetensors", "pth", "pt", "bin", "npz", NULL};
    const json_t *v = json_object_get(j, "weights");
    const char *slash = strrchr(json_path, '/'), *name = json_string_value(v);
    int folder = slash ? (int)(slash - json_path) + 1 : 0;
    if (v && !name) return err_set(ERR_INPUT, "\"weights\" is not the name of a file");
    if (name) {
        str_printf(out, "%.*s%s", *name == '/' ? 0 : folder, json_path, name);
        return 0;
    }
    for (int i = 0; tails[i]; i++) {
        str_clear(out);
        str_printf(out, "%.*s%s", (int)strlen(json_path) - 4, json_path, tails[i]);
        if (file_exists(out->p) == 1) return 0;
    }
    return err_set(ERR_INPUT,
                   "no weights of the same name beside it (.safetensors, .pth, .pt, .bin, .npz): "
                   "name them with \"weights\"");
}

/* `by`: the file of the description j; both NULL when there is none. */
static int read_weights(struct head_net *n, const char *path, const json_t *j, const char *by)
{
    struct reader r = {.net = n, .prefix = ""};
    int rc = weights_open(&r.weights, path);
    if (rc) return rc;
    size_t count = weights_count(r.weights);
    r.used = mem_alloc(count + 1);
    if (count > TENSORS_MAX)
        rc = err_set(ERR_INPUT, "%zu tensors: a model, not a small head", count);
    else
        rc = j ? read_described(&r, j) : read_known(&r);
    if (rc) err_wrap(rc, "%s%s%s", path, j ? " as described by " : "", j ? by : "");
    free(r.used);
    str_release(&r.name);
    weights_close(r.weights);
    return rc;
}

/* x.pth has its description in x.json, unless that file is about something else. */
static int description_beside(struct str *out, json_t **j, const char *path)
{
    const char *base = strrchr(path, '/'), *dot = strrchr(base ? base : path, '.');
    *j = NULL;
    str_printf(out, "%.*s.json", dot ? (int)(dot - path) : (int)strlen(path), path);
    if (file_exists(out->p) != 1) return 0;
    int rc = load_json(j, out->p);
    if (rc || json_object_get(*j, "layers")) return rc;
    json_decref(*j);
    *j = NULL;
    return 0;
}

int head_net_load(struct head_net *n, const char *path)
{
    struct str other = {0};
    json_t *j = NULL;
    int rc;
    if (str_ends(path, ".json")) {
        rc = load_json(&j, path);
        if (!rc && (rc = weights_of(&other, path, j))) err_wrap(rc, "%s", path);
        if (!rc) rc = read_weights(n, other.p, j, path);
    } else {
        rc = description_beside(&other, &j, path);
        if (!rc) rc = read_weights(n, path, j, other.p);
    }
    json_decref(j);
    str_release(&other);
    return rc;
}

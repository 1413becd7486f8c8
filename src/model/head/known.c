/* known.c - the heads that people exchange. Weights do not say what happens between them; these
 * networks are told apart by the exact set of their tensors' names:
 *   LAION's improved aesthetic predictor, linearMSE and reluMSE (layers.N)
 *   LAION's NSFW detectors: the AutoKeras net (norm, linear_N), and the one for ViT-H/14 (layers.N)
 *   a single linear layer (LAION's first aesthetic predictor, logistic probes) */
#include "model/head/read.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

enum { NAMES_SHOWN = 6 };

/* Linear layers of a torch Sequential: the numbers that stand in their names, and what follows
 * each (all but those without weights count in the numbering). */
struct known {
    const char *what;
    int count;
    int at[8];
    unsigned relu; /* bit i: after layer i */
};
static const struct known known[] = {
    {"aesthetic predictor (linear layers only)", 5, {0, 2, 4, 6, 7}, 0},
    {"aesthetic predictor (ReLU)", 5, {0, 3, 6, 9, 11}, 0x0f},
    {"H/14 NSFW detector (not squashed)", 7, {0, 3, 6, 9, 12, 15, 16}, 0x1f},
};

/* Whatever stands in front of a tensor whose name ends so; 0 when there is none. */
static int prefix_of(struct str *out, const struct weights *w, const char *tail)
{
    for (size_t i = 0; i < weights_count(w); i++) {
        const char *name = weights_at(w, i)->name;
        size_t n = strlen(name), t = strlen(tail);
        if (n < t || strcmp(name + n - t, tail) || (n > t && name[n - t - 1] != '.')) continue;
        str_clear(out);
        str_add(out, name, n - t);
        return 1;
    }
    return 0;
}

/* Are these tensors there, and no others? */
static int has_only(struct reader *r, const struct known *k)
{
    char name[32];
    memset(r->used, 0, weights_count(r->weights));
    for (int i = 0; i < k->count; i++) {
        snprintf(name, sizeof name, "layers.%d", k->at[i]);
        if (!read_find(r, name, ".weight") || !read_find(r, name, ".bias")) return 0;
    }
    return read_used_all(r);
}

static int read_sequence(struct reader *r, const struct known *k)
{
    char name[32];
    int rc = 0;
    for (int i = 0; i < k->count && !rc; i++) {
        snprintf(name, sizeof name, "layers.%d", k->at[i]);
        rc = read_linear(r, name);
        if (!rc && k->relu >> i & 1) rc = head_net_act(r->net, ACT_RELU);
    }
    snprintf(r->net->what, sizeof r->net->what, "%s", k->what);
    return rc;
}

/* norm.mean, norm.variance, linear_1 ... linear_n: ReLU between, sigmoid at the end. */
static int read_nsfw(struct reader *r)
{
    const struct weight *mean = read_find(r, "norm.mean", ""),
                        *variance = read_find(r, "norm.variance", "");
    int rc = read_statistics(r, mean, variance, 0, 0), i = 1;
    for (; !rc && i < HEAD_LAYERS; i++) {
        char name[32];
        snprintf(name, sizeof name, "linear_%d", i);
        if (!read_find(r, name, ".weight")) break;
        if (i > 1) rc = head_net_act(r->net, ACT_RELU);
        if (!rc) rc = read_linear(r, name);
    }
    snprintf(r->net->what, sizeof r->net->what, "NSFW detector");
    return rc ? rc : head_net_act(r->net, ACT_SIGMOID);
}

static void print_tensors(struct str *s, const struct weights *w)
{
    size_t n = weights_count(w), most = n < NAMES_SHOWN ? n : NAMES_SHOWN;
    for (size_t i = 0; i < most; i++) {
        str_printf(s, "%s%s ", i ? ", " : "", weights_at(w, i)->name);
        read_shape(s, weights_at(w, i));
    }
    if (n > most) str_printf(s, ", ... %zu in all", n);
}

static int unknown(const struct reader *r)
{
    struct str s = {0};
    print_tensors(&s, r->weights);
    int rc = err_set(ERR_INPUT,
                     "no network that this program knows by its tensors (%s): put a description "
                     "of its layers beside it, the same name with .json (docs/heads.md)",
                     s.len ? s.p : "none");
    str_release(&s);
    return rc;
}

/* Which network is it? A prefix such as "mlp." or "state_dict." is accepted. */
int read_known(struct reader *r)
{
    struct str prefix = {0};
    int rc = 1;
    r->prefix = "";
    if (prefix_of(&prefix, r->weights, "layers.0.weight")) {
        r->prefix = prefix.len ? prefix.p : "";
        for (size_t i = 0; i < sizeof known / sizeof *known && rc == 1; i++)
            if (has_only(r, &known[i])) rc = read_sequence(r, &known[i]);
    } else if (prefix_of(&prefix, r->weights, "linear_1.weight")) {
        r->prefix = prefix.len ? prefix.p : "";
        if (read_find(r, "norm.mean", "") && read_find(r, "norm.variance", "")) rc = read_nsfw(r);
    } else if (prefix_of(&prefix, r->weights, "weight")) {
        r->prefix = prefix.len ? prefix.p : "";
        const struct weight *w = read_find(r, "weight", ""), *b = read_find(r, "bias", "");
        if (read_used_all(r)) rc = read_dense(r, w, b, 0);
        snprintf(r->net->what, sizeof r->net->what, "linear predictor");
    }
    if (rc == 1 || (!rc && !read_used_all(r))) rc = unknown(r);
    r->prefix = "";
    str_release(&prefix);
    if (!rc && head_net_out(r->net) != 1)
        rc = err_set(ERR_INPUT,
                     "it gives %lld numbers, a score is one: say which in a description beside it "
                     "(docs/heads.md)",
                     (long long)head_net_out(r->net));
    return rc;
}

/* config.c - from YAML to a plan. Every key a peer's file may hold is one row of a table
 * that says what becomes of it: an option of a verb, a rule of the filter, or nothing, and why.
 * Sections also take the options of the verb they stand for, by any of their names. */
#include "stage/curate/curate.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/yaml.h"
#include "data/expr/expr.h"
#include "io/file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum role {
    AS_OPTION,    /* how: the option's name */
    AS_RULE,      /* how: the rule before its number */
    AS_HEAD,      /* how: the head; the value is its file */
    AS_NOTHING,   /* how: why it does not matter here */
    AS_REFUSED,   /* how: why it cannot be; only when the value is true */
    AS_THREADS,   /* no more than there are cores */
    AS_PRECISION, /* autocast */
    AS_NORMALIZE,
    AS_EXTRACT, /* eps_to_extract */
    AS_ALSO,    /* eps_thresholds */
    AS_OUT,
    AS_HEADS,  /* a map of names and files */
    AS_PROMPTS /* a map of names and texts, or a list */
};

static const struct key {
    const char *section, *name;
    enum role role;
    const char *how;
} keys[] = {
    {"embedding", "model_name", AS_OPTION, "model"},
    {"embedding", "batch_size", AS_OPTION, "batch-size"},
    {"embedding", "num_threads_per_worker", AS_THREADS, NULL},
    {"embedding", "normalize_embeddings", AS_NORMALIZE, NULL},
    {"embedding", "autocast", AS_PRECISION, NULL},
    {"embedding", "pretrained", AS_NOTHING, "weights are always read from files"},
    {"embedding", "image_embedding_column", AS_NOTHING, "embeddings stand in img_emb/"},
    {"embedding", "use_index_files", AS_NOTHING, "shards are read without index files"},

    {"aesthetic_classifier", "score_threshold", AS_RULE, "aesthetic_score >="},
    {"aesthetic_classifier", "model_path", AS_HEAD, "aesthetic"},
    {"aesthetic_classifier", "batch_size", AS_NOTHING, "a head gives the same for any batch"},
    {"aesthetic_classifier", "embedding_column", AS_NOTHING, "embeddings stand in img_emb/"},
    {"aesthetic_classifier", "pred_column", AS_NOTHING, "the column is aesthetic_score"},
    {"nsfw_classifier", "score_threshold", AS_RULE, "nsfw_score <"},
    {"nsfw_classifier", "model_path", AS_HEAD, "nsfw"},
    {"nsfw_classifier", "batch_size", AS_NOTHING, "a head gives the same for any batch"},
    {"nsfw_classifier", "embedding_column", AS_NOTHING, "embeddings stand in img_emb/"},
    {"nsfw_classifier", "pred_column", AS_NOTHING, "the column is nsfw_score"},

    {"scores", "heads", AS_HEADS, NULL},
    {"scores", "prompts", AS_PROMPTS, NULL},

    {"filtering", "min_resolution", AS_RULE, "min(width, height) >="},
    {"filtering", "max_aspect_ratio", AS_RULE, "aspect <="},
    {"filtering", "min_aesthetic_score", AS_RULE, "aesthetic_score >="},
    {"filtering", "max_nsfw_score", AS_RULE, "nsfw_score <="},

    {"semantic_deduplication", "n_clusters", AS_OPTION, "clusters"},
    {"semantic_deduplication", "max_iter", AS_OPTION, "max-iter"},
    {"semantic_deduplication", "random_state", AS_OPTION, "seed"},
    {"semantic_deduplication", "seed", AS_OPTION, "seed"},
    {"semantic_deduplication", "which_to_keep", AS_OPTION, "keep"},
    {"semantic_deduplication", "sim_metric", AS_OPTION, "metric"},
    {"semantic_deduplication", "distance_metric", AS_OPTION, "metric"},
    {"semantic_deduplication", "fit_data_fraction", AS_OPTION, "fit-fraction"},
    {"semantic_deduplication", "eps_to_extract", AS_EXTRACT, NULL},
    {"semantic_deduplication", "eps", AS_EXTRACT, NULL},
    {"semantic_deduplication", "eps_thresholds", AS_ALSO, NULL},
    {"semantic_deduplication", "kmeans_with_cos_dist", AS_REFUSED,
     "spherical k-means is not what NeMo's later versions do, nor darkroom"},
    {"semantic_deduplication", "cache_dir", AS_NOTHING, "results stand in the place"},
    {"semantic_deduplication", "profile_dir", AS_NOTHING, "see --json and the report"},
    {"semantic_deduplication", "num_files", AS_NOTHING, "all embeddings of the place are used"},
    {"semantic_deduplication", "sort_clusters", AS_NOTHING, "pairs do not depend on it"},
    {"semantic_deduplication", "partition_size", AS_NOTHING, "embeddings are streamed"},
    {"semantic_deduplication", "id_col_name", AS_NOTHING, "samples are named by their keys"},
    {"semantic_deduplication", "id_col_type", AS_NOTHING, "keys are bytes"},
    {"semantic_deduplication", "id_column", AS_NOTHING, "samples are named by their keys"},
    {"semantic_deduplication", "input_column", AS_NOTHING, "pictures are compared, not text"},
    {"semantic_deduplication", "embedding_model_name_or_path", AS_NOTHING,
     "the embeddings of the pictures are used; see embedding.model_name"},
    {"semantic_deduplication", "embedding_batch_size", AS_NOTHING, "see embedding.batch_size"},
    {"semantic_deduplication", "embeddings_save_loc", AS_NOTHING, "embeddings stand in img_emb/"},
    {"semantic_deduplication", "embedding_max_mem_gb", AS_NOTHING, "see --memory"},
    {"semantic_deduplication", "embedding_pooling_strategy", AS_NOTHING, "it is for text models"},
    {"semantic_deduplication", "embedding_column", AS_NOTHING, "embeddings stand in img_emb/"},
    {"semantic_deduplication", "write_embeddings_to_disk", AS_NOTHING, "they always are"},
    {"semantic_deduplication", "write_to_filename", AS_NOTHING, "one file per partition"},
    {"semantic_deduplication", "clustering_save_loc", AS_NOTHING, "clusters stand in dedup/"},
    {"semantic_deduplication", "batched_cosine_similarity", AS_NOTHING,
     "pairs are always computed in blocks"},
    {"semantic_deduplication", "clustering_input_partition_size", AS_NOTHING,
     "embeddings are streamed"},
    {"semantic_deduplication", "largest_cluster_size_to_process", AS_NOTHING,
     "clusters of any size are processed"},
    {"semantic_deduplication", "batch_size", AS_NOTHING, "pairs are always computed in blocks"},

    {"export", "output", AS_OUT, NULL},
    {NULL, NULL, AS_NOTHING, NULL}};

/* What a section stands for, and by which names it may be called. */
static const struct section {
    const char *name, *also;
    enum step step;
} sections[] = {
    {"embedding", "embed", STEP_EMBED},    {"aesthetic_classifier", NULL, STEP_SCORE},
    {"nsfw_classifier", NULL, STEP_SCORE}, {"scores", "score", STEP_SCORE},
    {"filtering", "filter", STEP_FILTER},  {"semantic_deduplication", "dedup", STEP_DEDUP},
    {"export", NULL, STEP_EXPORT},         {"report", NULL, STEP_REPORT}};
enum { SECTIONS = sizeof sections / sizeof *sections };

void plan_word(struct plan *p, enum step step, const char *fmt, ...)
{
    struct plan_step *s = &p->step[step];
    struct str word = {0};
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof text) {
        str_reserve(&word, (size_t)n);
        va_start(ap, fmt);
        vsnprintf(word.p, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    vec_push(s->words, s->count, s->cap);
    s->words[s->count++] = arena_strndup(&p->text, word.p ? word.p : text, (size_t)n);
    str_release(&word);
}

void plan_release(struct plan *p)
{
    for (int i = 0; i < STEPS; i++) free(p->step[i].words);
    arena_release(&p->text);
    memset(p, 0, sizeof *p);
}

/* ---- values ---- */

static int is_number(const char *text)
{
    char *end;
    double v = strtod(text, &end);
    return end != text && !*end && isfinite(v);
}

static int truth(int *out, const char *text)
{
    *out = str_same(text, "true") || str_same(text, "yes") || str_same(text, "on") ||
           !strcmp(text, "1");
    if (*out || str_same(text, "false") || str_same(text, "no") || str_same(text, "off") ||
        !strcmp(text, "0"))
        return 0;
    return err_set(ERR_USAGE, "takes true or false, not '%s'", text);
}

static int is_null(const struct yaml *y)
{
    return y->type == YAML_SCALAR && (!*y->text || !strcmp(y->text, "null") ||
                                      !strcmp(y->text, "~") || !strcmp(y->text, "None"));
}

static int want_scalar(const struct yaml *y)
{
    return y->type == YAML_SCALAR ? 0
                                  : err_set(ERR_USAGE, "takes one value, not %s",
                                            y->type == YAML_LIST ? "a list" : "a section");
}

static int want_number(const struct yaml *y)
{
    int rc = want_scalar(y);
    if (!rc && !is_number(y->text)) rc = err_set(ERR_USAGE, "takes a number, not '%s'", y->text);
    return rc;
}

/* A number, or a list of them, as "0.9,0.95". */
static int numbers(struct plan *p, const char **out, const struct yaml *y)
{
    struct str s = {0};
    int rc = 0;
    if (y->type == YAML_MAP) return err_set(ERR_USAGE, "takes numbers, not a section");
    for (const struct yaml *c = y->type == YAML_LIST ? y->child : y; c && !rc; c = c->next) {
        rc = want_number(c);
        if (!rc) str_printf(&s, "%s%s", s.len ? "," : "", c->text);
        if (y->type == YAML_SCALAR) break;
    }
    if (!rc) *out = arena_strndup(&p->text, s.p ? s.p : "", s.len);
    str_release(&s);
    return rc;
}

/* ---- what becomes of a key ---- */

/* A rule about a score needs its head, named in the file or not. */
static void need_head(struct plan *p, const char *rule)
{
    int *have = str_starts(rule, "aesthetic") ? &p->aesthetic
                : str_starts(rule, "nsfw")    ? &p->nsfw
                                              : NULL;
    if (!have || *have) return;
    plan_word(p, STEP_SCORE, "--head=%s", have == &p->nsfw ? "nsfw" : "aesthetic");
    p->step[STEP_SCORE].on = *have = 1;
}

static int put_rule(struct plan *p, const struct yaml *y, const char *rule)
{
    int rc = want_number(y);
    if (rc) return rc;
    plan_word(p, STEP_FILTER, "--where=%s %s", rule, y->text);
    p->step[STEP_FILTER].on = 1;
    need_head(p, rule);
    return 0;
}

static int put_head(struct plan *p, const struct yaml *y, const char *name)
{
    int rc = want_scalar(y), *have = !strcmp(name, "nsfw") ? &p->nsfw : &p->aesthetic;
    if (!rc && strchr(y->text, '/') && !file_exists(y->text))
        rc = err_set(ERR_INPUT, "%s: no such file", y->text);
    if (rc || *have) return rc;
    plan_word(p, STEP_SCORE, "--head=%s=%s", name, y->text);
    p->step[STEP_SCORE].on = *have = 1;
    return 0;
}

static int put_heads(struct plan *p, const struct yaml *y)
{
    if (y->type != YAML_MAP) return err_set(ERR_USAGE, "takes 'name: file' lines");
    for (const struct yaml *c = y->child; c; c = c->next) {
        int rc = want_scalar(c);
        if (rc) return rc;
        plan_word(p, STEP_SCORE, "--head=%s%s%s", c->key, *c->text ? "=" : "", c->text);
        p->aesthetic |= !strcmp(c->key, "aesthetic");
        p->nsfw |= !strcmp(c->key, "nsfw");
    }
    p->step[STEP_SCORE].on = 1;
    return 0;
}

static int put_prompts(struct plan *p, const struct yaml *y)
{
    if (y->type == YAML_SCALAR) return err_set(ERR_USAGE, "takes 'name: this | that' lines");
    for (const struct yaml *c = y->child; c; c = c->next) {
        int rc = want_scalar(c);
        if (rc) return rc;
        if (c->key)
            plan_word(p, STEP_SCORE, "--prompts=%s: %s", c->key, c->text);
        else
            plan_word(p, STEP_SCORE, "--prompts=%s", c->text);
    }
    p->step[STEP_SCORE].on = 1;
    return 0;
}

static int put_threads(struct plan *p, const struct yaml *y)
{
    int rc = want_number(y);
    long n = rc ? 0 : strtol(y->text, NULL, 10);
    if (!rc && n < 1) rc = err_set(ERR_USAGE, "takes a whole number from 1, not '%s'", y->text);
    if (!rc) plan_word(p, STEP_EMBED, "--threads=%ld", n < cpu_count() ? n : cpu_count());
    return rc;
}

static int put_switch(struct plan *p, const struct yaml *y, const struct key *k)
{
    int yes, rc = want_scalar(y);
    if (!rc) rc = truth(&yes, y->text);
    if (rc) return rc;
    if (k->role == AS_REFUSED && yes) return err_set(ERR_USAGE, "true: %s", k->how);
    if (k->role == AS_NORMALIZE) {
        p->normalized = yes;
        plan_word(p, STEP_EMBED, "--normalize=%s", yes ? "true" : "false");
    }
    if (k->role == AS_PRECISION && yes)
        log_info("%s.%s: this device computes in f32, which is nearer to the model than f16",
                 k->section, k->name);
    return 0;
}

/* Would the verb take this value? Asked now, while file and line are known. */
static int check_value(enum step step, const struct opt *o, const char *text)
{
    const struct verb *v = step_verb(step);
    struct opt_set set = {{v->options, common_options, NULL}};
    void *scratch = mem_alloc(v->size);
    int rc = opt_assign(&set, scratch, o->name, text);
    opt_release(&set, scratch);
    free(scratch);
    if (!rc && step == STEP_FILTER && !strcmp(o->name, "where")) {
        struct expr *e = expr_new();
        rc = expr_add(e, text);
        expr_free(e);
    }
    return rc;
}

static int put_option(struct plan *p, enum step step, const char *name, const struct yaml *y)
{
    struct opt_set set = {{step_verb(step)->options, common_options, NULL}};
    const struct opt *o = opt_find(&set, name, strlen(name));
    if (!o) return err_set(ERR_USAGE, "is no option of %s", step_verb(step)->name);
    if (y->type == YAML_MAP) return err_set(ERR_USAGE, "takes a value, not a section");
    if (y->type == YAML_LIST && o->type != OPT_LIST) {
        const char *text;
        int rc = numbers(p, &text, y);
        if (!rc) rc = check_value(step, o, text);
        if (!rc) plan_word(p, step, "--%s=%s", o->name, text);
        return rc;
    }
    for (const struct yaml *c = y->type == YAML_LIST ? y->child : y; c; c = c->next) {
        int rc = want_scalar(c);
        if (!rc) rc = check_value(step, o, c->text);
        if (rc) return rc;
        plan_word(p, step, "--%s=%s", o->name, c->text);
        if (y->type == YAML_SCALAR) break;
    }
    p->step[step].on |= step == STEP_FILTER || step == STEP_SCORE;
    return 0;
}

static int put_key(struct plan *p, const struct key *k, enum step step, const struct yaml *y)
{
    switch (k->role) {
    case AS_OPTION: return put_option(p, step, k->how, y);
    case AS_RULE: return put_rule(p, y, k->how);
    case AS_HEAD: return put_head(p, y, k->how);
    case AS_NOTHING: log_debug("%s.%s has no effect: %s", k->section, k->name, k->how); return 0;
    case AS_REFUSED:
    case AS_PRECISION:
    case AS_NORMALIZE: return put_switch(p, y, k);
    case AS_THREADS: return put_threads(p, y);
    case AS_EXTRACT: return numbers(p, &p->extract, y);
    case AS_ALSO: return numbers(p, &p->also, y);
    case AS_HEADS: return put_heads(p, y);
    case AS_PROMPTS: return put_prompts(p, y);
    case AS_OUT: {
        int rc = want_scalar(y);
        if (!rc) p->out = arena_strndup(&p->text, y->text, strlen(y->text));
        return rc;
    }
    }
    return 0;
}

/* ---- the file ---- */

static const struct key *find_key(const char *section, const char *name)
{
    for (const struct key *k = keys; k->name; k++)
        if (!strcmp(k->section, section) && str_same(k->name, name)) return k;
    return NULL;
}

static int unknown_key(const struct section *s, const char *name)
{
    const char *names[256];
    size_t n = 0;
    for (const struct key *k = keys; k->name; k++)
        if (!strcmp(k->section, s->name)) names[n++] = k->name;
    for (const struct opt *o = step_verb(s->step)->options; o && o->name && n < 255; o++)
        names[n++] = o->name;
    names[n] = NULL;
    const char *near = str_nearest(name, names);
    if (near)
        return err_set(ERR_USAGE, "unknown key '%s' in %s; did you mean '%s'?", name, s->name,
                       near);
    return err_set(ERR_USAGE, "unknown key '%s' in %s", name, s->name);
}

static int put_section(struct plan *p, const struct section *s, const struct yaml *y,
                       const char *path)
{
    int rc = 0;
    const struct opt_set set = {{step_verb(s->step)->options, common_options, NULL}};
    for (const struct yaml *c = y->child; c && !rc; c = c->next) {
        const struct key *k = find_key(s->name, c->key);
        int known = k || opt_find(&set, c->key, strlen(c->key));
        if (known && is_null(c)) continue; /* said to be not said */
        if (k && (rc = put_key(p, k, s->step, c)))
            rc = err_wrap(rc, "%s:%d: %s.%s", path, c->line, s->name, c->key);
        else if (!known)
            rc = err_wrap(unknown_key(s, c->key), "%s:%d", path, c->line);
        else if (!k && (rc = put_option(p, s->step, c->key, c)))
            rc = err_wrap(rc, "%s:%d: %s.%s", path, c->line, s->name, c->key);
    }
    return rc;
}

static const struct section *find_section(const char *name)
{
    for (int i = 0; i < SECTIONS; i++)
        if (str_same(sections[i].name, name) ||
            (sections[i].also && str_same(sections[i].also, name)))
            return &sections[i];
    return NULL;
}

static int unknown_section(const char *name)
{
    const char *names[SECTIONS + 1] = {0};
    for (int i = 0; i < SECTIONS; i++) names[i] = sections[i].name;
    const char *near = str_nearest(name, names);
    if (near) return err_set(ERR_USAGE, "unknown section '%s'; did you mean '%s'?", name, near);
    return err_set(ERR_USAGE,
                   "unknown section '%s'; known are embedding, aesthetic_classifier, "
                   "nsfw_classifier, scores, filtering, semantic_deduplication, export, report",
                   name);
}

/* Naming a step asks for it, even when nothing is said about it. */
static void turn_on(struct plan *p, const struct section *s)
{
    if (s->step == STEP_DEDUP) p->step[STEP_DEDUP].on = 1;
    if (!strcmp(s->name, "aesthetic_classifier")) need_head(p, "aesthetic");
    if (!strcmp(s->name, "nsfw_classifier")) need_head(p, "nsfw");
}

/* NeMo's own semantic-dedup files have no sections: they are one. */
static int is_flat(const struct yaml *root)
{
    for (const struct yaml *y = root->child; y; y = y->next)
        if (find_section(y->key)) return 0;
    for (const struct yaml *y = root->child; y; y = y->next)
        if (find_key("semantic_deduplication", y->key)) return 1;
    return 0;
}

static struct yaml *with_section(struct yaml *flat, struct arena *a)
{
    struct yaml *root = arena_zalloc(a, sizeof *root);
    root->type = YAML_MAP;
    root->child = flat;
    flat->key = "semantic_deduplication";
    return root;
}

static int put_file(struct plan *p, const struct yaml *root, const char *path)
{
    int rc = 0;
    for (const struct yaml *y = root->child; y && !rc; y = y->next) {
        const struct section *s = find_section(y->key);
        if (!s) return err_wrap(unknown_section(y->key), "%s:%d", path, y->line);
        if (y->type != YAML_MAP && !is_null(y))
            return err_set(ERR_USAGE, "%s:%d: %s takes keys and values", path, y->line, y->key);
        rc = put_section(p, s, y, path);
        if (!rc) turn_on(p, s);
    }
    return rc;
}

/* "section.key=value" becomes part of the tree, so that it is checked like the file itself. */
static int override(struct yaml *root, const char *text, struct arena *a)
{
    const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    if (!equals || !dot || dot > equals || dot == text || equals == dot + 1)
        return err_set(ERR_USAGE, "--set takes section.key=value, not '%s'", text);
    char *section = arena_strndup(a, text, (size_t)(dot - text));
    char *key = arena_strndup(a, dot + 1, (size_t)(equals - dot - 1));
    struct yaml *value, **at = &root->child;
    int rc = yaml_parse(&value, equals + 1, "--set", a);
    if (rc) return rc;
    if (!equals[1]) value->type = YAML_SCALAR, value->text = "";
    value->key = key;
    while (*at && strcmp((*at)->key, section)) at = &(*at)->next;
    if (!*at) {
        *at = arena_zalloc(a, sizeof **at);
        (*at)->key = section;
        (*at)->text = "";
        (*at)->line = 1;
    }
    if (is_null(*at)) (*at)->type = YAML_MAP, (*at)->child = NULL;
    if ((*at)->type != YAML_MAP) return 0; /* the file is wrong, and will be told so */
    at = &(*at)->child;
    while (*at && strcmp((*at)->key, key)) at = &(*at)->next;
    value->next = *at ? (*at)->next : NULL;
    if (*at) value->line = (*at)->line;
    *at = value;
    return 0;
}

/* Both kinds of eps: the table's, and the one that counts. */
static int finish_eps(struct plan *p)
{
    if (p->also) plan_word(p, STEP_DEDUP, "--eps-thresholds=%s", p->also);
    if (p->extract) plan_word(p, STEP_DEDUP, "--eps=%s", p->extract);
    if (p->also && !p->extract)
        return err_set(ERR_USAGE,
                       "semantic_deduplication.eps_thresholds only fill a table: eps_to_extract "
                       "must say which one counts");
    return 0;
}

/* Prompts are embedded by the model that embedded the pictures. */
static void finish_prompts(struct plan *p)
{
    static const char *const shared[] = {"--model=", "--vocab=", "--activation=", "--image-size="};
    const struct plan_step *embed = &p->step[STEP_EMBED], *score = &p->step[STEP_SCORE];
    int prompts = 0;
    for (size_t i = 0; i < score->count; i++) prompts |= str_starts(score->words[i], "--prompts=");
    for (size_t k = 0; prompts && k < sizeof shared / sizeof *shared; k++) {
        const char *word = NULL;
        for (size_t i = 0; i < embed->count; i++)
            if (str_starts(embed->words[i], shared[k])) word = embed->words[i];
        for (size_t i = 0; i < score->count; i++)
            if (str_starts(score->words[i], shared[k])) word = NULL;
        if (word) plan_word(p, STEP_SCORE, "%s", word);
    }
}

int plan_load(struct plan *p, const char *path, const struct opt_list *overrides)
{
    struct yaml *root;
    p->normalized = 1;
    int rc = yaml_load(&root, path, &p->text);
    if (!rc && root->type != YAML_MAP)
        rc = err_set(ERR_USAGE, "%s: sections such as 'embedding:' are expected", path);
    if (!rc && is_flat(root)) root = with_section(root, &p->text);
    for (int i = 0; i < overrides->count && !rc; i++)
        rc = override(root, overrides->item[i], &p->text);
    if (!rc) rc = put_file(p, root, path);
    if (!rc) rc = finish_eps(p);
    if (!rc) finish_prompts(p);
    if (!rc && p->step[STEP_DEDUP].on && !p->normalized)
        rc = err_set(ERR_USAGE,
                     "%s: embedding.normalize_embeddings: false does not go with "
                     "semantic_deduplication: duplicates are pairs of high cosine, and products of "
                     "vectors of any length are no cosines; say true",
                     path);
    p->step[STEP_EMBED].on = p->step[STEP_EXPORT].on = p->step[STEP_REPORT].on = 1;
    return rc;
}

/* settings.c - what a run does. An option that is not given is taken from the product that is
 * already there, so that `dedup PLACE --eps 0.1` means the clusters of before, not other ones. */
#include "stage/dedup/dedup.h"
#include "base/err.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const starts[] = {
    [KMEANS_PARALLEL] = "k-means||", [KMEANS_PLUSPLUS] = "k-means++", [KMEANS_RANDOM] = "random"};

/* Nine digits: so 1 - 0.95 is 0.05 again, and what is printed is what is compared. */
void eps_text(char out[32], double eps)
{
    snprintf(out, 32, "%.9g", eps);
}

static double tidy(double eps)
{
    char text[32];
    eps_text(text, eps);
    return strtod(text, NULL);
}

/* ---- words ---- */

static int parse_number(double *out, const char *text, const char *option)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end)
        return err_set(ERR_USAGE, "--%s takes a number, not '%s'", option, text);
    return 0;
}

static int add_eps(struct settings *s, double eps)
{
    for (int i = 0; i < s->count; i++)
        if (s->eps[i] == eps) return 0;
    if (s->count == PAIRS_EPS) return err_set(ERR_USAGE, "more than %d values of eps", PAIRS_EPS);
    s->eps[s->count++] = eps;
    return 0;
}

/* One number of a list. similarity: given the other way round. */
static int add_word(struct settings *s, const char *word, size_t n, const char *option,
                    int similarity)
{
    char text[64];
    double v;
    snprintf(text, sizeof text, "%.*s", (int)(n < 60 ? n : 60), word);
    int rc = parse_number(&v, text, option);
    if (rc) return rc;
    if (!(v >= 0 && v <= 1))
        return err_set(ERR_USAGE,
                       similarity ? "--%s %s: a cosine similarity is a number from 0 to 1"
                                  : "--%s %s: eps is a distance, 1 - cosine, from 0 to 1",
                       option, text);
    return add_eps(s, tidy(similarity ? 1 - v : v));
}

/* "0.01,0.05", "[0.01, 0.05]", or one number per word. */
static int add_list(struct settings *s, const struct opt_list *list, const char *option,
                    int similarity)
{
    int rc = 0;
    for (int i = 0; i < list->count && !rc; i++) {
        const char *p = list->item[i];
        int before = 0;
        while (*(p += strspn(p, "[], ")) && !rc) {
            size_t n = strcspn(p, "[], ");
            rc = add_word(s, p, n, option, similarity);
            p += n;
            before = 1;
        }
        if (!rc && !before) rc = err_set(ERR_USAGE, "--%s: no number in it", option);
    }
    return rc;
}

static int parse_keep(struct settings *s, const char *text)
{
    static const char *const words[] = {
        [PAIRS_HARD] = "hard", [PAIRS_EASY] = "easy", [PAIRS_RANDOM] = "random"};
    for (int i = PAIRS_HARD; i <= PAIRS_RANDOM; i++)
        if (!strcmp(text, words[i])) {
            s->keep = (enum pairs_keep)i;
            s->column[0] = 0;
            return 0;
        }
    size_t n = strlen(text);
    s->keep = str_ends(text, ":asc") ? PAIRS_LOW : PAIRS_HIGH;
    if (str_ends(text, ":asc")) n -= 4;
    if (str_ends(text, ":desc")) n -= 5;
    if (!n || n >= sizeof s->column)
        return err_set(ERR_USAGE, "--keep takes hard, easy, random or COLUMN[:asc|:desc], not '%s'",
                       text);
    memcpy(s->column, text, n);
    s->column[n] = 0;
    return 0;
}

static void print_keep(struct str *out, const struct settings *s)
{
    static const char *const words[] = {"hard", "easy", "random", ":desc", ":asc"};
    str_printf(out, "%s%s", s->column, words[s->keep]);
}

static int parse_start(struct settings *s, const char *text)
{
    if (!strcmp(text, "scalable-k-means++")) text = starts[KMEANS_PARALLEL]; /* cuML's name */
    for (int i = KMEANS_PARALLEL; i <= KMEANS_RANDOM; i++)
        if (!strcmp(text, starts[i])) return s->start = (enum kmeans_start)i, 0;
    return err_set(ERR_USAGE, "--init takes k-means||, k-means++ or random, not '%s'", text);
}

static int parse_either(int *out, const char *text, const char *no, const char *yes,
                        const char *option)
{
    if (strcmp(text, no) && strcmp(text, yes))
        return err_set(ERR_USAGE, "--%s takes %s or %s, not '%s'", option, no, yes, text);
    *out = !strcmp(text, yes);
    return 0;
}

/* ---- given, there, default ---- */

/* The value of an option as text: `given` unless NULL, else that of the product, else `none`. */
static const char *choose(const char *given, const struct run *there, const char *name,
                          const char *none)
{
    const char *was = run_get(there, name);
    return given ? given : was ? was : none;
}

static int load_count(int64_t *out, int64_t given, const struct run *there, const char *name,
                      const char *none, double most)
{
    char text[32];
    double v;
    snprintf(text, sizeof text, "%lld", (long long)given);
    int rc = parse_number(&v, choose(given ? text : NULL, there, name, none), name);
    if (!rc && !(v >= 0 && v <= most && v == floor(v)))
        rc = err_set(ERR_USAGE, "--%s must be 1 to %.0f", name, most);
    if (!rc) *out = (int64_t)v;
    return rc;
}

static int load_numbers(struct settings *s, const struct dedup_options *o, const struct run *r)
{
    double seed;
    int rc = load_count(&s->clusters, o->clusters, r, "clusters", "0", INT32_MAX / 2);
    if (!rc) rc = load_count(&s->max_iter, o->max_iter, r, "max-iter", "100", 1000000);
    if (!rc) rc = parse_number(&seed, choose(o->seed, r, "seed", "0"), "seed");
    if (!rc) rc = parse_number(&s->tol, choose(o->tol, r, "tol", "0.0001"), "tol");
    if (!rc)
        rc = parse_number(&s->fit_fraction, choose(o->fit_fraction, r, "fit-fraction", "1"),
                          "fit-fraction");
    if (rc) return rc;
    if (!(seed >= 0 && seed <= 0x1p53 && seed == floor(seed)))
        return err_set(ERR_USAGE, "--seed takes a whole number from 0 on, not '%s'", o->seed);
    if (!(s->tol >= 0 && s->tol < INFINITY))
        return err_set(ERR_USAGE, "--tol takes a number from 0 on, not '%s'", o->tol);
    if (!(s->fit_fraction > 0 && s->fit_fraction <= 1))
        return err_set(ERR_USAGE, "--fit-fraction is a share of the rows, above 0 and at most 1");
    s->seed = (int64_t)seed;
    return 0;
}

/* The eps of the last time, when none is given; NeMo's default, when there was none. */
static int load_eps(struct settings *s, const struct dedup_options *o, const struct run *r)
{
    const char *was = choose(NULL, r, "eps", "0.01");
    struct opt_list last = {&was, 1};
    int rc = add_list(s, &o->eps, "eps", 0);
    if (!rc) rc = add_list(s, &o->similarity, "similarity", 1);
    if (!rc && !s->count) rc = add_list(s, &last, "eps", 0);
    return rc ? rc : add_list(s, &o->thresholds, "eps-thresholds", 0);
}

static int load_run(struct run *r, struct place *p, const char *product)
{
    struct str name = {0};
    str_printf(&name, "_darkroom/%s/run.json", product);
    int rc = place_exists(p, name.p, NULL) ? run_load(r, p, product) : 0;
    str_release(&name);
    return rc;
}

static int load_words(struct settings *s, const struct dedup_options *o, const struct run *clusters,
                      const struct run *pairs)
{
    int rc = parse_start(s, choose(o->init, clusters, "init", "k-means||"));
    if (!rc) rc = parse_keep(s, choose(o->keep, pairs, "keep", "hard"));
    if (!rc)
        rc = parse_either(&s->greedy, choose(o->order, pairs, "order", "collapse"), "collapse",
                          "greedy", "order");
    if (!rc)
        rc = parse_either(&s->l2, choose(o->metric, pairs, "metric", "cosine"), "cosine", "l2",
                          "metric");
    return rc;
}

static int check_eps(const struct settings *s, const struct dedup_options *o)
{
    for (int i = 0; s->greedy && i < s->count; i++)
        if (s->eps[i] >= 1)
            return err_set(ERR_USAGE, "--order greedy takes eps below 1: at 1 every pair is alike");
    if (o->strict && s->eps[0] > 0.5)
        return err_set(ERR_USAGE,
                       "eps %.9g is a distance: it removes every image with a neighbour of cosine "
                       ">= %.9g; did you mean similarity %.9g, that is eps %.9g? (refused by "
                       "--strict)",
                       s->eps[0], tidy(1 - s->eps[0]), s->eps[0], tidy(1 - s->eps[0]));
    return 0;
}

int settings_load(struct settings *s, const struct dedup_options *o, struct place *p)
{
    struct run clusters = {0}, pairs = {0}, eps = {0};
    memset(s, 0, sizeof *s);
    int rc = load_run(&clusters, p, DEDUP_CLUSTERS);
    if (!rc) rc = load_run(&pairs, p, DEDUP_PAIRS);
    if (!rc) rc = load_run(&eps, p, DEDUP_EPS);
    if (!rc) rc = load_numbers(s, o, &clusters);
    if (!rc) rc = load_words(s, o, &clusters, &pairs);
    if (!rc) rc = load_eps(s, o, &eps);
    if (!rc) rc = check_eps(s, o);
    run_release(&clusters);
    run_release(&pairs);
    run_release(&eps);
    return rc;
}

int settings_check(const struct dedup_options *o)
{
    struct settings s = {0};
    struct run none = {0};
    if (o->eps.count && o->similarity.count)
        return err_set(ERR_USAGE, "--eps and --similarity say the same thing: give one of them");
    int rc = load_numbers(&s, o, &none);
    if (!rc) rc = load_words(&s, o, &none, &none);
    if (!rc) rc = load_eps(&s, o, &none);
    return rc ? rc : check_eps(&s, o);
}

/* ---- for run.json ---- */

static PRINTF_LIKE(3, 4) void field(struct run *out, const char *name, const char *fmt, ...)
{
    char text[64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    run_add(out, name, text);
}

void settings_of_clusters(struct run *out, const struct settings *s, const struct dedup_options *o)
{
    field(out, "clusters", "%lld", (long long)s->clusters);
    field(out, "seed", "%lld", (long long)s->seed);
    field(out, "max-iter", "%lld", (long long)s->max_iter);
    field(out, "tol", "%.9g", s->tol);
    run_add(out, "init", starts[s->start]);
    field(out, "fit-fraction", "%.9g", s->fit_fraction);
    run_add(out, "kept-only", o->kept_only ? "true" : "false");
}

void settings_of_pairs(struct run *out, const struct settings *s)
{
    struct str keep = {0};
    print_keep(&keep, s);
    run_add(out, "keep", keep.p);
    run_add(out, "order", s->greedy ? "greedy" : "collapse");
    run_add(out, "metric", s->l2 ? "l2" : "cosine");
    if (s->keep == PAIRS_RANDOM) field(out, "seed", "%lld", (long long)s->seed);
    if (s->greedy) field(out, "eps", "%.9g", s->eps[0]);
    str_release(&keep);
}

void settings_of_eps(struct run *out, const struct settings *s)
{
    struct str all = {0};
    field(out, "eps", "%.9g", s->eps[0]);
    for (int i = 0; i < s->count; i++) str_printf(&all, "%s%.9g", i ? "," : "", s->eps[i]);
    run_add(out, "thresholds", all.p);
    str_release(&all);
}

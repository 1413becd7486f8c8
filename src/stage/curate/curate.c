/* curate.c - embed, score, filter, dedup, export and report in a row, from one file.
 * Each step is the verb a user could run alone, given words that --print-config shows; all of
 * them resume, so the whole does. */
#include "stage/curate/curate.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

extern const struct verb embed_verb, score_verb, filter_verb, dedup_verb, export_verb, report_verb;

struct curate_options {
    struct common common;
    struct opt_list set;
    const char *output, *model_dir, *max_bad;
    int print_config, example, strict, dedup_first, no_export, force_new_run;
};

#define AT(f) offsetof(struct curate_options, f)

static const struct opt options[] = {
    {"set", NULL, 0, OPT_LIST, AT(set), NULL, "SECTION.KEY=VALUE",
     "override a value of the file; may be given several times", 0},
    {"print-config", NULL, 0, OPT_FLAG, AT(print_config), NULL, NULL,
     "show the commands that would run, and stop", 0},
    {"example", NULL, 0, OPT_FLAG, AT(example), NULL, NULL, "print a commented file, and stop", 0},
    {"output", NULL, 'o', OPT_STR, AT(output), NULL, "DIR",
     "folder of the curated shards; PLACE/curated when not said", 0},
    {"model-dir", NULL, 0, OPT_STR, AT(model_dir), NULL, "DIR",
     "folder in which models and heads are looked up first", 0},
    {"dedup-first", NULL, 0, OPT_FLAG, AT(dedup_first), NULL, NULL,
     "remove duplicates among all rows, then filter", 0},
    {"no-export", NULL, 0, OPT_FLAG, AT(no_export), NULL, NULL, "leave the shards alone", 0},
    {"max-bad", NULL, 0, OPT_STR, AT(max_bad), NULL, "N|P%",
     "more bad samples than this: exit 3, at the end", 0},
    {"strict", NULL, 0, OPT_FLAG, AT(strict), NULL, NULL,
     "what is only warned of otherwise is an error", 0},
    {"force-new-run", NULL, 0, OPT_FLAG, AT(force_new_run), NULL, NULL,
     "replace another run that is in the place", 0},
    OPT_END};

const struct verb *step_verb(enum step step)
{
    static const struct verb *const verbs[STEPS] = {&embed_verb, &score_verb,  &filter_verb,
                                                    &dedup_verb, &export_verb, &report_verb};
    return verbs[step];
}

const char curate_example[] =
    "# darkroom curate curation.yaml shards/ place\n"
    "# Every section may be left out; its step is then not run (embed always is).\n"
    "\n"
    "embedding:\n"
    "  model_name: vit_large_patch14_clip_quickgelu_224.openai   # found in --model-dir; tiny is built in\n"
    "  batch_size: 1024\n"
    "  num_threads_per_worker: 16       # at most the cores there are\n"
    "  normalize_embeddings: true\n"
    "  autocast: false\n"
    "  # any option of 'darkroom embed' may stand here, such as metadata: true\n"
    "\n"
    "aesthetic_classifier:\n"
    "  # model_path: sac+logos+ava1-l14-linearMSE.pth   # else the head named aesthetic of --model-dir\n"
    "  score_threshold: 6.0             # keeps aesthetic_score >= 6\n"
    "\n"
    "nsfw_classifier:\n"
    "  score_threshold: 0.2             # keeps nsfw_score < 0.2\n"
    "\n"
    "scores:\n"
    "  # heads: {watermark: watermark_head.json}\n"
    "  # prompts: {watermark: a picture with a watermark | a clean picture}\n"
    "\n"
    "filtering:\n"
    "  min_resolution: 256              # the shorter side\n"
    "  max_aspect_ratio: 3.0            # longer side by shorter side\n"
    "  # min_aesthetic_score: 6.0       # also >=\n"
    "  # max_nsfw_score: 0.2            # <=\n"
    "  # where: [\"len(caption) > 5\", \"not contains(caption, 'stock photo')\"]\n"
    "\n"
    "semantic_deduplication:\n"
    "  n_clusters: 50000                # lowered, with a warning, when there are fewer rows\n"
    "  max_iter: 100\n"
    "  random_state: 42\n"
    "  eps_to_extract: 0.05             # a distance: removes pairs of cosine >= 0.95\n"
    "  eps_thresholds: [0.01, 0.05, 0.1]  # rows of the summary table\n"
    "  which_to_keep: hard              # hard, easy, random, or a column: aesthetic_score\n"
    "\n"
    "export:\n"
    "  # output: curated/               # PLACE/curated when not said\n"
    "  samples_per_shard: 10000\n";

/* ---- the words of each step ---- */

struct curation {
    struct curate_options *o;
    struct plan plan;
    const char **shards;
    int nshards;
    const char *place;
    struct str out, page; /* export's folder, report's file */
    enum step order[STEPS];
};

/* Options that every step understands, given on. */
static void add_common(struct plan *p, enum step step, const struct common *c)
{
    plan_word(p, step, "--device=%s", c->device);
    if (c->threads) plan_word(p, step, "--threads=%lld", (long long)c->threads);
    if (c->memory) plan_word(p, step, "--memory=%llu", (unsigned long long)c->memory);
    if (c->json) plan_word(p, step, "--json");
    if (c->quiet) plan_word(p, step, "--quiet");
    if (c->verbose) plan_word(p, step, "--verbose");
}

/* Does a step's table know this option? Those of curate itself go where they mean something. */
static int step_has(enum step step, const char *name)
{
    struct opt_set set = {{step_verb(step)->options, NULL}};
    return opt_find(&set, name, strlen(name)) != NULL;
}

static int is_our_export(const char *folder)
{
    struct str run = {0};
    str_printf(&run, "%s/_darkroom/export/run.json", folder);
    int yes = file_exists(run.p) == 1;
    str_release(&run);
    return yes;
}

static void add_own(struct curation *c, enum step step)
{
    struct plan *p = &c->plan;
    if (c->o->model_dir && step_has(step, "model-dir"))
        plan_word(p, step, "--model-dir=%s", c->o->model_dir);
    if (c->o->strict && step_has(step, "strict")) plan_word(p, step, "--strict");
    /* The folder that curate made for itself follows the rest; one that was named is asked about.
     */
    int own_folder = step == STEP_EXPORT && !c->o->output && !p->out && is_our_export(c->out.p);
    if (own_folder || (c->o->force_new_run && step_has(step, "force-new-run")))
        plan_word(p, step, "--force-new-run");
    if (c->o->max_bad && step == STEP_EMBED) plan_word(p, step, "--max-bad=%s", c->o->max_bad);
    if (step == STEP_DEDUP && !c->o->strict) plan_word(p, step, "--lower-clusters");
    if (step == STEP_DEDUP && !c->o->dedup_first && p->step[STEP_FILTER].on)
        plan_word(p, step, "--kept-only");
    if (step == STEP_REPORT) plan_word(p, step, "--output=%s", c->page.p);
    for (int i = 0; step == STEP_REPORT && i < c->nshards; i++)
        plan_word(p, step, "--shards=%s", c->shards[i]);
}

static void add_arguments(struct curation *c, enum step step)
{
    struct plan *p = &c->plan;
    plan_word(p, step, "--");
    for (int i = 0; (step == STEP_EMBED || step == STEP_EXPORT) && i < c->nshards; i++)
        plan_word(p, step, "%s", c->shards[i]);
    plan_word(p, step, "%s", c->place);
    if (step == STEP_EXPORT) plan_word(p, step, "%s", c->out.p);
}

/* Embeddings that another program made are used as they are. */
static int is_embedded_elsewhere(const char *place)
{
    struct str own = {0}, theirs = {0};
    str_printf(&own, "%s/_darkroom/embed/run.json", place);
    str_printf(&theirs, "%s/img_emb", place);
    int yes = !file_exists(own.p) && file_exists(theirs.p) == 2;
    str_release(&own);
    str_release(&theirs);
    return yes;
}

static void prepare(struct curation *c)
{
    static const enum step usual[STEPS] = {STEP_EMBED, STEP_SCORE,  STEP_FILTER,
                                           STEP_DEDUP, STEP_EXPORT, STEP_REPORT};
    memcpy(c->order, usual, sizeof usual);
    if (c->o->dedup_first) c->order[2] = STEP_DEDUP, c->order[3] = STEP_FILTER;
    if (is_embedded_elsewhere(c->place)) {
        log_info("%s was embedded by another program: its embeddings are used", c->place);
        c->plan.step[STEP_EMBED].on = 0;
    }
    if (c->o->no_export) c->plan.step[STEP_EXPORT].on = 0;
    const char *out = c->o->output ? c->o->output : c->plan.out;
    if (out)
        str_puts(&c->out, out);
    else
        str_printf(&c->out, "%s/curated", c->place);
    str_printf(&c->page, "%s/report.html", c->place);
    for (int i = 0; i < STEPS; i++) {
        if (!c->plan.step[i].on) continue;
        add_common(&c->plan, (enum step)i, &c->o->common);
        add_own(c, (enum step)i);
        add_arguments(c, (enum step)i);
    }
}

/* ---- showing and running ---- */

/* As a shell would have to be given it. */
static void put_word(struct str *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./=:,+%@";
    if (*word && word[strspn(word, plain)] == 0) {
        str_printf(out, " %s", word);
        return;
    }
    str_puts(out, " '");
    for (; *word; word++) {
        if (*word == '\'') str_puts(out, "'\\'");
        str_putc(out, *word);
    }
    str_putc(out, '\'');
}

static void print_plan(const struct curation *c)
{
    for (int i = 0; i < STEPS; i++) {
        const struct plan_step *s = &c->plan.step[c->order[i]];
        struct str line = {0};
        if (!s->on) continue;
        for (size_t k = 0; k < s->count; k++) put_word(&line, s->words[k]);
        log_result("darkroom %s%s", step_verb(c->order[i])->name, line.p);
        str_release(&line);
    }
}

static void print_example(void)
{
    for (const char *line = curate_example, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        log_result("%.*s", (int)(end - line), line);
    }
}

static int run_steps(struct curation *c)
{
    int total = 0, at = 0, worst = 0;
    double started = clock_now();
    for (int i = 0; i < STEPS; i++) total += c->plan.step[i].on;
    for (int i = 0; i < STEPS; i++) {
        const struct plan_step *s = &c->plan.step[c->order[i]];
        const char *name = step_verb(c->order[i])->name;
        if (!s->on) continue;
        if (stop_asked()) return err_set(ERR_STOPPED, "stopped by a signal before %s", name);
        log_info("step %d of %d: %s", ++at, total, name);
        int rc = verb_call(step_verb(c->order[i]), s->words, (int)s->count);
        if (rc < 0) return err_wrap(rc, "%s", name);
        if (rc > worst) worst = rc;
    }
    log_info("curate: %d steps in %.1f s; the report is %s", total, clock_now() - started,
             c->page.p);
    return worst;
}

/* --strict refuses before anything is read. */
static int check_eps(const char *text)
{
    double eps = text ? strtod(text, NULL) : 0;
    if (!(eps > 0.5)) return 0;
    return err_set(ERR_USAGE,
                   "--strict: eps %s is a distance and would remove every picture with a neighbour "
                   "of cosine >= %g; similarity %s is eps %g",
                   text, 1 - eps, text, 1 - eps);
}

static int curate_run(void *opts, const char **args, int nargs)
{
    struct curation c = {.o = opts};
    if (c.o->example) {
        print_example();
        return 0;
    }
    if (nargs < 3)
        return err_set(ERR_USAGE, "curate takes YAML SHARDS... PLACE; see darkroom curate --help");
    c.shards = args + 1;
    c.nshards = nargs - 2;
    c.place = args[nargs - 1];
    stop_catch_signals();
    int rc = plan_load(&c.plan, args[0], &c.o->set);
    if (!rc && strcmp(c.o->common.task, "0/1"))
        rc = err_set(ERR_USAGE, "curate runs whole; --task goes with its steps, which "
                                "--print-config shows");
    if (!rc && c.o->strict) rc = check_eps(c.plan.extract);
    if (!rc) prepare(&c);
    if (!rc && c.o->print_config)
        print_plan(&c);
    else if (!rc)
        rc = run_steps(&c);
    plan_release(&c.plan);
    str_release(&c.out);
    str_release(&c.page);
    return rc;
}

const struct verb curate_verb = {
    "curate",
    "YAML SHARDS... PLACE",
    "embed, score, filter, dedup, export and report in a row, from one file",
    "  darkroom curate --example > curation.yaml\n"
    "  darkroom curate curation.yaml shards/ place\n"
    "  darkroom curate image_config.yaml shards/ place --set semantic_deduplication.eps_to_extract=0.05\n"
    "  darkroom curate image_config.yaml shards/ place --print-config\n",
    "The file is NeMo Curator's image configuration (embedding, aesthetic_classifier,\n"
    "nsfw_classifier, semantic_deduplication, filtering) or its semantic-dedup file; sections also\n"
    "take the options of the verb they stand for. Every step is a verb of its own and resumes, so\n"
    "the same command again does what is still missing. The rule aesthetic_classifier.score_threshold\n"
    "keeps scores >= it, nsfw_classifier.score_threshold keeps scores < it, filtering.max_nsfw_score\n"
    "keeps scores <= it; all apply, each is a reason of its own.\n",
    options,
    sizeof(struct curate_options),
    curate_run};

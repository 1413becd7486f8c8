/* score.c - from embeddings to scores: heads and prompts over every row of a place.
 * Cheap beside embedding, so it is a plain sweep: each thread maps a partition's embeddings and
 * runs all heads over them in one pass. */
#include "stage/image/score.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"
#include "format/json.h"
#include "model/clip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    STEP_ROWS = 8192, /* between two signs of life */
    ROWS_THREAD = 512 /* for each of the threads that share the only partition */
};

#define AT(f) offsetof(struct score_options, f)

static const struct opt options[] = {
    {"head", NULL, 0, OPT_LIST, AT(heads), NULL, "NAME[=FILE]",
     "score with this head into column NAME_score; without FILE it is looked up", 0},
    {"prompts", NULL, 0, OPT_LIST, AT(prompts), NULL, "'NAME: a | b'",
     "probability of text a among a, b, ... into column NAME_score; needs --model", 0},
    {"model", "clip-model,model-name", 0, OPT_STR, AT(model), NULL, "NAME",
     "the model that made the embeddings, for --prompts", 0},
    {"model-dir", "clip-cache-path", 0, OPT_STR, AT(model_dir), NULL, "DIR",
     "folder in which heads and models are looked up first", 0},
    {"vocab", NULL, 0, OPT_STR, AT(vocab), NULL, "FILE",
     "bpe_simple_vocab_16e6.txt.gz, or a folder with vocab.json and merges.txt", 0},
    {"activation", NULL, 0, OPT_CHOICE, AT(activation), "auto", "auto|gelu|quick_gelu",
     "of the model, for weights without a configuration", 0},
    {"image-size", NULL, 0, OPT_INT, AT(image_size), "0", "S",
     "of the model, where embed was given it", 0},
    {"logit-scale", NULL, 0, OPT_FLOAT, AT(logit_scale), "0", "X",
     "another temperature for --prompts than the model's own", 0},
    {"batch-size", NULL, 0, OPT_INT, AT(batch_size), "0", "N",
     "rows in one device call; 0 = what suits the device", 0},
    OPT_END};

/* ---- columns ---- */

static int check_name(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (name[i] <= ' ' || name[i] >= 127 || strchr("\"'`/\\=|:,", name[i])) n = 0;
    if (n && n <= 100 && *name != '.' && *name != '-') return 0;
    return err_set(ERR_USAGE,
                   "'%s' cannot be the name of a column: letters, digits and underscores can",
                   name);
}

/* name and from become the column's, head comes later. */
static int add_column(struct scorer *s, char *name, char *from)
{
    struct str full = {0};
    vec_push(s->column, s->count, s->cap);
    struct score_column *c = &s->column[s->count++];
    *c = (struct score_column){.from = from, .least = INFINITY, .most = -INFINITY};
    int rc = check_name(name);
    str_printf(&full, "%s_score", name);
    c->name = str_steal(&full);
    free(name);
    for (size_t i = 0; i + 1 < s->count && !rc; i++)
        if (!strcmp(s->column[i].name, c->name))
            rc = err_set(ERR_USAGE, "two heads or prompts want the column %s", c->name);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct score_column *)a)->name, ((const struct score_column *)b)->name);
}

/* Is the built-in model the one that made these embeddings? */
static int made_by_tiny(const struct scorer *s)
{
    const char *embedded = sidecars_embedded(s->sidecars, "model");
    struct clip_ask ask = {.model = "tiny", .config_only = !*embedded};
    struct clip_config c;
    struct clip *clip = NULL;
    char hex[65] = "";
    if (clip_peek(&c, &ask) || c.embed != s->width) return 0;
    if (!*embedded) return 1;
    int same = !clip_open(&clip, s->device, &ask) && !clip_fingerprint(clip, hex) &&
               !strcmp(hex, embedded);
    clip_close(clip);
    return same;
}

static int open_file(struct scorer *s, struct score_column *c, const char *path)
{
    int rc = head_open(&c->head, s->device, path);
    if (!rc && s->width && head_width(c->head) != s->width)
        rc = err_set(ERR_USAGE,
                     "%s takes embeddings of width %d, but %s has width %d: it is a head for "
                     "another model",
                     path, head_width(c->head), s->width_from, s->width);
    return rc;
}

/* --head NAME=FILE, or NAME alone. */
static int open_head(struct scorer *s, const char *word)
{
    const char *equals = strchr(word, '='), *what = equals ? equals + 1 : word, *slash;
    char *path = NULL;
    if (!equals && strchr(word, '/'))
        return err_set(ERR_USAGE, "--head %s: give the column a name, --head NAME=%s", word, word);
    int rc = head_find(&path, what, s->o->model_dir, s->width, made_by_tiny(s));
    if (rc) return rc;
    slash = strrchr(path, '/'); /* the folder is this machine's business, and not everyone's */
    rc = add_column(s, equals ? mem_strndup(word, (size_t)(equals - word)) : mem_strdup(word),
                    mem_strdup(slash ? slash + 1 : path));
    if (!rc) rc = open_file(s, &s->column[s->count - 1], path);
    if (!rc && strcmp(path, what))
        log_info("%s: %s (%s)", s->column[s->count - 1].name, path,
                 head_what(s->column[s->count - 1].head));
    free(path);
    return rc;
}

static int open_prompts(struct scorer *s)
{
    size_t n = (size_t)s->o->prompts.count, first = s->count;
    struct opt_list *texts = mem_alloc((n + 1) * sizeof *texts);
    struct head **heads = mem_alloc((n + 1) * sizeof *heads);
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        char *name;
        rc = prompts_parse(&name, &texts[i], s->o->prompts.item[i]);
        if (!rc) rc = add_column(s, name, mem_strdup(s->o->prompts.item[i]));
    }
    if (!rc && n) rc = prompts_open(heads, texts, n, s);
    for (size_t i = 0; i < n; i++) {
        if (first + i < s->count) s->column[first + i].head = heads[i];
        prompts_release(&texts[i]);
    }
    free(texts);
    free(heads);
    return rc;
}

/* What decides a column's numbers beside its embeddings. */
static void sign_columns(struct scorer *s)
{
    struct str text = {0};
    qsort(s->column, s->count, sizeof *s->column, by_name);
    s->heads = mem_alloc(s->count * sizeof *s->heads);
    for (size_t i = 0; i < s->count; i++) {
        struct score_column *c = &s->column[i];
        str_clear(&text);
        str_printf(&text, "score 1\nhead %s\ndevice %s\nprecision f32\n", head_fingerprint(c->head),
                   s->device->kind);
        sha256_of(c->made_by, text.p, text.len);
        s->heads[i] = c->head;
    }
    str_release(&text);
}

/* ---- embeddings ---- */

/* The width of the embeddings, from the first partition that has rows. */
static int find_width(struct scorer *s)
{
    struct embeddings e = {0};
    struct str name = {0};
    int rc = 0;
    for (int64_t i = 0; i < sidecars_count(s->sidecars) && !s->width && !rc; i++) {
        if (sidecars_rows(s->sidecars, i) < 1) continue;
        rc = embeddings_open(&e, s->sidecars, SIDE_IMAGE, i);
        if (rc) break;
        s->width = e.dim;
        embeddings_close(&e);
        sidecars_name(&name, s->sidecars, SIDE_IMAGE, i);
        struct str full = {0};
        str_printf(&full, "%s/%s", place_url(sidecars_place(s->sidecars)), name.p);
        free(s->width_from);
        s->width_from = str_steal(&full);
    }
    str_release(&name);
    return rc;
}

/* Pages that were read are not needed again: the memory we seem to use stays small. */
static void drop_behind(const void *data, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), p = (uintptr_t)data, end = p + bytes;
    p = (p + page - 1) / page * page;
    end = end / page * page;
    if (end > p) madvise((void *)p, end - p, MADV_DONTNEED);
}

/* ---- the sweep ---- */

struct worker {
    struct device *lane; /* NULL: the device itself, all its threads on one partition */
    struct head_runner *runner;
    float **scores; /* [column][STEP_ROWS] */
};

static void worker_stop(void *arg, void *state)
{
    struct scorer *s = arg;
    struct worker *w = state;
    if (!w) return;
    head_runner_close(w->runner);
    device_close(w->lane);
    for (size_t i = 0; i < s->count; i++) free(w->scores[i]);
    free(w->scores);
    free(w);
}

static int worker_start(void *arg, void **state)
{
    struct scorer *s = arg;
    struct worker *w = mem_alloc(sizeof *w);
    int alone = sidecars_count(s->sidecars) == 1, rows = (int)s->o->batch_size, rc = 0;
    w->scores = mem_alloc(s->count * sizeof *w->scores);
    for (size_t i = 0; i < s->count; i++) w->scores[i] = mem_alloc(STEP_ROWS * sizeof **w->scores);
    *state = w;
    if (!rows && alone) rows = ROWS_THREAD * s->device->lanes;
    if (rows > STEP_ROWS) rows = STEP_ROWS;
    if (!alone) rc = device_lane(&w->lane, s->device);
    return rc ? rc
              : head_runner_open(&w->runner, s->heads, (int)s->count, w->lane ? w->lane : s->device,
                                 rows);
}

static void count_scores(struct scorer *s, float *const *scores, int64_t rows)
{
    pthread_mutex_lock(&s->lock);
    for (size_t k = 0; k < s->count; k++) {
        struct score_column *c = &s->column[k];
        for (int64_t i = 0; i < rows; i++) {
            double x = scores[k][i];
            if (!isfinite(x)) {
                c->nulls++;
                continue;
            }
            c->scored++;
            c->sum += x;
            if (x < c->least) c->least = x;
            if (x > c->most) c->most = x;
        }
    }
    pthread_mutex_unlock(&s->lock);
}

static int score_rows(struct scorer *s, struct worker *w, struct sweep_part *part,
                      const struct embeddings *e, struct score_table *t)
{
    size_t row = (size_t)e->dim * (e->half ? 2 : 4);
    const char *at = e->data;
    int64_t n;
    int rc;
    while (!(rc = table_next(t, STEP_ROWS, &n))) {
        if (e->dim)
            rc = head_run(w->runner, w->scores, at, e->half ? F16 : F32, n);
        else /* lists that are all null */
            for (size_t k = 0; k < s->count; k++)
                for (int64_t i = 0; i < n; i++) w->scores[k][i] = NAN;
        if (!rc) rc = table_put(t, w->scores);
        if (rc) return rc;
        count_scores(s, w->scores, n);
        drop_behind(at, (size_t)n * row);
        at += (size_t)n * row;
        if ((rc = sweep_progress(part, n))) return rc;
    }
    return rc < 0 ? rc : table_commit(t);
}

static int check_width(const struct scorer *s, const struct embeddings *e, int64_t index)
{
    struct str name = {0};
    int rc = 0;
    if (!e->rows || !e->dim || e->dim == s->width) return 0;
    sidecars_name(&name, s->sidecars, SIDE_IMAGE, index);
    rc = err_set(ERR_INPUT, "%s/%s has width %d, but %s %d: they are of different models",
                 place_url(sidecars_place(s->sidecars)), name.p, e->dim, s->width_from, s->width);
    str_release(&name);
    return rc;
}

static int score_part(void *arg, void *state, struct sweep_part *part)
{
    struct scorer *s = arg;
    struct embeddings e = {0};
    struct score_table *t = NULL;
    int rc = embeddings_open(&e, s->sidecars, SIDE_IMAGE, part->index);
    if (!rc) rc = check_width(s, &e, part->index);
    if (!rc) rc = table_open(&t, s, part);
    if (!rc) rc = score_rows(s, state, part, &e, t);
    table_close(t);
    embeddings_close(&e);
    return rc;
}

static int is_done(void *arg, int64_t index)
{
    return columns_done(arg, index);
}

/* ---- the verb ---- */

static int check_options(const struct score_options *o)
{
    if (!o->heads.count && !o->prompts.count)
        return err_set(ERR_USAGE,
                       "nothing to score with: --head aesthetic, --head NAME=FILE, or --prompts "
                       "'NAME: a | b' --model M");
    if (o->batch_size < -1 || o->batch_size > 1 << 20)
        return err_set(ERR_USAGE, "--batch-size must be 1 to 1048576, or 0 for what suits");
    if (o->image_size < 0 || o->image_size > 32768)
        return err_set(ERR_USAGE, "--image-size must be 1 to 32768");
    if (!(o->logit_scale >= 0) || isinf(o->logit_scale))
        return err_set(ERR_USAGE, "--logit-scale must be positive");
    if (o->common.threads < 0 || o->common.threads > 4096)
        return err_set(ERR_USAGE, "--threads must be 0 to 4096");
    if (strcmp(o->common.precision, "f32") && strcmp(o->common.precision, "fp32"))
        return err_set(ERR_USAGE, "--precision %s: this device computes in f32",
                       o->common.precision);
    return 0;
}

static int prepare(struct scorer *s, const char **args, int nargs)
{
    if (nargs != 1) return err_set(ERR_USAGE, "score takes one PLACE; see darkroom score --help");
    int rc = check_options(s->o);
    if (s->o->batch_size < 0) s->o->batch_size = 0; /* NeMo's "whole shard" */
    if (!rc) rc = sidecars_open(&s->sidecars, args[0]);
    if (!rc) rc = find_width(s);
    if (!rc) rc = device_open(&s->device, s->o->common.device, (int)s->o->common.threads);
    for (int i = 0; i < s->o->heads.count && !rc; i++) rc = open_head(s, s->o->heads.item[i]);
    if (!rc) rc = open_prompts(s);
    return rc;
}

/* Columns differ from run to run; what the place is made of does not. */
static int run_sweep(struct scorer *s)
{
    struct common common = s->o->common;
    struct sweep *w = &s->sweep;
    sign_columns(s);
    if (strcmp(s->device->name, "cpu")) common.threads = s->device->lanes;
    *w = (struct sweep){.common = &common,
                        .product = "score",
                        .sidecars = s->sidecars,
                        .replace = 1,
                        .reads = 1u << SIDE_IMAGE,
                        .arg = s,
                        .start = worker_start,
                        .work = score_part,
                        .stop = worker_stop,
                        .done = is_done};
    run_add(&w->run, "model", sidecars_embedded(s->sidecars, "model"));
    int rc = columns_claim(s);
    return rc ? rc : sweep_run(w);
}

static void print_columns(const struct scorer *s)
{
    struct str more = {0};
    str_puts(&more, ", \"columns\": [");
    for (size_t i = 0; i < s->count; i++) {
        const struct score_column *c = &s->column[i];
        double mean = c->scored ? c->sum / (double)c->scored : 0;
        str_printf(&more, "%s{\"name\": ", i ? ", " : "");
        json_quote(&more, c->name, strlen(c->name));
        str_printf(&more, ", \"scored\": %lld, \"null\": %lld", (long long)c->scored,
                   (long long)c->nulls);
        if (c->scored)
            str_printf(&more, ", \"least\": %.9g, \"mean\": %.9g, \"most\": %.9g", c->least, mean,
                       c->most);
        str_putc(&more, '}');
    }
    str_putc(&more, ']');
    sweep_summary(&s->sweep, more.p);
    for (size_t i = 0; i < s->count; i++) {
        const struct score_column *c = &s->column[i];
        if (c->scored)
            log_info("%s: %.4g to %.4g, mean %.4g", c->name, c->least, c->most,
                     c->sum / (double)c->scored);
        if (c->nulls)
            log_info("%s: %lld rows without a score: their embedding has no direction (zero, "
                     "infinite or NaN)",
                     c->name, (long long)c->nulls);
    }
    str_release(&more);
}

static void release(struct scorer *s)
{
    for (size_t i = 0; i < s->count; i++) {
        head_close(s->column[i].head);
        free(s->column[i].name);
        free(s->column[i].from);
    }
    free(s->column);
    free(s->heads);
    free(s->width_from);
    run_release(&s->sweep.run);
    device_close(s->device);
    sidecars_close(s->sidecars);
    pthread_mutex_destroy(&s->lock);
}

static int score_run(void *opts, const char **args, int nargs)
{
    struct scorer s = {.o = opts};
    pthread_mutex_init(&s.lock, NULL);
    stop_catch_signals();
    int rc = prepare(&s, args, nargs);
    if (!rc) rc = run_sweep(&s);
    if (!rc && !s.sweep.todo && !s.sweep.missing)
        log_info("nothing to do: all %lld partitions of this task have these scores",
                 (long long)s.sweep.done_before);
    if (!rc || rc == ERR_STOPPED) print_columns(&s);
    if (!rc) rc = sweep_judge(&s.sweep);
    release(&s);
    return rc;
}

const struct verb score_verb = {
    "score",
    "PLACE",
    "embeddings to scores: aesthetics, NSFW, any head, any prompts",
    "  darkroom score place --head aesthetic=sac+logos+ava1-l14-linearMSE.pth --head nsfw\n"
    "  darkroom score place --prompts 'watermark: a picture with a watermark | a clean picture' "
    "--model ViT-L/14\n"
    "  darkroom score laion/ --head style=style.json     # a clip-retrieval folder, a described "
    "head\n",
    "PLACE is what embed made, a folder of clip-retrieval's or LAION's, or NeMo Curator's tar and\n"
    "parquet files. scores/scores_N.parquet receives one float32 column NAME_score per head, one row\n"
    "per embedding, null where an embedding has no direction. Columns of other names stay; a column\n"
    "of the same name is replaced when another head makes it. docs/heads.md says which heads are\n"
    "known and how to describe any other.\n",
    options,
    sizeof(struct score_options),
    score_run};

/* filter.c - rows that satisfy every rule are kept, and the others remember why they are not.
 * A plain sweep: each thread judges whole partitions by its own copy of the rules. */
#include "stage/filter/filter.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/stop.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 512 << 10 }; /* of all rules: they stand in run.json */

#define AT(f) offsetof(struct filter_options, f)

static const struct opt options[] = {
    {"where", NULL, 0, OPT_LIST, AT(where), NULL, "EXPR",
     "keep rows for which this is true; given several times, all of them count", 0},
    {"dry-run", NULL, 'n', OPT_FLAG, AT(dry_run), NULL, NULL,
     "say how many rows each rule drops; write nothing", 0},
    OPT_END};

/* ---- rules and columns ---- */

static const char *source_of(enum sidecar from)
{
    return from == SIDE_SCORES ? "scores" : from == SIDE_ASSIGN ? "dedup" : "metadata";
}

/* The columns of the place, and clip_similarity, which is worked out when a rule asks for it. */
static int list_columns(struct filter *f)
{
    int rc = columns_load_without(&f->columns, f->sidecars, SIDE_KEEP);
    int both = !rc && sidecars_any(f->sidecars, SIDE_IMAGE) && sidecars_any(f->sidecars, SIDE_TEXT);
    f->known = mem_alloc((f->columns.count + 1) * sizeof *f->known);
    for (size_t i = 0; i < f->columns.count && !rc; i++) {
        const struct column_info *c = &f->columns.list[i];
        f->known[f->count++] =
            (struct expr_column){c->name, c->type, c->single, source_of(c->from), NULL, 0};
    }
    f->known[f->count++] = (struct expr_column){
        .name = "clip_similarity",
        .type = COLUMN_REAL,
        .single = 1,
        .from = "embeddings",
        .refuse = both ? NULL : "it needs img_emb/ and text_emb/, so captions must be embedded too",
        .derived = 1};
    return rc;
}

static int parse_rules(struct expr *e, const struct opt_list *where)
{
    size_t total = 0;
    int rc = where->count
                 ? 0
                 : err_set(ERR_USAGE, "no rule is given: --where 'aesthetic_score >= 6 and "
                                      "min(width, height) >= 256'");
    for (int i = 0; i < where->count && !rc; i++) {
        total += strlen(where->item[i]);
        rc = total > TEXT_MAX ? err_set(ERR_USAGE, "more than %d KiB of rules", TEXT_MAX >> 10)
                              : expr_add(e, where->item[i]);
    }
    return rc ? err_wrap(rc, "--where") : 0;
}

/* Scores that do not count have no columns: say that, not that the name is unknown. */
static int scores_stale(const struct filter *f)
{
    struct sidecars *s = f->sidecars;
    for (int64_t i = 0; i < sidecars_count(s) && !sidecars_any(s, SIDE_SCORES); i++)
        if (sidecars_rows(s, i) > 0 && sidecars_need(s, SIDE_SCORES, i) == ERR_STALE) return 1;
    return 0;
}

static int bind_rules(struct expr *e, const struct filter *f)
{
    int rc = expr_bind(e, f->known, f->count);
    if (!rc) return 0;
    rc = err_wrap(rc, "--where");
    char *text = mem_strdup(err_text());
    if (scores_stale(f))
        rc = ERR_STALE;
    else if (sidecars_any(f->sidecars, SIDE_METADATA))
        rc = err_set(rc, "%s", text);
    else
        rc = err_set(rc, "%s\n    (there is no metadata here; darkroom embed --metadata writes it)",
                     text);
    free(text);
    return rc;
}

/* Which columns are read, and from which kinds of sidecar. */
static void plan_reads(struct filter *f)
{
    f->want = mem_alloc((f->count + 1) * sizeof *f->want);
    f->want_at = mem_alloc((f->count + 1) * sizeof *f->want_at);
    f->lack = mem_alloc((f->count + 1) * sizeof *f->lack);
    for (size_t i = 0; i < f->columns.count; i++) {
        if (!expr_reads(f->expr, i)) continue;
        f->want[f->wanted] = &f->columns.list[i];
        f->want_at[f->wanted++] = i;
        f->sweep.reads |= 1u << f->columns.list[i].from;
    }
    f->similarity = expr_reads(f->expr, f->columns.count);
    if (f->similarity) f->sweep.reads |= 1u << SIDE_IMAGE | 1u << SIDE_TEXT;
}

/* The rules, and what their columns are: other types may give other verdicts. */
static void describe_run(struct filter *f)
{
    struct str text = {0};
    for (size_t i = 0; i < expr_rules(f->expr); i++) {
        str_clear(&text);
        str_printf(&text, "rule %zu", i + 1);
        run_add(&f->sweep.run, text.p, expr_rule(f->expr, i));
    }
    str_clear(&text);
    for (size_t k = 0; k < f->wanted; k++) {
        const struct expr_column *c = &f->known[f->want_at[k]];
        str_printf(&text, "%s%s: %s%s of %s", k ? ", " : "", c->name, column_type_name(c->type),
                   c->single ? "32" : "", c->from);
    }
    run_add(&f->sweep.run, "columns", text.p ? text.p : "");
    str_release(&text);
}

/* ---- judging ---- */

struct worker {
    struct expr *expr;
    const struct column **values;
    struct column similar;
    struct expr_tally *tally; /* of the present partition */
    int32_t verdict[FILTER_ROWS];
    double cosine[FILTER_ROWS];
};

static void worker_stop(void *arg, void *state)
{
    struct worker *w = state;
    (void)arg;
    if (!w) return;
    expr_free(w->expr);
    free(w->values);
    free(w->tally);
    free(w);
}

static int worker_start(void *arg, void **state)
{
    const struct filter *f = arg;
    struct worker *w = *state = mem_alloc(sizeof *w);
    w->expr = expr_new();
    w->values = mem_alloc((f->count + 1) * sizeof *w->values);
    w->tally = mem_alloc(expr_rules(f->expr) * sizeof *w->tally);
    w->similar = (struct column){.type = COLUMN_REAL, .reals = w->cosine};
    if (f->similarity) w->values[f->columns.count] = &w->similar;
    int rc = parse_rules(w->expr, &f->o->where);
    return rc ? rc : bind_rules(w->expr, f);
}

int64_t filter_count(struct filter *f, const struct expr_tally *tally, int64_t rows)
{
    int64_t kept = rows;
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < expr_rules(f->expr); i++) {
        f->tally[i].fails += tally[i].fails;
        f->tally[i].dropped += tally[i].dropped;
        f->tally[i].null += tally[i].null;
        kept -= (int64_t)tally[i].dropped;
    }
    f->kept += kept;
    rows = f->rows += rows;
    pthread_mutex_unlock(&f->lock);
    return rows;
}

/* Every row of a partition; keep and part are NULL when nothing is written. */
static int judge_rows(struct filter *f, struct worker *w, struct batch *b, struct similarity *s,
                      struct keep *keep, struct sweep_part *part)
{
    int64_t at = 0;
    size_t rows;
    int rc;
    while (!(rc = batch_next(b, FILTER_ROWS, &rows))) {
        for (size_t k = 0; k < f->wanted; k++) w->values[f->want_at[k]] = batch_column(b, k);
        if (f->similarity) similarity_get(w->cosine, s, at, (int64_t)rows);
        expr_judge(w->expr, w->verdict, w->tally, w->values, rows);
        at += (int64_t)rows;
        if (keep) rc = keep_put(keep, w->verdict, rows);
        if (!rc && part) rc = sweep_progress(part, (int64_t)rows);
        if (rc) return rc;
        if (stop_asked()) return err_set(ERR_STOPPED, "stopped by a signal");
    }
    return rc < 0 ? rc : 0;
}

/* A score that was made for some partitions only is an oversight; a field of the metadata that
 * some lack is not. */
static void note_lacks(struct filter *f, const struct batch *b, int64_t index)
{
    pthread_mutex_lock(&f->lock);
    for (size_t k = 0; k < f->wanted; k++) {
        struct lack *l = &f->lack[k];
        if (f->want[k]->from != SIDE_SCORES || !batch_lacks(b, k)) continue;
        if (!l->parts++ || index < l->first) l->first = index;
    }
    pthread_mutex_unlock(&f->lock);
}

static void tell_lacks(const struct filter *f)
{
    for (size_t k = 0; k < f->wanted; k++) {
        const struct lack *l = &f->lack[k];
        char more[48] = "";
        if (!l->parts) continue;
        if (l->parts > 1) snprintf(more, sizeof more, " (and %lld more)", (long long)l->parts - 1);
        log_warn("partition %lld%s has no %s: there rows count as without a value; run darkroom "
                 "score with that head",
                 (long long)sidecars_number(f->sidecars, l->first), more, f->want[k]->name);
    }
}

static int judge(struct filter *f, struct worker *w, int64_t index, struct sweep_part *part)
{
    struct batch *b = NULL;
    struct similarity s = {0};
    struct keep *keep = NULL;
    int64_t rows = sidecars_rows(f->sidecars, index);
    if (!rows) return 0;
    memset(w->tally, 0, expr_rules(f->expr) * sizeof *w->tally);
    int rc = batch_open(&b, f->sidecars, index, f->want, f->wanted);
    if (!rc) note_lacks(f, b, index);
    if (!rc && f->similarity) rc = similarity_open(&s, f->sidecars, index);
    if (!rc && part) rc = keep_open(&keep, f, part);
    if (!rc) rc = judge_rows(f, w, b, &s, keep, part);
    if (!rc && keep) rc = keep_commit(keep);
    if (!rc) rows = filter_count(f, w->tally, rows);
    if (!rc && !part) log_progress("filter: %lld rows judged", (long long)rows);
    keep_close(keep);
    similarity_close(&s);
    batch_close(b);
    return rc;
}

static int judge_part(void *arg, void *state, struct sweep_part *part)
{
    return judge(arg, state, part->index, part);
}

/* A partition that stays as it is counts too. */
static int count_done(void *arg, int64_t index)
{
    struct filter *f = arg;
    if (!sidecars_rows(f->sidecars, index) || !keep_count(f, index)) return 1;
    log_info("partition %lld will be redone: %s", (long long)sidecars_number(f->sidecars, index),
             err_text());
    return 0;
}

/* ---- a dry run: the same without files ---- */

struct dry {
    struct filter *filter;
    struct worker **worker;
    int64_t *todo;
    atomic_int failed;
    char error[1024];
};

static void dry_one(void *arg, size_t i, int worker)
{
    struct dry *d = arg;
    struct filter *f = d->filter;
    void *state = d->worker[worker];
    if (atomic_load(&d->failed)) return;
    int rc = state ? 0 : worker_start(f, &state);
    d->worker[worker] = state;
    if (!rc) rc = judge(f, state, d->todo[i], NULL);
    if (!rc) return;
    pthread_mutex_lock(&f->lock);
    if (!atomic_load(&d->failed)) strncpy(d->error, err_text(), sizeof d->error - 1);
    atomic_store(&d->failed, rc);
    pthread_mutex_unlock(&f->lock);
}

static int dry_run(struct filter *f)
{
    struct dry d = {.filter = f};
    struct task task;
    int64_t parts = sidecars_count(f->sidecars), threads = f->o->common.threads;
    size_t todo = 0;
    int rc = task_parse(&task, f->o->common.task);
    if (rc) return rc;
    d.todo = mem_alloc(((size_t)parts + 1) * sizeof *d.todo);
    for (int64_t i = 0; i < parts; i++) {
        if (!task_has(&task, i)) continue;
        if (sidecars_rows(f->sidecars, i) < 0)
            f->sweep.missing++;
        else
            d.todo[todo++] = i;
    }
    if (!threads) threads = cpu_count();
    if ((size_t)threads > todo) threads = (int64_t)todo;
    struct pool *pool = pool_new(threads ? (int)threads : 1);
    d.worker = mem_alloc((size_t)(threads + 1) * sizeof *d.worker);
    pool_for(pool, todo, dry_one, &d);
    for (int64_t i = 0; i < threads; i++) worker_stop(f, d.worker[i]);
    pool_free(pool);
    log_progress_end();
    free(d.worker);
    free(d.todo);
    rc = atomic_load(&d.failed);
    return rc ? err_set(rc, "%s", d.error) : 0;
}

/* ---- the verb ---- */

static int prepare(struct filter *f, const char **args, int nargs)
{
    int64_t threads = f->o->common.threads;
    if (nargs != 1) return err_set(ERR_USAGE, "filter takes one PLACE; see darkroom filter --help");
    if (threads < 0 || threads > 4096) return err_set(ERR_USAGE, "--threads must be 0 to 4096");
    f->expr = expr_new();
    int rc = parse_rules(f->expr, &f->o->where);
    if (!rc) rc = sidecars_open(&f->sidecars, args[0]);
    if (!rc) rc = list_columns(f);
    if (!rc) rc = bind_rules(f->expr, f);
    if (rc) return rc;
    f->tally = mem_alloc(expr_rules(f->expr) * sizeof *f->tally);
    plan_reads(f);
    describe_run(f);
    return 0;
}

static int run_sweep(struct filter *f)
{
    struct sweep *w = &f->sweep;
    w->common = &f->o->common;
    w->product = "filter";
    w->sidecars = f->sidecars;
    w->replace = 1;
    w->arg = f;
    w->start = worker_start;
    w->work = judge_part;
    w->stop = worker_stop;
    w->done = count_done;
    return sweep_run(w);
}

static void tell(const struct filter *f)
{
    struct str more = {0}, event = {0};
    filter_events(&more, f);
    if (f->o->dry_run) {
        str_printf(&event, "{\"event\": \"dry-run\", \"product\": \"filter\"%s}", more.p);
        log_event(event.p);
    } else {
        sweep_summary(&f->sweep, more.p);
    }
    if (f->o->dry_run || !f->o->common.quiet) filter_show(f);
    tell_lacks(f);
    if (f->rows && !f->kept)
        log_warn("no row passes %s: nothing is kept",
                 expr_rules(f->expr) == 1 ? "the rule" : "all rules");
    str_release(&more);
    str_release(&event);
}

static void release(struct filter *f)
{
    run_release(&f->sweep.run);
    expr_free(f->expr);
    columns_release(&f->columns);
    sidecars_close(f->sidecars);
    free(f->known);
    free(f->want);
    free(f->want_at);
    free(f->lack);
    free(f->tally);
    pthread_mutex_destroy(&f->lock);
}

static int filter_run(void *opts, const char **args, int nargs)
{
    struct filter f = {.o = opts};
    pthread_mutex_init(&f.lock, NULL);
    stop_catch_signals();
    int rc = prepare(&f, args, nargs);
    if (!rc) rc = f.o->dry_run ? dry_run(&f) : run_sweep(&f);
    if (!rc && !f.o->dry_run && !f.sweep.todo && !f.sweep.missing)
        log_info("nothing to do: all %lld partitions of this task are filtered by these rules",
                 (long long)f.sweep.done_before);
    if (!rc || (rc == ERR_STOPPED && !f.o->dry_run)) {
        char *why = mem_strdup(err_text());
        tell(&f);
        if (rc) err_set(rc, "%s", why);
        free(why);
    }
    if (!rc) rc = sweep_judge(&f.sweep);
    release(&f);
    return rc;
}

const struct verb filter_verb = {
    "filter",
    "PLACE",
    "keep the rows for which conditions hold, and say why the others go",
    "  darkroom filter place --where 'aesthetic_score >= 6 and nsfw_score <= 0.2 and min(width, "
    "height) >= 256 and aspect <= 3'\n"
    "  darkroom filter place --where 'clip_similarity >= 0.28' --where 'not matches(caption, "
    "\"(?i)stock photo\")'\n"
    "  darkroom filter place --where 'resolution >= 512' --dry-run     # how many each rule drops\n",
    "PLACE is what embed and score made, a folder of clip-retrieval's or LAION's, or NeMo Curator's\n"
    "tar and parquet files. A condition speaks of the columns of metadata and scores, and of aspect\n"
    "(longer side / shorter side), resolution (the shorter side) and clip_similarity (caption against\n"
    "picture). It has comparisons, and or not (also & | ~), + - * / // % **, in [..], is null, and\n"
    "len contains matches startswith endswith lower upper min max abs coalesce. A comparison with a\n"
    "null is false. What `and` joins at the top are the rules: keep/keep_N.parquet has one row per\n"
    "sample, keep and reason, the first rule that failed. Other rules replace the old result.\n"
    "docs/filter.md is the language's manual.\n",
    options,
    sizeof(struct filter_options),
    filter_run};

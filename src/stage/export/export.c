/* export.c - new shards from what filter and dedup left.
 * Plan (which survivor stands in which output shard, which shards are not done yet), run the
 * lanes, tell what happened. The same command again finds everything done. */
#include "stage/export/export.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES_MAX = 16, LANE_BYTES = 32 << 20, SHARDS_MAX = 12 };

#define AT(f) offsetof(struct export_options, f)

static const struct opt options[] = {
    {"samples-per-shard", NULL, 0, OPT_INT, AT(samples_per_shard), "10000", "N",
     "samples in every output shard but the last", OPT_PRINTED},
    {"with-embedding", NULL, 0, OPT_FLAG, AT(with_embedding), NULL, NULL,
     "a column image_embedding (list of float) in the tables", OPT_PRINTED},
    {"renumber", NULL, 0, OPT_FLAG, AT(renumber), NULL, NULL,
     "new keys as NeMo Curator numbers them: shard and place in it, 000420007", OPT_PRINTED},
    {"old-key", "old-id-col", 0, OPT_STR, AT(old_key), "old_key", "NAME",
     "column that keeps the old keys with --renumber", OPT_PRINTED},
    {"max-shards", NULL, 0, OPT_INT, AT(max_shards), "5", "DIGITS",
     "digits of a shard's number in names and new keys", OPT_PRINTED},
    {"list", NULL, 0, OPT_FLAG, AT(list), NULL, NULL,
     "only list what would be exported: shard, tab, key; takes PLACE [FILE], no shards", 0},
    {"input-format", NULL, 0, OPT_CHOICE, AT(input_format), "auto", "auto|webdataset|files",
     "what SHARDS are", 0},
    {"allow-pipe", NULL, 0, OPT_FLAG, AT(allow_pipe), NULL, NULL,
     "run pipe: commands that come from a list file", 0},
    {"force-new-run", NULL, 0, OPT_FLAG, AT(force_new_run), NULL, NULL,
     "replace another export that is in OUT", 0},
    OPT_END};

static int check_options(const struct export_options *o)
{
    if (o->samples_per_shard < 1 || o->samples_per_shard > 1000000000)
        return err_set(ERR_USAGE, "--samples-per-shard must be 1 to 1000000000");
    if (o->max_shards < 1 || o->max_shards > SHARDS_MAX)
        return err_set(ERR_USAGE, "--max-shards is a number of digits, 1 to %d", SHARDS_MAX);
    if (!*o->old_key) return err_set(ERR_USAGE, "--old-key must not be empty");
    if (o->common.threads < 0 || o->common.threads > 4096)
        return err_set(ERR_USAGE, "--threads must be 0 to 4096");
    return 0;
}

static void run_number(struct run *run, const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    run_add(run, name, text);
}

static int describe_run(struct exporter *x)
{
    struct str v = {0};
    for (const struct opt *o = options; o->name; o++) {
        if (!(o->flags & OPT_PRINTED)) continue;
        str_clear(&v);
        opt_print(&v, o, x->o);
        run_add(&x->run, o->name, v.p ? v.p : "");
    }
    str_release(&v);
    run_number(&x->run, "samples", x->survivors.count);
    run_number(&x->run, "partitions", x->shards);
    return plan_describe(&x->run, x);
}

static int prepare(struct exporter *x, const char **args, int nargs)
{
    if (nargs < 3)
        return err_set(ERR_USAGE, "export takes SHARDS... PLACE OUT; see darkroom export --help");
    int rc = check_options(x->o);
    if (!rc) rc = task_parse(&x->task, x->o->common.task);
    if (!rc) rc = sidecars_open(&x->sidecars, args[nargs - 2]);
    if (!rc) rc = survivors_load(&x->survivors, x->sidecars);
    if (!rc) rc = sheet_load(&x->sheet, x->sidecars, x->o);
    if (!rc) rc = plan_shards(x);
    if (!rc) rc = plan_inputs(x, args, nargs - 2);
    if (!rc) rc = describe_run(x);
    if (!rc) rc = plan_out(x, args[nargs - 1]);
    return rc ? rc : plan_todo(x);
}

/* ---- the run ---- */

void export_fail(struct exporter *x, int rc)
{
    pthread_mutex_lock(&x->lock);
    if (!atomic_load(&x->failed)) {
        snprintf(x->error, sizeof x->error, "%s", err_text());
        atomic_store(&x->failed, rc);
        stop_waits(1);
    }
    pthread_mutex_unlock(&x->lock);
}

struct share {
    struct exporter *x;
    size_t from, to;
    pthread_t thread;
};

static void *run_share(void *arg)
{
    struct share *s = arg;
    lane_run(s->x, s->from, s->to);
    return NULL;
}

static int run_lanes(struct exporter *x)
{
    struct share share[LANES_MAX];
    uint64_t memory = x->o->common.memory ? x->o->common.memory : 512ull << 20;
    size_t lanes = x->o->common.threads > 0 ? (size_t)x->o->common.threads : (size_t)cpu_count();
    if (lanes > LANES_MAX) lanes = LANES_MAX;
    if (lanes > memory / LANE_BYTES) lanes = memory / LANE_BYTES ? memory / LANE_BYTES : 1;
    if (lanes > x->ntodo) lanes = x->ntodo;
    live_start(&x->live, x->out, "export", x->task);
    show_live(x, "running");
    for (size_t i = 0; i < lanes; i++)
        share[i] = (struct share){x, x->ntodo * i / lanes, x->ntodo * (i + 1) / lanes, 0};
    size_t started = 1;
    while (started < lanes &&
           !pthread_create(&share[started].thread, NULL, run_share, &share[started]))
        started++;
    run_share(&share[0]);
    for (size_t i = 1; i < lanes; i++)
        if (i < started)
            pthread_join(share[i].thread, NULL);
        else
            run_share(&share[i]); /* no thread was to be had */
    stop_waits(0);
    log_progress_end();
    int rc = atomic_load(&x->failed);
    show_live(x, rc == ERR_STOPPED ? "stopped" : rc ? "failed" : "done");
    return rc ? err_set(rc, "%s", x->error) : 0;
}

static int run_export(struct exporter *x)
{
    int rc = 0;
    show_start(x);
    if (stop_asked()) return err_set(ERR_STOPPED, "stopped by a signal");
    if (!x->survivors.count)
        log_warn("nothing is left to export: filter dropped %lld of %lld rows, dedup removed %lld",
                 (long long)x->survivors.dropped, (long long)x->survivors.rows,
                 (long long)x->survivors.removed);
    else if (!x->ntodo)
        log_info("nothing to do: all %lld shards of this task are done", (long long)x->done_before);
    else if (!(rc = run_lanes(x)))
        show_end(x);
    if (rc == ERR_STOPPED)
        rc = err_set(rc, "stopped by a signal; the same command goes on from here");
    return rc ? rc : show_judge(x);
}

static void release(struct exporter *x)
{
    for (size_t i = 0; x->labels && i < x->inputs.names.count; i++) free(x->labels[i]);
    free(x->labels);
    free(x->lost);
    free(x->todo);
    map_release(&x->by_label);
    seen_release(&x->told);
    folders_close(&x->folders);
    inputs_release(&x->inputs);
    sheet_release(&x->sheet);
    survivors_release(&x->survivors);
    run_release(&x->run);
    sidecars_close(x->sidecars);
    place_close(x->out);
    pthread_mutex_destroy(&x->lock);
}

static int export_run(void *opts, const char **args, int nargs)
{
    struct exporter *x = mem_alloc(sizeof *x);
    x->o = opts;
    if (x->o->list) {
        free(x);
        return export_list(opts, args, nargs);
    }
    pthread_mutex_init(&x->lock, NULL);
    stop_catch_signals();
    int rc = prepare(x, args, nargs);
    if (!rc) show_note_begin(x);
    if (!rc) rc = run_export(x);
    if (rc >= 0) show_note_end(x);
    release(x);
    free(x);
    return rc;
}

const struct verb export_verb = {
    "export",
    "SHARDS... PLACE OUT",
    "new shards from what filter kept and dedup left",
    "  darkroom export shards/ place curated/ --samples-per-shard 10000\n"
    "  darkroom export 'pipe:aws s3 cp --quiet s3://bucket/{00000..00127}.tar -' place curated/\n"
    "  darkroom export shards/ place curated/ --renumber --with-embedding   # as NeMo Curator has it\n"
    "  darkroom export --list place kept.tsv\n",
    "SHARDS are what PLACE was embedded from, PLACE is what embed, filter and dedup made, and OUT\n"
    "receives NNNNN.tar and NNNNN.parquet. Pictures, captions, JSON and whatever else a sample has\n"
    "are copied byte for byte, under their own names, in their own order. The table has a row per\n"
    "sample: metadata and scores. A source that changed since it was embedded is refused (exit 7).\n"
    "The same command again does what is still missing; --task I/N writes the I-th of N rows of\n"
    "neighbouring shards, and all tasks together equal one run. See docs/export.md.\n",
    options,
    sizeof(struct export_options),
    export_run};

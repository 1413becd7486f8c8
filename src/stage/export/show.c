/* show.c - what a user sees of export: the progress line, the live file, the summary, and the
 * note in PLACE that says where its samples went. */
#include "stage/export/export.h"
#include "base/clock.h"
#include "base/log.h"
#include "format/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void show_live(struct exporter *x, const char *state)
{
    long long n = atomic_load(&x->samples);
    live_write(&x->live, state,
               &(struct live_counts){.samples = n,
                                     .rows = n,
                                     .partitions_done = atomic_load(&x->written),
                                     .last_error = x->error[0] ? x->error : NULL});
}

void show_progress(struct exporter *x)
{
    long long n = atomic_load(&x->samples);
    double spent = clock_now() - x->live.started;
    char eta[32] = "?";
    if (n > 0) clock_span(eta, spent * (double)(x->total - n) / (double)n);
    log_progress("export %lld of %lld samples  %.0f MB/s  ETA %s  shards %lld of %lld", n,
                 (long long)x->total, spent > 0 ? (double)atomic_load(&x->bytes) / spent / 1e6 : 0,
                 eta, (long long)x->done_before + atomic_load(&x->written), (long long)x->shards);
    pthread_mutex_lock(&x->lock);
    if (live_due(&x->live)) show_live(x, "running");
    pthread_mutex_unlock(&x->lock);
}

void show_start(const struct exporter *x)
{
    const struct survivors *s = &x->survivors;
    struct str e = {0};
    if (s->filtered || s->deduped)
        log_info("%lld of %lld rows are exported: filter dropped %lld, dedup removed %lld",
                 (long long)s->count, (long long)s->rows, (long long)s->dropped,
                 (long long)s->removed);
    else
        log_info("all %lld rows are exported: neither filter nor dedup was run",
                 (long long)s->rows);
    str_printf(&e,
               "{\"event\": \"start\", \"rows\": %lld, \"dropped\": %lld, \"removed\": %lld, "
               "\"samples\": %lld, \"shards\": %lld, \"todo\": %zu, \"done_before\": %lld}",
               (long long)s->rows, (long long)s->dropped, (long long)s->removed,
               (long long)s->count, (long long)x->shards, x->ntodo, (long long)x->done_before);
    log_event(e.p);
    str_release(&e);
}

void show_end(struct exporter *x)
{
    struct str e = {0};
    double spent = clock_now() - x->live.started;
    long long bytes = atomic_load(&x->bytes), written = atomic_load(&x->written);
    log_info("%s: %lld samples in %lld shard%s written, %.0f MB in %.1f s, %.0f MB/s; %lld were "
             "done before, %lld left undone",
             place_url(x->out), (long long)atomic_load(&x->samples), written,
             written == 1 ? "" : "s", (double)bytes / 1e6, spent,
             spent > 0 ? (double)bytes / spent / 1e6 : 0, (long long)x->done_before,
             (long long)atomic_load(&x->undone));
    str_printf(&e,
               "{\"event\": \"done\", \"product\": \"export\", \"samples\": %lld, "
               "\"shards_written\": %lld, \"shards_before\": %lld, \"shards_undone\": %lld, "
               "\"bytes\": %lld, \"seconds\": %.3f}",
               (long long)atomic_load(&x->samples), written, (long long)x->done_before,
               (long long)atomic_load(&x->undone), bytes, spent);
    log_event(e.p);
    str_release(&e);
}

int show_judge(const struct exporter *x)
{
    long long undone = atomic_load(&x->undone), twice = atomic_load(&x->twice);
    int64_t missing = sidecars_missing(x->sidecars);
    if (twice)
        log_warn("%lld samples have the key of another sample in the same shard; webdataset reads "
                 "them, but keys name two things; --renumber gives every sample one of its own",
                 twice);
    if (undone)
        log_warn("%lld shard%s could not be written: an input is missing or failed; the same "
                 "command tries again",
                 undone, undone == 1 ? "" : "s");
    if (missing)
        log_warn("%lld partition%s not embedded yet and not exported; run embed to its end, then "
                 "this again with --force-new-run",
                 (long long)missing, missing == 1 ? " is" : "s are");
    return undone || missing ? 3 : 0;
}

/* ---- the note in PLACE ---- */

/* `export` is also a product of PLACE, with one partition that is done when OUT is whole: status,
 * report and explain know from it where the samples went. A courtesy: a place that cannot be
 * written to is exported all the same. */

static void describe(struct run *run, const struct exporter *x)
{
    static const char *const kept[] = {"samples-per-shard", "renumber", "max-shards", "samples"};
    char *path = realpath(place_url(x->out), NULL), shards[24];
    memset(run, 0, sizeof *run);
    run_add(run, "out", path ? path : place_url(x->out));
    run_add(run, "export", x->run.fingerprint);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        run_add(run, kept[i], run_get(&x->run, kept[i]));
    snprintf(shards, sizeof shards, "%lld", (long long)x->shards);
    run_add(run, "shards", shards);
    run_add(run, "partitions", "1");
    free(path);
}

static int forget(struct place *p)
{
    int rc = receipt_remove(p, "export", 0, 1);
    return rc ? rc : place_remove(p, "_darkroom/export/run.json");
}

/* Is the note that is there of this export? */
static int is_noted(const struct exporter *x)
{
    struct run old = {0}, now;
    struct place *p = sidecars_place(x->sidecars);
    describe(&now, x);
    int same = !run_load(&old, p, "export") && old.count == now.count;
    for (size_t i = 0; i < now.count && same; i++) {
        const char *v = run_get(&old, now.field[i].name);
        same = v && !strcmp(v, now.field[i].value);
    }
    run_release(&old);
    run_release(&now);
    return same;
}

void show_note_begin(const struct exporter *x)
{
    struct place *p = sidecars_place(x->sidecars);
    if (place_exists(p, "_darkroom/export/run.json", NULL) && !is_noted(x)) (void)forget(p);
}

static void print_note(struct str *s, const struct exporter *x, const struct run *run)
{
    const char *out = run_get(run, "out");
    const struct survivors *v = &x->survivors;
    str_puts(s, "{\"out\": ");
    json_quote(s, out, strlen(out));
    str_printf(s,
               ", \"rows\": %lld, \"dropped\": %lld, \"removed\": %lld, \"samples\": %lld, "
               "\"shards\": %lld}\n",
               (long long)v->rows, (long long)v->dropped, (long long)v->removed,
               (long long)v->count, (long long)x->shards);
}

static int write_note(const struct exporter *x)
{
    struct place *p = sidecars_place(x->sidecars);
    struct receipt r = {.digits = 1, .samples = x->survivors.count, .rows = x->survivors.count};
    struct run run;
    struct str text = {0};
    struct sink *s;
    char sha256[65];
    uint64_t size;
    describe(&run, x);
    print_note(&text, x, &run);
    int rc = forget(p);
    if (!rc) rc = run_claim(&run, p, "export", RUN_KEEP);
    if (!rc && !(rc = place_create(p, "export/export.json", &s))) {
        rc = sink_write(s, text.p, text.len);
        if (rc)
            sink_abort(s);
        else
            rc = sink_commit(s, sha256, &size);
    }
    if (!rc) {
        memcpy(r.fingerprint, run.fingerprint, sizeof r.fingerprint);
        receipt_add(&r.outputs, "export/export.json", size, sha256);
        rc = receipt_save(&r, p, "export");
    }
    receipt_release(&r);
    run_release(&run);
    str_release(&text);
    return rc;
}

void show_note_end(const struct exporter *x)
{
    struct place *p = sidecars_place(x->sidecars);
    for (int64_t i = 0; i < x->shards; i++)
        if (!plan_is_done(x, i)) return;
    if (is_noted(x) && place_exists(p, "_darkroom/export/0.json", NULL)) return;
    if (write_note(x)) log_info("%s; the place does not know of this export", err_text());
}

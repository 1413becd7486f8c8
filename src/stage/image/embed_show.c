/* embed_show.c - what a user sees of embed: the progress line, the live file, the summary. */
#include "stage/image/embed.h"
#include "base/clock.h"
#include "base/log.h"
#include "format/json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long long bad_total(struct embedder *e)
{
    long long n = 0;
    for (int b = 1; b < BAD_COUNT; b++) n += atomic_load(&e->errors[b]);
    return n;
}

/* Share of the work of this run: by samples where their number is known, else by bytes. */
static double share_done(struct embedder *e)
{
    long long now = atomic_load(embed_of_pictures(e) ? &e->samples : &e->bytes_read);
    return e->total > 0 ? (double)now / (double)e->total : 0;
}

void embed_tick(void *stage)
{
    struct embedder *e = stage;
    double spent = clock_now() - e->live.started, share = share_done(e);
    long long n = atomic_load(&e->samples),
              done = e->done_before + atomic_load(&e->partitions_done);
    char eta[32] = "?", total[48] = "";
    if (share > 0 && n) {
        clock_span(eta, spent * (1 - share) / share);
        snprintf(total, sizeof total, " of %s%.0f", embed_of_pictures(e) ? "" : "~",
                 (double)n / share);
    }
    log_progress(
        "embed %lld%s samples  %.1f/s  ETA %s  bad %lld  partitions %lld/%lld  bottleneck %s", n,
        total, spent > 0 ? (double)n / spent : 0, eta, bad_total(e), done, (long long)e->partitions,
        stage_bottleneck(&e->stage));
    if (live_due(&e->live)) embed_live(e, "running");
}

void embed_announce(struct embedder *e)
{
    struct str s = {0};
    if (!log_json()) return;
    str_printf(
        &s,
        "{\"event\": \"start\", \"product\": \"embed\", \"inputs\": %zu, \"partitions\": %lld, \"todo\": %zu, "
        "\"done_before\": %lld, \"text\": %s, \"device\": \"%s\"}",
        e->count, (long long)e->partitions, e->ntodo, (long long)e->done_before,
        e->text ? "true" : "false", e->device->kind);
    log_event(s.p);
    str_release(&s);
}

void embed_note_error(struct embedder *e, const char *text)
{
    pthread_mutex_lock(&e->lock);
    snprintf(e->last_error, sizeof e->last_error, "%s", text);
    pthread_mutex_unlock(&e->lock);
}

void embed_live(struct embedder *e, const char *state)
{
    char error[sizeof e->last_error];
    pthread_mutex_lock(&e->lock);
    memcpy(error, e->last_error, sizeof error);
    pthread_mutex_unlock(&e->lock);
    live_write(&e->live, state,
               &(struct live_counts){.samples = atomic_load(&e->samples),
                                     .rows = atomic_load(&e->rows),
                                     .bad = bad_total(e),
                                     .partitions_done = atomic_load(&e->partitions_done),
                                     .bottleneck = stage_bottleneck(&e->stage),
                                     .last_error = error[0] ? error : NULL,
                                     .inputs = e->inputs_at});
}

/* When one reason takes most samples, say what usually lies behind it. */
static void give_hints(struct embedder *e, long long n)
{
    if (2 * atomic_load(&e->errors[BAD_MISSING_CAPTION]) > n)
        log_info("most samples lack a caption (.%s): --enable-text false embeds the pictures alone",
                 e->caption_keys);
    if (2 * atomic_load(&e->errors[BAD_MISSING_IMAGE]) > n)
        log_info("most samples lack a picture (.%s): --wds-image-key says which extension it has",
                 e->image_keys);
}

static void print_reasons(struct str *out, struct embedder *e)
{
    str_puts(out, "");
    for (int b = 1; b < BAD_COUNT; b++)
        if (atomic_load(&e->errors[b]))
            str_printf(out, "%s%s %lld", out->len ? ", " : " (", bad_name(b),
                       (long long)atomic_load(&e->errors[b]));
    if (out->len) str_putc(out, ')');
}

void embed_summary(struct embedder *e, int stopped)
{
    struct str why = {0}, s = {0};
    double spent = clock_now() - e->live.started;
    long long n = atomic_load(&e->samples), rows = atomic_load(&e->rows), bad = bad_total(e);
    long long written = atomic_load(&e->partitions_done), before = e->done_before;
    long long undone = stopped ? (long long)e->ntodo - written : atomic_load(&e->undone);
    const char *slow = stage_bottleneck(&e->stage);
    print_reasons(&why, e);
    log_progress_end();
    log_info(
        "embed: %lld samples = %lld rows + %lld bad%s in %.1f s, %.1f samples/s, bottleneck %s", n,
        rows, bad, why.p, spent, spent > 0 ? (double)n / spent : 0, slow);
    log_info("%s: %lld partitions written, %lld were done before, %lld left undone",
             place_url(e->place), written, before, undone);
    give_hints(e, n);
    str_printf(
        &s,
        "{\"event\": \"done\", \"product\": \"embed\", \"samples\": %lld, \"rows\": %lld, \"bad\": %lld, "
        "\"seconds\": %.3f, \"partitions_written\": %lld, \"partitions_before\": %lld, "
        "\"partitions_undone\": %lld, \"bottleneck\": \"%s\"}",
        n, rows, bad, spent, written, before, undone, slow);
    log_event(s.p);
    str_release(&s);
    str_release(&why);
}

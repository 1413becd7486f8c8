/* sweep.c - partitions handed to threads one by one. Nothing is shared between two of them but
 * counters, so the order in which they end does not matter. */
#include "stage/sweep.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/stop.h"
#include "stage/live.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sweeping {
    int64_t *todo;
    size_t count, cap;
    struct task task;
    void **state; /* one per thread, made when it is first needed */
    int *started;
    atomic_llong rows, partitions;
    atomic_int failed; /* the class of the first error */
    pthread_mutex_t lock;
    char error[1024]; /* its sentence */
    struct live live;
    int64_t total; /* rows to do */
};

static int same_inputs(const struct receipt_files *a, const struct receipt_files *b)
{
    if (a->count != b->count) return 0;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->file[i].name, b->file[i].name) || a->file[i].size != b->file[i].size ||
            strcmp(a->file[i].sha256, b->file[i].sha256))
            return 0;
    return 1;
}

/* What the partition is made from, as it is now. */
static int note_inputs(struct receipt *r, const struct sweep *s, int64_t i)
{
    int rc = 0;
    for (int k = 0; k < SIDE_COUNT && !rc; k++)
        if (s->reads & 1u << k) rc = sidecars_note(&r->inputs, s->sidecars, (enum sidecar)k, i);
    return rc;
}

/* 1, 0, or an error. */
static int is_done(const struct sweep *s, int64_t i)
{
    struct receipt old, now = {0};
    struct place *p = sidecars_place(s->sidecars);
    int rc = receipt_load(&old, p, s->product, i, partition_digits(sidecars_count(s->sidecars)));
    int done = !rc && !strcmp(old.fingerprint, s->run.fingerprint) && !receipt_check(&old, p, 0);
    rc = done ? note_inputs(&now, s, i) : 0;
    if (done && !rc && !same_inputs(&old.inputs, &now.inputs)) {
        log_info("partition %lld will be redone: what it was made from has changed",
                 (long long)sidecars_number(s->sidecars, i));
        done = 0;
    }
    receipt_release(&old);
    receipt_release(&now);
    if (done && !rc && s->done) done = s->done(s->arg, i);
    return rc ? rc : done;
}

static int plan(struct sweep *s)
{
    struct sweeping *w = s->own;
    s->todo = s->written = s->done_before = s->missing = s->rows = 0;
    for (int64_t i = 0; i < sidecars_count(s->sidecars); i++) {
        if (!task_has(&w->task, i)) continue;
        if (sidecars_rows(s->sidecars, i) < 0) {
            s->missing++;
            continue;
        }
        int done = is_done(s, i);
        if (done < 0) return done;
        if (done) {
            s->done_before++;
            continue;
        }
        vec_push(w->todo, w->count, w->cap);
        w->todo[w->count++] = i;
        w->total += sidecars_rows(s->sidecars, i);
    }
    s->todo = (int64_t)w->count;
    return 0;
}

static int claim(struct sweep *s)
{
    struct place *p = sidecars_place(s->sidecars);
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)sidecars_count(s->sidecars));
    run_add(&s->run, "partitions", number);
    return run_claim(&s->run, p, s->product, s->replace ? RUN_REPLACE : RUN_KEEP);
}

static void fail(struct sweeping *w, int rc)
{
    pthread_mutex_lock(&w->lock);
    if (!atomic_load(&w->failed)) {
        strncpy(w->error, err_text(), sizeof w->error - 1);
        atomic_store(&w->failed, rc);
    }
    pthread_mutex_unlock(&w->lock);
}

/* The old receipt goes first, so that no moment has a receipt beside files it does not describe. */
static int do_part(struct sweep *s, int64_t i, void *state)
{
    struct place *place = sidecars_place(s->sidecars);
    struct sweep_part p = {.sweep = s, .index = i, .rows = sidecars_rows(s->sidecars, i)};
    p.receipt.partition = i; /* counted, so that it is known which are missing in any layout */
    p.receipt.digits = partition_digits(sidecars_count(s->sidecars));
    p.receipt.samples = p.receipt.rows = p.rows;
    memcpy(p.receipt.fingerprint, s->run.fingerprint, sizeof p.receipt.fingerprint);
    int rc = run_still_ours(&s->run, place, s->product);
    if (!rc) rc = note_inputs(&p.receipt, s, i);
    if (!rc) rc = s->work(s->arg, state, &p);
    fault_point("receipt");
    if (!rc) rc = receipt_save(&p.receipt, place, s->product);
    if (!rc) atomic_fetch_add(&s->own->partitions, 1);
    receipt_release(&p.receipt);
    return rc;
}

static void one(void *arg, size_t i, int worker)
{
    struct sweep *s = arg;
    struct sweeping *w = s->own;
    int rc = 0;
    if (atomic_load(&w->failed)) return;
    if (stop_asked()) rc = err_set(ERR_STOPPED, "stopped by a signal");
    if (!rc && !w->started[worker] && s->start) rc = s->start(s->arg, &w->state[worker]);
    w->started[worker] = 1;
    if (!rc) rc = do_part(s, w->todo[i], w->state[worker]);
    if (rc) fail(w, rc);
}

static void write_live(struct sweep *s, const char *state)
{
    struct sweeping *w = s->own;
    long long rows = atomic_load(&w->rows);
    live_write(&w->live, state,
               &(struct live_counts){.samples = rows,
                                     .rows = rows,
                                     .partitions_done = atomic_load(&w->partitions),
                                     .last_error = w->error[0] ? w->error : NULL});
}

static int go(struct sweep *s)
{
    struct sweeping *w = s->own;
    int threads = s->common->threads > 0 ? (int)s->common->threads : cpu_count();
    if ((size_t)threads > w->count) threads = (int)w->count;
    struct pool *pool = pool_new(threads);
    w->state = mem_alloc((size_t)threads * sizeof *w->state);
    w->started = mem_alloc((size_t)threads * sizeof *w->started);
    live_start(&w->live, sidecars_place(s->sidecars), s->product, w->task);
    write_live(s, "running");
    pool_for(pool, w->count, one, s);
    int rc = atomic_load(&w->failed);
    for (int i = 0; i < threads; i++)
        if (w->started[i] && s->stop) s->stop(s->arg, w->state[i]);
    pool_free(pool);
    log_progress_end();
    s->written = atomic_load(&w->partitions);
    s->rows = atomic_load(&w->rows);
    s->seconds = clock_now() - w->live.started;
    write_live(s, rc == ERR_STOPPED ? "stopped" : rc ? "failed" : "done");
    return rc ? err_set(rc, "%s", w->error) : 0;
}

int sweep_run(struct sweep *s)
{
    struct sweeping w = {0};
    s->own = &w;
    pthread_mutex_init(&w.lock, NULL);
    int rc = task_parse(&w.task, s->common->task);
    if (!rc && s->common->threads < 0) rc = err_set(ERR_USAGE, "--threads must be positive");
    if (!rc) rc = claim(s);
    if (!rc) rc = plan(s);
    if (!rc && w.count) rc = go(s);
    if (rc == ERR_STOPPED)
        rc = err_set(rc, "stopped by a signal; the same command goes on from here");
    free(w.todo);
    free(w.state);
    free(w.started);
    pthread_mutex_destroy(&w.lock);
    s->own = NULL;
    return rc;
}

int sweep_create(struct sink **out, struct sweep_part *p, enum sidecar kind)
{
    struct str name = {0};
    struct place *place = sidecars_place(p->sweep->sidecars);
    sidecars_name(&name, p->sweep->sidecars, kind, p->index);
    int rc = place_create(place, name.p, out);
    str_release(&name);
    return rc;
}

int sweep_commit(struct sweep_part *p, struct sink *sink, enum sidecar kind)
{
    struct str name = {0};
    struct place *place = sidecars_place(p->sweep->sidecars);
    char sha256[65];
    uint64_t size;
    sidecars_name(&name, p->sweep->sidecars, kind, p->index);
    int rc = receipt_remove(place, p->sweep->product, p->receipt.partition, p->receipt.digits);
    if (rc)
        sink_abort(sink);
    else
        rc = sink_commit(sink, sha256, &size);
    if (!rc) receipt_add(&p->receipt.outputs, name.p, size, sha256);
    str_release(&name);
    return rc;
}

int sweep_progress(struct sweep_part *p, int64_t rows)
{
    struct sweep *s = p->sweep;
    struct sweeping *w = s->own;
    long long done = atomic_fetch_add(&w->rows, rows) + rows;
    double spent = clock_now() - w->live.started;
    char eta[32] = "?";
    if (done > 0) clock_span(eta, spent * (double)(w->total - done) / (double)done);
    log_progress("%s %lld of %lld rows  %.0f/s  ETA %s", s->product, done, (long long)w->total,
                 spent > 0 ? (double)done / spent : 0, eta);
    if (p->index == w->todo[0] && live_due(&w->live)) write_live(s, "running");
    if (atomic_load(&w->failed)) return err_set(ERR_FAIL, "another partition failed");
    return stop_asked() ? err_set(ERR_STOPPED, "stopped by a signal") : 0;
}

void sweep_summary(const struct sweep *s, const char *more)
{
    struct str e = {0};
    log_info("%s: %lld rows in %lld partition%s written, %lld were done before, in %.1f s",
             s->product, (long long)s->rows, (long long)s->written, s->written == 1 ? "" : "s",
             (long long)s->done_before, s->seconds);
    str_printf(&e,
               "{\"event\": \"done\", \"product\": \"%s\", \"rows\": %lld, "
               "\"partitions_written\": %lld, \"partitions_before\": %lld, "
               "\"partitions_undone\": %lld, \"seconds\": %.3f%s}",
               s->product, (long long)s->rows, (long long)s->written, (long long)s->done_before,
               (long long)s->missing, s->seconds, more ? more : "");
    log_event(e.p);
    str_release(&e);
}

int sweep_judge(const struct sweep *s)
{
    if (!s->missing) return 0;
    log_warn(
        "%lld partition%s of this task %s not embedded yet; run embed to its end, then this again",
        (long long)s->missing, s->missing == 1 ? "" : "s", s->missing == 1 ? "is" : "are");
    return 3;
}

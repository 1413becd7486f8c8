/* driver.c - the flow behind stage.h: one queue before every box, and one of free items that
 * closes the circle. Order is kept by numbering items as the first box makes them and letting
 * the last box wait for its next number; at most nitems are under way, so the waiting ones
 * fit in a ring of that size. */
#include "stage/stage.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ticket {
    uint64_t seq;
    void *item;
};

struct flow {
    struct stage *stage;
    struct queue *queue[STAGE_BOXES]; /* queue[0] holds free tickets, queue[i] feeds box i */
    atomic_int alive[STAGE_BOXES];    /* threads of a box still running */
    pthread_mutex_t lock;             /* seq, and the first error */
    uint64_t seq;
    int rc;
    char why[1024];
    atomic_int over;
    struct worker *workers;
    int threads;
};

struct worker {
    struct flow *flow;
    int box;
    pthread_t thread;
    _Atomic double busy;
};

static void flow_stop(struct flow *f)
{
    atomic_store(&f->over, 1);
    stop_waits(1);
    for (int i = 0; i < f->stage->boxes; i++) queue_stop(f->queue[i]);
}

/* Keep the first error with its sentence, which belongs to the failing thread. */
static void flow_fail(struct flow *f, int rc)
{
    pthread_mutex_lock(&f->lock);
    if (!f->rc) {
        f->rc = rc;
        strncpy(f->why, err_text(), sizeof f->why - 1);
    }
    pthread_mutex_unlock(&f->lock);
    flow_stop(f);
}

static int timed_work(struct worker *w, void *state, void *item)
{
    const struct box *b = &w->flow->stage->box[w->box];
    double t = clock_now();
    int rc = b->work(w->flow->stage->arg, state, item);
    atomic_store_explicit(&w->busy, w->busy + clock_now() - t, memory_order_relaxed);
    return rc;
}

/* The first box: number the item only once it is filled, so that no number is ever missing. */
static int make_items(struct worker *w, void *state)
{
    struct flow *f = w->flow;
    struct ticket *t;
    while ((t = queue_pop(f->queue[0]))) {
        if (stop_asked()) return err_set(ERR_STOPPED, "stopped by a signal");
        int rc = timed_work(w, state, t->item);
        if (rc < 0) return rc;
        if (rc) return queue_push(f->queue[0], t), 0;
        pthread_mutex_lock(&f->lock);
        t->seq = f->seq++;
        rc = queue_push(f->queue[1], t);
        pthread_mutex_unlock(&f->lock);
        if (rc) break;
    }
    return 0;
}

static int pass_items(struct worker *w, void *state)
{
    struct flow *f = w->flow;
    struct ticket *t;
    while ((t = queue_pop(f->queue[w->box]))) {
        int rc = timed_work(w, state, t->item);
        if (rc < 0) return rc;
        if (queue_push(f->queue[w->box + 1], t)) break;
    }
    return 0;
}

static int end_items(struct worker *w, void *state)
{
    struct flow *f = w->flow;
    size_t n = (size_t)f->stage->nitems;
    struct ticket *t, **waiting = mem_alloc(n * sizeof *waiting);
    uint64_t next = 0;
    int rc = 0;
    while (!rc && (t = queue_pop(f->queue[w->box]))) {
        waiting[t->seq % n] = t;
        while (!rc && (t = waiting[next % n])) {
            waiting[next++ % n] = NULL;
            rc = timed_work(w, state, t->item);
            if (!rc) queue_push(f->queue[0], t);
        }
    }
    free(waiting);
    return rc;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct flow *f = w->flow;
    const struct box *b = &f->stage->box[w->box];
    void *state = NULL;
    int last = f->stage->boxes - 1, rc = b->start ? b->start(f->stage->arg, &state) : 0;
    if (!rc)
        rc = w->box == 0      ? make_items(w, state)
             : w->box == last ? end_items(w, state)
                              : pass_items(w, state);
    if (b->stop) b->stop(f->stage->arg, state);
    if (rc) flow_fail(f, rc);
    /* The last thread of a box lets the next box drain and end. */
    if (atomic_fetch_sub(&f->alive[w->box], 1) == 1 && w->box < last)
        queue_close(f->queue[w->box + 1]);
    return NULL;
}

static void *ticker_main(void *arg)
{
    struct flow *f = arg;
    while (!atomic_load(&f->over)) {
        usleep(100000);
        if (stop_asked()) {
            err_set(ERR_STOPPED, "stopped by a signal");
            flow_fail(f, ERR_STOPPED);
        }
        if (f->stage->tick && !atomic_load(&f->over)) f->stage->tick(f->stage->arg);
    }
    return NULL;
}

/* Workers ignore our signals' effect on system calls by blocking them; the ticker looks. */
static int start_thread(pthread_t *t, void *(*fn)(void *), void *arg)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(t, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc ? err_set(ERR_FAIL, "cannot start a thread: %s", strerror(rc)) : 0;
}

static int start_workers(struct flow *f, struct worker *w, int *started)
{
    for (int b = 0; b < f->stage->boxes; b++) atomic_store(&f->alive[b], f->stage->box[b].threads);
    for (int b = 0; b < f->stage->boxes; b++)
        for (int i = 0; i < f->stage->box[b].threads; i++) {
            struct worker *one = &w[*started];
            one->flow = f;
            one->box = b;
            int rc = start_thread(&one->thread, worker_main, one);
            if (rc) return rc;
            ++*started;
        }
    return 0;
}

int stage_run(struct stage *s)
{
    struct flow f = {.stage = s};
    struct ticket *tickets = mem_alloc((size_t)s->nitems * sizeof *tickets);
    int threads = 0, started = 0;
    pthread_t ticker;
    pthread_mutex_init(&f.lock, NULL);
    for (int b = 0; b < s->boxes; b++) {
        threads += s->box[b].threads;
        f.queue[b] = queue_new((size_t)s->nitems);
    }
    for (int i = 0; i < s->nitems; i++) {
        tickets[i].item = s->items[i];
        queue_push(f.queue[0], &tickets[i]);
    }
    struct worker *w = f.workers = mem_alloc((size_t)threads * sizeof *w);
    f.threads = threads;
    s->flow = &f;
    int rc = start_workers(&f, w, &started), ticking = 0;
    if (rc)
        flow_fail(&f, rc);
    else
        ticking = !start_thread(&ticker, ticker_main, &f);
    for (int i = 0; i < started; i++) pthread_join(w[i].thread, NULL);
    atomic_store(&f.over, 1);
    if (ticking) pthread_join(ticker, NULL);
    for (int b = 0; b < s->boxes; b++) s->busy[b] = stage_busy(s, b);
    s->flow = NULL;
    stop_waits(0);
    for (int b = 0; b < s->boxes; b++) queue_free(f.queue[b]);
    pthread_mutex_destroy(&f.lock);
    free(tickets);
    free(w);
    return f.rc ? err_set(f.rc, "%s", f.why) : 0;
}

int stage_over(const struct stage *s)
{
    const struct flow *f = s->flow;
    return !f || atomic_load(&f->over);
}

double stage_busy(const struct stage *s, int box)
{
    const struct flow *f = s->flow;
    double sum = 0;
    if (!f) return s->busy[box];
    for (int i = 0; i < f->threads; i++)
        if (f->workers[i].box == box)
            sum += atomic_load_explicit(&f->workers[i].busy, memory_order_relaxed);
    return sum / s->box[box].threads;
}

const char *stage_bottleneck(const struct stage *s)
{
    int best = 0;
    for (int b = 1; b < s->boxes; b++)
        if (stage_busy(s, b) > stage_busy(s, best)) best = b;
    return s->box[best].name;
}

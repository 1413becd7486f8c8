/* pool.c - a fork-join team and a bounded queue, both on one mutex each. */
#include "base/pool.h"
#include "base/clock.h"
#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    pthread_t *threads;
    int size, running;
    unsigned long round; /* of the loop being run; threads wake when it moves */
    int quit;
    void (*fn)(void *, size_t, int);
    void *arg;
    size_t n;
    atomic_size_t next;
};

struct pool_thread {
    struct pool *pool;
    int worker;
};

static void pool_loop(struct pool *p, int worker)
{
    for (size_t i; (i = atomic_fetch_add(&p->next, 1)) < p->n;) p->fn(p->arg, i, worker);
}

static void *pool_main(void *arg)
{
    struct pool_thread *t = arg;
    struct pool *p = t->pool;
    unsigned long seen = 0;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (p->round == seen && !p->quit) pthread_cond_wait(&p->start, &p->lock);
        if (p->quit) break;
        seen = p->round;
        pthread_mutex_unlock(&p->lock);
        pool_loop(p, t->worker);
        pthread_mutex_lock(&p->lock);
        if (!--p->running) pthread_cond_signal(&p->done);
    }
    pthread_mutex_unlock(&p->lock);
    free(t);
    return NULL;
}

struct pool *pool_new(int threads)
{
    struct pool *p = mem_alloc(sizeof *p);
    p->size = threads < 1 ? 1 : threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->done, NULL);
    p->threads = mem_alloc((size_t)p->size * sizeof *p->threads);
    for (int i = 1; i < p->size; i++) {
        struct pool_thread *t = mem_alloc(sizeof *t);
        *t = (struct pool_thread){p, i};
        if (pthread_create(&p->threads[i], NULL, pool_main, t)) {
            free(t);
            p->size = i; /* fewer threads do the same work */
        }
    }
    return p;
}

void pool_free(struct pool *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->quit = 1;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    for (int i = 1; i < p->size; i++) pthread_join(p->threads[i], NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->start);
    pthread_cond_destroy(&p->done);
    free(p->threads);
    free(p);
}

int pool_size(const struct pool *p)
{
    return p ? p->size : 1;
}

void pool_for(struct pool *p, size_t n, void (*fn)(void *, size_t, int), void *arg)
{
    if (!p || p->size == 1 || n <= 1) {
        for (size_t i = 0; i < n; i++) fn(arg, i, 0);
        return;
    }
    pthread_mutex_lock(&p->lock);
    assert(!p->running);
    p->fn = fn;
    p->arg = arg;
    p->n = n;
    atomic_store(&p->next, 0);
    p->running = p->size - 1;
    p->round++;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    pool_loop(p, 0);
    pthread_mutex_lock(&p->lock);
    while (p->running) pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

struct gate {
    pthread_mutex_t lock;
    pthread_cond_t room;
    uint64_t budget, taken;
};

struct gate *gate_new(uint64_t budget)
{
    struct gate *g = mem_alloc(sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->room, NULL);
    g->budget = budget;
    return g;
}

void gate_free(struct gate *g)
{
    if (!g) return;
    pthread_mutex_destroy(&g->lock);
    pthread_cond_destroy(&g->room);
    free(g);
}

void gate_take(struct gate *g, uint64_t n)
{
    pthread_mutex_lock(&g->lock);
    while (g->taken && g->taken + n > g->budget) pthread_cond_wait(&g->room, &g->lock);
    g->taken += n;
    pthread_mutex_unlock(&g->lock);
}

void gate_give(struct gate *g, uint64_t n)
{
    pthread_mutex_lock(&g->lock);
    g->taken -= n;
    pthread_cond_broadcast(&g->room);
    pthread_mutex_unlock(&g->lock);
}

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t room, item;
    void **ring;
    size_t cap, head, count;
    int closed;
    double push_wait, pop_wait;
};

struct queue *queue_new(size_t capacity)
{
    struct queue *q = mem_alloc(sizeof *q);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->room, NULL);
    pthread_cond_init(&q->item, NULL);
    q->cap = capacity ? capacity : 1;
    q->ring = mem_alloc(mem_mul(q->cap, sizeof *q->ring));
    return q;
}

void queue_free(struct queue *q)
{
    if (!q) return;
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->room);
    pthread_cond_destroy(&q->item);
    free(q->ring);
    free(q);
}

/* Wait on a condition, charging the time to *sum. */
static void wait_on(struct queue *q, pthread_cond_t *c, double *sum)
{
    double t = clock_now();
    pthread_cond_wait(c, &q->lock);
    *sum += clock_now() - t;
}

int queue_push(struct queue *q, void *item)
{
    pthread_mutex_lock(&q->lock);
    while (q->count == q->cap && !q->closed) wait_on(q, &q->room, &q->push_wait);
    int closed = q->closed;
    if (!closed) {
        q->ring[(q->head + q->count++) % q->cap] = item;
        pthread_cond_signal(&q->item);
    }
    pthread_mutex_unlock(&q->lock);
    return closed;
}

static void *queue_take(struct queue *q)
{
    if (!q->count) return NULL;
    void *item = q->ring[q->head];
    q->head = (q->head + 1) % q->cap;
    q->count--;
    pthread_cond_signal(&q->room);
    return item;
}

void *queue_pop(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    while (!q->count && !q->closed) wait_on(q, &q->item, &q->pop_wait);
    void *item = queue_take(q);
    pthread_mutex_unlock(&q->lock);
    return item;
}

void *queue_try(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    void *item = queue_take(q);
    pthread_mutex_unlock(&q->lock);
    return item;
}

static void queue_end(struct queue *q, int drop)
{
    pthread_mutex_lock(&q->lock);
    q->closed = 1;
    if (drop) q->count = 0;
    pthread_cond_broadcast(&q->room);
    pthread_cond_broadcast(&q->item);
    pthread_mutex_unlock(&q->lock);
}

void queue_close(struct queue *q)
{
    queue_end(q, 0);
}

void queue_stop(struct queue *q)
{
    queue_end(q, 1);
}

size_t queue_depth(struct queue *q)
{
    pthread_mutex_lock(&q->lock);
    size_t n = q->count;
    pthread_mutex_unlock(&q->lock);
    return n;
}

static double queue_read(struct queue *q, const double *field)
{
    pthread_mutex_lock(&q->lock);
    double v = *field;
    pthread_mutex_unlock(&q->lock);
    return v;
}

double queue_push_wait(struct queue *q)
{
    return queue_read(q, &q->push_wait);
}

double queue_pop_wait(struct queue *q)
{
    return queue_read(q, &q->pop_wait);
}

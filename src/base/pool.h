/* pool.h - threads and the bounded queue between them. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/platform.h"

/* A team of threads that share loops. The caller takes part, so a pool of 1 has no thread. */
struct pool;
struct pool *pool_new(int threads);
void pool_free(struct pool *p);
int pool_size(const struct pool *p);

/* Run fn(arg, i, worker) for every i in [0,n), handed out one by one; worker is in
 * [0, pool_size). Returns when all are done. One caller at a time; do not nest. A NULL
 * pool runs the loop in place. */
void pool_for(struct pool *p, size_t n, void (*fn)(void *arg, size_t i, int worker), void *arg);

/* A budget shared by threads: take waits until that much is free. More than the whole budget
 * waits until it is the only one. */
struct gate;
struct gate *gate_new(uint64_t budget);
void gate_free(struct gate *g);
void gate_take(struct gate *g, uint64_t n);
void gate_give(struct gate *g, uint64_t n);

/* A bounded queue of pointers. push waits for room, pop for an item. queue_close lets
 * consumers drain what is left and then see the end; queue_stop also drops what waits,
 * so that both sides return at once. */
struct queue;
struct queue *queue_new(size_t capacity);
void queue_free(struct queue *q);
int queue_push(struct queue *q, void *item); /* 0, or 1 when stopped or closed */
void *queue_pop(struct queue *q);            /* NULL at the end */
void *queue_try(struct queue *q);            /* NULL when nothing is ready now */
void queue_close(struct queue *q);
void queue_stop(struct queue *q);
size_t queue_depth(struct queue *q);
/* Seconds that producers (consumers) of this queue waited in it so far: which box is slow. */
double queue_push_wait(struct queue *q);
double queue_pop_wait(struct queue *q);

#endif

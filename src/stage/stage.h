/* stage.h - a map stage: boxes joined by bounded queues.
 *     shard reader -> decode pool -> (batcher) -> device -> sink
 * A fixed number of items circulates through the boxes, so memory is bounded by what one item
 * holds; the last box sees the items in the order the first one made them. A stage says what
 * its boxes do; the driver is written once. */
#ifndef STAGE_STAGE_H
#define STAGE_STAGE_H

#include "base/platform.h"

/* work of the first box fills the item: 0, or 1 when there is nothing more. Every other box
 * works on the item in place. A negative class ends the whole stage. */
struct box {
    const char *name;
    int threads;
    int (*start)(void *stage, void **state); /* per thread; may be NULL */
    int (*work)(void *stage, void *state, void *item);
    void (*stop)(void *stage, void *state); /* may be NULL */
};

enum { STAGE_BOXES = 5 };

struct stage {
    void *arg; /* the `stage` of the callbacks */
    void **items;
    int nitems;
    struct box box[STAGE_BOXES];
    int boxes;
    void (*tick)(void *stage); /* a few times a second, from a thread of its own; may be NULL */
    double busy[STAGE_BOXES];  /* filled when the stage has ended */
    void *flow;                /* the driver's own while it runs */
};

/* 0, the first error of any box, or ERR_STOPPED after a signal. */
int stage_run(struct stage *s);

/* Has the running stage been stopped? For boxes that wait on something of their own. */
int stage_over(const struct stage *s);

/* Seconds per thread that box i has spent in work so far; the largest is the bottleneck. */
double stage_busy(const struct stage *s, int i);
const char *stage_bottleneck(const struct stage *s);

#endif

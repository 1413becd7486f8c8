/* live.h - what a running task tells the outside: _darkroom/<product>/live/<task>.json, rewritten
 * every 30 s. Not hashed; with it `status` and the report know times and rates. */
#ifndef STAGE_LIVE_H
#define STAGE_LIVE_H

#include "dist/task.h"
#include "io/place.h"

struct live {
    struct place *place;
    const char *product;
    struct task task;
    double started, written; /* clock_now() */
};

struct live_counts {
    long long samples, rows, bad, partitions_done;
    const char *bottleneck, *last_error; /* NULL: none */
    const char *inputs;                  /* folder of the inputs, for those who look at samples */
};

void live_start(struct live *l, struct place *place, const char *product, struct task task);
int live_due(const struct live *l); /* is it time to write again? */
/* state: "running", "stopped", "failed" or "done". A courtesy: that it cannot be written stops
 * nothing. */
void live_write(struct live *l, const char *state, const struct live_counts *c);

#endif

/* task.h - which share of the work is ours: task i of n does the partitions p with p mod n = i.
 * The only place that reads a scheduler's variables. */
#ifndef DIST_TASK_H
#define DIST_TASK_H

#include "base/platform.h"

struct task {
    int64_t index, count;
};

int task_parse(struct task *t, const char *text); /* "3/16", 0-based; ERR_USAGE */

static inline int task_has(const struct task *t, int64_t partition)
{
    return partition % t->count == t->index;
}

#endif

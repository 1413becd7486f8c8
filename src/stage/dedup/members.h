/* members.h - the rows of each cluster, and the order in which they are kept. */
#ifndef STAGE_DEDUP_MEMBERS_H
#define STAGE_DEDUP_MEMBERS_H

#include "base/arena.h"
#include "stage/dedup/ids.h"

struct members {
    struct scratch rows; /* int64: cluster after cluster, each in the order of the place */
    int64_t *start;      /* [clusters+1] */
    int64_t clusters, largest;
};
int members_open(struct members *m, const struct dedup *d);
void members_close(struct members *m); /* zeroed is fine */
const int64_t *members_of(const struct members *m, int64_t cluster, int64_t *count);

/* One cluster in keep order: its first row never goes. */
struct lineup {
    int64_t count;
    int64_t *order; /* [count]: which of the members */
    int64_t *row;   /* [count]: its number in the place */
};
/* In memory of the arena; ids of one cluster only are looked at. */
void lineup_make(struct lineup *l, struct arena *a, const struct dedup *d, const struct members *m,
                 const struct ids *ids, int64_t cluster);

#endif

/* pairs.h - the product dedup-pairs under way: clusters in blocks (pairs.c), then one sidecar per
 * partition (assign.c). */
#ifndef STAGE_DEDUP_PAIRS_H
#define STAGE_DEDUP_PAIRS_H

#include "stage/dedup/members.h"

struct pairing {
    struct dedup *d;
    struct run run;
    struct receipt_files inputs;
    struct ids ids;
    struct members members;
    struct pair_block {
        int64_t first, end; /* clusters */
    } * block;
    size_t blocks;
    struct device **lane; /* one per thread */
    struct arena *arena;
    double work_done, work_total;
};

int pairing_open(struct pairing *p); /* close it in any case */
void pairing_close(struct pairing *p);

/* Do the blocks of this task that are not there. */
int pairing_blocks(struct pairing *p);
size_t pairing_missing(const struct pairing *p); /* how many are not there */
int pairing_drop_blocks(struct pairing *p);

/* 1 when block i is there, else 0. For each of its members, in their order: the row that is most
 * similar to it (or itself), and how similar. */
int pairing_open_block(struct file_map *m, const int64_t **best, const float **score,
                       const struct pairing *p, size_t i);
int64_t pairing_rows(const struct pairing *p, size_t i); /* members in block i */

#endif

/* spill.h - bytes written once and then read back in order: in memory while they are few, in a
 * nameless file of the place beyond that. */
#ifndef IO_SPILL_H
#define IO_SPILL_H

#include "io/place.h"

struct spill {
    struct place *place;
    struct str buf; /* not yet in the file; while reading, the block read last */
    int fd;         /* -1 while everything is in memory */
    uint64_t size;  /* in the file */
    uint64_t at;    /* read so far from the file */
    size_t used;    /* of buf while reading */
};

void spill_init(struct spill *s, struct place *p);
int spill_write(struct spill *s, const void *p, size_t n); /* ERR_OUTPUT */
int spill_rewind(struct spill *s); /* writing is over; reading starts at the first byte */
int spill_read(struct spill *s, void *p, size_t n); /* 0, 1 at the end; all n bytes or an error */
void spill_release(struct spill *s);

#endif

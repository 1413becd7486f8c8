/* scratch.h - arrays that may be larger than memory: a nameless file of the place, mapped. The
 * kernel keeps of it what fits; it is gone when closed. Small ones have no file. */
#ifndef IO_SCRATCH_H
#define IO_SCRATCH_H

#include "io/place.h"

struct scratch {
    void *p;  /* page-aligned; moves when grown */
    size_t n; /* bytes */
    /* private */
    struct place *place;
    int fd; /* -1: plain memory */
};

/* n zero bytes; n may be 0. The disk space is reserved: ERR_OUTPUT when there is not enough. */
int scratch_open(struct scratch *s, struct place *p, size_t n);
int scratch_grow(struct scratch *s, size_t n); /* to at least n bytes; new ones are zero */
void scratch_close(struct scratch *s);         /* zeroed is fine */

/* Bytes [from, from+n) will not be needed soon: their pages need not stay with us. */
void scratch_forget(const struct scratch *s, size_t from, size_t n);

#endif

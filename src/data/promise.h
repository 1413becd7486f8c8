/* promise.h - what receipts promise about the files of a place, and whether that still holds.
 * A file of ours counts when its receipt is of the product's present run and the inputs which that
 * receipt names are still those of now: keep is good for scores, scores for embeddings, all the
 * way down. Private to data/; the others ask sidecar.h. Any thread may ask. */
#ifndef DATA_PROMISE_H
#define DATA_PROMISE_H

#include "data/sidecar.h"

enum promise_state {
    PROMISE_UNKNOWN,
    PROMISE_ASKED,  /* being looked into: a circle of products ends here */
    PROMISE_ABSENT, /* not there, or of another run */
    PROMISE_STALE,  /* made from other files than those here */
    PROMISE_WHOLE
};
struct promise {
    enum promise_state state;
    enum sidecar changed; /* when stale: which of its inputs */
    uint64_t size;
    char sha256[65]; /* a file of others: its stamp */
};

struct promises;
struct promises *promises_new(const struct sidecars *s); /* borrows s */
void promises_free(struct promises *p);                  /* NULL is fine */

/* Looked up once: what is written later is seen by those who open the place after it. */
struct promise promises_ask(struct promises *p, enum sidecar kind, int64_t i);
/* All files of a kind as one: bytes and a hash over names, sizes and hashes; absent: none. */
struct promise promises_ask_all(struct promises *p, enum sidecar kind);
/* Are the inputs of a receipt those of now? 1 and which is not, or 0. */
int promises_changed(struct promises *p, const struct receipt *r, int64_t i, enum sidecar *which);

#endif

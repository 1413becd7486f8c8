/* pick.h - single samples out of a shard, without reading the shard.
 * The tar is mapped. Where keys stand in byte order, as img2dataset and webdataset writers leave
 * them, a key is found by halving; otherwise the headers are walked. For looking at samples, not
 * for processing them: only the headers passed are checked. */
#ifndef DATA_PICK_H
#define DATA_PICK_H

#include "base/platform.h"

struct pick;

/* ERR_INPUT: cannot be opened, or is compressed. */
int pick_open(struct pick **out, const char *path);
struct pick *pick_of(const void *tar, size_t n); /* of bytes that outlive it */
void pick_close(struct pick *p);                 /* NULL is fine */

/* Key of the first sample, "" when there is none; lives until the next call. */
const char *pick_first(struct pick *p);

/* The member of sample `key` with the first of these extensions ("jpg;png") that it has: its
 * bytes, which live until pick_close. 0, or 1 when there is none. */
int pick_find(struct pick *p, const void **bytes, size_t *n, const char *key, const char *exts);

#endif

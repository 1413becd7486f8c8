/* safetensors.h - u64 header length, a JSON header, then the tensors one after another.
 * Refused: a header over 100 MB or past the end, not starting with '{', not UTF-8, deeper than 8;
 * repeated names; unknown dtypes; a tensor whose bytes are not shape times size; holes, overlaps
 * or bytes after the last tensor. */
#ifndef FORMAT_SAFETENSORS_H
#define FORMAT_SAFETENSORS_H

#include "format/weight.h"

int safetensors_is(const void *p, size_t n); /* does it begin like one? */

/* Tensors in header order and __metadata__ into l, which borrows p. With `only`, just the tensors
 * whose value there is `mark`: how a shard gives what its index promised. ERR_INPUT. */
int safetensors_decode(struct weight_list *l, const void *p, size_t n, const struct map *only,
                       uint64_t mark);

/* model.safetensors.index.json: which shard holds which tensor. map: tensor name -> place in
 * shards. Shard names are plain file names of the same folder. */
struct shard_index {
    struct map map;
    struct map shards;
};
int shard_index_decode(struct shard_index *x, const void *p, size_t n);
void shard_index_release(struct shard_index *x);

#endif

/* sink.h - a file being written, invisible until it is whole.
 * Commit = flush, fsync, rename over the final name, fsync of the folder. An abandoned sink
 * leaves at most a `.tmp` file that gc removes. */
#ifndef IO_SINK_H
#define IO_SINK_H

#include "base/platform.h"

struct sink;

int sink_write(struct sink *s, const void *p, size_t n);                  /* ERR_OUTPUT */
int sink_patch(struct sink *s, uint64_t offset, const void *p, size_t n); /* bytes written before */
uint64_t sink_size(const struct sink *s);

/* A large file that is written in order: from its first byte on, a thread of its own hands it to
 * the disk and hashes it. What fails there is told by a later call. No sink_patch then. */
int sink_flow(struct sink *s);

/* Everything but making it visible: hashed, on the disk, closed. For files that wait for others
 * before they may appear; a waiting sink holds a name and nothing else. On error: sink_abort. */
int sink_settle(struct sink *s);

/* Make it visible. sha256 (hex) and size of the file as committed; either may be NULL.
 * The sink is gone afterwards, also on error. */
int sink_commit(struct sink *s, char sha256[65], uint64_t *size);
void sink_abort(struct sink *s); /* NULL is fine */

#endif

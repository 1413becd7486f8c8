/* source.h - bytes in order, from anywhere.
 * Callers name a thing ("a/b.tar", "pipe:aws s3 cp s3://... -") and read it to its end; which
 * storage it is, only the scheme table in source.c knows. */
#ifndef IO_SOURCE_H
#define IO_SOURCE_H

#include "base/platform.h"

struct source;

/* What a storage implements. read: bytes read (0 at the end) or an error class. close may fail
 * too: a pipe reports how its command ended. size < 0 when unknown. */
struct source_ops {
    int64_t (*read)(struct source *s, void *buf, size_t n);
    int (*close)(struct source *s);
};
struct source {
    const struct source_ops *ops;
    int64_t size;
    char *name;
};

/* ERR_INPUT when missing or unreadable, ERR_NET when a service does not answer. */
int source_open(struct source **out, const char *name);
struct source *source_of_bytes(const void *p, size_t n); /* borrows p */

/* Up to n bytes (short only at the end): the count, 0 at the end, or an error class. */
int64_t source_read(struct source *s, void *buf, size_t n);

/* NULL is fine. An error here means the bytes read so far cannot be trusted to be all. */
int source_close(struct source *s);

/* Wait until a pipe, socket or terminal has something to read: 0, or ERR_STOPPED. */
int source_wait(int fd);

int source_is_pipe(const char *name);
int source_check(const char *name); /* ERR_USAGE for storage that this version cannot open */

#endif

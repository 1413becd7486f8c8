/* outflow.h - a thread that writes and hashes what another one produces. Hashing costs as much
 * time as everything else a copy does; beside the producer it costs none. Blocks circulate, so
 * memory is fixed, and the disk is set to work while the file still grows. */
#ifndef IO_OUTFLOW_H
#define IO_OUTFLOW_H

#include "base/platform.h"

struct outflow;

/* fd stays the caller's; path is for error sentences. ERR_FAIL when no thread can be had. */
int outflow_open(struct outflow **out, int fd, const char *path);

/* ERR_OUTPUT as soon as any byte so far could not be written. */
int outflow_write(struct outflow *o, const void *p, size_t n);

/* Wait for the last byte; everything is with the system then, not yet on the disk. The outflow is
 * gone afterwards, also on error. sha256 may be NULL: the bytes are not wanted any more. */
int outflow_close(struct outflow *o, char sha256[65]);

#endif

/* tar_writer.h - tars that everyone reads: plain ustar with fixed owner, mode and time, so that
 * the same members give the same bytes; pax records only for what ustar cannot say. */
#ifndef FORMAT_TAR_WRITER_H
#define FORMAT_TAR_WRITER_H

#include "io/sink.h"

struct tar_writer {
    struct sink *sink; /* borrowed: commit or abort it after tar_writer_end */
    uint64_t offset;   /* bytes written */
    uint64_t left;     /* of the member begun */
};

void tar_writer_init(struct tar_writer *w, struct sink *sink);

/* One regular file. ERR_USAGE for a name that no reader would take for a file (empty, ending in
 * '/', 1 MiB or more), ERR_OUTPUT. */
int tar_writer_add(struct tar_writer *w, const char *name, const void *data, size_t n);

/* The same in parts, for members larger than memory: begin, then exactly size bytes. */
int tar_writer_begin(struct tar_writer *w, const char *name, uint64_t size);
int tar_writer_put(struct tar_writer *w, const void *data, size_t n);

/* The end mark, padded to a record of 10,240 bytes as tar(1) and Python do. */
int tar_writer_end(struct tar_writer *w);

#endif

/* tar_header.h - one 512-byte tar header and the records of a pax header, read strictly: where
 * readers are known to disagree about a header, it is damaged. */
#ifndef FORMAT_TAR_HEADER_H
#define FORMAT_TAR_HEADER_H

#include "base/platform.h"

enum { TAR_BLOCK = 512 };

struct tar_header {
    char type;      /* '0' for every regular file, else as written */
    uint64_t size;  /* of the body; more than 0 only for regular files and extension headers */
    char name[257]; /* with prefix; NUL-terminated, not empty */
    size_t name_len;
    int style; /* how the checksum is spelled: the same in all headers that one program wrote */
};

/* 0, 1 when the block is all zero, or ERR_DATA (BAD_TAR_DAMAGED): wrong checksum, malformed
 * number, unknown type, sparse file, body where none belongs. */
int tar_header_decode(struct tar_header *h, const unsigned char block[TAR_BLOCK]);

/* What pax records say about the next file. path points into the records. */
struct tar_pax {
    const char *path; /* NULL when not given; not terminated */
    size_t path_len;
    int has_size;
    uint64_t size;
};

/* Records "LENGTH KEY=VALUE\n" that fill n bytes exactly. global: a 'g' header, which may not
 * name a file or size. ERR_DATA (BAD_TAR_DAMAGED) on anything malformed, and on sparse files. */
int tar_pax_decode(struct tar_pax *out, const char *records, size_t n, int global);

#endif

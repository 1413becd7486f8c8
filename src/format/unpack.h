/* unpack.h - the bytes of a source, unpacked when its content says gzip or zstd.
 * On the way it counts and, if asked, hashes the bytes as stored: what a receipt promises is
 * the file, not what was in it. Nothing is copied for a source that is not packed. */
#ifndef FORMAT_UNPACK_H
#define FORMAT_UNPACK_H

#include "base/hash.h"
#include "io/source.h"

enum unpack_kind { UNPACK_UNKNOWN, UNPACK_PLAIN, UNPACK_GZIP, UNPACK_ZSTD };

struct unpack {
    struct source *source;
    enum unpack_kind kind; /* known after the first read */
    unsigned char *in;     /* packed bytes not yet used: in[at..have) */
    size_t at, have;
    void *state;     /* z_stream or ZSTD_DStream */
    int frame_open;  /* inside a gzip member or zstd frame */
    int hashing;     /* hash is running */
    uint64_t stored; /* bytes read from the source so far */
    struct sha256 hash;
};

/* Takes the source over, also its closing. */
void unpack_init(struct unpack *u, struct source *s, int hash);

/* Up to n bytes, fewer only at the end: the count, 0 at the end, or an error class. The first
 * n must be at least 512. Damage of the packed stream, and packings we do not read, are
 * ERR_DATA with BAD_TAR_DAMAGED. */
int64_t unpack_read(struct unpack *u, void *buf, size_t n);

/* Read what is left of the source (so that size and hash are of all of it) and close it: an
 * error means that the bytes could not be trusted to be all. sha256 may be NULL; it is the
 * empty string when hashing was off. */
int unpack_end(struct unpack *u, char sha256[65]);
void unpack_release(struct unpack *u); /* at any moment, without a word */

#endif

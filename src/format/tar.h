/* tar.h - the members of a tar, in order, from any source.
 * Reads ustar, pax, GNU long names, base-256 sizes and old tar, also inside gzip or zstd, in one
 * pass with one buffer. Strict: every cut and every flipped header bit is found; what readers
 * understand differently is refused. docs/formats-tar.md lists the rules. */
#ifndef FORMAT_TAR_H
#define FORMAT_TAR_H

#include "io/source.h"

struct tar;

struct tar_options {
    uint64_t member_limit;  /* bytes of one body; 0 = 2 GiB */
    uint64_t members_limit; /* headers in the archive; 0 = 1,000,000 */
    int hash;               /* sha256 of the source's bytes while reading */
};

/* Offsets are in the unpacked stream. */
struct tar_member {
    const char *name; /* NUL-terminated; lives until the next tar_next */
    size_t name_len;
    int regular;     /* a file; links, folders and devices have no body */
    uint64_t size;   /* of the body */
    uint64_t offset; /* of its first header block, extension headers included */
    uint64_t body;   /* of its body */
};

/* Takes the source over. options may be NULL. */
struct tar *tar_open(struct source *s, const struct tar_options *options);
void tar_close(struct tar *t); /* NULL is fine; at any moment */

/* 0, 1 at the end, or an error, after which every call returns it again. ERR_DATA: the archive
 * is damaged (BAD_TAR_DAMAGED, the sentence says where and how); members before it are good.
 * Other classes: the source failed, also when its command ended badly, so that a cut is never
 * blamed on the archive when the pipe broke. At the end and after damage the source has been
 * read to its end and closed. */
int tar_next(struct tar *t, struct tar_member *m);

/* The next n bytes of the current body (n at most what is left of it): 0 or as tar_next. What
 * is not read is skipped by tar_next. */
int tar_read(struct tar *t, void *dst, size_t n);

/* The same without a copy: some of the next bytes, where they lie in the reader's buffer until the
 * next call. How many, 0 at the end of the body, or as tar_next. */
int64_t tar_span(struct tar *t, const void **p);

/* Are the next n bytes certain to be there, or may the source turn out to be shorter? Asked
 * before memory of a size that only a header claims is taken. */
int tar_has(const struct tar *t, uint64_t n);

/* After damage: where, and whether all that is wrong is that the archive ends at a member
 * boundary without its two zero blocks, as NeMo writes it. */
uint64_t tar_damage_offset(const struct tar *t);
int tar_unterminated(const struct tar *t);

/* Bytes of the source and, with hash, their sha256 (else ""): final at the end and after damage. */
uint64_t tar_stored(const struct tar *t);
const char *tar_sha256(const struct tar *t);

#endif

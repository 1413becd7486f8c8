/* shard.h - the samples of one webdataset tar, in file order.
 * Consecutive files with the same key are one sample; the key is the path up to the first dot of
 * its last part, the rest (in lower case) the extension. Folders, links, names without a key and
 * `__x__` names are passed over, as webdataset does.
 *
 * A sample is given out only when it is known to be whole: the header of another key, or the end
 * of the archive, was seen behind it. When the tar turns out to be damaged, the sample being
 * gathered is not used; it is part of the one tar_damaged row. One exception: an archive that
 * ends at a member boundary without its end mark gives its last sample too when that has the same
 * extensions as the sample before it. */
#ifndef DATA_SHARD_H
#define DATA_SHARD_H

#include "base/arena.h"
#include "data/sample.h"
#include "io/source.h"

struct shard;

struct shard_options {
    uint64_t member_limit;  /* of one loaded member, and a quarter of what a sample may hold:
                             * more is too_large, and never held; 0 = 2 GiB */
    const char *wanted;     /* "jpg;txt;json": bytes of others are not loaded; NULL = all */
    int hash;               /* sha256 of the shard's bytes while reading */
    int allow_unterminated; /* an archive without its end mark is whole */
    int64_t expected; /* ... is whole if it has so many samples (its parquet says); 0 = unknown */
};

/* Every sample seen is in exactly one of the first two; damaged is 0 or 1 and stands for the
 * sample lost at the damage, if there was one. rows + errors = samples + bad + damaged. */
struct shard_counts {
    uint64_t samples, bad, damaged;
    uint64_t passed_over; /* members that belong to no sample */
};

/* ERR_INPUT when it cannot be opened. index goes into every sample. options may be NULL. */
int shard_open(struct shard **out, const char *name, uint32_t index,
               const struct shard_options *options);
struct shard *shard_of(struct source *s, uint32_t index, const struct shard_options *options);
void shard_close(struct shard *r); /* NULL is fine; at any moment */

/* The next sample, in memory of the arena: 0, 1 at the end, or an error. ERR_DATA: one bad sample
 * was stepped over, key and offset are in *s, calling again is safe. Its reasons (err_why):
 * duplicate_member (an extension twice), non_adjacent (the key was there before), too_large
 * (a member over the limit, a key over 1 KiB, over 1,000 members), and tar_damaged, which ends
 * the shard (key "", the offset of the damage). Other classes: the source failed; what the shard
 * gave so far is not all. */
int shard_next(struct shard *r, struct sample *s, struct arena *a);

const struct shard_counts *shard_counts(const struct shard *r);

/* Of the file as read, final once shard_next has returned 1. "" without hash. */
const char *shard_sha256(const struct shard *r);
uint64_t shard_size(const struct shard *r);

/* Split a member name: the length of its key, 0 when it has none. *ext points behind the dot. */
size_t shard_key(const char *name, const char **ext);
/* The same for a member of a tar; 0 also when it belongs to no sample. */
struct tar_member;
size_t shard_member(const struct tar_member *m, const char **ext);

#endif

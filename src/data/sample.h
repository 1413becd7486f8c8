/* sample.h - one sample: the files that share a key. Plain data; who filled it says how long
 * the bytes live (usually: until the arena they stand in is reset). */
#ifndef DATA_SAMPLE_H
#define DATA_SAMPLE_H

#include "base/platform.h"

struct sample_member {
    const char *ext;           /* ASCII lower case, without the dot: "jpg", "seg.png" */
    const unsigned char *data; /* NULL when the reader was told not to load this extension */
    size_t size;
    uint64_t offset;  /* of the bytes in the unpacked shard; 0 in a folder */
    const char *path; /* of the file in a folder; NULL in a shard */
};

struct sample {
    const char *key; /* bytes as stored (not always UTF-8); "" for a damaged shard */
    const struct sample_member *members;
    int count;
    uint32_t shard;  /* place of the shard in the list of inputs */
    uint64_t offset; /* of its first header in the unpacked shard; in a folder its number */
};

/* In the order in which they are looked for. */
#define SAMPLE_PICTURES "jpg;jpeg;png;webp;gif;bmp"

/* The member with the first of these extensions that the sample has ("jpg;png", any case), or
 * NULL. */
const struct sample_member *sample_find(const struct sample *s, const char *exts);

/* Is ext one of the list? */
int sample_is_one_of(const char *exts, const char *ext);

#endif

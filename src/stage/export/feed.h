/* feed.h - the way back from the rows of a partition to the samples they were made from. */
#ifndef STAGE_EXPORT_FEED_H
#define STAGE_EXPORT_FEED_H

#include "base/arena.h"
#include "base/hash.h"
#include "format/tar.h"
#include "stage/export/export.h"

/* ---- origin.c: where the rows of a partition come from ---- */

enum { INPUT_NONE = -1, INPUT_TWICE = -2 };

/* An input, and what embed's receipt says of it (NULL: nothing). */
struct origin_input {
    int64_t input; /* or INPUT_NONE, INPUT_TWICE */
    const struct receipt_file *promise;
};

/* Neighbouring rows that come from the same input; from several where only keys tell which. */
struct origin {
    int64_t first, rows;
    uint64_t label;     /* hash of the name that rows and errors have for it; 0: any */
    size_t from, count; /* of origins.inputs */
};

/* A sample that embed dropped. */
struct lapse {
    uint64_t label;
    int64_t offset;
};

struct origins {
    struct origin *list;
    size_t count, cap;
    struct origin_input *inputs;
    size_t ninputs, inputs_cap;
    struct lapse *lapses; /* in the order of the samples */
    size_t nlapses, lapses_cap;
};
int origins_load(struct origins *o, const struct exporter *x, int64_t part);
void origins_release(struct origins *o);
/* The input that was number k of a partition's receipt under this name. */
int64_t origin_find(const struct exporter *x, int64_t part, size_t k, const char *label);

/* ---- feed.c: the samples of an origin, in order, with all their members ---- */

struct feed {
    struct exporter *x;
    int64_t part;
    const struct origins *origins;
    const struct origin *origin; /* NULL: closed */
    size_t at;                   /* its input that is open */
    struct receipt_files read;   /* inputs that were read to their end */
    int lost; /* the input failed: nothing is known of its samples, but others may do */

    /* the current sample */
    const char *label; /* of its input */
    struct str key;
    uint64_t hash; /* of the label, as errors/ has it */
    int64_t offset;

    struct tar *tar;
    struct tar_member member;
    const char *ext;
    size_t key_len;
    int ahead, over, begun; /* member was read and not given; the tar has ended; key is a sample */

    size_t next; /* picture */
    int given;   /* of its members */
    const unsigned char *body;
    size_t left;
    struct arena arena;
    struct sample sample;
    struct str member_name;
    struct sha256 sum;
    uint64_t bytes;
};
int feed_open(struct feed *f, struct exporter *x, int64_t part, const struct origins *o,
              const struct origin *origin);
int feed_next(struct feed *f); /* 0, 1 at the end, or an error */

/* The next file of the sample: 0, 1 when it has no more, or an error. name is as it stands in the
 * source; ext points into it, behind the dot that ends the key. Both live until the next call. */
struct feed_member {
    const char *name, *ext;
    uint64_t size;
};
int feed_member(struct feed *f, struct feed_member *m);
int64_t feed_span(struct feed *f, const void **p); /* its bytes, as tar_span */

/* Has the file the size that embed's receipt says? ERR_STALE if not. */
int feed_check(const char *path, const struct receipt_file *promise);
/* Read the open input to its end and compare with embed's receipt: ERR_STALE names what changed. */
int feed_finish(struct feed *f);
void feed_close(struct feed *f); /* zeroed is fine */

#endif

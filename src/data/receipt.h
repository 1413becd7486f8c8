/* receipt.h - proof of what is done.
 * A product (embed, score, ...) has one run.json that names the options which decide its bytes,
 * and one receipt per partition, written after that partition's files. No receipt, or one that
 * disagrees, means not done. */
#ifndef DATA_RECEIPT_H
#define DATA_RECEIPT_H

#include "base/err.h"
#include "base/str.h"
#include "io/place.h"

enum { RECEIPT_FORMAT = 1 };

/* The fingerprinted options of a product, in table order. Zeroed is empty. */
struct run {
    struct run_field {
        char *name, *value;
    } * field;
    size_t count, cap;
    char fingerprint[65]; /* set by run_claim */
};
void run_add(struct run *r, const char *name, const char *value);
const char *run_get(const struct run *r, const char *name); /* NULL when absent */
void run_release(struct run *r);

/* Write _darkroom/<product>/run.json, or compare with the one that is there: ERR_STALE names
 * the field and both values. RUN_FORCE: remove the old run's receipts and the outputs they name.
 * RUN_REPLACE: the new run takes over, with a line; the old one's files stay until replaced. */
enum run_mode { RUN_KEEP, RUN_FORCE, RUN_REPLACE };
int run_claim(struct run *r, struct place *p, const char *product, enum run_mode mode);
int run_load(struct run *r, struct place *p, const char *product); /* ERR_INPUT when absent */
/* ERR_STALE when the place has meanwhile been given to another run: asked before a partition's
 * files become visible. */
int run_still_ours(const struct run *r, struct place *p, const char *product);

enum { PARTITIONS_MAX = 10000000 };

struct receipt_file {
    char *name;
    uint64_t size;
    char sha256[65];
};

struct receipt_files {
    struct receipt_file *file;
    size_t count, cap;
};
void receipt_add(struct receipt_files *f, const char *name, uint64_t size, const char *sha256);

struct receipt {
    int64_t partition;
    int digits; /* of partition numbers in names */
    char fingerprint[65];
    struct receipt_files inputs, outputs;
    int64_t samples, rows, errors[BAD_COUNT];
};
void receipt_release(struct receipt *r);
int receipt_save(const struct receipt *r, struct place *p, const char *product);
/* ERR_INPUT when there is none, ERR_STALE when it cannot be believed. */
int receipt_load(struct receipt *r, struct place *p, const char *product, int64_t partition,
                 int digits);
int receipt_remove(struct place *p, const char *product, int64_t partition, int digits);

/* Are the outputs there, with their sizes (and, with rehash, their bytes)? ERR_STALE if not. */
int receipt_check(const struct receipt *r, struct place *p, int rehash);

/* Names: padding as clip-retrieval pads, int(log10(count)) + 1 digits. */
int partition_digits(int64_t count);
void receipt_name(struct str *out, const char *product, int64_t partition, int digits);

#endif

/* product.c - receipts of products that are made from the whole place: their inputs are few lines,
 * each standing for all files of a kind. */
#include "stage/dedup/dedup.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void files_copy(struct receipt_files *out, const struct receipt_files *from)
{
    for (size_t i = 0; i < from->count; i++)
        receipt_add(out, from->file[i].name, from->file[i].size, from->file[i].sha256);
}

void files_release(struct receipt_files *f)
{
    struct receipt r = {.inputs = *f};
    receipt_release(&r);
    memset(f, 0, sizeof *f);
}

static int same_files(const struct receipt_files *a, const struct receipt_files *b)
{
    if (a->count != b->count) return 0;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->file[i].name, b->file[i].name) || a->file[i].size != b->file[i].size ||
            strcmp(a->file[i].sha256, b->file[i].sha256))
            return 0;
    return 1;
}

int product_done(struct receipt *out, struct place *p, const char *product, const struct run *run,
                 const struct receipt_files *inputs, int64_t partition, int64_t partitions)
{
    int rc = receipt_load(out, p, product, partition, partition_digits(partitions));
    int done = !rc && !strcmp(out->fingerprint, run->fingerprint) && !receipt_check(out, p, 0);
    if (done && !same_files(&out->inputs, inputs)) done = 0;
    if (!done) receipt_release(out);
    return done;
}

int product_claim(struct run *run, struct dedup *d, const char *product, int64_t partitions,
                  enum run_mode mode)
{
    char number[24];
    snprintf(number, sizeof number, "%lld", (long long)partitions);
    run_add(run, "partitions", number);
    if (mode == RUN_KEEP && d->o->force_new_run) mode = RUN_FORCE;
    return run_claim(run, d->place, product, mode);
}

int product_stands(const struct run *run, struct place *p, const char *product)
{
    struct run old = {0};
    struct receipt lists = {0};
    int finished = !receipt_load(&lists, p, DEDUP_EPS, 0, 1);
    int differs = 0;
    receipt_release(&lists);
    if (finished && !run_load(&old, p, product))
        for (size_t i = 0; i < run->count && !differs; i++) {
            const char *was = run_get(&old, run->field[i].name);
            differs = !was || strcmp(was, run->field[i].value);
        }
    run_release(&old);
    return differs;
}

int product_refuse_dry_run(const struct dedup *d, const char *product)
{
    return err_set(ERR_STALE,
                   "%s: --dry-run replaces nothing, and %s was made with other options for the "
                   "result that is there; leave --dry-run out, or try them in another place",
                   place_url(d->place), product);
}

int product_begin(struct receipt *out, struct place *p, const char *product, const struct run *run,
                  const struct receipt_files *inputs, int64_t partition, int64_t partitions)
{
    memset(out, 0, sizeof *out);
    out->partition = partition;
    out->digits = partition_digits(partitions);
    memcpy(out->fingerprint, run->fingerprint, sizeof out->fingerprint);
    files_copy(&out->inputs, inputs);
    int rc = run_still_ours(run, p, product);
    return rc ? rc : receipt_remove(p, product, partition, out->digits);
}

int product_commit(struct receipt *r, struct sink *sink, const char *name)
{
    char sha256[65];
    uint64_t size;
    int rc = sink_commit(sink, sha256, &size);
    if (!rc) receipt_add(&r->outputs, name, size, sha256);
    return rc;
}

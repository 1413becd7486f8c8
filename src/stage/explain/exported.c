/* exported.c - where export put a sample. Survivors are numbered in the order of partitions and
 * rows, and export fills its shards in that order, so its run file tells the shard. */
#include "stage/explain/explain.h"
#include "base/err.h"
#include "data/survivors.h"

#include <stdlib.h>
#include <string.h>

static int64_t whole(const struct run *r, const char *field)
{
    const char *text = run_get(r, field);
    return text ? strtoll(text, NULL, 10) : 0;
}

/* The run of an export that came to its end. */
static int finished(struct run *run, struct place *p)
{
    struct receipt r = {0};
    int there = place_exists(p, "_darkroom/export/run.json", NULL) && !run_load(run, p, "export") &&
                !receipt_load(&r, p, "export", 0, partition_digits(1)) &&
                !strcmp(r.fingerprint, run->fingerprint);
    receipt_release(&r);
    return there;
}

/* As export names them: NNNNN.tar, and with --renumber the shard's number and the sample's. */
static void tell_shard(struct story *s, const struct run *run, int64_t number)
{
    int64_t each = whole(run, "samples-per-shard"), digits = whole(run, "max-shards");
    const char *out = run_get(run, "out");
    struct str name = {0};
    int index_digits = 0;
    if (each < 1 || digits < 1 || digits > 18) return;
    for (int64_t k = 1; k < each && k <= INT64_MAX / 10; k *= 10) index_digits++;
    str_printf(&name, "%s/%0*lld.tar", out ? out : "", (int)digits, (long long)(number / each));
    story_words(s, "", "exported", name.p);
    if (!strcmp(run_get(run, "renumber") ? run_get(run, "renumber") : "", "true")) {
        str_clear(&name);
        str_printf(&name, "%0*lld", (int)digits, (long long)(number / each));
        if (index_digits) str_printf(&name, "%0*lld", index_digits, (long long)(number % each));
        story_words(s, "", "exported_key", name.p);
    }
    str_release(&name);
}

void story_exported(struct story *s, const struct report *r)
{
    struct run run = {0};
    struct survivors left = {0};
    int there = finished(&run, sidecars_place(r->sidecars));
    /* a filter or dedup that is under way makes survivors unknown: nothing is told then */
    if (there && !survivors_load(&left, r->sidecars) && survivors_has(&left, s->part, s->row) &&
        left.count == whole(&run, "samples"))
        tell_shard(s, &run, survivors_before(&left, s->part, s->row));
    survivors_release(&left);
    run_release(&run);
}

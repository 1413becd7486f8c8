/* promise.c - see promise.h. Every answer is kept, so that a place of n partitions costs n receipts
 * of each product however often it is asked, also where one line of a receipt stands for all
 * files of a kind. */
#include "data/promise.h"
#include "base/hash.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct promises {
    const struct sidecars *s;
    pthread_mutex_t lock; /* recursive: a promise asks for those it rests on */
    struct promise *one[SIDE_COUNT];
    struct promise all[SIDE_COUNT];
    struct promise clusters; /* dedup-clusters, of which only the state is used */
    struct receipt found;    /* its receipt: centroids, labels, distances */
};

struct promises *promises_new(const struct sidecars *s)
{
    struct promises *p = mem_alloc(sizeof *p);
    pthread_mutexattr_t how;
    p->s = s;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&p->lock, &how);
    pthread_mutexattr_destroy(&how);
    return p;
}

void promises_free(struct promises *p)
{
    if (!p) return;
    for (int k = 0; k < SIDE_COUNT; k++) free(p->one[k]);
    receipt_release(&p->found);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* ---- one file ---- */

static const struct receipt_file *output_of(const struct receipt *r, const char *name)
{
    for (size_t i = 0; i < r->outputs.count; i++)
        if (!strcmp(r->outputs.file[i].name, name)) return &r->outputs.file[i];
    return NULL;
}

static int by_embed(enum sidecar kind)
{
    return !strcmp(sidecars_product(kind), "embed");
}

/* The receipt of the product's present run, or NULL; own holds it when it is not embed's. */
static const struct receipt *receipt_of(struct receipt *own, const struct sidecars *s,
                                        enum sidecar kind, int64_t i)
{
    const struct run *run = sidecars_run(s, kind);
    if (by_embed(kind)) return sidecars_receipt(s, i);
    if (!run || receipt_load(own, sidecars_place(s), sidecars_product(kind), i,
                             partition_digits(sidecars_count(s))))
        return NULL;
    return strcmp(own->fingerprint, run->fingerprint) ? NULL : own;
}

static void look(struct promises *p, struct promise *one, enum sidecar kind, int64_t i)
{
    struct place *place = sidecars_place(p->s);
    struct receipt own = {0};
    struct str name = {0};
    uint64_t there = 0;
    sidecars_name(&name, p->s, kind, i);
    one->state = PROMISE_ABSENT;
    if (by_embed(kind) && sidecars_layout(p->s) != LAYOUT_DARKROOM) {
        if (place_exists(place, name.p, &one->size) && !place_stamp(place, name.p, one->sha256))
            one->state = PROMISE_WHOLE;
        str_release(&name);
        return;
    }
    const struct receipt *r = receipt_of(&own, p->s, kind, i);
    const struct receipt_file *f = r ? output_of(r, name.p) : NULL;
    if (f && place_exists(place, name.p, &there) && there == f->size) {
        one->size = f->size;
        memcpy(one->sha256, f->sha256, sizeof one->sha256);
        one->state = PROMISE_ASKED;
        int stale = !by_embed(kind) && promises_changed(p, r, i, &one->changed);
        one->state = stale ? PROMISE_STALE : PROMISE_WHOLE;
    }
    receipt_release(&own);
    str_release(&name);
}

struct promise promises_ask(struct promises *p, enum sidecar kind, int64_t i)
{
    pthread_mutex_lock(&p->lock);
    if (!p->one[kind])
        p->one[kind] = mem_alloc(((size_t)sidecars_count(p->s) + 1) * sizeof **p->one);
    struct promise *one = &p->one[kind][i];
    if (one->state == PROMISE_UNKNOWN) look(p, one, kind, i);
    struct promise answer = *one;
    pthread_mutex_unlock(&p->lock);
    return answer;
}

/* ---- all files of a kind ---- */

static void look_all(struct promises *p, struct promise *all, enum sidecar kind)
{
    struct str text = {0}, name = {0};
    int64_t files = 0;
    all->state = PROMISE_ASKED;
    for (int64_t i = 0; i < sidecars_count(p->s); i++) {
        if (sidecars_rows(p->s, i) < 0) continue;
        struct promise one = promises_ask(p, kind, i);
        if (one.state != PROMISE_WHOLE && one.state != PROMISE_ASKED) continue;
        sidecars_name(&name, p->s, kind, i);
        str_printf(&text, "%s %llu %s\n", name.p, (unsigned long long)one.size, one.sha256);
        all->size += one.size;
        files++;
    }
    if (files) sha256_of(all->sha256, text.p, text.len);
    all->state = files ? PROMISE_WHOLE : PROMISE_ABSENT;
    str_release(&text);
    str_release(&name);
}

struct promise promises_ask_all(struct promises *p, enum sidecar kind)
{
    pthread_mutex_lock(&p->lock);
    struct promise *all = &p->all[kind];
    if (all->state == PROMISE_UNKNOWN) look_all(p, all, kind);
    struct promise answer = *all;
    pthread_mutex_unlock(&p->lock);
    return answer;
}

/* ---- inputs ---- */

/* dedup's clusters: one receipt for the whole place. */
static void look_clusters(struct promises *p)
{
    struct place *place = sidecars_place(p->s);
    struct run run = {0};
    enum sidecar which;
    p->clusters.state = PROMISE_ABSENT;
    if (place_exists(place, "_darkroom/dedup-clusters/run.json", NULL) &&
        !run_load(&run, place, "dedup-clusters") &&
        !receipt_load(&p->found, place, "dedup-clusters", 0, partition_digits(1)) &&
        !strcmp(p->found.fingerprint, run.fingerprint)) {
        p->clusters.state = PROMISE_ASKED;
        if (promises_changed(p, &p->found, 0, &which))
            p->clusters = (struct promise){.state = PROMISE_STALE, .changed = which};
        else
            p->clusters.state = PROMISE_WHOLE;
    }
    run_release(&run);
}

static int differs(const struct promise *now, const struct receipt_file *then)
{
    return now->size != then->size || strcmp(now->sha256, then->sha256);
}

static int changed_clusters(struct promises *p, const struct receipt_file *f, enum sidecar *which)
{
    *which = SIDE_ASSIGN;
    if (strncmp(f->name, "dedup/", 6)) return 0;
    if (p->clusters.state == PROMISE_UNKNOWN) look_clusters(p);
    const struct receipt_file *now = output_of(&p->found, f->name);
    if (p->clusters.state == PROMISE_STALE) *which = p->clusters.changed;
    return p->clusters.state == PROMISE_ABSENT || p->clusters.state == PROMISE_STALE || !now ||
           now->size != f->size || strcmp(now->sha256, f->sha256);
}

/* What stands for all files of a kind: their folder. */
static void cut_to_folder(struct str *name)
{
    const char *slash = strrchr(name->p, '/');
    char *folder = slash ? mem_strndup(name->p, (size_t)(slash - name->p)) : mem_strdup(".");
    str_clear(name);
    str_puts(name, folder);
    free(folder);
}

/* Is it a file, or all files, of a kind that are not as they were? Shards and the like are no
 * files of the place, and nothing is known of them. */
static int changed(struct promises *p, const struct receipt_file *f, int64_t i, enum sidecar *which)
{
    struct str name = {0};
    struct promise now = {.state = PROMISE_UNKNOWN};
    for (int k = 0; k < SIDE_COUNT && now.state == PROMISE_UNKNOWN; k++) {
        sidecars_name(&name, p->s, (enum sidecar)k, i);
        *which = (enum sidecar)k;
        if (!strcmp(name.p, f->name)) {
            now = promises_ask(p, *which, i);
            continue;
        }
        cut_to_folder(&name);
        if (!strcmp(name.p, f->name)) now = promises_ask_all(p, *which);
    }
    str_release(&name);
    if (now.state == PROMISE_UNKNOWN) return changed_clusters(p, f, which);
    if (now.state == PROMISE_STALE) {
        *which = now.changed;
        return 1;
    }
    if (now.state == PROMISE_ASKED && !now.sha256[0]) return 0; /* all of a kind, in a circle */
    return differs(&now, f);
}

int promises_changed(struct promises *p, const struct receipt *r, int64_t i, enum sidecar *which)
{
    int found = 0;
    pthread_mutex_lock(&p->lock);
    for (size_t k = 0; k < r->inputs.count && !found; k++)
        found = changed(p, &r->inputs.file[k], i, which);
    pthread_mutex_unlock(&p->lock);
    return found;
}

/* groups.c - what deduplication did: the rows it removed, and its largest groups.
 * A removed row names its nearest earlier one; following these names leads to a row that stayed,
 * the root of its group. Names are ids, and a name means a sample only inside its cluster (shards
 * may repeat keys), so a node is the hash of both. Two walks over removed.parquet make a forest of
 * 16 bytes a row and count its trees; a third gathers the members of the largest. */
#include "stage/report/report.h"
#include "stage/report/entries.h"
#include "base/hash.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "data/survivors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a table of 64-bit keys and values; a key is never 0 ---- */

struct table {
    uint64_t *key, *value;
    size_t count, cap; /* cap is a power of two */
};

static size_t table_slot(const struct table *t, uint64_t key)
{
    size_t at = key & (t->cap - 1);
    while (t->key[at] && t->key[at] != key) at = (at + 1) & (t->cap - 1);
    return at;
}

static void table_grow(struct table *t)
{
    struct table old = *t;
    t->cap = old.cap ? 2 * old.cap : 1024;
    t->key = mem_alloc(t->cap * sizeof *t->key);
    t->value = mem_alloc(t->cap * sizeof *t->value);
    for (size_t i = 0; i < old.cap; i++) {
        if (!old.key[i]) continue;
        size_t at = table_slot(t, old.key[i]);
        t->key[at] = old.key[i];
        t->value[at] = old.value[i];
    }
    free(old.key);
    free(old.value);
}

static uint64_t *table_at(struct table *t, uint64_t key, int make)
{
    if (3 * t->count >= 2 * t->cap) table_grow(t);
    size_t at = table_slot(t, key);
    if (t->key[at]) return &t->value[at];
    if (!make) return NULL;
    t->key[at] = key;
    t->count++;
    return &t->value[at];
}

static void table_release(struct table *t)
{
    free(t->key);
    free(t->value);
    memset(t, 0, sizeof *t);
}

/* ---- groups ---- */

struct forest {
    struct report *r;
    struct table parent; /* of a removed row: the node it named */
    struct table size;   /* of a root: rows removed for it */
};

static uint64_t node_of(struct parquet_slice id, int64_t cluster)
{
    uint64_t h = hash64(id.p, id.n) ^ (uint64_t)(cluster + 1) * 0x9e3779b97f4a7c15u;
    return h ? h : 1;
}

static void plant(void *arg, const struct entry *e)
{
    struct forest *f = arg;
    int64_t row = report_row(f->r, e->part, e->row);
    f->r->removed[row / 8] |= (uint8_t)(1 << row % 8);
    uint64_t node = node_of(e->id, e->cluster), to = node_of(e->nearest, e->cluster);
    if (node != to) *table_at(&f->parent, node, 1) = to;
}

/* Up to the root, shortening the way for those who come after. Ids that are not what dedup writes
 * could lead in a circle: the steps are counted. */
static uint64_t root_of(struct forest *f, uint64_t node)
{
    for (int steps = 0; steps < 1 << 20; steps++) {
        uint64_t *up = table_at(&f->parent, node, 0);
        if (!up || *up == node) return node;
        uint64_t *over = table_at(&f->parent, *up, 0);
        if (!over || *over == *up) return *up;
        if (*over == node) return *up = node; /* a circle of ids that stand for several rows */
        node = *up = *over;
    }
    return node;
}

static void count_tree(void *arg, const struct entry *e)
{
    struct forest *f = arg;
    ++*table_at(&f->size, root_of(f, node_of(e->id, e->cluster)), 1);
}

/* The largest trees, larger first; of equal ones the smaller hash, so that runs agree. */
static void choose_groups(struct forest *f)
{
    struct report *r = f->r;
    for (size_t i = 0; i < f->size.cap; i++) {
        struct group g = {.root = f->size.key[i], .size = (int64_t)f->size.value[i] + 1};
        if (!g.root) continue;
        r->group_count++;
        int at = r->groups;
        while (at && (r->group[at - 1].size < g.size ||
                      (r->group[at - 1].size == g.size && r->group[at - 1].root > g.root)))
            at--;
        if (at == GROUPS) continue;
        int moved = (r->groups < GROUPS ? r->groups : GROUPS - 1) - at;
        memmove(&r->group[at + 1], &r->group[at], (size_t)moved * sizeof g);
        r->group[at] = g;
        if (r->groups < GROUPS) r->groups++;
    }
}

static struct group *group_of(struct report *r, uint64_t root)
{
    for (int i = 0; i < r->groups; i++)
        if (r->group[i].root == root) return &r->group[i];
    return NULL;
}

static void gather(void *arg, const struct entry *e)
{
    struct forest *f = arg;
    struct group *g = group_of(f->r, root_of(f, node_of(e->id, e->cluster)));
    if (!g) return;
    double score = isfinite(e->score) ? e->score : -1;
    g->cluster = e->cluster;
    near_add(&g->most, score, -score, e->part, e->row);
    near_add(&g->least, score, score, e->part, e->row);
}

static void find_kept(void *arg, const struct entry *e)
{
    struct forest *f = arg;
    struct group *g = group_of(f->r, node_of(e->id, e->cluster));
    if (!g || g->has_kept) return;
    g->has_kept = 1;
    g->kept = (struct near){1, 0, e->part, e->row, -1};
}

static int make_groups(struct report *r)
{
    struct forest f = {.r = r};
    unsigned all = (1 << ENTRY_COLUMNS) - 1;
    r->removed = mem_alloc((size_t)r->rows / 8 + 1);
    int rc = entries_each(r->sidecars, "dedup/removed.parquet", all & ~(1u << ENTRY_SCORE), plant,
                          &f, &r->nremoved);
    if (!rc)
        rc = entries_each(r->sidecars, "dedup/removed.parquet", all & ~(1u << ENTRY_SCORE),
                          count_tree, &f, NULL);
    if (!rc) choose_groups(&f);
    if (!rc && r->groups)
        rc = entries_each(r->sidecars, "dedup/removed.parquet", all, gather, &f, NULL);
    if (!rc && r->groups && place_exists(sidecars_place(r->sidecars), "dedup/kept.parquet", NULL))
        rc = entries_each(r->sidecars, "dedup/kept.parquet",
                          all & ~(1u << ENTRY_NEAREST | 1u << ENTRY_SCORE), find_kept, &f, NULL);
    table_release(&f.parent);
    table_release(&f.size);
    return rc;
}

/* ---- the summary and the options ---- */

static int by_eps(const void *a, const void *b)
{
    const struct eps_row *x = a, *y = b;
    return (x->eps > y->eps) - (x->eps < y->eps);
}

static void load_summary(struct report *r)
{
    struct str s = {0};
    if (!r->has_dedup || !place_exists(sidecars_place(r->sidecars), "dedup/summary.csv", NULL) ||
        place_read(sidecars_place(r->sidecars), "dedup/summary.csv", &s, 1 << 20))
        return;
    for (char *line = s.p, *next; line && *line; line = next) {
        struct eps_row row;
        long long kept, removed;
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        if (sscanf(line, "%lf,%lld,%lld", &row.eps, &kept, &removed) != 3) continue;
        row.kept = kept, row.removed = removed;
        vec_push(r->eps_rows, r->eps_count, r->eps_cap);
        r->eps_rows[r->eps_count++] = row;
    }
    if (r->eps_count) qsort(r->eps_rows, r->eps_count, sizeof *r->eps_rows, by_eps);
    str_release(&s);
}

static void load_eps(struct report *r)
{
    struct run run = {0};
    struct place *p = sidecars_place(r->sidecars);
    r->eps = NAN;
    if (!place_exists(p, "_darkroom/dedup-eps/run.json", NULL) || run_load(&run, p, "dedup-eps")) {
        run_release(&run);
        if (r->eps_count == 1) r->eps = r->eps_rows[0].eps;
        return;
    }
    const char *eps = run_get(&run, "eps");
    char *end;
    double v = eps ? strtod(eps, &end) : NAN;
    if (eps && end != eps) r->eps = v;
    run_release(&run);
}

/* Tables without a run of ours beside them are taken as they are. */
int dedup_finished(struct report *r)
{
    enum dedup_state state;
    char sha256[65];
    if (!dedup_look(&state, sha256, r->sidecars))
        return state == DEDUP_DONE || state == DEDUP_FOREIGN;
    report_say(r, "dedup is left out: %s", err_text());
    return 0;
}

int report_groups(struct report *r)
{
    struct place *p = sidecars_place(r->sidecars);
    r->has_dedup = dedup_finished(r);
    load_summary(r);
    load_eps(r);
    int rc = r->has_dedup ? make_groups(r) : 0;
    if (!rc && r->has_dedup && place_exists(p, "dedup/quarantined.parquet", NULL))
        rc =
            entries_each(r->sidecars, "dedup/quarantined.parquet", 0, NULL, NULL, &r->nquarantined);
    return rc;
}

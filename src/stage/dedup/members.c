/* members.c - see members.h. A counting sort by cluster: each cluster is filled front to back, so
 * of the scratch file only the pages being filled are needed at a time. */
#include "stage/dedup/members.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int members_open(struct members *m, const struct dedup *d)
{
    const struct clustering *c = &d->found;
    memset(m, 0, sizeof *m);
    m->clusters = c->clusters;
    m->start = mem_alloc(mem_mul((size_t)c->clusters + 2, sizeof *m->start));
    int rc = scratch_open(&m->rows, d->place, mem_mul((size_t)c->good, sizeof(int64_t)));
    if (rc) return rc;
    int64_t *rows = m->rows.p, *next = m->start + 1; /* next[k]: where the next of k goes */
    for (int64_t i = 0; i < c->rows; i++)
        if (c->label[i] >= 0) next[c->label[i] + 1]++;
    for (int64_t k = 0; k < c->clusters; k++) {
        if (next[k + 1] > m->largest) m->largest = next[k + 1];
        next[k + 1] += next[k];
    }
    for (int64_t i = 0; i < c->rows; i++)
        if (c->label[i] >= 0) rows[next[c->label[i]]++] = i;
    return 0; /* each next[k] has come to where k+1 starts: start[] is right as it stands */
}

void members_close(struct members *m)
{
    scratch_close(&m->rows);
    free(m->start);
    memset(m, 0, sizeof *m);
}

const int64_t *members_of(const struct members *m, int64_t cluster, int64_t *count)
{
    *count = m->start[cluster + 1] - m->start[cluster];
    return (const int64_t *)m->rows.p + m->start[cluster];
}

/* ---- order ---- */

/* The value of a column as its rank inside the cluster: exact as a float up to 2^24 rows, whatever
 * the column's type. */
struct rank {
    uint64_t key;
    struct parquet_slice word;
    int64_t item;
};

static int compare_words(const struct parquet_slice *a, const struct parquet_slice *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    int c = n ? memcmp(a->p, b->p, n) : 0;
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

static int by_value(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return compare_words(&x->word, &y->word);
}

static void rank_items(struct pairs_item *items, struct arena *a, const struct ids *ids,
                       const int64_t *rows, int64_t n)
{
    struct rank *r = arena_alloc(a, mem_mul((size_t)n, sizeof *r));
    const uint8_t *nulls = ids->nulls.p;
    const uint64_t *keys = ids->keys.p;
    for (int64_t i = 0; i < n; i++) {
        r[i] = (struct rank){.item = i};
        if (!ids->by_words)
            r[i].key = keys[rows[i]];
        else if (nulls[rows[i]])
            r[i].key = VALUE_NULL;
        else
            r[i].word = texts_get(&ids->words, rows[i]);
    }
    qsort(r, (size_t)n, sizeof *r, by_value);
    int64_t rank = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i && by_value(&r[i - 1], &r[i])) rank = i;
        items[r[i].item].key = r[i].key == VALUE_NULL ? NAN : (float)rank;
    }
}

void lineup_make(struct lineup *l, struct arena *a, const struct dedup *d, const struct members *m,
                 const struct ids *ids, int64_t cluster)
{
    const int64_t *rows = members_of(m, cluster, &l->count);
    size_t n = (size_t)l->count;
    struct pairs_item *items = arena_alloc(a, mem_mul(n, sizeof *items));
    for (size_t i = 0; i < n; i++) {
        int64_t part = rowset_part(&d->rows, rows[i]);
        struct parquet_slice id = texts_get(&ids->name, rows[i]);
        items[i] = (struct pairs_item){.key = d->found.distance[2 * rows[i] + !d->set.l2],
                                       .id = id.p,
                                       .id_bytes = (uint32_t)id.n,
                                       .part = (int32_t)part,
                                       .row = rows[i] - d->rows.first[part]};
    }
    if (d->by && n) rank_items(items, a, ids, rows, l->count);
    l->order = arena_alloc(a, mem_mul(n, sizeof *l->order));
    l->row = arena_alloc(a, mem_mul(n, sizeof *l->row));
    pairs_order(l->order, items, l->count, d->set.keep, (uint64_t)d->set.seed);
    for (size_t i = 0; i < n; i++) l->row[i] = rows[l->order[i]];
}

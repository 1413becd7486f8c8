/* dict.c - the distinct values of a column chunk.
 * An open hash table over values that stay where they are, in PLAIN form. Most columns that do not
 * repeat show it at once, so a look at the first values saves the work for the rest. */
#include "format/parquet/dict.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#include "format/parquet/rle.h"

enum {
    LOOK = 2048,        /* after so many values, three quarters distinct means: no dictionary */
    MAX_BYTES = 1 << 20 /* readers hold a dictionary in memory; this is also Arrow's limit */
};

static uint64_t hash_of(const char *p, size_t size, size_t width)
{
    uint64_t v = 0;
    if (!width) return hash64(p, size);
    memcpy(&v, p, width);
    v *= 0x9e3779b97f4a7c15u;
    return v ^ v >> 32;
}

static size_t size_of(const char *p, size_t width)
{
    uint32_t n;
    if (width) return width;
    memcpy(&n, p, 4);
    return 4 + (size_t)n;
}

static inline int same(const char *p, const char *q, size_t size, size_t width)
{
    if (width == 4) return !memcmp(p, q, 4); /* known sizes become one comparison */
    if (width == 8) return !memcmp(p, q, 8);
    return size_of(q, 0) == size && !memcmp(p, q, size);
}

static void grow(struct dict *d, size_t nslots, size_t width)
{
    d->nslots = nslots;
    d->slots = mem_resize(d->slots, nslots * sizeof *d->slots);
    memset(d->slots, 0, nslots * sizeof *d->slots);
    for (size_t i = 0; i < d->count; i++) {
        const char *p = d->plain.p + d->at[i];
        uint64_t h = hash_of(p, size_of(p, width), width);
        size_t s = h & (nslots - 1);
        while (d->slots[s].entry) s = (s + 1) & (nslots - 1);
        d->slots[s] = (struct dict_slot){(uint32_t)(h >> 32), (uint32_t)i + 1};
    }
}

static uint32_t add(struct dict *d, struct dict_slot *slot, uint32_t tag, const char *p,
                    size_t size)
{
    vec_push(d->at, d->count, d->at_cap);
    d->at[d->count++] = d->plain.len;
    *slot = (struct dict_slot){tag, (uint32_t)d->count};
    str_add(&d->plain, p, size);
    return (uint32_t)d->count - 1;
}

static uint32_t find_or_add(struct dict *d, const char *p, size_t size, size_t width)
{
    uint64_t h = hash_of(p, size, width);
    uint32_t tag = (uint32_t)(h >> 32);
    for (size_t s = h & (d->nslots - 1);; s = (s + 1) & (d->nslots - 1)) {
        struct dict_slot *slot = &d->slots[s];
        if (!slot->entry) return add(d, slot, tag, p, size);
        const char *q = d->plain.p + d->at[slot->entry - 1];
        if (slot->tag == tag && same(p, q, size, width)) return slot->entry - 1;
    }
}

int dict_build(struct dict *d, const char *values, size_t bytes, size_t n, size_t width)
{
    str_clear(&d->plain);
    d->count = 0;
    if (n < 2) return 0;
    if (d->indices_cap < n) {
        d->indices_cap = n;
        d->indices = mem_resize(d->indices, mem_mul(n, sizeof *d->indices));
    }
    grow(d, 4096, width);
    const char *last = NULL; /* values often come in runs */
    for (size_t i = 0; i < n; i++) {
        size_t size = size_of(values, width);
        int again = last && same(values, last, size, width);
        d->indices[i] = again ? d->indices[i - 1] : find_or_add(d, values, size, width);
        last = values;
        values += size;
        if (d->plain.len > MAX_BYTES || (i == LOOK && d->count > LOOK / 4 * 3)) return 0;
        if (d->count * 2 > d->nslots) grow(d, d->nslots * 2, width);
    }
    return d->plain.len + n * (size_t)dict_width(d) / 8 < bytes - bytes / 4;
}

int dict_width(const struct dict *d)
{
    return d->count > 2 ? rle_width(d->count - 1) : 1;
}

void dict_release(struct dict *d)
{
    str_release(&d->plain);
    free(d->indices);
    free(d->at);
    free(d->slots);
    memset(d, 0, sizeof *d);
}

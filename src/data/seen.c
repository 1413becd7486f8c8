/* seen.c - open addressing, grown when half full. */
#include "data/seen.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static int put(struct seen *set, uint64_t h)
{
    size_t i = h & (set->cap - 1);
    while (set->slots[i] && set->slots[i] != h) i = (i + 1) & (set->cap - 1);
    if (set->slots[i]) return 1;
    set->slots[i] = h;
    set->count++;
    return 0;
}

static void grow(struct seen *set)
{
    struct seen old = *set;
    set->cap = old.cap ? 2 * old.cap : 1024;
    set->slots = mem_alloc(mem_mul(set->cap, sizeof *set->slots));
    set->count = 0;
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i]) put(set, old.slots[i]);
    free(old.slots);
}

int seen_before(struct seen *set, const void *p, size_t n)
{
    uint64_t h = hash64(p, n);
    if (2 * set->count >= set->cap) grow(set);
    return put(set, h ? h : 1);
}

void seen_clear(struct seen *set)
{
    if (set->cap) memset(set->slots, 0, set->cap * sizeof *set->slots);
    set->count = 0;
}

void seen_release(struct seen *set)
{
    free(set->slots);
    memset(set, 0, sizeof *set);
}

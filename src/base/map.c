/* map.c - open addressing over an insertion-ordered entry list. */
#include "base/map.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static size_t map_find(const struct map *m, const char *key, size_t len)
{
    size_t i = (size_t)hash64(key, len) & (m->nslots - 1);
    for (; m->slots[i]; i = (i + 1) & (m->nslots - 1)) {
        const struct map_entry *e = &m->entries[m->slots[i] - 1];
        if (e->len == len && !memcmp(e->key, key, len)) break;
    }
    return i;
}

static void map_grow(struct map *m)
{
    m->nslots = m->nslots ? 2 * m->nslots : 64;
    free(m->slots);
    m->slots = mem_alloc(m->nslots * sizeof *m->slots);
    for (size_t i = 0; i < m->count; i++)
        m->slots[map_find(m, m->entries[i].key, m->entries[i].len)] = (uint32_t)i + 1;
}

uint64_t *map_at(struct map *m, const char *key, size_t len, int make)
{
    if (!m->nslots) {
        if (!make) return NULL;
        map_grow(m);
    }
    size_t slot = map_find(m, key, len);
    if (m->slots[slot]) return &m->entries[m->slots[slot] - 1].value;
    if (!make) return NULL;
    vec_push(m->entries, m->count, m->cap);
    m->entries[m->count] = (struct map_entry){mem_strndup(key, len), len, 0};
    m->slots[slot] = (uint32_t)++m->count;
    if (2 * m->count > m->nslots) map_grow(m);
    return &m->entries[m->count - 1].value;
}

int map_get(const struct map *m, const char *key, uint64_t *value)
{
    uint64_t *v = map_at((struct map *)(uintptr_t)m, key, strlen(key), 0);
    if (v && value) *value = *v;
    return v != NULL;
}

void map_put(struct map *m, const char *key, uint64_t value)
{
    *map_at(m, key, strlen(key), 1) = value;
}

void map_clear(struct map *m)
{
    for (size_t i = 0; i < m->count; i++) free(m->entries[i].key);
    m->count = 0;
    if (m->slots) memset(m->slots, 0, m->nslots * sizeof *m->slots);
}

void map_release(struct map *m)
{
    map_clear(m);
    free(m->entries);
    free(m->slots);
    memset(m, 0, sizeof *m);
}

/* map.h - string keys to 64-bit values, in order of insertion.
 * Keys are copied. Zeroed is empty and valid. Entry i is the i-th key ever put. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/platform.h"

struct map_entry {
    char *key;
    size_t len;
    uint64_t value;
};

struct map {
    struct map_entry *entries;
    size_t count, cap;
    uint32_t *slots; /* 1 + entry index, 0 = free; nslots is a power of two */
    size_t nslots;
};

/* The value's address, made (zero) when absent and `make` is set, else NULL when absent.
 * The address holds until the next map_at that makes one. */
uint64_t *map_at(struct map *m, const char *key, size_t len, int make);
int map_get(const struct map *m, const char *key, uint64_t *value); /* 1 when found */
void map_put(struct map *m, const char *key, uint64_t value);
void map_clear(struct map *m);
void map_release(struct map *m);

#define map_each(i, m) for (size_t i = 0; i < (m)->count; i++)

#endif

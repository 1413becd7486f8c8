/* arena.c - a list of blocks; allocation bumps an offset in the current one. */
#include "base/arena.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64, BLOCK_MIN = 64 << 10 };

struct arena_block {
    struct arena_block *next;
    size_t size; /* of data */
    unsigned char *data;
};

static struct arena_block *block_new(size_t size)
{
    struct arena_block *b = mem_alloc(sizeof *b);
    b->size = size;
    b->data = mem_aligned(size);
    ASAN_POISON_MEMORY_REGION(b->data, size);
    return b;
}

/* Step to a following block that can hold n, making one where none can. */
static void arena_grow(struct arena *a, size_t n)
{
    struct arena_block **link = a->now ? &a->now->next : &a->first;
    while (*link && (*link)->size < n) link = &(*link)->next;
    if (!*link) {
        size_t size = a->now ? 2 * a->now->size : BLOCK_MIN;
        *link = block_new(size < n ? n : size);
    }
    a->now = *link;
    a->used = 0;
}

void *arena_alloc(struct arena *a, size_t n)
{
    n = mem_mul((n + ALIGN - 1) / ALIGN, ALIGN);
    if (!n) n = ALIGN;
    if (!a->now || a->now->size - a->used < n) arena_grow(a, n);
    void *p = a->now->data + a->used;
    a->used += n;
    ASAN_UNPOISON_MEMORY_REGION(p, n);
    return p;
}

void *arena_zalloc(struct arena *a, size_t n)
{
    return memset(arena_alloc(a, n), 0, n);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

void arena_reset(struct arena *a)
{
    for (struct arena_block *b = a->first; b; b = b->next)
        ASAN_POISON_MEMORY_REGION(b->data, b->size);
    a->now = a->first;
    a->used = 0;
}

void arena_release(struct arena *a)
{
    for (struct arena_block *b = a->first, *next; b; b = next) {
        next = b->next;
        ASAN_UNPOISON_MEMORY_REGION(b->data, b->size);
        free(b->data);
        free(b);
    }
    memset(a, 0, sizeof *a);
}

void arena_relax(struct arena *a, size_t keep)
{
    if (arena_bytes(a) > keep)
        arena_release(a);
    else
        arena_reset(a);
}

size_t arena_bytes(const struct arena *a)
{
    size_t n = 0;
    for (const struct arena_block *b = a->first; b; b = b->next) n += b->size;
    return n;
}

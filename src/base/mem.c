/* mem.c - allocation that does not fail. */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static NORETURN void out_of_memory(size_t n)
{
    fprintf(stderr,
            "darkroom: out of memory asking for %zu bytes; try a smaller --memory, "
            "--batch-size or --threads\n",
            n);
    exit(1);
}

void *mem_alloc(size_t n)
{
    void *p = calloc(1, n ? n : 1);
    if (!p) out_of_memory(n);
    return p;
}

void *mem_resize(void *p, size_t n)
{
    void *q = realloc(p, n ? n : 1);
    if (!q) out_of_memory(n);
    return q;
}

void *mem_aligned(size_t n)
{
    void *p = NULL;
    if (posix_memalign(&p, 64, n ? n : 1)) out_of_memory(n);
    return p;
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

char *mem_strndup(const char *s, size_t n)
{
    char *p = mem_resize(NULL, n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

int mem_mul_overflows(size_t n, size_t size, size_t *out)
{
    return __builtin_mul_overflow(n, size, out);
}

int mem_add_overflows(size_t n, size_t m, size_t *out)
{
    return __builtin_add_overflow(n, m, out);
}

size_t mem_mul(size_t n, size_t size)
{
    size_t r;
    if (mem_mul_overflows(n, size, &r)) out_of_memory(SIZE_MAX);
    return r;
}

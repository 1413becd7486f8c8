/* mem.h - host memory. Out of memory prints one line and exits 1: no caller checks. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include "base/platform.h"

void *mem_alloc(size_t n);           /* zeroed */
void *mem_resize(void *p, size_t n); /* new bytes are not zeroed */
void *mem_aligned(size_t n);         /* 64-byte aligned, not zeroed; free() it */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n); /* n bytes and a NUL */

/* n * size, or exit: for sizes already checked against a limit. */
size_t mem_mul(size_t n, size_t size);

/* 1 if n * size (n + m) overflows, else 0 and *out: for sizes that come from outside. */
int mem_mul_overflows(size_t n, size_t size, size_t *out);
int mem_add_overflows(size_t n, size_t m, size_t *out);

/* Make room for one more item: vec_push(list, count, cap) then list[count++] = item. */
#define vec_push(p, n, cap)                                             \
    do {                                                                \
        if ((size_t)(n) >= (size_t)(cap)) {                             \
            (cap) = (cap) ? 2 * (cap) : 16;                             \
            (p) = mem_resize((p), mem_mul((size_t)(cap), sizeof *(p))); \
        }                                                               \
    } while (0)

#endif

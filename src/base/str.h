/* str.h - a growing byte string, always NUL-terminated once something was added.
 * Zeroed is empty and valid; str_release gives it back. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/platform.h"

struct str {
    char *p;
    size_t len, cap;
};

void str_reserve(struct str *s, size_t more); /* room for more bytes and the NUL */
void str_add(struct str *s, const void *bytes, size_t n);
void str_puts(struct str *s, const char *text);
void str_putc(struct str *s, char c);
void str_printf(struct str *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void str_clear(struct str *s); /* empty, memory kept */
void str_release(struct str *s);
char *str_steal(struct str *s); /* the malloc'ed text; s becomes empty */

int str_ends(const char *s, const char *tail);
int str_starts(const char *s, const char *head);
int str_same(const char *a, const char *b); /* ASCII case and '_' = '-' ignored */

/* Nearest word to `word` in a NULL-terminated list by edit distance, or NULL if none is near. */
const char *str_nearest(const char *word, const char *const *list);
int str_distance(const char *a, const char *b);

#endif

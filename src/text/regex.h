/* regex.h - regular expressions that cannot run away: does a pattern occur in a text?
 * Python's re syntax without what needs backtracking (back-references, look-around). The text is
 * read once, so the time is linear in it whatever the pattern, and the memory of a pattern is
 * bounded. Characters are code points; \w \d \s \b and (?i) mean what they mean to Python. */
#ifndef TEXT_REGEX_H
#define TEXT_REGEX_H

#include "base/platform.h"

struct regex;

/* Compile n bytes of UTF-8. ERR_USAGE says what is wrong; *at is then the byte it is about. */
int regex_new(struct regex **out, size_t *at, const char *pattern, size_t n);
void regex_free(struct regex *r); /* NULL is fine */

/* 1 when the pattern occurs anywhere in the text. Ill-formed UTF-8 is read as U+FFFD. States are
 * made as texts need them, so a regex belongs to one thread at a time. */
int regex_find(struct regex *r, const char *text, size_t n);

#endif

/* regex_inside.h - what the compiler of a pattern (regex_parse.c) hands to its runner (regex.c): a
 * program of a few instructions over sets of code points. */
#ifndef TEXT_REGEX_INSIDE_H
#define TEXT_REGEX_INSIDE_H

#include "base/platform.h"

enum { REGEX_PROGRAM_MAX = 20000 };

struct range {
    uint32_t from, to; /* both belong to it */
};

/* Sorted and disjoint once it is in a program. */
struct charset {
    struct range *range;
    size_t count, cap;
};

enum regex_op {
    REGEX_SET,    /* consume one code point of set x */
    REGEX_SPLIT,  /* go on at x and at y */
    REGEX_JUMP,   /* go on at x */
    REGEX_ASSERT, /* go on behind it where assertion x holds */
    REGEX_MATCH
};

enum regex_assert {
    ASSERT_BEGIN,      /* \A, ^ */
    ASSERT_END,        /* \Z */
    ASSERT_LINE_BEGIN, /* (?m)^ */
    ASSERT_LINE_END,   /* (?m)$ */
    ASSERT_EDGE,       /* \b */
    ASSERT_NO_EDGE     /* \B */
};

struct regex_inst {
    uint32_t op, x, y;
};

struct regex_program {
    struct regex_inst *inst;
    size_t count, cap;
    struct charset *set;
    size_t sets, sets_cap;
    unsigned asserts; /* 1 << ASSERT_...: the kinds it uses */
};

int regex_compile(struct regex_program *p, size_t *at, const char *pattern, size_t n);
void regex_program_release(struct regex_program *p);

/* Sets. Adding leaves them unsorted; charset_tidy sorts and joins. */
void charset_add(struct charset *s, uint32_t from, uint32_t to);
void charset_tidy(struct charset *s);
void charset_invert(struct charset *s);
void charset_fold(struct charset *s); /* every code point also in its other cases */
void charset_word(struct charset *s); /* add \w */
void charset_release(struct charset *s);

#endif

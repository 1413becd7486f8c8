/* expr.h - the filter language: conditions over named, typed columns; docs/filter.md is its manual.
 * Texts are cut into rules, the conditions that `and` joins at the top, each known by its own
 * text. Names and types are checked once, before any row; rows are then judged many at a time.
 * null and NaN are one thing, no value: a comparison with it is false. */
#ifndef DATA_EXPR_EXPR_H
#define DATA_EXPR_EXPR_H

#include "data/batch.h"

struct expr;

struct expr *expr_new(void);
void expr_free(struct expr *e); /* NULL is fine */

/* Add the rules of one text. ERR_USAGE: the sentence is followed by two indented lines, the text
 * and carets under the place in question. */
int expr_add(struct expr *e, const char *text);
size_t expr_rules(const struct expr *e);
const char *expr_rule(const struct expr *e, size_t i); /* its exact text */

/* What names may stand for. aspect and resolution are made here, from width and height. A name in
 * backticks means a stored column; without them a derived one of that name comes first, so that a
 * field of someone's JSON cannot change what a rule means. */
struct expr_column {
    const char *name;
    enum column_type type;
    int single;         /* float32: a number it is compared with is rounded to that first */
    const char *from;   /* "metadata": listed when a name is not known */
    const char *refuse; /* why it cannot be used, or NULL */
    int derived;        /* worked out by the caller, not stored */
};

/* Give names and types to all rules, once. Nothing of columns is kept. ERR_USAGE as above. */
int expr_bind(struct expr *e, const struct expr_column *columns, size_t n);
int expr_reads(const struct expr *e, size_t column); /* does any rule use it? */

/* Judge rows: values[c] holds column c where it is read, else may be NULL. A bound expr belongs to
 * one thread at a time. */
enum { EXPR_FALSE, EXPR_TRUE, EXPR_NULL }; /* null: false, and only for want of a value */
void expr_eval(struct expr *e, size_t rule, uint8_t *out, const struct column *const *values,
               size_t rows);

struct expr_tally {
    uint64_t fails;   /* rows for which the rule is false */
    uint64_t dropped; /* those of them that no earlier rule dropped */
    uint64_t null;    /* those of dropped that had no value */
};

/* All rules: verdict[row] is 0 when none fails, else 1 + the first that does, negative when it was
 * for want of a value. tally[rules] is added to. */
void expr_judge(struct expr *e, int32_t *verdict, struct expr_tally *tally,
                const struct column *const *values, size_t rows);

#endif

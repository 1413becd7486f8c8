/* rules.h - the filter's rules as a reader sees them: in order, how many samples each dropped,
 * and, where a rule compares a column with a number, that comparison. */
#ifndef STAGE_REPORT_RULES_H
#define STAGE_REPORT_RULES_H

#include "data/receipt.h"

enum rule_op { RULE_OTHER, RULE_GE, RULE_GT, RULE_LE, RULE_LT };

struct rule {
    char *text;
    size_t len;
    int64_t dropped, nulls; /* nulls: those of them that had no value */
    char *column;           /* NULL: no plain comparison */
    int stored;             /* the name stood in backticks: never a derived one */
    enum rule_op op;
    double number;
};

struct rules {
    struct rule *list;
    size_t count, cap;
    size_t asked;  /* the first so many come from the filter's run, the rest from reasons */
    int64_t other; /* dropped for reasons too many to list */
};

/* What the filter's run says it asked for; run may be NULL. */
void rules_load(struct rules *r, const struct run *run);
/* One more sample was dropped for this reason: a rule's text, perhaps with ": null" behind it. */
void rules_count(struct rules *r, const char *reason, size_t len);
void rules_release(struct rules *r);

#endif

/* explain.h - the story of one sample: facts by section, and how it ended. */
#ifndef STAGE_EXPLAIN_EXPLAIN_H
#define STAGE_EXPLAIN_EXPLAIN_H

#include "stage/report/entries.h"
#include "stage/report/report.h"

struct fact {
    const char *section; /* "", "metadata", "scores", "filter", "rules", "dedup" */
    char *name;
    struct text text;
    char *words; /* of a rule: for people; text is JSON */
    int quoted;  /* in JSON a string */
};

struct story {
    const char *key;
    int64_t part, row;
    struct fact *fact;
    size_t count, cap;
    const char *outcome; /* kept, dropped, removed, quarantined, error */
    char *ending;        /* the same as a sentence */
};

void story_add(struct story *s, const char *section, const char *name, struct parquet_slice text,
               int quoted);
void story_words(struct story *s, const char *section, const char *name, const char *text);
void story_number(struct story *s, const char *section, const char *name, int64_t n);
const char *story_get(const struct story *s, const char *section, const char *name); /* or NULL */
/* What a rule says of the row, with the values it read: "a = 1, b = 2", and as JSON. */
void story_rule(struct story *s, const char *rule, const char *verdict, const char *words,
                const char *json);
void story_end(struct story *s, const char *outcome, const char *fmt, ...) PRINTF_LIKE(3, 4);
void story_tell(const struct story *s); /* lines, or one JSON object */
void story_release(struct story *s);

/* A value as text; room is for those that are no text. (explain.c) */
struct parquet_slice value_text(struct str *room, const struct column *c, size_t i);

/* Every rule of the filter with its verdict for this row. */
int story_rules(struct story *s, struct report *r);

/* The shard that export put it into, when it did. */
void story_exported(struct story *s, const struct report *r);

/* The rows of an errors file that have this key, told at once; counts them in *told. */
int story_errors(struct parquet_reader *t, const char *key, int64_t partition, int64_t *told);

#endif

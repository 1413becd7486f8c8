/* curate.h - a curation as a plan: the verbs that will run and the words each is given, as they
 * could be typed one by one. Made from a NeMo-style YAML file. */
#ifndef STAGE_CURATE_CURATE_H
#define STAGE_CURATE_CURATE_H

#include "base/arena.h"
#include "stage/verb.h"

enum step { STEP_EMBED, STEP_SCORE, STEP_FILTER, STEP_DEDUP, STEP_EXPORT, STEP_REPORT, STEPS };

struct plan {
    struct plan_step {
        int on;
        const char **words; /* options */
        size_t count, cap;
    } step[STEPS];
    struct arena text;          /* of the words */
    int normalized;             /* 0: normalize_embeddings is false */
    int aesthetic, nsfw;        /* is the head asked for already */
    const char *out;            /* export's folder, when the file names one */
    const char *extract, *also; /* eps_to_extract, eps_thresholds */
};

const struct verb *step_verb(enum step step);
void plan_word(struct plan *p, enum step step, const char *fmt, ...) PRINTF_LIKE(3, 4);
void plan_release(struct plan *p);

/* Read the file, then the overrides "section.key=value". ERR_INPUT for what is no YAML, ERR_USAGE
 * with file and line for an unknown key (and the nearest known one) or a value of another kind. */
int plan_load(struct plan *p, const char *path, const struct opt_list *overrides);

/* A commented example, ready to run. */
extern const char curate_example[];

#endif

/* verbs.h - every verb's row; the table that lists them is in main.c. */
#ifndef CMD_VERBS_H
#define CMD_VERBS_H

#include "stage/verb.h"

extern const struct verb embed_verb;                        /* stage/image/embed.c */
extern const struct verb score_verb;                        /* stage/image/score.c */
extern const struct verb filter_verb;                       /* stage/filter/filter.c */
extern const struct verb report_verb, explain_verb;         /* stage/report/, stage/explain/ */
extern const struct verb inspect_verb;                      /* cmd/inspect.c */
extern const struct verb model_verb;                        /* cmd/model.c */
extern const struct verb status_verb, verify_verb, gc_verb; /* cmd/place.c */
extern const struct verb device_verb, version_verb;         /* cmd/about.c */
extern const struct verb help_verb_row;                     /* main.c */

struct help_options {
    struct common common;
    int man;
    const char *completion;
};

#endif

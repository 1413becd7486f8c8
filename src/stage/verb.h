/* verb.h - what a verb is, and the options all of them share.
 * Every verb's options struct begins with a struct common. */
#ifndef STAGE_VERB_H
#define STAGE_VERB_H

#include "base/opt.h"

struct common {
    const char *device, *precision, *task, *config;
    int64_t threads, seed;
    uint64_t memory;
    int json, quiet, verbose, help;
};
extern const struct opt common_options[];

struct verb {
    const char *name;
    const char *args;     /* "INPUT... PLACE" */
    const char *summary;  /* one line */
    const char *examples; /* shown first; lines */
    const char *details;  /* paragraphs for --help and the man page */
    const struct opt *options;
    size_t size; /* of the options struct */
    int (*run)(void *options, const char **args, int nargs);
};

/* Run a verb from words as they would be typed after its name; what main does, without printing
 * the error. For verbs that are made of others. */
int verb_call(const struct verb *v, const char *const *words, int count);

#endif

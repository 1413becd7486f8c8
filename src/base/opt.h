/* opt.h - option tables.
 * A verb declares its options once; parsing, --help, config-file keys, man page, shell
 * completion and the run fingerprint all come from the table. Spelling: `--x=v` equals
 * `--x v`, `_` equals `-`, case of booleans is ignored. */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include "base/platform.h"
#include "base/str.h"

enum opt_type {
    OPT_FLAG,   /* int: takes no value; our own booleans */
    OPT_BOOL,   /* int: takes true/false/1/0/yes/no; -1 = "auto" where that is the default */
    OPT_INT,    /* int64_t */
    OPT_SIZE,   /* uint64_t: 512M, 4G, 1.5GiB, bytes */
    OPT_FLOAT,  /* double */
    OPT_STR,    /* const char * */
    OPT_CHOICE, /* int: index into the words of `arg` ("a|b|c") */
    OPT_LIST    /* struct opt_list: may be given several times */
};

struct opt_list {
    const char **item;
    int count;
};

enum {
    OPT_PRINTED = 1, /* part of the run fingerprint: changing it changes bytes */
    OPT_PEER = 2     /* a peer's option kept for its users; listed apart in --help */
};

struct opt {
    const char *name; /* "batch-size" */
    const char *also; /* other spellings, comma-separated, or NULL */
    char letter;      /* short form or 0 */
    enum opt_type type;
    size_t at;         /* offset of the field in the options struct */
    const char *value; /* default, parsed like a given value; NULL = zero */
    const char *arg;   /* what --help calls the value; the choices of OPT_CHOICE */
    const char *help;
    unsigned flags;
};

/* A table ends with a row whose name is NULL. Tables are searched in order; all offsets are
 * into the same struct. */
#define OPT_END                                         \
    {                                                   \
        NULL, NULL, 0, OPT_FLAG, 0, NULL, NULL, NULL, 0 \
    }

struct opt_set {
    const struct opt *table[4]; /* NULL-terminated */
};

void opt_defaults(const struct opt_set *set, void *options);

/* Parse argv[0..argc). Words that are no options are collected in args (argc entries at most,
 * caller's array); "--" ends the options. ERR_USAGE with the nearest name for an unknown one. */
int opt_parse(const struct opt_set *set, void *options, const char **args, int *nargs, int argc,
              char **argv);

/* Set one option from text, by any of its names: what config files use. */
int opt_assign(const struct opt_set *set, void *options, const char *name, const char *value);
const struct opt *opt_find(const struct opt_set *set, const char *name, size_t len);

/* The value as text, the way it would be typed. */
void opt_print(struct str *out, const struct opt *o, const void *options);

int opt_size(uint64_t *out, const char *text); /* "512M" */
const char *opt_choice(const struct opt *o, int index, size_t *len);
void opt_release(const struct opt_set *set, void *options); /* the lists */

#endif

/* pickle.h - a Python pickle as a tree of values. Nothing is imported, called or built.
 * A class or function is its two names; calling it (REDUCE, NEWOBJ) makes an object node that
 * keeps callee, arguments and state. What a node means is decided by the reader of the tree.
 * Values may be shared and may contain themselves: walk with a bound on depth and on steps. */
#ifndef FORMAT_PICKLE_H
#define FORMAT_PICKLE_H

#include "base/arena.h"

enum {
    PICKLE_BYTES_MAX = 64 << 20,
    PICKLE_STACK_MAX = 1 << 20,
    PICKLE_MEMO_MAX = 4 << 20,
    PICKLE_NEST_MAX = 256,
    PICKLE_STRING_MAX = 16 << 20,
    PICKLE_MEMORY_MAX = 512 << 20, /* for all values of one pickle */
};

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_BIG, /* an integer beyond 64 bits: text holds it in two's complement, low byte first */
    PICKLE_FLOAT,
    PICKLE_STRING,
    PICKLE_BYTES,
    PICKLE_TUPLE,
    PICKLE_LIST,
    PICKLE_SET,
    PICKLE_DICT, /* items: key, value, key, value... in order of insertion */
    PICKLE_GLOBAL,
    PICKLE_OBJECT,
    PICKLE_PERSISTENT
};

struct pickle;
struct pickle_text {
    const char *p; /* not NUL-terminated */
    size_t n;
};
struct pickle_items {
    struct pickle **list;
    size_t count, cap;
};
struct pickle_object {
    struct pickle *callee, *args; /* callee: mostly a GLOBAL; args: a TUPLE */
    struct pickle *state;         /* of the last BUILD; NULL without */
    struct pickle_items items;    /* of SETITEM(S): key, value... */
    struct pickle_items list;     /* of APPEND(S) */
};

struct pickle {
    enum pickle_kind kind;
    union {
        int64_t i; /* BOOL, INT */
        double f;
        struct pickle_text text;    /* STRING, BYTES, BIG */
        struct pickle_items items;  /* TUPLE, LIST, SET, DICT */
        struct pickle_text name[2]; /* GLOBAL: module, name */
        struct pickle_object *object;
        struct pickle *id; /* PERSISTENT */
    };
};

/* One pickle from the front of p; *used is its length. The tree lives in the arena and borrows
 * text from p. Every persistent id met is also added to *ids, where given (arena memory).
 * ERR_INPUT: cut, an opcode outside protocols 2 to 5 as torch and numpy write them, a limit. */
int pickle_decode(struct pickle **out, struct pickle_items *ids, size_t *used, struct arena *a,
                  const void *p, size_t n);

int pickle_is(const struct pickle *v, const char *module, const char *name); /* that GLOBAL? */
int pickle_text_is(const struct pickle *v, const char *text);                /* that STRING? */
const struct pickle *pickle_item(const struct pickle *v,
                                 size_t i); /* of a tuple or list; or NULL */

/* The key-value pairs of a dict or of a dict-like object (OrderedDict, defaultdict, Counter),
 * NULL when v is neither. pickle_get finds a string key, the last one wins. */
const struct pickle_items *pickle_pairs(const struct pickle *v);
const struct pickle *pickle_get(const struct pickle *v, const char *key);

#endif

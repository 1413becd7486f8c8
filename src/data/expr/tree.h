/* tree.h - inside the filter language: the tree of a condition, and its values over many rows. */
#ifndef DATA_EXPR_TREE_H
#define DATA_EXPR_TREE_H

#include "base/map.h"
#include "base/str.h"
#include "data/expr/expr.h"
#include "data/expr/token.h"
#include "text/regex.h"
#include "text/utf8.h"

enum { EXPR_DEPTH = 200, EXPR_CHAIN = 64, EXPR_TEXT = 256 << 10 };

enum node_op {
    NODE_COLUMN,
    NODE_INT,
    NODE_REAL,
    NODE_STRING,
    NODE_BOOL,
    NODE_NULL,
    NODE_OR,
    NODE_AND,
    NODE_NOT,
    NODE_COMPARE, /* a < b <= c: each operand but the first has the relation to the one before */
    NODE_IN,      /* operand, then the literals of the list */
    NODE_IS_NULL,
    NODE_NEGATE,
    NODE_MATH,
    NODE_CALL,
    NODE_ASPECT, /* operands: width, height */
    NODE_RESOLUTION
};

enum function_code {
    CALL_LEN,
    CALL_CONTAINS,
    CALL_MATCHES,
    CALL_STARTS,
    CALL_ENDS,
    CALL_LOWER,
    CALL_UPPER,
    CALL_MIN,
    CALL_MAX,
    CALL_ABS,
    CALL_COALESCE
};

/* What a node needs beside the tree, kept until the expr goes. */
struct extra {
    struct extra *next;
    struct regex *regex; /* matches */
    struct map strings;  /* in */
    int64_t *ints;       /* in, sorted */
    double *reals;
    size_t count;
    struct str text; /* lower, upper: the bytes of the present rows */
    struct runes runes, changed;
};

struct node {
    enum node_op op;
    enum column_type type;    /* set by expr_bind */
    enum token_kind relation; /* of an operand to the one before, in NODE_COMPARE */
    enum token_kind math;     /* NODE_MATH, NODE_NEGATE */
    enum function_code call;  /* NODE_CALL */
    int inverted;             /* not in, is not null */
    int single;               /* a float32 value, or several such compared */
    int quoted;               /* the name stood in backticks */
    int depth;
    size_t from, to;           /* bytes of the source, parentheses around it included */
    struct node *kid, *next;   /* first operand; the next operand of the node above */
    struct parquet_slice name; /* column, string, function */
    int64_t i;                 /* literals */
    double r;
    size_t column; /* bound */
    struct extra *extra;
};

struct rule {
    const struct source *source;
    struct node *root;
    char *text;
};

struct expr {
    struct arena nodes;
    struct rule *rule;
    size_t count, cap;
    uint8_t *reads; /* [columns] */
    size_t columns;
    struct extra *extras;

    /* while rows are judged */
    struct arena scratch;
    const struct column *const *values;
    size_t at, n; /* the rows [at, at+n) of them */
};

struct extra *extra_new(struct expr *e);

/* Parse a whole text into its tree. */
int tree_parse(struct node **out, const struct source *s, struct arena *a);

enum { ROWS = 1024 }; /* judged at a time */

/* One node's values for the present rows. BOOL values are bytes of these bits; elsewhere valid
 * says what is null (NULL: nothing), and in REAL values NaN does. */
enum { BIT_TRUE = 1, BIT_UNKNOWN = 2, BIT_NULL = 4 };
struct vec {
    enum column_type type;
    const void *v;
    const uint8_t *valid; /* INT and STRING */
};
struct vec node_eval(struct expr *e, const struct node *n);
struct vec node_call(struct expr *e, const struct node *n); /* call.c */
const double *vec_reals(struct expr *e, struct vec v);      /* of a number */

/* ROWS values of the size. What a node allocates for its operands it gives back when its own values
 * are there: take the mark (a copy of scratch) behind the result, rewind to it. */
void *rows_alloc(struct expr *e, size_t size);
void rows_rewind(struct expr *e, struct arena mark);

#endif

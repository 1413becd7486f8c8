/* token.h - the text of a condition: its words, and errors that point at their place in it. */
#ifndef DATA_EXPR_TOKEN_H
#define DATA_EXPR_TOKEN_H

#include "base/arena.h"
#include "format/parquet/parquet.h"

struct source {
    const char *text; /* UTF-8, ends with NUL */
    size_t n;
};

/* ERR_USAGE with the sentence, the text and carets under its bytes [from, to). more: further
 * indented lines, or NULL. */
int source_refuse(const struct source *s, size_t from, size_t to, const char *more, const char *fmt,
                  ...) PRINTF_LIKE(5, 6);

enum token_kind {
    TOKEN_END,
    TOKEN_NAME,
    TOKEN_QUOTED, /* `name` */
    TOKEN_INT,
    TOKEN_REAL,
    TOKEN_STRING,
    TOKEN_OR,
    TOKEN_AND,
    TOKEN_NOT,
    TOKEN_IN,
    TOKEN_IS,
    TOKEN_NULL,
    TOKEN_TRUE,
    TOKEN_FALSE,
    TOKEN_EQ,
    TOKEN_NE,
    TOKEN_LT,
    TOKEN_LE,
    TOKEN_GT,
    TOKEN_GE,
    TOKEN_ADD,
    TOKEN_SUB,
    TOKEN_MUL,
    TOKEN_DIV,
    TOKEN_FLOOR,
    TOKEN_MOD,
    TOKEN_POW,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_LIST,
    TOKEN_LIST_END,
    TOKEN_COMMA
};

struct token {
    enum token_kind kind;
    size_t from, to;           /* bytes of the source */
    struct parquet_slice name; /* names and strings, unescaped; in the arena */
    int64_t i;
    double r;
};

/* The token at or behind byte `from`. */
int token_next(struct token *t, const struct source *s, size_t from, struct arena *a);

#endif

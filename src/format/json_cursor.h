/* json_cursor.h - walk a JSON text from left to right without building a tree.
 * For headers of which only a few values matter and whose size is the file's choice: memory is
 * one string, depth is bounded, and what is asked for must be what stands there. */
#ifndef FORMAT_JSON_CURSOR_H
#define FORMAT_JSON_CURSOR_H

#include "base/str.h"

enum { JSON_CURSOR_DEPTH = 8 };

struct json_cursor {
    const char *start, *p, *end;
    int depth;
    char begun[JSON_CURSOR_DEPTH + 1]; /* has this level had a value yet? */
    char close[JSON_CURSOR_DEPTH + 1]; /* its closing bracket */
    struct str text;                   /* the last string, UTF-8, no NUL inside */
};

/* All return ERR_INPUT with the byte where the text is not what was asked for. */
void json_cursor_init(struct json_cursor *c, const void *p, size_t n);
void json_cursor_release(struct json_cursor *c);

int json_cursor_open(struct json_cursor *c, char bracket); /* '{' or '[' */
int json_cursor_next(struct json_cursor *c);   /* 1: a value (or key) follows; 0: closed */
int json_cursor_key(struct json_cursor *c);    /* a string and ':'; into c->text */
int json_cursor_string(struct json_cursor *c); /* into c->text */
int json_cursor_uint(struct json_cursor *c, uint64_t *out); /* up to 2^64-1, digits only */
int json_cursor_skip(struct json_cursor *c);                /* one value of any kind */
int json_cursor_end(struct json_cursor *c);                 /* nothing but white space is left */
char json_cursor_peek(struct json_cursor *c); /* first character of the next token, or 0 */

#endif

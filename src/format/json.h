/* json.h - JSON as Python's json module writes it: a reader into an arena tree, a writer into
 * a string. Unlike jansson it takes NaN, Infinity, whole numbers of any length, lone
 * surrogates (they become U+FFFD) and repeated keys (the last one counts), because a sample
 * must not be lost to its metadata; and it allocates nothing but from the arena. */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include "base/arena.h"
#include "base/str.h"

enum json_type { JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_type type;
    const char *key;  /* in an object; UTF-8, NUL-terminated */
    const char *text; /* strings: decoded UTF-8; numbers: as written */
    size_t len;       /* of text */
    int64_t i;        /* JSON_INT that fits, JSON_BOOL */
    double real;      /* JSON_INT, JSON_REAL */
    struct json *child, *next;
};

enum { JSON_DEPTH = 128 };

/* ERR_DATA (BAD_JSON) with line and column. A UTF-8 BOM is skipped; invalid UTF-8 becomes
 * U+FFFD. A whole number beyond int64 is a JSON_REAL. */
int json_parse(struct json **out, const char *text, size_t n, struct arena *a);

const struct json *json_get(const struct json *object, const char *key); /* NULL when absent */
const char *json_text(const struct json *object, const char *key, const char *otherwise);
int64_t json_int(const struct json *object, const char *key, int64_t otherwise);

/* Writing: text in quotes with everything below 0x20, quote and backslash escaped. */
void json_quote(struct str *out, const char *text, size_t n);
void json_print(struct str *out, const struct json *j); /* compact, numbers as written */

#endif

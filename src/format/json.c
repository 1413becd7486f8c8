/* json.c - a recursive descent of bounded depth over bytes. */
#include "format/json.h"
#include "base/err.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const unsigned char *start, *p, *end;
    struct arena *a;
};

static int bad(const struct reader *r, const char *what)
{
    size_t line = 1, column = 1;
    for (const unsigned char *q = r->start; q < r->p; q++) {
        column++;
        if (*q == '\n') line++, column = 1;
    }
    return err_bad(BAD_JSON, "JSON line %zu column %zu: %s", line, column, what);
}

static void skip_space(struct reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
        r->p++;
}

static int take_word(struct reader *r, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n)) return 0;
    r->p += n;
    return 1;
}

static char *put_utf8(char *d, unsigned c)
{
    if (c < 0x80) {
        *d++ = (char)c;
    } else if (c < 0x800) {
        *d++ = (char)(0xc0 | c >> 6);
        *d++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *d++ = (char)(0xe0 | c >> 12);
        *d++ = (char)(0x80 | (c >> 6 & 63));
        *d++ = (char)(0x80 | (c & 63));
    } else {
        *d++ = (char)(0xf0 | c >> 18);
        *d++ = (char)(0x80 | (c >> 12 & 63));
        *d++ = (char)(0x80 | (c >> 6 & 63));
        *d++ = (char)(0x80 | (c & 63));
    }
    return d;
}

static int hex4(const struct reader *r, const unsigned char *p, unsigned *out)
{
    if (r->end - p < 4) return 0;
    *out = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = p[i], d = c - '0';
        if (d > 9) d = (c | 32) - 'a' + 10;
        if (d > 15 || (c > '9' && (c | 32) < 'a')) return 0;
        *out = *out << 4 | d;
    }
    return 1;
}

/* \uXXXX after the 'u'; joins a surrogate pair, replaces a lone half. */
static int take_escape_u(struct reader *r, char **d)
{
    unsigned c, low;
    if (!hex4(r, r->p, &c)) return bad(r, "a \\u escape needs four hex digits");
    r->p += 4;
    if (c >= 0xd800 && c < 0xdc00 && r->end - r->p >= 6 && r->p[0] == '\\' && r->p[1] == 'u' &&
        hex4(r, r->p + 2, &low) && low >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        r->p += 6;
    } else if (c >= 0xd800 && c < 0xe000) {
        c = 0xfffd;
    }
    *d = put_utf8(*d, c);
    return 0;
}

/* Length of a valid UTF-8 sequence at p, 0 when invalid. */
static size_t utf8_len(const unsigned char *p, const unsigned char *end)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *p < 0x80 ? 1 : *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc2 ? 2 : 0;
    if (!n || *p > 0xf4 || (size_t)(end - p) < n) return 0;
    unsigned c = n == 1 ? *p : *p & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (p[i] & 63u);
    }
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

static int take_escape(struct reader *r, char **d)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (r->p == r->end) return bad(r, "the string does not end");
    unsigned char c = *r->p++;
    if (c == 'u') return take_escape_u(r, d);
    const char *at = c ? strchr(from, c) : NULL;
    if (!at) return bad(r, "unknown escape");
    *(*d)++ = to[at - from];
    return 0;
}

/* After the opening quote. Every input byte yields at most three output bytes (U+FFFD). */
static int take_string(struct reader *r, const char **text, size_t *len)
{
    const unsigned char *close = r->p;
    while (close < r->end && *close != '"') close += 1 + (*close == '\\');
    if (close >= r->end) return bad(r, "the string does not end");
    char *buf = arena_alloc(r->a, 3 * (size_t)(close - r->p) + 1), *d = buf;
    while (r->p < r->end && *r->p != '"') {
        size_t n = utf8_len(r->p, r->end);
        if (*r->p == '\\') {
            r->p++;
            int rc = take_escape(r, &d);
            if (rc) return rc;
        } else if (n) {
            memcpy(d, r->p, n);
            d += n;
            r->p += n;
        } else {
            d = put_utf8(d, 0xfffd);
            r->p++;
        }
    }
    if (r->p == r->end) return bad(r, "the string does not end");
    r->p++;
    *d = 0;
    *text = buf;
    *len = (size_t)(d - buf);
    return 0;
}

static size_t digits(struct reader *r)
{
    const unsigned char *from = r->p;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9') r->p++;
    return (size_t)(r->p - from);
}

static int take_number(struct reader *r, struct json *j)
{
    const unsigned char *from = r->p;
    int real = 0;
    if (*r->p == '-') r->p++;
    if (take_word(r, "Infinity")) {
        j->type = JSON_REAL;
        j->real = *from == '-' ? -INFINITY : INFINITY;
        j->text = arena_strndup(r->a, (const char *)from, j->len = (size_t)(r->p - from));
        return 0;
    }
    if (r->end - r->p > 1 && r->p[0] == '0' && r->p[1] >= '0' && r->p[1] <= '9')
        return bad(r, "a number may not start with 0");
    if (!digits(r)) return bad(r, "not a JSON value");
    if (r->p < r->end && *r->p == '.') {
        r->p++, real = 1;
        if (!digits(r)) return bad(r, "a digit must follow the point");
    }
    if (r->p < r->end && (*r->p | 32) == 'e') {
        r->p++, real = 1;
        if (r->p < r->end && (*r->p == '+' || *r->p == '-')) r->p++;
        if (!digits(r)) return bad(r, "an exponent needs digits");
    }
    j->len = (size_t)(r->p - from);
    j->text = arena_strndup(r->a, (const char *)from, j->len);
    j->real = strtod(j->text, NULL);
    errno = 0;
    if (!real) j->i = strtoll(j->text, NULL, 10);
    j->type = real || errno ? JSON_REAL : JSON_INT;
    return 0;
}

static int take_value(struct reader *r, struct json **out, int depth);

/* Items of an array or object after its opening bracket. A repeated key: the last one counts. */
static int take_items(struct reader *r, struct json *parent, int depth)
{
    int object = parent->type == JSON_OBJECT;
    unsigned char close = object ? '}' : ']';
    struct json **tail = &parent->child;
    skip_space(r);
    if (r->p < r->end && *r->p == close) return r->p++, 0;
    for (;;) {
        const char *key = NULL;
        size_t len;
        skip_space(r);
        if (object) {
            if (r->p == r->end || *r->p != '"') return bad(r, "a key in quotes is expected");
            r->p++;
            int rc = take_string(r, &key, &len);
            if (rc) return rc;
            skip_space(r);
            if (r->p == r->end || *r->p++ != ':') return bad(r, "':' is expected");
        }
        int rc = take_value(r, tail, depth + 1);
        if (rc) return rc;
        (*tail)->key = key;
        tail = &(*tail)->next;
        skip_space(r);
        if (r->p == r->end) return bad(r, "the text ends inside an array or object");
        if (*r->p == close) return r->p++, 0;
        if (*r->p != ',') return bad(r, "',' is expected");
        r->p++;
    }
}

static int take_value(struct reader *r, struct json **out, int depth)
{
    if (depth > JSON_DEPTH) return bad(r, "nested too deeply");
    skip_space(r);
    if (r->p == r->end) return bad(r, "the text ends where a value is expected");
    struct json *j = *out = arena_zalloc(r->a, sizeof *j);
    switch (*r->p) {
    case '{':
    case '[': j->type = *r->p++ == '{' ? JSON_OBJECT : JSON_ARRAY; return take_items(r, j, depth);
    case '"':
        j->type = JSON_STRING;
        r->p++;
        return take_string(r, &j->text, &j->len);
    }
    if (take_word(r, "null")) return 0;
    j->type = JSON_BOOL;
    if (take_word(r, "true")) return j->i = 1, 0;
    if (take_word(r, "false")) return 0;
    if (take_word(r, "NaN")) {
        j->type = JSON_REAL;
        j->real = NAN;
        j->text = "NaN";
        j->len = 3;
        return 0;
    }
    return take_number(r, j);
}

int json_parse(struct json **out, const char *text, size_t n, struct arena *a)
{
    const unsigned char *t = (const unsigned char *)text;
    struct reader r = {t, t, t + n, a};
    take_word(&r, "\xef\xbb\xbf");
    int rc = take_value(&r, out, 0);
    if (rc) return rc;
    skip_space(&r);
    return r.p == r.end ? 0 : bad(&r, "something follows the value");
}

const struct json *json_get(const struct json *object, const char *key)
{
    const struct json *found = NULL;
    if (!object || object->type != JSON_OBJECT) return NULL;
    for (const struct json *c = object->child; c; c = c->next)
        if (!strcmp(c->key, key)) found = c;
    return found;
}

const char *json_text(const struct json *object, const char *key, const char *otherwise)
{
    const struct json *j = json_get(object, key);
    return j && j->type == JSON_STRING ? j->text : otherwise;
}

int64_t json_int(const struct json *object, const char *key, int64_t otherwise)
{
    const struct json *j = json_get(object, key);
    return j && j->type == JSON_INT ? j->i : otherwise;
}

void json_quote(struct str *out, const char *text, size_t n)
{
    str_putc(out, '"');
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            str_printf(out, "\\%c", c);
        else if (c == '\n')
            str_puts(out, "\\n");
        else if (c < 0x20 || c == 0x7f)
            str_printf(out, "\\u%04x", c);
        else
            str_putc(out, (char)c);
    }
    str_putc(out, '"');
}

void json_print(struct str *out, const struct json *j)
{
    switch (j->type) {
    case JSON_NULL: str_puts(out, "null"); break;
    case JSON_BOOL: str_puts(out, j->i ? "true" : "false"); break;
    case JSON_INT:
    case JSON_REAL: str_add(out, j->text, j->len); break;
    case JSON_STRING: json_quote(out, j->text, j->len); break;
    case JSON_ARRAY:
    case JSON_OBJECT:
        str_putc(out, j->type == JSON_ARRAY ? '[' : '{');
        for (const struct json *c = j->child; c; c = c->next) {
            if (c->key) {
                json_quote(out, c->key, strlen(c->key));
                str_putc(out, ':');
            }
            json_print(out, c);
            if (c->next) str_putc(out, ',');
        }
        str_putc(out, j->type == JSON_ARRAY ? ']' : '}');
        break;
    }
}

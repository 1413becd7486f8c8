/* json_cursor.c - see json_cursor.h. Strict RFC 8259: no comments, no trailing commas, valid
 * UTF-8, paired surrogates. */
#include "format/json_cursor.h"
#include "base/err.h"

#include <string.h>
#include <utf8proc.h>

static int fault(const struct json_cursor *c, const char *what)
{
    return err_set(ERR_INPUT, "JSON: %s at byte %zu", what, (size_t)(c->p - c->start));
}

void json_cursor_init(struct json_cursor *c, const void *p, size_t n)
{
    *c = (struct json_cursor){.start = p, .p = p, .end = (const char *)p + n};
}

void json_cursor_release(struct json_cursor *c)
{
    str_release(&c->text);
}

char json_cursor_peek(struct json_cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\r' || *c->p == '\t'))
        c->p++;
    return c->p < c->end ? *c->p : 0;
}

static int take(struct json_cursor *c, char want)
{
    if (json_cursor_peek(c) != want || c->p == c->end) return 0;
    c->p++;
    return 1;
}

int json_cursor_open(struct json_cursor *c, char bracket)
{
    if (!take(c, bracket))
        return fault(c, bracket == '{' ? "expected an object" : "expected a list");
    if (c->depth == JSON_CURSOR_DEPTH) return fault(c, "nested too deep");
    c->begun[++c->depth] = 0;
    c->close[c->depth] = bracket == '{' ? '}' : ']';
    return 0;
}

int json_cursor_next(struct json_cursor *c)
{
    char next = json_cursor_peek(c);
    if (next && next == c->close[c->depth]) {
        c->p++;
        c->depth--;
        return 0;
    }
    if (c->begun[c->depth] && !take(c, ',')) return fault(c, "expected a comma");
    c->begun[c->depth] = 1;
    next = json_cursor_peek(c);
    if (!next || next == '}' || next == ']') return fault(c, "expected a value");
    return 1;
}

static int hex4(struct json_cursor *c, uint32_t *out)
{
    uint32_t v = 0;
    if (c->end - c->p < 4) return 0;
    for (int i = 0; i < 4; i++) {
        unsigned char d = (unsigned char)*c->p++;
        if (d >= '0' && d <= '9')
            v = v << 4 | (uint32_t)(d - '0');
        else if ((d | 32) >= 'a' && (d | 32) <= 'f')
            v = v << 4 | (uint32_t)((d | 32) - 'a' + 10);
        else
            return 0;
    }
    *out = v;
    return 1;
}

static int add_unicode(struct json_cursor *c)
{
    uint32_t u, low;
    unsigned char utf8[4];
    if (!hex4(c, &u)) return fault(c, "a bad \\u escape");
    if (u >= 0xd800 && u < 0xdc00) {
        if (c->end - c->p < 6 || c->p[0] != '\\' || c->p[1] != 'u') return fault(c, "half a pair");
        c->p += 2;
        if (!hex4(c, &low) || low < 0xdc00 || low > 0xdfff) return fault(c, "half a pair");
        u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
    } else if (u >= 0xdc00 && u < 0xe000)
        return fault(c, "half a pair");
    if (!u) return fault(c, "a NUL character");
    str_add(&c->text, utf8, (size_t)utf8proc_encode_char((utf8proc_int32_t)u, utf8));
    return 0;
}

static int add_escape(struct json_cursor *c)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (c->p == c->end) return fault(c, "the string does not end");
    char e = *c->p++;
    if (e == 'u') return add_unicode(c);
    const char *at = e ? strchr(from, e) : NULL;
    if (!at) return fault(c, "a bad escape");
    str_putc(&c->text, to[at - from]);
    return 0;
}

static int add_character(struct json_cursor *c)
{
    utf8proc_int32_t u;
    utf8proc_ssize_t n =
        utf8proc_iterate((const unsigned char *)c->p, (utf8proc_ssize_t)(c->end - c->p), &u);
    if (n <= 0) return fault(c, "not UTF-8");
    if (u < 0x20) return fault(c, "a control character");
    str_add(&c->text, c->p, (size_t)n);
    c->p += n;
    return 0;
}

int json_cursor_string(struct json_cursor *c)
{
    str_clear(&c->text);
    str_reserve(&c->text, 1);
    c->text.p[0] = 0;
    if (!take(c, '"')) return fault(c, "expected a string");
    while (c->p < c->end && *c->p != '"') {
        int rc;
        if (*c->p != '\\')
            rc = add_character(c);
        else {
            c->p++;
            rc = add_escape(c);
        }
        if (rc) return rc;
    }
    if (c->p == c->end) return fault(c, "the string does not end");
    c->p++;
    return 0;
}

int json_cursor_key(struct json_cursor *c)
{
    int rc = json_cursor_string(c);
    if (rc) return rc;
    return take(c, ':') ? 0 : fault(c, "expected a colon");
}

int json_cursor_uint(struct json_cursor *c, uint64_t *out)
{
    uint64_t v = 0;
    char first = json_cursor_peek(c);
    if (first < '0' || first > '9') return fault(c, "expected a whole number");
    if (first == '0' && c->end - c->p > 1 && c->p[1] >= '0' && c->p[1] <= '9')
        return fault(c, "a number with a leading zero");
    for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++)
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*c->p - '0'), &v))
            return fault(c, "a number too large");
    if (c->p < c->end && (*c->p == '.' || *c->p == 'e' || *c->p == 'E'))
        return fault(c, "expected a whole number");
    *out = v;
    return 0;
}

static int skip_digits(struct json_cursor *c)
{
    const char *start = c->p;
    while (c->p < c->end && *c->p >= '0' && *c->p <= '9') c->p++;
    return c->p > start;
}

static int skip_number(struct json_cursor *c)
{
    if (*c->p == '-') c->p++;
    const char *whole = c->p;
    if (!skip_digits(c) || (*whole == '0' && c->p - whole > 1)) return fault(c, "a bad number");
    if (c->p < c->end && *c->p == '.' && (c->p++, !skip_digits(c))) return fault(c, "a bad number");
    if (c->p < c->end && (*c->p == 'e' || *c->p == 'E')) {
        c->p++;
        if (c->p < c->end && (*c->p == '+' || *c->p == '-')) c->p++;
        if (!skip_digits(c)) return fault(c, "a bad number");
    }
    return 0;
}

static int skip_word(struct json_cursor *c)
{
    static const char *const words[] = {"true", "false", "null"};
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(words[i]);
        if ((size_t)(c->end - c->p) < n || memcmp(c->p, words[i], n)) continue;
        c->p += n;
        return 0;
    }
    return fault(c, "expected a value");
}

/* Recursion ends at JSON_CURSOR_DEPTH. */
static int skip_inside(struct json_cursor *c, char bracket)
{
    int rc = json_cursor_open(c, bracket);
    if (rc) return rc;
    while ((rc = json_cursor_next(c)) > 0) {
        if (bracket == '{' && (rc = json_cursor_key(c))) return rc;
        if ((rc = json_cursor_skip(c))) return rc;
    }
    return rc;
}

int json_cursor_skip(struct json_cursor *c)
{
    char first = json_cursor_peek(c);
    if (first == '{' || first == '[') return skip_inside(c, first);
    if (first == '"') return json_cursor_string(c);
    if (first == '-' || (first >= '0' && first <= '9')) return skip_number(c);
    return skip_word(c);
}

int json_cursor_end(struct json_cursor *c)
{
    json_cursor_peek(c);
    return c->p == c->end ? 0 : fault(c, "text after the end");
}

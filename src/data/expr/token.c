/* token.c - the words of the filter language. & | ~ are and, or, not, with their binding. */
#include "data/expr/token.h"
#include "base/err.h"
#include "text/unicode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *text;
    enum token_kind kind;
} symbols[] = {/* longer ones first */
               {"**", TOKEN_POW},  {"//", TOKEN_FLOOR}, {"==", TOKEN_EQ},      {"!=", TOKEN_NE},
               {"<>", TOKEN_NE},   {"<=", TOKEN_LE},    {">=", TOKEN_GE},      {"=", TOKEN_EQ},
               {"<", TOKEN_LT},    {">", TOKEN_GT},     {"+", TOKEN_ADD},      {"-", TOKEN_SUB},
               {"*", TOKEN_MUL},   {"/", TOKEN_DIV},    {"%", TOKEN_MOD},      {"(", TOKEN_OPEN},
               {")", TOKEN_CLOSE}, {"[", TOKEN_LIST},   {"]", TOKEN_LIST_END}, {",", TOKEN_COMMA},
               {"&", TOKEN_AND},   {"|", TOKEN_OR},     {"~", TOKEN_NOT}};

static const struct {
    const char *text;
    enum token_kind kind;
} words[] = {{"or", TOKEN_OR},     {"and", TOKEN_AND},   {"not", TOKEN_NOT},
             {"in", TOKEN_IN},     {"is", TOKEN_IS},     {"null", TOKEN_NULL},
             {"none", TOKEN_NULL}, {"true", TOKEN_TRUE}, {"false", TOKEN_FALSE}};

static uint32_t rune(const struct source *s, size_t at, size_t *n)
{
    uint32_t c = 0;
    *n =
        at < s->n ? (size_t)utf8_next(&c, NULL, (const unsigned char *)s->text + at, s->n - at) : 0;
    return c;
}

static int is_digit(const struct source *s, size_t at)
{
    return s->text[at] >= '0' && s->text[at] <= '9';
}

static int starts_name(uint32_t c)
{
    return (c | 32) - 'a' < 26 || c == '_' || (c >= 128 && unicode_bits(c) & RUNE_WORD);
}

static size_t name_end(const struct source *s, size_t at)
{
    for (;;) {
        size_t n, dotted;
        uint32_t c = rune(s, at, &n);
        int part = starts_name(c) || is_digit(s, at);
        if (c == '.') part = starts_name(rune(s, at + 1, &dotted)) || is_digit(s, at + 1);
        if (!part) return at;
        at += n;
    }
}

/* Fields of nested JSON are joined by dots, so a name may hold dots. */
static int take_name(struct token *t, const struct source *s)
{
    t->to = name_end(s, t->from);
    t->kind = TOKEN_NAME;
    t->name = (struct parquet_slice){s->text + t->from, t->to - t->from};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].text) == t->name.n && !strncasecmp(words[i].text, t->name.p, t->name.n))
            t->kind = words[i].kind;
    return 0;
}

/* The byte behind the closing quote of what opens at `from`; 0 when there is none. `twice`: the
 * quote itself is written twice, else with a backslash. */
static size_t quote_end(const struct source *s, size_t from, int twice)
{
    char quote = s->text[from];
    for (size_t at = from + 1; at < s->n; at++) {
        if (!twice && s->text[at] == '\\')
            at++;
        else if (s->text[at] == quote && twice && s->text[at + 1] == quote)
            at++;
        else if (s->text[at] == quote)
            return at + 1;
    }
    return 0;
}

static int take_quoted(struct token *t, const struct source *s, struct arena *a)
{
    size_t n = 0, end = quote_end(s, t->from, 1);
    if (!end) return source_refuse(s, t->from, s->n, NULL, "a name without its closing `");
    char *out = arena_alloc(a, end - t->from);
    for (size_t at = t->from + 1; at < end - 1; at++) {
        if (s->text[at] == '`') at++;
        out[n++] = s->text[at];
    }
    t->kind = TOKEN_QUOTED;
    t->to = end;
    t->name = (struct parquet_slice){out, n};
    return n ? 0 : source_refuse(s, t->from, t->to, NULL, "an empty name");
}

static int take_number(struct token *t, const struct source *s)
{
    size_t at = t->from;
    int whole = 1;
    while (is_digit(s, at)) at++;
    if (s->text[at] == '.') {
        whole = 0;
        for (at++; is_digit(s, at);) at++;
    }
    if ((s->text[at] | 32) == 'e') {
        size_t sign = s->text[at + 1] == '+' || s->text[at + 1] == '-';
        if (is_digit(s, at + 1 + sign)) {
            whole = 0;
            for (at += 1 + sign; is_digit(s, at);) at++;
        }
    }
    t->to = at;
    t->name = (struct parquet_slice){s->text + t->from, at - t->from};
    size_t n;
    if (starts_name(rune(s, at, &n)) || s->text[at] == '.')
        return source_refuse(s, t->from, name_end(s, at) > at ? name_end(s, at) : at + 1, NULL,
                             "not a number");
    errno = 0;
    t->i = whole ? strtoll(s->text + t->from, NULL, 10) : 0;
    t->kind = whole && !errno ? TOKEN_INT : TOKEN_REAL;
    t->r = strtod(s->text + t->from, NULL);
    if (t->r > 1.7976931348623157e308)
        return source_refuse(s, t->from, t->to, NULL, "a number beyond the largest there is");
    return 0;
}

static int hex(const struct source *s, size_t at, int digits, uint32_t *c)
{
    *c = 0;
    for (int i = 0; i < digits; i++) {
        int d = s->text[at + (size_t)i];
        if (d >= '0' && d <= '9')
            d -= '0';
        else if ((d | 32) >= 'a' && (d | 32) <= 'f')
            d = (d | 32) - 'a' + 10;
        else
            return 0;
        *c = *c << 4 | (uint32_t)d;
    }
    return *c <= RUNE_MAX && (*c < 0xD800 || *c > 0xDFFF);
}

/* What stands behind a backslash at `at`: its length, or 0 when it is no escape and stays as it is
 * written, which lets '\d' and '\b' reach matches() without doubling. -1: a bad one. */
static int escape(const struct source *s, size_t at, uint32_t *c)
{
    int digits = 0;
    switch (s->text[at]) {
    case 'n': *c = '\n'; return 1;
    case 't': *c = '\t'; return 1;
    case 'r': *c = '\r'; return 1;
    case '\\':
    case '\'':
    case '"': *c = (unsigned char)s->text[at]; return 1;
    case 'x': digits = 2; break;
    case 'u': digits = 4; break;
    case 'U': digits = 8; break;
    default: return 0;
    }
    return hex(s, at + 1, digits, c) ? 1 + digits : -1;
}

static int take_string(struct token *t, const struct source *s, struct arena *a)
{
    size_t at = t->from + 1, n = 0, end = quote_end(s, t->from, 0);
    if (!end)
        return source_refuse(s, t->from, s->n, NULL, "a string without its closing %c",
                             s->text[t->from]);
    char *out = arena_alloc(a, end - t->from); /* no escape is shorter than what it stands for */
    while (at < end - 1) {
        uint32_t c;
        int used = s->text[at] == '\\' ? escape(s, at + 1, &c) : 0;
        if (used < 0) return source_refuse(s, at, at + 2, NULL, "an escape that is no character");
        if (used)
            n += (size_t)utf8_put(out + n, c);
        else
            out[n++] = s->text[at];
        at += 1 + (size_t)used;
    }
    t->kind = TOKEN_STRING;
    t->to = end;
    t->name = (struct parquet_slice){out, n};
    return 0;
}

static int refuse_rune(const struct source *s, size_t at, uint32_t c, size_t n)
{
    if (c == 0x2018 || c == 0x2019 || c == 0x201C || c == 0x201D)
        return source_refuse(s, at, at + n, NULL, "a printer's quote; write ' or \"");
    if (c == '!') return source_refuse(s, at, at + n, NULL, "write 'not', or '!=' for unequal");
    if (c == '@')
        return source_refuse(s, at, at + n, NULL, "there are no variables; write the value itself");
    return source_refuse(s, at, at + n, NULL, "'%.*s' means nothing here", (int)n, s->text + at);
}

static int take_symbol(struct token *t, const struct source *s)
{
    const char *p = s->text + t->from;
    if (!strncmp(p, "&&", 2) || !strncmp(p, "||", 2))
        return source_refuse(s, t->from, t->from + 2, NULL, "write '%s' or '%c'",
                             *p == '&' ? "and" : "or", *p);
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        size_t n = strlen(symbols[i].text);
        if (strncmp(p, symbols[i].text, n)) continue;
        t->kind = symbols[i].kind;
        t->to = t->from + n;
        return 0;
    }
    size_t n;
    uint32_t c = rune(s, t->from, &n);
    return refuse_rune(s, t->from, c, n);
}

int token_next(struct token *t, const struct source *s, size_t from, struct arena *a)
{
    size_t n;
    uint32_t c;
    while (c = rune(s, from, &n), n && unicode_is_space(c)) from += n;
    *t = (struct token){.kind = TOKEN_END, .from = from, .to = from};
    if (!n) return 0;
    if (c == '\'' || c == '"') return take_string(t, s, a);
    if (c == '`') return take_quoted(t, s, a);
    if (is_digit(s, from) || (c == '.' && is_digit(s, from + 1))) return take_number(t, s);
    return starts_name(c) ? take_name(t, s) : take_symbol(t, s);
}

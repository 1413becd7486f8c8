/* rules.c - the filter's rules from its run file. The filter itself parses and types them; here a
 * plain comparison is recognised by its text, since that is what a histogram can draw. */
#include "stage/report/rules.h"
#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MAX = 200 };

/* What the filter puts behind a rule that failed for want of a value. */
static const char without_value[] = ": null";

static const char *skip(const char *p)
{
    return p + strspn(p, " \t\n");
}

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* "min(width, height)" at p: its length, or 0. */
static size_t shorter_side_at(const char *p)
{
    static const char *const words[] = {"min", "(", "width", ",", "height", ")"};
    const char *start = p;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        p = skip(p);
        if (!str_starts(p, words[i])) return 0;
        p += strlen(words[i]);
    }
    return (size_t)(p - start);
}

/* A column at p, by name, in backticks, or as the shorter side: the length of what stands there, 0
 * when it is no column; its name goes to *out. */
static size_t column_at(const char *p, char **out, int *stored)
{
    size_t n = shorter_side_at(p);
    *stored = 0;
    if (n) {
        *out = mem_strdup("resolution");
        return n;
    }
    if (*p == '`') {
        n = strcspn(p + 1, "`");
        if (!p[n + 1]) return 0;
        *out = mem_strndup(p + 1, n);
        *stored = 1;
        return n + 2;
    }
    if (isdigit((unsigned char)*p) || *p == '.') return 0;
    while (is_word(p[n])) n++;
    if (n) *out = mem_strndup(p, n);
    return n;
}

static enum rule_op op_at(const char *p, size_t *n)
{
    *n = 1 + (*p && p[1] == '=');
    if (*p == '>') return *n == 2 ? RULE_GE : RULE_GT;
    if (*p == '<') return *n == 2 ? RULE_LE : RULE_LT;
    return RULE_OTHER;
}

static enum rule_op mirror(enum rule_op op)
{
    static const enum rule_op other[] = {RULE_OTHER, RULE_LE, RULE_LT, RULE_GE, RULE_GT};
    return other[op];
}

static size_t number_at(const char *p, double *out)
{
    char *end;
    *out = strtod(p, &end);
    return (size_t)(end - p);
}

/* "column >= 6" or "6 <= column", and nothing else. */
static void compare(struct rule *r)
{
    const char *p = skip(r->text);
    char *name = NULL;
    double number = NAN;
    int stored;
    size_t op_len, n = column_at(p, &name, &stored);
    int first = n > 0;
    if (!first) n = number_at(p, &number);
    p = skip(p + n);
    enum rule_op op = n ? op_at(p, &op_len) : RULE_OTHER;
    if (op != RULE_OTHER) {
        p = skip(p + op_len);
        n = first ? number_at(p, &number) : column_at(p, &name, &stored);
    }
    if (op == RULE_OTHER || !n || *skip(p + n) || !isfinite(number) || !name) {
        free(name);
        return;
    }
    r->column = name;
    r->stored = stored;
    r->op = first ? op : mirror(op);
    r->number = number;
}

static struct rule *add_rule(struct rules *r, const char *text, size_t n)
{
    if (r->count >= RULES_MAX) return NULL;
    vec_push(r->list, r->count, r->cap);
    struct rule *one = &r->list[r->count++];
    *one = (struct rule){.text = mem_strndup(text, n), .len = n};
    compare(one);
    return one;
}

void rules_load(struct rules *r, const struct run *run)
{
    for (size_t i = 0; run && i < run->count; i++)
        if (str_starts(run->field[i].name, "rule "))
            add_rule(r, run->field[i].value, strlen(run->field[i].value));
    r->asked = r->count;
}

static struct rule *find(const struct rules *r, const char *reason, size_t len)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].len == len && !memcmp(r->list[i].text, reason, len)) return &r->list[i];
    return NULL;
}

void rules_count(struct rules *r, const char *reason, size_t len)
{
    struct rule *rule = find(r, reason, len);
    size_t tail = strlen(without_value);
    int null = !rule && len > tail && !memcmp(reason + len - tail, without_value, tail);
    if (null) rule = find(r, reason, len -= tail);
    if (!rule) rule = add_rule(r, reason, len);
    if (!rule) {
        r->other++;
        return;
    }
    rule->dropped++;
    rule->nulls += null;
}

void rules_release(struct rules *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->list[i].text);
        free(r->list[i].column);
    }
    free(r->list);
    memset(r, 0, sizeof *r);
}

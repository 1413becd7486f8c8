/* rules.c - conjuncts out of the text of --where. The filter itself parses and types the
 * expression; here only its top level is cut into the rules that reasons name. */
#include "stage/report/rules.h"
#include "base/mem.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RULES_MAX = 200 };

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* "aesthetic_score" at p: its length; 0 when no name stands there. */
static size_t name_at(const char *p)
{
    size_t n = 0;
    if (isdigit((unsigned char)*p) || *p == '.') return 0;
    while (is_word(p[n])) n++;
    return n;
}

static enum rule_op op_at(const char *p, size_t *n)
{
    *n = 1 + (p[1] == '=');
    if (*p == '>') return *n == 2 ? RULE_GE : RULE_GT;
    if (*p == '<') return *n == 2 ? RULE_LE : RULE_LT;
    return RULE_OTHER;
}

static enum rule_op mirror(enum rule_op op)
{
    static const enum rule_op other[] = {RULE_OTHER, RULE_LE, RULE_LT, RULE_GE, RULE_GT};
    return other[op];
}

static const char *skip(const char *p)
{
    return p + strspn(p, " \t\n");
}

/* "column >= 6" or "6 <= column", and nothing else. */
static void compare(struct rule *r)
{
    const char *p = skip(r->text), *name = p;
    size_t n = name_at(p), len;
    char *end;
    double number = 0;
    int first = n > 0;
    if (first) {
        p = skip(p + n);
    } else {
        number = strtod(p, &end);
        if (end == p) return;
        p = skip(end);
    }
    enum rule_op op = op_at(p, &len);
    if (op == RULE_OTHER) return;
    p = skip(p + len);
    if (first) {
        number = strtod(p, &end);
        if (end == p) return;
        p = end;
    } else {
        name = p;
        n = name_at(p);
        if (!n) return;
        p += n;
        op = mirror(op);
    }
    if (*skip(p) || !isfinite(number)) return;
    r->column = mem_strndup(name, n);
    r->op = op;
    r->number = number;
}

static void add_rule(struct rules *r, const char *text, size_t n)
{
    while (n && isspace((unsigned char)*text)) text++, n--;
    while (n && isspace((unsigned char)text[n - 1])) n--;
    if (!n || r->count >= RULES_MAX) return;
    vec_push(r->list, r->count, r->cap);
    struct rule *one = &r->list[r->count++];
    *one = (struct rule){.text = mem_strndup(text, n)};
    compare(one);
}

/* Is "and" or "&" at p, at a place where a word may begin? Its length. */
static size_t and_at(const char *p, const char *start)
{
    if (*p == '&') return p[1] == '&' ? 2 : 1;
    if (strncasecmp(p, "and", 3) || is_word(p[3]) || (p > start && is_word(p[-1]))) return 0;
    return 3;
}

/* One --where: its conjuncts, outside brackets and quotes. "or" anywhere at the top level makes
 * the whole of it one rule. */
static void split(struct rules *r, const char *text)
{
    size_t before = r->count;
    const char *from = text;
    int depth = 0;
    for (const char *p = text;; p++) {
        size_t n = *p && !depth ? and_at(p, text) : 0;
        if (!*p || n) add_rule(r, from, (size_t)(p - from));
        if (!*p) break;
        if (n) p += n - 1, from = p + 1;
        if (*p == '(' || *p == '[') depth++;
        if (*p == ')' || *p == ']') depth--;
        if (*p == '\'' || *p == '"') {
            const char *close = strchr(p + 1, *p);
            if (!close) continue;
            p = close;
        }
        int is_or = *p == '|' ||
                    (!strncasecmp(p, "or", 2) && !is_word(p[2]) && p > text && !is_word(p[-1]));
        if (!depth && is_or) {
            while (r->count > before) {
                struct rule *last = &r->list[--r->count];
                free(last->text), free(last->column);
            }
            add_rule(r, text, strlen(text));
            return;
        }
    }
}

void rules_load(struct rules *r, const struct run *run)
{
    for (size_t i = 0; run && i < run->count; i++) {
        const struct run_field *f = &run->field[i];
        if (!strncmp(f->name, "rule", 4))
            add_rule(r, f->value, strlen(f->value));
        else if (!strncmp(f->name, "where", 5))
            split(r, f->value);
    }
    r->asked = r->count;
}

/* A reason is the rule's text, perhaps with a remark behind it ("...: null"). */
static int belongs(const struct rule *rule, const char *reason, size_t len)
{
    size_t n = strlen(rule->text);
    return len >= n && !memcmp(rule->text, reason, n) && (len == n || !is_word(reason[n]));
}

const struct rule *rules_find(const struct rules *r, const char *reason, size_t len)
{
    const struct rule *best = NULL;
    for (size_t i = 0; i < r->count; i++)
        if (belongs(&r->list[i], reason, len) &&
            (!best || strlen(r->list[i].text) > strlen(best->text)))
            best = &r->list[i];
    return best;
}

void rules_count(struct rules *r, const char *reason, size_t len, int64_t n)
{
    const struct rule *rule = rules_find(r, reason, len);
    if (!rule) {
        size_t before = r->count;
        add_rule(r, reason, len);
        if (r->count > before) rule = &r->list[before];
    }
    if (rule)
        r->list[rule - r->list].dropped += n;
    else
        r->other += n;
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

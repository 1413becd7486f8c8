/* expr.c - rules made from texts, and judged. */
#include "data/expr/tree.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

struct expr *expr_new(void)
{
    return mem_alloc(sizeof(struct expr));
}

struct extra *extra_new(struct expr *e)
{
    struct extra *x = mem_alloc(sizeof *x);
    x->next = e->extras;
    e->extras = x;
    return x;
}

void expr_free(struct expr *e)
{
    if (!e) return;
    for (struct extra *x = e->extras, *next; x; x = next) {
        next = x->next;
        regex_free(x->regex);
        map_release(&x->strings);
        free(x->ints);
        free(x->reals);
        str_release(&x->text);
        runes_release(&x->runes);
        runes_release(&x->changed);
        free(x);
    }
    arena_release(&e->nodes);
    arena_release(&e->scratch);
    free(e->rule);
    free(e->reads);
    free(e);
}

/* The conditions joined by `and` at the top, also those in parentheses of their own. */
static void add_rules(struct expr *e, const struct source *s, struct node *n)
{
    if (n->op == NODE_AND) {
        for (struct node *k = n->kid, *next; k; k = next) {
            next = k->next;
            add_rules(e, s, k);
        }
        return;
    }
    n->next = NULL;
    vec_push(e->rule, e->count, e->cap);
    e->rule[e->count++] =
        (struct rule){s, n, arena_strndup(&e->nodes, s->text + n->from, n->to - n->from)};
}

int expr_add(struct expr *e, const char *text)
{
    size_t n = strlen(text);
    struct node *root;
    if (n > EXPR_TEXT)
        return err_set(ERR_USAGE, "a condition of %zu bytes is too long; at most %d", n, EXPR_TEXT);
    if (!utf8_valid(text, n)) return err_set(ERR_USAGE, "the condition is not UTF-8");
    struct source *s = arena_alloc(&e->nodes, sizeof *s);
    *s = (struct source){arena_strndup(&e->nodes, text, n), n};
    int rc = tree_parse(&root, s, &e->nodes);
    if (!rc) add_rules(e, s, root);
    return rc;
}

size_t expr_rules(const struct expr *e)
{
    return e->count;
}

const char *expr_rule(const struct expr *e, size_t i)
{
    return e->rule[i].text;
}

int expr_reads(const struct expr *e, size_t column)
{
    return column < e->columns && e->reads[column];
}

/* The bytes of one rule for the rows [at, at+n). */
static const uint8_t *judge_some(struct expr *e, size_t rule, size_t at, size_t n)
{
    arena_reset(&e->scratch);
    e->at = at;
    e->n = n;
    return node_eval(e, e->rule[rule].root).v;
}

static uint8_t verdict_of(uint8_t bits)
{
    return bits & BIT_TRUE ? EXPR_TRUE : bits & BIT_UNKNOWN ? EXPR_NULL : EXPR_FALSE;
}

void expr_eval(struct expr *e, size_t rule, uint8_t *out, const struct column *const *values,
               size_t rows)
{
    e->values = values;
    for (size_t at = 0; at < rows; at += ROWS) {
        size_t n = rows - at < ROWS ? rows - at : ROWS;
        const uint8_t *bits = judge_some(e, rule, at, n);
        for (size_t i = 0; i < n; i++) out[at + i] = verdict_of(bits[i]);
    }
}

void expr_judge(struct expr *e, int32_t *verdict, struct expr_tally *tally,
                const struct column *const *values, size_t rows)
{
    e->values = values;
    memset(verdict, 0, rows * sizeof *verdict);
    for (size_t at = 0; at < rows; at += ROWS) {
        size_t n = rows - at < ROWS ? rows - at : ROWS;
        for (size_t r = 0; r < e->count; r++) {
            const uint8_t *bits = judge_some(e, r, at, n);
            int32_t *v = verdict + at, name = (int32_t)r + 1;
            for (size_t i = 0; i < n; i++) {
                if (bits[i] & BIT_TRUE) continue;
                int null = bits[i] & BIT_UNKNOWN ? 1 : 0;
                tally[r].fails++;
                if (v[i]) continue;
                v[i] = null ? -name : name;
                tally[r].dropped++;
                tally[r].null += (uint64_t)null;
            }
        }
    }
}

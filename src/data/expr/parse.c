/* parse.c - the grammar, by recursive descent; every function below is one level of binding:
 *     or    not-expression joined by and, joined by or
 *     not   not-expression
 *     < in  comparisons, chained as in Python: a < b < c is (a < b) and (b < c)
 *     + -   then * / // %, then the signs, then **, which binds to the right
 * and/or take any number of operands, so a long filter is not a deep one. */
#include "data/expr/tree.h"
#include "base/err.h"

#include <string.h>

struct parser {
    const struct source *source;
    struct arena *arena;
    struct token token; /* the one looked at */
    size_t end;         /* of the token before it */
    int depth;
};

static int advance(struct parser *p)
{
    p->end = p->token.to;
    return token_next(&p->token, p->source, p->token.to, p->arena);
}

static int refuse_token(struct parser *p, const char *wanted)
{
    const struct token *t = &p->token;
    size_t n = t->to - t->from;
    if (t->kind == TOKEN_END)
        return source_refuse(p->source, p->end, p->end + 1, NULL, "%s is missing at the end",
                             wanted);
    return source_refuse(p->source, t->from, t->to, NULL, "%s is expected, not %.*s%s", wanted,
                         (int)(n > 40 ? 40 : n), p->source->text + t->from, n > 40 ? "..." : "");
}

static int take(struct parser *p, enum token_kind kind, const char *wanted)
{
    return p->token.kind == kind ? advance(p) : refuse_token(p, wanted);
}

static struct node *node_new(struct parser *p, enum node_op op)
{
    struct node *n = arena_zalloc(p->arena, sizeof *n);
    n->op = op;
    n->depth = 1;
    n->from = p->token.from;
    n->to = p->token.to;
    return n;
}

/* Hang the operands, a list, below the node, which then spans them. */
static int adopt(struct parser *p, struct node *n, struct node *kids)
{
    n->kid = kids;
    if (kids->from < n->from) n->from = kids->from;
    for (const struct node *k = kids; k; k = k->next)
        if (k->depth >= n->depth) n->depth = k->depth + 1;
    n->to = p->end;
    if (n->depth > EXPR_DEPTH)
        return source_refuse(p->source, n->from, n->to, NULL, "nested deeper than %d levels",
                             EXPR_DEPTH);
    return 0;
}

static int enter(struct parser *p)
{
    if (++p->depth > EXPR_DEPTH)
        return source_refuse(p->source, p->token.from, p->token.to, NULL,
                             "nested deeper than %d levels", EXPR_DEPTH);
    return 0;
}

static int parse_or(struct parser *p, struct node **out);
static int parse_sum(struct parser *p, struct node **out);
static int parse_unary(struct parser *p, struct node **out);

static int parse_call(struct parser *p, struct node **out, struct token name)
{
    struct node *kids = NULL, **tail = &kids;
    (*out)->op = NODE_CALL;
    int rc = enter(p);
    if (!rc) rc = advance(p);
    while (!rc && (p->token.kind != TOKEN_CLOSE || kids)) {
        rc = parse_or(p, tail);
        if (rc) return rc;
        tail = &(*tail)->next;
        if (p->token.kind != TOKEN_COMMA) break;
        rc = advance(p);
    }
    p->depth--;
    if (!rc) rc = take(p, TOKEN_CLOSE, "')' or ','");
    if (!rc && !kids)
        rc = source_refuse(p->source, name.from, p->end, NULL, "%.*s() needs a value in it",
                           (int)name.name.n, name.name.p);
    return rc ? rc : adopt(p, *out, kids);
}

static int parse_name(struct parser *p, struct node **out)
{
    struct token t = p->token;
    struct node *n = *out = node_new(p, NODE_COLUMN);
    n->name = t.name;
    n->quoted = t.kind == TOKEN_QUOTED;
    int rc = advance(p);
    return !rc && !n->quoted && p->token.kind == TOKEN_OPEN ? parse_call(p, out, t) : rc;
}

static int parse_parentheses(struct parser *p, struct node **out)
{
    size_t from = p->token.from;
    int rc = enter(p);
    if (!rc) rc = advance(p);
    if (!rc) rc = parse_or(p, out);
    if (!rc) rc = take(p, TOKEN_CLOSE, "')'");
    p->depth--;
    if (rc) return rc;
    (*out)->from = from;
    (*out)->to = p->end;
    return 0;
}

static int is_literal(enum token_kind kind)
{
    return kind == TOKEN_INT || kind == TOKEN_REAL || kind == TOKEN_STRING || kind == TOKEN_TRUE ||
           kind == TOKEN_FALSE || kind == TOKEN_NULL;
}

static int parse_literal(struct parser *p, struct node **out)
{
    const struct token *t = &p->token;
    enum node_op op = t->kind == TOKEN_INT      ? NODE_INT
                      : t->kind == TOKEN_REAL   ? NODE_REAL
                      : t->kind == TOKEN_STRING ? NODE_STRING
                      : t->kind == TOKEN_NULL   ? NODE_NULL
                                                : NODE_BOOL;
    struct node *n = *out = node_new(p, op);
    n->name = t->name;
    n->i = op == NODE_BOOL ? t->kind == TOKEN_TRUE : t->i;
    n->r = t->r;
    return advance(p);
}

static int parse_primary(struct parser *p, struct node **out)
{
    enum token_kind kind = p->token.kind;
    if (is_literal(kind)) return parse_literal(p, out);
    if (kind == TOKEN_NAME || kind == TOKEN_QUOTED) return parse_name(p, out);
    if (kind == TOKEN_OPEN) return parse_parentheses(p, out);
    if (kind == TOKEN_LIST) return refuse_token(p, "'in' before a list: a value");
    if (kind == TOKEN_NOT) return refuse_token(p, "a value ('not' needs parentheses here)");
    return refuse_token(p, "a value");
}

/* x ** y, y with its sign: 2 ** -1. */
static int parse_power(struct parser *p, struct node **out)
{
    struct node *left;
    int rc = parse_primary(p, &left);
    *out = left;
    if (rc || p->token.kind != TOKEN_POW) return rc;
    struct node *n = *out = node_new(p, NODE_MATH);
    n->math = TOKEN_POW;
    rc = enter(p);
    if (!rc) rc = advance(p);
    if (!rc) rc = parse_unary(p, &left->next);
    p->depth--;
    return rc ? rc : adopt(p, n, left);
}

/* A sign before a number belongs to it, so that -9223372036854775808 is a whole number. */
static int fold_sign(struct node *n)
{
    static const char smallest[] = "9223372036854775808";
    if (n->op == NODE_INT) {
        n->i = -n->i;
        n->r = -n->r;
        return 1;
    }
    if (n->op != NODE_REAL) return 0;
    if (n->r == 9223372036854775808.0 && n->name.n == sizeof smallest - 1 &&
        !memcmp(n->name.p, smallest, n->name.n)) {
        n->op = NODE_INT;
        n->i = INT64_MIN;
    }
    n->r = -n->r;
    return 1;
}

static int parse_unary(struct parser *p, struct node **out)
{
    enum token_kind sign = p->token.kind;
    if (sign != TOKEN_SUB && sign != TOKEN_ADD) return parse_power(p, out);
    struct node *n = node_new(p, NODE_NEGATE), *kid;
    int rc = enter(p);
    if (!rc) rc = advance(p);
    int bare = p->token.kind == TOKEN_INT || p->token.kind == TOKEN_REAL;
    if (!rc) rc = parse_unary(p, &kid);
    p->depth--;
    if (rc) return rc;
    n->math = sign;
    if (bare && (sign == TOKEN_ADD || fold_sign(kid))) {
        kid->from = n->from;
        *out = kid;
        return 0;
    }
    *out = n;
    return adopt(p, n, kid);
}

static int parse_left(struct parser *p, struct node **out,
                      int (*operand)(struct parser *, struct node **), enum token_kind first,
                      enum token_kind last)
{
    int rc = operand(p, out);
    while (!rc && p->token.kind >= first && p->token.kind <= last) {
        struct node *left = *out, *n = node_new(p, NODE_MATH);
        n->math = p->token.kind;
        rc = advance(p);
        if (!rc) rc = operand(p, &left->next);
        if (!rc) rc = adopt(p, n, left);
        *out = n;
    }
    return rc;
}

static int parse_product(struct parser *p, struct node **out)
{
    return parse_left(p, out, parse_unary, TOKEN_MUL, TOKEN_MOD);
}

static int parse_sum(struct parser *p, struct node **out)
{
    return parse_left(p, out, parse_product, TOKEN_ADD, TOKEN_SUB);
}

static int parse_item(struct parser *p, struct node **out)
{
    int rc = parse_unary(p, out);
    if (rc) return rc;
    enum node_op op = (*out)->op;
    if (op == NODE_INT || op == NODE_REAL || op == NODE_STRING || op == NODE_BOOL) return 0;
    if (op == NODE_NULL)
        return source_refuse(p->source, (*out)->from, (*out)->to, NULL,
                             "nothing equals null; add 'or ... is null'");
    return source_refuse(p->source, (*out)->from, (*out)->to, NULL,
                         "a list holds numbers or strings, nothing to be computed");
}

/* [a, b] or (a, b) behind `in`. */
static int parse_list(struct parser *p, struct node **tail)
{
    enum token_kind close = p->token.kind == TOKEN_LIST ? TOKEN_LIST_END : TOKEN_CLOSE;
    if (p->token.kind == TOKEN_STRING || p->token.kind == TOKEN_NAME)
        return refuse_token(p, "a list such as [1, 2] (for parts of a text there is contains(text, "
                               "part))");
    if (p->token.kind != TOKEN_LIST && p->token.kind != TOKEN_OPEN)
        return refuse_token(p, "a list such as [1, 2]");
    int rc = advance(p);
    while (!rc && p->token.kind != close) {
        rc = parse_item(p, tail);
        if (rc) return rc;
        tail = &(*tail)->next;
        if (p->token.kind != TOKEN_COMMA) break;
        rc = advance(p);
    }
    return rc ? rc : take(p, close, close == TOKEN_CLOSE ? "')' or ','" : "']' or ','");
}

static int parse_in(struct parser *p, struct node **out, int inverted)
{
    struct node *left = *out, *n = node_new(p, NODE_IN);
    n->inverted = inverted;
    int rc = parse_list(p, &left->next);
    if (!rc) rc = adopt(p, n, left);
    *out = n;
    return rc;
}

static int parse_is(struct parser *p, struct node **out)
{
    struct node *left = *out, *n = node_new(p, NODE_IS_NULL);
    int rc = advance(p);
    n->inverted = p->token.kind == TOKEN_NOT;
    if (!rc && n->inverted) rc = advance(p);
    if (!rc) rc = take(p, TOKEN_NULL, "'null' or 'not null'");
    if (!rc) rc = adopt(p, n, left);
    *out = n;
    return rc;
}

static int is_relation(enum token_kind kind)
{
    return kind >= TOKEN_EQ && kind <= TOKEN_GE;
}

static int refuse_chain(struct parser *p)
{
    enum token_kind kind = p->token.kind;
    if (!is_relation(kind) && kind != TOKEN_IN && kind != TOKEN_IS && kind != TOKEN_NOT) return 0;
    return source_refuse(p->source, p->token.from, p->token.to, NULL,
                         "put parentheses around what stands before this");
}

static int parse_chain(struct parser *p, struct node **out)
{
    struct node *first = *out, *last = first, *n = node_new(p, NODE_COMPARE);
    int rc = 0, links = 0;
    while (!rc && is_relation(p->token.kind)) {
        enum token_kind relation = p->token.kind;
        if (++links > EXPR_CHAIN)
            return source_refuse(p->source, p->token.from, p->token.to, NULL,
                                 "a chain of more than %d comparisons", EXPR_CHAIN);
        rc = advance(p);
        /* pandas: == and != with a list are in and not in */
        if (!rc && p->token.kind == TOKEN_LIST && last == first &&
            (relation == TOKEN_EQ || relation == TOKEN_NE)) {
            rc = parse_in(p, out, relation == TOKEN_NE);
            return rc ? rc : refuse_chain(p);
        }
        if (!rc) rc = parse_sum(p, &last->next);
        if (rc) return rc;
        last = last->next;
        last->relation = relation;
    }
    if (!rc) rc = adopt(p, n, first);
    *out = n;
    return rc ? rc : refuse_chain(p);
}

static int parse_comparison(struct parser *p, struct node **out)
{
    int rc = parse_sum(p, out), inverted = p->token.kind == TOKEN_NOT;
    if (rc) return rc;
    if (is_relation(p->token.kind)) return parse_chain(p, out);
    if (p->token.kind == TOKEN_IS) {
        rc = parse_is(p, out);
        return rc ? rc : refuse_chain(p);
    }
    if (inverted) {
        struct token not = p->token;
        rc = advance(p);
        if (!rc && p->token.kind != TOKEN_IN) {
            p->token = not ;
            return refuse_token(p, "'and', 'or' or a comparison");
        }
    }
    if (rc || p->token.kind != TOKEN_IN) return rc;
    rc = advance(p);
    if (!rc) rc = parse_in(p, out, inverted);
    return rc ? rc : refuse_chain(p);
}

static int parse_not(struct parser *p, struct node **out)
{
    if (p->token.kind != TOKEN_NOT) return parse_comparison(p, out);
    struct node *n = *out = node_new(p, NODE_NOT), *kid;
    int rc = enter(p);
    if (!rc) rc = advance(p);
    if (!rc) rc = parse_not(p, &kid);
    p->depth--;
    return rc ? rc : adopt(p, n, kid);
}

/* Any number of operands joined by one word. */
static int parse_joined(struct parser *p, struct node **out, enum token_kind word, enum node_op op,
                        int (*operand)(struct parser *, struct node **))
{
    struct node *first, *last;
    int rc = operand(p, &first);
    *out = last = first;
    if (rc || p->token.kind != word) return rc;
    struct node *n = node_new(p, op);
    while (!rc && p->token.kind == word) {
        rc = advance(p);
        if (!rc) rc = operand(p, &last->next);
        if (!rc) last = last->next;
    }
    *out = n;
    return rc ? rc : adopt(p, n, first);
}

static int parse_and(struct parser *p, struct node **out)
{
    return parse_joined(p, out, TOKEN_AND, NODE_AND, parse_not);
}

static int parse_or(struct parser *p, struct node **out)
{
    return parse_joined(p, out, TOKEN_OR, NODE_OR, parse_and);
}

int tree_parse(struct node **out, const struct source *s, struct arena *a)
{
    struct parser p = {.source = s, .arena = a};
    int rc = token_next(&p.token, s, 0, a);
    if (!rc && p.token.kind == TOKEN_END) return err_set(ERR_USAGE, "the condition is empty");
    if (!rc) rc = parse_or(&p, out);
    if (!rc && p.token.kind == TOKEN_CLOSE)
        return source_refuse(s, p.token.from, p.token.to, NULL, "a ')' without its '('");
    if (!rc && p.token.kind != TOKEN_END) rc = refuse_token(&p, "'and', 'or' or a comparison");
    return rc;
}

/* check.c - names and types, before any row is read. After it every node has a type and every
 * operand one that its node can work with, so evaluation cannot fail. */
#include "data/expr/tree.h"
#include "base/err.h"
#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct binder {
    struct expr *expr;
    const struct source *source;
    const struct expr_column *columns;
    size_t count;
};

enum want { WANT_NUMBER, WANT_TEXT, WANT_ANY };

static const struct {
    const char *name;
    enum function_code code;
    int min, max; /* operands; max 0: any number */
    enum want want;
    enum column_type type; /* of the result, where the operands do not decide it */
} functions[] = {{"len", CALL_LEN, 1, 1, WANT_TEXT, COLUMN_INT},
                 {"contains", CALL_CONTAINS, 2, 2, WANT_TEXT, COLUMN_BOOL},
                 {"matches", CALL_MATCHES, 2, 2, WANT_TEXT, COLUMN_BOOL},
                 {"startswith", CALL_STARTS, 2, 2, WANT_TEXT, COLUMN_BOOL},
                 {"endswith", CALL_ENDS, 2, 2, WANT_TEXT, COLUMN_BOOL},
                 {"lower", CALL_LOWER, 1, 1, WANT_TEXT, COLUMN_STRING},
                 {"upper", CALL_UPPER, 1, 1, WANT_TEXT, COLUMN_STRING},
                 {"min", CALL_MIN, 1, 0, WANT_NUMBER, COLUMN_REAL},
                 {"max", CALL_MAX, 1, 0, WANT_NUMBER, COLUMN_REAL},
                 {"abs", CALL_ABS, 1, 1, WANT_NUMBER, COLUMN_REAL},
                 {"coalesce", CALL_COALESCE, 1, 0, WANT_ANY, COLUMN_REAL}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static int check(struct binder *b, struct node *n);

static int is_number(const struct node *n)
{
    return n->type == COLUMN_INT || n->type == COLUMN_REAL;
}

static int is_literal(const struct node *n)
{
    return n->op == NODE_INT || n->op == NODE_REAL;
}

static const char *kind_of(const struct node *n)
{
    return n->type == COLUMN_BOOL     ? "a truth value"
           : n->type == COLUMN_STRING ? "text"
                                      : "a number";
}

#define refuse(b, n, ...) source_refuse((b)->source, (n)->from, (n)->to, NULL, __VA_ARGS__)

/* ---- names ---- */

/* The column a name stands for, or -1. */
static int find_column(const struct binder *b, const char *name, size_t n, int quoted)
{
    int stored = -1, derived = -1;
    for (size_t i = 0; i < b->count; i++) {
        if (strlen(b->columns[i].name) != n || memcmp(b->columns[i].name, name, n)) continue;
        if (b->columns[i].derived)
            derived = (int)i;
        else
            stored = (int)i;
    }
    if (quoted || derived < 0) return stored;
    return stored >= 0 && b->columns[derived].refuse ? stored : derived;
}

/* "    metadata: caption, height, ..." for each place columns come from. */
static void list_columns(struct str *out, const struct binder *b)
{
    enum { LINE = 200 };
    for (size_t i = 0; i < b->count; i++) {
        const char *from = b->columns[i].from;
        size_t first = 0, start = out->len;
        while (first < i && strcmp(b->columns[first].from, from)) first++;
        if (first < i) continue;
        str_printf(out, "\n    %s:", from);
        for (size_t k = i; k < b->count; k++) {
            if (strcmp(b->columns[k].from, from)) continue;
            if (out->len - start > LINE) {
                str_puts(out, " ...");
                break;
            }
            str_printf(out, "%s %.80s", k == i ? "" : ",", b->columns[k].name);
        }
    }
}

static int refuse_name(struct binder *b, const struct node *n)
{
    static const char *const derived[] = {"aspect", "resolution"};
    const char **names = mem_alloc((b->count + 3) * sizeof *names);
    char *name = mem_strndup(n->name.p, n->name.n);
    struct str known = {0};
    size_t count = 0;
    for (; count < b->count; count++) names[count] = b->columns[count].name;
    for (int i = 0; i < 2; i++) names[count++] = derived[i];
    const char *near = str_nearest(name, names);
    list_columns(&known, b);
    int rc = source_refuse(b->source, n->from, n->to, known.p, "no column '%.100s'%s%.100s%s", name,
                           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    str_release(&known);
    free(name);
    free(names);
    return rc;
}

static int bind_column(struct binder *b, struct node *n, int column)
{
    const struct expr_column *c = &b->columns[column];
    if (c->refuse) return refuse(b, n, "'%.100s' cannot be used: %s", c->name, c->refuse);
    n->op = NODE_COLUMN;
    n->column = (size_t)column;
    n->type = c->type;
    n->single = c->single;
    b->expr->reads[column] = 1;
    return 0;
}

/* The picture's sides, by the first pair of names that is there. */
static int find_sides(const struct binder *b, int side[2])
{
    static const char *const names[][2] = {
        {"width", "height"}, {"WIDTH", "HEIGHT"}, {"original_width", "original_height"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        side[0] = find_column(b, names[i][0], strlen(names[i][0]), 1);
        side[1] = find_column(b, names[i][1], strlen(names[i][1]), 1);
        if (side[0] >= 0 && side[1] >= 0) return 1;
    }
    return 0;
}

static int bind_derived(struct binder *b, struct node *n, enum node_op op)
{
    int side[2];
    if (!find_sides(b, side))
        return refuse(b, n, "%.*s needs the columns width and height, which are not there",
                      (int)n->name.n, n->name.p);
    int whole = 1;
    for (int i = 0; i < 2; i++) {
        struct node *k = arena_zalloc(&b->expr->nodes, sizeof *k);
        k->from = n->from;
        k->to = n->to;
        int rc = bind_column(b, k, side[i]);
        if (rc) return rc;
        if (!is_number(k))
            return refuse(b, n, "%.*s needs numbers, but '%s' is %s", (int)n->name.n, n->name.p,
                          b->columns[side[i]].name, kind_of(k));
        whole &= k->type == COLUMN_INT;
        k->next = n->kid;
        n->kid = k;
    }
    n->op = op;
    n->type = op == NODE_RESOLUTION && whole ? COLUMN_INT : COLUMN_REAL;
    return 0;
}

static int check_name(struct binder *b, struct node *n)
{
    int column = find_column(b, n->name.p, n->name.n, n->quoted), side[2];
    enum node_op derived = n->name.n == 6 && !memcmp(n->name.p, "aspect", 6) ? NODE_ASPECT
                           : n->name.n == 10 && !memcmp(n->name.p, "resolution", 10)
                               ? NODE_RESOLUTION
                               : NODE_COLUMN;
    if (derived != NODE_COLUMN && !n->quoted && (column < 0 || find_sides(b, side)))
        return bind_derived(b, n, derived);
    return column < 0 ? refuse_name(b, n) : bind_column(b, n, column);
}

/* ---- float32 ---- */

/* A score stored as float32 0.2 is 0.200000003 as a double; who writes `<= 0.2` means the stored
 * 0.2. So a literal is rounded as the column was, unless that would change more than digits. */
static void round_literal(struct node *n)
{
    float r = (float)n->r;
    if (!is_literal(n) || (n->r != 0 && (!isfinite(r) || fabsf(r) < FLT_MIN))) return;
    n->op = NODE_REAL;
    n->type = COLUMN_REAL;
    n->r = r;
}

/* min, max, abs, coalesce: float32 when every operand is, literals aside, which then become so. */
static void inherit_single(struct node *n)
{
    int any = 0;
    for (const struct node *k = n->kid; k; k = k->next) {
        if (!is_literal(k) && !k->single) return;
        any |= k->single;
    }
    n->single = any;
    for (struct node *k = n->kid; any && k; k = k->next) round_literal(k);
}

static void round_compared(struct node *n)
{
    const struct node *before = NULL;
    for (struct node *k = n->kid; k; before = k, k = k->next) {
        int left = before && !is_literal(before), right = k->next && !is_literal(k->next);
        if (!is_literal(k) || !(left || right)) continue;
        if ((!left || before->single) && (!right || k->next->single)) round_literal(k);
    }
}

/* ---- conditions ---- */

static int check_kids(struct binder *b, struct node *n)
{
    int rc = 0;
    for (struct node *k = n->kid; k && !rc; k = k->next) rc = check(b, k);
    return rc;
}

static int check_logic(struct binder *b, struct node *n)
{
    static const char *const words[] = {
        [NODE_OR] = "'or'", [NODE_AND] = "'and'", [NODE_NOT] = "'not'"};
    int rc = check_kids(b, n);
    if (rc) return rc;
    n->type = COLUMN_BOOL;
    for (const struct node *k = n->kid; k; k = k->next)
        if (k->type != COLUMN_BOOL)
            return refuse(b, k, "%s joins conditions, but this is %s; compare it with something",
                          words[n->op], kind_of(k));
    return 0;
}

static int check_relation(struct binder *b, const struct node *left, const struct node *right)
{
    const struct node *bad = right;
    if (is_number(left) && is_number(right)) return 0;
    if (left->type != right->type) {
        if (left->type == COLUMN_BOOL || right->type == COLUMN_BOOL)
            return refuse(b, bad,
                          "%s is compared with %s; a truth value stands alone, or with 'not'",
                          kind_of(left), kind_of(right));
        return refuse(b, bad, "%s is compared with %s", kind_of(left), kind_of(right));
    }
    if (left->type == COLUMN_BOOL && right->relation != TOKEN_EQ && right->relation != TOKEN_NE)
        return refuse(b, bad, "truth values have no order");
    return 0;
}

static int check_compare(struct binder *b, struct node *n)
{
    for (const struct node *k = n->kid; k; k = k->next)
        if (k->op == NODE_NULL)
            return refuse(b, k,
                          "a comparison with null is never true; write 'is null' or 'is not "
                          "null'");
    int rc = check_kids(b, n);
    for (const struct node *k = n->kid; !rc && k->next; k = k->next)
        rc = check_relation(b, k, k->next);
    n->type = COLUMN_BOOL;
    if (!rc) round_compared(n);
    return rc;
}

static int by_int(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int by_real(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The list as it is searched: strings by hash, numbers sorted. */
static void gather_items(struct binder *b, struct node *n, int whole)
{
    struct extra *x = n->extra = extra_new(b->expr);
    for (const struct node *k = n->kid->next; k; k = k->next) x->count++;
    if (whole)
        x->ints = mem_alloc((x->count + 1) * sizeof *x->ints);
    else
        x->reals = mem_alloc((x->count + 1) * sizeof *x->reals);
    size_t i = 0;
    for (const struct node *k = n->kid->next; k; k = k->next, i++) {
        if (k->op == NODE_STRING)
            map_at(&x->strings, k->name.p, k->name.n, 1);
        else if (whole)
            x->ints[i] = k->i;
        else
            x->reals[i] = k->r;
    }
    if (whole)
        qsort(x->ints, x->count, sizeof *x->ints, by_int);
    else
        qsort(x->reals, x->count, sizeof *x->reals, by_real);
}

static int check_in(struct binder *b, struct node *n)
{
    struct node *left = n->kid;
    int rc = check_kids(b, n), whole = 1;
    if (rc) return rc;
    if (left->type == COLUMN_BOOL)
        return refuse(b, left, "a truth value needs no list; it stands alone, or with 'not'");
    for (struct node *k = left->next; k; k = k->next) {
        if ((k->type == COLUMN_STRING) != (left->type == COLUMN_STRING) || k->type == COLUMN_BOOL)
            return refuse(b, k, "%s is looked for among %s", kind_of(left),
                          k->type == COLUMN_STRING ? "texts" : kind_of(k));
        if (left->single) round_literal(k);
        whole &= k->type == COLUMN_INT;
    }
    n->type = COLUMN_BOOL;
    gather_items(b, n, whole && left->type == COLUMN_INT);
    return 0;
}

/* ---- values ---- */

static int check_numbers(struct binder *b, struct node *n)
{
    int rc = check_kids(b, n);
    for (const struct node *k = n->kid; k && !rc; k = k->next)
        if (!is_number(k)) rc = refuse(b, k, "a number is needed here, but this is %s", kind_of(k));
    n->type = COLUMN_REAL;
    if (n->op == NODE_NEGATE) n->single = n->kid->single;
    return rc;
}

static int check_pattern(struct binder *b, struct node *n)
{
    const struct node *pattern = n->kid->next;
    size_t at;
    if (pattern->op != NODE_STRING)
        return refuse(b, pattern, "the pattern of matches() must be written out, in quotes");
    n->extra = extra_new(b->expr);
    if (!regex_new(&n->extra->regex, &at, pattern->name.p, pattern->name.n)) return 0;
    struct str why = {0};
    str_puts(&why, err_text());
    int rc = refuse(b, pattern, "%s (at byte %zu of the pattern)", why.p, at + 1);
    str_release(&why);
    return rc;
}

/* The type of a function whose operands decide it: all of one kind. */
static int check_alike(struct binder *b, struct node *n)
{
    n->type = n->kid->type;
    for (const struct node *k = n->kid->next; k; k = k->next) {
        if (is_number(n) && is_number(k))
            n->type = n->type == COLUMN_INT ? k->type : COLUMN_REAL;
        else if (n->type != k->type)
            return refuse(b, k, "%.*s() takes values of one kind, not %s beside %s", (int)n->name.n,
                          n->name.p, kind_of(k), kind_of(n->kid));
    }
    inherit_single(n);
    for (const struct node *k = n->kid; k; k = k->next) /* rounding may have made one */
        if (k->type == COLUMN_REAL) n->type = COLUMN_REAL;
    return 0;
}

static int refuse_function(struct binder *b, const struct node *n)
{
    const char *names[FUNCTIONS + 1] = {NULL};
    char *name = mem_strndup(n->name.p, n->name.n);
    for (size_t i = 0; i < FUNCTIONS; i++) names[i] = functions[i].name;
    const char *near = str_nearest(name, names);
    int rc = source_refuse(b->source, n->from, n->from + n->name.n, NULL,
                           "no function %.100s(); %s%s%s", name, near ? "did you mean " : "known: ",
                           near ? near
                                : "len contains matches startswith endswith lower upper min "
                                  "max abs coalesce",
                           near ? "()?" : "");
    free(name);
    return rc;
}

static int check_call(struct binder *b, struct node *n)
{
    int f = 0, count = 0;
    while (f < FUNCTIONS && (strlen(functions[f].name) != n->name.n ||
                             memcmp(functions[f].name, n->name.p, n->name.n)))
        f++;
    if (f == FUNCTIONS) return refuse_function(b, n);
    for (const struct node *k = n->kid; k; k = k->next) count++;
    if (count < functions[f].min || (functions[f].max && count > functions[f].max))
        return refuse(b, n, "%s() takes %d value%s, not %d", functions[f].name, functions[f].min,
                      functions[f].min == 1 ? "" : "s", count);
    int rc = check_kids(b, n);
    for (const struct node *k = n->kid; k && !rc; k = k->next) {
        if (functions[f].want == WANT_TEXT && k->type != COLUMN_STRING)
            rc = refuse(b, k, "%s() takes text, but this is %s", functions[f].name, kind_of(k));
        if (functions[f].want == WANT_NUMBER && !is_number(k))
            rc = refuse(b, k, "%s() takes numbers, but this is %s", functions[f].name, kind_of(k));
    }
    if (rc) return rc;
    n->call = functions[f].code;
    n->type = functions[f].type;
    if (n->call == CALL_MATCHES) return check_pattern(b, n);
    if (n->call == CALL_LOWER || n->call == CALL_UPPER) n->extra = extra_new(b->expr);
    if (n->call == CALL_ABS) inherit_single(n);
    if (n->call == CALL_MIN || n->call == CALL_MAX || n->call == CALL_COALESCE)
        return check_alike(b, n);
    return 0;
}

static int check(struct binder *b, struct node *n)
{
    switch (n->op) {
    case NODE_COLUMN: return check_name(b, n);
    case NODE_INT: n->type = COLUMN_INT; return 0;
    case NODE_REAL: n->type = COLUMN_REAL; return 0;
    case NODE_STRING: n->type = COLUMN_STRING; return 0;
    case NODE_BOOL: n->type = COLUMN_BOOL; return 0;
    case NODE_NULL: return refuse(b, n, "null stands only behind 'is' or 'is not'");
    case NODE_OR:
    case NODE_AND:
    case NODE_NOT: return check_logic(b, n);
    case NODE_COMPARE: return check_compare(b, n);
    case NODE_IN: return check_in(b, n);
    case NODE_IS_NULL: n->type = COLUMN_BOOL; return check_kids(b, n);
    case NODE_NEGATE:
    case NODE_MATH: return check_numbers(b, n);
    case NODE_CALL: return check_call(b, n);
    case NODE_ASPECT:
    case NODE_RESOLUTION: break; /* made here, not parsed */
    }
    return 0;
}

int expr_bind(struct expr *e, const struct expr_column *columns, size_t n)
{
    int rc = 0;
    free(e->reads);
    e->reads = mem_alloc(n + 1);
    e->columns = n;
    for (size_t i = 0; i < e->count && !rc; i++) {
        struct rule *r = &e->rule[i];
        struct binder b = {e, r->source, columns, n};
        rc = check(&b, r->root);
        if (!rc && r->root->type != COLUMN_BOOL)
            rc = refuse(&b, r->root,
                        "a rule is a condition, but this is %s; compare it with "
                        "something",
                        kind_of(r->root));
    }
    return rc;
}

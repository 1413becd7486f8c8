/* eval.c - a tree over many rows: each node makes all its values before the node above looks at
 * them, in plain loops. Numbers are doubles with NaN for null, whole numbers that are only compared
 * stay int64. A condition is a byte of bits: true; unknown, that is, three-valued logic would not
 * know (the reason then says null); null, for bool columns without a value. Where unknown is not
 * set both logics agree, so "false for want of a value" is exact. */
#include "data/expr/tree.h"
#include "base/map.h"

#include <math.h>
#include <string.h>

enum { NO_VALUE = BIT_UNKNOWN | BIT_NULL };

void *rows_alloc(struct expr *e, size_t size)
{
    return arena_alloc(&e->scratch, ROWS * size);
}

void rows_rewind(struct expr *e, struct arena mark)
{
    e->scratch.now = mark.now;
    e->scratch.used = mark.used;
}

const double *vec_reals(struct expr *e, struct vec v)
{
    if (v.type == COLUMN_REAL) return v.v;
    const int64_t *ints = v.v;
    double *out = rows_alloc(e, sizeof *out);
    for (size_t i = 0; i < e->n; i++) out[i] = (double)ints[i];
    for (size_t i = 0; v.valid && i < e->n; i++)
        if (!v.valid[i]) out[i] = NAN;
    return out;
}

/* ---- leaves ---- */

static struct vec eval_column(struct expr *e, const struct node *n)
{
    const struct column *c = e->values[n->column];
    const uint8_t *valid = c->valid ? c->valid + e->at : NULL;
    if (n->type == COLUMN_INT) return (struct vec){n->type, c->ints + e->at, valid};
    if (n->type == COLUMN_STRING) return (struct vec){n->type, c->strings + e->at, valid};
    if (n->type == COLUMN_REAL) {
        if (!valid) return (struct vec){n->type, c->reals + e->at, NULL};
        double *out = rows_alloc(e, sizeof *out);
        for (size_t i = 0; i < e->n; i++) out[i] = valid[i] ? c->reals[e->at + i] : NAN;
        return (struct vec){n->type, out, NULL};
    }
    uint8_t *out = rows_alloc(e, 1);
    for (size_t i = 0; i < e->n; i++)
        out[i] = valid && !valid[i] ? NO_VALUE : c->bools[e->at + i] != 0;
    return (struct vec){n->type, out, NULL};
}

static struct vec eval_literal(struct expr *e, const struct node *n)
{
    if (n->type == COLUMN_INT) {
        int64_t *out = rows_alloc(e, sizeof *out);
        for (size_t i = 0; i < e->n; i++) out[i] = n->i;
        return (struct vec){n->type, out, NULL};
    }
    if (n->type == COLUMN_REAL) {
        double *out = rows_alloc(e, sizeof *out);
        for (size_t i = 0; i < e->n; i++) out[i] = n->r;
        return (struct vec){n->type, out, NULL};
    }
    if (n->type == COLUMN_BOOL) {
        uint8_t *out = rows_alloc(e, 1);
        memset(out, (int)n->i, e->n);
        return (struct vec){n->type, out, NULL};
    }
    struct parquet_slice *out = rows_alloc(e, sizeof *out);
    for (size_t i = 0; i < e->n; i++) out[i] = n->name;
    return (struct vec){n->type, out, NULL};
}

/* ---- logic ---- */

/* Of the bits true and unknown. A known false decides `and`, a known true `or`. */
static uint8_t both(uint8_t a, uint8_t b)
{
    if (!(a & 3) || !(b & 3)) return 0;
    return (uint8_t)((a & b & BIT_TRUE) | ((a | b) & BIT_UNKNOWN));
}

static uint8_t either(uint8_t a, uint8_t b)
{
    if ((a & 3) == BIT_TRUE || (b & 3) == BIT_TRUE) return BIT_TRUE;
    return (a | b) & 3;
}

static void join(uint8_t *out, const uint8_t *b, size_t n, enum node_op op)
{
    uint8_t table[8][8];
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++)
            table[i][k] =
                op == NODE_AND ? both((uint8_t)i, (uint8_t)k) : either((uint8_t)i, (uint8_t)k);
    for (size_t i = 0; i < n; i++) out[i] = table[out[i]][b[i]];
}

static struct vec eval_logic(struct expr *e, const struct node *n)
{
    uint8_t *out = rows_alloc(e, 1);
    struct arena mark = e->scratch;
    memcpy(out, node_eval(e, n->kid).v, e->n);
    rows_rewind(e, mark);
    if (n->op == NODE_NOT)
        for (size_t i = 0; i < e->n; i++) out[i] = (out[i] & 3) ^ BIT_TRUE;
    for (const struct node *k = n->kid->next; k; k = k->next) {
        join(out, node_eval(e, k).v, e->n, n->op);
        rows_rewind(e, mark);
    }
    return (struct vec){COLUMN_BOOL, out, NULL};
}

/* ---- comparisons ---- */

#define COMPARE(op) \
    for (size_t i = 0; i < n; i++) out[i] = (uint8_t)(a[i] op b[i])

static void compare_ints(uint8_t *out, const int64_t *a, const int64_t *b, size_t n,
                         enum token_kind relation)
{
    switch (relation) {
    case TOKEN_EQ: COMPARE(==); break;
    case TOKEN_NE: COMPARE(!=); break;
    case TOKEN_LT: COMPARE(<); break;
    case TOKEN_LE: COMPARE(<=); break;
    case TOKEN_GT: COMPARE(>); break;
    default: COMPARE(>=); break;
    }
}

static void compare_reals(uint8_t *out, const double *a, const double *b, size_t n,
                          enum token_kind relation)
{
    switch (relation) {
    case TOKEN_EQ: COMPARE(==); break;
    case TOKEN_NE: COMPARE(!=); break;
    case TOKEN_LT: COMPARE(<); break;
    case TOKEN_LE: COMPARE(<=); break;
    case TOKEN_GT: COMPARE(>); break;
    default: COMPARE(>=); break;
    }
    for (size_t i = 0; i < n; i++)
        if (isunordered(a[i], b[i])) out[i] = BIT_UNKNOWN;
}

static int slice_order(const struct parquet_slice *a, const struct parquet_slice *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    int c = n ? memcmp(a->p, b->p, n) : 0;
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

static int slice_equal(const struct parquet_slice *a, const struct parquet_slice *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

/* Strings are in order of their bytes, which in UTF-8 is the order of code points. */
static void compare_strings(uint8_t *out, const struct parquet_slice *a,
                            const struct parquet_slice *b, size_t n, enum token_kind relation)
{
    if (relation == TOKEN_EQ || relation == TOKEN_NE) {
        for (size_t i = 0; i < n; i++) out[i] = slice_equal(&a[i], &b[i]) == (relation == TOKEN_EQ);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int c = slice_order(&a[i], &b[i]);
        out[i] = relation == TOKEN_LT   ? c < 0
                 : relation == TOKEN_LE ? c <= 0
                 : relation == TOKEN_GT ? c > 0
                                        : c >= 0;
    }
}

static void compare_bools(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n,
                          enum token_kind relation)
{
    int equal = relation == TOKEN_EQ;
    for (size_t i = 0; i < n; i++)
        out[i] =
            (a[i] | b[i]) & BIT_NULL
                ? BIT_UNKNOWN
                : (uint8_t)((((a[i] ^ b[i]) & BIT_TRUE) == !equal) | ((a[i] | b[i]) & BIT_UNKNOWN));
}

static void mask(uint8_t *out, const uint8_t *valid, size_t n)
{
    for (size_t i = 0; valid && i < n; i++)
        if (!valid[i]) out[i] = BIT_UNKNOWN;
}

static void relate(struct expr *e, uint8_t *out, struct vec a, struct vec b,
                   enum token_kind relation)
{
    if (a.type == COLUMN_BOOL) {
        compare_bools(out, a.v, b.v, e->n, relation);
    } else if (a.type == COLUMN_STRING) {
        compare_strings(out, a.v, b.v, e->n, relation);
    } else if (a.type == COLUMN_INT && b.type == COLUMN_INT) {
        compare_ints(out, a.v, b.v, e->n, relation);
    } else {
        compare_reals(out, vec_reals(e, a), vec_reals(e, b), e->n, relation);
        return;
    }
    mask(out, a.valid, e->n);
    mask(out, b.valid, e->n);
}

static struct vec eval_compare(struct expr *e, const struct node *n)
{
    uint8_t *out = rows_alloc(e, 1);
    struct arena mark = e->scratch;
    struct vec a = node_eval(e, n->kid);
    for (const struct node *k = n->kid->next; k; k = k->next) {
        struct vec b = node_eval(e, k);
        if (k == n->kid->next) {
            relate(e, out, a, b, k->relation);
        } else {
            uint8_t *link = rows_alloc(e, 1);
            relate(e, link, a, b, k->relation);
            join(out, link, e->n, NODE_AND);
        }
        a = b;
    }
    rows_rewind(e, mark);
    return (struct vec){COLUMN_BOOL, out, NULL};
}

static int has_int(const struct extra *x, int64_t v)
{
    size_t low = 0, high = x->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (x->ints[mid] < v)
            low = mid + 1;
        else
            high = mid;
    }
    return low < x->count && x->ints[low] == v;
}

static int has_real(const struct extra *x, double v)
{
    size_t low = 0, high = x->count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (x->reals[mid] < v)
            low = mid + 1;
        else
            high = mid;
    }
    return low < x->count && x->reals[low] == v;
}

static struct vec eval_in(struct expr *e, const struct node *n)
{
    uint8_t *out = rows_alloc(e, 1), in = !n->inverted;
    struct arena mark = e->scratch;
    struct extra *x = n->extra;
    struct vec a = node_eval(e, n->kid);
    if (a.type == COLUMN_STRING) {
        const struct parquet_slice *s = a.v;
        for (size_t i = 0; i < e->n; i++)
            out[i] = (x->count && map_at(&x->strings, s[i].n ? s[i].p : "", s[i].n, 0)) == in;
    } else if (x->ints) {
        const int64_t *v = a.v;
        for (size_t i = 0; i < e->n; i++) out[i] = has_int(x, v[i]) == in;
    } else {
        const double *v = vec_reals(e, a);
        for (size_t i = 0; i < e->n; i++)
            out[i] = isnan(v[i]) ? BIT_UNKNOWN : has_real(x, v[i]) == in;
    }
    mask(out, a.valid, e->n);
    rows_rewind(e, mark);
    return (struct vec){COLUMN_BOOL, out, NULL};
}

static struct vec eval_is_null(struct expr *e, const struct node *n)
{
    uint8_t *out = rows_alloc(e, 1);
    struct arena mark = e->scratch;
    struct vec a = node_eval(e, n->kid);
    const double *reals = a.v;
    const uint8_t *bits = a.v;
    for (size_t i = 0; i < e->n; i++) {
        int null = a.type == COLUMN_REAL   ? isnan(reals[i])
                   : a.type == COLUMN_BOOL ? bits[i] & BIT_NULL
                                           : a.valid && !a.valid[i];
        out[i] = null ? !n->inverted : n->inverted;
    }
    rows_rewind(e, mark);
    return (struct vec){COLUMN_BOOL, out, NULL};
}

/* ---- arithmetic ---- */

/* Python's // and %: the quotient is rounded down, the remainder has the divisor's sign. */
static double floor_divide(double a, double b)
{
    if (b == 0) return a / b;
    double rest = fmod(a, b), whole = (a - rest) / b;
    if (rest != 0 && (b < 0) != (rest < 0)) whole -= 1;
    if (whole == 0) return copysign(0, a / b);
    double down = floor(whole);
    return whole - down > 0.5 ? down + 1 : down;
}

static double modulo(double a, double b)
{
    double rest = fmod(a, b);
    if (b == 0 || isnan(rest)) return NAN;
    if (rest == 0) return copysign(0, b);
    return (b < 0) != (rest < 0) ? rest + b : rest;
}

#define EACH(expression) \
    for (size_t i = 0; i < e->n; i++) out[i] = expression

static struct vec eval_math(struct expr *e, const struct node *n)
{
    double *out = rows_alloc(e, sizeof *out);
    struct arena mark = e->scratch;
    const double *a = vec_reals(e, node_eval(e, n->kid));
    const double *b = n->op == NODE_MATH ? vec_reals(e, node_eval(e, n->kid->next)) : NULL;
    if (n->op == NODE_NEGATE) {
        EACH(n->math == TOKEN_SUB ? -a[i] : a[i]);
        rows_rewind(e, mark);
        return (struct vec){COLUMN_REAL, out, NULL};
    }
    switch (n->math) {
    case TOKEN_ADD: EACH(a[i] + b[i]); break;
    case TOKEN_SUB: EACH(a[i] - b[i]); break;
    case TOKEN_MUL: EACH(a[i] * b[i]); break;
    case TOKEN_DIV: EACH(a[i] / b[i]); break;
    case TOKEN_FLOOR: EACH(floor_divide(a[i], b[i])); break;
    case TOKEN_MOD: EACH(modulo(a[i], b[i])); break;
    default: EACH(pow(a[i], b[i])); break;
    }
    rows_rewind(e, mark);
    return (struct vec){COLUMN_REAL, out, NULL};
}

/* longer side / shorter side; a side that is null or not above 0 gives null. */
static struct vec eval_aspect(struct expr *e, const struct node *n)
{
    double *out = rows_alloc(e, sizeof *out);
    struct arena mark = e->scratch;
    const double *a = vec_reals(e, node_eval(e, n->kid));
    const double *b = vec_reals(e, node_eval(e, n->kid->next));
    EACH(a[i] > 0 && b[i] > 0 ? (a[i] > b[i] ? a[i] / b[i] : b[i] / a[i]) : NAN);
    rows_rewind(e, mark);
    return (struct vec){COLUMN_REAL, out, NULL};
}

/* The shorter side, null as above. */
static struct vec eval_resolution(struct expr *e, const struct node *n)
{
    if (n->type == COLUMN_REAL) {
        double *out = rows_alloc(e, sizeof *out);
        const double *a = vec_reals(e, node_eval(e, n->kid));
        const double *b = vec_reals(e, node_eval(e, n->kid->next));
        EACH(a[i] > 0 && b[i] > 0 ? (a[i] < b[i] ? a[i] : b[i]) : NAN);
        return (struct vec){COLUMN_REAL, out, NULL};
    }
    int64_t *out = rows_alloc(e, sizeof *out);
    uint8_t *valid = rows_alloc(e, 1);
    struct vec x = node_eval(e, n->kid), y = node_eval(e, n->kid->next);
    const int64_t *a = x.v, *b = y.v;
    for (size_t i = 0; i < e->n; i++) {
        out[i] = a[i] < b[i] ? a[i] : b[i];
        valid[i] = out[i] > 0 && (!x.valid || x.valid[i]) && (!y.valid || y.valid[i]);
    }
    return (struct vec){COLUMN_INT, out, valid};
}

struct vec node_eval(struct expr *e, const struct node *n)
{
    switch (n->op) {
    case NODE_COLUMN: return eval_column(e, n);
    case NODE_OR:
    case NODE_AND:
    case NODE_NOT: return eval_logic(e, n);
    case NODE_COMPARE: return eval_compare(e, n);
    case NODE_IN: return eval_in(e, n);
    case NODE_IS_NULL: return eval_is_null(e, n);
    case NODE_NEGATE:
    case NODE_MATH: return eval_math(e, n);
    case NODE_CALL: return node_call(e, n);
    case NODE_ASPECT: return eval_aspect(e, n);
    case NODE_RESOLUTION: return eval_resolution(e, n);
    default: return eval_literal(e, n);
    }
}

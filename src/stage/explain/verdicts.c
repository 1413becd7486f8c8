/* verdicts.c - every rule of the filter against one row, with the values it saw. Each rule is an
 * expression of its own here, so that it is known which columns it reads. */
#include "stage/explain/explain.h"
#include "base/err.h"
#include "base/mem.h"
#include "data/expr/expr.h"
#include "format/json.h"
#include "stage/filter/filter.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct judging {
    struct report *r;
    struct story *s;
    struct columns columns; /* as the filter knew them: without its own */
    struct expr_column *known;
    size_t count; /* of known: the columns, then clip_similarity */
    /* the rule at hand */
    const char *rule;
    struct expr *expr;
    size_t at[WALK_COLUMNS], wanted;
};

static void list_columns(struct judging *j)
{
    j->known = mem_alloc((j->columns.count + 1) * sizeof *j->known);
    for (size_t i = 0; i < j->columns.count; i++) {
        const struct column_info *c = &j->columns.list[i];
        j->known[j->count++] = (struct expr_column){c->name, c->type, c->single, "", NULL, 0};
    }
    j->known[j->count++] = (struct expr_column){
        .name = "clip_similarity", .type = COLUMN_REAL, .single = 1, .from = "", .derived = 1};
}

/* The column as if it began at row i. */
static struct column from_row(const struct column *c, size_t i)
{
    struct column one = *c;
    if (c->valid) one.valid += i;
    if (c->type == COLUMN_BOOL) one.bools += i;
    if (c->type == COLUMN_INT) one.ints += i;
    if (c->type == COLUMN_REAL) one.reals += i;
    if (c->type == COLUMN_STRING) one.strings += i;
    return one;
}

/* "a_score = 1.5, width = 300" and the same as JSON. */
static void put_value(struct str *words, struct str *json, const char *name, const struct column *c)
{
    struct str room = {0};
    int null = (c->valid && !c->valid[0]) || (c->type == COLUMN_REAL && isnan(c->reals[0]));
    struct parquet_slice text = null ? (struct parquet_slice){"null", 4} : value_text(&room, c, 0);
    str_printf(words, "%s%s = ", words->len ? ", " : "", name);
    str_add(words, text.p, text.n < 200 ? text.n : 200);
    str_puts(json, json->len ? ", " : "");
    json_quote(json, name, strlen(name));
    str_puts(json, ": ");
    if (!null && (c->type == COLUMN_STRING || (c->type == COLUMN_REAL && isinf(c->reals[0]))))
        json_quote(json, text.p, text.n);
    else
        str_add(json, text.p, text.n);
    str_release(&room);
}

/* Does the rule speak of this name, and no column is called so? */
static int speaks_of(const struct judging *j, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = j->rule; (p = strstr(p, name)); p += n) {
        int before = p > j->rule && (isalnum((unsigned char)p[-1]) || strchr("_`\"'", p[-1]));
        if (!before && !isalnum((unsigned char)p[n]) && p[n] != '_')
            return !columns_find(&j->columns, name);
    }
    return 0;
}

/* aspect and resolution, which the rule made from the sides it read. */
static void put_derived(struct str *words, struct str *json, const struct judging *j,
                        const struct column *values)
{
    double side[2] = {NAN, NAN}, v;
    struct column derived = {.type = COLUMN_REAL, .reals = &v};
    for (size_t k = 0; k < j->wanted; k++) {
        const char *name = j->columns.list[j->at[k]].name;
        int wide = str_ends(name, "width") || str_ends(name, "WIDTH");
        if (wide || str_ends(name, "height") || str_ends(name, "HEIGHT"))
            column_number(&side[!wide], &values[k], 0);
    }
    double longer = fmax(side[0], side[1]), shorter = fmin(side[0], side[1]);
    if (isnan(side[0]) || isnan(side[1]) || !(shorter > 0)) return;
    v = longer / shorter;
    if (speaks_of(j, "aspect")) put_value(words, json, "aspect", &derived);
    v = shorter;
    if (speaks_of(j, "resolution")) put_value(words, json, "resolution", &derived);
}

static double similarity_of(struct judging *j)
{
    struct similarity s;
    double v = NAN;
    if (similarity_open(&s, j->r->sidecars, j->s->part)) return NAN;
    similarity_get(&v, &s, j->s->row, 1);
    similarity_close(&s);
    return v;
}

/* The walk has come to the row: judge it, the columns are only here now. */
static void judge_row(void *arg, const struct rows *rows)
{
    static const char *const verdicts[] = {"fail", "pass", "null"};
    struct judging *j = arg;
    int64_t i = j->s->row - rows->row;
    if (i < 0 || i >= (int64_t)rows->count) return;
    const struct column **values = mem_alloc((j->count + 1) * sizeof *values);
    struct column shifted[WALK_COLUMNS], similar = {.type = COLUMN_REAL};
    struct str words = {0}, json = {0};
    double cosine;
    uint8_t verdict = EXPR_NULL;
    int lacking = 0;
    for (size_t k = 0; k < j->wanted; k++) {
        if (!rows->col[k]) {
            lacking = 1;
            continue;
        }
        shifted[k] = from_row(rows->col[k], (size_t)i);
        values[j->at[k]] = &shifted[k];
        put_value(&words, &json, j->columns.list[j->at[k]].name, &shifted[k]);
    }
    if (!lacking) put_derived(&words, &json, j, shifted);
    if (expr_reads(j->expr, j->count - 1)) {
        cosine = similarity_of(j);
        similar.reals = &cosine;
        values[j->count - 1] = &similar;
        put_value(&words, &json, "clip_similarity", &similar);
    }
    if (!lacking) expr_eval(j->expr, 0, &verdict, values, 1);
    story_rule(j->s, j->rule, verdicts[verdict], words.p ? words.p : "", json.p ? json.p : "");
    free(values);
    str_release(&words);
    str_release(&json);
}

/* Rules that no longer fit the place's columns are told as such. */
static int judge_rule(struct judging *j, const char *rule)
{
    const struct column_info *want[WALK_COLUMNS];
    int rc = expr_add(j->expr = expr_new(), rule);
    if (!rc) rc = expr_bind(j->expr, j->known, j->count);
    j->rule = rule;
    j->wanted = 0;
    for (size_t i = 0; i < j->columns.count && !rc; i++) {
        if (!expr_reads(j->expr, i)) continue;
        if (j->wanted == WALK_COLUMNS) rc = ERR_USAGE;
        if (rc) break;
        want[j->wanted] = &j->columns.list[i];
        j->at[j->wanted++] = i;
    }
    if (rc) {
        story_rule(j->s, rule, "unknown", "", "");
        rc = 0;
    } else {
        rc = report_walk(j->r, want, j->wanted, judge_row, j);
    }
    expr_free(j->expr);
    return rc;
}

int story_rules(struct story *s, struct report *r)
{
    struct rules rules = {0};
    struct judging j = {.r = r, .s = s};
    if (!story_get(s, "filter", "keep")) return 0;
    rules_load(&rules, sidecars_run(r->sidecars, SIDE_KEEP));
    int rc = columns_load_without(&j.columns, r->sidecars, SIDE_KEEP);
    if (!rc) list_columns(&j);
    r->only = mem_alloc((size_t)sidecars_count(r->sidecars) + 1);
    r->only[s->part] = 1;
    for (size_t i = 0; i < rules.count && !rc; i++) rc = judge_rule(&j, rules.list[i].text);
    free(r->only);
    r->only = NULL;
    free(j.known);
    columns_release(&j.columns);
    rules_release(&rules);
    return rc;
}

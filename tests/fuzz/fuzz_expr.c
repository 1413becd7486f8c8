/* fuzz_expr.c - any text as a condition: it is refused with a place inside it, or it judges rows,
 * the same alone as among others. */
#include "base/err.h"
#include "data/expr/expr.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1030, COLUMNS = 7 };

static int64_t ints[ROWS], wide[ROWS];
static double reals[ROWS];
static uint8_t valid[ROWS], bools[ROWS];
static struct parquet_slice strings[ROWS];

static void fill(void)
{
    static const char *const words[] = {"", "a", "dog", "h\303\251llo", "A B c", "\377bad"};
    static const double some[] = {0, -0.0, 0.5, 3, 1e300, -7};
    for (int i = 0; i < ROWS; i++) {
        const char *w = words[i % 6];
        ints[i] = i % 7 - 3;
        wide[i] = i % 5 ? (int64_t)1 << 53 : INT64_MIN;
        reals[i] = i % 11 ? some[i % 6] : i % 2 ? NAN : INFINITY;
        valid[i] = i % 3 != 0;
        bools[i] = i % 2;
        strings[i] = (struct parquet_slice){w, strlen(w)};
    }
}

static const struct expr_column known[COLUMNS] = {
    {"a", COLUMN_INT, 0, "x", NULL, 0},      {"width", COLUMN_INT, 0, "x", NULL, 0},
    {"height", COLUMN_INT, 0, "x", NULL, 0}, {"x", COLUMN_REAL, 0, "x", NULL, 0},
    {"f", COLUMN_REAL, 1, "y", NULL, 0},     {"s", COLUMN_STRING, 0, "x", NULL, 0},
    {"k", COLUMN_BOOL, 0, "y", NULL, 0}};
static const struct column columns[COLUMNS] = {{COLUMN_INT, valid, NULL, ints, NULL, NULL},
                                               {COLUMN_INT, NULL, NULL, ints, NULL, NULL},
                                               {COLUMN_INT, NULL, NULL, wide, NULL, NULL},
                                               {COLUMN_REAL, NULL, NULL, NULL, reals, NULL},
                                               {COLUMN_REAL, valid, NULL, NULL, reals, NULL},
                                               {COLUMN_STRING, valid, NULL, NULL, NULL, strings},
                                               {COLUMN_BOOL, valid, bools, NULL, NULL, NULL}};

static void judge(struct expr *e)
{
    const struct column *values[COLUMNS];
    static int32_t verdict[ROWS];
    static uint8_t one[ROWS];
    size_t rules = expr_rules(e), kept = 0, dropped = 0;
    struct expr_tally *tally = calloc(rules, sizeof *tally);
    for (int i = 0; i < COLUMNS; i++) values[i] = &columns[i];
    expr_judge(e, verdict, tally, values, ROWS);
    for (int i = 0; i < ROWS; i++) kept += !verdict[i];
    for (size_t r = 0; r < rules; r++) {
        assert(tally[r].fails >= tally[r].dropped && tally[r].dropped >= tally[r].null);
        dropped += tally[r].dropped;
    }
    assert(kept + dropped == ROWS);
    expr_eval(e, 0, one, values, ROWS);
    for (int i = 0; i < ROWS; i++)
        assert(one[i] == EXPR_TRUE ? verdict[i] != 1 && verdict[i] != -1
                                   : verdict[i] == (one[i] == EXPR_NULL ? -1 : 1));
    free(tally);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n > 4096) return 0;
    char *text = malloc(n + 1);
    if (n) memcpy(text, data, n);
    text[n] = 0;
    fill();
    struct expr *e = expr_new();
    int rc = expr_add(e, text);
    if (!rc) rc = expr_bind(e, known, COLUMNS);
    assert(rc == 0 || rc == ERR_USAGE);
    if (!rc) judge(e);
    expr_free(e);
    free(text);
    return 0;
}

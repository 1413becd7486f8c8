/* expr_tool.c - judges the rows of a Parquet file by conditions from stdin, for tests that compare
 * with other judges. usage: expr_tool FILE < conditions, each ended by NUL. Output per condition: a
 * line with a letter per row (T true, f false, n false for want of a value), or "E why". */
#include "base/err.h"
#include "base/mem.h"
#include "data/expr/expr.h"
#include "io/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64 };

static struct expr_column known[COLUMNS];
static struct column column[COLUMNS];
static const struct column *values[COLUMNS];

static void take(const struct parquet_reader *r, size_t i)
{
    const struct parquet_field *f = parquet_field(r, i);
    const struct parquet_values *v = parquet_values(r, i);
    enum column_type type = f->type == PARQUET_BOOL                                 ? COLUMN_BOOL
                            : f->type == PARQUET_STRING                             ? COLUMN_STRING
                            : f->type == PARQUET_FLOAT || f->type == PARQUET_DOUBLE ? COLUMN_REAL
                                                                                    : COLUMN_INT;
    known[i] = (struct expr_column){f->name, type, f->type == PARQUET_FLOAT, "file", NULL, 0};
    column[i] = (struct column){type, v->valid, v->bools, v->ints, v->reals, v->slices};
    values[i] = &column[i];
}

static void judge(const char *text, size_t columns, size_t rows)
{
    struct expr *e = expr_new();
    int rc = expr_add(e, text);
    if (!rc) rc = expr_bind(e, known, columns);
    if (rc) {
        printf("E %.*s", (int)strcspn(err_text(), "\n"), err_text());
    } else {
        int32_t *verdict = mem_alloc(rows * sizeof *verdict);
        struct expr_tally *tally = mem_alloc(expr_rules(e) * sizeof *tally);
        expr_judge(e, verdict, tally, values, rows);
        for (size_t i = 0; i < rows; i++) putchar(verdict[i] > 0 ? 'f' : verdict[i] ? 'n' : 'T');
        free(verdict);
        free(tally);
    }
    putchar('\n');
    expr_free(e);
}

int main(int argc, char **argv)
{
    struct file_map m = {0};
    struct parquet_reader *r;
    size_t rows, cap = 0;
    char *text = NULL;
    if (argc != 2 || file_map(&m, argv[1]) || parquet_open(&r, m.p, m.n)) return 1;
    size_t columns = parquet_fields(r);
    if (columns > COLUMNS) return 1;
    for (size_t i = 0; i < columns; i++) parquet_select(r, i);
    if (parquet_next(r, 0, &rows) || rows != parquet_rows(r)) return 1;
    for (size_t i = 0; i < columns; i++) take(r, i);
    while (getdelim(&text, &cap, 0, stdin) > 0) judge(text, columns, rows);
    free(text);
    parquet_close(r);
    file_unmap(&m);
    return 0;
}

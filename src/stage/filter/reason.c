/* reason.c - keep_N.parquet: for every row whether it stays, and if not, the text of the first rule
 * that failed, with ": null" behind it when that was for want of a value. */
#include "stage/filter/filter.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char without_value[] = ": null";

struct keep {
    struct sweep_part *part;
    struct sink *sink;
    struct parquet_writer *writer;
    struct str *reason; /* [2 * rules]: failed, failed for want of a value */
    size_t reasons;
};

int keep_open(struct keep **out, struct filter *f, struct sweep_part *part)
{
    static const struct parquet_column columns[] = {{"keep", PARQUET_BOOL, 0},
                                                    {"reason", PARQUET_STRING, 0}};
    struct keep *k = *out = mem_alloc(sizeof *k);
    k->part = part;
    k->reasons = 2 * expr_rules(f->expr);
    k->reason = mem_alloc((k->reasons + 1) * sizeof *k->reason);
    for (size_t i = 0; i < k->reasons; i++) {
        str_puts(&k->reason[i], expr_rule(f->expr, i / 2));
        if (i % 2) str_puts(&k->reason[i], without_value);
    }
    int rc = sweep_create(&k->sink, part, SIDE_KEEP);
    return rc ? rc : parquet_writer_new(&k->writer, k->sink, columns, 2, NULL);
}

int keep_put(struct keep *k, const int32_t *verdict, size_t rows)
{
    int rc = 0;
    for (size_t i = 0; i < rows && !rc; i++) {
        int32_t v = verdict[i];
        const struct str *why = v ? &k->reason[2 * (abs(v) - 1) + (v < 0)] : NULL;
        parquet_put_bool(k->writer, 0, !v);
        parquet_put_string(k->writer, 1, why ? why->p : "", why ? why->len : 0);
        rc = parquet_end_row(k->writer);
    }
    return rc;
}

int keep_commit(struct keep *k)
{
    int rc = parquet_finish(k->writer);
    if (rc) return rc;
    struct sink *sink = k->sink;
    k->sink = NULL;
    return sweep_commit(k->part, sink, SIDE_KEEP);
}

void keep_close(struct keep *k)
{
    if (!k) return;
    parquet_writer_free(k->writer);
    sink_abort(k->sink);
    for (size_t i = 0; i < k->reasons; i++) str_release(&k->reason[i]);
    free(k->reason);
    free(k);
}

/* ---- what an earlier run wrote ---- */

/* Reasons to 1 + rule, in the low bit whether a value was wanting. */
static void map_reasons(struct map *m, const struct filter *f)
{
    struct str text = {0};
    for (size_t i = 0; i < expr_rules(f->expr); i++) {
        for (int null = 0; null < 2; null++) {
            str_clear(&text);
            str_puts(&text, expr_rule(f->expr, i));
            if (null) str_puts(&text, without_value);
            uint64_t *at = map_at(m, text.p, text.len, 1);
            if (!*at) *at = 2 * (i + 1) + (uint64_t)null; /* of two like rules the first drops */
        }
    }
    str_release(&text);
}

/* tally[rules] and one more, whose dropped counts the rows that were kept. */
static int count_rows(struct expr_tally *tally, size_t rules, struct parquet_reader *r,
                      struct map *reasons)
{
    int keep = parquet_find(r, "keep"), reason = parquet_find(r, "reason"), rc;
    size_t rows;
    if (keep < 0 || reason < 0 || parquet_field(r, (size_t)keep)->type != PARQUET_BOOL ||
        parquet_field(r, (size_t)reason)->type != PARQUET_STRING)
        return err_set(ERR_INPUT, "has no columns keep and reason");
    parquet_select(r, (size_t)keep);
    parquet_select(r, (size_t)reason);
    while (!(rc = parquet_next(r, 0, &rows))) {
        const uint8_t *kept = parquet_values(r, (size_t)keep)->bools;
        const struct parquet_slice *why = parquet_values(r, (size_t)reason)->slices;
        for (size_t i = 0; i < rows; i++) {
            const uint64_t *at = kept[i] ? NULL : map_at(reasons, why[i].p, why[i].n, 0);
            if (!kept[i] && !at) return err_set(ERR_INPUT, "row %zu has a strange reason", i);
            struct expr_tally *t = &tally[at ? *at / 2 - 1 : rules];
            t->dropped++;
            t->null += at ? *at % 2 : 0;
        }
    }
    return rc < 0 ? rc : 0;
}

int keep_count(struct filter *f, int64_t partition)
{
    struct place *p = sidecars_place(f->sidecars);
    size_t rules = expr_rules(f->expr);
    struct expr_tally *tally = mem_alloc((rules + 1) * sizeof *tally);
    struct str name = {0};
    struct file_map m = {0};
    struct parquet_reader *r = NULL;
    struct map reasons = {0};
    map_reasons(&reasons, f);
    sidecars_name(&name, f->sidecars, SIDE_KEEP, partition);
    int rc = place_map(p, name.p, &m);
    if (!rc) rc = parquet_open(&r, m.p, m.n);
    if (!rc) rc = count_rows(tally, rules, r, &reasons);
    if (rc) rc = err_wrap(rc, "%s/%s", place_url(p), name.p);
    if (!rc) filter_count(f, tally, (int64_t)parquet_rows(r));
    parquet_close(r);
    file_unmap(&m);
    map_release(&reasons);
    str_release(&name);
    free(tally);
    return rc;
}

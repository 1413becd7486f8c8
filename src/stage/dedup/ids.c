/* ids.c - see ids.h. Numbers become unsigned ones of the same order, so that int64 and double
 * are compared alike and without loss. */
#include "stage/dedup/ids.h"
#include "base/err.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* ---- texts ---- */

int texts_open(struct texts *t, struct place *p, int64_t rows)
{
    memset(t, 0, sizeof *t);
    int rc = scratch_open(&t->at, p, mem_mul((size_t)rows + 1, sizeof(int64_t)));
    return rc ? rc : scratch_open(&t->bytes, p, 16 * (size_t)rows);
}

void texts_close(struct texts *t)
{
    scratch_close(&t->at);
    scratch_close(&t->bytes);
    memset(t, 0, sizeof *t);
}

int texts_add(struct texts *t, const void *p, size_t n)
{
    int64_t *at = t->at.p;
    size_t used = (size_t)at[t->count];
    int rc = scratch_grow(&t->bytes, used + n);
    if (rc) return rc;
    if (n) memcpy((char *)t->bytes.p + used, p, n);
    at[++t->count] = (int64_t)(used + n);
    return 0;
}

struct parquet_slice texts_get(const struct texts *t, int64_t row)
{
    const int64_t *at = t->at.p;
    return (struct parquet_slice){(const char *)t->bytes.p + at[row],
                                  (size_t)(at[row + 1] - at[row])};
}

/* ---- ids ---- */

struct parquet_slice name_of(struct str *room, const struct column *c, size_t i, int64_t part,
                             int64_t row)
{
    int null = !c || (c->valid && !c->valid[i]);
    if (!null && c->type == COLUMN_STRING) return c->strings[i];
    str_clear(room);
    if (null)
        str_printf(room, "%lld:%lld", (long long)part, (long long)row);
    else if (c->type == COLUMN_INT)
        str_printf(room, "%lld", (long long)c->ints[i]);
    else if (c->type == COLUMN_REAL)
        str_printf(room, "%.17g", c->reals[i]);
    else
        str_puts(room, c->bools[i] ? "true" : "false");
    return (struct parquet_slice){room->p, room->len};
}

/* ---- keys ---- */

#define SIGN ((uint64_t)1 << 63)

static uint64_t key_of(const struct column *c, size_t i)
{
    uint64_t bits;
    if (c->valid && !c->valid[i]) return VALUE_NULL;
    if (c->type == COLUMN_BOOL) return c->bools[i];
    if (c->type == COLUMN_INT) {
        bits = (uint64_t)c->ints[i] ^ SIGN;
        return bits < VALUE_NULL ? bits : VALUE_NULL - 1;
    }
    if (isnan(c->reals[i])) return VALUE_NULL;
    double v = c->reals[i] == 0 ? 0 : c->reals[i]; /* -0 is 0 */
    memcpy(&bits, &v, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

static int take_by(struct ids *n, const struct column *c, size_t i, int64_t row)
{
    if (!n->by_words) {
        ((uint64_t *)n->keys.p)[row] = key_of(c, i);
        return 0;
    }
    ((uint8_t *)n->nulls.p)[row] = c->valid && !c->valid[i];
    return texts_add(&n->words, c->strings[i].p, c->strings[i].n);
}

static int take_batch(struct ids *n, const struct dedup *d, struct batch *b, int64_t part,
                      int64_t row, size_t rows, struct str *room)
{
    int64_t first = d->rows.first[part], number = sidecars_number(d->sidecars, part);
    const struct column *id = d->id ? batch_column(b, 0) : NULL;
    const struct column *by = d->by ? batch_column(b, d->id ? 1 : 0) : NULL;
    int rc = 0;
    for (size_t i = 0; i < rows && !rc; i++) {
        struct parquet_slice s = name_of(room, id, i, number, row + (int64_t)i);
        rc = texts_add(&n->name, s.p, s.n);
        if (!rc && by) rc = take_by(n, by, i, first + row + (int64_t)i);
    }
    return rc;
}

static int take_part(struct ids *n, const struct dedup *d, int64_t part, struct str *room)
{
    const struct column_info *want[2];
    size_t count = 0, rows;
    struct batch *b;
    int64_t row = 0;
    if (d->id) want[count++] = d->id;
    if (d->by) want[count++] = d->by;
    int rc = batch_open(&b, d->sidecars, part, want, count);
    while (!rc && !(rc = batch_next(b, 0, &rows))) {
        rc = take_batch(n, d, b, part, row, rows, room);
        row += (int64_t)rows;
    }
    batch_close(b);
    return rc < 0 ? rc : 0;
}

int ids_open(struct ids *n, const struct dedup *d)
{
    struct str room = {0};
    int64_t rows = d->rows.total;
    memset(n, 0, sizeof *n);
    n->by_words = d->by && d->by->type == COLUMN_STRING;
    int rc = texts_open(&n->name, d->place, rows);
    if (!rc && n->by_words) rc = texts_open(&n->words, d->place, rows);
    if (!rc && n->by_words) rc = scratch_open(&n->nulls, d->place, (size_t)rows);
    if (!rc && d->by && !n->by_words)
        rc = scratch_open(&n->keys, d->place, mem_mul((size_t)rows, sizeof(uint64_t)));
    for (int64_t i = 0; i < d->rows.parts && !rc; i++)
        if (d->rows.part[i].rows) rc = take_part(n, d, i, &room);
    str_release(&room);
    if (rc) ids_close(n);
    return rc;
}

void ids_close(struct ids *n)
{
    texts_close(&n->name);
    texts_close(&n->words);
    scratch_close(&n->keys);
    scratch_close(&n->nulls);
    memset(n, 0, sizeof *n);
}

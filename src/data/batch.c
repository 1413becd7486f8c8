/* batch.c - columns from several Parquet files of one partition, side by side.
 * Each file gives batches of its own size; the next rows are as many as every file still has of
 * its current batch, so values are used where the reader put them. Only a column whose type is
 * wider in the whole place than in this file is converted, into buffers of the batch. */
#include "data/batch.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_ROWS = 8192 };

const char *column_type_name(enum column_type type)
{
    static const char *const names[] = {"bool", "int", "real", "string"};
    return names[type];
}

/* ---- what there is ---- */

/* Which of our types a Parquet column has; -1 for lists and bytes. */
static int type_of(enum parquet_type type)
{
    switch (type) {
    case PARQUET_BOOL: return COLUMN_BOOL;
    case PARQUET_INT32:
    case PARQUET_INT64: return COLUMN_INT;
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE: return COLUMN_REAL;
    case PARQUET_STRING: return COLUMN_STRING;
    default: return -1;
    }
}

static enum column_type widest(enum column_type a, enum column_type b)
{
    if (a == b) return a;
    return a != COLUMN_BOOL && b != COLUMN_BOOL && a != COLUMN_STRING && b != COLUMN_STRING
               ? COLUMN_REAL
               : COLUMN_STRING;
}

/* Where files store a column differently: the type that holds what all of them say. */
static enum parquet_type common_type(enum parquet_type a, enum parquet_type b,
                                     enum column_type type)
{
    static const enum parquet_type widest_of[] = {[COLUMN_BOOL] = PARQUET_BOOL,
                                                  [COLUMN_INT] = PARQUET_INT64,
                                                  [COLUMN_REAL] = PARQUET_DOUBLE,
                                                  [COLUMN_STRING] = PARQUET_STRING};
    return a == b ? a : widest_of[type];
}

static void add_column(struct columns *c, struct map *known, const struct parquet_field *f,
                       enum sidecar from)
{
    int type = type_of(f->type), single = f->type == PARQUET_FLOAT;
    if (type < 0) return;
    uint64_t *at = map_at(known, f->name, strlen(f->name), 1);
    if (!*at) {
        vec_push(c->list, c->count, c->cap);
        c->list[c->count++] = (struct column_info){mem_strdup(f->name), (enum column_type)type,
                                                   from, single, f->type};
        *at = c->count;
    } else if (c->list[*at - 1].from == from) {
        struct column_info *one = &c->list[*at - 1];
        one->type = widest(one->type, (enum column_type)type);
        one->single &= single;
        one->stored = common_type(one->stored, f->type, one->type);
    }
}

/* The files whose columns rows have, the first to know a name wins. */
static const enum sidecar sources[] = {SIDE_SCORES, SIDE_KEEP, SIDE_ASSIGN, SIDE_METADATA};
enum { SOURCES = sizeof sources / sizeof *sources };

static int load_file(struct columns *c, struct map *known, const struct sidecars *s,
                     enum sidecar kind, int64_t i)
{
    struct file_map m = {0};
    struct parquet_reader *r = NULL;
    struct str name = {0};
    if (!sidecars_has(s, kind, i)) return 0;
    sidecars_name(&name, s, kind, i);
    int rc = place_map(sidecars_place(s), name.p, &m);
    if (!rc) rc = parquet_open(&r, m.p, m.n);
    if (rc) rc = err_wrap(rc, "%s/%s", place_url(sidecars_place(s)), name.p);
    for (size_t k = 0; !rc && k < parquet_fields(r); k++)
        add_column(c, known, parquet_field(r, k), kind);
    parquet_close(r);
    file_unmap(&m);
    str_release(&name);
    return rc;
}

int columns_load_without(struct columns *c, const struct sidecars *s, enum sidecar kind)
{
    return columns_load_from(c, s, ~(1u << kind));
}

int columns_load_from(struct columns *c, const struct sidecars *s, unsigned kinds)
{
    struct map known = {0};
    int rc = 0;
    memset(c, 0, sizeof *c);
    for (int k = 0; k < SOURCES; k++)
        for (int64_t i = 0; i < sidecars_count(s) && !rc && kinds & 1u << sources[k]; i++)
            rc = load_file(c, &known, s, sources[k], i);
    map_release(&known);
    if (rc) columns_release(c);
    return rc;
}

int columns_load(struct columns *c, const struct sidecars *s)
{
    return columns_load_from(c, s, ~0u);
}

void columns_release(struct columns *c)
{
    for (size_t i = 0; i < c->count; i++) free(c->list[i].name);
    free(c->list);
    memset(c, 0, sizeof *c);
}

const struct column_info *columns_find(const struct columns *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->list[i].name, name)) return &c->list[i];
    return NULL;
}

const char *columns_id(const struct columns *c)
{
    static const char *const known[] = {"key", "id", "image_id", "image_path", "url"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (columns_find(c, known[i])) return known[i];
    return NULL;
}

/* ---- the rows ---- */

struct table {
    struct file_map map;
    struct parquet_reader *reader; /* NULL: no column of it is wanted */
    int selected;                  /* columns that are read */
    size_t have, used;             /* rows of its current batch, and those given already */
};

struct wanted {
    int table, col; /* col < 0: this partition lacks it */
    enum column_type stored;
    struct column column;
    void *wide; /* [BATCH_ROWS] converted values */
};

struct batch {
    struct table table[SOURCES];
    struct wanted *want;
    size_t count;
    int64_t left;
    uint8_t *none; /* [BATCH_ROWS] zeros: valid of an absent column, and its values */
    struct arena text;
};

/* The file that says how many rows the partition has. */
static void name_of_rows(struct str *out, const struct sidecars *s, enum sidecar not, int64_t i)
{
    for (int k = SIDE_IMAGE; k <= SIDE_METADATA; k++) {
        sidecars_name(out, s, (enum sidecar)k, i);
        if (k != (int)not &&sidecars_has(s, (enum sidecar)k, i)) return;
    }
    str_clear(out);
    str_puts(out, "its receipt");
}

static int open_table(struct table *t, const struct sidecars *s, enum sidecar kind, int64_t i)
{
    struct place *p = sidecars_place(s);
    struct str name = {0}, other = {0};
    int64_t rows = sidecars_rows(s, i);
    sidecars_name(&name, s, kind, i);
    int rc = sidecars_need(s, kind, i);
    if (!rc) rc = place_map(p, name.p, &t->map);
    if (!rc && (rc = parquet_open(&t->reader, t->map.p, t->map.n)))
        rc = err_wrap(rc, "%s/%s", place_url(p), name.p);
    if (!rc && (int64_t)parquet_rows(t->reader) != rows) {
        name_of_rows(&other, s, kind, i);
        rc = err_set(ERR_INPUT, "%s/%s has %llu rows, but %s %lld: they are of different runs",
                     place_url(p), name.p, (unsigned long long)parquet_rows(t->reader), other.p,
                     (long long)rows);
    }
    str_release(&name);
    str_release(&other);
    return rc;
}

static int bind(struct batch *b, struct wanted *w, const struct column_info *info,
                const struct sidecars *s, int64_t i)
{
    int k = 0, rc = 0;
    while (sources[k] != info->from) k++;
    struct table *t = &b->table[k];
    if (!t->reader) rc = open_table(t, s, info->from, i);
    if (rc) return rc;
    w->table = k;
    w->col = parquet_find(t->reader, info->name);
    w->column.type = info->type;
    int type = w->col < 0 ? -1 : type_of(parquet_field(t->reader, (size_t)w->col)->type);
    if (type < 0) {
        w->col = -1;
        return 0;
    }
    w->stored = (enum column_type)type;
    if (w->stored != info->type && info->type != COLUMN_STRING &&
        !(w->stored == COLUMN_INT && info->type == COLUMN_REAL))
        return err_set(ERR_INPUT, "partition %lld: column %s holds %s, not %s",
                       (long long)sidecars_number(s, i), info->name, column_type_name(w->stored),
                       column_type_name(info->type));
    parquet_select(t->reader, (size_t)w->col);
    t->selected++;
    if (w->stored != info->type) w->wide = mem_alloc(BATCH_ROWS * sizeof(struct parquet_slice));
    return 0;
}

int batch_open(struct batch **out, const struct sidecars *s, int64_t i,
               const struct column_info *const *want, size_t n)
{
    struct batch *b = mem_alloc(sizeof *b);
    int rc = 0;
    b->want = mem_alloc((n + 1) * sizeof *b->want);
    b->none = mem_alloc(BATCH_ROWS * sizeof(struct parquet_slice));
    b->count = n;
    b->left = sidecars_rows(s, i);
    for (size_t k = 0; k < n && !rc && b->left > 0; k++) rc = bind(b, &b->want[k], want[k], s, i);
    *out = rc ? NULL : b;
    if (rc) batch_close(b);
    return rc;
}

void batch_close(struct batch *b)
{
    if (!b) return;
    for (int k = 0; k < SOURCES; k++) {
        parquet_close(b->table[k].reader);
        file_unmap(&b->table[k].map);
    }
    for (size_t k = 0; k < b->count; k++) free(b->want[k].wide);
    free(b->want);
    free(b->none);
    arena_release(&b->text);
    free(b);
}

static void widen_reals(struct wanted *w, const int64_t *ints, size_t n)
{
    double *out = w->wide;
    for (size_t i = 0; i < n; i++) out[i] = (double)ints[i];
    w->column.reals = out;
}

static struct parquet_slice print_value(struct arena *a, const struct parquet_values *v,
                                        enum column_type type, size_t i)
{
    char *text;
    if (v->valid && !v->valid[i]) return (struct parquet_slice){"", 0};
    if (type == COLUMN_STRING) return v->slices[i];
    if (type == COLUMN_BOOL)
        text = arena_printf(a, "%s", v->bools[i] ? "true" : "false");
    else if (type == COLUMN_INT)
        text = arena_printf(a, "%lld", (long long)v->ints[i]);
    else
        text = arena_printf(a, "%.17g", v->reals[i]);
    return (struct parquet_slice){text, strlen(text)};
}

static void widen_strings(struct batch *b, struct wanted *w, const struct parquet_values *v,
                          size_t from, size_t n)
{
    struct parquet_slice *out = w->wide;
    for (size_t i = 0; i < n; i++) out[i] = print_value(&b->text, v, w->stored, from + i);
    w->column.strings = out;
}

/* The n rows from `from` of a file's current batch as one of the wanted columns. */
static void point(struct batch *b, struct wanted *w, size_t n)
{
    struct column *c = &w->column;
    if (w->col < 0) {
        c->valid = c->bools = b->none;
        c->ints = (const int64_t *)(const void *)b->none;
        c->reals = (const double *)(const void *)b->none;
        c->strings = (const struct parquet_slice *)(const void *)b->none;
        return;
    }
    const struct table *t = &b->table[w->table];
    const struct parquet_values *v = parquet_values(t->reader, (size_t)w->col);
    size_t from = t->used;
    c->valid = v->valid ? v->valid + from : NULL;
    if (w->stored != c->type && c->type == COLUMN_REAL)
        widen_reals(w, v->ints + from, n);
    else if (w->stored != c->type)
        widen_strings(b, w, v, from, n);
    else if (c->type == COLUMN_BOOL)
        c->bools = v->bools + from;
    else if (c->type == COLUMN_INT)
        c->ints = v->ints + from;
    else if (c->type == COLUMN_REAL)
        c->reals = v->reals + from;
    else
        c->strings = v->slices + from;
}

int batch_next(struct batch *b, size_t max, size_t *rows)
{
    size_t n = max && max < BATCH_ROWS ? max : BATCH_ROWS;
    if (b->left <= 0) return 1;
    if ((int64_t)n > b->left) n = (size_t)b->left;
    for (int k = 0; k < SOURCES; k++) {
        struct table *t = &b->table[k];
        if (!t->selected) continue;
        if (t->used == t->have) {
            int rc = parquet_next(t->reader, BATCH_ROWS, &t->have);
            if (rc) return rc < 0 ? rc : err_set(ERR_INPUT, "a sidecar ends too early");
            t->used = 0;
        }
        if (n > t->have - t->used) n = t->have - t->used;
    }
    arena_reset(&b->text);
    for (size_t k = 0; k < b->count; k++) point(b, &b->want[k], n);
    for (int k = 0; k < SOURCES; k++)
        if (b->table[k].selected) b->table[k].used += n;
    b->left -= (int64_t)n;
    *rows = n;
    return 0;
}

int batch_skip(struct batch *b, int64_t rows)
{
    if (rows > b->left) rows = b->left;
    for (int k = 0; k < SOURCES; k++) {
        struct table *t = &b->table[k];
        size_t ready = t->have - t->used;
        if (!t->selected) continue;
        if ((uint64_t)rows <= ready) {
            t->used += (size_t)rows;
            continue;
        }
        t->used = t->have;
        int rc = parquet_skip(t->reader, (uint64_t)rows - ready);
        if (rc) return rc < 0 ? rc : err_set(ERR_INPUT, "a sidecar ends too early");
    }
    b->left -= rows;
    return 0;
}

const struct column *batch_column(const struct batch *b, size_t i)
{
    return &b->want[i].column;
}

int batch_lacks(const struct batch *b, size_t i)
{
    return b->want[i].col < 0;
}

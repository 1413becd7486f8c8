/* origin.c - which inputs the rows of a partition come from, by layout:
 *   darkroom: embed's receipt lists the inputs in order, the column `shard` tells them apart, and
 *     errors/ names the samples that have no row, so that every sample is known before it is read;
 *   clip-retrieval: partition p of C has shards p, p + C, ...; the keys must tell the rest;
 *   NeMo Curator: NNNNN.tar has the stem of NNNNN.parquet. */
#include "stage/export/feed.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static struct origin *add_origin(struct origins *o, int64_t first, int64_t rows)
{
    vec_push(o->list, o->count, o->cap);
    o->list[o->count] = (struct origin){.first = first, .rows = rows, .from = o->ninputs};
    return &o->list[o->count++];
}

static void add_input(struct origins *o, int64_t input, const struct receipt_file *promise)
{
    vec_push(o->inputs, o->ninputs, o->inputs_cap);
    o->inputs[o->ninputs++] = (struct origin_input){input, promise};
    o->list[o->count - 1].count++;
}

static int64_t input_called(const struct exporter *x, const char *label)
{
    uint64_t found;
    if (!map_get(&x->by_label, label, &found)) return INPUT_NONE;
    return found == LABEL_TWICE ? INPUT_TWICE : (int64_t)found - 1;
}

/* ---- our own places ---- */

/* Where embed found it, when the same inputs are given; else by its name. */
int64_t origin_find(const struct exporter *x, int64_t part, size_t k, const char *label)
{
    size_t guess = (size_t)part + k * (size_t)sidecars_count(x->sidecars);
    if (guess < x->inputs.names.count && !strcmp(x->labels[guess], label)) return (int64_t)guess;
    return input_called(x, label);
}

/* Rows [first, first + rows) are called `label`: the next inputs of the receipt with that name. */
static int add_rows(struct origins *o, size_t *k, const struct exporter *x, int64_t part,
                    int64_t first, int64_t rows, const struct parquet_slice *label)
{
    const struct receipt_files *in = &sidecars_receipt(x->sidecars, part)->inputs;
    size_t from = *k;
    while (*k < in->count &&
           (strlen(in->file[*k].name) != label->n || memcmp(in->file[*k].name, label->p, label->n)))
        ++*k;
    if (*k == in->count)
        return err_set(ERR_STALE,
                       "partition %lld: its rows come from %.*s, which its receipt does not name",
                       (long long)part, (int)label->n, label->p);
    struct origin *origin = add_origin(o, first, rows);
    origin->label = hash64(label->p, label->n);
    for (from = *k; *k < in->count && !strcmp(in->file[*k].name, in->file[from].name); ++*k)
        add_input(o, origin_find(x, part, *k, in->file[*k].name), &in->file[*k]);
    return 0;
}

/* Several inputs in one partition: cut the rows where the column `shard` changes. */
static int split_rows(struct origins *o, const struct exporter *x, int64_t part)
{
    const struct column_info *shard = columns_find(&x->sheet.columns, "shard");
    struct batch *b = NULL;
    struct str label = {0};
    int64_t row = 0, first = 0;
    size_t n, k = 0;
    if (!shard || shard->type != COLUMN_STRING)
        return err_set(ERR_INPUT, "metadata has no column 'shard'");
    int rc = batch_open(&b, x->sidecars, part, &shard, 1);
    while (!rc && !(rc = batch_next(b, 0, &n))) {
        const struct parquet_slice *s = batch_column(b, 0)->strings;
        for (size_t i = 0; i < n && !rc; i++, row++) {
            struct parquet_slice now = {label.p, label.len};
            if (row && s[i].n == now.n && !memcmp(s[i].p, now.p, now.n)) continue;
            if (row) rc = add_rows(o, &k, x, part, first, row - first, &now);
            str_clear(&label);
            str_add(&label, s[i].p, s[i].n);
            first = row;
        }
    }
    struct parquet_slice last = {label.p, label.len};
    if (rc == 1) rc = row ? add_rows(o, &k, x, part, first, row - first, &last) : 0;
    batch_close(b);
    str_release(&label);
    return rc;
}

/* ---- samples without a row ---- */

enum { E_SHARD, E_OFFSET, E_STATUS, E_COUNT };

static void add_lapses(struct origins *o, const struct parquet_values *v[E_COUNT], size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        struct parquet_slice why = v[E_STATUS]->slices[i], shard = v[E_SHARD]->slices[i];
        if (why.n == strlen("tar_damaged") && !memcmp(why.p, "tar_damaged", why.n)) continue;
        vec_push(o->lapses, o->nlapses, o->lapses_cap);
        o->lapses[o->nlapses++] = (struct lapse){hash64(shard.p, shard.n), v[E_OFFSET]->ints[i]};
    }
}

static int read_lapses(struct origins *o, struct parquet_reader *r)
{
    static const char *const names[E_COUNT] = {"shard", "offset", "status"};
    static const enum parquet_type types[E_COUNT] = {PARQUET_STRING, PARQUET_INT64, PARQUET_STRING};
    const struct parquet_values *v[E_COUNT];
    int col[E_COUNT], rc;
    size_t rows;
    for (int k = 0; k < E_COUNT; k++) {
        col[k] = parquet_find(r, names[k]);
        if (col[k] < 0 || parquet_field(r, (size_t)col[k])->type != types[k])
            return err_set(ERR_INPUT, "has no column '%s'", names[k]);
        parquet_select(r, (size_t)col[k]);
    }
    while (!(rc = parquet_next(r, 0, &rows))) {
        for (int k = 0; k < E_COUNT; k++) v[k] = parquet_values(r, (size_t)col[k]);
        add_lapses(o, v, rows);
    }
    return rc < 0 ? rc : 0;
}

static int load_lapses(struct origins *o, const struct exporter *x, int64_t part)
{
    struct place *p = sidecars_place(x->sidecars);
    struct str name = {0};
    struct file_map m = {0};
    struct parquet_reader *r = NULL;
    sidecars_name(&name, x->sidecars, SIDE_ERRORS, part);
    int rc = place_map(p, name.p, &m);
    if (!rc && !(rc = parquet_open(&r, m.p, m.n))) rc = read_lapses(o, r);
    if (rc) rc = err_wrap(rc, "%s/%s", place_url(p), name.p);
    parquet_close(r);
    file_unmap(&m);
    str_release(&name);
    return rc;
}

static int load_own(struct origins *o, const struct exporter *x, int64_t part)
{
    const struct receipt_files *in = &sidecars_receipt(x->sidecars, part)->inputs;
    int64_t rows = sidecars_rows(x->sidecars, part);
    size_t k = 0;
    int rc = 0;
    if (x->inputs.format == INPUT_FILES) {
        add_origin(o, 0, rows);
        add_input(o, 0, in->count ? in->file : NULL);
    } else if (in->count == 1) {
        struct parquet_slice label = {in->file[0].name, strlen(in->file[0].name)};
        rc = add_rows(o, &k, x, part, 0, rows, &label);
    } else {
        rc = split_rows(o, x, part);
    }
    return rc ? rc : load_lapses(o, x, part);
}

/* ---- places of others ---- */

static void load_retrieval(struct origins *o, const struct exporter *x, int64_t part)
{
    int64_t last = sidecars_count(x->sidecars) - 1;
    int64_t step = sidecars_number(x->sidecars, last) + 1;
    add_origin(o, 0, sidecars_rows(x->sidecars, part));
    for (int64_t i = sidecars_number(x->sidecars, part); i < (int64_t)x->inputs.names.count;
         i += step)
        add_input(o, i, NULL);
    if (!o->ninputs) add_input(o, INPUT_NONE, NULL);
}

static void load_nemo(struct origins *o, const struct exporter *x, int64_t part)
{
    struct str name = {0};
    sidecars_name(&name, x->sidecars, SIDE_METADATA, part);
    name.len -= strlen(".parquet");
    str_puts(&name, ".tar");
    add_origin(o, 0, sidecars_rows(x->sidecars, part));
    add_input(o, input_called(x, name.p), NULL);
    str_release(&name);
}

int origins_load(struct origins *o, const struct exporter *x, int64_t part)
{
    int rc = 0;
    origins_release(o);
    switch (sidecars_layout(x->sidecars)) {
    case LAYOUT_DARKROOM: rc = load_own(o, x, part); break;
    case LAYOUT_RETRIEVAL: load_retrieval(o, x, part); break;
    case LAYOUT_NEMO: load_nemo(o, x, part); break;
    }
    return rc;
}

void origins_release(struct origins *o)
{
    free(o->list);
    free(o->inputs);
    free(o->lapses);
    memset(o, 0, sizeof *o);
}

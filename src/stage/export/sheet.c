/* sheet.c - which columns an exported table has: those of metadata, then the scores, then what
 * export adds. The key is always there, as it stands in the tar beside it. */
#include "stage/export/export.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The column that says which sample a row is, in the words of the shard. */
static const char *match_name(const struct sheet *s, enum layout layout)
{
    if (layout == LAYOUT_DARKROOM) return "key";
    if (layout == LAYOUT_RETRIEVAL && columns_find(&s->columns, "image_path")) return "image_path";
    return columns_id(&s->columns);
}

/* Where the key is written: NeMo overwrites its id column, so the first of these that is there. */
static const char *id_name(const struct sheet *s)
{
    static const char *const known[] = {"key", "id", "image_id"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (columns_find(&s->columns, known[i])) return known[i];
    return NULL;
}

static int has_output(const struct sheet *s, const char *name)
{
    for (size_t i = 0; i < s->total; i++)
        if (!strcmp(s->out[i].name, name)) return 1;
    return 0;
}

static size_t add_output(struct sheet *s, const char *name, enum parquet_type type, int nullable)
{
    s->out[s->total] = (struct parquet_column){name, type, nullable};
    return s->total++;
}

static void add_stored(struct sheet *s, enum sidecar from)
{
    for (size_t i = 0; i < s->columns.count; i++) {
        const struct column_info *c = &s->columns.list[i];
        if (c->from != from) continue;
        s->want[s->count++] = c;
        add_output(s, c->name, c->stored, 1);
    }
}

/* Columns that are there but cannot be copied, told by name. */
static int tell_left_out(const struct sidecars *c, int64_t part)
{
    struct place *p = sidecars_place(c);
    struct str name = {0};
    struct file_map m = {0};
    struct parquet_reader *r = NULL;
    sidecars_name(&name, c, SIDE_METADATA, part);
    int rc = place_map(p, name.p, &m);
    if (!rc) rc = parquet_open(&r, m.p, m.n);
    for (size_t i = 0; !rc && i < parquet_skipped(r); i++)
        log_info("a column is left out: %s", parquet_skipped_text(r, i));
    for (size_t i = 0; !rc && i < parquet_fields(r); i++) {
        const struct parquet_field *f = parquet_field(r, i);
        if (f->type == PARQUET_BINARY ||
            (f->type == PARQUET_FLOATS && sidecars_layout(c) != LAYOUT_NEMO))
            log_info("a column is left out: %s: %s", f->name, parquet_type_name(f->type));
    }
    parquet_close(r);
    file_unmap(&m);
    str_release(&name);
    return rc;
}

static int look_at_tables(const struct sidecars *c)
{
    for (int64_t i = 0; i < sidecars_count(c); i++)
        if (sidecars_rows(c, i) > 0 && sidecars_has(c, SIDE_METADATA, i))
            return tell_left_out(c, i);
    return 0;
}

static int add_ours(struct sheet *s, const struct export_options *o)
{
    if (o->renumber && has_output(s, o->old_key))
        return err_set(ERR_USAGE,
                       "the rows have a column '%s' already; --old-key NAME gives the old keys "
                       "another one",
                       o->old_key);
    if (o->renumber) s->old_key = add_output(s, o->old_key, PARQUET_STRING, 0);
    if (o->with_embedding && has_output(s, "image_embedding"))
        return err_set(ERR_USAGE, "--with-embedding: the rows have a column 'image_embedding'");
    if (o->with_embedding) s->embedding = add_output(s, "image_embedding", PARQUET_FLOATS, 0);
    return 0;
}

/* Scores of other pictures must not travel with these. */
static int check_scores(const struct sidecars *c)
{
    int64_t parts = sidecars_stale(c, SIDE_SCORES) ? sidecars_count(c) : 0;
    int rc = 0;
    for (int64_t i = 0; i < parts && !rc; i++)
        if (sidecars_rows(c, i) > 0) rc = sidecars_need(c, SIDE_SCORES, i);
    return rc;
}

int sheet_load(struct sheet *s, const struct sidecars *c, const struct export_options *o)
{
    memset(s, 0, sizeof *s);
    int rc = check_scores(c);
    if (!rc) rc = columns_load_from(&s->columns, c, 1u << SIDE_METADATA | 1u << SIDE_SCORES);
    if (rc) return rc;
    const char *match = match_name(s, sidecars_layout(c)), *id = id_name(s);
    s->want = mem_alloc((s->columns.count + 1) * sizeof *s->want);
    s->out = mem_alloc((s->columns.count + 3) * sizeof *s->out);
    add_stored(s, SIDE_METADATA);
    add_stored(s, SIDE_SCORES);
    s->match = s->count;
    for (size_t i = 0; i < s->count; i++) {
        if (match && !strcmp(s->want[i]->name, match)) s->match = i;
        if (id && !strcmp(s->want[i]->name, id)) s->id = i;
    }
    if (s->match == s->count)
        return err_set(ERR_INPUT,
                       "%s: no column names the samples (key, id, image_id or image_path), so they "
                       "cannot be found in the shards; embed with metadata",
                       place_url(sidecars_place(c)));
    if (!id) s->id = add_output(s, "key", PARQUET_STRING, 0);
    if (id && (o->renumber || s->want[s->id]->type == COLUMN_STRING))
        s->out[s->id] = (struct parquet_column){id, PARQUET_STRING, 0};
    rc = add_ours(s, o);
    return rc ? rc : look_at_tables(c);
}

void sheet_release(struct sheet *s)
{
    columns_release(&s->columns);
    free(s->want);
    free(s->out);
    memset(s, 0, sizeof *s);
}

static void put_value(struct parquet_writer *w, size_t col, const struct column *c, size_t i)
{
    if (c->valid && !c->valid[i]) return;
    switch (c->type) {
    case COLUMN_BOOL: parquet_put_bool(w, col, c->bools[i]); break;
    case COLUMN_INT: parquet_put_int(w, col, c->ints[i]); break;
    case COLUMN_REAL: parquet_put_real(w, col, c->reals[i]); break;
    case COLUMN_STRING: parquet_put_string(w, col, c->strings[i].p, c->strings[i].n); break;
    }
}

int sheet_put(const struct sheet *s, struct parquet_writer *w, const struct batch *b, size_t i,
              const struct sheet_key *key)
{
    for (size_t k = 0; k < s->count; k++)
        if (k != s->id || s->out[k].type != PARQUET_STRING) put_value(w, k, batch_column(b, k), i);
    if (s->out[s->id].type == PARQUET_STRING)
        parquet_put_string(w, s->id, key->name, strlen(key->name));
    if (s->old_key) parquet_put_string(w, s->old_key, key->old, strlen(key->old));
    if (s->embedding) parquet_put_floats(w, s->embedding, key->embedding, (size_t)key->dim);
    return parquet_end_row(w);
}

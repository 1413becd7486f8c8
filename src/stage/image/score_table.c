/* score_table.c - scores_N.parquet: columns that stay, columns that come.
 * The file's metadata holds, for each column, who made it and from what; this is what survives a
 * crash between a file and its receipt, so that no column is lost with it. Columns stand in the
 * order of their names: the bytes do not tell in which order they were added. */
#include "stage/image/score.h"
#include "base/log.h"
#include "base/mem.h"
#include "format/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOTE_MAX = 1 << 16 };

/* ---- which head makes a column, for the whole place ---- */

static void note_name(struct str *out, const char *column)
{
    str_clear(out);
    str_printf(out, "_darkroom/score/heads/%s.json", column);
}

/* 1 and who made the column so far, 0 when nobody did. */
static int note_read(char made_by[65], struct place *p, const char *column)
{
    struct str name = {0}, text = {0};
    struct arena a = {0};
    struct json *j;
    note_name(&name, column);
    made_by[0] = 0;
    if (place_exists(p, name.p, NULL) && !place_read(p, name.p, &text, NOTE_MAX) &&
        !json_parse(&j, text.p, text.len, &a) && j->type == JSON_OBJECT) {
        const char *hex = json_text(j, "made_by", "");
        memcpy(made_by, hex, strnlen(hex, 64) + 1);
        made_by[64] = 0;
    }
    str_release(&name);
    str_release(&text);
    arena_release(&a);
    return made_by[0] != 0;
}

static int note_write(struct place *p, const struct score_column *c)
{
    struct str name = {0}, text = {0};
    const char *what = head_what(c->head);
    note_name(&name, c->name);
    str_puts(&text, "{\n \"made_by\": ");
    json_quote(&text, c->made_by, strlen(c->made_by));
    str_puts(&text, ",\n \"head\": ");
    json_quote(&text, what, strlen(what));
    str_puts(&text, ",\n \"from\": ");
    json_quote(&text, c->from, strlen(c->from));
    str_puts(&text, "\n}\n");
    int rc = place_write(p, name.p, text.p, text.len);
    str_release(&name);
    str_release(&text);
    return rc;
}

static int still_ours(const struct scorer *s)
{
    char hex[65];
    for (size_t i = 0; i < s->count; i++)
        if (!note_read(hex, sidecars_place(s->sidecars), s->column[i].name) ||
            strcmp(hex, s->column[i].made_by))
            return err_set(
                ERR_STALE,
                "%s: another run scores %s with another head now; let one of them finish",
                place_url(sidecars_place(s->sidecars)), s->column[i].name);
    return 0;
}

/* Has the place columns that are not asked for now? */
static int others_noted(const struct scorer *s)
{
    struct names n = {0};
    size_t others = 0;
    if (place_list(sidecars_place(s->sidecars), "_darkroom/score/heads", &n)) return 1;
    for (size_t i = 0; i < n.count; i++) {
        size_t len = strlen(n.list[i]), mine = 0;
        for (size_t k = 0; k < s->count; k++)
            mine |= len == strlen(s->column[k].name) + 5 &&
                    !strncmp(n.list[i], s->column[k].name, len - 5);
        others += !mine;
    }
    names_release(&n);
    return others > 0;
}

/* ---- what a file says ---- */

struct old {
    struct str name;
    struct file_map map;
    struct parquet_reader *r; /* NULL: there is no file */
};

static int old_open(struct old *o, const struct scorer *s, int64_t index)
{
    struct place *p = sidecars_place(s->sidecars);
    memset(o, 0, sizeof *o);
    sidecars_name(&o->name, s->sidecars, SIDE_SCORES, index);
    if (!place_exists(p, o->name.p, NULL)) return 0;
    int rc = place_map(p, o->name.p, &o->map);
    if (!rc && (rc = parquet_open(&o->r, o->map.p, o->map.n)))
        err_wrap(rc, "%s/%s", place_url(p), o->name.p);
    return rc;
}

static void old_close(struct old *o)
{
    parquet_close(o->r);
    file_unmap(&o->map);
    str_release(&o->name);
    memset(o, 0, sizeof *o);
}

static const char *made_of(const struct old *o, const char *column)
{
    struct str key = {0};
    str_printf(&key, "darkroom.%s", column);
    const char *value = parquet_metadata(o->r, key.p);
    str_release(&key);
    return value;
}

/* Which embeddings: by hash where a receipt promises it, else "-". */
static int embeddings_id(char id[65], const struct scorer *s, int64_t index)
{
    struct receipt_files files = {0};
    struct receipt r = {0};
    memcpy(id, "-", 2);
    if (sidecars_layout(s->sidecars) != LAYOUT_DARKROOM) return 0;
    int rc = sidecars_note(&files, s->sidecars, SIDE_IMAGE, index);
    if (!rc && files.count) memcpy(id, files.file[0].sha256, 65);
    r.inputs = files;
    receipt_release(&r);
    return rc;
}

/* "<made_by> <embeddings>" is what stands in a file that this run made. */
static int is_by(const char *value, const char *made_by, const char *id)
{
    size_t n = strlen(made_by);
    return value && !strncmp(value, made_by, n) && value[n] == ' ' && !strcmp(value + n + 1, id);
}

int columns_done(const struct scorer *s, int64_t index)
{
    struct old o = {0};
    char id[65];
    int done = !embeddings_id(id, s, index) && !old_open(&o, s, index) && o.r != NULL;
    for (size_t i = 0; i < s->count && done; i++)
        done = parquet_find(o.r, s->column[i].name) >= 0 &&
               is_by(made_of(&o, s->column[i].name), s->column[i].made_by, id);
    old_close(&o);
    return done;
}

/* Take receipts from all partitions that have the column by another head. */
static int forget_column(const struct scorer *s, const struct score_column *c)
{
    int64_t count = sidecars_count(s->sidecars);
    int rc = 0;
    for (int64_t i = 0; i < count && !rc; i++) {
        struct old o;
        if (!old_open(&o, s, i) && o.r && parquet_find(o.r, c->name) >= 0) {
            const char *value = made_of(&o, c->name);
            if (!value || strncmp(value, c->made_by, strlen(c->made_by)))
                rc = receipt_remove(sidecars_place(s->sidecars), "score", i,
                                    partition_digits(count));
        }
        old_close(&o);
    }
    return rc;
}

int columns_claim(const struct scorer *s)
{
    struct place *p = sidecars_place(s->sidecars);
    int rc = 0;
    for (size_t i = 0; i < s->count && !rc; i++) {
        const struct score_column *c = &s->column[i];
        char hex[65];
        int there = note_read(hex, p, c->name);
        if (there && !strcmp(hex, c->made_by)) continue;
        if (there) {
            log_info("%s was made by another head: it is replaced everywhere", c->name);
            rc = forget_column(s, c);
        }
        if (!rc) rc = note_write(p, c);
    }
    return rc;
}

/* ---- the new file ---- */

struct slot {
    const char *name;
    int asked, kept; /* place among our columns, or in the old file; -1 */
    char *made;      /* metadata; NULL: none */
};

struct score_table {
    const struct scorer *s;
    struct sweep_part *part;
    struct old old;
    struct slot *slot; /* by name */
    size_t count, cap;
    int any_kept;
    int64_t at, rows; /* rows put so far; of the current step */
    struct sink *sink;
    struct parquet_writer *w;
};

static void add_slot(struct score_table *t, const char *name, int asked, int kept, const char *made)
{
    vec_push(t->slot, t->count, t->cap);
    t->slot[t->count++] = (struct slot){name, asked, kept, made ? mem_strdup(made) : NULL};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct slot *)a)->name, ((const struct slot *)b)->name);
}

static int is_asked(const struct scorer *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->column[i].name, name)) return 1;
    return 0;
}

/* A damaged file is written over only when no other column can be in it. */
static int open_old(struct score_table *t)
{
    int rc = old_open(&t->old, t->s, t->part->index);
    if (!rc) return 0;
    if (others_noted(t->s))
        return err_wrap(rc, "columns of other heads would be lost; remove the file to score anew");
    log_warn("%s; it is written anew", err_text());
    old_close(&t->old);
    return 0;
}

/* Columns of others stay as long as they are about the same rows: ours are known by the
 * embeddings they were made from, anyone else's by their number. */
static int plan_kept(struct score_table *t, const char *id)
{
    const struct parquet_reader *r = t->old.r;
    const char *place = place_url(sidecars_place(t->s->sidecars));
    int64_t rows = r ? (int64_t)parquet_rows(r) : 0;
    for (size_t i = 0; r && i < parquet_fields(r); i++) {
        const char *name = parquet_field(r, i)->name, *made = made_of(&t->old, name);
        const char *of = made ? strrchr(made, ' ') : NULL;
        if (is_asked(t->s, name)) continue;
        if (of && (strcmp(of + 1, id) || rows != t->part->rows)) {
            log_info("%s/%s: %s is of other embeddings and goes", place, t->old.name.p, name);
            continue;
        }
        if (rows != t->part->rows)
            return err_set(ERR_INPUT,
                           "%s/%s has %lld rows, but its partition %lld: they are of different "
                           "runs; move it away to score anew",
                           place, t->old.name.p, (long long)rows, (long long)t->part->rows);
        add_slot(t, name, -1, (int)i, made);
        t->any_kept = 1;
    }
    if (r && parquet_skipped(r))
        return err_set(ERR_INPUT,
                       "%s/%s has a column that cannot be kept (%s); move it away to score anew",
                       place, t->old.name.p, parquet_skipped_text(r, 0));
    return 0;
}

static int start_file(struct score_table *t)
{
    struct parquet_column *columns = mem_alloc(t->count * sizeof *columns);
    const char **notes = mem_alloc((2 * t->count + 1) * sizeof *notes);
    char **keys = mem_alloc(t->count * sizeof *keys);
    size_t n = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct slot *c = &t->slot[i];
        const struct parquet_field *f =
            c->kept < 0 ? NULL : parquet_field(t->old.r, (size_t)c->kept);
        columns[i] =
            (struct parquet_column){c->name, f ? f->type : PARQUET_FLOAT, f ? f->nullable : 1};
        if (f) parquet_select(t->old.r, (size_t)c->kept);
        if (!c->made) continue;
        struct str key = {0};
        str_printf(&key, "darkroom.%s", c->name);
        notes[n++] = keys[i] = str_steal(&key);
        notes[n++] = c->made;
    }
    /* no two scores are alike: a dictionary would only be built to be thrown away */
    struct parquet_options o = {.no_dictionary = 1, .metadata = notes};
    int rc = sweep_create(&t->sink, t->part, SIDE_SCORES);
    if (!rc) rc = parquet_writer_new(&t->w, t->sink, columns, t->count, &o);
    for (size_t i = 0; i < t->count; i++) free(keys[i]);
    free(keys);
    free(notes);
    free(columns);
    return rc;
}

int table_open(struct score_table **out, const struct scorer *s, struct sweep_part *part)
{
    struct score_table *t = mem_alloc(sizeof *t);
    struct str made = {0};
    char id[65];
    t->s = s;
    t->part = part;
    int rc = embeddings_id(id, s, part->index);
    if (!rc) rc = open_old(t);
    if (!rc) rc = plan_kept(t, id);
    for (size_t i = 0; i < s->count && !rc; i++) {
        str_clear(&made);
        str_printf(&made, "%s %s", s->column[i].made_by, id);
        add_slot(t, s->column[i].name, (int)i, -1, made.p);
    }
    str_release(&made);
    if (t->count) qsort(t->slot, t->count, sizeof *t->slot, by_name);
    if (!rc) rc = start_file(t);
    *out = rc ? NULL : t;
    if (rc) table_close(t);
    return rc;
}

void table_close(struct score_table *t)
{
    if (!t) return;
    parquet_writer_free(t->w);
    sink_abort(t->sink);
    old_close(&t->old);
    for (size_t i = 0; i < t->count; i++) free(t->slot[i].made);
    free(t->slot);
    free(t);
}

int table_next(struct score_table *t, int64_t max, int64_t *rows)
{
    int64_t left = t->part->rows - t->at;
    *rows = t->rows = left < max ? left : max;
    if (!left || !t->any_kept) return !left;
    size_t n;
    int rc = parquet_next(t->old.r, (size_t)max, &n);
    if (rc < 0)
        return err_wrap(rc, "%s/%s", place_url(sidecars_place(t->s->sidecars)), t->old.name.p);
    *rows = t->rows = rc ? 0 : (int64_t)n;
    return rc;
}

static void put_kept(struct parquet_writer *w, size_t col, const struct parquet_values *v,
                     enum parquet_type type, size_t i)
{
    if (v->valid && !v->valid[i]) {
        parquet_put_null(w, col);
        return;
    }
    switch (type) {
    case PARQUET_BOOL: parquet_put_bool(w, col, v->bools[i]); break;
    case PARQUET_INT32:
    case PARQUET_INT64: parquet_put_int(w, col, v->ints[i]); break;
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE: parquet_put_real(w, col, v->reals[i]); break;
    case PARQUET_STRING: parquet_put_string(w, col, v->slices[i].p, v->slices[i].n); break;
    case PARQUET_BINARY: parquet_put_binary(w, col, v->slices[i].p, v->slices[i].n); break;
    case PARQUET_FLOATS:
        parquet_put_floats(w, col, v->floats + v->starts[i], v->starts[i + 1] - v->starts[i]);
        break;
    }
}

static void put_slot(struct score_table *t, size_t col, float *const *scores, int64_t i)
{
    const struct slot *c = &t->slot[col];
    if (c->kept >= 0) {
        size_t from = (size_t)c->kept;
        put_kept(t->w, col, parquet_values(t->old.r, from), parquet_field(t->old.r, from)->type,
                 (size_t)i);
    } else if (isfinite(scores[c->asked][i])) {
        parquet_put_real(t->w, col, scores[c->asked][i]);
    } else {
        parquet_put_null(t->w, col);
    }
}

int table_put(struct score_table *t, float *const *scores)
{
    int rc = 0;
    for (int64_t i = 0; i < t->rows && !rc; i++) {
        for (size_t col = 0; col < t->count; col++) put_slot(t, col, scores, i);
        rc = parquet_end_row(t->w);
    }
    t->at += t->rows;
    return rc;
}

int table_commit(struct score_table *t)
{
    int rc = parquet_finish(t->w);
    if (!rc) rc = still_ours(t->s);
    if (rc) return rc;
    struct sink *sink = t->sink;
    t->sink = NULL;
    return sweep_commit(t->part, sink, SIDE_SCORES);
}

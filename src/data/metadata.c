/* metadata.c - see metadata.h. */
#include "data/metadata.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "format/json.h"
#include "format/parquet/parquet.h"
#include "io/spill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUR_COLUMNS = 6, FIELDS_MAX = 4096, NAME_MAX_BYTES = 1024 };

static const struct parquet_column ours[OUR_COLUMNS] = {
    {"image_path", PARQUET_STRING, 1}, {"caption", PARQUET_STRING, 1},
    {"shard", PARQUET_STRING, 1},      {"key", PARQUET_STRING, 1},
    {"width", PARQUET_INT32, 1},       {"height", PARQUET_INT32, 1}};

/* What a column has held so far, a bit per JSON type: decides its type in the end. */
enum { HELD_BOOL = 1, HELD_INT = 2, HELD_REAL = 4, HELD_OTHER = 8 };

struct metadata {
    struct spill rows;
    struct map fields; /* flattened name -> what it held; entry order = column order */
    struct arena work; /* of one row */
    struct str name;   /* of the field being visited */
    int too_many;      /* a field beyond FIELDS_MAX different names was left out */
};

/* Lengths of the strings that follow; 0 = null, else length + 1. */
struct record {
    uint32_t image_path, caption, shard, key, json;
    int32_t width, height;
};

struct metadata *metadata_new(struct place *p)
{
    struct metadata *m = mem_alloc(sizeof *m);
    spill_init(&m->rows, p);
    return m;
}

void metadata_free(struct metadata *m)
{
    if (!m) return;
    spill_release(&m->rows);
    map_release(&m->fields);
    arena_release(&m->work);
    str_release(&m->name);
    free(m);
}

/* Walk an object's leaves with their flattened names. */
typedef void visit_fn(void *arg, const char *name, const struct json *value);

static void visit(struct str *name, const struct json *object, visit_fn *fn, void *arg)
{
    size_t base = name->len;
    for (const struct json *f = object->child; f; f = f->next) {
        str_puts(name, f->key);
        if (f->type == JSON_OBJECT) {
            str_putc(name, '.');
            visit(name, f, fn, arg);
        } else {
            fn(arg, name->p, f);
        }
        name->len = base;
        name->p[base] = 0;
    }
}

static int is_dropped(const char *name)
{
    return !strcmp(name, "caption") || !strcmp(name, "metadata") || !strcmp(name, "image_path");
}

static int is_ours(const char *name)
{
    for (int i = 0; i < OUR_COLUMNS; i++)
        if (!strcmp(name, ours[i].name)) return 1;
    return 0;
}

/* The field's slot under its final column name; NULL when it is dropped. */
static uint64_t *field_slot(struct metadata *m, const char *name, int make)
{
    char own[32];
    if (is_dropped(name)) return NULL;
    if (is_ours(name)) {
        snprintf(own, sizeof own, "json.%s", name);
        name = own;
    }
    return map_at(&m->fields, name, strlen(name), make);
}

static void note_type(void *arg, const char *name, const struct json *v)
{
    static const uint64_t held[] = {
        [JSON_NULL] = 0,           [JSON_BOOL] = HELD_BOOL,    [JSON_INT] = HELD_INT,
        [JSON_REAL] = HELD_REAL,   [JSON_STRING] = HELD_OTHER, [JSON_ARRAY] = HELD_OTHER,
        [JSON_OBJECT] = HELD_OTHER};
    struct metadata *m = arg;
    uint64_t *slot = field_slot(m, name, m->fields.count < FIELDS_MAX);
    if (slot)
        *slot |= held[v->type];
    else if (m->fields.count >= FIELDS_MAX && !is_dropped(name))
        m->too_many = 1;
}

struct checker {
    int leaves, long_name;
};

static void check_leaf(void *arg, const char *name, const struct json *v)
{
    struct checker *c = arg;
    (void)v;
    c->leaves++;
    if (strlen(name) > NAME_MAX_BYTES || !*name) c->long_name = 1;
}

int metadata_check(const char *json, size_t n, struct arena *scratch)
{
    struct json *j;
    struct str name = {0};
    struct checker c = {0, 0};
    int rc = json_parse(&j, json, n, scratch);
    if (rc) return rc;
    if (j->type != JSON_OBJECT) return err_bad(BAD_JSON, "the JSON is not an object");
    visit(&name, j, check_leaf, &c);
    str_release(&name);
    if (c.leaves > FIELDS_MAX)
        return err_bad(BAD_JSON, "the JSON has more than %d fields", FIELDS_MAX);
    if (c.long_name)
        return err_bad(BAD_JSON, "the JSON has an empty name or one over %d bytes", NAME_MAX_BYTES);
    return 0;
}

static uint32_t length_of(const char *text, size_t n)
{
    return text ? (uint32_t)n + 1 : 0;
}

static int put_text(struct spill *s, const char *text, size_t n)
{
    return text ? spill_write(s, text, n) : 0;
}

int metadata_add(struct metadata *m, const struct metadata_row *r)
{
    struct record rec = {length_of(r->image_path, strlen(r->image_path)),
                         length_of(r->caption, r->caption_len),
                         length_of(r->shard, strlen(r->shard)),
                         length_of(r->key, strlen(r->key)),
                         length_of(r->json, r->json_len),
                         r->width,
                         r->height};
    if (r->json) {
        struct json *j;
        arena_reset(&m->work);
        str_clear(&m->name);
        int rc = json_parse(&j, r->json, r->json_len, &m->work);
        if (rc) return rc;
        visit(&m->name, j, note_type, m);
    }
    int rc = spill_write(&m->rows, &rec, sizeof rec);
    if (!rc) rc = put_text(&m->rows, r->image_path, rec.image_path - 1);
    if (!rc) rc = put_text(&m->rows, r->caption, r->caption_len);
    if (!rc) rc = put_text(&m->rows, r->shard, rec.shard - 1);
    if (!rc) rc = put_text(&m->rows, r->key, rec.key - 1);
    if (!rc) rc = put_text(&m->rows, r->json, r->json_len);
    return rc;
}

static enum parquet_type type_of(uint64_t held)
{
    if (held == HELD_BOOL) return PARQUET_BOOL;
    if (held == HELD_INT) return PARQUET_INT64;
    if (held && !(held & ~(uint64_t)(HELD_INT | HELD_REAL))) return PARQUET_DOUBLE;
    return PARQUET_STRING;
}

struct saver {
    struct metadata *m;
    struct parquet_writer *w;
    const struct json **last; /* per field: this row's value; a repeated name counts last */
    struct str text;
};

static void remember(void *arg, const char *name, const struct json *v)
{
    struct saver *s = arg;
    uint64_t *slot = field_slot(s->m, name, 0);
    if (slot)
        s->last[(struct map_entry *)((char *)slot - offsetof(struct map_entry, value)) -
                s->m->fields.entries] = v;
}

static void put_field(struct saver *s, size_t i, const struct json *v)
{
    size_t col = OUR_COLUMNS + i;
    if (!v || v->type == JSON_NULL) return;
    switch (type_of(s->m->fields.entries[i].value)) {
    case PARQUET_BOOL: parquet_put_bool(s->w, col, (int)v->i); break;
    case PARQUET_INT64: parquet_put_int(s->w, col, v->i); break;
    case PARQUET_DOUBLE: parquet_put_real(s->w, col, v->real); break;
    default:
        str_clear(&s->text);
        if (v->type == JSON_STRING)
            str_add(&s->text, v->text, v->len);
        else
            json_print(&s->text, v);
        parquet_put_string(s->w, col, s->text.p, s->text.len);
    }
}

/* A string of the record into the row's arena. */
static int get_text(struct saver *s, const char **text, uint32_t stored)
{
    *text = NULL;
    if (!stored) return 0;
    char *p = arena_alloc(&s->m->work, stored);
    int rc = stored > 1 ? spill_read(&s->m->rows, p, stored - 1) : 0;
    p[stored - 1] = 0;
    *text = p;
    return rc > 0 ? ERR_FAIL : rc;
}

static int save_json(struct saver *s, const char *json, size_t n)
{
    struct json *j;
    int rc = json_parse(&j, json, n, &s->m->work);
    if (rc) return rc;
    memset(s->last, 0, s->m->fields.count * sizeof *s->last);
    str_clear(&s->m->name);
    visit(&s->m->name, j, remember, s);
    for (size_t i = 0; i < s->m->fields.count; i++) put_field(s, i, s->last[i]);
    return 0;
}

/* One record to one row: 0, 1 after the last. */
static int save_row(struct saver *s)
{
    struct record rec;
    const char *text[5];
    int rc = spill_read(&s->m->rows, &rec, sizeof rec);
    if (rc) return rc;
    const uint32_t stored[5] = {rec.image_path, rec.caption, rec.shard, rec.key, rec.json};
    arena_reset(&s->m->work);
    for (int i = 0; i < 5 && !rc; i++) rc = get_text(s, &text[i], stored[i]);
    if (rc) return rc;
    for (int i = 0; i < 4; i++)
        if (text[i]) parquet_put_string(s->w, (size_t)i, text[i], stored[i] - 1);
    if (rec.width) {
        parquet_put_int(s->w, 4, rec.width);
        parquet_put_int(s->w, 5, rec.height);
    }
    if (text[4] && (rc = save_json(s, text[4], rec.json - 1))) return rc;
    return parquet_end_row(s->w);
}

int metadata_save(struct metadata *m, struct sink *sink)
{
    size_t n = OUR_COLUMNS + m->fields.count;
    struct parquet_column *cols = mem_alloc(n * sizeof *cols);
    struct saver s = {.m = m, .last = mem_alloc((m->fields.count + 1) * sizeof *s.last)};
    memcpy(cols, ours, sizeof ours);
    map_each (i, &m->fields)
        cols[OUR_COLUMNS + i] = (struct parquet_column){m->fields.entries[i].key,
                                                        type_of(m->fields.entries[i].value), 1};
    if (m->too_many)
        log_warn("more than %d different JSON fields in one partition: those beyond are left out",
                 FIELDS_MAX);
    int rc = spill_rewind(&m->rows);
    /* the writer holds about two row groups: small ones keep memory flat however many rows there
     * are */
    struct parquet_options small = {.row_group_bytes = 4 << 20};
    if (!rc) rc = parquet_writer_new(&s.w, sink, cols, n, &small);
    while (!rc) rc = save_row(&s);
    if (rc == 1) rc = parquet_finish(s.w);
    parquet_writer_free(s.w);
    free(cols);
    free(s.last);
    str_release(&s.text);
    return rc;
}

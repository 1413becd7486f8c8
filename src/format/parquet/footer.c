/* footer.c - parse the footer of a Parquet file.
 * A first pass finds the fields, since nothing says in which order they come; then the schema is
 * read, then every row group is looked at once, to know at open what cannot be read. */
#include "format/parquet/footer.h"
#include "base/err.h"
#include "base/mem.h"
#include "format/parquet/codec.h"

#include <stdlib.h>
#include <string.h>

struct found {
    struct thrift_in schema, groups, texts; /* at the list's header; p == NULL when absent */
    int64_t rows;
};

static int damaged(const char *why)
{
    return err_set(ERR_INPUT, "the Parquet footer is damaged: %s", why);
}

static int locate(struct footer *f, const unsigned char *data, size_t n)
{
    uint32_t size;
    if (n < 12 || (memcmp(data, "PAR1", 4) && memcmp(data, "PARE", 4)))
        return err_set(ERR_INPUT, "not a Parquet file");
    if (!memcmp(data + n - 4, "PARE", 4))
        return err_set(ERR_INPUT, "the Parquet file is encrypted");
    if (memcmp(data + n - 4, "PAR1", 4))
        return err_set(ERR_INPUT, "the Parquet file is cut short: it does not end with PAR1");
    memcpy(&size, data + n - 8, 4);
    if (size > n - 12) return damaged("it is longer than the file");
    f->data = data;
    f->end = data + n - 8;
    f->p = f->end - size;
    return 0;
}

static const char *find_fields(const struct footer *f, struct found *out)
{
    struct thrift_in t = {.p = f->p, .end = f->end};
    thrift_enter(&t);
    for (struct thrift_field field = {0}; thrift_next(&t, &field);) {
        struct thrift_in here = {.p = t.p, .end = t.end};
        if (field.id == 3) {
            out->rows = thrift_get_int(&t, field);
            continue;
        }
        if (field.type == THRIFT_LIST) {
            if (field.id == 2) out->schema = here;
            if (field.id == 4) out->groups = here;
            if (field.id == 5) out->texts = here;
        }
        thrift_skip(&t, field.type);
    }
    if (!t.bad && (!out->schema.p || out->rows < 0)) return "a part is missing";
    return t.bad;
}

static const struct thrift_field list_field = {.type = THRIFT_LIST};

/* ---- column chunks ---- */

struct chunk_facts {
    int64_t physical, codec, values, raw, packed, data_at, dictionary_at;
    int has_metadata, external, encrypted;
};

static void read_chunk_metadata(struct thrift_in *t, struct chunk_facts *c)
{
    thrift_enter(t);
    c->has_metadata = 1;
    for (struct thrift_field f = {0}; thrift_next(t, &f);) {
        switch (f.id) {
        case 1: c->physical = thrift_get_int(t, f); break;
        case 4: c->codec = thrift_get_int(t, f); break;
        case 5: c->values = thrift_get_int(t, f); break;
        case 6: c->raw = thrift_get_int(t, f); break;
        case 7: c->packed = thrift_get_int(t, f); break;
        case 9: c->data_at = thrift_get_int(t, f); break;
        case 11: c->dictionary_at = thrift_get_int(t, f); break;
        default: thrift_skip(t, f.type);
        }
    }
}

static void read_chunk(struct thrift_in *t, struct chunk_facts *c)
{
    *c = (struct chunk_facts){.physical = -1, .codec = -1};
    thrift_enter(t);
    for (struct thrift_field f = {0}; thrift_next(t, &f);) {
        if (f.id == 3 && f.type == THRIFT_STRUCT) {
            read_chunk_metadata(t, c);
            continue;
        }
        if (f.id == 1) c->external = 1;
        if (f.id == 8 || f.id == 9) c->encrypted = 1;
        thrift_skip(t, f.type);
    }
}

static const char *unreadable(const struct chunk_facts *c)
{
    if (c->encrypted || !c->has_metadata) return "encrypted";
    if (c->external) return "in another file";
    if (c->codec == CODEC_BROTLI) return "compressed with brotli";
    if (c->codec == CODEC_LZO) return "compressed with lzo";
    if (c->codec < 0 || !codec_readable((enum codec)c->codec)) return "compressed by unknown means";
    return NULL;
}

/* Place a readable chunk in the file, or say what is wrong. */
static const char *place_chunk(const struct footer *f, const struct leaf *leaf, uint64_t rows,
                               const struct chunk_facts *c, struct footer_chunk *out)
{
    uint64_t limit = (uint64_t)(f->p - f->data);
    int64_t start = c->data_at;
    if (c->dictionary_at > 0 && c->dictionary_at < start) start = c->dictionary_at;
    if (!c->values) { /* writers disagree on where nothing lies */
        *out = (struct footer_chunk){.p = f->data, .end = f->data};
        return rows ? "a column has another number of values than rows" : NULL;
    }
    if (c->physical != (int64_t)leaf->physical) return "a column differs from the schema";
    if (start < 4 || c->packed < 0 || (uint64_t)start > limit ||
        (uint64_t)c->packed > limit - (uint64_t)start)
        return "a column lies outside the file";
    if (c->values < 0 || c->raw < 0 || (!leaf->max_rep && (uint64_t)c->values != rows) ||
        (leaf->max_rep && (uint64_t)c->values < rows))
        return "a column has another number of values than rows";
    *out = (struct footer_chunk){.p = f->data + start,
                                 .end = f->data + start + c->packed,
                                 .codec = (enum codec)c->codec,
                                 .values = (uint64_t)c->values,
                                 .raw = (uint64_t)c->raw};
    return NULL;
}

/* The columns at t. The first pass (out == NULL) only notes what cannot be read. */
static const char *read_columns(struct footer *f, struct thrift_in t, uint64_t rows,
                                struct footer_chunk *out)
{
    size_t n = thrift_get_list(&t, list_field, THRIFT_STRUCT);
    if (!t.bad && n != f->schema.count) return "a row group lacks columns";
    for (size_t i = 0; i < n && !t.bad; i++) {
        struct chunk_facts c;
        struct footer_chunk chunk = {0};
        struct leaf *leaf = &f->schema.leaves[i];
        read_chunk(&t, &c);
        if (!leaf->why && !t.bad) leaf->why = unreadable(&c);
        const char *bad = leaf->why || t.bad ? NULL : place_chunk(f, leaf, rows, &c, &chunk);
        if (bad) return bad;
        if (out) out[i] = chunk;
    }
    return t.bad;
}

/* One RowGroup: rows come after the columns, so the columns are found first and read last. */
static const char *read_group(struct footer *f, struct thrift_in *t, uint64_t *rows,
                              struct footer_chunk *out)
{
    struct thrift_in columns = {0};
    int64_t count = -1;
    thrift_enter(t);
    for (struct thrift_field field = {0}; thrift_next(t, &field);) {
        if (field.id == 3) {
            count = thrift_get_int(t, field);
            continue;
        }
        if (field.id == 1 && field.type == THRIFT_LIST)
            columns = (struct thrift_in){.p = t->p, .end = t->end};
        thrift_skip(t, field.type);
    }
    if (t->bad) return t->bad;
    if (count < 0 || !columns.p) return "a row group lacks its columns or rows";
    *rows = (uint64_t)count;
    return read_columns(f, columns, *rows, out);
}

static const char *read_groups(struct footer *f, struct thrift_in t)
{
    size_t n = t.p ? thrift_get_list(&t, list_field, THRIFT_STRUCT) : 0;
    for (size_t i = 0; i < n; i++) {
        struct footer_group g = {.at = t.p};
        const char *bad = read_group(f, &t, &g.rows, NULL);
        if (bad) return bad;
        if (g.rows > INT64_MAX - f->rows) return "more rows than can be counted";
        f->rows += g.rows;
        vec_push(f->groups, f->ngroups, f->groups_cap);
        f->groups[f->ngroups++] = g;
    }
    return t.bad;
}

static void read_texts(struct footer *f, struct thrift_in t)
{
    size_t n = t.p ? thrift_get_list(&t, list_field, THRIFT_STRUCT) : 0;
    for (size_t i = 0; i < n && !t.bad; i++) {
        const char *text[2] = {"", ""};
        size_t size[2] = {0, 0};
        thrift_enter(&t);
        for (struct thrift_field field = {0}; thrift_next(&t, &field);) {
            if (field.id == 1 || field.id == 2)
                size[field.id - 1] = thrift_get_bytes(&t, field, &text[field.id - 1]);
            else
                thrift_skip(&t, field.type);
        }
        for (int k = 0; k < 2; k++) {
            vec_push(f->texts, f->ntexts, f->texts_cap);
            f->texts[f->ntexts++] = mem_strndup(text[k], size[k]);
        }
    }
}

int footer_parse(struct footer *f, const void *data, size_t n)
{
    struct found found = {0};
    int rc = locate(f, data, n);
    if (rc) return rc;
    const char *bad = find_fields(f, &found);
    if (bad) return damaged(bad);
    size_t elements = thrift_get_list(&found.schema, list_field, THRIFT_STRUCT);
    rc = schema_parse(&f->schema, &found.schema, elements);
    if (rc) return rc;
    bad = read_groups(f, found.groups);
    if (!bad && f->rows != (uint64_t)found.rows) bad = "row groups do not add up to its rows";
    if (bad) return damaged(bad);
    read_texts(f, found.texts);
    return 0;
}

int footer_group(struct footer *f, size_t group, struct footer_chunk *out)
{
    struct thrift_in t = {.p = f->groups[group].at, .end = f->end};
    uint64_t rows;
    const char *bad = read_group(f, &t, &rows, out);
    return bad ? damaged(bad) : 0;
}

void footer_release(struct footer *f)
{
    schema_release(&f->schema);
    for (size_t i = 0; i < f->ntexts; i++) free(f->texts[i]);
    free(f->texts);
    free(f->groups);
    memset(f, 0, sizeof *f);
}

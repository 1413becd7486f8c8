/* safetensors.c - see safetensors.h. The header is walked once; then the tensors, sorted by
 * offset, must tile the data exactly, so no byte is read twice or hidden. */
#include "format/safetensors.h"
#include "base/err.h"
#include "base/mem.h"
#include "format/json_cursor.h"

#include <stdlib.h>
#include <string.h>

enum { PREFIX = 8, HEADER_MAX = 100000000, METADATA_MAX = 1 << 16, SHARDS_MAX = 1 << 14 };

static const struct {
    const char *name;
    enum weight_dtype type;
} dtypes[] = {
    {"F32", WEIGHT_F32}, {"F16", WEIGHT_F16},         {"BF16", WEIGHT_BF16},
    {"F64", WEIGHT_F64}, {"F8_E4M3", WEIGHT_F8_E4M3}, {"F8_E5M2", WEIGHT_F8_E5M2},
    {"I64", WEIGHT_I64}, {"I32", WEIGHT_I32},         {"I16", WEIGHT_I16},
    {"I8", WEIGHT_I8},   {"U64", WEIGHT_U64},         {"U32", WEIGHT_U32},
    {"U16", WEIGHT_U16}, {"U8", WEIGHT_U8},           {"BOOL", WEIGHT_BOOL},
    {"C64", WEIGHT_C64},
};

struct extent {
    uint64_t begin, end;
};

struct reader {
    struct json_cursor json;
    struct weight_list *out;
    struct map names; /* every key of the header: each at most once */
    struct extent *extents;
    size_t count, cap;
    const unsigned char *data;
    size_t room;
    const struct map *only;
    uint64_t mark;
};

static uint64_t header_length(const unsigned char *p)
{
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--) n = n << 8 | p[i];
    return n;
}

int safetensors_is(const void *p, size_t n)
{
    const unsigned char *b = p;
    return n > PREFIX && b[PREFIX] == '{' && header_length(b) <= HEADER_MAX;
}

static int read_dtype(struct json_cursor *c, struct weight *w)
{
    int rc = json_cursor_string(c);
    if (rc) return rc;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(c->text.p, dtypes[i].name)) {
            w->dtype = dtypes[i].type;
            return 0;
        }
    return err_set(ERR_INPUT, "unknown dtype %.32s", c->text.p);
}

static int read_shape(struct json_cursor *c, struct weight *w)
{
    uint64_t v;
    int rc = json_cursor_open(c, '[');
    while (!rc && (rc = json_cursor_next(c)) > 0) {
        if (w->rank == WEIGHT_RANK)
            return err_set(ERR_INPUT, "more than %d dimensions", WEIGHT_RANK);
        rc = json_cursor_uint(c, &v);
        if (!rc && v > INT64_MAX) return err_set(ERR_INPUT, "its shape overflows");
        w->dim[w->rank++] = (int64_t)v;
    }
    return rc;
}

static int read_offsets(struct json_cursor *c, struct extent *e)
{
    uint64_t v[2];
    int rc = json_cursor_open(c, '['), n = 0;
    while (!rc && (rc = json_cursor_next(c)) > 0) {
        if (n == 2) return err_set(ERR_INPUT, "data_offsets are not two numbers");
        rc = json_cursor_uint(c, &v[n++]);
    }
    if (rc) return rc;
    if (n != 2) return err_set(ERR_INPUT, "data_offsets are not two numbers");
    e->begin = v[0];
    e->end = v[1];
    return 0;
}

static int read_fields(struct json_cursor *c, struct weight *w, struct extent *e)
{
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    unsigned seen = 0;
    int rc = json_cursor_open(c, '{');
    while (!rc && (rc = json_cursor_next(c)) > 0) {
        unsigned field = 0;
        if ((rc = json_cursor_key(c))) return rc;
        while (field < 3 && strcmp(c->text.p, names[field])) field++;
        if (field < 3 && seen & 1u << field)
            return err_set(ERR_INPUT, "%s comes twice", names[field]);
        seen |= 1u << field;
        rc = field == 0   ? read_dtype(c, w)
             : field == 1 ? read_shape(c, w)
             : field == 2 ? read_offsets(c, e)
                          : json_cursor_skip(c);
    }
    if (!rc && (seen & 7) != 7) rc = err_set(ERR_INPUT, "dtype, shape or data_offsets missing");
    return rc;
}

/* Exactly shape times size, and inside the file; whether they tile it is checked at the end. */
static int check_extent(const struct reader *r, const struct weight *w, const struct extent *e)
{
    size_t bytes = weight_size(w->dtype);
    for (int i = 0; i < w->rank; i++)
        if (mem_mul_overflows(bytes, (size_t)w->dim[i], &bytes))
            return err_set(ERR_INPUT, "its shape overflows");
    if (e->begin > e->end || e->end > r->room)
        return err_set(ERR_INPUT, "data_offsets [%llu, %llu] in %zu bytes of data",
                       (unsigned long long)e->begin, (unsigned long long)e->end, r->room);
    if (e->end - e->begin != bytes)
        return err_set(ERR_INPUT, "its shape needs %zu bytes, data_offsets give %llu", bytes,
                       (unsigned long long)(e->end - e->begin));
    return 0;
}

static int read_tensor(struct reader *r, const char *name, size_t n)
{
    struct weight w = {.name = name};
    struct extent e = {0};
    uint64_t mark;
    int rc = read_fields(&r->json, &w, &e);
    if (!rc) rc = check_extent(r, &w, &e);
    if (rc) return err_wrap(rc, "tensor %s", name);
    if (r->count == WEIGHT_COUNT_MAX)
        return err_set(ERR_INPUT, "more than %d tensors", WEIGHT_COUNT_MAX);
    vec_push(r->extents, r->count, r->cap);
    r->extents[r->count++] = e;
    if (r->only && (!map_get(r->only, name, &mark) || mark != r->mark)) return 0;
    w.data = r->data + e.begin;
    return weight_add(r->out, &w, n, e.end - e.begin, 1);
}

static int read_metadata(struct reader *r)
{
    struct json_cursor *c = &r->json;
    struct str key = {0};
    int rc = json_cursor_open(c, '{');
    while (!rc && (rc = json_cursor_next(c)) > 0) {
        if ((rc = json_cursor_key(c))) break;
        str_clear(&key);
        str_add(&key, c->text.p, c->text.len);
        if ((rc = json_cursor_string(c))) break;
        if (r->out->meta.count == METADATA_MAX)
            rc = err_set(ERR_INPUT, "more than %d metadata entries", METADATA_MAX);
        else
            weight_note(r->out, &r->out->meta, key.p ? key.p : "", c->text.p);
    }
    str_release(&key);
    return rc ? err_wrap(rc, "__metadata__") : 0;
}

static int read_entry(struct reader *r)
{
    struct json_cursor *c = &r->json;
    int rc = json_cursor_key(c);
    if (rc) return rc;
    if (c->text.len > WEIGHT_NAME_MAX)
        return err_set(ERR_INPUT, "a name of %zu bytes (limit %d)", c->text.len, WEIGHT_NAME_MAX);
    uint64_t *seen = map_at(&r->names, c->text.p, c->text.len, 1);
    if (*seen) return err_set(ERR_INPUT, "two entries are named %s", c->text.p);
    *seen = 1;
    if (!strcmp(c->text.p, "__metadata__")) return read_metadata(r);
    const struct map_entry *last = &r->names.entries[r->names.count - 1];
    return read_tensor(r, last->key, last->len);
}

static int by_begin(const void *a, const void *b)
{
    const struct extent *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

static int check_tiling(struct reader *r)
{
    uint64_t at = 0;
    if (r->count) qsort(r->extents, r->count, sizeof *r->extents, by_begin);
    for (size_t i = 0; i < r->count; i++) {
        if (r->extents[i].begin != at)
            return err_set(ERR_INPUT, "tensors %s at byte %llu of the data",
                           r->extents[i].begin > at ? "leave a hole" : "overlap",
                           (unsigned long long)at);
        at = r->extents[i].end;
    }
    if (at != r->room)
        return err_set(ERR_INPUT,
                       "%zu bytes of data where the header describes %llu; the file "
                       "is damaged or not complete",
                       r->room, (unsigned long long)at);
    return 0;
}

static int read_header(struct reader *r)
{
    int rc = json_cursor_open(&r->json, '{');
    while (!rc && (rc = json_cursor_next(&r->json)) > 0) rc = read_entry(r);
    if (!rc) rc = json_cursor_end(&r->json);
    return rc ? rc : check_tiling(r);
}

int safetensors_decode(struct weight_list *l, const void *p, size_t n, const struct map *only,
                       uint64_t mark)
{
    const unsigned char *b = p;
    if (n < PREFIX) return err_set(ERR_INPUT, "safetensors: too short");
    uint64_t length = header_length(b);
    if (length > HEADER_MAX)
        return err_set(ERR_INPUT, "safetensors: a header of %llu bytes (limit %d)",
                       (unsigned long long)length, HEADER_MAX);
    if (length > n - PREFIX)
        return err_set(ERR_INPUT, "safetensors: the header reaches past the end; the file is cut");
    if (!length || b[PREFIX] != '{')
        return err_set(ERR_INPUT, "safetensors: the header does not begin with '{'");
    struct reader r = {.out = l,
                       .data = b + PREFIX + length,
                       .room = n - PREFIX - length,
                       .only = only,
                       .mark = mark};
    json_cursor_init(&r.json, b + PREFIX, length);
    int rc = read_header(&r);
    json_cursor_release(&r.json);
    map_release(&r.names);
    free(r.extents);
    return rc ? err_wrap(rc, "safetensors") : 0;
}

/* ---- sharded models ---- */

static int plain_file_name(const char *name)
{
    return *name && strcmp(name, ".") && strcmp(name, "..") && !strpbrk(name, "/\\") &&
           strlen(name) <= 255;
}

static int read_place(struct shard_index *x, struct json_cursor *c)
{
    struct str name = {0};
    int rc = json_cursor_key(c);
    if (rc) return rc;
    str_add(&name, c->text.p, c->text.len);
    rc = json_cursor_string(c);
    if (!rc && !plain_file_name(c->text.p))
        rc = err_set(ERR_INPUT, "shard '%.80s' is not a plain file name", c->text.p);
    if (!rc && x->map.count == WEIGHT_COUNT_MAX)
        rc = err_set(ERR_INPUT, "more than %d tensors", WEIGHT_COUNT_MAX);
    if (!rc && map_at(&x->map, name.p, name.len, 0))
        rc = err_set(ERR_INPUT, "two tensors are named %s", name.p);
    if (!rc) {
        uint64_t *shard = map_at(&x->shards, c->text.p, c->text.len, 1);
        if (!*shard) *shard = x->shards.count;
        *map_at(&x->map, name.p, name.len, 1) = *shard - 1;
    }
    if (!rc && x->shards.count > SHARDS_MAX)
        rc = err_set(ERR_INPUT, "more than %d shards", SHARDS_MAX);
    str_release(&name);
    return rc;
}

int shard_index_decode(struct shard_index *x, const void *p, size_t n)
{
    struct json_cursor c;
    int seen = 0;
    json_cursor_init(&c, p, n);
    *x = (struct shard_index){0};
    int rc = json_cursor_open(&c, '{');
    while (!rc && (rc = json_cursor_next(&c)) > 0) {
        if ((rc = json_cursor_key(&c))) break;
        if (strcmp(c.text.p, "weight_map")) {
            rc = json_cursor_skip(&c);
            continue;
        }
        if (seen++)
            rc = err_set(ERR_INPUT, "weight_map comes twice");
        else
            rc = json_cursor_open(&c, '{');
        while (!rc && (rc = json_cursor_next(&c)) > 0) rc = read_place(x, &c);
    }
    if (!rc) rc = json_cursor_end(&c);
    if (!rc && !seen)
        rc = err_set(ERR_INPUT, "a JSON file without weight_map is no index of model shards");
    json_cursor_release(&c);
    return rc;
}

void shard_index_release(struct shard_index *x)
{
    map_release(&x->map);
    map_release(&x->shards);
}

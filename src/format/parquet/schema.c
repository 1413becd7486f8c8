/* schema.c - read a schema tree.
 * The file lists the tree depth first. Walking down, every optional node adds a definition level,
 * every repeated one also a repetition level; what arrives at a leaf decides whether it is a
 * flat column, a list of floats in any of the shapes writers have used, or beyond us. */
#include "format/parquet/schema.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 1 << 16, MAX_DEPTH = 32, MAX_NAME = 4096 };

struct element {
    const char *name;
    size_t name_size;
    int64_t physical, width, repetition, children, converted, scale, precision;
    int logical;
    int unit; /* 1 ms, 2 us, 3 ns */
    int64_t bits;
    int is_signed;
};

/* ---- elements ---- */

static int union_tag(struct thrift_in *t)
{
    int tag = 0;
    thrift_enter(t);
    for (struct thrift_field f = {0}; thrift_next(t, &f);) {
        tag = f.id;
        thrift_skip(t, f.type);
    }
    return tag;
}

static void read_logical_body(struct thrift_in *t, struct element *e)
{
    thrift_enter(t);
    for (struct thrift_field f = {0}; thrift_next(t, &f);) {
        int time = e->logical == LOGICAL_TIME || e->logical == LOGICAL_TIMESTAMP;
        if (time && f.id == 2 && f.type == THRIFT_STRUCT)
            e->unit = union_tag(t);
        else if (e->logical == LOGICAL_DECIMAL && f.id == 1)
            e->scale = thrift_get_int(t, f);
        else if (e->logical == LOGICAL_DECIMAL && f.id == 2)
            e->precision = thrift_get_int(t, f);
        else if (e->logical == LOGICAL_INTEGER && f.id == 1)
            e->bits = thrift_get_int(t, f);
        else if (e->logical == LOGICAL_INTEGER && f.id == 2)
            e->is_signed = thrift_get_int(t, f) != 0;
        else
            thrift_skip(t, f.type);
    }
}

static void read_logical(struct thrift_in *t, struct element *e)
{
    thrift_enter(t);
    for (struct thrift_field f = {0}; thrift_next(t, &f);) {
        e->logical = f.id;
        if (f.type == THRIFT_STRUCT)
            read_logical_body(t, e);
        else
            thrift_skip(t, f.type);
    }
}

/* Old writers gave only a ConvertedType: say the same as a LogicalType. */
static void from_converted(struct element *e)
{
    static const struct {
        int logical, unit, bits, is_signed;
    } table[] = {
        [CONVERTED_UTF8] = {LOGICAL_STRING, 0, 0, 0},
        [CONVERTED_MAP] = {LOGICAL_MAP, 0, 0, 0},
        [CONVERTED_MAP_KEY_VALUE] = {LOGICAL_MAP, 0, 0, 0},
        [CONVERTED_LIST] = {LOGICAL_LIST, 0, 0, 0},
        [CONVERTED_ENUM] = {LOGICAL_ENUM, 0, 0, 0},
        [CONVERTED_DECIMAL] = {LOGICAL_DECIMAL, 0, 0, 0},
        [CONVERTED_DATE] = {LOGICAL_DATE, 0, 0, 0},
        [CONVERTED_TIME_MILLIS] = {LOGICAL_TIME, 1, 0, 0},
        [CONVERTED_TIME_MICROS] = {LOGICAL_TIME, 2, 0, 0},
        [CONVERTED_TIMESTAMP_MILLIS] = {LOGICAL_TIMESTAMP, 1, 0, 0},
        [CONVERTED_TIMESTAMP_MICROS] = {LOGICAL_TIMESTAMP, 2, 0, 0},
        [CONVERTED_UINT_8] = {LOGICAL_INTEGER, 0, 8, 0},
        [CONVERTED_UINT_16] = {LOGICAL_INTEGER, 0, 16, 0},
        [CONVERTED_UINT_32] = {LOGICAL_INTEGER, 0, 32, 0},
        [CONVERTED_UINT_64] = {LOGICAL_INTEGER, 0, 64, 0},
        [CONVERTED_INT_8] = {LOGICAL_INTEGER, 0, 8, 1},
        [CONVERTED_INT_16] = {LOGICAL_INTEGER, 0, 16, 1},
        [CONVERTED_INT_32] = {LOGICAL_INTEGER, 0, 32, 1},
        [CONVERTED_INT_64] = {LOGICAL_INTEGER, 0, 64, 1},
        [CONVERTED_JSON] = {LOGICAL_JSON, 0, 0, 0},
        [CONVERTED_BSON] = {LOGICAL_BSON, 0, 0, 0},
    };
    int64_t c = e->converted;
    if (e->logical || c < 0 || c >= (int64_t)(sizeof table / sizeof *table)) return;
    e->logical = table[c].logical;
    e->unit = table[c].unit;
    e->bits = table[c].bits;
    e->is_signed = table[c].is_signed;
}

static void read_element(struct thrift_in *t, struct element *e)
{
    int64_t scale = 0, precision = 0;
    *e = (struct element){.physical = -1, .converted = -1, .name = ""};
    thrift_enter(t);
    for (struct thrift_field f = {0}; thrift_next(t, &f);) {
        switch (f.id) {
        case 1: e->physical = thrift_get_int(t, f); break;
        case 2: e->width = thrift_get_int(t, f); break;
        case 3: e->repetition = thrift_get_int(t, f); break;
        case 4: e->name_size = thrift_get_bytes(t, f, &e->name); break;
        case 5: e->children = thrift_get_int(t, f); break;
        case 6: e->converted = thrift_get_int(t, f); break;
        case 7: scale = thrift_get_int(t, f); break;
        case 8: precision = thrift_get_int(t, f); break;
        case 10:
            if (f.type == THRIFT_STRUCT)
                read_logical(t, e);
            else
                thrift_skip(t, f.type);
            break;
        default: thrift_skip(t, f.type);
        }
    }
    if (!e->logical) e->scale = scale, e->precision = precision;
    from_converted(e);
}

/* ---- leaves ---- */

/* Where the walk stands. */
struct walk {
    struct schema *out;
    const struct element *list;
    size_t count, at;
    const char *failure;
};
struct path {
    const char *name; /* joined by '.'; inside a list, the list's own */
    size_t size;
    int def, rep, list_def, depth, nullable;
    const struct element *parent;
    const char *why;
};

static const char *set_decimal(struct leaf *l, const struct element *e)
{
    if (e->scale < 0 || e->scale > 38 || e->precision < 1 || e->precision > 38 || l->width > 16)
        return "a decimal of more than 38 digits";
    int whole = !e->scale && e->precision <= 18;
    l->field.meaning = PARQUET_DECIMAL;
    l->field.type = whole ? PARQUET_INT64 : PARQUET_DOUBLE;
    l->convert = CONVERT_DECIMAL;
    l->scale = (int)e->scale;
    return NULL;
}

static void set_int(struct leaf *l, const struct element *e, int wide)
{
    static const enum parquet_meaning times[] = {PARQUET_TIME_MS, PARQUET_TIME_US, PARQUET_TIME_NS};
    static const enum parquet_meaning stamps[] = {PARQUET_STAMP_MS, PARQUET_STAMP_US,
                                                  PARQUET_STAMP_NS};
    int has_unit = e->unit >= 1 && e->unit <= 3;
    l->field.type = wide ? PARQUET_INT64 : PARQUET_INT32;
    l->convert = wide ? CONVERT_I64 : CONVERT_I32;
    if (e->logical == LOGICAL_DATE) l->field.meaning = PARQUET_DATE;
    if (e->logical == LOGICAL_TIME && has_unit) l->field.meaning = times[e->unit - 1];
    if (e->logical == LOGICAL_TIMESTAMP && has_unit) l->field.meaning = stamps[e->unit - 1];
    if (e->logical == LOGICAL_INTEGER && !e->is_signed) {
        if (e->bits == 64 && wide) l->field.meaning = PARQUET_UNSIGNED;
        if (e->bits == 32 && !wide) l->convert = CONVERT_U32, l->field.type = PARQUET_INT64;
    }
}

static void set_bytes(struct leaf *l, const struct element *e)
{
    int text =
        e->logical == LOGICAL_STRING || e->logical == LOGICAL_ENUM || e->logical == LOGICAL_JSON;
    l->field.type = text ? PARQUET_STRING : PARQUET_BINARY;
    l->convert = CONVERT_BYTES;
    if (e->logical == LOGICAL_JSON) l->field.meaning = PARQUET_JSON;
    if (e->logical == LOGICAL_UUID) l->field.meaning = PARQUET_UUID;
}

/* The type of a leaf, or why there is none. */
static const char *set_type(struct leaf *l, const struct element *e)
{
    static const size_t widths[PHYSICAL_COUNT] = {
        [PHYSICAL_INT32] = 4, [PHYSICAL_INT64] = 8,  [PHYSICAL_INT96] = 12,
        [PHYSICAL_FLOAT] = 4, [PHYSICAL_DOUBLE] = 8,
    };
    if (e->physical < 0 || e->physical >= PHYSICAL_COUNT) return "an unknown physical type";
    l->physical = (enum physical)e->physical;
    l->width = widths[l->physical];
    if (l->physical == PHYSICAL_FIXED) {
        if (e->width < 1 || e->width > 1 << 24) return "an impossible fixed length";
        l->width = (size_t)e->width;
    }
    int number = l->physical == PHYSICAL_INT32 || l->physical == PHYSICAL_INT64;
    int bytes = l->physical == PHYSICAL_BYTE_ARRAY || l->physical == PHYSICAL_FIXED;
    if (e->logical == LOGICAL_DECIMAL && (number || bytes)) return set_decimal(l, e);
    if (e->logical == LOGICAL_FLOAT16 && l->physical == PHYSICAL_FIXED && l->width == 2) {
        l->field.type = PARQUET_FLOAT, l->convert = CONVERT_F16;
        return NULL;
    }
    switch (l->physical) {
    case PHYSICAL_BOOLEAN: l->field.type = PARQUET_BOOL, l->convert = CONVERT_BOOL; break;
    case PHYSICAL_INT96:
        l->field.type = PARQUET_INT64, l->convert = CONVERT_INT96;
        l->field.meaning = PARQUET_STAMP_NS;
        break;
    case PHYSICAL_FLOAT: l->field.type = PARQUET_FLOAT, l->convert = CONVERT_F32; break;
    case PHYSICAL_DOUBLE: l->field.type = PARQUET_DOUBLE, l->convert = CONVERT_F64; break;
    default:
        if (number)
            set_int(l, e, l->physical == PHYSICAL_INT64);
        else
            set_bytes(l, e);
    }
    return NULL;
}

static void add_leaf(struct walk *w, const struct element *e, const struct path *p)
{
    struct schema *s = w->out;
    struct leaf l = {.max_def = p->def, .max_rep = p->rep, .list_def = p->list_def, .why = p->why};
    l.field.name = arena_strndup(&s->names, p->name, p->size);
    l.field.nullable = p->nullable;
    const char *why = set_type(&l, e);
    if (!l.why) l.why = why;
    if (!l.why && l.max_rep) {
        int real = l.convert >= CONVERT_F16 && l.convert <= CONVERT_F64;
        if (!real) l.why = "a list of something other than floats";
        l.field.type = PARQUET_FLOATS;
        l.field.meaning = PARQUET_PLAIN;
    }
    vec_push(s->leaves, s->count, s->cap);
    s->leaves[s->count++] = l;
}

/* The name grows downwards until the walk is inside a list. `optional group x (LIST) { repeated
 * ... }` is x itself, a bare `repeated float x` is x as well. */
static void extend_name(struct walk *w, struct path *p, const struct element *e)
{
    int inside = p->rep > 0;
    int of_list = e->repetition == REPETITION_REPEATED && p->parent &&
                  (p->parent->logical == LOGICAL_LIST || p->parent->logical == LOGICAL_MAP);
    if (inside || of_list) return;
    size_t size = p->size + (p->size ? 1 : 0) + e->name_size;
    if (size > MAX_NAME) {
        w->failure = "a column name above 4096 bytes";
        return;
    }
    char *name = arena_alloc(&w->out->names, size + 1);
    memcpy(name, p->name, p->size);
    if (p->size) name[p->size] = '.';
    memcpy(name + size - e->name_size, e->name, e->name_size);
    p->name = name, p->size = size;
}

static void extend_levels(struct path *p, const struct element *e)
{
    if (e->repetition == REPETITION_OPTIONAL) {
        p->def++;
        if (!p->rep) p->nullable = 1;
    }
    if (e->repetition == REPETITION_REPEATED) {
        if (p->rep && !p->why) p->why = "a list of lists";
        p->list_def = p->def++;
        p->rep++;
    }
    if (e->logical == LOGICAL_MAP) p->why = "a map";
    if (p->rep && e->children > 1 && !p->why) p->why = "a list of structs";
}

static void walk_element(struct walk *w, struct path p)
{
    if (w->at >= w->count) w->failure = "a schema cut short";
    if (p.depth > MAX_DEPTH) w->failure = "a schema nested too deeply";
    if (w->failure) return;
    const struct element *e = &w->list[w->at++];
    if (e->repetition < REPETITION_REQUIRED || e->repetition > REPETITION_REPEATED)
        w->failure = "an impossible repetition";
    else if (e->children < 0 || (size_t)e->children > w->count - w->at)
        w->failure = "an impossible number of children";
    else
        extend_name(w, &p, e);
    if (w->failure) return;
    extend_levels(&p, e);
    if (!e->children && e->physical < 0) return; /* an empty group holds no column */
    if (!e->children) add_leaf(w, e, &p);
    p.parent = e;
    p.depth++;
    for (int64_t i = 0; i < e->children && !w->failure; i++) walk_element(w, p);
}

int schema_parse(struct schema *s, struct thrift_in *t, size_t elements)
{
    if (!elements) return err_set(ERR_INPUT, "the Parquet schema is empty");
    if (elements > MAX_ELEMENTS)
        return err_set(ERR_INPUT, "the Parquet schema has more than %d elements", MAX_ELEMENTS);
    struct element *list = mem_alloc(mem_mul(elements, sizeof *list));
    for (size_t i = 0; i < elements; i++) read_element(t, &list[i]);
    struct walk w = {.out = s, .list = list, .count = elements, .at = 1, .failure = t->bad};
    for (int64_t i = 0; i < list[0].children && !w.failure; i++)
        walk_element(&w, (struct path){.name = ""});
    if (!w.failure && w.at != elements) w.failure = "elements outside the tree";
    free(list);
    return w.failure ? err_set(ERR_INPUT, "the Parquet schema has %s", w.failure) : 0;
}

void schema_release(struct schema *s)
{
    arena_release(&s->names);
    free(s->leaves);
    memset(s, 0, sizeof *s);
}

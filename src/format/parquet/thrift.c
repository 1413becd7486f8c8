/* thrift.c - Thrift's compact protocol.
 * Integers are zigzag varints; a field header holds the distance to the previous id. The reader is
 * meant for hostile bytes: it never looks past the end, bounds its depth, and after the first
 * mistake behaves like an input of zeros, so callers test `bad` once at the end. */
#include "format/parquet/thrift.h"

#include <assert.h>

void thrift_varint(struct str *out, uint64_t v)
{
    char b[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) b[n++] = (char)(v | 0x80);
    b[n++] = (char)v;
    str_add(out, b, n);
}

static uint64_t zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static void field(struct thrift_out *t, int id, int type)
{
    int *last = &t->last[t->depth], step = id - *last;
    if (step > 0 && step < 16) {
        str_putc(t->out, (char)(step << 4 | type));
    } else {
        str_putc(t->out, (char)type);
        thrift_varint(t->out, zigzag(id));
    }
    *last = id;
}

void thrift_int(struct thrift_out *t, int id, enum thrift_type type, int64_t v)
{
    field(t, id, (int)type);
    thrift_varint(t->out, zigzag(v));
}

void thrift_bool(struct thrift_out *t, int id, int v)
{
    field(t, id, v ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_bytes(struct thrift_out *t, int id, const void *p, size_t n)
{
    field(t, id, THRIFT_BINARY);
    thrift_bytes_element(t, p, n);
}

void thrift_begin(struct thrift_out *t, int id)
{
    field(t, id, THRIFT_STRUCT);
    thrift_begin_element(t);
}

void thrift_list(struct thrift_out *t, int id, enum thrift_type element, size_t n)
{
    field(t, id, THRIFT_LIST);
    if (n < 15) {
        str_putc(t->out, (char)(n << 4 | element));
    } else {
        str_putc(t->out, (char)(0xf0 | element));
        thrift_varint(t->out, n);
    }
}

void thrift_begin_element(struct thrift_out *t)
{
    assert(t->depth + 1 < THRIFT_NEST);
    t->last[++t->depth] = 0;
}

void thrift_end(struct thrift_out *t)
{
    str_putc(t->out, THRIFT_STOP);
    t->depth--;
}

void thrift_int_element(struct thrift_out *t, int64_t v)
{
    thrift_varint(t->out, zigzag(v));
}

void thrift_bytes_element(struct thrift_out *t, const void *p, size_t n)
{
    thrift_varint(t->out, n);
    str_add(t->out, p, n);
}

/* ---- reading ---- */

enum { DEEPEST = 32 };

static uint64_t fail(struct thrift_in *t, const char *why)
{
    if (!t->bad) t->bad = why;
    t->p = t->end;
    return 0;
}

static unsigned byte(struct thrift_in *t)
{
    if (t->p >= t->end) return (unsigned)fail(t, "cut short");
    return *t->p++;
}

static uint64_t varint(struct thrift_in *t)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        unsigned b = byte(t);
        v |= (uint64_t)(b & 0x7f) << shift;
        if (!(b & 0x80)) return v;
    }
    return fail(t, "a number of more than 64 bits");
}

static int64_t integer(struct thrift_in *t)
{
    uint64_t v = varint(t);
    return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

static size_t length(struct thrift_in *t)
{
    uint64_t n = varint(t);
    if (n > (uint64_t)(t->end - t->p)) return fail(t, "a length beyond the end");
    return (size_t)n;
}

void thrift_enter(struct thrift_in *t)
{
    if (++t->depth > DEEPEST) fail(t, "nested too deeply");
}

int thrift_next(struct thrift_in *t, struct thrift_field *f)
{
    unsigned b = byte(t);
    f->type = b & 15;
    if (f->type == THRIFT_STOP || t->bad) {
        t->depth--;
        return 0;
    }
    int64_t id = b >> 4 ? f->id + (int)(b >> 4) : integer(t);
    if (id < -32768 || id > 32767 || f->type > THRIFT_STRUCT) {
        fail(t, "an impossible field");
        t->depth--;
        return 0;
    }
    f->id = (int)id;
    return 1;
}

int64_t thrift_get_int(struct thrift_in *t, struct thrift_field f)
{
    switch (f.type) {
    case THRIFT_TRUE: return 1;
    case THRIFT_FALSE: return 0;
    case THRIFT_BYTE: return (int8_t)byte(t);
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64: return integer(t);
    default: return (int64_t)fail(t, "a field of the wrong type");
    }
}

size_t thrift_get_bytes(struct thrift_in *t, struct thrift_field f, const char **p)
{
    size_t n = f.type == THRIFT_BINARY ? length(t) : fail(t, "a field of the wrong type");
    *p = (const char *)t->p;
    t->p += n;
    return n;
}

/* Every element takes at least a byte, so a list cannot be longer than what is left. */
static size_t list_head(struct thrift_in *t, unsigned *element)
{
    unsigned b = byte(t);
    *element = b & 15;
    uint64_t n = b >> 4;
    if (n == 15) n = varint(t);
    if (n > (uint64_t)(t->end - t->p)) return fail(t, "a list beyond the end");
    return (size_t)n;
}

size_t thrift_get_list(struct thrift_in *t, struct thrift_field f, enum thrift_type element)
{
    unsigned found;
    if (f.type != THRIFT_LIST) return fail(t, "a field of the wrong type");
    size_t n = list_head(t, &found);
    if (n && found != element) return fail(t, "a list of the wrong type");
    return n;
}

static void skip_elements(struct thrift_in *t, size_t n, unsigned type)
{
    int is_bool = type == THRIFT_TRUE || type == THRIFT_FALSE;
    for (size_t i = 0; i < n && !t->bad; i++) {
        if (is_bool)
            byte(t);
        else
            thrift_skip(t, type);
    }
}

static void skip_map(struct thrift_in *t)
{
    size_t n = length(t);
    unsigned kinds = n ? byte(t) : 0;
    for (size_t i = 0; i < n && !t->bad; i++) {
        skip_elements(t, 1, kinds >> 4);
        skip_elements(t, 1, kinds & 15);
    }
}

void thrift_skip(struct thrift_in *t, enum thrift_type type)
{
    unsigned element;
    size_t n;
    if (++t->depth > DEEPEST) fail(t, "nested too deeply");
    switch (type) {
    case THRIFT_TRUE:
    case THRIFT_FALSE: break;
    case THRIFT_BYTE: byte(t); break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64: varint(t); break;
    case THRIFT_DOUBLE:
        if (t->end - t->p < 8)
            fail(t, "cut short");
        else
            t->p += 8;
        break;
    case THRIFT_BINARY: n = length(t), t->p += n; break;
    case THRIFT_LIST:
    case THRIFT_SET: n = list_head(t, &element), skip_elements(t, n, element); break;
    case THRIFT_MAP: skip_map(t); break;
    case THRIFT_STRUCT:
        thrift_enter(t);
        for (struct thrift_field f = {0}; thrift_next(t, &f);) thrift_skip(t, f.type);
        break;
    default: fail(t, "an impossible type");
    }
    t->depth--;
}

/* npy.c - see npy.h.
 * The header is the repr of a Python dict. The reader takes exactly that: three known keys in
 * any order, single or double quotes, no other expression. */
#include "format/npy.h"
#include "base/err.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum {
    MAGIC = 6,
    PREFIX = 10, /* magic, version, u16 length: format 1.0 */
    ALIGN = 64,
    GROWTH_DIGITS = 21, /* numpy reserves this much for the first dimension */
};
static const char magic[] = "\x93NUMPY";

/* Bytes of one number of this descr, 0 when it is not one of plain little-endian numbers. */
static size_t descr_item(const char *descr, size_t n)
{
    static const char known[] = "|b1 |i1 |u1 <i2 <u2 <f2 <i4 <u4 <f4 <i8 <u8 <f8 <c8";
    for (const char *k = known; n == 3 && k < known + sizeof known - 1; k += 4)
        if (!memcmp(k, descr, 3)) return (size_t)(descr[2] - '0');
    return 0;
}

int npy_encode_header(struct str *out, const char *descr, const int64_t *dim, int rank)
{
    char first[32] = "";
    if (!descr_item(descr, strlen(descr)))
        return err_set(ERR_USAGE, "npy: no such number type as '%s'", descr);
    str_clear(out);
    str_add(out, "\x93NUMPY\x01\x00\x00\x00", PREFIX);
    str_printf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank; i++) str_printf(out, i ? ", %lld" : "%lld", (long long)dim[i]);
    str_puts(out, rank == 1 ? ",), }" : "), }");
    if (rank) {
        int digits = snprintf(first, sizeof first, "%lld", (long long)dim[0]);
        for (int i = digits; i < GROWTH_DIGITS; i++) str_putc(out, ' ');
    }
    /* A header that already fits gets another 64 bytes: so does numpy. */
    size_t pad = ALIGN - (out->len + 1) % ALIGN;
    while (pad--) str_putc(out, ' ');
    str_putc(out, '\n');
    size_t text = out->len - PREFIX;
    out->p[8] = (char)(text & 255);
    out->p[9] = (char)(text >> 8);
    return 0;
}

/* ---- writing rows ---- */

static int writer_header(struct npy_writer *w, struct str *header)
{
    int64_t dim[2] = {w->rows, w->cols};
    return npy_encode_header(header, w->descr, dim, w->cols < 0 ? 1 : 2);
}

int npy_writer_init(struct npy_writer *w, struct sink *sink, const char *descr, int64_t cols)
{
    struct str header = {0};
    size_t item = descr_item(descr, strlen(descr));
    *w = (struct npy_writer){.sink = sink, .cols = cols, .at = sink_size(sink)};
    if (!item) return err_set(ERR_USAGE, "npy: no such number type as '%s'", descr);
    memcpy(w->descr, descr, sizeof w->descr);
    w->row = mem_mul(item, cols < 0 ? 1 : (size_t)cols);
    int rc = writer_header(w, &header);
    if (!rc) rc = sink_write(sink, header.p, header.len);
    str_release(&header);
    return rc;
}

int npy_writer_add(struct npy_writer *w, const void *rows, int64_t count)
{
    int rc = w->row ? sink_write(w->sink, rows, mem_mul((size_t)count, w->row)) : 0;
    if (!rc) w->rows += count;
    return rc;
}

int npy_writer_finish(struct npy_writer *w)
{
    struct str header = {0};
    int rc = writer_header(w, &header);
    if (!rc) rc = sink_patch(w->sink, w->at, header.p, header.len);
    str_release(&header);
    return rc;
}

/* ---- reading ---- */

struct text {
    const char *p, *end;
};

static void skip_space(struct text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t')) t->p++;
}

/* Is c the next character that is not space? */
static int at(struct text *t, char c)
{
    skip_space(t);
    return t->p < t->end && *t->p == c;
}

static int take(struct text *t, char c)
{
    int there = at(t, c);
    t->p += there;
    return there;
}

static int take_word(struct text *t, const char *word)
{
    size_t n = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n)) return 0;
    t->p += n;
    return 1;
}

static int take_quoted(struct text *t, const char **s, size_t *n)
{
    skip_space(t);
    if (t->p == t->end || (*t->p != '\'' && *t->p != '"')) return 0;
    char quote = *t->p++;
    *s = t->p;
    while (t->p < t->end && *t->p != quote && *t->p != '\\') t->p++;
    if (t->p == t->end || *t->p != quote) return 0;
    *n = (size_t)(t->p++ - *s);
    return 1;
}

static int take_dimension(struct text *t, int64_t *out)
{
    int64_t v = 0;
    skip_space(t);
    const char *start = t->p;
    for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *t->p - '0', &v))
            return 0;
    *out = v;
    if (t->p < t->end && *t->p == 'L') t->p++; /* Python 2 wrote long integers so */
    return t->p > start;
}

static int read_shape(struct npy *a, struct text *t)
{
    if (!take(t, '(')) return err_set(ERR_INPUT, "npy header: the shape is not a tuple");
    while (!take(t, ')')) {
        if (a->rank == NPY_RANK)
            return err_set(ERR_INPUT, "npy header: more than %d dimensions", NPY_RANK);
        if (!take_dimension(t, &a->dim[a->rank++]) || (!take(t, ',') && !at(t, ')')))
            return err_set(ERR_INPUT, "npy header: the shape is not a tuple of sizes");
    }
    return 0;
}

static int read_descr(struct npy *a, struct text *t)
{
    const char *s;
    size_t n;
    if (!take_quoted(t, &s, &n))
        return err_set(ERR_INPUT, "npy header: records are not numbers; save plain arrays");
    if (memchr(s, 'O', n))
        return err_set(ERR_INPUT, "npy header: an array of Python objects is never read; save it "
                                  "as numbers");
    if (n && *s == '>') return err_set(ERR_INPUT, "npy header: big-endian numbers; save as '<'");
    a->item = descr_item(s, n);
    if (!a->item)
        return err_set(ERR_INPUT, "npy header: cannot read numbers of type '%.*s'",
                       (int)(n < 32 ? n : 32), s);
    memcpy(a->descr, s, n);
    return 0;
}

static int read_order(struct text *t)
{
    if (take_word(t, "False")) return 0;
    if (take_word(t, "True"))
        return err_set(ERR_INPUT, "npy header: Fortran order; save np.ascontiguousarray(a)");
    return err_set(ERR_INPUT, "npy header: fortran_order is neither True nor False");
}

static int read_field(struct npy *a, struct text *t, unsigned *seen)
{
    static const char *const names[] = {"descr", "fortran_order", "shape"};
    const char *s;
    size_t n;
    unsigned field = 0;
    if (!take_quoted(t, &s, &n) || !take(t, ':'))
        return err_set(ERR_INPUT, "npy header: not a dictionary");
    while (field < 3 && (strlen(names[field]) != n || memcmp(names[field], s, n))) field++;
    if (field == 3 || (*seen & 1u << field))
        return err_set(ERR_INPUT, "npy header: unknown or repeated field");
    *seen |= 1u << field;
    return field == 0 ? read_descr(a, t) : field == 1 ? read_order(t) : read_shape(a, t);
}

static int read_header(struct npy *a, struct text *t)
{
    unsigned seen = 0;
    if (!take(t, '{')) return err_set(ERR_INPUT, "npy header: not a dictionary");
    while (!take(t, '}')) {
        int rc = read_field(a, t, &seen);
        if (rc) return rc;
        if (!take(t, ',') && !at(t, '}')) return err_set(ERR_INPUT, "npy header: not a dictionary");
    }
    skip_space(t);
    if (t->p != t->end) return err_set(ERR_INPUT, "npy header: text after the dictionary");
    if (seen != 7) return err_set(ERR_INPUT, "npy header: descr, fortran_order or shape missing");
    return 0;
}

static int check_size(struct npy *a, size_t have)
{
    size_t count = 1, bytes;
    for (int i = 0; i < a->rank; i++)
        if (mem_mul_overflows(count, (size_t)a->dim[i], &count) || count > INT64_MAX)
            return err_set(ERR_INPUT, "npy header: the shape overflows");
    if (mem_mul_overflows(count, a->item, &bytes) || bytes != have)
        return err_set(ERR_INPUT, "npy: %zu bytes of numbers where the header promises %zu x %zu",
                       have, count, a->item);
    a->count = (int64_t)count;
    return 0;
}

int npy_decode(struct npy *out, const void *p, size_t n)
{
    const unsigned char *b = p;
    *out = (struct npy){0};
    if (n < PREFIX || memcmp(b, magic, MAGIC)) return err_set(ERR_INPUT, "not a npy file");
    if (b[6] < 1 || b[6] > 3 || b[7]) return err_set(ERR_INPUT, "npy version %d.%d", b[6], b[7]);
    size_t prefix = b[6] == 1 ? PREFIX : PREFIX + 2, length = b[8] | (size_t)b[9] << 8;
    if (n < prefix) return err_set(ERR_INPUT, "npy: cut in the header");
    if (b[6] > 1) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > NPY_HEADER_MAX)
        return err_set(ERR_INPUT, "npy: a header of %zu bytes (limit %d)", length, NPY_HEADER_MAX);
    if (length > n - prefix) return err_set(ERR_INPUT, "npy: cut in the header");
    struct text t = {(const char *)b + prefix, (const char *)b + prefix + length};
    int rc = read_header(out, &t);
    out->data = b + prefix + length;
    return rc ? rc : check_size(out, n - prefix - length);
}

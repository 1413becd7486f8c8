/* parquet_tool.c - lets the Python tests write and read Parquet through our code.
 *     parquet_tool write FOLDER NAME < lines    first line: {"columns": [[name, type,
 * nullable]...], "options": {...}}, then one array a row parquet_tool dump FILE [BATCH] [COLUMN...]
 * first line: fields and skipped, then one array a row Reals travel as C99 hex strings (or nan,
 * inf), bytes as hex, so that nothing is rounded. */
#include "base/err.h"
#include "base/mem.h"
#include "format/parquet/parquet.h"
#include "io/file.h"
#include "io/place.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, err_text());
    exit(1);
}

static void check(int rc, const char *what)
{
    if (rc) die(what);
}

/* ---- write ---- */

static enum parquet_type type_of(const char *name)
{
    for (int t = PARQUET_BOOL; t <= PARQUET_FLOATS; t++)
        if (!strcmp(parquet_type_name((enum parquet_type)t), name)) return (enum parquet_type)t;
    err_set(ERR_USAGE, "no type %s", name);
    die("schema");
    return 0;
}

static size_t option(json_t *o, const char *name)
{
    return (size_t)json_integer_value(json_object_get(o, name));
}

static char digit(char c)
{
    return (char)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static size_t unhex(char *out, const char *hex)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) out[i] = (char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    return n;
}

static void put(struct parquet_writer *w, size_t col, enum parquet_type type, json_t *v)
{
    const char *s = json_string_value(v);
    size_t n = json_is_array(v) ? json_array_size(v) : s ? json_string_length(v) : 0;
    void *buf = mem_alloc(n * 4 + 1);
    if (json_is_null(v))
        parquet_put_null(w, col);
    else if (type == PARQUET_BOOL)
        parquet_put_bool(w, col, json_is_true(v));
    else if (type == PARQUET_INT32 || type == PARQUET_INT64)
        parquet_put_int(w, col, json_integer_value(v));
    else if (type == PARQUET_FLOAT || type == PARQUET_DOUBLE)
        parquet_put_real(w, col, strtod(s, NULL));
    else if (type == PARQUET_STRING)
        parquet_put_string(w, col, s, n);
    else if (type == PARQUET_BINARY)
        parquet_put_binary(w, col, buf, unhex(buf, s));
    else {
        for (size_t i = 0; i < n; i++)
            ((float *)buf)[i] = strtof(json_string_value(json_array_get(v, i)), NULL);
        parquet_put_floats(w, col, buf, n);
    }
    free(buf);
}

static json_t *read_line(char **line, size_t *cap)
{
    json_error_t e;
    ssize_t n = getline(line, cap, stdin);
    if (n <= 0) return NULL;
    json_t *j = json_loadb(*line, (size_t)n, JSON_ALLOW_NUL, &e);
    if (!j) err_set(ERR_INPUT, "%s", e.text), die("input line");
    return j;
}

static int write_file(const char *folder, const char *name)
{
    char *line = NULL;
    size_t cap = 0;
    json_t *head = read_line(&line, &cap), *list = json_object_get(head, "columns");
    json_t *o = json_object_get(head, "options"), *c, *row;
    struct parquet_column columns[256];
    size_t n = json_array_size(list), i;
    json_array_foreach(list, i, c)
    {
        columns[i] = (struct parquet_column){json_string_value(json_array_get(c, 0)),
                                             type_of(json_string_value(json_array_get(c, 1))),
                                             json_is_true(json_array_get(c, 2))};
    }
    const char *metadata[] = {"origin", "parquet_tool", "empty", "", NULL};
    struct parquet_options options = {.codec = (enum parquet_codec)option(o, "codec"),
                                      .level = (int)option(o, "level"),
                                      .row_group_bytes = option(o, "row_group_bytes"),
                                      .row_group_rows = option(o, "row_group_rows"),
                                      .page_bytes = option(o, "page_bytes"),
                                      .no_dictionary = (int)option(o, "no_dictionary"),
                                      .metadata = option(o, "metadata") ? metadata : NULL};
    struct place *place;
    struct sink *sink;
    struct parquet_writer *w;
    check(place_open(&place, folder, 1), folder);
    check(place_create(place, name, &sink), name);
    check(parquet_writer_new(&w, sink, columns, n, &options), "writer");
    for (; (row = read_line(&line, &cap)); json_decref(row)) {
        json_array_foreach(row, i, c) put(w, i, columns[i].type, c);
        check(parquet_end_row(w), "row");
    }
    check(parquet_finish(w), "finish");
    parquet_writer_free(w);
    check(sink_commit(sink, NULL, NULL), "commit");
    place_close(place);
    json_decref(head);
    free(line);
    return 0;
}

/* ---- dump ---- */

static void print_text(const char *p, size_t n)
{
    json_t *j = json_stringn(p, n);
    if (!j) j = json_string("(not UTF-8)");
    json_dumpf(j, stdout, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    json_decref(j);
}

static void print_real(double v)
{
    if (isnan(v))
        printf("\"nan\"");
    else if (isinf(v))
        printf("\"%sinf\"", v < 0 ? "-" : "");
    else
        printf("\"%a\"", v);
}

static void print_value(const struct parquet_field *f, const struct parquet_values *v, size_t i)
{
    if (v->valid && !v->valid[i]) {
        printf("null");
        return;
    }
    switch (f->type) {
    case PARQUET_BOOL: printf(v->bools[i] ? "true" : "false"); break;
    case PARQUET_INT32:
    case PARQUET_INT64:
        if (f->meaning == PARQUET_UNSIGNED)
            printf("%llu", (unsigned long long)v->ints[i]);
        else
            printf("%lld", (long long)v->ints[i]);
        break;
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE: print_real(v->reals[i]); break;
    case PARQUET_STRING: print_text(v->slices[i].p, v->slices[i].n); break;
    case PARQUET_BINARY:
        putchar('"');
        for (size_t k = 0; k < v->slices[i].n; k++) printf("%02x", (uint8_t)v->slices[i].p[k]);
        putchar('"');
        break;
    case PARQUET_FLOATS:
        putchar('[');
        for (size_t k = v->starts[i]; k < v->starts[i + 1]; k++) {
            if (k > v->starts[i]) putchar(',');
            print_real(v->floats[k]);
        }
        putchar(']');
    }
}

static void print_head(const struct parquet_reader *r, const int *want, size_t n)
{
    printf("{\"rows\":%llu,\"fields\":[", (unsigned long long)parquet_rows(r));
    for (size_t k = 0; k < n; k++) {
        const struct parquet_field *f = parquet_field(r, (size_t)want[k]);
        printf("%s[", k ? "," : "");
        print_text(f->name, strlen(f->name));
        printf(",\"%s\",%d,%d]", parquet_type_name(f->type), f->nullable, (int)f->meaning);
    }
    printf("],\"skipped\":[");
    for (size_t k = 0; k < parquet_skipped(r); k++) {
        if (k) putchar(',');
        print_text(parquet_skipped_text(r, k), strlen(parquet_skipped_text(r, k)));
    }
    printf("]}\n");
}

static int dump_file(const char *path, size_t batch, char **names, int count)
{
    struct file_map map;
    struct parquet_reader *r;
    size_t rows, n = 0;
    int rc, want[256];
    check(file_map(&map, path), path);
    check(parquet_open(&r, map.p, map.n), path);
    for (size_t i = 0; !count && i < parquet_fields(r); i++) want[n++] = (int)i;
    for (int i = 0; i < count; i++)
        if ((want[n++] = parquet_find(r, names[i])) < 0)
            err_set(ERR_USAGE, "not there"), die(names[i]);
    for (size_t k = 0; k < n; k++) parquet_select(r, (size_t)want[k]);
    print_head(r, want, n);
    while (!(rc = parquet_next(r, batch, &rows)))
        for (size_t i = 0; i < rows; i++) {
            putchar('[');
            for (size_t k = 0; k < n; k++) {
                size_t col = (size_t)want[k];
                if (k) putchar(',');
                print_value(parquet_field(r, col), parquet_values(r, col), i);
            }
            printf("]\n");
        }
    if (rc < 0) die(path);
    parquet_close(r);
    file_unmap(&map);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "write")) return write_file(argv[2], argv[3]);
    if (argc >= 3 && !strcmp(argv[1], "dump"))
        return dump_file(argv[2], argc > 3 ? (size_t)atoll(argv[3]) : 0, argv + 4,
                         argc > 4 ? argc - 4 : 0);
    fprintf(stderr, "usage: parquet_tool write FOLDER NAME | dump FILE [BATCH] [COLUMN...]\n");
    return 2;
}

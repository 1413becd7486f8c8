/* parquet_bench.c - our side of bench/parquet.py.
 *     parquet_bench write IN FOLDER snappy|zstd|none [plain]   rows of IN, held in memory, to
 * FOLDER parquet_bench read IN                                    every column, every value looked
 * at Prints the CPU seconds of the writing or reading alone. */
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "format/parquet/parquet.h"
#include "io/file.h"
#include "io/place.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int rc)
{
    if (rc) fprintf(stderr, "%s\n", err_text()), exit(1);
}

/* A whole column in memory. */
struct held {
    struct parquet_column column;
    uint8_t *valid;
    double *reals;
    int64_t *ints;
    struct str text; /* strings one after another; starts says where */
    float *floats;
    size_t *starts;
};

static void hold_batch(struct held *h, const struct parquet_values *v, size_t at)
{
    for (size_t i = 0; i < v->rows; i++, at++) {
        h->valid[at] = !v->valid || v->valid[i];
        if (v->ints) h->ints[at] = v->ints[i];
        if (v->bools) h->ints[at] = v->bools[i];
        if (v->reals) h->reals[at] = v->reals[i];
        if (v->slices) {
            str_add(&h->text, v->slices[i].p, v->slices[i].n);
            h->starts[at + 1] = h->text.len;
        }
        if (v->starts) {
            size_t n = v->starts[i + 1] - v->starts[i], to = h->starts[at];
            h->floats = mem_resize(h->floats, (to + n + 1) * sizeof *h->floats);
            memcpy(h->floats + to, v->floats + v->starts[i], n * sizeof *h->floats);
            h->starts[at + 1] = to + n;
        }
    }
}

static struct held *hold(struct parquet_reader *r)
{
    size_t n = parquet_fields(r), rows = (size_t)parquet_rows(r), got, at = 0;
    struct held *h = mem_alloc(n * sizeof *h);
    for (size_t i = 0; i < n; i++) {
        const struct parquet_field *f = parquet_field(r, i);
        h[i].column = (struct parquet_column){f->name, f->type, f->nullable};
        h[i].valid = mem_alloc(rows + 1);
        h[i].ints = mem_alloc((rows + 1) * 8);
        h[i].reals = mem_alloc((rows + 1) * 8);
        h[i].starts = mem_alloc((rows + 1) * sizeof(size_t));
        parquet_select(r, i);
    }
    while (!parquet_next(r, 0, &got)) {
        for (size_t i = 0; i < n; i++) hold_batch(&h[i], parquet_values(r, i), at);
        at += got;
    }
    return h;
}

static void put(struct parquet_writer *w, const struct held *h, size_t col, size_t i)
{
    size_t size = h->starts[i + 1] - h->starts[i];
    const char *text = h->text.p ? h->text.p + h->starts[i] : NULL;
    if (!h->valid[i]) return;
    switch (h->column.type) {
    case PARQUET_BOOL: parquet_put_bool(w, col, (int)h->ints[i]); break;
    case PARQUET_INT32:
    case PARQUET_INT64: parquet_put_int(w, col, h->ints[i]); break;
    case PARQUET_FLOAT:
    case PARQUET_DOUBLE: parquet_put_real(w, col, h->reals[i]); break;
    case PARQUET_STRING: parquet_put_string(w, col, text, size); break;
    case PARQUET_BINARY: parquet_put_binary(w, col, text, size); break;
    case PARQUET_FLOATS: parquet_put_floats(w, col, h->floats + h->starts[i], size);
    }
}

static double write_all(const struct held *h, size_t n, size_t rows, const char *folder,
                        const struct parquet_options *o)
{
    struct parquet_column columns[64];
    struct place *place;
    struct sink *sink;
    struct parquet_writer *w;
    for (size_t i = 0; i < n; i++) columns[i] = h[i].column;
    check(place_open(&place, folder, 1));
    check(place_create(place, "ours.parquet", &sink));
    double start = clock_cpu();
    check(parquet_writer_new(&w, sink, columns, n, o));
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < n; k++) put(w, &h[k], k, i);
        check(parquet_end_row(w));
    }
    check(parquet_finish(w));
    double spent = clock_cpu() - start;
    parquet_writer_free(w);
    check(sink_commit(sink, NULL, NULL));
    place_close(place);
    return spent;
}

static uint64_t look_at(const struct parquet_values *v)
{
    uint64_t sum = 0;
    for (size_t i = 0; v->slices && i < v->rows; i++)
        if (v->slices[i].n) sum += (uint8_t)v->slices[i].p[0] + v->slices[i].n;
    for (size_t i = 0; v->ints && i < v->rows; i++) sum += (uint64_t)v->ints[i];
    for (size_t i = 0; v->reals && i < v->rows; i++) sum += v->reals[i] > 0;
    for (size_t i = 0; v->starts && i < v->starts[v->rows]; i++) sum += v->floats[i] > 0;
    return sum;
}

static double read_all(const struct file_map *map)
{
    struct parquet_reader *r;
    size_t rows;
    volatile uint64_t sum = 0;
    int rc;
    double start = clock_cpu();
    check(parquet_open(&r, map->p, map->n));
    for (size_t i = 0; i < parquet_fields(r); i++) parquet_select(r, i);
    while (!(rc = parquet_next(r, 0, &rows)))
        for (size_t i = 0; i < parquet_fields(r); i++) sum += look_at(parquet_values(r, i));
    check(rc < 0 ? rc : 0);
    parquet_close(r);
    return clock_cpu() - start;
}

int main(int argc, char **argv)
{
    struct file_map map;
    struct parquet_reader *r;
    if (argc < 3) return 2;
    check(file_map(&map, argv[2]));
    if (!strcmp(argv[1], "read")) {
        double best = 1e9;
        for (int i = 0; i < 3; i++) best = fmin(best, read_all(&map));
        printf("%.6f\n", best);
        return 0;
    }
    if (argc < 5) return 2;
    check(parquet_open(&r, map.p, map.n));
    struct parquet_options o = {.codec = !strcmp(argv[4], "zstd")   ? PARQUET_ZSTD
                                         : !strcmp(argv[4], "none") ? PARQUET_NONE
                                                                    : PARQUET_SNAPPY,
                                .no_dictionary = argc > 5};
    struct held *h = hold(r);
    double best = 1e9;
    for (int i = 0; i < 3; i++)
        best = fmin(best, write_all(h, parquet_fields(r), (size_t)parquet_rows(r), argv[3], &o));
    printf("%.6f\n", best);
    return 0; /* the process ends: nothing is given back */
}

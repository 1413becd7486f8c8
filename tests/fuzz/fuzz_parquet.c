/* fuzz_parquet.c - any bytes as a Parquet file: open, select all, read some batches. */
#include "base/platform.h"
#include "format/parquet/parquet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Touch every byte that a batch points to, so that the sanitizer sees a bad slice. */
static uint64_t touch(const struct parquet_values *v)
{
    uint64_t sum = 0;
    for (size_t i = 0; v->slices && i < v->rows; i++)
        for (size_t k = 0; k < v->slices[i].n; k += 61) sum += (uint8_t)v->slices[i].p[k];
    for (size_t i = 0; v->ints && i < v->rows; i++) sum += (uint64_t)v->ints[i];
    for (size_t i = 0; v->bools && i < v->rows; i++) sum += v->bools[i];
    for (size_t i = 0; v->reals && i < v->rows; i++) sum += v->reals[i] > 0;
    for (size_t i = 0; v->starts && i < v->starts[v->rows]; i++) sum += v->floats[i] > 0;
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct parquet_reader *r;
    volatile uint64_t sum = 0;
    size_t rows;
    if (parquet_open(&r, data, n)) return 0;
    for (size_t i = 0; i < parquet_fields(r); i++) parquet_select(r, i);
    for (int batch = 0; batch < 20 && !parquet_next(r, n % 3 ? 0 : 5, &rows); batch++)
        for (size_t i = 0; i < parquet_fields(r); i++) sum += touch(parquet_values(r, i));
    parquet_close(r);
    return 0;
}

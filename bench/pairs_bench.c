/* pairs_bench.c - the scores of one cluster in a raw file of f16 rows; driven by pairs.py.
 *     pairs_bench ROWS.f16 N DIM THREADS OUT.f32
 * Prints wall and CPU seconds; writes the scores. */
#include "algo/pairs.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "tensor/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int main(int argc, char **argv)
{
    if (argc != 6) return 2;
    int64_t n = atoll(argv[2]), dim = atoll(argv[3]);
    uint16_t *x = mem_aligned((size_t)(n * dim) * sizeof *x);
    FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[5], "wb");
    if (!in || !out || fread(x, sizeof *x, (size_t)(n * dim), in) != (size_t)(n * dim)) return 1;
    struct tensor t = tensor_2d(x, F16, n, dim);
    struct rows rows = rows_of(&t);
    struct pairs_options o = {.normalize = 1};
    struct device *d;
    float *score = mem_alloc((size_t)n * sizeof *score);
    int32_t *earlier = mem_alloc((size_t)n * sizeof *earlier);
    if (device_open(&d, "cpu", atoi(argv[4]))) return 1;
    double wall = clock_now(), cpu = cpu_seconds();
    if (pairs_score(score, earlier, d, &rows, &o)) {
        fprintf(stderr, "%s\n", err_text());
        return 1;
    }
    printf("%.4f %.4f\n", clock_now() - wall, cpu_seconds() - cpu);
    fwrite(score, sizeof *score, (size_t)n, out);
    fclose(out);
    fclose(in);
    free(x), free(score), free(earlier);
    device_close(d);
    return 0;
}

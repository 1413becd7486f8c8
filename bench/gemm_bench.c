/* gemm_bench.c - how near `linear` comes to the machine: GFLOP/s per shape as CPU time of one
 * lane, best of several, beside the FMA peak measured in the same run by the same clock.
 *     gemm_bench [rows [isa]]     one row count, one instruction set */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "peak.h"
#include "tensor/cpu/cpu.h"
#include "tensor/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int shapes[][2] = {{768, 2304},  {768, 768},   {768, 3072},  {3072, 768},
                                {1024, 3072}, {1024, 1024}, {1024, 4096}, {4096, 1024},
                                {588, 1024},  {512, 2048},  {1280, 5120}};

static float *floats(struct rng *r, int64_t n)
{
    float *p = mem_aligned((size_t)n * sizeof *p);
    for (int64_t i = 0; i < n; i++) p[i] = (float)rng_unit(r) - 0.5f;
    return p;
}

static double seconds(struct device *d, const struct linear *a)
{
    double best = 1e9, spent = 0;
    for (int i = 0; i < 200 && (i < 4 || spent < 1.0); i++) {
        double t = clock_cpu();
        op_linear(d, a);
        t = clock_cpu() - t;
        best = t < best ? t : best;
        spent += t;
    }
    return best;
}

static void measure(struct device *d, int64_t m, int64_t k, int64_t n, enum isa isa)
{
    struct rng r = {1};
    int64_t ld = tensor_pitch(k);
    float *x = floats(&r, m * ld), *w = floats(&r, n * k), *y = floats(&r, m * n),
          *b = floats(&r, n);
    struct linear a = {.y = tensor_2d(y, F32, m, n),
                       .x = tensor_2d(x, F32, m, k),
                       .w = tensor_2d(w, F32, n, k),
                       .bias = tensor_1d(b, F32, n),
                       .packed = 1};
    a.x.ld = ld;
    op_alloc(d, &a.w.data, op_pack_bytes(d, n, k, F32));
    struct tensor plain = tensor_2d(w, F32, n, k);
    op_pack(d, a.w.data, &plain);
    double flop = 2.0 * (double)m * (double)n * (double)k, peak = peak_fma(isa);
    double rate = flop / seconds(d, &a) / 1e9;
    double later = peak_fma(isa);
    peak = later > peak ? later : peak;
    printf("%6s %5lld %5lld %5lld %8.1f %8.1f %6.1f\n", isa_name(isa), (long long)m, (long long)k,
           (long long)n, rate, peak, 100 * rate / peak);
    op_free(d, a.w.data);
    free(x), free(w), free(y), free(b);
}

int main(int argc, char **argv)
{
    int one = argc > 1 ? atoi(argv[1]) : 0;
    static const int rows[] = {1, 8, 50, 400, 788, 1028};
    printf("   isa  rows     k     n  GFLOP/s     peak      %%\n");
    for (enum isa isa = ISA_AVX2; isa <= isa_best(); isa++) {
        struct device *d;
        if (argc > 2 && strcmp(argv[2], isa_name(isa))) continue;
        cpu_open(&d, isa, 1);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                if (!one || one == rows[i]) measure(d, rows[i], shapes[s][0], shapes[s][1], isa);
        if (one && one != 1 && one != 8 && one != 50 && one != 400 && one != 788 && one != 1028)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                measure(d, one, shapes[s][0], shapes[s][1], isa);
        device_close(d);
    }
    return 0;
}

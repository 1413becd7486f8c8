/* peak.h - the FMA peak of one core now, by CPU time: independent chains in registers only. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include "base/clock.h"
#include "base/platform.h"

#include <immintrin.h>

#define PEAK_LOOP(bits)                                                                            \
    for (long loop = 0; loop < n; loop++)                                                          \
    __asm__ volatile("vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "1\n"                         \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "2\n"                         \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "3\n"                         \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "4\n"                         \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "5\n"                         \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "6\n"                         \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "7\n"                         \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "8\n"                         \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "9\n"                         \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "10\n"                        \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "11\n"                        \
                     "vfmadd231ps %%" bits "0, %%" bits "0, %%" bits "12\n" ::                     \
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                           "xmm9", "xmm10", "xmm11", "xmm12")

/* GFLOP/s, best of several tries. */
static double peak_fma(enum isa isa)
{
    const long n = 50000;
    double best = 0, lanes = isa == ISA_AVX512 ? 16 : 8;
    __asm__ volatile("vxorps %%xmm0, %%xmm0, %%xmm0\n" ::: "xmm0");
    for (int i = 0; i < 12; i++) {
        double t = clock_cpu();
        if (isa == ISA_AVX512)
            PEAK_LOOP("zmm");
        else
            PEAK_LOOP("ymm");
        double rate = (double)n * 12 * lanes * 2 / (clock_cpu() - t) / 1e9;
        best = rate > best ? rate : best;
    }
    return best;
}

#endif

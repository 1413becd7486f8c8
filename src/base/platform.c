/* platform.c - what this machine can do, asked once. */
#include "base/platform.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum isa isa_of_cpu(void)
{
#if HAVE_X86
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return ISA_PLAIN;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return ISA_AVX512;
    return ISA_AVX2;
#else
    return ISA_PLAIN;
#endif
}

static const char *const isa_names[] = {"plain", "avx2", "avx512"};

const char *isa_name(enum isa isa)
{
    return isa_names[isa];
}

enum isa isa_best(void)
{
    enum isa have = isa_of_cpu();
    const char *ask = getenv("DARKROOM_ISA");
    if (!ask) return have;
    for (enum isa i = ISA_PLAIN; i < have; i++)
        if (!strcmp(ask, isa_names[i])) return i;
    return have;
}

/* cgroup v2 "max 100000" or "150000 100000"; v1 has quota and period in two files. */
static int cgroup_cpus(void)
{
    long quota = -1, period = 100000;
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (f) {
        if (fscanf(f, "%ld %ld", &quota, &period) != 2) quota = -1;
        fclose(f);
    } else if ((f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "r"))) {
        if (fscanf(f, "%ld", &quota) != 1) quota = -1;
        fclose(f);
    }
    if (quota <= 0 || period <= 0) return 1 << 20;
    return (int)((quota + period - 1) / period);
}

int cpu_count(void)
{
    cpu_set_t set;
    int n = 1, limit = cgroup_cpus();
    if (!sched_getaffinity(0, sizeof set, &set)) n = CPU_COUNT(&set);
    if (n > limit) n = limit;
    return n < 1 ? 1 : n;
}

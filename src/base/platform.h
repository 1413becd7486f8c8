/* platform.h - the only place with #if: compilers, sanitizers, instruction sets. */
#ifndef BASE_PLATFORM_H
#define BASE_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN               __attribute__((noreturn))
#define UNUSED                 __attribute__((unused))
#define likely(x)              __builtin_expect(!!(x), 1)
#define unlikely(x)            __builtin_expect(!!(x), 0)
#else
#error "darkroom needs gcc or clang"
#endif

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif
#ifndef HAVE_ASAN
#define HAVE_ASAN 0
#endif

#if HAVE_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#if defined(__x86_64__)
#define HAVE_X86 1
#else
#define HAVE_X86 0
#endif

/* Instruction sets that may be chosen at run time, each including the ones before it. */
enum isa { ISA_PLAIN, ISA_AVX2, ISA_AVX512 };

/* The best set this machine has, or less when $DARKROOM_ISA (plain, avx2, avx512) asks for less.
 * AVX2 implies FMA and F16C; AVX512 implies F, BW, DQ and VL. */
enum isa isa_best(void);
const char *isa_name(enum isa isa);

/* CPUs this process may use: affinity mask and cgroup quota, at least 1. */
int cpu_count(void);

#endif
